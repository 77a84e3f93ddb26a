/* session.h - an open measurement that answers requests: what the viewer asks of a server and of WebAssembly alike.
 *
 * docs/developers/requests.md specifies requests and answers.
 *
 *     rc = sonde_session_open(path, &session, &diag);
 *     sonde_session_answer(session, "view/kernels?limit=5", 20, &answer);
 *     ... answer.status, answer.type, answer.bytes, answer.length ...
 *     sonde_answer_fini(&answer);
 *     sonde_session_close(session);
 */
#ifndef SONDE_SERVE_SESSION_H
#define SONDE_SERVE_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/error.h>

#include "base/text.h"

struct sonde_session;

/* Open the measurement at `path` (a folder, as src/format reads it) and compute once what its answers share. Debug information
 * may be read for that, which takes a stack as of base/stack.h. 0, or a negative code with `diag`. */
int sonde_session_open(const char *path, struct sonde_session **out, struct sonde_diag *diag);
void sonde_session_close(struct sonde_session *session);

/* Open also the measurements that it is compared with (at least one), of which the request `diff` speaks: before the first
 * request, and once. A stack as above. 0, or a negative code with `diag`: the session is as before then. */
int sonde_session_compare(struct sonde_session *session, const char *const *before, uint32_t count, struct sonde_diag *diag);

/* What is open; it stays the session's. */
struct sonde_measurement;
const struct sonde_measurement *sonde_session_measurement(const struct sonde_session *session);

struct sonde_answer {
    int status;             /* as HTTP has it: 200; 400 what was asked is wrong, 404 it is not there, 500 it could not be done */
    const char *type;       /* of the bytes: "application/json" */
    const char *bytes;
    size_t length;
    struct sonde_text text; /* private: what owns them */
};

/* Answer one request: `length` bytes of text, which may hold anything. There always is an answer: one that is none is JSON that
 * says why. Any number of threads at once. */
void sonde_session_answer(const struct sonde_session *session, const char *request, size_t length, struct sonde_answer *out);
void sonde_answer_fini(struct sonde_answer *answer);

#endif
