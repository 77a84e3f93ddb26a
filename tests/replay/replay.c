/* replay.c - a CUPTI without a driver: it tells what a capture holds (capture.h).
 *
 * Sonde opens it because SONDE_CUPTI names it, and cannot tell it from the real
 * one: the same callbacks in the same order in as many threads, the same buffers,
 * and its clock and the host's as they were then. Between two entries time stands
 * still; when all is told it runs on.
 */
#include "replay.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#define PUBLIC __attribute__((visibility("default")))
#define CBIDS  1024u

static struct {
    uint8_t *bytes;
    size_t size;
    const struct entry **entry; /* all of them, in order */
    uint32_t count;
    uint32_t version;
    const char *name[2][CBIDS];
    const struct device_entry *device[64];
    const struct entry **clock; /* readings, by time */
    uint32_t clocks;
    uint64_t begin_ns;         /* first entry, as captured */
} F;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t at;                /* entry to play next */
} P = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Atomic uint32_t position; /* of the entry being played */
static _Atomic uint64_t moved_ns; /* replay's time minus captured time; 0 = not begun */
static _Atomic uint64_t virtual_ns, ended_ns; /* ended_ns: real time when all was told, 0 not yet */
static _Atomic bool ended;
static _Atomic unsigned unanswered;

static CUpti_CallbackFunc subscriber;
static void *subscriber_user;
static bool enabled[CUPTI_CB_DOMAIN_SIZE][CBIDS];
static CUpti_BuffersCallbackRequestFunc requested;
static CUpti_BuffersCallbackCompleteFunc completed;

/* ---- reading --------------------------------------------------------------------- */

static const char *load(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return "cannot be opened";
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *raw = malloc(size + 1);
    size_t got = raw ? fread(raw, 1, size, file) : 0;
    fclose(file);
    if (got != size)
        return "cannot be read";
    unsigned long long whole = ZSTD_getFrameContentSize(raw, size);
    if (whole == ZSTD_CONTENTSIZE_ERROR || whole == ZSTD_CONTENTSIZE_UNKNOWN) {
        F.bytes = raw;
        F.size = size;
        return NULL;
    }
    F.bytes = malloc(whole + 1);
    F.size = F.bytes ? ZSTD_decompress(F.bytes, whole, raw, size) : 0;
    free(raw);
    return F.size == whole ? NULL : "is not complete";
}

static const void *body(const struct entry *e)
{
    return e + 1;
}

/* A name's string table entry must be there when the record comes; texts are never freed. */
static void index_entry(const struct entry *e)
{
    const struct name_entry *n = body(e);
    switch (e->kind) {
    case ENTRY_VERSION:
        memcpy(&F.version, body(e), sizeof F.version);
        break;
    case ENTRY_NAME:
        if (n->id < CBIDS && (n->domain == CUPTI_CB_DOMAIN_DRIVER_API || n->domain == CUPTI_CB_DOMAIN_RUNTIME_API))
            F.name[n->domain == CUPTI_CB_DOMAIN_RUNTIME_API][n->id] = (const char *)(n + 1);
        break;
    case ENTRY_DEVICE:
        for (unsigned i = 0; i < 64; i++)
            if (!F.device[i]) {
                F.device[i] = body(e);
                break;
            }
        break;
    default:
        break;
    }
}

static bool index_clocks(void);

/* Entries lie unaligned in the file: each is copied to a place of its own. */
const char *replay_open(const char *path)
{
    uint64_t magic = 0;
    const char *why = load(path);
    if (why)
        return why;
    if (F.size >= sizeof magic)
        memcpy(&magic, F.bytes, sizeof magic);
    if (magic != CAPTURE_MAGIC)
        return "is no capture";
    for (size_t at = sizeof magic; at < F.size;) {
        struct entry head;
        if (at + sizeof head > F.size)
            return "is cut off";
        memcpy(&head, F.bytes + at, sizeof head);
        if (head.bytes > F.size - at - sizeof head)
            return "is cut off";
        if (!(F.count & (F.count + 1)))
            F.entry = realloc(F.entry, 2 * (F.count + 1) * sizeof *F.entry);
        struct entry *e = malloc(sizeof head + head.bytes + 1);
        if (!F.entry || !e)
            return "does not fit into memory";
        memcpy(e, F.bytes + at, sizeof head + head.bytes);
        if (!F.count || e->host_ns < F.begin_ns)
            F.begin_ns = e->host_ns;
        F.entry[F.count++] = e;
        index_entry(e);
        at += sizeof head + head.bytes;
    }
    free(F.bytes);
    return !F.count ? "is empty" : (index_clocks() ? NULL : "does not fit into memory");
}

