/* compare.c - see compare.h.
 *
 * Word by word of 8 bytes. In a word each byte is one bit (0x0101...): y has those that differ or were not written, n those that were
 * not written. An element of 1, 2, 4 or 8 bytes was written where none of its bits is in n, and is unchanged where none
 * is in y.
 *
 * The hash is the sum over the words, each mixed with its place by xor and multiplication as in splitmix64 (Steele, Lea, Flood: Fast
 * Splittable Pseudorandom Number Generators, OOPSLA 2014, figure 13). What is behind the last whole word counts as a word.
 */
#include "compare.h"

/* Thread's number to %i, of all to %step. */
#define NUMBER                                                                                              \
    "mov.u32 %a, %ctaid.x;\nmov.u32 %b, %ntid.x;\nmov.u32 %c, %tid.x;\nmul.wide.u32 %i, %a, %b;\n"          \
    "cvt.u64.u32 %x, %c;\nadd.u64 %i, %i, %x;\nmov.u32 %a, %nctaid.x;\nmul.wide.u32 %step, %a, %b;\n"

/* Adds to counter e`k` the elements of a word of which no byte is in n, and to u`k` those in y: `most` there are. */
#define COUNT(k, most)                                                                                      \
    "popc.b64 %a, %n;\nsub.u32 %a, " #most ", %a;\nadd.u32 %e" #k ", %e" #k ", %a;\n"                       \
    "popc.b64 %a, %y;\nsub.u32 %a, " #most ", %a;\nadd.u32 %u" #k ", %u" #k ", %a;\n"
/* From elements to those of twice the size. */
#define TWICE(shift, mask)                                                                                  \
    "shr.u64 %x, %n, " #shift ";\nor.b64 %n, %n, %x;\nand.b64 %n, %n, " mask ";\n"                          \
    "shr.u64 %x, %y, " #shift ";\nor.b64 %y, %y, %x;\nand.b64 %y, %y, " mask ";\n"

/* The sum of a counter over the warp, by its first lane to byte `at` of the sums. */
#define HALVE(r, by) "shfl.sync.down.b32 %a, " r ", " #by ", 31, -1;\nadd.u32 " r ", " r ", %a;\n"
#define SUM(r, at)                                                                                          \
    HALVE(r, 16) HALVE(r, 8) HALVE(r, 4) HALVE(r, 2) HALVE(r, 1)                                            \
    "cvt.u64.u32 %x, " r ";\nsetp.ne.and.u32 %p, " r ", 0, %first;\n@%p red.global.add.u64 [%sums+" #at "], %x;\n"

/* The same over the warp, of the two sums of 64 bits. */
#define HALF64(h, by)                                                                                       \
    "mov.b64 {%lo, %hi}, " h ";\nshfl.sync.down.b32 %lo, %lo, " #by ", 31, -1;\n"                          \
    "shfl.sync.down.b32 %hi, %hi, " #by ", 31, -1;\nmov.b64 %t, {%lo, %hi};\nadd.u64 " h ", " h ", %t;\n"
#define HALVES(by) HALF64("%h0", by) HALF64("%h1", by)

