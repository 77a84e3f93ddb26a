/* when.c - conditions on what is served, at which what `record --last` has is written (docs/monitor.md).
 *
 *     NAME[{LABEL="VALUE",...}] OP NUMBER [for TIME]      rate(NAME{...}) in place of it: of a counter, by second
 *
 * Several stand behind each other with commas. A condition goes by the samples that are served, all of them. Each series counts for itself: it has to hold at each
 * look for TIME. What is written is that of the program which the series is about, else that of all; once, until at a look no series of that program holds.
 */
#include "monitor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vector.h"
#include "cmds/command.h"
#include "monitor/gpu_metrics.h"
#include "monitor/recorders.h"
#include "monitor/samples.h"

#define RATE_NS 900000000u /* a rate is over a second, or what is between two looks where that is longer: a look each second finds it due */

static const char *const operators[] = {"<=", ">=", "==", "!=", "<", ">"};
enum { AT_MOST,
       AT_LEAST,
       EQUAL,
       OTHER,
       BELOW,
       ABOVE,
       OPERATORS };

struct label {
    char *name, *value;
};

/* Of a series, from one look to the next. */
struct series {
    double from, rate; /* rate: not a number before it is known */
    uint64_t from_ns;  /* 0: nothing is known */
    uint64_t since_ns; /* it holds; 0: it does not */
};

/* What a look found. */
struct seen {
    struct sonde_intern names; /* labels of a series: id - 1 is the place in `series` */
    SONDE_VECTOR(struct series) series;
    struct sonde_intern written; /* programs of which it was, and some series holds; EVERY: those of no program */
};
#define EVERY "*"

struct condition {
    char *text;
    char metric[96]; /* as its samples are called */
    bool rate;
    SONDE_VECTOR(struct label) labels;
    int op;
    double number;
    uint64_t for_ns;
    struct seen seen;
};

struct monitor_when {
    SONDE_VECTOR(struct condition) conditions;
    SONDE_VECTOR(struct sonde_asked_count) counts; /* of each */
};

/* ---- what is written -------------------------------------------------------------------------- */

struct reading {
    const char *at;
    const char *known; /* sonde_metrics_all */
    struct condition to;
    struct sonde_text *wrong;
    struct sonde_nearest *nearest;
};

static void skip_blanks(struct reading *r)
{
    r->at += strspn(r->at, " \t");
}

static bool expected(struct reading *r, const char *what)
{
    if (*r->at)
        sonde_text_format(r->wrong, "write-last-when expects %s at '%s'", what, r->at);
    else
        sonde_text_format(r->wrong, "write-last-when expects %s at the end", what);
    return false;
}

/* A name of a metric or a label. */
static bool read_name(struct reading *r, char *out, size_t size)
{
    skip_blanks(r);
    const size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    snprintf(out, size, "%.*s", (int)length, r->at);
    r->at += length < size ? length : 0;
    return length && length < size;
}

static bool take(struct reading *r, char c)
{
    skip_blanks(r);
    const bool there = *r->at == c;
    r->at += there;
    return there;
}

/* "..." with \" and \\. */
static bool read_value(struct reading *r, struct sonde_text *out)
{
    for (; *r->at != '"'; r->at++) {
        if (*r->at == '\\' && (r->at[1] == '"' || r->at[1] == '\\'))
            r->at++;
        else if (!*r->at || *r->at == '\\')
            return expected(r, "\\\", \\\\ or the \" that ends the label's value");
        sonde_text_add_bytes(out, r->at, 1);
    }
    r->at++;
    return true;
}

static bool read_label(struct reading *r)
{
    char name[64];
    struct sonde_text value = {0};
    if (!read_name(r, name, sizeof name) || !take(r, '=') || !take(r, '"'))
        return expected(r, "LABEL=\"VALUE\"");
    for (size_t i = 0; i < r->to.labels.count; i++)
        if (strcmp(r->to.labels.items[i].name, name) == 0) {
            sonde_text_format(r->wrong, "the label '%s' stands there twice", name);
            return false;
        }
    bool done = read_value(r, &value);
    const struct label label = {done ? strdup(name) : NULL, done ? strdup(sonde_text_get(&value)) : NULL};
    if (done && (!label.name || !label.value || sonde_vector_push(&r->to.labels, label))) {
        sonde_text_add(r->wrong, "out of memory");
        done = false;
        free(label.name);
        free(label.value);
    }
    sonde_text_fini(&value);
    return done;
}

