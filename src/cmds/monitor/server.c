/* server.c - see monitor.h. One thread of libmicrohttpd answers all connections, one after the other: an answer takes a moment. */
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zlib.h>

#include "cmds/http.h"
#include "monitor.h"

enum {
    MOST_CONNECTIONS = 64,
    SILENCE_SECONDS = 10, /* then a connection is closed */
    BACKLOG = 64,
};

struct monitor_server {
    struct sonde_http http;
    struct MHD_Daemon *daemon;
    void (*write)(void *user, enum sonde_metrics_form form, struct sonde_text *out);
    void *user;
    int socket; /* the daemon's, once it is started */
    char url[NI_MAXHOST + NI_MAXSERV + 32];
};

/* ---- answers ------------------------------------------------------------------------------- */

/* `encoding`: NULL, or what the bytes are packed by. */
static enum MHD_Result answer_bytes(const struct monitor_server *server, struct MHD_Connection *connection, unsigned status, const char *type,
                                    const char *encoding, const void *bytes, size_t length)
{
    struct MHD_Response *response = server->http.MHD_create_response_from_buffer(length, (void *)(size_t)bytes, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = server->http.MHD_add_response_header(response, "Content-Type", type);
    if (encoding && result == MHD_YES)
        result = server->http.MHD_add_response_header(response, "Content-Encoding", encoding);
    if (result == MHD_YES)
        result = server->http.MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED && result == MHD_YES)
        result = server->http.MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (result == MHD_YES)
        result = server->http.MHD_queue_response(connection, status, response);
    server->http.MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(const struct monitor_server *server, struct MHD_Connection *connection, unsigned status, const char *text)
{
    return answer_bytes(server, connection, status, "text/plain; charset=utf-8", NULL, text, strlen(text));
}

/* The older form only for who asks for it and knows no other. */
static enum sonde_metrics_form form_of(const char *accept)
{
    return accept && strstr(accept, "text/plain") && !strstr(accept, "application/openmetrics-text") ? SONDE_METRICS_CLASSIC : SONDE_METRICS_OPEN;
}

/* "gzip", "deflate, gzip;q=0.5"; not "gzip;q=0". */
static bool takes_gzip(const char *accept)
{
    for (const char *at = accept; at && *at; at += strcspn(at, ",")) {
        at += strspn(at, ", \t");
        const size_t length = strcspn(at, ",; \t");
        const char *q = at + length + strspn(at + length, " \t");
        if (length != 4 || strncasecmp(at, "gzip", 4) != 0)
            continue;
        q = *q == ';' ? q + 1 + strspn(q + 1, " \t") : "";
        return strncasecmp(q, "q=", 2) != 0 || atof(q + 2) > 0;
    }
    return false;
}

/* As one gzip member, fast: numbers and names that repeat shrink to a tenth all the same. To be freed; NULL: it is sent as it is. */
static void *pack(const char *bytes, size_t length, size_t *packed)
{
    enum { GZIP = 15 + 16 }; /* deflateInit2's window bits: with gzip's head and tail */
    z_stream z = {.next_in = (Bytef *)(size_t)bytes, .avail_in = (uInt)length};
    if (length > UINT_MAX / 2 || deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    const uLong bound = deflateBound(&z, length);
    void *out = malloc(bound);
    z.next_out = out;
    z.avail_out = (uInt)bound;
    const bool done = out && deflate(&z, Z_FINISH) == Z_STREAM_END;
    *packed = z.total_out;
    deflateEnd(&z);
    if (done)
        return out;
    free(out);
    return NULL;
}

static enum MHD_Result answer_packed(const struct monitor_server *server, struct MHD_Connection *connection, const char *type, const struct sonde_text *text)
{
    size_t packed_length = 0;
    void *packed = takes_gzip(server->http.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding"))
                       ? pack(sonde_text_get(text), text->length, &packed_length)
                       : NULL;
    const enum MHD_Result result = packed ? answer_bytes(server, connection, MHD_HTTP_OK, type, "gzip", packed, packed_length)
                                          : answer_bytes(server, connection, MHD_HTTP_OK, type, NULL, sonde_text_get(text), text->length);
    free(packed);
    return result;
}

static enum MHD_Result answer_metrics(const struct monitor_server *server, struct MHD_Connection *connection)
{
    const enum sonde_metrics_form form = form_of(server->http.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"));
    const char *type = form == SONDE_METRICS_OPEN ? SONDE_METRICS_OPEN_TYPE : SONDE_METRICS_CLASSIC_TYPE;
    struct sonde_text text = {0};
    server->write(server->user, form, &text);
    const enum MHD_Result result = text.failed ? answer_text(server, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n")
                                               : answer_packed(server, connection, type, &text);
    sonde_text_fini(&text);
    return result;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                              const char *upload, size_t *upload_size, void **context)
{
    const struct monitor_server *server = user;
    (void)version;
    (void)upload;
    if (!*context) { /* the head is there */
        *context = user;
        return MHD_YES;
    }
    if (*upload_size) { /* a body, which nobody asked for */
        *upload_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_text(server, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "requests are GET or HEAD\n");
    if (strcmp(url, "/metrics") == 0)
        return answer_metrics(server, connection);
    return answer_text(server, connection, MHD_HTTP_NOT_FOUND, "there is /metrics\n");
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* "127.0.0.1:9469", "[::1]:9469", "name:9469"; the two parts. */
static bool split(const char *address, char host[NI_MAXHOST], const char **port)
{
    const char *colon = strrchr(address, ':');
    if (!colon || !colon[1])
        return false;
    const bool brackets = *address == '[' && colon > address && colon[-1] == ']';
    const int length = (int)(colon - address) - (brackets ? 2 : 0);
    const size_t digits = strspn(colon + 1, "0123456789");
    if (colon[1 + digits] || digits > 5 || atoi(colon + 1) > 65535)
        return false;
    if (length <= 0 || length >= NI_MAXHOST || (!brackets && memchr(address, ':', (size_t)(colon - address))))
        return false;
    snprintf(host, NI_MAXHOST, "%.*s", length, address + brackets);
    *port = colon + 1;
    return true;
}

static int listen_at(const struct addrinfo *at)
{
    const int yes = 1, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 && bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void name_url(struct monitor_server *server)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    if (getsockname(server->socket, (struct sockaddr *)&at, &size) == 0)
        getnameinfo((const struct sockaddr *)&at, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    const bool six = strchr(host, ':') != NULL;
    snprintf(server->url, sizeof server->url, "http://%s%s%s:%s/metrics", six ? "[" : "", host, six ? "]" : "", port);
}

static int take_address(struct monitor_server *server, const char *address, struct sonde_diag *diag)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host[NI_MAXHOST];
    const char *port;
    if (!split(address, host, &port)) {
        sonde_diag_set(diag, SONDE_EINVALID, address, "cannot listen on");
        sonde_diag_hint(diag, "--listen takes ADDRESS:PORT, such as 127.0.0.1:9469 or [::]:9469");
        return SONDE_EINVALID;
    }
    const int problem = getaddrinfo(host, port, &wanted, &found);
    if (problem) {
        sonde_diag_set(diag, SONDE_EINVALID, address, "cannot listen on");
        snprintf(diag->why, sizeof diag->why, "%s", gai_strerror(problem));
        return SONDE_EINVALID;
    }
    for (const struct addrinfo *at = found; at && server->socket < 0; at = at->ai_next)
        server->socket = listen_at(at);
    const int error = errno;
    freeaddrinfo(found);
    if (server->socket >= 0)
        return 0;
    sonde_diag_set(diag, error == EADDRINUSE ? SONDE_EEXISTS : SONDE_EIO, address, "cannot listen on");
    sonde_diag_errno(diag, error);
    if (error == EADDRINUSE || error == EACCES)
        sonde_diag_hint(diag, "choose another port with --listen; port 0 is a free one");
    return diag->code;
}

int monitor_server_start(const char *address, void (*write)(void *user, enum sonde_metrics_form form, struct sonde_text *out), void *user, struct monitor_server **out,
                         struct sonde_diag *diag)
{
    struct monitor_server *server = calloc(1, sizeof *server);
    *out = NULL;
    if (!server)
        return sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot serve");
    server->socket = -1;
    server->write = write;
    server->user = user;
    int code = sonde_http_load(&server->http, "monitor", diag);
    if (!code)
        code = take_address(server, address, diag);
    if (!code) {
        name_url(server);
        server->daemon = server->http.MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, handle, server,
                                                       MHD_OPTION_LISTEN_SOCKET, server->socket, MHD_OPTION_CONNECTION_LIMIT,
                                                       (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_SECONDS,
                                                       MHD_OPTION_END);
        if (!server->daemon)
            code = sonde_diag_set(diag, SONDE_EIO, NULL, "cannot start the server");
    }
    if (code) {
        if (server->socket >= 0)
            close(server->socket);
        free(server);
        return code;
    }
    *out = server;
    return 0;
}

void monitor_server_stop(struct monitor_server *server)
{
    server->http.MHD_stop_daemon(server->daemon); /* closes the socket */
    free(server);
}

const char *monitor_server_url(const struct monitor_server *server)
{
    return server->url;
}
