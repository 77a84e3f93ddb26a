/* unwind_cfi.c - finds and runs call frame information; see unwind_cfi.h. */
#include "unwind_cfi.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define REMEMBER_MAX 6 /* compilers nest once; more is damage */

enum {
    /* DW_EH_PE_*, pointer encodings */
    PE_ABSPTR = 0x00,
    PE_ULEB = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

typedef struct sonde__cfi_span span;

/* ---- reading ----------------------------------------------------------- */

/* Past the end every read gives 0 and leaves at > end, which the callers test once. */
SONDE__RAW static bool broken(const span *s)
{
    return s->at > s->end;
}

SONDE__RAW static uint64_t fixed(span *s, unsigned bytes)
{
    uint64_t value = 0;
    if (broken(s) || (uintptr_t)(s->end - s->at) < bytes) {
        s->at = s->end + 1;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)s->at[i] << (8 * i);
    s->at += bytes;
    return value;
}

SONDE__RAW uint64_t sonde__cfi_uleb(span *s)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = fixed(s, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

SONDE__RAW int64_t sonde__cfi_sleb(span *s)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint64_t byte = fixed(s, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if ((byte & 0x40) && shift < 64)
                value |= ~UINT64_C(0) << shift;
            return (int64_t)value;
        }
    }
}

SONDE__RAW static void skip(span *s, uint64_t bytes)
{
    if (broken(s) || (uint64_t)(s->end - s->at) < bytes)
        s->at = s->end + 1;
    else
        s->at += bytes;
}

/* A pointer in encoding `encoding`; `data` is what DATAREL counts from. */
SONDE__RAW static uintptr_t encoded(span *s, uint8_t encoding, uintptr_t data)
{
    uintptr_t here = (uintptr_t)s->at, value = 0;
    switch (encoding & 0x0f) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8: value = fixed(s, 8); break;
    case PE_ULEB: value = sonde__cfi_uleb(s); break;
    case PE_UDATA2: value = fixed(s, 2); break;
    case PE_UDATA4: value = fixed(s, 4); break;
    case PE_SLEB: value = (uintptr_t)sonde__cfi_sleb(s); break;
    case PE_SDATA2: value = (uintptr_t)(intptr_t)(int16_t)fixed(s, 2); break;
    case PE_SDATA4: value = (uintptr_t)(intptr_t)(int32_t)fixed(s, 4); break;
    default: s->at = s->end + 1; return 0;
    }
    if ((encoding & 0x70) == PE_PCREL)
        value += here;
    else if ((encoding & 0x70) == PE_DATAREL)
        value += data;
    return value;
}

/* ---- modules ----------------------------------------------------------- */

struct module {
    uintptr_t start, end, load;
    const uint8_t *header; /* .eh_frame_hdr, may be NULL */
    const ElfW(Phdr) *phdr;
    unsigned phdrs;
};

/* The kernel maps the program, and leaves holes between its segments as they are: of a program that has
 * any, the loader tells no more than the segment around pc (glibc's _dl_find_object_slow). */
SONDE__RAW static void widen(uintptr_t pc, struct dl_find_object *found)
{
    const ElfW(Phdr) *phdr = (const void *)getauxval(AT_PHDR);
    const unsigned long count = phdr ? getauxval(AT_PHNUM) : 0;
    uintptr_t load = 0, low = UINTPTR_MAX, high = 0;
    bool covers = false;
    for (unsigned long i = 0; i < count; i++) {
        if (phdr[i].p_type == PT_PHDR) /* before the segments, where there is one */
            load = (uintptr_t)phdr - phdr[i].p_vaddr;
        if (phdr[i].p_type != PT_LOAD)
            continue;
        const uintptr_t start = load + phdr[i].p_vaddr, end = start + phdr[i].p_memsz;
        covers |= pc >= start && pc < end;
        low = start < low ? start : low;
        high = end > high ? end : high;
    }
    if (!covers)
        return;
    found->dlfo_map_start = (void *)(low & ~(uintptr_t)4095);
    found->dlfo_map_end = (void *)high;
}

