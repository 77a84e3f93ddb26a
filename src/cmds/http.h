/* http.h - the functions of libmicrohttpd, which is loaded by the commands that serve: it needs GnuTLS, whose start-up
 * takes nearly as long as that of `sonde` itself, and `sonde record` is to start fast.
 *
 * Threads: loading one at a time.
 */
#ifndef SONDE_CMDS_SONDE_HTTP_H
#define SONDE_CMDS_SONDE_HTTP_H

#include <microhttpd.h>
#include <sonde/error.h>

#define SONDE_HTTP_MAP(X)                                      \
    X(MHD_start_daemon)                                       \
    X(MHD_stop_daemon)                                        \
    X(MHD_get_connection_values)                              \
    X(MHD_get_connection_info)                                \
    X(MHD_lookup_connection_value)                            \
    X(MHD_create_response_from_buffer)                        \
    X(MHD_create_response_from_buffer_with_free_callback_cls) \
    X(MHD_add_response_header)                                \
    X(MHD_queue_response)                                     \
    X(MHD_destroy_response)

struct sonde_http {
#define X(name) __typeof__(name) *name;
    SONDE_HTTP_MAP(X)
#undef X
};

/* For `command`, "view". 0, or UNSUPPORTED with a `diag` that says what is missing. It stays loaded. */
int sonde_http_load(struct sonde_http *http, const char *command, struct sonde_diag *diag);

#endif
