/* sass.c - see sass.h. */
#include "sass.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/error.h>

#define NO_REGISTER  255u /* RZ */
#define OPERANDS_MAX 16u
#define OPCODE_MAX   24u

/* ---- one instruction's text ----------------------------------------------------------------------- */

enum kind { REGISTER,
            PREDICATE,
            IMMEDIATE,
            MEMORY, /* in brackets; not constants */
            LABEL,
            ELSE }; /* constants in banks, uniform registers, special registers, barriers */

struct operand {
    enum kind kind;
    uint8_t number; /* of a register or predicate; NO_REGISTER: RZ, PT */
    const char *text;
    size_t length;
};

struct parsed {
    char name[OPCODE_MAX];
    const char *parts; /* ".E.64": what follows the name */
    size_t parts_length;
    struct operand operands[OPERANDS_MAX];
    unsigned count;
};

/* Is `part` one of those between dots? */
static bool has(const struct parsed *p, const char *part)
{
    const size_t length = strlen(part);
    for (size_t i = 0; i + length < p->parts_length; i++)
        if (p->parts[i] == '.' && strncmp(p->parts + i + 1, part, length) == 0 &&
            (i + 1 + length == p->parts_length || p->parts[i + 1 + length] == '.'))
            return true;
    return false;
}

/* Does one of them begin so, and which number follows? 0: none. */
static unsigned number_after(const struct parsed *p, const char *begin)
{
    const size_t length = strlen(begin);
    for (size_t i = 0; i + length < p->parts_length; i++)
        if (p->parts[i] == '.' && strncmp(p->parts + i + 1, begin, length) == 0)
            return (unsigned)strtoul(p->parts + i + 1 + length, NULL, 10);
    return 0;
}

static bool is_end(char c)
{
    return !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
}

/* "R12", "RZ", with what stands before and behind it. */
static bool is_register(const char *at, char letter, const char *none, uint8_t *number)
{
    char *end;
    if (strncmp(at, none, 2) == 0 && is_end(at[2])) {
        *number = NO_REGISTER;
        return true;
    }
    if (*at != letter || at[1] < '0' || at[1] > '9')
        return false;
    const unsigned long value = strtoul(at + 1, &end, 10);
    *number = (uint8_t)value;
    return is_end(*end) && value < NO_REGISTER;
}

static struct operand operand_of(const char *text, size_t length)
{
    struct operand o = {.kind = ELSE, .text = text, .length = length};
    const char *at = text + strspn(text, "-+~!|");
    if (is_register(at, 'R', "RZ", &o.number))
        o.kind = REGISTER;
    else if (is_register(at, 'P', "PT", &o.number))
        o.kind = PREDICATE;
    else if (*at == '`')
        o.kind = LABEL;
    else if ((*at >= '0' && *at <= '9') || *at == '.' || strncmp(at, "INF", 3) == 0 || strncmp(at, "QNAN", 4) == 0 || strncmp(at, "SNAN", 4) == 0)
        o.kind = IMMEDIATE;
    else if (strncmp(at, "c[", 2) != 0 && strncmp(at, "cx[", 3) != 0 && memchr(text, '[', length))
        o.kind = MEMORY;
    return o;
}

/* Operands stand between commas, but for those in brackets. */
static void read_operands(struct parsed *p, const char *at)
{
    while (*at && *at != ';' && p->count < OPERANDS_MAX) {
        int depth = 0;
        at += strspn(at, " \t");
        const char *begin = at;
        for (; *at && *at != ';' && (depth || *at != ','); at++)
            depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
        if (at > begin)
            p->operands[p->count++] = operand_of(begin, (size_t)(at - begin));
        at += *at == ',';
    }
}

static bool parse(const char *at, struct parsed *p)
{
    at += strspn(at, " \t{");
    const size_t name = strcspn(at, ". \t;\n"), whole = strcspn(at, " \t;\n");
    *p = (struct parsed){.parts = at + name, .parts_length = whole - name};
    if (!name || name >= sizeof p->name)
        return false;
    memcpy(p->name, at, name);
    read_operands(p, at + whole);
    return true;
}