const struct device_entry *replay_device(unsigned ordinal)
{
    return ordinal < 64 ? F.device[ordinal] : NULL;
}

unsigned replay_unanswered(void)
{
    return unanswered;
}

/* ---- time ------------------------------------------------------------------------- */

uint64_t replay_now_ns(uint64_t real_ns)
{
    uint64_t none = 0;
    if (!atomic_load(&moved_ns) && F.count) {
        atomic_store(&virtual_ns, real_ns);
        atomic_compare_exchange_strong(&moved_ns, &none, real_ns - F.begin_ns);
    }
    if (!F.count)
        return real_ns;
    none = 0;
    if (atomic_load(&ended))
        atomic_compare_exchange_strong(&ended_ns, &none, real_ns);
    const uint64_t end = atomic_load(&ended_ns);
    return atomic_load(&virtual_ns) + (end && real_ns > end ? real_ns - end : 0);
}

static void set_time(const struct entry *e)
{
    const uint64_t then = e->host_ns + atomic_load(&moved_ns);
    if (then > atomic_load(&virtual_ns))
        atomic_store(&virtual_ns, then);
}

static uint64_t reading(const struct entry *e)
{
    uint64_t cupti_ns;
    memcpy(&cupti_ns, body(e), sizeof cupti_ns);
    return cupti_ns;
}

/* CUPTI's clock at a captured time: on the line through the readings around it. */
static uint64_t cupti_at(uint64_t host)
{
    uint32_t low = 0, high = F.clocks; /* the first reading after `host` */
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (F.clock[middle]->host_ns <= host)
            low = middle + 1;
        else
            high = middle;
    }
    if (!F.clocks)
        return host;
    const struct entry *before = F.clock[low ? low - 1 : 0], *after = low < F.clocks ? F.clock[low] : before;
    const int64_t along = (int64_t)(host - before->host_ns), whole = (int64_t)(after->host_ns - before->host_ns);
    const double rate = whole > 0 ? (double)(int64_t)(reading(after) - reading(before)) / (double)whole : 1.0;
    return reading(before) + (uint64_t)(int64_t)((double)along * rate);
}

static int by_time(const void *left, const void *right)
{
    const struct entry *a = *(const struct entry *const *)left, *b = *(const struct entry *const *)right;
    return a->host_ns < b->host_ns ? -1 : a->host_ns > b->host_ns;
}

/* Threads write in the order of the lock, not of the clock. */
static bool index_clocks(void)
{
    F.clock = malloc((F.count + 1) * sizeof *F.clock);
    for (uint32_t i = 0; F.clock && i < F.count; i++)
        if (F.entry[i]->kind == ENTRY_CLOCK)
            F.clock[F.clocks++] = F.entry[i];
    if (F.clock)
        qsort(F.clock, F.clocks, sizeof *F.clock, by_time);
    return F.clock != NULL;
}

/* ---- playing ------------------------------------------------------------------------ */

static void play_call(const struct entry *e)
{
    const struct call_entry *c = body(e);
    static __thread uint64_t slot;
    uint8_t params[512];
    CUresult result = c->result;
    const uint8_t *behind = (const uint8_t *)(c + 1) + c->params_bytes;
    if (c->domain >= CUPTI_CB_DOMAIN_SIZE || c->id >= CBIDS || !enabled[c->domain][c->id] || c->params_bytes > sizeof params)
        return;
    memcpy(params, c + 1, c->params_bytes);
    /* What parameters point to lies behind them; a null pointer stays one. */
    for (size_t i = 0; i < CAPTURE_POINTED && c->params_bytes; i++) {
        const struct pointed *p = &capture_pointed[i];
        if (p->id != c->id)
            continue;
        if (*(void **)(void *)(params + p->offset)) {
            void *copy = malloc(p->bytes);
            memcpy(copy, behind, p->bytes);
            memcpy(params + p->offset, &copy, sizeof copy);
        }
        behind += p->bytes;
    }
    CUpti_CallbackData data = {
        .callbackSite = (CUpti_ApiCallbackSite)c->site,
        .functionName = F.name[c->domain == CUPTI_CB_DOMAIN_RUNTIME_API][c->id],
        .functionParams = c->params_bytes ? params : NULL,
        .functionReturnValue = c->has_result ? &result : NULL,
        .context = (CUcontext)(uintptr_t)c->context,
        .contextUid = c->context_uid,
        .correlationData = &slot,
        .correlationId = c->correlation,
    };
    subscriber(subscriber_user, (CUpti_CallbackDomain)c->domain, c->id, &data);
}

