/* guard.h - who may ask: secrets, the names under which the server may be called, and whose a connection is.
 *
 * Threads: any.
 */
#ifndef SONDE_CMDS_VIEW_GUARD_H
#define SONDE_CMDS_VIEW_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include <netinet/in.h>
#include <sonde/error.h>

enum {
    VIEW_SECRET_BYTES = 16,
    VIEW_SECRET_MAX = 2 * VIEW_SECRET_BYTES + 1, /* as hexadecimal digits, with the final zero */
};

/* A new random one. 0, or EIO with `diag`. */
int view_secret_make(char secret[VIEW_SECRET_MAX], struct sonde_diag *diag);
/* In a time that does not tell how much of it is right. `given` may be NULL. */
bool view_secret_is(const char *given, const char secret[VIEW_SECRET_MAX]);

/* Is this value of the header Host, or Origin, the server's at `port` of this machine? A page of another site whose name was
 * made to lead here (DNS rebinding) says that name. */
bool view_host_is_ours(const char *host, uint16_t port);
bool view_origin_is_ours(const char *origin, uint16_t port);

/* Does the other end of this connection to 127.0.0.1:port belong to a process of our user, or of root? True also where the
 * system does not tell. */
bool view_peer_is_ours(const struct sockaddr_in *peer, uint16_t port);

#endif