/* ---- what opcodes do ------------------------------------------------------------------------------------ */

/* Of each operand: f float, d double, h halves, p two floats (as a pair), i integer, w integer of 64 bits, c a copy, C of 64 bits,
 * b bits, B of 64 bits, 4 bits of 128. The last one stands for those that follow. `to` '-': it writes no register; '?': not known how many. */
struct form {
    const char *name;
    char to;
    const char *from;
};

/* clang-format off */
static const struct form forms[] = {
    {"FADD", 'f', "f"}, {"FMUL", 'f', "f"}, {"FFMA", 'f', "f"}, {"FADD32I", 'f', "f"}, {"FMUL32I", 'f', "f"}, {"FFMA32I", 'f', "f"},
    {"FMNMX", 'f', "f"}, {"FMNMX3", 'f', "f"}, {"FSWZADD", 'f', "f"}, {"FSETP", '-', "f"}, {"FSET", 'b', "f"}, {"FCHK", '-', "f"},
    {"FSEL", 'c', "c"}, {"FRND", 'f', "f"}, {"MUFU", 'f', "f"}, {"FADD2", 'p', "p"}, {"FMUL2", 'p', "p"}, {"FFMA2", 'p', "p"},
    {"DADD", 'd', "d"}, {"DMUL", 'd', "d"}, {"DFMA", 'd', "d"}, {"DMNMX", 'd', "d"}, {"DSETP", '-', "d"}, {"DSET", 'b', "d"},
    {"HADD2", 'h', "h"}, {"HMUL2", 'h', "h"}, {"HFMA2", 'h', "h"}, {"HMNMX2", 'h', "h"}, {"HSETP2", '-', "h"}, {"HSET2", 'b', "h"},
    {"HADD2_32I", 'h', "h"}, {"HMUL2_32I", 'h', "h"}, {"HFMA2_32I", 'h', "h"}, {"IADD3", 'i', "i"}, {"IADD", 'i', "i"},
    {"IADD32I", 'i', "i"}, {"IMAD", 'i', "i"}, {"IMUL", 'i', "i"}, {"IMNMX", 'i', "i"}, {"IMNMX3", 'i', "i"}, {"VIADD", 'i', "i"},
    {"VIMNMX", 'i', "i"}, {"VIMNMX3", 'i', "i"}, {"VIADDMNMX", 'i', "i"}, {"IABS", 'i', "i"}, {"INEG", 'i', "i"}, {"ISETP", '-', "i"},
    {"ISET", 'b', "i"}, {"ISCADD", 'i', "i"}, {"LEA", 'i', "i"}, {"IDP", 'b', "b"}, {"IDP4A", 'b', "b"}, {"VABSDIFF", 'b', "b"},
    {"VABSDIFF4", 'b', "b"}, {"FLO", 'i', "b"}, {"POPC", 'i', "b"}, {"SHF", 'b', "b"}, {"SHL", 'b', "b"}, {"SHR", 'b', "b"},
    {"LOP3", 'b', "b"}, {"LOP", 'b', "b"}, {"LOP32I", 'b', "b"}, {"BMSK", 'b', "b"}, {"SGXT", 'b', "b"}, {"BREV", 'b', "b"},
    {"PRMT", 'b', "b"}, {"BFE", 'b', "b"}, {"BFI", 'b', "b"}, {"I2I", 'b', "b"}, {"I2IP", 'b', "b"}, {"MOV", 'c', "c"},
    {"MOV32I", 'c', "c"}, {"SEL", 'c', "c"}, {"SHFL", 'c', "cb"}, {"I2F", 'f', "i"}, {"I2FP", 'f', "i"}, {"F2I", 'i', "f"},
    {"F2F", 'f', "f"}, {"F2FP", 'h', "f"}, {"F2IP", 'b', "f"}, {"S2R", 'b', "b"}, {"CS2R", 'B', "b"}, {"P2R", 'b', "b"}, {"B2R", 'b', "b"},
    {"VOTE", 'b', "b"}, {"MATCH", 'b', "B"}, {"REDUX", '-', "b"}, {"CREDUX", '-', "b"}, {"LEPC", 'B', "b"}, {"BMOV", 'b', "b"},
    {"MOVM", 'b', "b"}, {"QSPC", '-', "B"}, {"GETLMEMBASE", 'b', "b"}, {"TXQ", '4', "b"}, {"LDG", 'm', "b"}, {"LD", 'm', "b"},
    {"LDS", 'm', "b"}, {"LDL", 'm', "b"}, {"LDC", 'm', "b"}, {"LDSM", 'm', "b"}, {"ATOM", 'm', "B"}, {"ATOMG", 'm', "B"},
    {"ATOMS", 'm', "B"}, {"STG", '-', "b"}, {"ST", '-', "b"}, {"STS", '-', "4"}, {"STL", '-', "4"}, {"STSM", '-', "4"}, {"RED", '-', "B"},
    {"REDG", '-', "B"}, {"REDS", '-', "B"}, {"LDGSTS", '-', "B"}, {"LDGDEPBAR", '-', ""}, {"DEPBAR", '-', ""}, {"TEX", '8', "4"},
    {"TLD", '8', "4"}, {"TLD4", '8', "4"}, {"TXD", '8', "4"}, {"TMML", '8', "4"}, {"SULD", '4', "4"}, {"SUST", '-', "4"},
    {"SURED", '-', "4"}, {"IMMA", 'I', "4"}, {"HMMA", 'H', "4"}, {"DMMA", 'D', "4"}, {"HGMMA", 'G', "4"}, {"R2P", '-', "b"},
    {"R2B", '-', "b"}, {"R2UR", '-', "b"}, {"PLOP3", '-', "b"}, {"PSETP", '-', "b"}, {"NOP", '-', ""}, {"BAR", '-', "b"},
    {"NANOSLEEP", '-', "b"}, {"WARPSYNC", '-', "b"}, {"BPT", '-', "b"}, {"CCTL", '-', "B"}, {"SETLMEMBASE", '-', "b"}, {"PMTRIG", '-', "b"},
    {"SYNCS", '-', "B"}, {"UBLKCP", '-', "b"}, {"EXIT", '-', ""}, {"KILL", '-', ""}, {"BRA", '-', "b"}, {"JMP", '-', "b"},
    {"BRX", '-', "B"}, {"JMX", '-', "B"}, {"CALL", '-', "B"}, {"RET", '-', "B"}, {"ERRBAR", '-', ""}, {"MEMBAR", '-', ""},
};
/* clang-format on */

