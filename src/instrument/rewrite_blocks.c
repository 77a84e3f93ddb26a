/* rewrite_blocks.c - which blocks of a grid the copy of a kernel looks at (plan.h: `every`). The others take the kernel's own code, which stands behind what
 * looks, in a scope of its own: registers and labels of the same names are others there (PTX ISA 4.4), shared and local memory is not declared twice.
 */
#include <string.h>

#include "rewrite_copy.h"

/* Blocks are numbered as threads are, x first. */
static void put_number(struct copy *c)
{
    say(c->out, ".reg .b64 %%sonde_az<4>;\n.reg .b32 %%sonde_ai<3>;\n.reg .pred %%sonde_aside;\n"
                "mov.u32 %%sonde_ai0, %%nctaid.y;\nmov.u32 %%sonde_ai1, %%ctaid.z;\nmov.u32 %%sonde_ai2, %%ctaid.y;\n"
                "cvt.u64.u32 %%sonde_az2, %%sonde_ai2;\nmad.wide.u32 %%sonde_az0, %%sonde_ai0, %%sonde_ai1, %%sonde_az2;\n");
    say(c->out, "mov.u32 %%sonde_ai1, %%nctaid.z;\nmul.wide.u32 %%sonde_az1, %%sonde_ai0, %%sonde_ai1;\n"
                "mov.u32 %%sonde_ai0, %%nctaid.x;\ncvt.u64.u32 %%sonde_az2, %%sonde_ai0;\nmul.lo.u64 %%sonde_az0, %%sonde_az0, %%sonde_az2;\n"
                "mul.lo.u64 %%sonde_az1, %%sonde_az1, %%sonde_az2;\nmov.u32 %%sonde_ai1, %%ctaid.x;\ncvt.u64.u32 %%sonde_az2, %%sonde_ai1;\n"
                "add.u64 %%sonde_az0, %%sonde_az0, %%sonde_az2;\n");
}

/* Its place among those that one is chosen of, and how many these are; the hash of which they are says the one. */
void sonde__ptx_blocks_start(struct copy *c)
{
    if (c->every < 2)
        return;
    put_number(c);
    say(c->out, "div.u64 %%sonde_az2, %%sonde_az0, %u;\nmul.lo.u64 %%sonde_az3, %%sonde_az2, %u;\nsub.u64 %%sonde_az0, %%sonde_az0, %%sonde_az3;\n"
                "sub.u64 %%sonde_az1, %%sonde_az1, %%sonde_az3;\nmin.u64 %%sonde_az1, %%sonde_az1, %u;\ncvt.u32.u64 %%sonde_ai0, %%sonde_az2;\n",
        c->every, c->every, c->every);
    say(c->out, "add.u32 %%sonde_ai0, %%sonde_ai0, 1;\nmul.lo.u32 %%sonde_ai0, %%sonde_ai0, %u;\nshr.u32 %%sonde_ai1, %%sonde_ai0, 15;\nxor.b32 %%sonde_ai0, %%sonde_ai0, %%sonde_ai1;\n"
                "mul.lo.u32 %%sonde_ai0, %%sonde_ai0, %u;\nshr.u32 %%sonde_ai1, %%sonde_ai0, 13;\nxor.b32 %%sonde_ai0, %%sonde_ai0, %%sonde_ai1;\n",
        SONDE_PLAN_MIX, SONDE_PLAN_MIX_TOO);
    say(c->out, "cvt.u32.u64 %%sonde_ai1, %%sonde_az1;\nmul.hi.u32 %%sonde_ai0, %%sonde_ai0, %%sonde_ai1;\ncvt.u32.u64 %%sonde_ai2, %%sonde_az0;\n"
                "setp.ne.u32 %%sonde_aside, %%sonde_ai0, %%sonde_ai2;\n@%%sonde_aside bra $sonde_other;\n");
}

bool sonde__ptx_is_declared(const struct copy *c, const struct sonde_ptx_item *i)
{
    static const char *const spaces[] = {".shared", ".local"};
    for (size_t k = 0; c->again && !c->registers.scopes && i->kind == SONDE_PTX_STATEMENT && k < sizeof spaces / sizeof *spaces; k++)
        if (i->text.bytes > strlen(spaces[k]) && memcmp(c->p->text + i->text.at, spaces[k], strlen(spaces[k])) == 0)
            return true;
    return false;
}
