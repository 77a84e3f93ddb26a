/* ranges.c - how long a view of a selected range takes, in a session that answers one after the other, as the viewer's does.
 *
 *     bench-ranges DIR VIEW [ROUNDS]
 *
 * First the whole run once, which reads what the later ones share; then, for ranges of all of the run, a tenth and a hundredth of
 * it, ROUNDS (11) at places that differ: the median of CPU time, of all threads, and of wall time in milliseconds, and the least
 * and the most of the CPU time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/model/recorded.h"
#include "serve/session.h"

enum { ROUNDS_MOST = 1000 };

struct cost { double cpu_ms, wall_ms; };

static double now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct cost ask(const struct sonde_session *session, const char *request)
{
    const double cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID), wall = now_ms(CLOCK_MONOTONIC);
    struct sonde_answer answer;
    sonde_session_answer(session, request, strlen(request), &answer);
    const struct cost cost = {now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu, now_ms(CLOCK_MONOTONIC) - wall};
    if (answer.status != 200) {
        fprintf(stderr, "bench-ranges: %s: %.*s\n", request, (int)answer.length, answer.bytes);
        exit(1);
    }
    sonde_answer_fini(&answer);
    return cost;
}

static int by_number(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const struct sonde_session *session, const char *view, double length, double part, int rounds)
{
    double cpu[ROUNDS_MOST], wall[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++) {
        const double from = length * (1 - part) * (i + 0.5) / rounds;
        char request[256];
        snprintf(request, sizeof request, "view/%s?min-percent=50&from=%.0fns&to=%.0fns", view, from + 1, from + length * part - 1);
        const struct cost cost = ask(session, request);
        cpu[i] = cost.cpu_ms;
        wall[i] = cost.wall_ms;
    }
    qsort(cpu, (size_t)rounds, sizeof *cpu, by_number);
    qsort(wall, (size_t)rounds, sizeof *wall, by_number);
    printf("%s of %g %% of the run: CPU %.1f ms [%.1f, %.1f], wall %.1f ms\n", view, part * 100, cpu[rounds / 2], cpu[0], cpu[rounds - 1],
           wall[rounds / 2]);
}

int main(int argc, char **argv)
{
    static const double parts[] = {1, 0.1, 0.01};
    struct sonde_session *session;
    struct sonde_diag diag = {0};
    uint64_t begin, end;
    char request[128];
    const int rounds = argc > 3 ? atoi(argv[3]) : 11;
    if (argc < 3 || rounds < 1 || rounds > ROUNDS_MOST) {
        fprintf(stderr, "usage: bench-ranges DIR VIEW [ROUNDS]\n");
        return 2;
    }
    if (sonde_session_open(argv[1], &session, &diag)) {
        fprintf(stderr, "bench-ranges: %s %s: %s\n", diag.what, diag.where, diag.why);
        return 1;
    }
    sonde_run_range(sonde_session_measurement(session), &begin, &end);
    snprintf(request, sizeof request, "view/%s?min-percent=50", argv[2]);
    const struct cost first = ask(session, request);
    printf("%s of the whole run, first: CPU %.1f ms, wall %.1f ms\n", argv[2], first.cpu_ms, first.wall_ms);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        measure(session, argv[2], (double)(end - begin), parts[i], rounds);
    sonde_session_close(session);
    return 0;
}