SONDE__RAW bool sonde__module_find(uintptr_t pc, struct dl_find_object *found)
{
    if (_dl_find_object((void *)pc, found) != 0)
        return false;
    widen(pc, found);
    return true;
}

SONDE__RAW static bool module_find(uintptr_t pc, struct module *m)
{
    struct dl_find_object found;
    if (!sonde__module_find(pc, &found))
        return false;
    m->start = (uintptr_t)found.dlfo_map_start;
    m->end = (uintptr_t)found.dlfo_map_end;
    m->header = found.dlfo_eh_frame;
    m->load = m->start;
    m->phdr = NULL;
    m->phdrs = 0;
    const ElfW(Ehdr) *ehdr = (const void *)m->start;
    if (m->end - m->start < sizeof *ehdr || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
        ehdr->e_phentsize != sizeof(ElfW(Phdr)) ||
        ehdr->e_phoff + ehdr->e_phnum * sizeof(ElfW(Phdr)) > 4096)
        return true;
    m->phdr = (const void *)(m->start + ehdr->e_phoff);
    m->phdrs = ehdr->e_phnum;
    for (unsigned i = 0; i < m->phdrs; i++)
        if (m->phdr[i].p_type == PT_LOAD) { /* the first one is the lowest */
            m->load = m->start - (m->phdr[i].p_vaddr & ~(uintptr_t)4095);
            break;
        }
    return true;
}

/* The segment of the module around `address`: what may be read there. Holes
 * between segments are mapped without access, so the module's whole range is
 * not good enough, except where the headers are not to be seen. */
SONDE__RAW static bool segment_find(const struct module *m, uintptr_t address, span *s,
                                    uint32_t *flags)
{
    for (unsigned i = 0; i < m->phdrs; i++) {
        uintptr_t start = m->load + m->phdr[i].p_vaddr;
        if (m->phdr[i].p_type != PT_LOAD || address - start >= m->phdr[i].p_memsz)
            continue;
        *s = (span){(const uint8_t *)start, (const uint8_t *)start + m->phdr[i].p_memsz};
        *flags = m->phdr[i].p_flags;
        return (uintptr_t)s->end <= m->end + 4096;
    }
    *s = (span){(const uint8_t *)m->start, (const uint8_t *)m->end};
    *flags = PF_R | PF_X;
    return m->phdrs == 0 && address >= m->start && address < m->end;
}

SONDE__RAW bool sonde__cfi_is_code(uintptr_t pc)
{
    struct module m;
    span s;
    uint32_t flags;
    return module_find(pc, &m) && segment_find(&m, pc, &s, &flags) && (flags & PF_X);
}

/* ---- CIE and FDE ------------------------------------------------------- */

/* A record's body at `at`: length, then 4 bytes of id. */
SONDE__RAW static bool record(const struct sonde__cfi *cfi, const uint8_t *at, span *body)
{
    if (at < cfi->base || at >= cfi->limit)
        return false;
    *body = (span){at, cfi->limit};
    uint64_t length = fixed(body, 4);
    if (length == 0xffffffff)
        length = fixed(body, 8);
    if (broken(body) || length < 4 || length > (uint64_t)(body->end - body->at))
        return false;
    body->end = body->at + length;
    return true;
}

SONDE__RAW static bool cie_augmentation(struct sonde__cfi *cfi, const uint8_t *text, span *s)
{
    uint64_t length = sonde__cfi_uleb(s);
    if (broken(s) || length > (uint64_t)(s->end - s->at))
        return false;
    span data = {s->at, s->at + length};
    s->at += length;
    for (text++; *text; text++)
        switch (*text) {
        case 'R': cfi->pointer_encoding = (uint8_t)fixed(&data, 1); break;
        case 'L': fixed(&data, 1); break;
        case 'S': cfi->signal = true; break;
        case 'B': break;
        case 'P': {
            uint8_t encoding = (uint8_t)fixed(&data, 1);
            encoded(&data, encoding & 0x0f, 0);
            break;
        }
        default: return false;
        }
    return !broken(&data);
}

