/* rewrite_remote.c - accesses to memory that is not the kernel's device's: what an instrumented copy has more for them (SONDE_PLAN_REMOTE).
 *
 * An access whose pointer is a parameter needs nothing: to which object the parameter points is known at the launch, and the count of its
 * block says how often. The others compare their address with a stretch in which no remote memory lies: a subtraction and a comparison.
 * Whoever is not in it searches the table, which is a parameter, too, by halves, and has found either another such stretch, which the thread
 * uses from then on, or a slot: the lanes that found the same one are added by one of them.
 *
 * Where elements are asked for (SONDE_PLAN_CELLS), accesses through parameters do the same, and whoever found a slot adds its bytes to the cells of that
 * memory: an access that is wider than a cell to several, each with as much as lies in it.
 */
#include "rewrite_copy.h"

#define MATCH_TARGET 70u /* match.any.sync: PTX ISA 9.7.13.10, sm_70 and later */

_Static_assert(offsetof(struct sonde_plan_remote, home_bytes) == 8 && offsetof(struct sonde_plan_remote, begin) == 16 &&
                   offsetof(struct sonde_plan_remote, bytes) == 24 && offsetof(struct sonde_plan_remote, step) == 32 && sizeof(struct sonde_plan_remote_range) == 32,
               "the texts below have them");
#define RANGE(field) (offsetof(struct sonde_plan_remote, range) + offsetof(struct sonde_plan_remote_range, field))

bool sonde__ptx_is_checked(const struct sonde_ptx_flow *flow, uint32_t k)
{
    return !flow->pointer[k] && flow->origins[k].parameter < SONDE_PTX_OF_COMPILER;
}

uint32_t sonde__ptx_checked(const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < f->accesses; k++)
        count += sonde__ptx_is_checked(flow, k);
    return count;
}

bool sonde__ptx_takes_table(const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow, uint32_t what)
{
    return what & SONDE_PLAN_REMOTE && (sonde__ptx_checked(f, flow) || (what & SONDE_PLAN_CELLS && flow->pointer_count));
}

void sonde__ptx_remote_start(struct copy *c)
{
    if (!sonde__ptx_has_table(c))
        return;
    if (c->plan & SONDE_PLAN_CELLS)
        say(c->out, ".reg .b64 %%sonde_fc, %%sonde_fe;\n");
    say(c->out, ".reg .b64 %%sonde_fa, %%sonde_fb, %%sonde_fs, %%sonde_ft, %%sonde_fu, %%sonde_fp, %%sonde_fn;\n.reg .b32 %%sonde_fl, %%sonde_fm, %%sonde_fw;\n"
                ".reg .pred %%sonde_fq;\nld.param.u64 %%sonde_fb, [sonde_remote];\nld.param.u64 %%sonde_fs, [sonde_remote+8];\n");
}

/* %sonde_fp: the word of slot %sonde_fl of access number `number`; the kernel's part as at its end. */
static void put_add(struct copy *c, uint32_t number)
{
    const struct sonde_plan plan = sonde__ptx_plan(c->f, &c->flow, c->plan);
    say(c->out, "ld.param.u64 %%sonde_fp, [sonde_area];\ncvta.to.global.u64 %%sonde_fp, %%sonde_fp;\nmov.u32 %%sonde_fw, %%smid;\n"
                "mad.wide.u32 %%sonde_fp, %%sonde_fw, %zu, %%sonde_fp;\nmad.wide.u32 %%sonde_fp, %%sonde_fl, 8, %%sonde_fp;\n",
        sonde__plan_part(&plan));
    if (c->p->target >= MATCH_TARGET)
        say(c->out, "activemask.b32 %%sonde_fm;\nmatch.any.sync.b32 %%sonde_fm, %%sonde_fl, %%sonde_fm;\nmov.u32 %%sonde_fw, %%lanemask_lt;\n"
                    "and.b32 %%sonde_fw, %%sonde_fw, %%sonde_fm;\nsetp.eq.u32 %%sonde_fq, %%sonde_fw, 0;\npopc.b32 %%sonde_fm, %%sonde_fm;\n"
                    "cvt.u64.u32 %%sonde_fn, %%sonde_fm;\n@%%sonde_fq ");
    else
        say(c->out, "mov.u64 %%sonde_fn, 1;\n");
    say(c->out, "red.global.add.u64 [%%sonde_fp+%zu], %%sonde_fn;\n", sonde__plan_counts(&plan) + number * SONDE_PLAN_REMOTE_SLOTS * sizeof(uint64_t));
}

/* The range whose beginning is the last one not behind %sonde_fa: %sonde_fp is the table's address less than its own by as much as the first
 * one's. Behind all there is nothing, as what lies there begins at UINT64_MAX. */
static void put_search(struct copy *c, uint32_t k)
{
    say(c->out, "mov.u64 %%sonde_fp, sonde_remote;\nld.param.u32 %%sonde_fl, [sonde_remote+32];\nsetp.lt.u32 %%sonde_fq, %%sonde_fl, 32;\n"
                "@%%sonde_fq bra $sonde_at%u;\n$sonde_look%u:\n",
        k, k);
    say(c->out, "cvt.u64.u32 %%sonde_fn, %%sonde_fl;\nadd.s64 %%sonde_fn, %%sonde_fp, %%sonde_fn;\nld.param.u64 %%sonde_ft, [%%sonde_fn+%zu];\n"
                "setp.le.u64 %%sonde_fq, %%sonde_ft, %%sonde_fa;\n@%%sonde_fq mov.u64 %%sonde_fp, %%sonde_fn;\nshr.u32 %%sonde_fl, %%sonde_fl, 1;\n"
                "setp.ge.u32 %%sonde_fq, %%sonde_fl, 32;\n@%%sonde_fq bra $sonde_look%u;\n$sonde_at%u:\n",
        RANGE(begin), k, k);
}