static const struct form *form_of(const struct parsed *p)
{
    static const struct form unknown = {"", '?', "4"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, p->name) == 0)
            return &forms[i];
    return &unknown;
}

/* ---- registers ---------------------------------------------------------------------------------------------- */

struct line { /* what it takes to add an instruction */
    struct sonde__sass_code *code;
    const struct parsed *p;
    struct sonde__sass_instruction made;
    uint16_t integer; /* what it says of integers: INTEGER or MAYBE, a sign, and whether they are a half of a pair */
};

static void touch(struct line *l, unsigned number, bool written, unsigned as, uint8_t copy)
{
    if (number >= NO_REGISTER)
        return;
    const struct sonde__sass_register r = {(uint8_t)number, written, copy, (uint16_t)(l->code->own ? 0 : as)};
    l->code->failed |= sonde_vector_push(&l->code->registers, r) != 0;
    l->made.count++;
}

static void touch_several(struct line *l, unsigned number, unsigned count, bool written, unsigned as)
{
    for (unsigned i = 0; i < count && number < NO_REGISTER; i++)
        touch(l, number + i, written, as, 0);
}

static void apply(struct line *l, char what, unsigned number, bool written)
{
    const unsigned signs = l->integer & (SONDE__SASS_SIGNED | SONDE__SASS_UNSIGNED);
    if (number >= NO_REGISTER)
        return;
    switch (what) {
    case 'f': touch(l, number, written, SONDE__SASS_FLOAT, 0); break;
    case 'h': touch(l, number, written, SONDE__SASS_HALF, 0); break;
    case 'r': touch(l, number, written, SONDE__SASS_BRAIN, 0); break;
    case 'i': touch(l, number, written, l->integer, 0); break;
    case 'c': touch(l, number, written, 0, 1); break;
    case 'b': touch(l, number, written, 0, 0); break;
    case 'p': touch_several(l, number, 2, written, SONDE__SASS_FLOAT); break;
    case 'B': touch_several(l, number, 2, written, 0); break;
    case '4': touch_several(l, number, 4, written, 0); break;
    case 'd':
        touch(l, number, written, SONDE__SASS_DOUBLE_LOW, 0);
        touch(l, number + 1, written, SONDE__SASS_DOUBLE_HIGH, 0);
        break;
    case 'w':
        touch(l, number, written, SONDE__SASS_INTEGER | SONDE__SASS_WIDE_LOW, 0);
        touch(l, number + 1, written, SONDE__SASS_INTEGER | SONDE__SASS_WIDE_HIGH | signs, 0);
        break;
    case 'C':
        touch(l, number, written, 0, 1);
        touch(l, number + 1, written, 0, 2);
        break;
    default: break;
    }
}

