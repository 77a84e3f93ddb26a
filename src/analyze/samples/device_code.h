/* device_code.h - of the sampled code of a program, what is the device's own: where the device is a CPU (PoCL), its
 * kernels run in threads of the process, which the runtime made for that.
 *
 * Threads: any.
 */
#ifndef SONDE_ANALYZE_SAMPLES_DEVICE_CODE_H
#define SONDE_ANALYZE_SAMPLES_DEVICE_CODE_H

#include <stdint.h>

#include "analyze/profile/profile.h"
#include "format/reader.h"

/* What a calling context is. A thread of the runtime's that calls the program back is the program's there. */
enum sonde_device_code {
    SONDE_CODE_NOT_KNOWN,  /* only the C library's: the start of a thread */
    SONDE_CODE_PROGRAM,
    SONDE_CODE_DEVICE,     /* in a thread that the runtime began: its own code, and what that had done */
    SONDE_CODE_KERNEL,     /* in a kernel, whatever thread that is in */
};
static inline int sonde_code_is_device(uint8_t code)
{
    return code >= SONDE_CODE_DEVICE;
}

/* Of each node of the tree: [profile->nodes.count], caller frees. *any: some are the device's. NULL: out of memory. */
uint8_t *sonde_device_code(const struct sonde_profile *profile, bool *any);

/* Did the runtime begin the lane's thread? As most of the first that tell say: of its samples, or of its calls where no sample does. */
bool sonde_device_thread(const struct sonde_profile *profile, const uint8_t *code, const struct sonde_process *p,
                         uint32_t process, uint32_t lane);

#endif
