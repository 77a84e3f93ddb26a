/* server.c - see server.h. What is refused, and why, is in docs/viewer.md.
 *
 * libmicrohttpd reads a request, in a thread for each connection: a thread of a pool that computes an answer for ten seconds would keep
 * the other connections that it took waiting, and a browser takes any of its own for what is to be drawn next. It calls handle() once
 * the head is there, again with a body, which no request has, and again at the end; a response that is queued the first time
 * closes the connection, so only what is not worth to be read on is refused there. The text of a request is kept as it came
 * (begin_request): decoding is the session's. With poll(), not epoll: there 0.9.75 overlooks the end of a connection that comes with
 * its last bytes, and keeps it until it was silent for long enough.
 */
#include "server.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/stack.h"
#include "cmds/http.h"
#include "guard.h"

enum {
    MOST_CONNECTIONS = 256,       /* a browser has six */
    CONNECTION_BYTES = 256 << 10, /* for the head of a request: of 65,536 bytes as the session takes them, and a browser's own */
    SILENCE_SECONDS = 30,         /* then a connection is closed */
    BACKLOG = 128,
    STOP_STEP_NS = 10000000, /* the stop waits so long, so often, for answers */
    STOP_STEPS = 50,
};

struct view_server {
    struct sonde_http http;
    struct MHD_Daemon *daemon; /* NULL: not started */
    const struct sonde_session *session;
    const struct view_assets *assets;
    int socket; /* the daemon's, once it is started */
    uint16_t port;
    char token[VIEW_SECRET_MAX], opening[VIEW_SECRET_MAX];
    atomic_bool opened;    /* the opening was used */
    atomic_bool stopping;
    atomic_uint answering; /* requests that the session is asked */
};

struct request { /* from its first line on */
    bool begun;
    char target[]; /* as it came: "/ask/view/kernels?limit=5" */
};

struct visit { struct request *request; }; /* a connection: its last request, until the next one or its end */

struct names { /* headers that decide who may ask; of each the last value, and how many there are */
    const char *host, *origin, *token;
    unsigned hosts, origins, tokens;
};

/* ---- answers ------------------------------------------------------------------------------- */