/* Registers within brackets: addresses, of pairs. */
static void apply_memory(struct line *l, const struct operand *o)
{
    uint8_t number;
    for (size_t i = 0; i + 1 < o->length; i++)
        if ((i == 0 || is_end(o->text[i - 1])) && is_register(o->text + i, 'R', "RZ", &number) && number != NO_REGISTER) {
            const bool pair = strncmp(o->text + i + strcspn(o->text + i, ".]+"), ".64", 3) == 0;
            touch_several(l, number, pair ? 2 : 1, false, pair || l->made.bytes ? SONDE__SASS_ADDRESS : 0);
        }
}

/* Which operands are where: first those that are written, and the predicates among them. */
static unsigned targets(const struct parsed *p, const struct form *f, unsigned *target)
{
    unsigned i = 0;
    *target = OPERANDS_MAX;
    if (f->to == '-') {
        while (i < p->count && p->operands[i].kind == PREDICATE && strchr("FIDHPVQR", *p->name))
            i++;
        return i;
    }
    while (i < p->count && p->operands[i].kind == PREDICATE)
        i++;
    if (i == p->count || p->operands[i].kind != REGISTER)
        return i;
    *target = i++;
    while (i < p->count && p->operands[i].kind == PREDICATE && p->operands[i].text[0] != '!')
        i++;
    return i;
}

/* ---- integers --------------------------------------------------------------------------------------------------- */

