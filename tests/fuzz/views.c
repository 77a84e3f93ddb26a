/* views.c - everything that the views of `sonde report` compute, on whatever measurement there is.
 *
 * fuzz.c calls it when it is built with FUZZ_VIEWS. Nothing is compared: no
 * crash, no undefined behaviour, no hang, and what is given back is in order.
 * Files that a measurement names are not opened: a fuzzer would find /dev/zero.
 */
#include "views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/answers/advice/advice.h"
#include "analyze/answers/blame/blame.h"
#include "analyze/answers/comm/comm.h"
#include "analyze/answers/summary/caveats.h"
#include "analyze/answers/critical/critical.h"
#include "analyze/answers/critical/dependencies.h"
#include "analyze/answers/diff/diff.h"
#include "analyze/answers/lanes/lanes.h"
#include "analyze/answers/memory/memory.h"
#include "analyze/symbols/debug_file.h"
#include "analyze/answers/memory/objects.h"
#include "analyze/answers/lanes/overlap.h"
#include "analyze/answers/lanes/statistics.h"
#include "analyze/answers/timeline/series.h"
#include "analyze/answers/timeline/timeline.h"
#include "analyze/job/contexts.h"
#include "analyze/job/messages.h"
#include "analyze/model/recorded.h"
#include "analyze/model/totals.h"
#include "analyze/metrics/profile_rows.h"
#include "analyze/profile/tallies.h"
#include "analyze/trace/trace.h"

static void require(int condition)
{
    if (!condition)
        abort();
}

/* In place of object.c. */
struct sonde__debug_file *sonde__debug_open(const struct sonde__debug_wanted *wanted, char *why, size_t why_bytes)
{
    (void)wanted;
    snprintf(why, why_bytes, "the file cannot be read");
    return NULL;
}

bool sonde__debug_is_stripped(struct sonde__debug_file *object)
{
    (void)object;
    return true;
}

void sonde__debug_close(struct sonde__debug_file *object)
{
    (void)object;
}

void sonde__debug_expect(struct sonde__debug_file *object, const uint64_t *addresses, size_t count)
{
    (void)object, (void)addresses, (void)count;
}

size_t sonde__debug_lookup(struct sonde__debug_file *object, uint64_t address, struct sonde__place places[SONDE__PLACES_MAX])
{
    (void)object, (void)address, (void)places;
    return 0;
}

static void memory(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    struct sonde_memory_use use = {0};
    struct sonde_objects objects = {0};
    require(sonde_memory_compute(m, profile, NULL, &use) == 0);
    for (size_t i = 0; i < use.spaces.count; i++) {
        const struct sonde_memory_space *space = &use.spaces.items[i];
        require(space->points.count >= 2 && space->points.count <= SONDE_MEMORY_POINTS);
        for (size_t k = 1; k < space->points.count; k++)
            require(space->points.items[k].at_ns >= space->points.items[k - 1].at_ns);
        for (size_t k = 0; k < space->sites.count; k++)
            require(space->sites.items[k].most_count <= space->sites.items[k].count && isfinite(space->sites.items[k].held));
    }
    require(sonde_objects_compute(m, profile, &objects) == 0);
    sonde_objects_fini(&objects);
    sonde_memory_fini(&use);
}

static void shapes(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    static const struct {
        enum sonde_profile_shape shape;
        enum sonde_profile_by by;
    } asked[] = {
        {SONDE_PROFILE_TOP_DOWN, SONDE_BY_LINE},
        {SONDE_PROFILE_BOTTOM_UP, SONDE_BY_FUNCTION},
        {SONDE_PROFILE_FLAT, SONDE_BY_MODULE},
        {SONDE_PROFILE_FLAT, SONDE_BY_KERNEL},
        {SONDE_PROFILE_FLAT, SONDE_BY_OBJECT},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct sonde_columns columns = {0};
        struct sonde_profile_rows *view = NULL;
        struct sonde_diag diag = {0};
        struct sonde_profile_rows_config config = {
            .shape = asked[i].shape,
            .by = asked[i].by,
            .columns = &columns,
            .sort_side = SONDE_INCLUSIVE,
            .m = m,
        };
        if (sonde_profile_rows_build(profile, &config, &view, &diag) == 0)
            for (size_t row = 1; row < view->rows.count; row++)
                require(view->rows.items[row].parent < row);
        sonde_profile_rows_destroy(view);
        sonde_columns_fini(&columns);
    }
}

/* One figure that profiles hold, and one that the trace does. */
static void over_ranks(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_job *job)
{
    struct sonde_columns columns = {0};
    struct sonde_profile_rows *rows = NULL;
    struct sonde_diag diag = {0};
    const struct sonde_profile_rows_config config = {.columns = &columns};
    for (int metric = 0; metric < 2 && sonde_profile_rows_build(profile, &config, &rows, &diag) == 0; metric++) {
        sonde_context_values values = {0};
        struct sonde_rank_contexts over = {0};
        if ((metric ? sonde_message_values(m, profile, &values) : sonde_metric_values(m, profile, SONDE_METRIC_API, &values)) == 0)
            require(sonde_rank_contexts_compute(m, job, rows, &values, &over) == 0);
        for (size_t row = 0; row < rows->rows.count && over.of[SONDE_INCLUSIVE]; row++) {
            const struct sonde_rank_spread *s = &over.of[SONDE_INCLUSIVE][row];
            require(s->least >= 0 && s->least <= s->median && s->median <= s->most && s->most >= over.of[SONDE_EXCLUSIVE][row].most);
        }
        sonde_rank_contexts_fini(&over);
        sonde_vector_fini(&values);
        sonde_profile_rows_destroy(rows);
    }
}