/* NAME or NAME{LABEL="VALUE",...} */
static bool read_selector(struct reading *r)
{
    if (!read_name(r, r->to.metric, sizeof r->to.metric))
        return expected(r, "a metric's name, or rate(NAME),");
    if (!take(r, '{'))
        return true;
    do
        if (!read_label(r))
            return false;
    while (take(r, ','));
    return take(r, '}') || expected(r, "a comma, or the } behind the labels,");
}

static bool read_series(struct reading *r)
{
    const char *begin = r->at;
    char word[8];
    r->to.rate = read_name(r, word, sizeof word) && strcmp(word, "rate") == 0 && take(r, '(');
    if (!r->to.rate)
        r->at = begin;
    if (!read_selector(r))
        return false;
    return !r->to.rate || take(r, ')') || expected(r, "the ) of rate(");
}

static bool read_comparison(struct reading *r)
{
    int op = 0;
    skip_blanks(r);
    while (op < OPERATORS && strncmp(r->at, operators[op], strlen(operators[op])) != 0)
        op++;
    if (op == OPERATORS)
        return expected(r, "<, <=, >, >=, == or !=");
    r->to.op = op;
    r->at += strlen(operators[op]);
    skip_blanks(r);
    char *end = (char *)(uintptr_t)r->at;
    const size_t length = strspn(r->at, "0123456789.eE+-");
    r->to.number = strtod(r->at, &end);
    if (!length || end != r->at + length || !isfinite(r->to.number) || (*end && !strchr(" \t,", *end)))
        return expected(r, "a number");
    r->at = end;
    return true;
}

static bool read_for(struct reading *r)
{
    char word[8], time[32];
    skip_blanks(r);
    const char *begin = r->at;
    if (!*r->at || *r->at == ',')
        return true;
    if (!read_name(r, word, sizeof word) || strcmp(word, "for") != 0) {
        r->at = begin;
        return expected(r, "'for TIME', a comma or the end");
    }
    skip_blanks(r);
    const size_t length = strcspn(r->at, " \t,");
    snprintf(time, sizeof time, "%.*s", (int)length, r->at);
    if (length >= sizeof time || sonde_parse_duration(time, &r->to.for_ns))
        return expected(r, "a time such as 500ms, 10s or 2m");
    r->at += length;
    skip_blanks(r);
    return !*r->at || *r->at == ',' || expected(r, "a comma or the end");
}

/* ---- is there such a series? --------------------------------------------------------------------- */

struct search {
    const char *metric;
    const struct label *label; /* NULL: only the name matters */
    bool found, has_label, number;
    char name[96], value[64];
    struct sonde_nearest nearest;
};

static int find_metric(void *user, const struct sonde_sample *sample)
{
    struct search *s = user;
    char total[128];
    snprintf(total, sizeof total, "%s_total", s->metric);
    if (!s->found && (strcmp(sample->name, s->metric) == 0 || strcmp(sample->name, total) == 0)) {
        s->found = true;
        snprintf(s->name, sizeof s->name, "%s", sample->name);
    }
    sonde_nearest_try(&s->nearest, sample->name);
    return 0;
}

static int find_label(void *user, const struct sonde_sample *sample)
{
    struct search *s = user;
    char name[64];
    for (size_t i = 0; i < sample->label_count && strcmp(sample->name, s->metric) == 0; i++) {
        snprintf(name, sizeof name, "%.*s", (int)sample->labels[i].length, sample->labels[i].name);
        if (!s->has_label)
            sonde_nearest_try(&s->nearest, name);
        s->has_label |= strcmp(name, s->label->name) == 0;
    }
    return 0;
}

