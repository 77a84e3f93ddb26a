/* team.h - several processes that come to one answer.
 *
 * All of a team run the same program on the same files, and all come to the same answer. Of what takes long each does
 * a part, and writes down what it found; then each adds up what all of them found, in the same order:
 *
 *     int find(void *user, uint32_t task, struct sonde_text *found)      // of this task alone
 *     {
 *         ... sonde_found_put(found, &sums, sizeof sums); return 0;
 *     }
 *     int add(void *user, uint32_t task, struct sonde_found *found)      // in the order of the tasks
 *     {
 *         ... sonde_found_get(found, &sums, sizeof sums); return 0;
 *     }
 *     rc = sonde_team_run(&(struct sonde_team_work){.tasks = n, .find = find, .add = add}, user);
 *
 * A process alone is a team of one and goes the same way, so that an answer does not depend on how many there are.
 * Where more than one task is worth a thread, `find` starts threads (parallel.h).
 *
 * Threads: a team is one thread of each process, the one that joined.
 */
#ifndef SONDE_BASE_TEAM_H
#define SONDE_BASE_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"
#include "vector.h"

/* How the processes of a team reach each other. What cannot be delivered ends them all. */
struct sonde_team {
    uint32_t rank, size;
    void (*send)(uint32_t to, const void *bytes, size_t size);
    void (*receive)(uint32_t from, void *bytes, size_t size);
    void (*broadcast)(uint32_t from, void *bytes, size_t size); /* read at `from`, written at all others */
    void (*fail)(const char *why); /* ends all of them, saying why */
};

/* From now on; `team` must last. NULL: alone again. */
void sonde_team_join(const struct sonde_team *team);
uint32_t sonde_team_rank(void); /* 0 alone */
uint32_t sonde_team_size(void); /* 1 alone */
/* What one of several cannot go on after: ends them all. */
_Noreturn void sonde_team_fail(const char *why);

/* ---- what was found: values one after the other, as they lie in memory ------------------------------- */

struct sonde_found {
    const char *at, *end;
    bool failed; /* there was less than was asked for, or no memory */
};

static inline void sonde_found_put(struct sonde_text *found, const void *value, size_t size)
{
    sonde_text_add_bytes(found, value, size);
}
/* `value` is zeroed where there is nothing more. */
void sonde_found_get(struct sonde_found *found, void *value, size_t size);
/* Strings may be NULL, which reads as "". What is read lies in `found`. */
void sonde_found_put_string(struct sonde_text *found, const char *string);
const char *sonde_found_get_string(struct sonde_found *found);

void sonde__found_put_items(struct sonde_text *found, const void *items, size_t count, size_t size);
void *sonde__found_get_items(struct sonde_found *found, size_t *count, size_t size);
/* Vectors of values without pointers. Into an empty one. */
#define sonde_found_put_vector(found, vector) \
    sonde__found_put_items(found, (vector)->items, (vector)->count, sizeof *(vector)->items)
#define sonde_found_get_vector(found, vector)                                                        \
    ((vector)->items = sonde__found_get_items(found, &(vector)->count, sizeof *(vector)->items), \
     (vector)->capacity = (vector)->count)

/* ---- sharing the work -------------------------------------------------------------------------------- */

struct sonde_team_work {
    uint32_t tasks;
    uint64_t (*weight)(void *user, uint32_t task); /* how long it takes, compared with others; NULL: all alike */
    int (*find)(void *user, uint32_t task, struct sonde_text *found);
    int (*add)(void *user, uint32_t task, struct sonde_found *found);
};
/* 0, or what a task returned, in every process; SONDE_ENOMEM. All of a team must come here with the same tasks. */
int sonde_team_run(const struct sonde_team_work *work, void *user);

/* Of `tasks` that are all alike this process does those from the one that is returned to before *last, here and in sonde_team_run. */
uint32_t sonde_team_share(uint32_t tasks, uint32_t *last);

/* One message, of any size, from one process to another or to all. `message` must be empty at who gets it. */
void sonde_team_send(uint32_t to, const struct sonde_text *message);
void sonde_team_receive(uint32_t from, struct sonde_text *message);
void sonde_team_broadcast(uint32_t from, struct sonde_text *message);

#endif
