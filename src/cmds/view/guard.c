/* guard.c - see guard.h. */
#include "guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

enum { HTTP_PORT = 80 }; /* which browsers leave out */

int view_secret_make(char secret[VIEW_SECRET_MAX], struct sonde_diag *diag)
{
    unsigned char bytes[VIEW_SECRET_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        sonde_diag_set(diag, SONDE_EIO, NULL, "cannot make a random token");
        sonde_diag_errno(diag, errno);
        return SONDE_EIO;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

bool view_secret_is(const char *given, const char secret[VIEW_SECRET_MAX])
{
    volatile unsigned char different = 0;
    if (!given || strlen(given) != VIEW_SECRET_MAX - 1)
        return false;
    for (size_t i = 0; i < VIEW_SECRET_MAX - 1; i++)
        different |= (unsigned char)(given[i] ^ secret[i]);
    return !different;
}

bool view_host_is_ours(const char *host, uint16_t port)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    char expected[32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(expected, sizeof expected, "%s:%u", names[i], (unsigned)port);
        if (strcasecmp(host, expected) == 0 || (port == HTTP_PORT && strcasecmp(host, names[i]) == 0))
            return true;
    }
    return false;
}

bool view_origin_is_ours(const char *origin, uint16_t port)
{
    static const char scheme[] = "http://";
    return strncasecmp(origin, scheme, sizeof scheme - 1) == 0 && view_host_is_ours(origin + sizeof scheme - 1, port);
}

/* ---- whose a connection is -------------------------------------------------------------- */

/* Does `end` of a line of /proc/net/tcp, or of tcp6, mean this address? There IPv4 is the last part of an address of IPv6. */
static bool is_end(const char *end, const struct sockaddr_in *address)
{
    char expected[16];
    const size_t length = (size_t)snprintf(expected, sizeof expected, "%08X:%04X", (unsigned)address->sin_addr.s_addr,
                                           (unsigned)ntohs(address->sin_port));
    return strlen(end) >= length && strcmp(end + strlen(end) - length, expected) == 0;
}

/* The user of the socket at `peer` that is connected to `server`. 1: found; 0: it is not there; -1: there is no such table. */
static int find_user(const char *table, const struct sockaddr_in *peer, const struct sockaddr_in *server, unsigned long *user)
{
    char *line = NULL, near[64], far[64];
    size_t room = 0;
    int found = 0;
    FILE *file = fopen(table, "re");
    if (!file)
        return -1;
    while (!found && getline(&line, &room, file) > 0) /* number, near end, far end, state, queues, timer, retransmits, user */
        found = sscanf(line, " %*s %63s %63s %*s %*s %*s %*s %lu", near, far, user) == 3 && is_end(near, peer) && is_end(far, server);
    free(line);
    fclose(file);
    return found;
}

bool view_peer_is_ours(const struct sockaddr_in *peer, uint16_t port)
{
    const struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned long user = 0;
    int found = find_user("/proc/net/tcp", peer, &server, &user);
    if (found < 0)
        return true;
    if (!found)
        found = find_user("/proc/net/tcp6", peer, &server, &user);
    return found > 0 && (user == (unsigned long)geteuid() || user == 0);
}
