/* notes.c - what the figures of a view lack: the caveats of the measurement, and where two views disagree. */
#include "notes.h"

#include <math.h>

#include "analyze/answers/lanes/statistics.h"
#include "analyze/model/recorded.h"
#include "analyze/trace/trace.h"
#include "base/number.h"
#include "names.h"

static double disagreement(const struct sonde_share *share)
{
    return share->disagrees ? fabs(share->sampled_ns - share->cpu_ns) : 0;
}

/* Rows of the trace that are read again for a note: some seconds of a processor, and a tenth of one. */
enum {
    MOST_ROWS = 20000000,
    MOST_ROWS_QUICK = 1 << 20,
};

/* What of host code the times between API calls and its samples say differently, in one sentence; nothing where they agree
 * or cannot be compared. */
static int say_disagreement(const struct sonde_query *q, uint64_t most_rows, struct sonde_text *out)
{
    struct sonde_statistics st = {0};
    struct sonde_diag diag = {0};
    const struct sonde_share *most = NULL;
    uint64_t begin, end, count = 0;
    char time[SONDE_NUMBER_MAX], cpu[SONDE_NUMBER_MAX], error[SONDE_NUMBER_MAX];
    sonde_run_range(q->m, &begin, &end);
    if (!q->profile->sampled || end <= begin || sonde_trace_rows(q->m, SONDE_READ_ALL) > most_rows)
        return 0;
    struct sonde_statistics_config config = {.progress = sonde_query_begin(q, "reading the trace")};
    int rc = sonde_statistics_compute(q->m, q->profile, &config, &st, &diag);
    sonde_query_end(q, config.progress);
    for (size_t i = 0; i < st.rows.count && !rc; i++) {
        const struct sonde_share *share = &st.rows.items[i];
        count += share->disagrees;
        most = share->disagrees && (!most || disagreement(share) > disagreement(most)) ? share : most;
    }
    if (most) {
        sonde_name_share(q, out, most);
        sonde_text_format(out, ": %s from the times between API calls, but %s from samples (± %s)",
                          sonde_number_time(time, most->sampled_ns), sonde_number_time(cpu, most->cpu_ns),
                          sonde_number_time(error, hypot(most->error_ns, most->cpu_error_ns)));
        if (count > 1)
            sonde_text_format(out, "; %llu more function%s disagree%s", (unsigned long long)(count - 1), count == 2 ? "" : "s",
                              count == 2 ? "s" : "");
        sonde_text_add(out, ": blame, critical and statistics use the former, profile the latter, and one of them is wrong");
    }
    sonde_statistics_fini(&st);
    return rc;
}

int sonde_query_caveats(const struct sonde_query *q, unsigned kinds, bool quick, struct sonde_caveats *out)
{
    struct sonde_text text = {0};
    int rc = sonde_caveats_compute(q->m, q->profile, out);
    if (!rc && kinds & SONDE_CAVEAT_VIEWS)
        rc = say_disagreement(q, quick ? MOST_ROWS_QUICK : MOST_ROWS, &text);
    if (!rc && text.length) {
        rc = sonde_vector_push(&out->items, (struct sonde_caveat){SONDE_CAVEAT_VIEWS, text});
        text = rc ? text : (struct sonde_text){0};
    }
    sonde_text_fini(&text);
    return rc;
}