static const struct { const char *name, *value; } headers[] = {
    {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
                                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

/* The same response with a header, or NULL: there was no memory, and it is given back. */
static struct MHD_Response *with_header(const struct view_server *server, struct MHD_Response *response, const char *name, const char *value)
{
    if (!response || server->http.MHD_add_response_header(response, name, value) == MHD_YES)
        return response;
    server->http.MHD_destroy_response(response);
    return NULL;
}

/* Takes the response, which may be NULL: there was no memory, and the connection is closed. */
static enum MHD_Result send_response(const struct view_server *server, struct MHD_Connection *connection, unsigned status,
                                     struct MHD_Response *response)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        response = with_header(server, response, headers[i].name, headers[i].value);
    if (!response)
        return MHD_NO;
    const enum MHD_Result result = server->http.MHD_queue_response(connection, status, response);
    server->http.MHD_destroy_response(response);
    return result;
}

/* NULL: no memory. */
static struct MHD_Response *response_of(const struct view_server *server, const char *type, const char *bytes, size_t length,
                                        enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = server->http.MHD_create_response_from_buffer(length, (void *)(size_t)bytes, mode);
    return with_header(server, response, "Content-Type", type);
}

static bool is_ask(const char *target)
{
    return strncmp(target, "/ask/", strlen("/ask/")) == 0;
}

/* An error: of a request about the measurement as docs/developers/requests.md has them, else a sentence. Both texts are ours,
 * without anything to quote. */
static enum MHD_Result refuse(const struct view_server *server, struct MHD_Connection *connection, const struct request *request,
                              unsigned status, const char *what, const char *hint)
{
    char text[512];
    const bool json = is_ask(request->target);
    const int length = json ? snprintf(text, sizeof text,
                                       "{\"error\": {\"what\": \"%s\", \"where\": null, \"why\": null, \"hint\": %s%s%s, \"option\": null, "
                                       "\"at\": null, \"more\": []}}\n",
                                       what, hint ? "\"" : "", hint ? hint : "null", hint ? "\"" : "")
                            : snprintf(text, sizeof text, "%s%s%s\n", what, hint ? "; " : "", hint ? hint : "");
    struct MHD_Response *response = response_of(server, json ? "application/json" : "text/plain; charset=utf-8", text, (size_t)length,
                                                MHD_RESPMEM_MUST_COPY);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        response = with_header(server, response, "Allow", "GET, HEAD");
    return send_response(server, connection, status, response);
}

static void give_answer_back(void *user)
{
    sonde_answer_fini(user);
    free(user);
}

static enum MHD_Result answer_request(struct view_server *server, struct MHD_Connection *connection, const struct request *request)
{
    const char *asked = request->target + strlen("/ask/");
    struct sonde_answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return MHD_NO;
    atomic_fetch_add(&server->answering, 1);
    if (atomic_load(&server->stopping)) {
        atomic_fetch_sub(&server->answering, 1);
        free(answer);
        return refuse(server, connection, request, MHD_HTTP_SERVICE_UNAVAILABLE, "the viewer has ended", NULL);
    }
    sonde_session_answer(server->session, asked, strlen(asked), answer);
    atomic_fetch_sub(&server->answering, 1);
    const unsigned status = (unsigned)answer->status;
    struct MHD_Response *response = server->http.MHD_create_response_from_buffer_with_free_callback_cls(
        answer->length, (void *)(size_t)answer->bytes, give_answer_back, answer);
    if (!response) {
        give_answer_back(answer);
        return MHD_NO;
    }
    return send_response(server, connection, status, with_header(server, response, "Content-Type", answer->type));
}

static bool is_page(const char *target)
{
    return *target == '/' && strcspn(target + 1, "?") == 0;
}

static enum MHD_Result answer_asset(const struct view_server *server, struct MHD_Connection *connection, const struct request *request)
{
    static const char page[] = "index.html";
    const char *target = request->target;
    const struct view_asset *asset = NULL;
    if (is_page(target))
        asset = view_assets_find(server->assets, page, strlen(page));
    else if (*target == '/')
        asset = view_assets_find(server->assets, target + 1, strcspn(target + 1, "?"));
    if (asset)
        return send_response(server, connection, MHD_HTTP_OK,
                             response_of(server, asset->type, sonde_text_get(&asset->bytes), asset->bytes.length, MHD_RESPMEM_PERSISTENT));
    if (is_page(target))
        return refuse(server, connection, request, MHD_HTTP_NOT_FOUND, "The viewer's page was not built",
                      "install Node.js with npm and build Sonde again (docs/viewer.md). Requests under /ask/ are answered all the same.");
    return refuse(server, connection, request, MHD_HTTP_NOT_FOUND, "there is no such file", NULL);
}

/* The browser that was opened for the user comes to the page, and gets the token. Its command line can be read by every user of the
 * machine, so what is there is good once, and for processes of this user. */
static enum MHD_Result answer_opening(struct view_server *server, struct MHD_Connection *connection, const struct request *request)
{
    const union MHD_ConnectionInfo *info = server->http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    char place[VIEW_SECRET_MAX + 16];
    if (!view_secret_is(request->target + strlen("/open/"), server->opening) || !info || info->client_addr->sa_family != AF_INET ||
        !view_peer_is_ours((const struct sockaddr_in *)(const void *)info->client_addr, server->port) || atomic_exchange(&server->opened, true))
        return refuse(server, connection, request, MHD_HTTP_FORBIDDEN, "this address was used before, or is none",
                      "open the one that 'sonde view' printed");
    snprintf(place, sizeof place, "/#token=%s", server->token);
    struct MHD_Response *response = response_of(server, "text/plain; charset=utf-8", "", 0, MHD_RESPMEM_PERSISTENT);
    return send_response(server, connection, MHD_HTTP_SEE_OTHER, with_header(server, response, "Location", place));
}

/* ---- requests ------------------------------------------------------------------------------ */

static enum MHD_Result collect_name(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct names *names = user;
    (void)kind;
    if (strcasecmp(name, "Host") == 0) {
        names->hosts++;
        names->host = value ? value : "";
    } else if (strcasecmp(name, "Origin") == 0) {
        names->origins++;
        names->origin = value ? value : "";
    } else if (strcasecmp(name, "X-Sonde-Token") == 0) {
        names->tokens++;
        names->token = value ? value : "";
    }
    return MHD_YES;
}

static enum MHD_Result answer(struct view_server *server, struct MHD_Connection *connection, const struct request *request, bool get)
{
    struct names names = {0};
    server->http.MHD_get_connection_values(connection, MHD_HEADER_KIND, collect_name, &names);
    if (names.hosts != 1 || !view_host_is_ours(names.host, server->port))
        return refuse(server, connection, request, MHD_HTTP_FORBIDDEN, "this server is called 127.0.0.1 or localhost, with its port", NULL);
    if (names.origins && (names.origins != 1 || !view_origin_is_ours(names.origin, server->port)))
        return refuse(server, connection, request, MHD_HTTP_FORBIDDEN, "pages of other sites are not answered", NULL);
    if (is_ask(request->target)) {
        if (names.tokens != 1 || !view_secret_is(names.token, server->token))
            return refuse(server, connection, request, MHD_HTTP_FORBIDDEN, "the token is missing or wrong",
                          "open the address that 'sonde view' printed");
        return answer_request(server, connection, request);
    }
    if (get && strncmp(request->target, "/open/", strlen("/open/")) == 0)
        return answer_opening(server, connection, request);
    return answer_asset(server, connection, request);
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                              const char *body, size_t *body_bytes, void **context)
{
    struct view_server *server = user;
    struct request *request = *context;
    const bool get = strcmp(method, "GET") == 0;
    (void)url;
    (void)version;
    (void)body;
    if (!request || *body_bytes)
        return MHD_NO; /* no memory, or a body: the connection is closed */
    if (!get && strcmp(method, "HEAD") != 0)
        return refuse(server, connection, request, MHD_HTTP_METHOD_NOT_ALLOWED, "requests are GET or HEAD", NULL);
    if (!request->begun) {
        request->begun = true;
        return MHD_YES;
    }
    return answer(server, connection, request, get);
}

static void begin_or_end_visit(void *user, struct MHD_Connection *connection, void **context, enum MHD_ConnectionNotificationCode what)
{
    struct visit *visit = *context;
    (void)user;
    (void)connection;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = calloc(1, sizeof *visit);
    } else if (visit) {
        free(visit->request);
        free(visit);
        *context = NULL;
    }
}