SONDE__RAW static bool cie_read(struct sonde__cfi *cfi, const uint8_t *at)
{
    span s;
    if (!record(cfi, at, &s) || fixed(&s, 4) != 0)
        return false;
    uint64_t version = fixed(&s, 1);
    const uint8_t *text = s.at;
    while (fixed(&s, 1) != 0)
        ;
    if (broken(&s) || (version != 1 && version != 3) || (text[0] && text[0] != 'z'))
        return false;
    cfi->code_align = sonde__cfi_uleb(&s);
    cfi->data_align = sonde__cfi_sleb(&s);
    cfi->ra_reg = (uint32_t)(version == 1 ? fixed(&s, 1) : sonde__cfi_uleb(&s));
    cfi->pointer_encoding = PE_ABSPTR;
    cfi->signal = false;
    cfi->augmented = text[0] == 'z';
    if (cfi->augmented && !cie_augmentation(cfi, text, &s))
        return false;
    cfi->cie = s;
    return !broken(&s);
}

/* The FDE at `at`, when it describes pc. `next` gets where the next record is. */
SONDE__RAW static bool fde_read(struct sonde__cfi *cfi, const uint8_t *at, uintptr_t pc,
                                const uint8_t **next)
{
    span s;
    if (!record(cfi, at, &s))
        return false;
    *next = s.end;
    const uint8_t *field = s.at;
    uint64_t back = fixed(&s, 4);
    if (back == 0 || back > (uint64_t)(field - cfi->base) || !cie_read(cfi, field - back))
        return false;
    cfi->start = encoded(&s, cfi->pointer_encoding, 0);
    cfi->end = cfi->start + encoded(&s, cfi->pointer_encoding & 0x0f, 0);
    if (cfi->augmented)
        skip(&s, sonde__cfi_uleb(&s));
    cfi->fde = s;
    return !broken(&s) && pc >= cfi->start && pc < cfi->end;
}

/* Without a search table: one after the other. Slow, and seen in no common library. */
SONDE__RAW static bool linear_search(struct sonde__cfi *cfi, const uint8_t *at, uintptr_t pc)
{
    const uint8_t *next = NULL;
    for (unsigned i = 0; i < 1000000; i++, at = next) {
        next = NULL;
        if (fde_read(cfi, at, pc, &next))
            return true;
        if (!next)
            return false;
    }
    return false;
}

SONDE__RAW static int32_t table_word(const uint8_t *at)
{
    int32_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

/* The table is sorted by first address: the last entry at or below pc. */
SONDE__RAW static const uint8_t *table_search(const uint8_t *header, const uint8_t *table,
                                              uint64_t count, uintptr_t pc)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if ((uintptr_t)header + (uintptr_t)(intptr_t)table_word(table + 8 * middle) <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? header + table_word(table + 8 * (low - 1) + 4) : NULL;
}

SONDE__RAW enum sonde__cfi_found sonde__cfi_find(uintptr_t pc, struct sonde__cfi *cfi)
{
    struct module m;
    span s;
    uint32_t flags;
    if (!module_find(pc, &m))
        return SONDE__CFI_NO_MODULE;
    if (!m.header || !segment_find(&m, (uintptr_t)m.header, &s, &flags) || !(flags & PF_R))
        return SONDE__CFI_NO_INFO;
    cfi->base = s.at;
    cfi->limit = s.end;
    s.at = m.header;
    uint64_t version = fixed(&s, 1);
    uint8_t frame_encoding = (uint8_t)fixed(&s, 1), count_encoding = (uint8_t)fixed(&s, 1);
    uint8_t table_encoding = (uint8_t)fixed(&s, 1);
    const uint8_t *frame = (const uint8_t *)encoded(&s, frame_encoding, (uintptr_t)m.header);
    if (broken(&s) || version != 1)
        return SONDE__CFI_NO_INFO;
    const uint8_t *next;
    if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | PE_SDATA4))
        return linear_search(cfi, frame, pc) ? SONDE__CFI_FOUND : SONDE__CFI_NO_INFO;
    uint64_t count = encoded(&s, count_encoding, (uintptr_t)m.header);
    if (broken(&s) || count > (uint64_t)(s.end - s.at) / 8)
        return SONDE__CFI_NO_INFO;
    const uint8_t *fde = table_search(m.header, s.at, count, pc);
    return fde && fde_read(cfi, fde, pc, &next) ? SONDE__CFI_FOUND : SONDE__CFI_NO_INFO;
}

