/* team.c (test) - processes that share the reading come to the answer that one alone comes to, byte for byte: every view of a
 * job whose ranks differ, by teams smaller and larger than it. The processes here reach each other through sockets; tests/mpi
 * has them started by MPI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../synth/synth.h"
#include "analyze/job/axis.h"
#include "base/team.h"
#include "format/files.h"
#include "views/json.h"
#include "views/query.h"
#include "views/view.h"

enum {
    MOST = 13,
    RANKS = 5,
};

/* ---- a team ---------------------------------------------------------------------------------- */

static int sockets[MOST][MOST]; /* [of][to] */

static void send_bytes(int fd, const char *bytes, size_t size)
{
    for (ssize_t done; size; bytes += done, size -= (size_t)done)
        if ((done = write(fd, bytes, size)) <= 0)
            _exit(3);
}

static void receive_bytes(int fd, char *bytes, size_t size)
{
    for (ssize_t done; size; bytes += done, size -= (size_t)done)
        if ((done = read(fd, bytes, size)) <= 0)
            _exit(4);
}

static void team_send(uint32_t to, const void *bytes, size_t size)
{
    send_bytes(sockets[sonde_team_rank()][to], bytes, size);
}

static void team_receive(uint32_t from, void *bytes, size_t size)
{
    receive_bytes(sockets[sonde_team_rank()][from], bytes, size);
}

static void team_broadcast(uint32_t from, void *bytes, size_t size)
{
    if (sonde_team_rank() != from)
        team_receive(from, bytes, size);
    else
        for (uint32_t to = 0; to < sonde_team_size(); to++)
            if (to != from)
                team_send(to, bytes, size);
}

static void team_fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    _exit(5);
}

/* Also other numbers of threads than one alone has. */
static void set_threads(uint32_t rank)
{
    char number[16];
    snprintf(number, sizeof number, "%u", 1 + rank % 4);
    setenv("SONDE_THREADS", number, 1);
}

/* Run fn(user, to) in each of `size` processes; what each wrote is the same, and is `expected`. */
static void run_team(uint32_t size, void (*fn)(void *user, FILE *to), void *user, const char *expected)
{
    pid_t children[MOST];
    FILE *files[MOST];
    for (uint32_t a = 0; a < size; a++)
        for (uint32_t b = a + 1; b < size; b++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            sockets[a][b] = pair[0];
            sockets[b][a] = pair[1];
        }
    for (uint32_t rank = 0; rank < size; rank++) {
        files[rank] = tmpfile();
        children[rank] = fork();
        assert_true(children[rank] >= 0);
        if (!children[rank]) {
            set_threads(rank);
            sonde_team_join(&(struct sonde_team){rank, size, team_send, team_receive, team_broadcast, team_fail});
            fn(user, files[rank]);
            exit(fclose(files[rank]) ? 1 : 0);
        }
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        int status;
        assert_int_equal(waitpid(children[rank], &status, 0), children[rank]);
        assert_int_equal(status, 0);
        const long length = (fseek(files[rank], 0, SEEK_END), ftell(files[rank]));
        char *got = calloc(1, (size_t)length + 1);
        rewind(files[rank]);
        assert_int_equal(fread(got, 1, (size_t)length, files[rank]), length);
        assert_string_equal(got, expected);
        free(got);
        fclose(files[rank]);
    }
    for (uint32_t a = 0; a < size; a++)
        for (uint32_t b = 0; b < size; b++)
            if (a != b)
                close(sockets[a][b]);
}

static char *alone(void (*fn)(void *user, FILE *to), void *user)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    fn(user, to);
    fclose(to);
    return text;
}

/* ---- every view ------------------------------------------------------------------------------ */

static char folder[] = "/tmp/sonde-team-XXXXXX";
static char job[64];

