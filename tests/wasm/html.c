/* html.c - sonde-html PAGE MEASUREMENT OUTPUT [LIMIT] [--force]: a page with the measurement within, for tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/view/html.h"

int main(int argc, char **argv)
{
    struct sonde_html html = {.limit_bytes = SONDE_HTML_LIMIT_BYTES};
    struct sonde_html_result result;
    struct sonde_measurement *m = NULL;
    struct sonde_diag diag = {0};
    char left_out[256];
    if (argc < 4)
        return 2;
    html.page = argv[1];
    html.output = argv[3];
    for (int i = 4; i < argc; i++) {
        html.force |= strcmp(argv[i], "--force") == 0;
        html.limit_bytes = html.force ? html.limit_bytes : strtoull(argv[i], NULL, 10);
    }
    int rc = sonde_measurement_open(argv[2], &m, &diag);
    rc = rc ? rc : sonde_html_write(&html, m, &result, &diag);
    if (m)
        sonde_measurement_close(m);
    if (rc) {
        fprintf(stderr, "%s %s: %s (%s)\n", diag.what, diag.where, diag.why, diag.hint);
        return 1;
    }
    sonde_html_left_out(&result, left_out, sizeof left_out);
    printf("%llu bytes %s\n", (unsigned long long)result.bytes, left_out);
    return 0;
}