/* ---- the call frame program -------------------------------------------- */

struct machine {
    const struct sonde__cfi *cfi;
    struct sonde__cfi_row *row;
    struct sonde__cfi_row initial;
    struct sonde__cfi_row saved[REMEMBER_MAX];
    unsigned depth;
    uintptr_t at, pc;
    bool bad;
};

SONDE__RAW static void set(struct machine *m, uint64_t dwarf, enum sonde__cfi_kind kind,
                           int64_t value)
{
    int i = sonde__tracked(dwarf);
    if (i < 0)
        return;
    if (value != (int32_t)value) {
        m->bad = true;
        return;
    }
    m->row->kind[i] = (uint8_t)kind;
    m->row->value[i] = (int32_t)value;
}

SONDE__RAW static void restore(struct machine *m, uint64_t dwarf)
{
    int i = sonde__tracked(dwarf);
    if (i < 0)
        return;
    m->row->kind[i] = m->initial.kind[i];
    m->row->value[i] = m->initial.value[i];
}

SONDE__RAW static void cfa_set(struct machine *m, uint32_t reg, int64_t value)
{
    m->row->cfa_reg = reg;
    m->row->cfa_value = (int32_t)value;
    if (value != (int32_t)value)
        m->bad = true;
}

SONDE__RAW static void cfa_offset_set(struct machine *m, int64_t value)
{
    m->bad |= m->row->cfa_reg == SONDE__CFI_CFA_EXPR; /* an expression has no offset */
    cfa_set(m, m->row->cfa_reg, value);
}

/* Skips the expression at s and gives its offset from base. */
SONDE__RAW static int64_t block(struct machine *m, span *s)
{
    int64_t offset = s->at - m->cfi->base;
    skip(s, sonde__cfi_uleb(s));
    return offset;
}

SONDE__RAW static void remember(struct machine *m)
{
    if (m->depth == REMEMBER_MAX)
        m->bad = true;
    else
        m->saved[m->depth++] = *m->row;
}

SONDE__RAW static void recall(struct machine *m)
{
    if (m->depth == 0)
        m->bad = true;
    else
        *m->row = m->saved[--m->depth];
}

SONDE__RAW static void register_rule(struct machine *m, uint8_t op, span *s)
{
    intptr_t align = m->cfi->data_align;
    uint64_t reg = sonde__cfi_uleb(s);
    switch (op) {
    case 0x05: set(m, reg, SONDE__CFI_OFFSET, (int64_t)sonde__cfi_uleb(s) * align); break;
    case 0x06: restore(m, reg); break;
    case 0x07: set(m, reg, SONDE__CFI_UNDEFINED, 0); break;
    case 0x08: set(m, reg, SONDE__CFI_SAME, 0); break;
    case 0x09: set(m, reg, SONDE__CFI_REGISTER, (int64_t)sonde__cfi_uleb(s)); break;
    case 0x10: set(m, reg, SONDE__CFI_EXPR, block(m, s)); break;
    case 0x11: set(m, reg, SONDE__CFI_OFFSET, sonde__cfi_sleb(s) * align); break;
    case 0x14: set(m, reg, SONDE__CFI_VAL_OFFSET, (int64_t)sonde__cfi_uleb(s) * align); break;
    case 0x15: set(m, reg, SONDE__CFI_VAL_OFFSET, sonde__cfi_sleb(s) * align); break;
    case 0x16: set(m, reg, SONDE__CFI_VAL_EXPR, block(m, s)); break;
    case 0x2f: set(m, reg, SONDE__CFI_OFFSET, -(int64_t)sonde__cfi_uleb(s) * align); break;
    default: m->bad = true;
    }
}

