/* each.h - what is found in each process's trace, by a team of processes where there is one (base/team.h).
 *
 *     rc = sonde_each_process(m, &(struct sonde_each){.find = find, .add = add}, user);
 */
#ifndef SONDE_ANALYZE_TRACE_EACH_H
#define SONDE_ANALYZE_TRACE_EACH_H

#include "base/team.h"
#include "format/reader.h"

struct sonde_each {
    /* Read what is asked about process number `process`, and write down what was found: the same whoever does it. */
    int (*find)(void *user, uint32_t process, struct sonde_text *found);
    /* Called for each process, in their order, in every process of the team. */
    int (*add)(void *user, uint32_t process, struct sonde_found *found);
};
/* 0, SONDE_ENOMEM, or what a function returned. Damage that was come across is counted wherever it is asked for. */
int sonde_each_process(const struct sonde_measurement *m, const struct sonde_each *each, void *user);

#endif