#pragma GCC diagnostic ignored "-Woverlength-strings" /* of 4,095 characters: what every compiler takes */
const char sonde__ptx_compare[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry " SONDE_PTX_COPY
    "(.param .u64 c0, .param .u64 c1, .param .u64 c2, .param .u64 c3, .param .u64 c4)\n"
    "{\n.reg .pred %p;\n.reg .b32 %a, %b, %c;\n.reg .b64 %i, %step, %x, %now, %then, %n, %at, %o, %v0, %v1;\n" NUMBER
    "ld.param.u64 %now, [c0];\nld.param.u64 %then, [c1];\nld.param.u64 %n, [c2];\nmov.u64 %at, %i;\n"
    "$copy:\nsetp.ge.u64 %p, %at, %n;\n@%p bra $copied;\n"
    "shl.b64 %o, %at, 4;\nadd.u64 %x, %now, %o;\nadd.u64 %o, %then, %o;\n"
    "ld.global.v2.u64 {%v0, %v1}, [%x];\nst.global.v2.u64 [%o], {%v0, %v1};\nadd.u64 %at, %at, %step;\nbra $copy;\n"
    "$copied:\nld.param.u64 %then, [c3];\nld.param.u64 %n, [c4];\nmov.u64 %v0, 0;\nmov.u64 %at, %i;\n"
    "$clear:\nsetp.ge.u64 %p, %at, %n;\n@%p bra $cleared;\n"
    "shl.b64 %o, %at, 4;\nadd.u64 %o, %then, %o;\nst.global.v2.u64 [%o], {%v0, %v0};\nadd.u64 %at, %at, %step;\nbra $clear;\n"
    "$cleared:\nret;\n}\n"

    /* a warp marks a row, and goes on to that which is as many behind as there are warps */
    ".visible .entry " SONDE_PTX_MARK
    "(.param .u64 m0, .param .u64 m1, .param .u64 m2, .param .u64 m3, .param .u64 m4, .param .u64 m5, .param .u64 m6, .param .u64 m7)\n"
    "{\n.reg .pred %p;\n.reg .b32 %a, %b, %c;\n"
    ".reg .b64 %i, %step, %x, %k, %at, %lane, %marks, %count, %from, %width, %row, %rows, %slice, %slices;\n" NUMBER
    "ld.param.u64 %marks, [m0];\nld.param.u64 %count, [m1];\nld.param.u64 %from, [m2];\nld.param.u64 %width, [m3];\n"
    "ld.param.u64 %row, [m4];\nld.param.u64 %rows, [m5];\nld.param.u64 %slice, [m6];\nld.param.u64 %slices, [m7];\n"
    "and.b64 %lane, %i, 31;\nshr.u64 %i, %i, 5;\nshr.u64 %step, %step, 5;\nmov.u32 %a, 1;\n"
    "$slice:\nsetp.eq.u64 %p, %slices, 0;\n@%p bra $all;\nsetp.lt.u64 %p, %i, %rows;\n@%p bra $row;\n"
    "sub.u64 %i, %i, %rows;\nadd.u64 %from, %from, %slice;\nsub.u64 %slices, %slices, 1;\nbra $slice;\n"
    "$row:\nmul.lo.u64 %at, %i, %row;\nadd.u64 %at, %at, %from;\nmov.u64 %k, %lane;\n"
    "$mark:\nsetp.ge.u64 %p, %k, %width;\n@%p bra $further;\nadd.u64 %x, %at, %k;\nsetp.ge.u64 %p, %x, %count;\n@%p bra $skip;\n"
    "add.u64 %x, %marks, %x;\nst.global.u8 [%x], %a;\n$skip:\nadd.u64 %k, %k, 32;\nbra $mark;\n"
    "$further:\nadd.u64 %i, %i, %step;\nbra $slice;\n"
    "$all:\nret;\n}\n"

    ".visible .entry " SONDE_PTX_COMPARE
    "(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u32 p5, .param .u64 p6)\n"
    "{\n.reg .pred %p, %first;\n.reg .b16 %h;\n.reg .b32 %a, %b, %c, %grain, %e<4>, %u<4>;\n"
    ".reg .b64 %i, %step, %x, %y, %n, %m, %o, %q, %now, %then, %from, %to, %marks, %sums, %last, %ones;\n" NUMBER
    "ld.param.u64 %now, [p0];\nld.param.u64 %then, [p1];\nld.param.u64 %from, [p2];\nld.param.u64 %to, [p3];\n"
    "ld.param.u64 %marks, [p4];\nld.param.u32 %grain, [p5];\nld.param.u64 %sums, [p6];\n"
    "setp.ne.u64 %p, %i, 0;\n@%p bra $begin;\n"
    "red.global.add.u64 [%sums], 1;\nsub.u64 %x, %to, %from;\nred.global.add.u64 [%sums+8], %x;\n"
    "$begin:\nmov.u64 %ones, 0x0101010101010101;\n"
    "mov.u32 %e0, 0;\nmov.u32 %e1, 0;\nmov.u32 %e2, 0;\nmov.u32 %e3, 0;\n"
    "mov.u32 %u0, 0;\nmov.u32 %u1, 0;\nmov.u32 %u2, 0;\nmov.u32 %u3, 0;\n"
    "shr.u64 %x, %from, 3;\nadd.u64 %i, %i, %x;\nadd.u64 %last, %to, 7;\nshr.u64 %last, %last, 3;\n"
    "$word:\nsetp.ge.u64 %p, %i, %last;\n@%p bra $done;\nshl.b64 %o, %i, 3;\n"
    /* m: the word's bytes that lie from `from` to `to` */
    "mov.u64 %m, %ones;\nsetp.ge.u64 %p, %o, %from;\n@%p bra $low;\n"
    "sub.u64 %x, %from, %o;\ncvt.u32.u64 %a, %x;\nshl.b32 %a, %a, 3;\nshl.b64 %m, %m, %a;\n"
    "$low:\nadd.u64 %x, %o, 8;\nsetp.le.u64 %p, %x, %to;\n@%p bra $high;\n"
    "sub.u64 %x, %x, %to;\ncvt.u32.u64 %a, %x;\nshl.b32 %a, %a, 3;\nshr.u64 %x, %ones, %a;\nand.b64 %m, %m, %x;\n"
    /* and that were written */
    "$high:\nsetp.eq.u64 %p, %marks, 0;\n@%p bra $known;\nshr.u64 %q, %o, %grain;\nadd.u64 %q, %marks, %q;\n"
    "setp.eq.u32 %p, %grain, 0;\n@%p bra $bytes;\nsetp.eq.u32 %p, %grain, 1;\n@%p bra $twos;\nsetp.eq.u32 %p, %grain, 2;\n@%p bra $fours;\n"
    "ld.global.u8 %a, [%q];\ncvt.u64.u32 %x, %a;\nmul.lo.u64 %x, %x, %ones;\nbra $marked;\n"
    "$bytes:\nld.global.u64 %x, [%q];\nbra $marked;\n"
    "$twos:\nld.global.u32 %a, [%q];\ncvt.u64.u32 %x, %a;\nshl.b64 %y, %x, 16;\nor.b64 %x, %x, %y;\nand.b64 %x, %x, 0x0000FFFF0000FFFF;\n"
    "shl.b64 %y, %x, 8;\nor.b64 %x, %x, %y;\nand.b64 %x, %x, 0x00FF00FF00FF00FF;\nshl.b64 %y, %x, 8;\nor.b64 %x, %x, %y;\nbra $marked;\n"
    "$fours:\nld.global.u16 %h, [%q];\ncvt.u32.u16 %a, %h;\nand.b32 %b, %a, 255;\nshr.u32 %c, %a, 8;\n"
    "mul.lo.u32 %b, %b, 0x01010101;\nmul.lo.u32 %c, %c, 0x01010101;\nmov.b64 %x, {%b, %c};\n"
    "$marked:\nand.b64 %m, %m, %x;\n"
    "$known:\nadd.u64 %x, %now, %o;\nld.global.u64 %y, [%x];\nadd.u64 %x, %then, %o;\nld.global.u64 %x, [%x];\nxor.b64 %y, %y, %x;\n"
    "shr.u64 %x, %y, 4;\nor.b64 %y, %y, %x;\nshr.u64 %x, %y, 2;\nor.b64 %y, %y, %x;\nshr.u64 %x, %y, 1;\nor.b64 %y, %y, %x;\n"
    "and.b64 %y, %y, %ones;\nxor.b64 %n, %m, %ones;\nor.b64 %y, %y, %n;\n" COUNT(0, 8) TWICE(8, "0x0001000100010001") COUNT(1, 4) TWICE(16, "0x0000000100000001") COUNT(2, 2) TWICE(32, "1") COUNT(3, 1) "add.u64 %i, %i, %step;\nbra $word;\n"
                                                                                                                                                                                                         "$done:\nmov.u32 %a, %tid.x;\nand.b32 %a, %a, 31;\nsetp.eq.u32 %first, %a, 0;\n" SUM("%e0", 16) SUM("%e1", 24) SUM("%e2", 32) SUM("%e3", 40) SUM("%u0", 48) SUM("%u1", 56) SUM("%u2", 64) SUM("%u3", 72) "ret;\n}\n"

                                                                                                                                                                                                                                                                                                                                                                                                                  ".visible .entry " SONDE_PTX_DIGEST
                                                                                                                                                                                                                                                                                                                                                                                                                  "(.param .u64 d0, .param .u64 d1, .param .u64 d2, .param .u64 d3, .param .u64 d4, .param .u64 d5)\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "{\n.reg .pred %p, %hashes;\n.reg .b32 %a, %b, %c, %lo, %hi;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  ".reg .b64 %i, %step, %x, %y, %z, %t, %k, %one, %other, %bytes, %words, %sums, %host, %h0, %h1;\n" NUMBER
                                                                                                                                                                                                                                                                                                                                                                                                                  "ld.param.u64 %one, [d0];\nld.param.u64 %other, [d1];\nld.param.u64 %bytes, [d2];\nld.param.u64 %sums, [d3];\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "setp.eq.u64 %hashes, %other, 0;\nshr.u64 %words, %bytes, 3;\nmov.u64 %h0, 0;\nmov.u64 %h1, 0;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "$next:\nsetp.gt.u64 %p, %i, %words;\n@%p bra $summed;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "shl.b64 %k, %i, 3;\nmov.u64 %x, 0;\nmov.u64 %y, 0;\nsetp.eq.u64 %p, %i, %words;\n@%p bra $tail;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "add.u64 %t, %one, %k;\nld.global.u64 %x, [%t];\n@%hashes bra $mix;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "add.u64 %t, %other, %k;\nld.global.u64 %y, [%t];\nbra $differ;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  /* behind the last whole word */
                                                                                                                                                                                                                                                                                                                                                                                                                  "$tail:\nsetp.ge.u64 %p, %k, %bytes;\n@%p bra $tailed;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "add.u64 %t, %one, %k;\nld.global.u8 %a, [%t];\ncvt.u64.u32 %t, %a;\nshl.b64 %x, %x, 8;\nor.b64 %x, %x, %t;\n@%hashes bra $behind;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "add.u64 %t, %other, %k;\nld.global.u8 %a, [%t];\ncvt.u64.u32 %t, %a;\nshl.b64 %y, %y, 8;\nor.b64 %y, %y, %t;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "$behind:\nadd.u64 %k, %k, 1;\nbra $tail;\n$tailed:\n@%hashes bra $mix;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "$differ:\nsetp.ne.u64 %p, %x, %y;\nselp.u64 %t, 1, 0, %p;\nadd.u64 %h0, %h0, %t;\nbra $further;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "$mix:\nadd.u64 %z, %i, 1;\nmul.lo.u64 %z, %z, 0x9e3779b97f4a7c15;\nxor.b64 %z, %z, %x;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "shr.u64 %t, %z, 30;\nxor.b64 %z, %z, %t;\nmul.lo.u64 %z, %z, 0xbf58476d1ce4e5b9;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "shr.u64 %t, %z, 27;\nxor.b64 %z, %z, %t;\nmul.lo.u64 %z, %z, 0x94d049bb133111eb;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "shr.u64 %t, %z, 31;\nxor.b64 %t, %z, %t;\nadd.u64 %h0, %h0, %t;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "add.u64 %z, %z, %x;\nmul.lo.u64 %z, %z, 0xd1342543de82ef95;\nshr.u64 %t, %z, 32;\nxor.b64 %z, %z, %t;\nadd.u64 %h1, %h1, %z;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "$further:\nadd.u64 %i, %i, %step;\nbra $next;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                  "$summed:\n" HALVES(16) HALVES(8) HALVES(4) HALVES(2) HALVES(1) "mov.u32 %a, %tid.x;\nand.b32 %a, %a, 31;\nsetp.ne.u32 %p, %a, 0;\n@%p ret;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "red.global.add.u64 [%sums], %h0;\nred.global.add.u64 [%sums+8], %h1;\nmembar.gl;\natom.global.add.u64 %t, [%sums+16], 1;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "mov.u32 %a, %nctaid.x;\nmov.u32 %b, %ntid.x;\nshr.u32 %b, %b, 5;\nmul.wide.u32 %x, %a, %b;\nsub.u64 %x, %x, 1;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "setp.ne.u64 %p, %t, %x;\n@%p ret;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  /* the last warp */
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "membar.gl;\nld.volatile.global.u64 %h0, [%sums];\nld.volatile.global.u64 %h1, [%sums+8];\nmov.u64 %t, 0;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "st.volatile.global.u64 [%sums], %t;\nst.volatile.global.u64 [%sums+8], %t;\nst.volatile.global.u64 [%sums+16], %t;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "ld.param.u64 %host, [d4];\nld.param.u64 %t, [d5];\nst.volatile.global.u64 [%host], %h0;\nst.volatile.global.u64 [%host+8], %h1;\n"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "membar.sys;\nst.volatile.global.u64 [%host+16], %t;\nret;\n}\n";