/* Additions and comparisons with one register and no more than a number beside it are what compilers do to floats, too. */
static unsigned is_sure(const struct parsed *p, unsigned from)
{
    unsigned known = 0;
    for (unsigned i = from; i < p->count; i++)
        known += p->operands[i].kind == ELSE || (p->operands[i].kind == REGISTER && p->operands[i].number != NO_REGISTER);
    return known > 1 ? SONDE__SASS_INTEGER : SONDE__SASS_MAYBE;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static unsigned sign_of(const struct parsed *p)
{
    static const char *const ordering[] = {"ISETP", "ISET", "IMNMX", "IMNMX3", "VIMNMX", "VIMNMX3", "VIADDMNMX", "I2F", "I2FP", "F2I", "IABS", NULL};
    const bool orders = is_one_of(p->name, ordering) || (strcmp(p->name, "IMAD") == 0 && (has(p, "WIDE") || has(p, "HI")));
    if (has(p, "U32") || has(p, "U64") || has(p, "U16") || has(p, "U8"))
        return orders ? SONDE__SASS_UNSIGNED : 0;
    return orders && !has(p, "EQ") && !has(p, "NE") ? SONDE__SASS_SIGNED : 0;
}

static uint16_t integers_of(const struct parsed *p, unsigned from)
{
    unsigned as = is_sure(p, from) | sign_of(p);
    if (has(p, "X") || has(p, "EX"))
        as |= SONDE__SASS_WIDE_HIGH;
    return (uint16_t)as;
}

/* ---- opcodes whose operands depend on what follows their names ---------------------------------------------------- */

static unsigned memory_bytes(const struct parsed *p)
{
    if (has(p, "U8") || has(p, "S8"))
        return 1;
    if (has(p, "U16") || has(p, "S16"))
        return 2;
    if (has(p, "64"))
        return 8;
    if (has(p, "128"))
        return 16;
    return has(p, "256") || has(p, "ENL2") ? 32 : 4;
}

/* F2F.F32.F64: the first is what it becomes. */
static char float_part(const struct parsed *p, unsigned place)
{
    const char *at = p->parts, *end = p->parts + p->parts_length;
    while (at && at < end) {
        const size_t length = strcspn(at + 1, ". \t;\n");
        const char kind = strncmp(at + 1, "F64", length) == 0 && length == 3   ? 'd'
                          : strncmp(at + 1, "F32", length) == 0 && length == 3 ? 'f'
                          : strncmp(at + 1, "F16", length) == 0 && length == 3 ? 'h'
                          : length >= 4 && strncmp(at + 1, "BF16", 4) == 0     ? 'r'
                                                                               : 0;
        if (kind && !place--)
            return kind;
        at += 1 + length;
    }
    return 0;
}

static void adjust_conversion(const struct parsed *p, struct form *f, const char **from)
{
    const bool wide = has(p, "S64") || has(p, "U64");
    const char first = float_part(p, 0), second = float_part(p, 1);
    if (strcmp(p->name, "I2F") == 0 || strcmp(p->name, "I2FP") == 0) {
        f->to = first ? first : 'f';
        *from = wide ? "w" : "i";
    } else if (strcmp(p->name, "F2I") == 0) {
        f->to = wide ? 'w' : 'i';
        *from = first == 'd' ? "d" : (first == 'h' ? "h" : "f");
    } else if (strcmp(p->name, "F2F") == 0) {
        f->to = first ? first : 'b';
        *from = second == 'd' ? "d" : (second == 'f' ? "f" : (second == 'h' ? "h" : "b"));
    } else { /* F2FP: two floats become a pair of halves */
        const bool other = has(p, "UNPACK_B") || number_after(p, "E4M") || number_after(p, "E5M") || number_after(p, "E2M") || number_after(p, "E3M");
        f->to = other ? 'b' : (first == 'r' ? 'r' : (first == 'h' || !first ? 'h' : 'b'));
        *from = other ? "b" : "f";
    }
}

static void adjust_float(const struct parsed *p, struct form *f, const char **from)
{
    static const char *const halves[] = {"HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSETP2", "HSET2", "HADD2_32I", "HMUL2_32I", "HFMA2_32I", NULL};
    if (strcmp(p->name, "MUFU") == 0 && (has(p, "RCP64H") || has(p, "RSQ64H"))) {
        f->to = 'b';
        *from = "b";
    } else if (strcmp(p->name, "MUFU") == 0 && has(p, "F16")) {
        f->to = 'h';
        *from = "h";
    } else if (strcmp(p->name, "FRND") == 0 && float_part(p, 0)) {
        f->to = float_part(p, 0);
        *from = f->to == 'd' ? "d" : (f->to == 'h' ? "h" : "f");
    } else if (is_one_of(p->name, halves)) {
        if (has(p, "BF16") || has(p, "BF16_V2")) {
            f->to = f->to == 'h' ? 'r' : f->to;
            *from = "r";
        }
        if (has(p, "F32"))
            f->to = 'f';
    }
}

static void adjust_integer(const struct parsed *p, struct form *f, const char **from)
{
    const bool imad = strcmp(p->name, "IMAD") == 0;
    if (imad && has(p, "MOV")) {
        f->to = 'c';
        *from = "c";
    } else if (imad && has(p, "WIDE")) {
        f->to = 'w';
        *from = "iiw";
    } else if (imad && has(p, "HI")) {
        *from = "iib";
    } else if (imad && has(p, "U32") && !has(p, "X")) { /* a shift by 16, as of bfloat16 to float */
        f->to = 'b';
        *from = "b";
    } else if (has(p, "64") || has(p, "U64") || has(p, "S64")) {
        f->to = f->to == 'i' ? 'w' : f->to;
        *from = "w";
    } else if (number_after(p, "U16x") || number_after(p, "S16x")) {
        f->to = f->to == 'i' ? 'b' : f->to;
        *from = "b";
    } else if (strcmp(p->name, "LEA") == 0 && has(p, "HI")) { /* the first is the lower half, the third the upper */
        *from = has(p, "X") ? "bbib" : "bbb";
    }
}

static void adjust(const struct parsed *p, struct form *f, const char **from)
{
    static const char *const conversions[] = {"I2F", "I2FP", "F2I", "F2F", "F2FP", NULL};
    if (is_one_of(p->name, conversions))
        adjust_conversion(p, f, from);
    else if (**from == 'i')
        adjust_integer(p, f, from);
    else if (**from == 'f' || **from == 'h')
        adjust_float(p, f, from);
    else if (**from == 'c' && has(p, "64")) {
        f->to = 'C';
        *from = "C";
    } else if (strcmp(p->name, "CS2R") == 0 && has(p, "32"))
        f->to = 'b';
    else if (strcmp(p->name, "MATCH") == 0 || strcmp(p->name, "VOTE") == 0)
        f->to = 'b';
}

/* ---- registers that are written -------------------------------------------------------------------------------------- */

/* Of matrices, what is known of how many registers a thread has. */
static void write_matrix(struct line *l, char to, unsigned number)
{
    const struct parsed *p = l->p;
    const unsigned columns = number_after(p, "64x"), float_as = has(p, "F32") ? SONDE__SASS_FLOAT : SONDE__SASS_HALF;
    if (to == 'G' && columns)
        touch_several(l, number, columns / (has(p, "F32") ? 2 : 4), true, float_as);
    else if (to == 'H' && (has(p, "16816") || has(p, "1688") || has(p, "16832")))
        touch_several(l, number, has(p, "F32") ? 4 : 2, true, float_as);
    else if (to == 'I' && (has(p, "16816") || has(p, "16832") || has(p, "16864")))
        touch_several(l, number, 4, true, SONDE__SASS_INTEGER | SONDE__SASS_SIGNED);
    else
        touch_several(l, number, NO_REGISTER - number, true, SONDE__SASS_ANYTHING);
}

static unsigned loaded_registers(const struct parsed *p)
{
    if (strcmp(p->name, "LDSM") == 0)
        return has(p, "4") ? 4 : (has(p, "2") ? 2 : 1);
    return (memory_bytes(p) + 3) / 4;
}

static void write_target(struct line *l, char to, unsigned number, bool constant)
{
    if (number >= NO_REGISTER)
        return;
    switch (to) {
    case 'm':
        if (memory_bytes(l->p) == 32) /* into registers of two operands */
            touch_several(l, 0, NO_REGISTER, true, SONDE__SASS_ANYTHING);
        else
            touch_several(l, number, loaded_registers(l->p), true, 0);
        break;
    case '8': /* textures: up to four of one or of two kinds */
    case '?': touch_several(l, number, NO_REGISTER - number, true, SONDE__SASS_ANYTHING); break;
    case 'G':
    case 'H':
    case 'I':
    case 'D': write_matrix(l, to, number); break;
    default:
        if (constant && strchr("pdwCB", to))
            touch_several(l, number, 2, true, SONDE__SASS_CONSTANT);
        else if (constant && strchr("fhric", to))
            touch(l, number, true, SONDE__SASS_CONSTANT, 0);
        else
            apply(l, to, number, true);
    }
}

/* Does nothing come in but what stands in the code? */
static bool is_constant(const struct parsed *p, unsigned from)
{
    for (unsigned i = from; i < p->count; i++) {
        const struct operand *o = &p->operands[i];
        const bool zero = o->kind == ELSE && strncmp(o->text, "SRZ", 3) == 0;
        if (o->kind == MEMORY || (o->kind == ELSE && !zero) || (o->kind == REGISTER && o->number != NO_REGISTER))
            return false;
    }
    return from < p->count;
}

/* ---- where it goes on ----------------------------------------------------------------------------------------------------- */

/* `(.L_x_3), `(kernel), or 0x150. */
static uint32_t label_of(struct sonde__sass_code *code, const char *text, size_t length)
{
    const uint32_t label = sonde_intern_bytes(&code->labels, text, length);
    code->failed |= !label;
    while (code->places.count < label && !code->failed)
        code->failed |= sonde_vector_push(&code->places, UINT32_MAX) != 0;
    return code->failed ? 0 : label;
}

static uint32_t label_in(struct line *l)
{
    for (unsigned i = 0; i < l->p->count; i++) {
        const struct operand *o = &l->p->operands[i];
        const char *open = o->kind == LABEL ? memchr(o->text, '(', o->length) : NULL;
        const char *close = open ? memchr(open, ')', o->length - (size_t)(open - o->text)) : NULL;
        if (close && close > open + 1)
            return label_of(l->code, open + 1, (size_t)(close - open - 1));
    }
    return 0;
}

static uint8_t barrier_in(const struct parsed *p)
{
    for (unsigned i = 0; i < p->count; i++)
        if (p->operands[i].kind == ELSE && p->operands[i].text[0] == 'B' && p->operands[i].text[1] >= '0' && p->operands[i].text[1] <= '9')
            return (uint8_t)(strtoul(p->operands[i].text + 1, NULL, 10) + 1);
    return 0;
}

static void find_flow(struct line *l)
{
    static const char *const indirect[] = {"BRX", "JMX", "BRXU", "JMXU", NULL}, *const jumps[] = {"BRA", "JMP", NULL}, *const ends[] = {"EXIT", "RET", "KILL", NULL};
    const struct parsed *p = l->p;
    const bool meets = strcmp(p->name, "BSYNC") == 0;
    const bool begins = strcmp(p->name, "BSSY") == 0;
    l->made.label = label_in(l);
    if (is_one_of(p->name, indirect))
        l->made.flow = SONDE__SASS_ANYWHERE;
    else if (is_one_of(p->name, jumps))
        l->made.flow = !l->made.label                                                      ? SONDE__SASS_ANYWHERE
                       : p->operands[0].kind == LABEL && !has(p, "DIV") && !has(p, "CONV") ? SONDE__SASS_JUMP
                                                                                           : SONDE__SASS_ALSO;
    else if (is_one_of(p->name, ends))
        l->made.flow = SONDE__SASS_END;
    else if (strcmp(p->name, "CALL") == 0)
        l->made.flow = SONDE__SASS_CALL;
    else if (meets)
        l->made.flow = SONDE__SASS_MEET;
    else if (l->made.label && !begins)
        l->made.flow = SONDE__SASS_ALSO;
    l->made.barrier = meets || begins ? barrier_in(p) : 0;
}

/* ---- a line ------------------------------------------------------------------------------------------------------------------- */

/* "@!P0 ": what is left of the text. */
static const char *read_guard(const char *at, uint8_t *guard)
{
    uint8_t number = NO_REGISTER;
    at += strspn(at, " \t{");
    if (*at != '@')
        return at;
    const bool is_not = at[1] == '!';
    if (is_register(at + 1 + is_not, 'P', "PT", &number) && number != NO_REGISTER)
        *guard = (uint8_t)(2 + 2 * number + is_not);
    else if (at[1 + is_not] == 'U' && strncmp(at + 1 + is_not, "UPT", 3) != 0) /* one of the whole warp: known by no number of ours */
        *guard = UINT8_MAX;
    else if (is_not)
        *guard = UINT8_MAX; /* never */
    return at + strcspn(at, " \t");
}

static void find_memory(struct line *l)
{
    static const char *const loads[] = {"LDG", "LD", NULL}, *const stores[] = {"STG", "ST", NULL};
    const struct parsed *p = l->p;
    l->made.store = is_one_of(p->name, stores);
    if (!l->made.store && !is_one_of(p->name, loads))
        return;
    l->made.bytes = (uint8_t)memory_bytes(p);
    l->made.is_signed = has(p, "S8") || has(p, "S16");
}

static void read_sources(struct line *l, const char *from, unsigned first)
{
    for (unsigned i = first; i < l->p->count; i++) {
        const struct operand *o = &l->p->operands[i];
        if (o->kind == MEMORY)
            apply_memory(l, o);
        if (o->kind == PREDICATE)
            continue;
        const bool data = l->made.store && o->kind == REGISTER; /* STG.E.64 [R2.64], R4 */
        if (data)
            touch_several(l, o->number, (l->made.bytes + 3u) / 4, false, 0);
        else if (o->kind == REGISTER)
            apply(l, *from, o->number, false);
        if (*from && from[1])
            from++;
    }
}

static void add_instruction(struct sonde__sass_code *code, uint32_t at, const char *text)
{
    struct parsed p;
    struct line l = {.code = code, .p = &p, .made = {.at = at, .first = (uint32_t)code->registers.count}};
    unsigned target;
    text = read_guard(text, &l.made.guard);
    if (!parse(text, &p))
        return;
    struct form f = *form_of(&p);
    const char *from = f.from;
    adjust(&p, &f, &from);
    const unsigned first = targets(&p, &f, &target);
    for (unsigned i = 0; i < first; i++)
        if (p.operands[i].kind == PREDICATE && p.operands[i].number != NO_REGISTER)
            l.made.predicates |= (uint8_t)(1u << (p.operands[i].number & 7));
    if (strcmp(p.name, "R2P") == 0)
        l.made.predicates = UINT8_MAX;
    l.integer = integers_of(&p, first);
    find_memory(&l);
    find_flow(&l);
    read_sources(&l, from, first);
    if (target < p.count)
        write_target(&l, f.to, p.operands[target].number, is_constant(&p, first) && f.to != 'm');
    code->failed |= sonde_vector_push(&code->instructions, l.made) != 0;
}

static void add_label(struct sonde__sass_code *code, const char *line, size_t length)
{
    static const char routine[] = "__internal_";
    const uint32_t label = label_of(code, line, length);
    if (!label)
        return;
    code->places.items[label - 1] = (uint32_t)code->instructions.count;
    if (*line != '$')
        return;
    code->own = false;
    for (size_t i = 0; i + sizeof routine - 1 <= length; i++)
        code->own |= strncmp(line + i, routine, sizeof routine - 1) == 0;
    code->failed |= sonde_vector_push(&code->functions, (uint32_t)code->instructions.count) != 0;
}

void sonde__sass_line(struct sonde__sass_code *code, const char *line)
{
    const char *at = line + strspn(line, " \t");
    char *end;
    const size_t length = strcspn(line, ":\n");
    if (strncmp(at, "/*", 2) == 0) {
        const unsigned long offset = strtoul(at + 2, &end, 16);
        if (strncmp(end, "*/", 2) == 0 && offset <= UINT32_MAX)
            add_instruction(code, (uint32_t)offset, end + 2);
    } else if (at == line && length && line[length] == ':') {
        add_label(code, line, length);
    }
}

void sonde__sass_fini(struct sonde__sass_code *code)
{
    sonde_vector_fini(&code->instructions);
    sonde_vector_fini(&code->registers);
    sonde_vector_fini(&code->places);
    sonde_vector_fini(&code->functions);
    sonde_intern_fini(&code->labels);
    *code = (struct sonde__sass_code){0};
}
