/* team.c - see team.h. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

static const struct sonde_team *joined;

void sonde_team_join(const struct sonde_team *team)
{
    joined = team;
}

uint32_t sonde_team_rank(void)
{
    return joined ? joined->rank : 0;
}

uint32_t sonde_team_size(void)
{
    return joined ? joined->size : 1;
}

_Noreturn void sonde_team_fail(const char *why)
{
    if (joined)
        joined->fail(why);
    abort();
}

/* ---- what was found ------------------------------------------------------------------------------------ */

/* The next `size` bytes; NULL: there are not so many. */
static const char *next(struct sonde_found *found, size_t size)
{
    const char *at = found->at;
    if (found->failed || size > (size_t)(found->end - at)) {
        found->failed = true;
        return NULL;
    }
    found->at += size;
    return at;
}

void sonde_found_get(struct sonde_found *found, void *value, size_t size)
{
    const char *at = next(found, size);
    if (at)
        memcpy(value, at, size);
    else
        memset(value, 0, size);
}

void sonde_found_put_string(struct sonde_text *found, const char *string)
{
    const char *text = string ? string : "";
    sonde_text_add_bytes(found, text, strlen(text) + 1);
}

const char *sonde_found_get_string(struct sonde_found *found)
{
    const char *nul = found->failed ? NULL : memchr(found->at, '\0', (size_t)(found->end - found->at));
    const char *string = next(found, nul ? (size_t)(nul - found->at) + 1 : SIZE_MAX);
    return string ? string : "";
}

void sonde__found_put_items(struct sonde_text *found, const void *items, size_t count, size_t size)
{
    const uint64_t number = count;
    sonde_found_put(found, &number, sizeof number);
    if (count)
        sonde_found_put(found, items, count * size);
}

void *sonde__found_get_items(struct sonde_found *found, size_t *count, size_t size)
{
    uint64_t number;
    sonde_found_get(found, &number, sizeof number);
    const char *at = number <= SIZE_MAX / size ? next(found, (size_t)number * size) : NULL;
    void *items = at && number ? malloc((size_t)number * size) : NULL;
    *count = 0;
    if (!items) {
        found->failed |= number > 0;
        return NULL;
    }
    memcpy(items, at, (size_t)number * size);
    *count = (size_t)number;
    return items;
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static void make_room(struct sonde_text *message, uint64_t length)
{
    message->bytes = length < SIZE_MAX ? malloc((size_t)length + 1) : NULL;
    if (!message->bytes)
        sonde_team_fail("out of memory");
    message->bytes[length] = '\0';
    message->length = (size_t)length;
    message->capacity = (size_t)length + 1;
}

void sonde_team_send(uint32_t to, const struct sonde_text *message)
{
    const uint64_t length = message->length;
    if (message->failed)
        sonde_team_fail("out of memory");
    joined->send(to, &length, sizeof length);
    joined->send(to, message->bytes, message->length);
}

void sonde_team_receive(uint32_t from, struct sonde_text *message)
{
    uint64_t length = 0;
    joined->receive(from, &length, sizeof length);
    make_room(message, length);
    joined->receive(from, message->bytes, message->length);
}

void sonde_team_broadcast(uint32_t from, struct sonde_text *message)
{
    uint64_t length = message->length;
    if (message->failed)
        sonde_team_fail("out of memory");
    joined->broadcast(from, &length, sizeof length);
    if (joined->rank != from)
        make_room(message, length);
    joined->broadcast(from, message->bytes, message->length);
}

/* ---- sharing the work ------------------------------------------------------------------------------------ */

static uint64_t weight_of(const struct sonde_team_work *work, void *user, uint32_t task)
{
    return work->weight ? work->weight(user, task) + 1 : 1;
}

/* Neighbouring tasks for each process, of about the same weight: a task is of the process in whose part its middle lies. */
static void divide(const struct sonde_team_work *work, void *user, uint32_t size, uint32_t *first)
{
    uint64_t all = 0, before = 0;
    uint32_t rank = 0;
    for (uint32_t task = 0; task < work->tasks; task++)
        all += weight_of(work, user, task);
    for (uint32_t task = 0; task < work->tasks; task++) {
        const uint64_t weight = weight_of(work, user, task);
        const double middle = (double)before + (double)weight / 2;
        while (rank < size && middle >= (double)all * rank / size)
            first[rank++] = task;
        before += weight;
    }
    while (rank <= size)
        first[rank++] = work->tasks;
}

static uint32_t *division_of(const struct sonde_team_work *work, void *user)
{
    uint32_t *first = malloc(((size_t)joined->size + 1) * sizeof *first);
    if (!first)
        sonde_team_fail("out of memory");
    divide(work, user, joined->size, first);
    return first;
}

uint32_t sonde_team_share(uint32_t tasks, uint32_t *last)
{
    *last = tasks;
    if (sonde_team_size() == 1)
        return 0;
    uint32_t *division = division_of(&(struct sonde_team_work){.tasks = tasks}, NULL);
    const uint32_t first = division[joined->rank];
    *last = division[joined->rank + 1];
    free(division);
    return first;
}

static int add_tasks(const struct sonde_team_work *work, void *user, uint32_t first, uint32_t last, const struct sonde_text *text)
{
    const char *bytes = sonde_text_get(text);
    struct sonde_found found = {bytes, bytes + text->length, text->failed};
    int rc = 0;
    for (uint32_t task = first; task < last && !rc; task++) {
        rc = work->add(user, task, &found);
        rc = rc || !found.failed ? rc : SONDE_ENOMEM;
    }
    return rc;
}

static int run_alone(const struct sonde_team_work *work, void *user)
{
    struct sonde_text found = {0};
    int rc = 0;
    for (uint32_t task = 0; task < work->tasks && !rc; task++) {
        found.length = 0;
        rc = work->find(user, task, &found);
        rc = rc ? rc : add_tasks(work, user, task, task + 1, &found);
    }
    sonde_text_fini(&found);
    return rc;
}

/* What each process found, and how it went, to all. */
static int run_shared(const struct sonde_team_work *work, void *user, const uint32_t *first)
{
    struct sonde_text mine = {0};
    int went = 0, rc = 0, added = 0;
    for (uint32_t task = first[joined->rank]; task < first[joined->rank + 1] && !went; task++)
        went = work->find(user, task, &mine);
    went = went || !mine.failed ? went : SONDE_ENOMEM;
    for (uint32_t rank = 0; rank < joined->size; rank++) {
        const bool own = rank == joined->rank;
        struct sonde_text theirs = own ? mine : (struct sonde_text){0};
        int code = went;
        joined->broadcast(rank, &code, sizeof code);
        rc = rc ? rc : code;
        if (!code)
            sonde_team_broadcast(rank, &theirs);
        if (!rc && !added)
            added = add_tasks(work, user, first[rank], first[rank + 1], &theirs);
        sonde_text_fini(&theirs);
    }
    if (added == SONDE_ENOMEM && !rc) /* here alone: the others go on */
        sonde_team_fail("out of memory");
    return rc ? rc : added;
}

int sonde_team_run(const struct sonde_team_work *work, void *user)
{
    if (sonde_team_size() == 1)
        return run_alone(work, user);
    uint32_t *first = division_of(work, user);
    const int rc = run_shared(work, user, first);
    free(first);
    return rc;
}
