/* save.c - `sonde view DIR --html FILE`: the page and the measurement as one file. */
#include "view.h"

#include "base/number.h"
#include "cmds/command.h"
#include "format/reader.h"
#include "html.h"

static void say_result(const struct sonde_html *html, const struct sonde_html_result *result)
{
    char size[SONDE_NUMBER_MAX], left_out[256];
    sonde_number_bytes(size, (double)result->bytes);
    sonde_say("%s (%s); open it in a browser", html->output, size);
    sonde_html_left_out(result, left_out, sizeof left_out);
    if (*left_out)
        sonde_say("%s", left_out);
}

static int save(const struct view_options *options, const struct sonde_measurement *m, struct sonde_diag *diag)
{
    char page[PATH_MAX];
    struct sonde_html_result result = {0};
    const struct sonde_html html = {.page = page, .output = options->html, .force = options->force, .limit_bytes = options->html_limit};
    int code = sonde_find_installed("share/sonde/viewer", page, diag);
    if (code)
        return code;
    struct sonde_progress *progress = sonde_progress_begin("writing", false);
    code = sonde_html_write(&html, m, &result, diag);
    sonde_progress_end(progress);
    if (!code)
        say_result(&html, &result);
    return code;
}

int view_save(const struct view_options *options, const char *path)
{
    struct sonde_diag diag = {0};
    struct sonde_measurement *m = NULL;
    int code = sonde_measurement_open(path, &m, &diag);
    if (!code) {
        view_say_damage(m);
        code = save(options, m, &diag);
    }
    if (code)
        sonde_say_diag(&diag);
    if (m)
        sonde_measurement_close(m);
    return code ? SONDE_EXIT_FAILED : SONDE_EXIT_OK;
}
