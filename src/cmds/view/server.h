/* server.h - a session behind HTTP, on this machine alone: docs/viewer.md, "How it is safe".
 *
 *     rc = view_server_listen(0, &server, &diag);
 *     rc = view_server_start(server, session, &assets, &diag);   // from here on it answers, in threads of its own
 *     ... view_server_port(server), view_server_token(server) ...
 *     if (view_server_stop(server)) sonde_session_close(session);
 *
 * Threads: one at a time.
 */
#ifndef SONDE_CMDS_VIEW_SERVER_H
#define SONDE_CMDS_VIEW_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/error.h>

#include "assets.h"
#include "serve/session.h"

struct view_server;

/* Take a port of 127.0.0.1 (0: a free one), and make the secrets. 0; UNSUPPORTED: what it takes is missing; EIO, EXISTS: the port is
 * taken, ENOMEM; with `diag`. */
int view_server_listen(uint16_t port, struct view_server **out, struct sonde_diag *diag);
/* Answer. Both stay the caller's, until the stop. 0, or EIO with `diag`. */
int view_server_start(struct view_server *server, const struct sonde_session *session, const struct view_assets *assets,
                      struct sonde_diag *diag);
/* End, and give the server back. False: an answer is still being computed, so that session and assets are in use, and nothing
 * is left but to end the process. */
bool view_server_stop(struct view_server *server);

uint16_t view_server_port(const struct view_server *server);
/* What a request has to know. */
const char *view_server_token(const struct view_server *server);
/* /open/THIS leads to the page with the token, once: for a command line, which other users of the machine can read. */
const char *view_server_opening(const struct view_server *server);

#endif