static void play_resource(const struct entry *e)
{
    const struct resource_entry *r = body(e);
    CUpti_ResourceData data = {.context = (CUcontext)(uintptr_t)r->context,
                               .resourceHandle = {.stream = (CUstream)(uintptr_t)r->stream}};
    CUpti_GraphData graph;
    CUpti_ModuleResourceData module = {.cubinSize = r->bytes, .pCubin = (const char *)(r + 1)};
    if (r->id >= CBIDS || !enabled[CUPTI_CB_DOMAIN_RESOURCE][r->id])
        return;
    if (r->id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
        data.resourceDescriptor = &module;
    } else if (r->bytes == sizeof graph) {
        memcpy(&graph, r + 1, sizeof graph);
        data.resourceDescriptor = &graph;
    }
    subscriber(subscriber_user, CUPTI_CB_DOMAIN_RESOURCE, r->id, &data);
}

/* Texts of the captured process by their address there; played in order, so the last one told is the one meant. */
#define TEXTS 65536u
static struct {
    uint64_t address;
    const char *text;
} texts[TEXTS];

static void know_text(const struct entry *e)
{
    uint64_t address;
    memcpy(&address, body(e), sizeof address);
    uint32_t i = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 48);
    while (texts[i % TEXTS].address && texts[i % TEXTS].address != address)
        i++;
    texts[i % TEXTS].address = address;
    texts[i % TEXTS].text = (const char *)body(e) + sizeof address;
}

static const char *text_at(uint64_t address)
{
    uint32_t i = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 48);
    while (texts[i % TEXTS].address && texts[i % TEXTS].address != address)
        i++;
    return texts[i % TEXTS].text ? texts[i % TEXTS].text : "?";
}

struct sizes {
    const uint8_t *buffer;
    const uint32_t *size;
    uint32_t count, at; /* record that GetNextRecord gave last */
    size_t offset;      /* of it */
    struct sizes *next;
};
static struct sizes *buffers;
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;

static void know_buffer(const uint8_t *buffer, const uint32_t *size, uint32_t count)
{
    pthread_mutex_lock(&buffers_lock);
    struct sizes *s = buffers;
    while (s && s->buffer != buffer)
        s = s->next;
    if (!s) {
        s = calloc(1, sizeof *s);
        s->next = buffers;
        buffers = s;
    }
    *s = (struct sizes){.buffer = buffer, .size = size, .count = count, .next = s->next};
    pthread_mutex_unlock(&buffers_lock);
}

/* As many of the records as a buffer of Sonde's holds; the rest in further ones. */
static void play_buffer(const struct entry *e)
{
    const struct buffer_entry *b = body(e);
    uint32_t *size = malloc((b->records + 1) * sizeof *size);
    const uint8_t *from = (const uint8_t *)(b + 1) + b->records * sizeof *size;
    memcpy(size, b + 1, b->records * sizeof *size);
    for (uint32_t done = 0; done < b->records;) {
        uint8_t *buffer = NULL;
        size_t room = 0, most = 0, used = 0;
        uint32_t first = done;
        requested(&buffer, &room, &most);
        for (; buffer && done < b->records && used + size[done] <= room; done++) {
            CUpti_Activity *record = memcpy(buffer + used, from, size[done]);
            int text = capture_text_at(record->kind);
            if (text >= 0) {
                uint64_t address;
                memcpy(&address, (uint8_t *)record + text, sizeof address);
                const char *name = address ? text_at(address) : NULL;
                memcpy((uint8_t *)record + text, &name, sizeof name);
            }
            used += size[done];
            from += size[done];
        }
        if (done == first)
            return; /* no buffer: CUPTI drops records then */
        know_buffer(buffer, size + first, done - first);
        completed((CUcontext)(uintptr_t)b->context, b->stream, buffer, room, used);
    }
}

/* ---- which streams are captured ---------------------------------------------------- */

/* What the calls did to streams and events. An event that is recorded in a capture
 * brings the streams that wait for it into that capture; the end of a capture is
 * that of all its streams. */
