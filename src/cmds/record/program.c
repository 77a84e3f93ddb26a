/* program.c - finds the program and our libraries, and makes the program's environment. */
#include "record.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/model/runtimes.h"
#include "base/rank.h"
#include "base/text.h"
#include "base/vector.h"
#include "cmds/command.h"

/* ---- the program --------------------------------------------------------- */

/* 0 when `path` can be executed, else the errno that execve would give. */
static int check_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static int refuse(const char *name, int why, struct sonde_diag *diag)
{
    sonde_diag_set(diag, why == ENOENT || why == ENOTDIR ? SONDE_ENOTFOUND : SONDE_EINVALID, name,
                   "cannot run");
    sonde_diag_errno(diag, why);
    return why == ENOENT || why == ENOTDIR ? RECORD_EXIT_NOT_FOUND : RECORD_EXIT_NOT_EXECUTABLE;
}

int record_find_program(const char *name, char *path, size_t size, struct sonde_diag *diag)
{
    if (!*name)
        return refuse("''", ENOENT, diag);
    if (strchr(name, '/')) {
        int why = check_executable(name);
        if (why)
            return refuse(name, why, diag);
        snprintf(path, size, "%s", name);
        return 0;
    }

    char standard[256] = "";
    const char *search = getenv("PATH");
    if (!search) {
        confstr(_CS_PATH, standard, sizeof standard);
        search = standard;
    }
    int seen = 0; /* the best reason so far: a file that may not be executed beats none */
    for (const char *at = search; at;) {
        size_t length = strcspn(at, ":");
        int n = length ? snprintf(path, size, "%.*s/%s", (int)length, at, name)
                       : snprintf(path, size, "./%s", name);
        int why = n > 0 && (size_t)n < size ? check_executable(path) : ENAMETOOLONG;
        if (!why)
            return 0;
        if (why == EACCES)
            seen = why;
        at = at[length] ? at + length + 1 : NULL;
    }
    int status = refuse(name, seen ? seen : ENOENT, diag);
    if (!seen)
        snprintf(diag->why, sizeof diag->why, "there is no such program in PATH");
    if (!seen && check_executable(name) == 0)
        sonde_diag_hint(diag, "did you mean ./%s?", name);
    return status;
}

const char *record_program_obstacle(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
                                 (st.st_mode & S_ISGID && st.st_gid != getegid())))
        return "is set-user-ID or set-group-ID, which keeps Sonde's libraries out";

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    bool elf = pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
               memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
    bool interpreter = false, wide = elf && head.e_ident[EI_CLASS] == ELFCLASS64;
    for (unsigned i = 0; wide && i < head.e_phnum; i++) {
        off_t at = (off_t)(head.e_phoff + (uint64_t)i * head.e_phentsize);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment)
            break;
        interpreter = interpreter || segment.p_type == PT_INTERP;
    }
    close(fd);
    if (elf && !wide)
        return "is a 32-bit program";
    return elf && !interpreter ? "is linked statically" : NULL;
}

/* ---- our libraries --------------------------------------------------------- */

int record_find_libraries(struct record_paths *paths, struct sonde_diag *diag)
{
    const int error = sonde_find_installed("lib/sonde/libsonde-agent.so", paths->agent, diag);
    return error ? error : sonde_find_installed("lib/sonde/libsonde-preload.so", paths->preload, diag);
}

/* ---- the environment ------------------------------------------------------ */

struct environment {
    SONDE_VECTOR(char *) list; /* ends with NULL once it is whole */
    bool failed;
};

/* Takes `entry`, which may be NULL: there was no memory. */
static void put_entry(struct environment *e, char *entry)
{
    if (entry && !e->failed && !sonde_vector_push(&e->list, entry))
        return;
    free(entry);
    e->failed = true;
}

static void put(struct environment *e, const char *name, const char *value)
{
    size_t length = strlen(name) + strlen(value) + 2;
    char *entry = e->failed ? NULL : malloc(length);
    if (entry)
        snprintf(entry, length, "%s=%s", name, value);
    put_entry(e, entry);
}

static void put_number(struct environment *e, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put(e, name, text);
}

static bool is_in(const char *list, const char *word, size_t length, const char *separators)
{
    for (; *list; list += *list != 0) {
        const size_t n = strcspn(list, separators);
        if (n == length && memcmp(list, word, n) == 0)
            return true;
        list += n;
    }
    return false;
}

/* `first`, a list, then the user's own without what is in that: recording inside a
 * recording must not load the agent twice. */
