/* unwind_cfi.h - reading call frame information (.eh_frame) of loaded modules.
 *
 * DWARF 5, section 6.4, and the Linux Standard Base's description of .eh_frame
 * and .eh_frame_hdr. Used only when the rule of a pc is not in the table yet.
 * Async-signal-safe: no lock, no allocation; every read of a table is checked
 * against the segment that holds it.
 */
#ifndef SONDE_AGENT_STACK_UNWIND_CFI_H
#define SONDE_AGENT_STACK_UNWIND_CFI_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind_arch.h"

/* Stack memory and code are read as they lie, also where a sanitizer would
 * object: red zones, other threads' unlucky timing. */
#define SONDE__RAW __attribute__((no_sanitize("address", "thread", "undefined")))

enum sonde__cfi_found {
    SONDE__CFI_FOUND,
    SONDE__CFI_NO_INFO,   /* in a module, but no description of this pc */
    SONDE__CFI_NO_MODULE, /* JIT-made code, or no code at all */
};

struct sonde__cfi_span {
    const uint8_t *at, *end;
};

/* One function's description. */
struct sonde__cfi {
    uintptr_t start, end;                     /* of the function */
    const uint8_t *base, *limit;              /* the segment that holds the tables */
    struct sonde__cfi_span cie, fde;          /* instructions */
    uintptr_t code_align;
    intptr_t data_align;
    uint32_t ra_reg;
    uint8_t pointer_encoding;
    bool signal;                              /* augmentation 'S' */
    bool augmented;                           /* augmentation 'z': the FDE carries data to skip */
};

enum sonde__cfi_kind {
    SONDE__CFI_SAME,
    SONDE__CFI_UNDEFINED,
    SONDE__CFI_OFFSET,     /* saved at CFA + value */
    SONDE__CFI_VAL_OFFSET, /* is CFA + value */
    SONDE__CFI_EXPR,       /* saved at the address the expression gives; value = its offset from base */
    SONDE__CFI_VAL_EXPR,   /* is what the expression gives */
    SONDE__CFI_REGISTER,   /* is in register `value` */
};

#define SONDE__CFI_CFA_EXPR 0xffffffffU

/* How to compute the caller's registers at one pc. */
struct sonde__cfi_row {
    uint32_t cfa_reg;   /* DWARF register, or SONDE__CFI_CFA_EXPR */
    int32_t cfa_value;  /* offset, or the expression's offset from base */
    uint8_t kind[SONDE__TRACKED];
    int32_t value[SONDE__TRACKED];
};

/* The description of the function around `pc`. */
enum sonde__cfi_found sonde__cfi_find(uintptr_t pc, struct sonde__cfi *cfi);

/* The row that holds at `pc`; false when the program is damaged or unknown. */
bool sonde__cfi_row(const struct sonde__cfi *cfi, uintptr_t pc, struct sonde__cfi_row *row);

/* As _dl_find_object: the module around `pc`. Its range is the whole module's, also where the
 * program has holes between its segments. False: there is none. Any thread, any handler. */
bool sonde__module_find(uintptr_t pc, struct dl_find_object *found);

/* Is `pc` inside an executable segment of a loaded module? */
bool sonde__cfi_is_code(uintptr_t pc);

/* Registers, by tracked index; bit i of `known` says whether reg[i] is right. */
struct sonde__regs {
    uintptr_t reg[SONDE__TRACKED];
    uintptr_t sp;
    uint32_t known;
};

/* Memory that an expression may read. */
struct sonde__cfi_range {
    uintptr_t lo, hi;
};

/* Value of the expression at base + offset (length first). `initial` is pushed
 * first when not NULL. Reads outside `range` fail; range NULL: no reads. */
bool sonde__cfi_eval(const struct sonde__cfi *cfi, int32_t offset, const struct sonde__regs *regs,
                     const uintptr_t *initial, const struct sonde__cfi_range *range,
                     uintptr_t *value);

/* The bytes of the expression at base + offset. */
struct sonde__cfi_span sonde__cfi_expression(const struct sonde__cfi *cfi, int32_t offset);

uint64_t sonde__cfi_uleb(struct sonde__cfi_span *span);
int64_t sonde__cfi_sleb(struct sonde__cfi_span *span);

/* One step by the row in full: registers of the caller, from those of the
 * function. False when something needed is unknown or out of range. */
bool sonde__cfi_apply(const struct sonde__cfi *cfi, const struct sonde__cfi_row *row,
                      const struct sonde__cfi_range *range, struct sonde__regs *regs, bool *outermost);

#endif
