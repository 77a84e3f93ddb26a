/* rows.c - print the ranges in the trace of a measurement: one line each, in the order of their begin. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

static const struct sonde_process *process;
static struct line {
    uint64_t begin_ns;
    char text[400];
} *lines;
static size_t count;

static void payload_text(const struct sonde_row_range *r, char *text, size_t size)
{
    double number;
    int64_t negative;
    memcpy(&number, &r->payload, sizeof number);
    memcpy(&negative, &r->payload, sizeof negative);
    if (r->payload_type == 1)
        snprintf(text, size, "%" PRIu64, r->payload);
    else if (r->payload_type == 2)
        snprintf(text, size, "%" PRId64, negative);
    else if (r->payload_type == 3)
        snprintf(text, size, "%g", number);
    else
        snprintf(text, size, "-");
}

static int take(void *user, uint32_t lane, const void *rows, uint32_t n)
{
    (void)user;
    (void)lane;
    for (uint32_t i = 0; i < n; i++) {
        const struct sonde_row_range *r = (const struct sonde_row_range *)rows + i;
        char payload[40];
        lines = realloc(lines, (count + 1) * sizeof *lines);
        if (!lines)
            abort();
        payload_text(r, payload, sizeof payload);
        lines[count].begin_ns = r->begin_ns;
        snprintf(lines[count++].text, sizeof lines->text, "%s|%s|%s|%s|%s%s%s", sonde_process_string(process, r->domain),
                 sonde_process_string(process, r->name), sonde_process_string(process, r->category), payload,
                 r->flags & SONDE_RANGE_MARK ? "mark" : "range", r->flags & SONDE_RANGE_ACROSS ? " across" : "",
                 !r->end_ns ? " open" : (r->end_ns < r->begin_ns ? " reversed" : ""));
    }
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    uint64_t x = ((const struct line *)a)->begin_ns, y = ((const struct line *)b)->begin_ns;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    struct sonde_measurement *m = NULL;
    struct sonde_diag diag = {0};
    if (argc != 2 || sonde_measurement_open(argv[1], &m, &diag) != 0) {
        fprintf(stderr, "usage: rows MEASUREMENT (%s)\n", diag.what);
        return 2;
    }
    for (uint32_t i = 0; i < m->process_count; i++) {
        process = &m->processes[i];
        sonde_process_trace(process, SONDE_TABLE_RANGE, 0, 0, UINT64_MAX, take, NULL);
    }
    qsort(lines, count, sizeof *lines, by_begin);
    for (size_t i = 0; i < count; i++)
        puts(lines[i].text);
    free(lines);
    sonde_measurement_close(m);
    return 0;
}