static void put_list(struct environment *e, const char *name, const char *first, const char *own, const char *separators)
{
    size_t room = strlen(first) + (own ? strlen(own) : 0) + 2;
    char *value = malloc(room);
    if (!value) {
        e->failed = true;
        return;
    }
    strcpy(value, first);
    for (const char *at = own; at && *at;) {
        size_t length = strcspn(at, separators);
        if (length && !is_in(first, at, length, separators)) {
            strcat(value, ":");
            strncat(value, at, length);
        }
        at += length;
        at += *at != 0;
    }
    put(e, name, value);
    free(value);
}

static bool names_it(const char *entry, const char *variable)
{
    const size_t length = variable ? strlen(variable) : 0;
    return length && strncmp(entry, variable, length) == 0 && entry[length] == '=';
}

bool record_environment_is_ours(const char *entry)
{
    static const char *const names[] = {
        "LD_PRELOAD", "SONDE_AGENT", "SONDE_OUT", "SONDE_TRACE", "SONDE_LIGHT", "SONDE_MEMORY", "SONDE_STREAMS_PER_THREAD",
        "SONDE_MAX_SIZE", "SONDE_LAST", "SONDE_VALUES", "SONDE_VALUES_ENGINE", "SONDE_VALUES_MEMORY", "SONDE_VALUES_HOST_MEMORY", "SONDE_VALUES_FIRST", "SONDE_VALUES_OF", "SONDE_VALUES_BLOCKS", "SONDE_VALUES_KERNEL", "SONDE_COMM_CELLS", "SONDE_COUNTERS", "SONDE_COUNTER_SERIES", "SONDE_REPLAY", "SONDE_PC",
        "SONDE_DELAY_MS", "SONDE_DURATION_MS", "SONDE_START_OFF", "SONDE_CHECK", "SONDE_PYTHON",
        "SONDE_API", "SONDE_GRAPH", "SONDE_CAPTURE", "SONDE_CPU", "SONDE_CPU_COUNTERS"};
    for (const struct sonde_runtime *r = sonde_runtimes; r->name; r++)
        if ((r->loads <= SONDE_LOADS_ONE && names_it(entry, r->variable)) || names_it(entry, r->kept))
            return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names_it(entry, names[i]))
            return true;
    return false;
}

/* Variables that the user has set for us, as he may think. Within another
 * recording they are that one's. */
static void say_unused(const struct record_options *o)
{
    struct sonde_text names = {0};
    if (o->quiet || getenv("SONDE_AGENT"))
        return;
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, "SONDE_", 6) == 0 && record_environment_is_ours(*entry))
            sonde_text_format(&names, "%s%.*s", names.length ? ", " : "", (int)strcspn(*entry, "="), *entry);
    if (names.length)
        sonde_say("ignoring %s from the environment: use the options of record instead, see sonde record --help",
                  sonde_text_get(&names));
    sonde_text_fini(&names);
}

static uint64_t round_up_ms(uint64_t ns)
{
    return (ns + 999999) / 1000000;
}

/* How a runtime gets to load the agent. */
static void put_runtime(struct environment *e, const struct sonde_runtime *r, const char *agent)
{
    const char *own = r->variable ? getenv(r->variable) : NULL;
    if (r->path_max && strlen(agent) > r->path_max)
        return;
    switch (r->loads) {
    case SONDE_LOADS_LIST:
        put_list(e, r->variable, agent, own, ":");
        break;
    case SONDE_LOADS_ONE:
        if (own && strcmp(own, agent) == 0)
            own = getenv(r->kept); /* recording inside a recording */
        if (own && *own)
            put(e, r->kept, own);
        put(e, r->variable, agent);
        break;
    case SONDE_LOADS_USERS:
        if (!own || !*own)
            put(e, r->variable, agent);
        break;
    case SONDE_LOADS_USERS_OR_NONE:
        if (!own)
            put(e, r->variable, agent);
        break;
    case SONDE_LOADS_NOTHING:
        break;
    }
}

/* The loader splits LD_PRELOAD at spaces and colons; it would complain in the program's output. */
static bool can_preload(const struct record_options *o, const struct record_paths *paths)
{
    if (!strpbrk(paths->preload, " :"))
        return true;
    if (!o->quiet)
        sonde_say("cannot preload %s: its path contains a space or a colon; process exits may be missed; install Sonde elsewhere",
                  paths->preload);
    return false;
}

