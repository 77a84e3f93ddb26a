/* html.h - `sonde view --html`: a page with its measurement within, which opens anywhere and asks nobody for anything. */
#ifndef SONDE_CMDS_VIEW_HTML_H
#define SONDE_CMDS_VIEW_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/error.h>

#include "format/pack.h"

/* How much of a measurement a page holds, where the user says nothing else. */
#define SONDE_HTML_LIMIT_BYTES ((uint64_t)64 << 20)

struct sonde_html {
    const char *page;     /* folder of the page's files: index.html, viewer.js, viewer.css, worker.js, sonde.wasm.gz */
    const char *output;   /* the file to write */
    bool force;           /* also when there is one */
    uint64_t limit_bytes; /* of the measurement; above it, the last rows of its traces are left out */
};

struct sonde_html_result {
    uint64_t bytes;                   /* of the file */
    uint64_t left_out[SONDE_TRACES];  /* rows, by `enum sonde_trace`: the page says so, too */
};

/* Nothing is seen under the file's name before it is whole. 0, or a negative code with `diag`: EEXISTS, EIO, ENOMEM; ENOTFOUND where
 * the page was not built; EINVAL where the limit is too low. One thread per file. */
int sonde_html_write(const struct sonde_html *html, const struct sonde_measurement *m, struct sonde_html_result *result,
                     struct sonde_diag *diag);

/* What was left out as one sentence without a full stop, into `out`; empty: nothing. */
void sonde_html_left_out(const struct sonde_html_result *result, char *out, size_t size);

#endif
