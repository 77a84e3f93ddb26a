/* doctor.h - the two halves of `sonde doctor`: the probe, run in processes of its own, and the checks. */
#ifndef SONDE_CMDS_DOCTOR_DOCTOR_H
#define SONDE_CMDS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* ---- findings (doctor.c) --------------------------------------------------------- */

enum doctor_finding {
    DOCTOR_FINE,
    DOCTOR_NOTE,
    DOCTOR_PROBLEM,
};

struct doctor {
    json_t *checks;      /* array of {name, status, text, fix} */
    json_t *platforms;   /* as the probe saw them; may be NULL */
    size_t cuda_devices;
    bool records_opencl, records_cuda; /* recording works */
};

void doctor_put(struct doctor *d, const char *name, enum doctor_finding finding, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The command that repairs the last finding: the administrator's, with "sudo "
 * for other users; anybody's; an installation by the system's package manager. */
void doctor_fix(struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doctor_try(struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doctor_package(struct doctor *d, const char *debian, const char *fedora);
const char *doctor_text(const json_t *object, const char *key); /* "?" when there is none */

/* ---- what --values needs of the system (compilers.c) --------------------------- */

/* For OpenCL runtimes without LLVM bitcode of their own. */
void doctor_check_compilers(struct doctor *d);

/* ---- counters (counters.c) ------------------------------------------------------ */

/* Prints what record --counters can count on `chip`; NULL: on the first device. Returns the exit status, after a message. */
int doctor_counters(const char *chip, bool json);

/* ---- counters of the CPU (cpu_counters.c) ---------------------------------------- */

void doctor_check_cpu_counters(struct doctor *d);

/* ---- NVIDIA (nvidia.c) ------------------------------------------------------ */

void doctor_check_nvidia(struct doctor *d, const json_t *answer);

/* The command that gets CUPTI for this driver; and what is done about a
 * recording that failed, as the ledger's note says why. */
void doctor_get_cupti(struct doctor *d, const json_t *answer);
void doctor_cure_recording(struct doctor *d, const json_t *answer, const char *note);

/* Texts of the driver, exposed for tests. In that of /proc/driver/nvidia/params:
 * are counters for the administrator only? -1: it does not say. In that of
 * /proc/driver/nvidia/version: the driver's version. */
int doctor_counters_admin_only(const char *params);
bool doctor_module_version(const char *text, char *out, size_t size);
/* Another tool, by the name of its process; NULL: none that matters. */
struct doctor_tool { const char *name, *tool, *effect, *command; };
const struct doctor_tool *doctor_tool_of(const char *name);

/* ---- the probe (probe.c, cuda.c) ------------------------------------- */

/* What a probe does: only look at a runtime, or enqueue a few operations on every device of it. */
enum doctor_work {
    DOCTOR_LOOK_OPENCL,
    DOCTOR_WORK_OPENCL,
    DOCTOR_LOOK_CUDA,
    DOCTOR_WORK_CUDA,
    DOCTOR_NO_PROBE,
};
extern const char *const doctor_work_names[];

/* In the probing process. Prints one JSON object to standard output. Returns the exit status. */
int doctor_probe(enum doctor_work work);
void doctor_probe_cuda(json_t *answer, bool work);

/* Run the probe in a process of its own, with `environment` (NULL: ours), for
 * at most `seconds`. Its answer; NULL with the reason in `why`. */
json_t *doctor_run_probe(enum doctor_work work, char **environment, unsigned seconds, char *why, size_t why_size);

#endif
