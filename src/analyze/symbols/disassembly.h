/* disassembly.h - of the device code that a measurement keeps, some functions as NVIDIA's disassembler prints them. */
#ifndef SONDE_ANALYZE_SYMBOLS_DISASSEMBLY_H
#define SONDE_ANALYZE_SYMBOLS_DISASSEMBLY_H

#include <stdbool.h>
#include <stdio.h>

struct sonde__disassembly {
    const char *program;                              /* nvdisasm (nvdisasm.h) */
    bool lines;                                       /* with lines of the source between instructions */
    int (*wants)(void *user, const char *function);   /* a symbol: 1 it is wanted, 0 it is not, or SONDE_ENOMEM */
    int (*read)(void *user, FILE *text);              /* all that is wanted of one piece. 0 or SONDE_ENOMEM */
    void *user;
    unsigned failed;                                  /* pieces of code that the program could not read */
};

/* All pieces of the measurement `dir`. 0 or SONDE_ENOMEM. One thread. */
int sonde__disassemble(struct sonde__disassembly *d, const char *dir);

/* "----- .text.NAME ----", ".text.NAME:": a line between two sections; which begins a function, whose name is put into *name: the caller's, of
 * malloc, or NULL. False: it is neither. */
bool sonde__disassembly_section(const char *line, char **name);

#endif