/* Any text, a number, or one of those that there are. */
static int find_value(void *user, const struct sonde_sample *sample)
{
    struct search *s = user;
    const char *is = strcmp(sample->name, s->metric) == 0 ? sonde_sample_label(sample, s->label->name) : NULL;
    const char *wanted = s->label->value;
    if (!is)
        return 0;
    s->number = *is && strspn(is, "0123456789") == strlen(is);
    s->found |= !*is || strcmp(is, wanted) == 0 || (s->number && *wanted && strspn(wanted, "0123456789") == strlen(wanted));
    if (!s->number)
        sonde_nearest_try(&s->nearest, is);
    return 0;
}

/* Whether memory was left. */
static bool search(const struct reading *r, struct search *s, int (*fn)(void *user, const struct sonde_sample *sample))
{
    char *text = strdup(r->known);
    if (text)
        sonde_samples_each(text, fn, s);
    else
        sonde_text_add(r->wrong, "out of memory");
    free(text);
    *r->nearest = s->nearest;
    r->nearest->word = "";
    return text;
}

static bool check_label(const struct reading *r, const struct label *label)
{
    struct search s = {.metric = r->to.metric, .label = label, .nearest.word = label->name};
    if (!search(r, &s, find_label))
        return false;
    if (!s.has_label) {
        sonde_text_format(r->wrong, "%s has no label '%s'", s.metric, label->name);
        return false;
    }
    s.nearest = (struct sonde_nearest){.word = label->value};
    if (!search(r, &s, find_value))
        return false;
    if (!s.found && s.number)
        sonde_text_format(r->wrong, "the label '%s' of %s is a number, not '%s'", label->name, s.metric, label->value);
    else if (!s.found)
        sonde_text_format(r->wrong, "there is no %s with %s=\"%s\"", s.metric, label->name, label->value);
    return s.found;
}

/* Counters and what they grow by are never below 0. */
static bool can_hold(const struct condition *c)
{
    return c->op == BELOW ? c->number > 0 : (c->op != AT_MOST && c->op != EQUAL) || c->number >= 0;
}

static bool check_series(struct reading *r)
{
    struct search s = {.metric = r->to.metric, .nearest.word = r->to.metric};
    if (!search(r, &s, find_metric))
        return false;
    if (!s.found) {
        sonde_text_format(r->wrong, "there is no metric '%s'", s.metric);
        return false;
    }
    memcpy(r->to.metric, s.name, sizeof s.name);
    *r->nearest = (struct sonde_nearest){.word = ""};
    for (size_t i = 0; i < r->to.labels.count; i++)
        if (!check_label(r, &r->to.labels.items[i]))
            return false;
    *r->nearest = (struct sonde_nearest){.word = ""};
    const size_t length = strlen(s.name);
    const bool counter = length > 6 && strcmp(s.name + length - 6, "_total") == 0;
    if (r->to.rate && !counter)
        sonde_text_format(r->wrong, "rate() is of counters, and %s is a gauge", s.name);
    else if (counter && !can_hold(&r->to))
        sonde_text_format(r->wrong, "%s %g cannot hold: what a counter tells is never below 0", operators[r->to.op], r->to.number);
    else
        return true;
    return false;
}

static void free_seen(struct seen *seen)
{
    sonde_intern_fini(&seen->names);
    sonde_vector_fini(&seen->series);
    sonde_intern_fini(&seen->written);
}

static void free_condition(struct condition *c)
{
    for (size_t i = 0; i < c->labels.count; i++) {
        free(c->labels.items[i].name);
        free(c->labels.items[i].value);
    }
    sonde_vector_fini(&c->labels);
    free_seen(&c->seen);
    free(c->text);
}