SONDE__RAW static void instruction(struct machine *m, uint8_t op, span *s)
{
    uintptr_t step = m->cfi->code_align;
    uint64_t reg;
    switch (op) {
    case 0x00: break;
    case 0x01: m->at = encoded(s, m->cfi->pointer_encoding, 0); break;
    case 0x02: m->at += fixed(s, 1) * step; break;
    case 0x03: m->at += fixed(s, 2) * step; break;
    case 0x04: m->at += fixed(s, 4) * step; break;
    case 0x0a: remember(m); break;
    case 0x0b: recall(m); break;
    case 0x0c:
        reg = sonde__cfi_uleb(s);
        cfa_set(m, (uint32_t)reg, (int64_t)sonde__cfi_uleb(s));
        break;
    case 0x12:
        reg = sonde__cfi_uleb(s);
        cfa_set(m, (uint32_t)reg, sonde__cfi_sleb(s) * m->cfi->data_align);
        break;
    case 0x0d: cfa_set(m, (uint32_t)sonde__cfi_uleb(s), m->row->cfa_value); break;
    case 0x0e: cfa_offset_set(m, (int64_t)sonde__cfi_uleb(s)); break;
    case 0x13: cfa_offset_set(m, sonde__cfi_sleb(s) * m->cfi->data_align); break;
    case 0x0f: cfa_set(m, SONDE__CFI_CFA_EXPR, block(m, s)); break;
    case 0x2e: sonde__cfi_uleb(s); break; /* GNU_args_size */
    default: register_rule(m, op, s);
    }
}

SONDE__RAW static void program(struct machine *m, span s)
{
    while (s.at < s.end && !m->bad) {
        uint8_t op = (uint8_t)fixed(&s, 1);
        switch (op & 0xc0) {
        case 0x40: m->at += (op & 0x3f) * m->cfi->code_align; break;
        case 0x80:
            set(m, op & 0x3f, SONDE__CFI_OFFSET,
                (int64_t)sonde__cfi_uleb(&s) * m->cfi->data_align);
            break;
        case 0xc0: restore(m, op & 0x3f); break;
        default: instruction(m, op, &s);
        }
        if (m->at > m->pc)
            return;
    }
    if (broken(&s))
        m->bad = true;
}

SONDE__RAW bool sonde__cfi_row(const struct sonde__cfi *cfi, uintptr_t pc,
                               struct sonde__cfi_row *row)
{
    struct machine m;
    m.cfi = cfi;
    m.row = row;
    m.depth = 0;
    m.bad = false;
    m.at = cfi->start;
    m.pc = pc;
    *row = (struct sonde__cfi_row){.cfa_reg = SONDE__CFI_CFA_EXPR};
    program(&m, cfi->cie);
    m.initial = *row;
    m.at = cfi->start;
    program(&m, cfi->fde);
    return !m.bad && (row->cfa_reg != SONDE__CFI_CFA_EXPR || row->cfa_value != 0);
}

SONDE__RAW span sonde__cfi_expression(const struct sonde__cfi *cfi, int32_t offset)
{
    span s = {cfi->base, cfi->base};
    if (offset <= 0 || offset >= cfi->limit - cfi->base)
        return s;
    s = (span){cfi->base + offset, cfi->limit};
    uint64_t length = sonde__cfi_uleb(&s);
    if (broken(&s) || length > (uint64_t)(s.end - s.at))
        return (span){cfi->base, cfi->base};
    s.end = s.at + length;
    return s;
}