/* NULL: no memory. */
static void *begin_request(void *user, const char *target, struct MHD_Connection *connection)
{
    const struct view_server *server = user;
    const union MHD_ConnectionInfo *info = server->http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct visit *visit = info ? info->socket_context : NULL;
    const size_t length = target ? strlen(target) : 0;
    if (!visit)
        return NULL;
    free(visit->request);
    visit->request = malloc(sizeof *visit->request + length + 1);
    if (visit->request) {
        visit->request->begun = false;
        memcpy(visit->request->target, target ? target : "", length + 1);
    }
    return visit->request;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int take_port(struct view_server *server, uint16_t port, struct sonde_diag *diag)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int yes = 1;
    char where[32];
    server->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->socket >= 0 && setsockopt(server->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(server->socket, (const struct sockaddr *)&address, sizeof address) == 0 && listen(server->socket, BACKLOG) == 0 &&
        getsockname(server->socket, (struct sockaddr *)&address, &size) == 0) {
        server->port = ntohs(address.sin_port);
        return 0;
    }
    const int error = errno;
    snprintf(where, sizeof where, "127.0.0.1:%u", (unsigned)port);
    sonde_diag_set(diag, error == EADDRINUSE ? SONDE_EEXISTS : SONDE_EIO, where, "cannot listen on");
    sonde_diag_errno(diag, error);
    if (error == EADDRINUSE || error == EACCES)
        sonde_diag_hint(diag, "choose another --port, or leave it out for a free one");
    return diag->code;
}

static void give_back(struct view_server *server)
{
    if (server->socket >= 0)
        close(server->socket);
    free(server);
}

int view_server_listen(uint16_t port, struct view_server **out, struct sonde_diag *diag)
{
    struct view_server *server = calloc(1, sizeof *server);
    *out = NULL;
    if (!server)
        return sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot serve");
    server->socket = -1;
    int code = sonde_http_load(&server->http, "view", diag);
    if (!code)
        code = view_secret_make(server->token, diag);
    if (!code)
        code = view_secret_make(server->opening, diag);
    if (!code)
        code = take_port(server, port, diag);
    if (code)
        give_back(server);
    else
        *out = server;
    return code;
}

int view_server_start(struct view_server *server, const struct sonde_session *session, const struct view_assets *assets,
                      struct sonde_diag *diag)
{
    server->session = session;
    server->assets = assets;
    errno = 0;
    /* clang-format off */
    server->daemon = server->http.MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC, server->port, NULL, NULL, handle, server,
        MHD_OPTION_LISTEN_SOCKET, server->socket,
        MHD_OPTION_THREAD_STACK_SIZE, SONDE_STACK_BYTES,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_SECONDS,
        MHD_OPTION_URI_LOG_CALLBACK, begin_request, server,
        MHD_OPTION_NOTIFY_CONNECTION, begin_or_end_visit, server,
        MHD_OPTION_END);
    /* clang-format on */
    if (server->daemon) {
        server->socket = -1; /* the daemon closes it */
        return 0;
    }
    sonde_diag_set(diag, SONDE_EIO, NULL, "cannot start the server");
    if (errno)
        sonde_diag_errno(diag, errno);
    return SONDE_EIO;
}

bool view_server_stop(struct view_server *server)
{
    const struct timespec step = {.tv_nsec = STOP_STEP_NS};
    atomic_store(&server->stopping, true);
    for (int i = 0; i < STOP_STEPS && atomic_load(&server->answering); i++)
        nanosleep(&step, NULL);
    if (atomic_load(&server->answering))
        return false;
    if (server->daemon)
        server->http.MHD_stop_daemon(server->daemon);
    give_back(server);
    return true;
}

uint16_t view_server_port(const struct view_server *server)
{
    return server->port;
}

const char *view_server_token(const struct view_server *server)
{
    return server->token;
}

const char *view_server_opening(const struct view_server *server)
{
    return server->opening;
}