enum { KNOWN = 1024 };
struct known {
    uint64_t what;
    uint32_t capture;
};
struct captures {
    struct known stream[KNOWN], event[KNOWN];
    uint32_t streams, events, begun;
};

static uint32_t *capture_of(struct known *list, uint32_t *count, uint64_t what)
{
    for (uint32_t i = 0; i < *count; i++)
        if (list[i].what == what)
            return &list[i].capture;
    if (*count == KNOWN)
        abort(); /* larger than any capture */
    list[*count] = (struct known){what, 0};
    return &list[(*count)++].capture;
}

static __thread uint32_t played; /* the captured thread that this one plays */

/* Each thread's own default stream has one handle. */
static uint64_t stream_key(uint64_t stream, bool own, uint32_t thread)
{
    return stream == (uintptr_t)CU_STREAM_PER_THREAD || (own && !stream) ? 1ull << 63 | thread : stream;
}

static void follow_capture(struct captures *all, const struct entry *e)
{
    const struct call_entry *c = body(e);
    union {
        cuEventRecord_params record;
        cuStreamWaitEvent_params wait;
        cuStreamEndCapture_params end;
    } p;
    const char *name = c->id < CBIDS ? F.name[0][c->id] : NULL;
    if (c->domain != CUPTI_CB_DOMAIN_DRIVER_API || c->site != CUPTI_API_EXIT || c->result != CUDA_SUCCESS || !name)
        return;
    memcpy(&p, c + 1, c->params_bytes < sizeof p ? c->params_bytes : sizeof p);
    const bool records = strncmp(name, "cuEventRecord", 13) == 0;
    const uint64_t handle = (uintptr_t)(records ? p.record.hStream : p.wait.hStream); /* it comes first in the others */
    if (!records && strncmp(name, "cuStreamWaitEvent", 17) && strncmp(name, "cuStreamBeginCapture", 20) &&
        strncmp(name, "cuStreamEndCapture", 18))
        return;
    uint32_t *capture = capture_of(all->stream, &all->streams, stream_key(handle, strstr(name, "_ptsz"), e->thread));
    if (records) {
        *capture_of(all->event, &all->events, (uintptr_t)p.record.hEvent) = *capture;
    } else if (strncmp(name, "cuStreamWaitEvent", 17) == 0) {
        const uint32_t joined = *capture_of(all->event, &all->events, (uintptr_t)p.wait.hEvent);
        *capture = *capture ? *capture : joined;
    } else if (strncmp(name, "cuStreamBeginCapture", 20) == 0) {
        *capture = ++all->begun;
    } else if (strncmp(name, "cuStreamEndCapture", 18) == 0) {
        const uint32_t over = *capture;
        for (uint32_t i = 0; over && i < all->streams; i++)
            if (all->stream[i].capture == over)
                all->stream[i].capture = 0;
    }
}

bool replay_capturing(uint64_t stream)
{
    static __thread struct captures all;
    static __thread uint32_t upto;
    for (; upto <= position; upto++)
        if (F.entry[upto]->kind == ENTRY_CALL)
            follow_capture(&all, F.entry[upto]);
    return *capture_of(all.stream, &all.streams, stream_key(stream, false, played)) != 0;
}

static bool is_played(const struct entry *e)
{
    return e->kind == ENTRY_CALL || e->kind == ENTRY_RESOURCE || e->kind == ENTRY_BUFFER;
}

/* Buffers come on a thread of CUPTI's own, whichever thread handed them over then. */
static uint32_t thread_of(const struct entry *e)
{
    return e->kind == ENTRY_BUFFER ? 0 : e->thread;
}

/* Play this thread's entries, each when its turn has come. */
static void *play_thread(void *user)
{
    const uint32_t me = *(const uint32_t *)user;
    played = me;
    pthread_mutex_lock(&P.lock);
    while (P.at < F.count) {
        const struct entry *e = F.entry[P.at];
        if (is_played(e) && thread_of(e) != me) {
            pthread_cond_wait(&P.changed, &P.lock);
            continue;
        }
        atomic_store(&position, P.at);
        set_time(e);
        if (!is_played(e)) { /* any thread's, so not without the lock */
            if (e->kind == ENTRY_STRING)
                know_text(e);
            P.at++;
            pthread_cond_broadcast(&P.changed);
            continue;
        }
        pthread_mutex_unlock(&P.lock);
        if (e->kind == ENTRY_CALL)
            play_call(e);
        else if (e->kind == ENTRY_RESOURCE)
            play_resource(e);
        else
            play_buffer(e);
        pthread_mutex_lock(&P.lock);
        P.at++;
        if (P.at == F.count || thread_of(F.entry[P.at]) != me)
            pthread_cond_broadcast(&P.changed);
    }
    pthread_mutex_unlock(&P.lock);
    return NULL;
}

