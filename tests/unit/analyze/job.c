/* job.c (test) - messages of a made-up job (tests/synth/messages.c), whose waits follow from when its ranks are ready: how long they waited, for whom, in
 * the end for the one that is late, which alone is on the critical path; and how far the clocks of its hosts are apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/critical/critical.h"
#include "analyze/job/axis.h"
#include "analyze/job/messages.h"
#include "synth.h"

enum { RANKS = 12,
       STEPS = 20 };

struct job {
    char folder[32], path[64];
    struct synth_options options;
    struct synth_totals totals;
    struct sonde_measurement *m;
    struct sonde_profile *profile;
};

static struct job make(uint32_t hosts)
{
    struct job j = {.folder = "/tmp/sonde-job-XXXXXX"};
    struct sonde_diag diag;
    j.options = (struct synth_options){
        .operations = STEPS * 2 * 100, .lanes = 4, .threads = 2, .processes = RANKS, .seed = 1, .cpu_hz = 2000, .ranks = true, .messages = 100, .hosts = hosts, .late_ns = 2000000};
    assert_non_null(mkdtemp(j.folder));
    snprintf(j.path, sizeof j.path, "%s/job.sonde", j.folder);
    assert_int_equal(synth_write(j.path, &j.options, &j.totals, &diag), 0);
    assert_int_equal(sonde_measurement_open_job(j.path, &j.m, &diag), 0);
    assert_int_equal(sonde_profile_build(j.m, &j.profile, &diag), 0);
    return j;
}

static void end(struct job *j)
{
    char command[64];
    sonde_profile_destroy(j->profile);
    sonde_measurement_close(j->m);
    snprintf(command, sizeof command, "rm -r %s", j->folder);
    assert_int_equal(system(command), 0);
}

static const char *name_of(const struct job *j, uint32_t node)
{
    return j->profile->nodes.items[node].name;
}

/* Times of two hosts are known to within a bound, so that each wait is. */
static void assert_near(uint64_t found, uint64_t known, uint64_t within)
{
    assert_true(found + within >= known && known + within >= found);
}

static void check_waits(const struct job *j)
{
    struct sonde_messages messages = {0};
    const uint32_t slow = synth_slow_rank(&j->options);
    uint64_t late_ns = 0, all_ns = 0, other_ns = 0, sent = 0, bytes = 0;
    assert_int_equal(sonde_messages_compute(j->m, j->profile, NULL, &messages), 0);
    assert_int_equal(messages.messages, j->totals.messages);
    assert_int_equal(messages.apart + messages.alone + messages.lost + messages.mixed, 0);
    assert_int_equal(messages.hosts, j->options.hosts ? j->options.hosts : 1);
    for (size_t i = 0; i < messages.ranks.count; i++) {
        const struct sonde_message_rank *r = &messages.ranks.items[i];
        late_ns += r->wait_ns[SONDE_MESSAGE_WAIT_LATE_SENDER];
        all_ns += r->wait_ns[SONDE_MESSAGE_WAIT_ALL_TO_ALL];
        other_ns += r->wait_ns[SONDE_MESSAGE_WAIT_LATE_RECEIVER] + r->wait_ns[SONDE_MESSAGE_WAIT_BARRIER];
        sent += r->sent;
        bytes += r->sent_bytes;
    }
    assert_int_equal(sent, j->totals.messages);
    assert_int_equal(bytes, j->totals.message_bytes);
    assert_near(late_ns, j->totals.late_sender_ns, messages.clock_bound_ns * RANKS * STEPS);
    assert_near(all_ns, j->totals.all_to_all_ns, messages.clock_bound_ns * RANKS * STEPS);
    assert_near(other_ns, 0, messages.clock_bound_ns * RANKS * STEPS);

    /* Those beside the slow one wait for its messages; all others for the later of these, and so for the slow one. */
    assert_true(messages.places.count >= 2);
    const struct sonde_message_place *sum = &messages.places.items[0], *halo = &messages.places.items[1];
    assert_string_equal(name_of(j, sum->node), "MPI_Allreduce");
    assert_int_equal(sum->for_rank, slow + 1);
    assert_int_equal(sum->doing.cause, SONDE_MESSAGE_CAUSE_MESSAGES);
    assert_string_equal(name_of(j, sum->doing.node), "MPI_Waitall");
    assert_string_equal(name_of(j, halo->node), "MPI_Waitall");
    assert_int_equal(halo->for_rank, slow);
    const struct sonde_message_doing *const found[] = {&sum->root, &halo->doing};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(found[i]->rank, slow);
        assert_int_equal(found[i]->cause, SONDE_MESSAGE_CAUSE_CODE);
        assert_string_equal(name_of(j, found[i]->node), "step");
    }
    sonde_messages_fini(&messages);
}

static void check_path(const struct job *j)
{
    struct sonde_critical critical = {0};
    const struct sonde_critical_options options = {.job = true, .evaluate = 1};
    assert_int_equal(sonde_critical_compute(j->m, j->profile, &options, NULL, &critical), 0);
    assert_true(critical.has_job);
    const struct sonde_path *path = &critical.job;
    const struct sonde_path_stay *most = &path->stays.items[0];
    assert_int_equal(path->apart + path->lost, 0);
    assert_int_equal(j->m->processes[most->process].header.rank, synth_slow_rank(&j->options) + 1);
    assert_true(most->ns > (path->end_ns - path->begin_ns) * 95 / 100);
    assert_string_equal(path->things.items[0].name, "step");
    assert_int_equal(path->things.items[0].most_process, most->process);
    assert_true(path->messages >= 2 * STEPS); /* each step: from who waits for the sum to who comes last, and on to the slow one */
    sonde_critical_fini(&critical);
}

/* Of one clock, everything is known to the nanosecond. */
static void waits_on_one_host(void **unused)
{
    (void)unused;
    struct job j = make(0);
    check_waits(&j);
    check_path(&j);
    assert_int_equal(j.m->axis_bound_ns, 0);
    end(&j);
}

static uint64_t far_apart(const struct sonde_measurement *m, const struct synth_options *options, uint64_t at_ns)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_live_header *h = &m->processes[i].header;
        const uint64_t wall_ns = synth_clock_ns(options, h->rank - 1, at_ns) + h->wall_offset_ns;
        least = wall_ns < least ? wall_ns : least;
        most = wall_ns > most ? wall_ns : most;
    }
    return most - least;
}

/* Their wall clocks are wrong by milliseconds; messages go both ways between neighbouring hosts, each in 6 µs. */
static void clocks_of_hosts(void **unused)
{
    (void)unused;
    struct job j = make(4);
    struct sonde_measurement *as_recorded;
    const struct sonde_live_header *first = &j.m->processes[0].header;
    const uint64_t middle_ns = 5000000000 + (first->stop_ns - first->start_ns) / 2; /* of the first host, whose clock is the job's */
    assert_int_equal(first->rank, 1);
    assert_int_equal(sonde_measurement_open(j.path, &as_recorded, NULL), 0);
    assert_true(far_apart(as_recorded, &j.options, middle_ns) > 1000000);
    sonde_measurement_close(as_recorded);
    assert_int_equal(j.m->axis_apart, 0);
    assert_in_range(j.m->axis_bound_ns, 6000, 4 * 2 * 6000);
    assert_in_range(far_apart(j.m, &j.options, middle_ns), 0, j.m->axis_bound_ns);
    check_waits(&j);
    check_path(&j);
    end(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_on_one_host),
        cmocka_unit_test(clocks_of_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