/* Where this is a rank of a job the agent, too: it stands before MPI's functions (src/agent/preload/exec.c does so where a launcher is recorded). */
static void put_preloaded(struct environment *e, const struct record_paths *paths)
{
    char *both = NULL;
    const bool rank = sonde_rank_read().rank && !strpbrk(paths->agent, " :");
    if (rank && asprintf(&both, "%s:%s", paths->preload, paths->agent) < 0)
        e->failed = true;
    else
        put_list(e, "LD_PRELOAD", both ? both : paths->preload, getenv("LD_PRELOAD"), ": ");
    free(both);
}

char **record_environment(const struct record_options *o, const struct record_paths *paths)
{
    struct environment e = {0};
    say_unused(o);
    for (char **entry = environ; *entry && !e.failed; entry++)
        if (!record_environment_is_ours(*entry))
            put_entry(&e, strdup(*entry));

    for (const struct sonde_runtime *r = sonde_runtimes; r->name; r++)
        put_runtime(&e, r, paths->agent);
    put(&e, "SONDE_API", record_api_names[o->api]);
    put(&e, "SONDE_GRAPH", record_graph_names[o->graph]);
    if (o->capture)
        put(&e, "SONDE_CAPTURE", o->capture);
    if (!o->no_preload && can_preload(o, paths))
        put_preloaded(&e, paths);
    else if (getenv("LD_PRELOAD"))
        put(&e, "LD_PRELOAD", getenv("LD_PRELOAD"));
    put(&e, "SONDE_AGENT", paths->agent);
    put(&e, "SONDE_OUT", paths->output);
    put_number(&e, "SONDE_TRACE", o->mode == RECORD_TRACE);
    if (o->mode == RECORD_LIGHT)
        put_number(&e, "SONDE_LIGHT", 1);
    put_number(&e, "SONDE_MEMORY", o->memory_bytes);
    put_number(&e, "SONDE_STREAMS_PER_THREAD", (uint64_t)o->streams_per_thread);
    put_number(&e, "SONDE_CPU", o->mode == RECORD_LIGHT ? 0 : (uint64_t)o->cpu_hz);
    if (*o->cpu_counter_list)
        put(&e, "SONDE_CPU_COUNTERS", o->cpu_counter_list);
    put_number(&e, "SONDE_VALUES", o->comm ? (uint64_t)SONDE_VALUES_REMOTE | (o->comm_cells ? SONDE_VALUES_CELLS : 0) : (uint64_t)o->values);
    if (o->counters)
        put(&e, "SONDE_COUNTERS", o->counters);
    put_number(&e, "SONDE_COUNTER_SERIES", o->series_ns);
    put_number(&e, "SONDE_REPLAY", (uint64_t)o->replay);
    put_number(&e, "SONDE_PC", (uint64_t)o->pc_cycles);
    if (o->engine || o->comm_engine)
        put(&e, "SONDE_VALUES_ENGINE", record_engine_names[o->engine ? o->engine : o->comm_engine]);
    put_number(&e, "SONDE_VALUES_MEMORY", o->values_bytes);
    if (o->values_host_bytes != RECORD_HOST_QUARTER)
        put_number(&e, "SONDE_VALUES_HOST_MEMORY", o->values_host_bytes);
    put_number(&e, "SONDE_VALUES_FIRST", o->values_first);
    put_number(&e, "SONDE_VALUES_OF", o->values_of);
    put_number(&e, "SONDE_VALUES_BLOCKS", o->values_blocks);
    if (o->values_kernel)
        put(&e, "SONDE_VALUES_KERNEL", o->values_kernel);
    put_number(&e, "SONDE_COMM_CELLS", (uint64_t)o->comm_cells);
    put_number(&e, "SONDE_MAX_SIZE", o->max_size_bytes);
    put_number(&e, "SONDE_LAST", o->last_ns);
    put_number(&e, "SONDE_DELAY_MS", round_up_ms(o->delay_ns));
    put_number(&e, "SONDE_DURATION_MS", round_up_ms(o->duration_ns));
    put_number(&e, "SONDE_START_OFF", (uint64_t)(o->start_off || o->capture));
    put_number(&e, "SONDE_CHECK", (uint64_t)o->check);
    put_number(&e, "SONDE_PYTHON", (uint64_t)(!o->no_python && o->mode != RECORD_LIGHT));
    if (e.failed || sonde_vector_push(&e.list, (char *)NULL)) {
        for (size_t i = 0; i < e.list.count; i++)
            free(e.list.items[i]);
        sonde_vector_fini(&e.list);
        return NULL;
    }
    return e.list.items;
}

void record_environment_free(char **environment)
{
    for (char **at = environment; at && *at; at++)
        free(*at);
    free(environment);
}