/* Two programs' ranks in one measurement: some contexts are in all processes, some in one program's. */
static int make_job(void **state)
{
    const struct synth_options options[] = {
        {.operations = 900, .lanes = 3, .threads = 2, .processes = 3, .seed = 1, .devices = 2, .depth = 9, .paths = 5, .cpu_hz = 997, .waits = 10, .compute_ns = 100000, .ranks = true},
        {.operations = 400, .lanes = 2, .threads = 1, .processes = 2, .seed = 2, .depth = 4, .paths = 7, .cpu_hz = 499, .compute_ns = 300000},
    };
    char path[128], moved[128], command[300];
    struct synth_totals totals;
    struct sonde_diag diag;
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(job, sizeof job, "%s/job.sonde", folder);
    snprintf(path, sizeof path, "%s/other.sonde", folder);
    if (synth_write(job, &options[0], &totals, &diag) || synth_write(path, &options[1], &totals, &diag))
        return 1;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/other.sonde/synth-%d-1", folder, 1000000000 + i);
        snprintf(moved, sizeof moved, "%s/other-%d-1", job, 1000000000 + i);
        if (rename(path, moved))
            return 1;
    }
    snprintf(command, sizeof command, "rm -r %s/other.sonde", folder);
    return system(command);
}

static int remove_job(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void answer(const struct sonde_view *view, const struct sonde_query *q, FILE *to)
{
    struct sonde_view_data data = {0};
    struct sonde_text text = {0};
    struct sonde_diag diag = {0};
    fprintf(to, "%s: %d\n", view->name, sonde_view_make(view, q, &data, &diag));
    sonde_view_json(view, &data, &text);
    fputs(sonde_text_get(&text), to);
    sonde_text_fini(&text);
    sonde_view_data_fini(&data);
}

/* Also figures that are in no view unless they are named. */
static void answer_all(void *user, FILE *to)
{
    struct sonde_query q = {.path = job, .complete = true};
    struct sonde_diag diag = {0};
    (void)user;
    if (sonde_measurement_open_job(job, &q.m, &diag) || sonde_query_prepare(&q, &diag))
        exit(6);
    for (const struct sonde_view *const *v = sonde_views; *v; v++)
        answer(*v, &q, to);
    size_t at;
    if (sonde_columns_show(&q.contexts.columns, "gpu,ops,bytes,api,sync,queue,cpu,blame,calls,samples,slept,timed,failed,peers", &diag, &at))
        exit(7);
    q.contexts.named = true;
    answer(&sonde_view_ranks, &q, to);
    answer(&sonde_view_profile, &q, to);
    for (uint32_t i = 0; i < q.m->process_count; i++)
        fprintf(to, "%s: %u damaged\n", q.m->processes[i].name, q.m->processes[i].damaged_chunks);
    sonde_query_fini(&q);
}

static void test_answers(void **state)
{
    (void)state;
    char *expected = alone(answer_all, NULL);
    assert_true(strlen(expected) > 50000);
    assert_null(strstr(expected, "1 damaged"));
    const uint32_t sizes[] = {2, 3, RANKS, MOST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        run_team(sizes[i], answer_all, NULL, expected);
    free(expected);
}

/* A chunk of a trace that only one of them reads: it is not looked at when the measurement is opened. */
static void test_damage(void **state)
{
    char path[128];
    struct sonde_measurement *m;
    struct sonde_diag diag;
    (void)state;
    sonde__read_through_bytes = 0;
    assert_int_equal(sonde_measurement_open(job, &m, &diag), 0);
    const struct sonde_process *p = &m->processes[m->process_count - 1];
    const struct sonde_chunk_ref *chunk = NULL;
    for (uint32_t i = 0; i < p->trace_count && !chunk; i++)
        chunk = p->traces[i].table == SONDE_TABLE_OP ? &p->traces[i] : NULL;
    assert_non_null(chunk);
    snprintf(path, sizeof path, "%s/data.sonde", p->path);
    FILE *file = fopen(path, "r+");
    char *bytes = malloc(chunk->size), *found = NULL;
    memcpy(bytes, chunk->data, chunk->size);
    struct stat status;
    assert_int_equal(fstat(fileno(file), &status), 0);
    char *all = malloc((size_t)status.st_size);
    assert_int_equal(fread(all, 1, (size_t)status.st_size, file), status.st_size);
    found = memmem(all, (size_t)status.st_size, bytes, chunk->size);
    assert_non_null(found);
    const long at = found - all + (long)chunk->size - 1; /* its last byte: within what is compressed */
    const char changed = (char)(all[at] ^ 0x55);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(&changed, 1, 1, file), 1);
    fclose(file);
    free(all);
    free(bytes);
    sonde_measurement_close(m);
    assert_int_equal(sonde_measurement_open(job, &m, &diag), 0);
    assert_int_equal(m->damaged_chunks, 0);
    sonde_measurement_close(m);

    char *expected = alone(answer_all, NULL);
    assert_non_null(strstr(expected, "1 damaged"));
    run_team(3, answer_all, NULL, expected);
    free(expected);
}

/* ---- what a team does ------------------------------------------------------------------------------ */

static uint64_t weight(void *user, uint32_t task)
{
    (void)user;
    return task == 6 ? 100 : task;
}

/* Strings and numbers of some tasks; task 8 fails where it is found. */
static int find(void *user, uint32_t task, struct sonde_text *found)
{
    char text[32];
    SONDE_VECTOR(uint32_t) numbers = {0};
    snprintf(text, sizeof text, "%u", task);
    sonde_found_put_string(found, task % 3 ? text : NULL);
    for (uint32_t i = 0; i < task * 1000; i++)
        if (sonde_vector_push(&numbers, i))
            return SONDE_ENOMEM;
    sonde_found_put_vector(found, &numbers);
    sonde_vector_fini(&numbers);
    return user && task == 8 ? SONDE_EIO : 0;
}

struct added {
    FILE *to;
    bool fails;
};

static int find_one(void *user, uint32_t task, struct sonde_text *found)
{
    return find(((struct added *)user)->fails ? user : NULL, task, found);
}

static int add_one(void *user, uint32_t task, struct sonde_found *found)
{
    SONDE_VECTOR(uint32_t) numbers = {0};
    fprintf(((struct added *)user)->to, "%u '%s'", task, sonde_found_get_string(found));
    sonde_found_get_vector(found, &numbers);
    fprintf(((struct added *)user)->to, " %zu %u\n", numbers.count, numbers.count ? numbers.items[numbers.count - 1] : 0);
    sonde_vector_fini(&numbers);
    return 0;
}

static void share_tasks(void *user, FILE *to)
{
    struct added added = {to, user != NULL};
    const struct sonde_team_work work = {.tasks = 11, .weight = weight, .find = find_one, .add = add_one};
    const int rc = sonde_team_run(&work, &added);
    if (added.fails) /* what was added before does not count */
        rewind(to);
    fprintf(to, "%d", rc);
    if (added.fails && (fflush(to) || ftruncate(fileno(to), ftell(to))))
        exit(7);
}

static void test_tasks(void **state)
{
    (void)state;
    char *expected = alone(share_tasks, NULL);
    assert_non_null(strstr(expected, "9 '' 9000 8999\n10 '10' 10000 9999\n0"));
    for (uint32_t size = 2; size <= MOST; size++)
        run_team(size, share_tasks, NULL, expected);
    free(expected);
    char number[16];
    snprintf(number, sizeof number, "%d", SONDE_EIO);
    for (uint32_t size = 2; size <= MOST; size++)
        run_team(size, share_tasks, number, number);
}

static void test_too_little(void **state)
{
    struct sonde_text text = {0};
    SONDE_VECTOR(uint64_t) numbers = {0};
    uint32_t value = 7;
    (void)state;
    const uint64_t many = UINT64_MAX / 8;
    sonde_found_put(&text, &many, sizeof many);
    sonde_found_put(&text, "abc", 3);
    struct sonde_found found = {text.bytes, text.bytes + text.length, false};
    sonde_found_get_vector(&found, &numbers);
    assert_true(found.failed && !numbers.items && !numbers.count);
    found.failed = false;
    assert_string_equal(sonde_found_get_string(&found), ""); /* no end */
    assert_true(found.failed);
    sonde_found_get(&found, &value, sizeof value);
    assert_int_equal(value, 0);
    sonde_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, make_job, remove_job);
}
