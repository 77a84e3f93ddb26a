/* joined.h - what the hardware of devices counted (gpus.h, PM sampling), by the programs and kernels that ran meanwhile (watch.h).
 *
 * What a device counted between two looks is divided among the operations of announced programs that ended on it meanwhile, by their times there: an operation has
 * as much of it as of these times. What it counted while none ended is kept, and goes to those that end next as far as their times reach back. So the shares of
 * all are what was counted, where announced programs alone use the device; else they have some of what others did. docs/monitor.md.
 *
 * Threads: one at a time.
 */
#ifndef SONDE_MONITOR_JOINED_H
#define SONDE_MONITOR_JOINED_H

#include "gpus.h"
#include "watch.h"

struct sonde_joined;

/* NULL: out of memory. */
struct sonde_joined *sonde_joined_create(void);
void sonde_joined_destroy(struct sonde_joined *joined);

/* After a look at both: adds to `counted` of the programs' rows. Without memory for a row it has none. */
void sonde_joined_look(struct sonde_joined *joined, const struct sonde_gpus *gpus, struct sonde_watch *watch);

#endif