void replay_play(void)
{
    enum { MOST = 4096 };
    static uint32_t threads[MOST];
    pthread_t running[MOST];
    uint32_t count = 0;
    if (!subscriber || !requested || !completed)
        return;
    for (uint32_t i = 0; i < F.count; i++) {
        uint32_t k = 0;
        if (!is_played(F.entry[i]))
            continue;
        while (k < count && threads[k] != thread_of(F.entry[i]))
            k++;
        if (k == count && count < MOST)
            threads[count++] = thread_of(F.entry[i]);
    }
    for (uint32_t k = 1; k < count; k++)
        pthread_create(&running[k], NULL, play_thread, &threads[k]);
    if (count)
        play_thread(&threads[0]);
    for (uint32_t k = 1; k < count; k++)
        pthread_join(running[k], NULL);
    atomic_store(&ended, true);
}

/* ---- CUPTI's functions ------------------------------------------------------------------ */

PUBLIC CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    *version = F.version;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_SUCCESS ? "no error" : "an error of the replay";
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    *name = id < CBIDS && (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
                ? F.name[domain == CUPTI_CB_DOMAIN_RUNTIME_API][id]
                : NULL;
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

PUBLIC CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function, void *user)
{
    subscriber = function;
    subscriber_user = user;
    *handle = (CUpti_SubscriberHandle)(void *)&subscriber;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    (void)handle;
    memset(enabled, 0, sizeof enabled);
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                                CUpti_CallbackId id)
{
    (void)handle;
    if (domain >= CUPTI_CB_DOMAIN_SIZE || id >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    enabled[domain][id] = on;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
    (void)handle;
    if (domain >= CUPTI_CB_DOMAIN_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memset(enabled[domain], on != 0, sizeof enabled[domain]);
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *cupti_ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t); /* the program's, which is ours */
    *cupti_ns = cupti_at((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - atomic_load(&moved_ns));
    return CUPTI_SUCCESS;
}

/* What was answered next when this question was asked, else the last time before. */
static CUptiResult answer(enum answer_to to, const void *of, uint64_t of_too, uint64_t *value)
{
    const struct answer_entry *found = NULL;
    const uint32_t here = position;
    for (uint32_t i = 0; i < F.count; i++) {
        const struct answer_entry *a = body(F.entry[i]);
        if (F.entry[i]->kind != ENTRY_ANSWER || a->to != to || a->of != (uintptr_t)of || a->of_too != of_too)
            continue;
        found = a;
        if (i > here)
            break;
    }
    if (!found) {
        unanswered++;
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *value = found->value;
    return (CUptiResult)found->status;
}

static CUptiResult answer_number(enum answer_to to, const void *of, uint64_t of_too, uint32_t *number)
{
    uint64_t value = 0;
    CUptiResult result = answer(to, of, of_too, &value);
    *number = (uint32_t)value;
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *id)
{
    return answer_number(ANSWER_CONTEXT_ID, context, 0, id);
}

PUBLIC CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    return answer_number(ANSWER_DEVICE_ID, context, 0, id);
}

PUBLIC CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t own, uint32_t *id)
{
    return answer_number(ANSWER_STREAM_ID, context, (uintptr_t)stream << 1 | (own != 0), id);
}

PUBLIC CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    return answer(ANSWER_NODE_ID, node, 0, id);
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    requested = request;
    completed = complete;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    CUptiResult result = CUPTI_ERROR_MAX_LIMIT_REACHED;
    pthread_mutex_lock(&buffers_lock);
    struct sizes *s = buffers;
    while (s && s->buffer != buffer)
        s = s->next;
    if (s && !*record) {
        s->at = 0;
        s->offset = 0;
    } else if (s && s->at < s->count) {
        s->offset += s->size[s->at++];
    }
    if (s && s->at < s->count && s->offset < valid) {
        *record = (CUpti_Activity *)(void *)(buffer + s->offset);
        result = CUPTI_SUCCESS;
    }
    pthread_mutex_unlock(&buffers_lock);
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    *count = 0;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag; /* what was handed over then comes in its place */
    return CUPTI_SUCCESS;
}