/* The bytes that the access has in each cell: %sonde_ft, where in the range it is; %sonde_fn, bytes at a time; the range is at %sonde_fp, which
 * stays, as does %sonde_fl. */
static void put_cells(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const unsigned bytes = a->element_bytes * a->elements, word = 8 * sonde__plan_cell_kind(a->op);
    const bool wide = bytes > 1u << SONDE_PLAN_CELL_LEAST;
    say(c->out, "ld.param.u32 %%sonde_fw, [%%sonde_fp+%zu];\nsetp.eq.u32 %%sonde_fq, %%sonde_fw, 0;\n@%%sonde_fq bra $sonde_whole%u;\n", RANGE(cells), k);
    say(c->out, "ld.param.u64 %%sonde_ft, [%%sonde_fp+%zu];\nsub.s64 %%sonde_ft, %%sonde_fa, %%sonde_ft;\nand.b32 %%sonde_fm, %%sonde_fw, %u;\n"
                "and.b32 %%sonde_fw, %%sonde_fw, %u;\nld.param.u64 %%sonde_fc, [sonde_remote+%zu];\ncvta.to.global.u64 %%sonde_fc, %%sonde_fc;\n"
                "mad.wide.u32 %%sonde_fc, %%sonde_fw, %u, %%sonde_fc;\nmov.u64 %%sonde_fn, %u;\n",
        RANGE(begin), SONDE_PLAN_CELL_STEP - 1, ~(SONDE_PLAN_CELL_STEP - 1), offsetof(struct sonde_plan_remote, cells), 8 * SONDE_CELL_KINDS, bytes);
    if (wide)
        say(c->out, "mov.u64 %%sonde_fu, 1;\nshl.b64 %%sonde_fu, %%sonde_fu, %%sonde_fm;\nmin.u64 %%sonde_fn, %%sonde_fn, %%sonde_fu;\n"
                    "add.s64 %%sonde_fe, %%sonde_ft, %u;\n$sonde_cell%u:\n",
            bytes, k);
    say(c->out, "shr.u64 %%sonde_fu, %%sonde_ft, %%sonde_fm;\nmad.lo.s64 %%sonde_fu, %%sonde_fu, %u, %%sonde_fc;\nred.global.add.u64 [%%sonde_fu+%u], %%sonde_fn;\n",
        8 * SONDE_CELL_KINDS, word);
    if (wide)
        say(c->out, "add.s64 %%sonde_ft, %%sonde_ft, %%sonde_fn;\nsetp.lt.u64 %%sonde_fq, %%sonde_ft, %%sonde_fe;\n@%%sonde_fq bra $sonde_cell%u;\n", k);
    say(c->out, "$sonde_whole%u:\n", k);
}

void sonde__ptx_remote(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const bool checked = sonde__ptx_is_checked(&c->flow, k), cells = c->plan & SONDE_PLAN_CELLS && (checked || c->flow.pointer[k]);
    if (!sonde__ptx_has_table(c) || !(checked || cells))
        return;
    say(c->out, "add.s64 %%sonde_fa, ");
    put_span(c->out, c->p, a->base);
    say(c->out, ", %lld;\nsub.s64 %%sonde_ft, %%sonde_fa, %%sonde_fb;\nsetp.ge%s.u64 %%sonde_fq, %%sonde_ft, %%sonde_fs", (long long)a->offset,
        a->predicate.bytes ? ".and" : "");
    if (a->predicate.bytes) {
        say(c->out, a->flags & SONDE_PTX_NEGATED ? ", !" : ", ");
        put_span(c->out, c->p, a->predicate);
    }
    say(c->out, ";\n@!%%sonde_fq bra $sonde_near%u;\nld.param.u64 %%sonde_ft, [sonde_remote+16];\nld.param.u64 %%sonde_fu, [sonde_remote+24];\n"
                "sub.s64 %%sonde_ft, %%sonde_fa, %%sonde_ft;\nsetp.ge.u64 %%sonde_fq, %%sonde_ft, %%sonde_fu;\n@%%sonde_fq bra $sonde_near%u;\n",
        k, k);
    put_search(c, k);
    say(c->out, "ld.param.u64 %%sonde_ft, [%%sonde_fp+%zu];\nsetp.lt.u64 %%sonde_fq, %%sonde_fa, %%sonde_ft;\n@%%sonde_fq bra $sonde_found%u;\n", RANGE(end), k);
    say(c->out, "mov.u64 %%sonde_fb, %%sonde_ft;\nld.param.u64 %%sonde_fs, [%%sonde_fp+%zu];\nsub.s64 %%sonde_fs, %%sonde_fs, %%sonde_fb;\nbra $sonde_near%u;\n"
                "$sonde_found%u:\n",
        RANGE(next), k, k);
    if (cells)
        put_cells(c, a, k);
    if (checked) {
        say(c->out, "ld.param.u32 %%sonde_fl, [%%sonde_fp+%zu];\n", RANGE(slot));
        put_add(c, c->checked++);
    }
    say(c->out, "$sonde_near%u:\n", k);
}