static bool read_condition(struct monitor_when *when, struct reading *r)
{
    r->to = (struct condition){0};
    skip_blanks(r);
    const char *begin = r->at;
    if (!read_series(r) || !read_comparison(r) || !read_for(r) || !check_series(r)) {
        free_condition(&r->to);
        return false;
    }
    size_t length = (size_t)(r->at - begin);
    while (length && strchr(" \t", begin[length - 1]))
        length--;
    r->to.text = strndup(begin, length);
    if (r->to.text && !sonde_vector_push(&when->conditions, r->to) && !sonde_vector_push(&when->counts, (struct sonde_asked_count){.condition = r->to.text}))
        return true;
    sonde_text_add(r->wrong, "out of memory");
    if (!when->conditions.count || when->conditions.items[when->conditions.count - 1].text != r->to.text)
        free_condition(&r->to);
    return false;
}

int monitor_when_read(const char *text, struct monitor_when **out, struct sonde_text *wrong, struct sonde_nearest *nearest)
{
    struct monitor_when *when = calloc(1, sizeof *when);
    struct sonde_text known = {0};
    struct reading r = {.at = text, .wrong = wrong, .nearest = nearest};
    bool more = when != NULL;
    *nearest = (struct sonde_nearest){.word = ""};
    sonde_metrics_all(&known);
    r.known = sonde_text_get(&known);
    if (!when || known.failed)
        sonde_text_add(wrong, "out of memory");
    while (more && !wrong->length && read_condition(when, &r)) {
        more = *r.at == ',';
        r.at += more;
    }
    sonde_text_fini(&known);
    if (wrong->length) {
        monitor_when_free(when);
        when = NULL;
    }
    *out = when;
    return when ? 0 : SONDE_EINVALID;
}

void monitor_when_free(struct monitor_when *when)
{
    for (size_t i = 0; when && i < when->conditions.count; i++)
        free_condition(&when->conditions.items[i]);
    if (when) {
        sonde_vector_fini(&when->conditions);
        sonde_vector_fini(&when->counts);
    }
    free(when);
}

const struct sonde_asked_count *monitor_when_counts(const struct monitor_when *when, size_t *count)
{
    *count = when->counts.count;
    return when->counts.items;
}

/* ---- a look --------------------------------------------------------------------------------------- */

struct looking {
    const struct sonde_watch *watch;
    uint64_t now_ns;
    struct sonde_intern *asked; /* measurements that were asked for at this look */
    struct condition *condition;
    struct sonde_asked_count *count;
    struct seen now;
    bool failed;
};

struct asking {
    struct looking *look;
    const char *program; /* NULL: all */
    double value;
    bool found;
};

static bool is_of(const struct sonde_recorder *recorder, const char *program)
{
    char path[PATH_MAX];
    return !program || (snprintf(path, sizeof path, "%s/%s", recorder->output, program) < (int)sizeof path && access(path, F_OK) == 0);
}

/* The recorders of a job's ranks write the same: one of them is asked. */
static int ask(void *user, const struct sonde_recorder *recorder)
{
    struct asking *a = user;
    struct looking *look = a->look;
    pid_t pid;
    if (!is_of(recorder, a->program))
        return 0;
    if (sonde_intern_find(look->asked, recorder->output)) {
        a->found = true;
        return 0;
    }
    const int code = sonde_recorder_ask(recorder, &pid);
    if (code == SONDE_EUNSUPPORTED)
        sonde_say("%s: this kernel cannot ask for %s: it lacks pidfd_open, of Linux 5.3", look->condition->text, recorder->output);
    a->found |= code != SONDE_ENOTFOUND;
    if (code)
        return 0;
    look->failed |= !sonde_intern_text(look->asked, recorder->output);
    look->count->asked++;
    sonde_say("%s: it is %.6g%s%s; asked 'sonde record', process %d, to write what it has for %s", look->condition->text, a->value, a->program ? " of " : "",
              a->program ? a->program : "", (int)pid, recorder->output);
    return 0;
}

static void ask_all(struct looking *look, const char *program, double value)
{
    struct asking a = {.look = look, .program = program, .value = value};
    sonde_recorders_each(look->watch->folder, ask, &a);
    if (!a.found)
        sonde_say("%s: it is %.6g%s%s; there is no 'sonde record --last' of it that could be asked", look->condition->text, value, program ? " of " : "",
                  program ? program : "");
}

