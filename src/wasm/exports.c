/* exports.c - what the page calls of sonde.wasm: an open measurement and its requests (src/serve/session.h).
 *
 * docs/developers/viewer.md has the protocol. One measurement, one request at a time: a page that wants several at once has
 * several workers. A text from the page lies in memory that sonde_wasm_reserve gives it.
 */
#include "exports.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "serve/session.h"
#include "symbols.h"

static struct sonde_session *session;
static struct sonde_answer answer;
static char *room; /* what the page writes */

char *sonde_wasm_reserve(size_t bytes)
{
    free(room);
    room = calloc(bytes + 1, 1);
    return room;
}

/* The last answer is one sentence. */
static void say(const struct sonde_diag *diag)
{
    struct sonde_text *text = &answer.text;
    sonde_text_add(text, diag->what);
    if (*diag->where)
        sonde_text_format(text, " %s", diag->where);
    if (*diag->why)
        sonde_text_format(text, ": %s", diag->why);
    if (*diag->hint)
        sonde_text_format(text, " (%s)", diag->hint);
    answer.type = "text/plain";
    answer.bytes = sonde_text_get(text);
    answer.length = text->length;
}

int sonde_wasm_open(void)
{
    struct sonde_diag diag = {0};
    sonde_answer_fini(&answer);
    sonde_session_close(session);
    int rc = sonde_wasm_symbols(room ? room : "");
    if (rc)
        sonde_diag_set(&diag, rc, NULL, "there is no memory for the measurement");
    else
        rc = sonde_session_open(room ? room : "", &session, &diag);
    if (rc)
        say(&diag);
    return rc;
}

int sonde_wasm_ask(size_t bytes)
{
    sonde_answer_fini(&answer);
    if (session && room)
        sonde_session_answer(session, room, bytes, &answer);
    else
        say(&(struct sonde_diag){.what = "no measurement is open"});
    return session && room ? answer.status : 500;
}

const char *sonde_wasm_type(void)
{
    return answer.type ? answer.type : "";
}

const char *sonde_wasm_bytes(void)
{
    return answer.bytes ? answer.bytes : "";
}

size_t sonde_wasm_size(void)
{
    return answer.length;
}
