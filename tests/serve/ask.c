/* ask.c - sonde-ask [-t THREADS] MEASUREMENT [BEFORE...]: answers the requests on standard input, for tests.
 *
 * A request is its length in decimal, a line end, and so many bytes. An answer, in the same order, is a line "STATUS TYPE LENGTH"
 * and so many bytes. With -t, so many threads ask at once. BEFORE: what it is compared with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/text.h"
#include "base/vector.h"
#include "serve/session.h"

struct asked {
    const char *bytes;
    size_t length;
    struct sonde_answer answer;
};

struct work {
    struct sonde_session *session;
    SONDE_VECTOR(struct asked) list;
};

static void read_all(struct sonde_text *text)
{
    char piece[65536];
    for (size_t length; (length = fread(piece, 1, sizeof piece, stdin)) > 0;)
        sonde_text_add_bytes(text, piece, length);
}

static int take_apart(const struct sonde_text *text, struct work *work)
{
    const char *at = sonde_text_get(text), *end = at + text->length;
    while (at < end) {
        char *line_end;
        const size_t length = strtoull(at, &line_end, 10);
        if (*line_end != '\n' || length > (size_t)(end - line_end - 1))
            return -1;
        if (sonde_vector_push(&work->list, (struct asked){.bytes = line_end + 1, .length = length}))
            return -1;
        at = line_end + 1 + length;
    }
    return 0;
}

static int answer_one(void *user, uint32_t task)
{
    struct work *work = user;
    struct asked *asked = &work->list.items[task];
    sonde_session_answer(work->session, asked->bytes, asked->length, &asked->answer);
    return 0;
}

int main(int argc, char **argv)
{
    const bool threads_given = argc >= 4 && strcmp(argv[1], "-t") == 0;
    const int first = threads_given ? 3 : 1;
    struct sonde_text text = {0};
    struct sonde_diag diag = {0};
    struct work work = {0};
    if (argc <= first) {
        fputs("usage: sonde-ask [-t THREADS] MEASUREMENT [BEFORE...] < requests\n", stderr);
        return 2;
    }
    read_all(&text);
    if (take_apart(&text, &work)) {
        fputs("sonde-ask: these are no requests\n", stderr);
        return 2;
    }
    int rc = sonde_session_open(argv[first], &work.session, &diag);
    if (!rc && argc > first + 1)
        rc = sonde_session_compare(work.session, (const char *const *)&argv[first + 1], (uint32_t)(argc - first - 1), &diag);
    if (rc) {
        fprintf(stderr, "sonde-ask: %s %s: %s\n", diag.what, diag.where, diag.why);
        return 1;
    }
    const uint32_t threads = threads_given ? (uint32_t)atoi(argv[2]) : 1;
    sonde_parallel_run(threads, (uint32_t)work.list.count, answer_one, &work);
    for (size_t i = 0; i < work.list.count; i++) {
        struct sonde_answer *answer = &work.list.items[i].answer;
        printf("%d %s %zu\n", answer->status, answer->type, answer->length);
        fwrite(answer->bytes, 1, answer->length, stdout);
        sonde_answer_fini(answer);
    }
    sonde_session_close(work.session);
    sonde_vector_fini(&work.list);
    sonde_text_fini(&text);
    return fflush(stdout) ? 1 : 0;
}