static bool matches(const struct condition *c, const struct sonde_sample *sample)
{
    for (size_t i = 0; i < c->labels.count; i++) {
        const char *value = sonde_sample_label(sample, c->labels.items[i].name);
        if (!value || strcmp(value, c->labels.items[i].value) != 0)
            return false;
    }
    return true;
}

static bool runs(const struct sonde_watch *watch, const char *program)
{
    for (size_t i = 0; i < watch->process_count; i++)
        if (strcmp(watch->processes[i].name, program) == 0)
            return watch->processes[i].state == SONDE_WATCH_RUNNING;
    return false;
}

static bool holds(const struct condition *c, double value)
{
    switch (c->op) {
    case AT_MOST: return value <= c->number;
    case AT_LEAST: return value >= c->number;
    case EQUAL: return value == c->number;
    case OTHER: return value != c->number && !isnan(value);
    case BELOW: return value < c->number;
    default: return value > c->number;
    }
}

/* What it was at the look before. */
static struct series series_before(const struct condition *c, const char *name)
{
    const uint32_t id = sonde_intern_find(&c->seen.names, name);
    return id ? c->seen.series.items[id - 1] : (struct series){.rate = NAN};
}

static void follow_rate(struct series *s, double value, uint64_t now_ns)
{
    if (s->from_ns && now_ns - s->from_ns < RATE_NS)
        return;
    s->rate = s->from_ns && value >= s->from ? (value - s->from) / ((double)(now_ns - s->from_ns) / 1e9) : NAN;
    s->from = value;
    s->from_ns = now_ns;
}

/* All labels, which tell it from others of its name. */
static void name_series(const struct sonde_sample *sample, struct sonde_text *out)
{
    for (size_t i = 0; i < sample->label_count; i++)
        sonde_text_format(out, "%.*s=%s\n", (int)sample->labels[i].length, sample->labels[i].name, sample->labels[i].value);
    sonde_text_add(out, "\n");
}

static int look_at(void *user, const struct sonde_sample *sample)
{
    struct looking *look = user;
    struct condition *c = look->condition;
    if (strcmp(sample->name, c->metric) != 0 || !matches(c, sample))
        return 0;
    const char *program = sonde_sample_label(sample, "process"), *whose = program ? program : EVERY;
    if (program && !runs(look->watch, program))
        return 0;
    struct sonde_text name = {0};
    name_series(sample, &name);
    struct series s = series_before(c, sonde_text_get(&name));
    double value = strtod(sample->value, NULL);
    if (c->rate) {
        follow_rate(&s, value, look->now_ns);
        value = s.rate;
    }
    const bool holding = holds(c, value);
    s.since_ns = !holding ? 0 : s.since_ns ? s.since_ns
                                           : look->now_ns;
    look->failed |= name.failed || !sonde_intern_text(&look->now.names, sonde_text_get(&name)) || sonde_vector_push(&look->now.series, s);
    sonde_text_fini(&name);
    if (!holding || look->failed)
        return look->failed;
    bool written = sonde_intern_find(&c->seen.written, whose) || sonde_intern_find(&look->now.written, whose);
    if (!written && look->now_ns - s.since_ns >= c->for_ns) {
        ask_all(look, program, value);
        written = true;
    }
    look->failed |= written && !sonde_intern_text(&look->now.written, whose);
    return look->failed;
}

/* Without memory it begins anew. */
void monitor_when_look(struct monitor_when *when, const struct sonde_watch *watch, const char *text, uint64_t now_ns)
{
    struct sonde_intern asked = {0};
    for (size_t i = 0; i < when->conditions.count; i++) {
        struct condition *c = &when->conditions.items[i];
        struct looking look = {.watch = watch, .now_ns = now_ns, .asked = &asked, .condition = c, .count = &when->counts.items[i]};
        char *copy = strdup(text);
        if (copy)
            sonde_samples_each(copy, look_at, &look);
        if (!copy || look.failed)
            free_seen(&look.now);
        free_seen(&c->seen);
        c->seen = look.now;
        free(copy);
    }
    sonde_intern_fini(&asked);
}
