/* ptx.h - PTX text, read as far as instrumentation needs: functions, statements, accesses to memory, basic blocks, lines.
 *
 * Source: PTX ISA 9.0, sections 4 (syntax), 5.1 (state spaces), 9.7.9 (data movement), 9.7.13 (atom, red), 11.5 (.file, .loc).
 * Nothing is copied: what is read points into the text, which must stay. What a statement is not known to do is said
 * (SONDE_PTX_UNKNOWN), never guessed: a kernel that has such a statement is not instrumented, and others of its module are.
 *
 * Threads: any; what is read is the caller's. Memory is from the kernel (guest/memory.h).
 */
#ifndef SONDE_INSTRUMENT_PTX_H
#define SONDE_INSTRUMENT_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_ptx_span { /* of the text; `bytes` 0: nothing */
    uint32_t at, bytes;
};

enum sonde_ptx_kind {
    SONDE_PTX_DIRECTIVE, /* without a semicolon: .version, .loc, .file, .section, a line of @@dwarf */
    SONDE_PTX_HEAD,      /* of a function that has a body: all before its brace */
    SONDE_PTX_OPEN,
    SONDE_PTX_CLOSE,
    SONDE_PTX_LABEL,     /* its name */
    SONDE_PTX_STATEMENT, /* without its semicolon */
};

struct sonde_ptx_item {
    struct sonde_ptx_span text; /* without comments around it; those within it stay */
    uint32_t place;             /* index of what .loc said last within the function; 0: nothing */
    uint8_t kind;               /* enum sonde_ptx_kind */
};

struct sonde_ptx_file {
    uint32_t number; /* of .file */
    struct sonde_ptx_span name;
};

struct sonde_ptx_place { /* of .loc */
    uint32_t file, line, column;
    uint32_t at_file, at_line, at_column; /* inlined_at; 0: it was not inlined */
};

enum sonde_ptx_op {
    SONDE_PTX_LOAD,
    SONDE_PTX_STORE,
    SONDE_PTX_ATOMIC,    /* reads and writes; the old value comes back */
    SONDE_PTX_REDUCTION, /* as that, and nothing comes back */
    SONDE_PTX_COPY_IN,   /* cp.async: from global to shared memory */
    /* Memory of the device in a way that is not followed: */
    SONDE_PTX_TEXTURE,   /* or a surface */
    SONDE_PTX_BULK,      /* a bulk copy, a tensor map, multimem, st.async, red.async */
    SONDE_PTX_MATRIX,    /* wmma.load, wmma.store */
    SONDE_PTX_LENGTH,    /* cp.async, of which a register says how much it reads */
    SONDE_PTX_UNKNOWN,   /* a statement that is not understood */
};
#define SONDE_PTX_NOT_FOLLOWED SONDE_PTX_TEXTURE /* this one and all behind it */

enum sonde_ptx_type { SONDE_PTX_BITS,
                      SONDE_PTX_UNSIGNED,
                      SONDE_PTX_SIGNED,
                      SONDE_PTX_FLOAT,
                      SONDE_PTX_BFLOAT };

enum {
    SONDE_PTX_PREDICATED = 1,
    SONDE_PTX_NEGATED = 2, /* the predicate is */
    SONDE_PTX_GENERIC = 4, /* shared and local memory are possible, too */
    SONDE_PTX_IN_LOOP = 8, /* a branch back spans it */
};

struct sonde_ptx_access {
    uint32_t item;
    uint32_t block;                  /* number within its function; one that is predicated is a block of its own */
    uint8_t op, type, flags;         /* enum sonde_ptx_op, enum sonde_ptx_type, SONDE_PTX_* */
    uint8_t element_bytes, elements; /* 1 to 16; 1, 2, 4 or 8 */
    struct sonde_ptx_span predicate; /* its register */
    struct sonde_ptx_span base;      /* register or name of the address; of what is not followed the operation's name */
    struct sonde_ptx_span values;    /* register, constant or braces around several; ATOMIC, REDUCTION, COPY_IN: nothing */
    int64_t offset;                  /* bytes to add to the base */
};

enum {
    SONDE_PTX_ENTRY = 1, /* a kernel */
    SONDE_PTX_CALLS = 2, /* other functions (calls.h) */
    SONDE_PTX_BRANCHES = 4, /* it has branches whose targets are in a table */
};

struct sonde_ptx_function { /* that has a body */
    struct sonde_ptx_span name;
    uint32_t head, open, close;        /* items */
    uint32_t first_access, accesses;
    uint32_t blocks;                   /* that have accesses */
    uint32_t flags;
};

struct sonde_ptx {
    const char *text;
    struct sonde_ptx_item *items;
    struct sonde_ptx_file *files;
    struct sonde_ptx_place *places; /* [0]: none */
    struct sonde_ptx_function *functions;
    struct sonde_ptx_access *accesses;
    uint32_t item_count, file_count, place_count, function_count, access_count;
    uint32_t version, target; /* 8.7 is 87; sm_90a is 90 */
    char target_suffix;       /* that a; else 0 */
    uint32_t line;            /* where reading failed, from 1 */
    const char *why;
    size_t room[5];           /* bytes behind the five arrays */
};

/* Read `bytes` of text; NULs end it, as the driver's loader has it. 0; SONDE_ENOMEM; SONDE_EFORMAT: not PTX, `why` and `line` say
 * what and where. To be released in each case. */
int sonde__ptx_read(struct sonde_ptx *p, const char *text, size_t bytes);
void sonde__ptx_release(struct sonde_ptx *p);

/* Does the statement end the thread, or its function? Then on what condition: an empty span is none. */
bool sonde__ptx_ends(const struct sonde_ptx *p, uint32_t item, struct sonde_ptx_span *predicate, bool *negated);

/* Does a basic block end here, or begin? */
bool sonde__ptx_ends_block(const struct sonde_ptx *p, uint32_t item);

/* Of a place: the name of its file, or an empty span. */
struct sonde_ptx_span sonde__ptx_file(const struct sonde_ptx *p, uint32_t number);
/* The line of a statement as a user sees it: of what comes from the toolkit's own headers (atomicAdd, shuffles) the line that it was inlined at. */
struct sonde_ptx_place sonde__ptx_line(const struct sonde_ptx *p, uint32_t item);

#endif
