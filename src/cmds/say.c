/* say.c - messages and the terminal, for every subcommand. */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void sonde_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("sonde: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

int sonde_say_diag(const struct sonde_diag *diag)
{
    const char *what = diag->what[0] ? diag->what : sonde_error_text(diag->code);
    const char *why = diag->why[0] ? diag->why : diag->what[0] ? sonde_error_text(diag->code) : "";
    fflush(stdout);
    fprintf(stderr, "sonde: %s", what);
    if (diag->where[0])
        fprintf(stderr, " %s", diag->where);
    if (why[0])
        fprintf(stderr, ": %s", why);
    if (diag->hint[0])
        fprintf(stderr, "; %s", diag->hint);
    fputc('\n', stderr);
    return SONDE_EXIT_FAILED;
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
