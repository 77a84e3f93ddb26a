/* ranks.c (test) - a session about a job reads the traces that are asked for: those of the other ranks hold zeros here, which whoever reads them counts
 * as damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/files.h"
#include "format/reader.h"
#include "format/tables.h"
#include "serve/session.h"
#include "synth.h"

enum { RANKS = 4,
       ASKED = 2 };

static bool is_trace(uint32_t table)
{
    return sonde_table_is_trace(table);
}

static void ask(const struct sonde_session *session, const char *request)
{
    struct sonde_answer answer;
    sonde_session_answer(session, request, strlen(request), &answer);
    assert_int_equal(answer.status, 200);
    assert_true(answer.length > 100);
    sonde_answer_fini(&answer);
}

static uint32_t damage(const struct sonde_session *session)
{
    const struct sonde_measurement *m = sonde_session_measurement(session);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < m->process_count; i++)
        sum += m->processes[i].damaged_chunks;
    assert_int_equal(m->processes[ASKED].damaged_chunks, 0);
    return sum;
}

static void traces_of_other_ranks_are_not_read(void **unused)
{
    const struct synth_options options = {.operations = 3000, .lanes = 2, .threads = 1, .processes = RANKS, .seed = 1, .cpu_hz = 997, .ranks = true};
    static const char *const without_times[] = {"run", "view/profile", "view/ranks", "view/contexts", "view/kernels", "view/api", "views"};
    char folder[] = "/tmp/sonde-ranks-XXXXXX", path[64], command[80];
    struct synth_totals totals;
    struct sonde_session *session;
    struct sonde_diag diag;
    uint32_t emptied = 0;
    (void)unused;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/job.sonde", folder);
    assert_int_equal(synth_write(path, &options, &totals, &diag), 0);
    for (uint32_t i = 0; i < RANKS; i++)
        emptied += i == ASKED ? 0 : synth_empty(path, i, is_trace);
    sonde__read_through_bytes = 0;
    assert_int_equal(sonde_session_open(path, &session, &diag), 0);
    for (size_t i = 0; i < sizeof without_times / sizeof *without_times; i++)
        ask(session, without_times[i]);
    ask(session, "timeline?lanes=2:1,2:2,2:3");
    ask(session, "timeline?exact&lanes=2:1,2:2,2:3");
    ask(session, "operation?process=2&lane=2&number=5");
    assert_int_equal(damage(session), 0);
    ask(session, "timeline?exact&lanes=0:1,0:2,0:3,1:1,1:2,1:3,3:1,3:2,3:3");
    assert_int_equal(damage(session), emptied);
    sonde_session_close(session);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(traces_of_other_ranks_are_not_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