static void ranks(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    struct sonde_job job = {0};
    require(sonde_job_compute(m, profile, &job) == 0);
    if (job.ranks.count)
        over_ranks(m, profile, &job);
    sonde_job_fini(&job);
}

/* Ranges of the run one after the other, some of them at a depth. */
static void blame_of_ranges(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    struct sonde_blame_basis *basis = sonde_blame_basis_create(m, profile);
    uint64_t begin, end;
    sonde_run_range(m, &begin, &end);
    const uint64_t step = end > begin ? (end - begin) / 3 : 1000;
    for (uint64_t i = 0; i < 4; i++) {
        const struct sonde_blame_options options = {.from_ns = i * step, .to_ns = (i + 1) * step, .basis = basis, .threads = 1};
        struct sonde_blame blame = {0};
        (void)sonde_blame_compute(m, profile, &options, &blame);
        (void)sonde_blame_cut(&blame, profile, (uint32_t)i);
        for (size_t k = 0; k < blame.scopes.count; k++)
            require(blame.scopes.items[k].range_ns >= 0 && blame.scopes.items[k].idle_ns >= 0);
        sonde_blame_fini(&blame);
    }
    sonde_blame_basis_destroy(basis);
}

static void traces(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    struct sonde_lanes lanes = {0};
    struct sonde_blame blame = {0};
    struct sonde_critical critical = {0};
    struct sonde_overlaps overlaps = {0};
    struct sonde_statistics statistics = {0};
    struct sonde_advices advices = {0};
    struct sonde_comm comm = {0};
    struct sonde_diag diag = {0};
    const struct sonde_blame_options once = {.threads = 1};
    const struct sonde_critical_options options = {.evaluate = 4, .segments = true};
    const struct sonde_statistics_config config = {0};
    const struct sonde_comm_config whole = {0};
    (void)sonde_lanes_compute(m, NULL, &lanes);
    (void)sonde_blame_compute(m, profile, &once, &blame);
    blame_of_ranges(m, profile);
    (void)sonde_critical_compute(m, profile, &options, NULL, &critical);
    (void)sonde_overlap_compute(m, 0, NULL, &overlaps);
    (void)sonde_statistics_compute(m, profile, &config, &statistics, &diag);
    require(sonde_comm_compute(m, profile, &whole, &comm) == 0);
    (void)sonde_advice_compute(m, profile, NULL, 100, &advices);
    for (size_t i = 0; i < critical.paths.count; i++)
        require(critical.paths.items[i].end_ns >= critical.paths.items[i].begin_ns);
    sonde_lanes_fini(&lanes);
    sonde_blame_fini(&blame);
    sonde_critical_fini(&critical);
    sonde_overlap_fini(&overlaps);
    sonde_statistics_fini(&statistics);
    sonde_advice_fini(&advices);
    sonde_comm_fini(&comm);
}

static bool is_any(void *user, const struct sonde_timeline_label *label)
{
    (void)user;
    (void)label;
    return true;
}

/* Some steps from one interval to another, from both ends. */
static void walk(struct sonde_timeline *timeline)
{
    for (int back = 0; back < 2; back++) {
        struct sonde_timeline_search search = {.at_ns = back ? UINT64_MAX : 0, .back = back, .depth = (uint32_t)back, .accepts = is_any};
        struct sonde_timeline_hit hit = {0}, last;
        for (int i = 0; i < 10 && sonde_timeline_next(timeline, &search, &hit, NULL) == 0; i++) {
            require(hit.end_ns >= hit.place.begin_ns);
            last = hit;
            search.from = &last.place;
        }
    }
}

static void counters(const struct sonde_measurement *m)
{
    struct sonde_series *series = NULL;
    require(sonde_series_create(m, &series) == 0);
    for (uint32_t i = 0; i < 3; i++) {
        const struct sonde_series_question question = {.from_ns = i ? 1000 : 0, .to_ns = i == 2 ? UINT64_MAX : 0, .pixels = i ? 50 : 2000, .exact = true};
        struct sonde_series_answer answer = {0};
        (void)sonde_series_ask(series, &question, &answer, NULL);
        for (size_t k = 0; k < answer.lines.count; k++)
            for (size_t b = 0; b < answer.lines.items[k].bins.count; b++)
                require(answer.lines.items[k].bins.items[b].least <= answer.lines.items[k].bins.items[b].most);
        sonde_series_answer_fini(&answer);
    }
    sonde_series_destroy(series);
}

