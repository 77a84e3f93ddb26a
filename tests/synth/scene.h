/* scene.h - small measurements of one process, row by row, for known-answer tests.
 *
 *     struct scene *s = scene_create();
 *     uint32_t queue = scene_queue(s, scene_device(s, "gpu"));
 *     uint32_t thread = scene_thread(s);
 *     uint32_t finish = scene_api(s, thread, scene_function(s, thread, 0, "step"), "clFinish");
 *     scene_call(s, thread, finish, 100, 200, 0);
 *     struct sonde_measurement *m = scene_open(s);   // s is gone
 *     ... sonde_measurement_close(m) ...
 *
 * Functions are Python's: their names need no symbols. Times are nanoseconds on
 * the host's axis. Operations, calls and samples count in the profile too. What
 * cannot be made ends the program.
 */
#ifndef SONDE_TESTS_SCENE_H
#define SONDE_TESTS_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/reader.h"
#include "synth.h"

struct scene;

struct scene *scene_create(void);
struct synth_build *scene_build(struct scene *s);       /* for rows of other tables */
struct sonde_live_header *scene_header(struct scene *s); /* start_ns 0, stop_ns 1000, traced: change what matters */

uint32_t scene_device(struct scene *s, const char *name);
uint32_t scene_queue(struct scene *s, uint32_t device); /* id of a queue lane */
uint32_t scene_thread(struct scene *s);                 /* id of a thread lane, and of its tree */

/* Calling context nodes below `parent` (0: the root of the thread). */
uint32_t scene_function(struct scene *s, uint32_t thread, uint32_t parent, const char *name); /* line 1 */
uint32_t scene_line(struct scene *s, uint32_t thread, uint32_t parent, const char *function, uint32_t line);
uint32_t scene_api(struct scene *s, uint32_t thread, uint32_t parent, const char *name);
uint32_t scene_kernel(struct scene *s, uint32_t thread, uint32_t parent, const char *name);
uint32_t scene_native(struct scene *s, uint32_t thread, uint32_t parent, const char *module); /* code without a name */

void scene_call(struct scene *s, uint32_t thread, uint32_t node, uint64_t enter_ns, uint64_t leave_ns,
                uint64_t correlation);
void scene_op(struct scene *s, uint32_t queue, uint32_t node, uint64_t start_ns, uint64_t end_ns, uint64_t correlation);
void scene_sample(struct scene *s, uint32_t thread, uint32_t node, uint64_t time_ns, uint64_t cpu_ns);
void scene_rest(struct scene *s, uint32_t thread, uint32_t node, uint64_t time_ns, uint64_t cpu_ns); /* as it ended */
void scene_switch(struct scene *s, uint32_t thread, uint64_t out_ns, uint64_t in_ns, uint32_t flags);
void scene_sleep(struct scene *s, uint32_t thread, uint32_t node, uint64_t from_ns, uint64_t to_ns); /* in an API node */
void scene_wait(struct scene *s, uint32_t thread, uint64_t enter_ns);

/* Seal the measurement, open it, and remove its files. */
struct sonde_measurement *scene_open(struct scene *s);

#endif
