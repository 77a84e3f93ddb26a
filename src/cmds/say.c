/* say.c - messages and the terminal, for every subcommand. */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "format/folder.h"
#include "format/reader.h"

/* One line on standard error: a message may hold names from anywhere, which must
 * neither break it nor command the terminal. */
static void put_line(const char *message)
{
    struct sonde_text line = {0};
    sonde_text_add_clean(&line, message);
    fflush(stdout);
    fprintf(stderr, "%s\n", line.failed ? "sonde: out of memory" : sonde_text_get(&line));
    sonde_text_fini(&line);
}

void sonde_say(const char *format, ...)
{
    char *message = NULL;
    struct sonde_text line = {0};
    va_list args;
    va_start(args, format);
    if (vasprintf(&message, format, args) < 0)
        message = NULL;
    va_end(args);
    sonde_text_format(&line, "sonde: %s", message ? message : "out of memory");
    put_line(sonde_text_get(&line));
    sonde_text_fini(&line);
    free(message);
}

int sonde_say_diag(const struct sonde_diag *diag)
{
    const char *what = diag->what[0] ? diag->what : sonde_error_text(diag->code);
    const char *why = diag->why[0] ? diag->why : (diag->what[0] ? sonde_error_text(diag->code) : "");
    struct sonde_text line = {0};
    sonde_text_format(&line, "sonde: %s%s%s%s%s%s%s", what, diag->where[0] ? " " : "", diag->where,
                      why[0] ? ": " : "", why, diag->hint[0] ? "; " : "", diag->hint);
    put_line(sonde_text_get(&line));
    sonde_text_fini(&line);
    return SONDE_EXIT_FAILED;
}

void sonde_say_manifest(const struct sonde_measurement *m)
{
    if (m->manifest_problem[0])
        sonde_say("%s/" SONDE_MANIFEST_FILE " %s; command and settings are unknown, the rest is read", m->path,
                  m->manifest_problem);
}

int sonde_say_usage(const struct sonde_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "sonde %s: ", command->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "; try 'sonde %s --help'\n", command->name);
    va_end(args);
    return SONDE_EXIT_USAGE;
}

int sonde_say_unknown(const struct sonde_command *command, const struct sonde_nearest *nearest, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "sonde %s: ", command->name);
    vfprintf(stderr, format, args);
    if (*nearest->known)
        fprintf(stderr, "; did you mean '%s'?\n", nearest->known);
    else
        fprintf(stderr, "; try 'sonde %s --help'\n", command->name);
    va_end(args);
    return SONDE_EXIT_USAGE;
}

int sonde_terminal_columns(int fd)
{
    if (!isatty(fd))
        return 0;
    const char *columns = getenv("COLUMNS");
    int wanted = columns ? atoi(columns) : 0;
    if (wanted > 0)
        return wanted;
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

bool sonde_terminal_colors(int fd)
{
    const char *none = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fd) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

const char *const sonde_color_names[] = {"auto", "always", "never", NULL};

bool sonde_colors(enum sonde_color color, int fd)
{
    return color == SONDE_COLOR_ALWAYS || (color == SONDE_COLOR_AUTO && sonde_terminal_colors(fd));
}

int sonde_output_finish(int status)
{
    int lost = ferror(stdout);
    errno = 0;
    if (fclose(stdout) != 0)
        lost = 1;
    /* A reader that has seen enough (`sonde report | head`) is no error worth a word. */
    if (lost && errno != EPIPE && errno != EBADF) {
        fprintf(stderr, "sonde: cannot write the output: %s\n", errno ? strerror(errno) : "output error");
        return status ? status : SONDE_EXIT_FAILED;
    }
    return status;
}