static void tallies(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    struct sonde_tallies t = {0};
    require(sonde_tallies_compute(m, profile, &t) == 0);
    for (size_t i = 0; i < t.contexts.count; i++)
        require(t.contexts.items[i].tally < t.all.count && t.contexts.items[i].node < profile->nodes.count);
    for (size_t i = 0; i < t.routines.count; i++)
        require(t.routines.items[i].tally < t.all.count && t.routines.items[i].node < profile->nodes.count);
    sonde_tallies_fini(&t);
}

/* What is drawn of all lanes, and of parts of the run. */
static void drawings(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    SONDE_VECTOR(struct sonde_lane_id) lanes = {0};
    struct sonde_timeline *timeline = NULL;
    struct sonde_overview overview = {0};
    for (uint32_t i = 0; i < m->process_count; i++)
        for (uint32_t lane = 1; lane < m->processes[i].lane_count && lanes.count < 100; lane++)
            if (m->processes[i].lanes[lane].kind == SONDE_LANE_KIND_THREAD || m->processes[i].lanes[lane].kind == SONDE_LANE_KIND_QUEUE)
                (void)sonde_vector_push(&lanes, (struct sonde_lane_id){i, lane});
    require(sonde_timeline_create(m, profile, 1 << 20, &timeline) == 0);
    for (uint32_t i = 0; i < 3; i++) {
        const struct sonde_timeline_question question = {
            .lanes = lanes.items,
            .lane_count = lanes.count,
            .to_ns = i == 2 ? UINT64_MAX : 0,
            .pixels = i ? 50 : 2000,
            .depth = i,
        };
        struct sonde_timeline_answer answer = {0};
        (void)sonde_timeline_ask(timeline, &question, &answer, NULL);
        sonde_timeline_answer_fini(&answer);
    }
    (void)sonde_overview_compute(m, 100, true, 0, &overview, NULL);
    sonde_overview_fini(&overview);
    walk(timeline);
    counters(m);
    tallies(m, profile);
    sonde_timeline_destroy(timeline);
    sonde_vector_fini(&lanes);
}

/* What is told of one step; whatever waited for it is there, or is left out. */
static void told(struct sonde_dependencies_of *of)
{
    require(of->before.count <= 3 && of->after.count <= 3);
    require(of->before.count == 3 || !of->before_left_out);
    require(of->after.count == 3 || !of->after_left_out);
    sonde_dependencies_of_fini(of);
}

static void dependencies(const struct sonde_measurement *m)
{
    struct sonde_dependencies *d = NULL;
    require(sonde_dependencies_create(m, SONDE_CRITICAL_ROWS, &d) == 0);
    for (uint32_t process = 0; process < m->process_count; process++)
        for (uint32_t lane = 1; lane < m->processes[process].lane_count && lane < 8; lane++)
            for (uint64_t number = 0; number < 3; number++) {
                struct sonde_dependencies_of op = {0}, call = {0};
                struct sonde_trace_wanted wanted = {.table = SONDE_TABLE_OP, .lane = lane, .number = &number};
                struct sonde_row_op row;
                struct sonde_row_call entered;
                uint64_t found;
                if (!sonde_trace_row(&m->processes[process], &wanted, &row, &found))
                    (void)sonde_dependencies_of_op(d, process, lane, &row, 3, &op);
                wanted.table = SONDE_TABLE_CALL;
                if (!sonde_trace_row(&m->processes[process], &wanted, &entered, &found))
                    (void)sonde_dependencies_of_call(d, process, lane, entered.enter_ns, 3, &call);
                told(&op);
                told(&call);
            }
    sonde_dependencies_destroy(d);
}

/* With itself, by what varies within it, and as three runs. */
static void differences(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_totals *totals)
{
    const struct sonde_diff_run run = {m, profile, totals}, runs[] = {run, run, run};
    for (uint32_t count = 2; count <= 3; count++) {
        const struct sonde_diff_config config = {.runs = runs, .run_count = count, .before_count = 1};
        struct sonde_diff diff = {0};
        (void)sonde_diff_compute(&config, &diff);
        for (size_t i = 0; i < diff.rows.count; i++) {
            const struct sonde_diff_row *row = &diff.rows.items[i];
            require(row->match == SONDE_DIFF_SAME && isfinite(row->before) && isfinite(row->after));
            require(!row->effect.known || (row->effect.low <= row->effect.high && row->effect.p >= 0 && row->effect.p <= 1));
        }
        sonde_diff_fini(&diff);
    }
}

void fuzz_views(const struct sonde_measurement *m)
{
    struct sonde_profile *profile = NULL;
    struct sonde_totals totals = {0};
    struct sonde_caveats caveats = {0};
    struct sonde_diag diag = {0};
    require(sonde_profile_build(m, &profile, &diag) == 0);
    require(sonde_totals_compute(m, &totals) == 0);
    require(sonde_caveats_compute(m, profile, &caveats) == 0);
    memory(m, profile);
    shapes(m, profile);
    traces(m, profile);
    drawings(m, profile);
    dependencies(m);
    differences(m, profile, &totals);
    ranks(m, profile);
    sonde_caveats_fini(&caveats);
    sonde_totals_fini(&totals);
    sonde_profile_destroy(profile);
}
