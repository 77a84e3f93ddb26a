/* llvm_remote.h - what instrumented kernels call before each access, in LLVM's own language: whose memory is it (plan.h: struct sonde_plan_shared)?
 *
 * Most addresses lie before the first range or behind the last one. The others are looked for by halves, and where the memory's owner is another, the thread is
 * counted in the owner's slot, by an atomic operation: parts are shared. Then what is written is its device's. Nobody waits for anybody: of two devices
 * that write one place at once, either may be the last. What is in no range, and through a parameter that points to memory of the host, is that one's.
 */
#ifndef SONDE_INSTRUMENT_LLVM_REMOTE_H
#define SONDE_INSTRUMENT_LLVM_REMOTE_H

#include "plan.h"

_Static_assert(offsetof(struct sonde_plan_shared, bytes) == 8 && offsetof(struct sonde_plan_shared, ranges) == 16 && offsetof(struct sonde_plan_shared, own) == 24 &&
                   offsetof(struct sonde_plan_shared, cells) == 32 && offsetof(struct sonde_plan_shared, range) == 40 && sizeof(struct sonde_plan_shared_range) == 104 &&
                   offsetof(struct sonde_plan_shared_range, bytes) == 8 && offsetof(struct sonde_plan_shared_range, writers) == 16 &&
                   offsetof(struct sonde_plan_shared_range, slot) == 24 && offsetof(struct sonde_plan_shared_range, cells) == 40 && SONDE_PLAN_CELL_STEP == 64 && SONDE_CELL_KINDS == 3 && SONDE_PLAN_REMOTE_SLOTS == 32 && SONDE_PLAN_SHARED_SHIFT == 2 && SONDE_PLAN_SHARED_SYSTEM == 31,
               "the texts below have them");

/* clang-format off */
#define AT(name, of, bytes)   "  " name ".at = getelementptr i8, PTR " of ", i64 " bytes "\n"
#define READ(name, of, bytes) AT(name, of, bytes) "  " name " = load i64, PTR " name ".at, align 8\n"
#define REMOTE(HOW, CELLS)                                                                                  \
    "define void @sonde_remote(PTR %table, PTR %counters, i64 %address, i64 %bytes, i1 %writes, i1 %system, i64 %kind) " HOW " {\n" \
    READ("%begin", "%table", "0") READ("%all", "%table", "8")                                        \
    "  %in = sub i64 %address, %begin\n"                                                             \
    "  %is.in = icmp ult i64 %in, %all\n"                                                            \
    "  br i1 %is.in, label %search, label %unknown\n"                                                \
    "search:\n"                                                                                      \
    READ("%count", "%table", "16")                                                                   \
    AT("%first", "%table", "40")                                                                     \
    "  br label %look\n"                                                                             \
    "look:\n" /* the last range that begins at the address or before it is one of %n from %low on */ \
    "  %low = phi i64 [ 0, %search ], [ %low.next, %half ]\n"                                        \
    "  %n = phi i64 [ %count, %search ], [ %n.next, %half ]\n"                                       \
    "  %more = icmp ugt i64 %n, 1\n"                                                                 \
    "  br i1 %more, label %half, label %found\n"                                                     \
    "half:\n"                                                                                        \
    "  %below = lshr i64 %n, 1\n"                                                                    \
    "  %middle = add i64 %low, %below\n"                                                             \
    "  %middle.bytes = mul i64 %middle, 104\n"                                                        \
    READ("%middle.begin", "%first.at", "%middle.bytes")                                              \
    "  %is.up = icmp ule i64 %middle.begin, %address\n"                                              \
    "  %rest = sub i64 %n, %below\n"                                                                 \
    "  %low.next = select i1 %is.up, i64 %middle, i64 %low\n"                                        \
    "  %n.next = select i1 %is.up, i64 %rest, i64 %below\n"                                          \
    "  br label %look\n"                                                                             \
    "found:\n"                                                                                       \
    "  %range.bytes = mul i64 %low, 104\n"                                                            \
    AT("%range", "%first.at", "%range.bytes")                                                        \
    READ("%from", "%range.at", "0") READ("%size", "%range.at", "8") READ("%writers", "%range.at", "16") \
    "  %place = sub i64 %address, %from\n"                                                           \
    "  %is.there = icmp ult i64 %place, %size\n"                                                     \
    "  br i1 %is.there, label %whose, label %unknown\n"                                              \
    "unknown:\n"                                                                                     \
    "  br i1 %system, label %host, label %end\n"                                                     \
    "host:\n"                                                                                        \
    "  %host.counter = getelementptr i64, PTR %counters, i64 31\n"                \
    "  %host.old = atomicrmw add PTR %host.counter, i64 1 monotonic\n"                               \
    "  br label %end\n"                                                                              \
    "whose:\n"                                                                                       \
    READ("%own", "%table", "24")                                                                     \
    "  %cell = lshr i64 %place, 2\n"                                                                 \
    "  %cell.number = add i64 %writers, %cell\n"                                                     \
    "  %cell.at = inttoptr i64 %cell.number to PTR\n"                                                \
    "  %moves = icmp ne i64 %writers, 0\n"                                                           \
    "  br i1 %moves, label %ask, label %know\n"                                                      \
    "ask:\n"                                                                                         \
    "  %writer = load atomic i8, PTR %cell.at monotonic, align 1\n"                                  \
    "  %writer.word = zext i8 %writer to i64\n"                                                      \
    "  br label %know\n"                                                                             \
    "know:\n"                                                                                        \
    "  %owner = phi i64 [ 0, %whose ], [ %writer.word, %ask ]\n"                                     \
    AT("%slots", "%range.at", "24")                                                                  \
    AT("%slot", "%slots.at", "%owner")                                                               \
    "  %slot = load i8, PTR %slot.at, align 1\n"                                                     \
    "  %is.other = icmp ult i8 %slot, 32\n"                                                          \
    "  br i1 %is.other, label %count.it, label %after\n"                                             \
    "count.it:\n"                                                                                    \
    "  %slot.word = zext i8 %slot to i64\n"                                                          \
    "  %counter = getelementptr i64, PTR %counters, i64 %slot.word\n"                                \
    "  %old = atomicrmw add PTR %counter, i64 1 monotonic\n"                                         \
    CELLS                                                                                            \
    "  br label %after\n"                                                                            \
    "after:\n"                                                                                       \
    "  %takes = and i1 %writes, %moves\n"                                                            \
    "  br i1 %takes, label %take, label %end\n"                                                      \
    "take:\n"                                                                                        \
    "  %own.byte = trunc i64 %own to i8\n"                                                           \
    "  %behind = add i64 %place, %bytes\n"                                                           \
    "  %last.byte = sub i64 %behind, 1\n"                                                            \
    "  %last = lshr i64 %last.byte, 2\n"                                                             \
    "  br label %each\n"                                                                             \
    "each:\n"                                                                                        \
    "  %i = phi i64 [ %cell, %take ], [ %i.next, %next ]\n"                                          \
    "  %i.number = add i64 %writers, %i\n"                                                           \
    "  %i.at = inttoptr i64 %i.number to PTR\n"                                                      \
    "  %before = load atomic i8, PTR %i.at monotonic, align 1\n"                                     \
    "  %is.own = icmp eq i8 %before, %own.byte\n" /* most are: then nobody's cache loses them */     \
    "  br i1 %is.own, label %next, label %set\n"                                                     \
    "set:\n"                                                                                         \
    "  store atomic i8 %own.byte, PTR %i.at monotonic, align 1\n"                                    \
    "  br label %next\n"                                                                             \
    "next:\n"                                                                                        \
    "  %i.next = add i64 %i, 1\n"                                                                    \
    "  %over = icmp ugt i64 %i.next, %last\n"                                                        \
    "  br i1 %over, label %end, label %each\n"                                                       \
    "end:\n"                                                                                         \
    "  ret void\n"                                                                                   \
    "}\n"
/* The bytes that the access has in each cell; %kind: where a cell has those. */
#define CELLS                                                                                        \
    AT("%range.cells", "%range.at", "40")                                                            \
    "  %its.at = getelementptr i32, PTR %range.cells.at, i64 %owner\n"                               \
    "  %its = load i32, PTR %its.at, align 4\n"                                                      \
    "  %has.cells = icmp ne i32 %its, 0\n"                                                           \
    "  br i1 %has.cells, label %cells, label %after\n"                                               \
    "cells:\n"                                                                                       \
    READ("%array", "%table", "32")                                                                   \
    "  call void @sonde_cells(i64 %array, i32 %its, i64 %place, i64 %bytes, i64 %size, i64 %kind)\n"
static const char llvm_cells_text[] =
    "define void @sonde_cells(i64 %array, i32 %word, i64 %place, i64 %access, i64 %size, i64 %kind) noinline {\n"
    "  %behind = add i64 %place, %access\n"
    "  %is.within = icmp ule i64 %behind, %size\n"
    "  %end = select i1 %is.within, i64 %behind, i64 %size\n"
    "  %its = zext i32 %word to i64\n"
    "  %shift = and i64 %its, 63\n"
    "  %first = sub i64 %its, %shift\n"
    "  %first.bytes = mul i64 %first, 24\n"
    "  %first.at = add i64 %array, %first.bytes\n"
    "  %begin = add i64 %first.at, %kind\n"
    "  br label %each\n"
    "each:\n"
    "  %p = phi i64 [ %place, %0 ], [ %p.next, %each ]\n"
    "  %cell = lshr i64 %p, %shift\n"
    "  %following = add i64 %cell, 1\n"
    "  %bound = shl i64 %following, %shift\n"
    "  %is.last = icmp uge i64 %bound, %end\n"
    "  %p.next = select i1 %is.last, i64 %end, i64 %bound\n"
    "  %bytes = sub i64 %p.next, %p\n"
    "  %offset = mul i64 %cell, 24\n"
    "  %number = add i64 %begin, %offset\n"
    "  %at = inttoptr i64 %number to PTR\n"
    "  %old = atomicrmw add PTR %at, i64 %bytes monotonic\n"
    "  br i1 %is.last, label %over, label %each\n"
    "over:\n"
    "  ret void\n"
    "}\n";
#define PART                                                                                             \
    "declare ptr @llvm.thread.pointer()\n"                                                           \
    "define PTR @sonde_part(PTR %area, i64 %bytes, i64 %unused, i64 %parts) alwaysinline {\n"        \
    "  %thread = call ptr @llvm.thread.pointer()\n"                                                  \
    "  %own = ptrtoint ptr %thread to i64\n"                                                         \
    "  %mixed = mul i64 %own, -3372029247567499371\n" /* llvm_guess.h */                             \
    "  %high = lshr i64 %mixed, 32\n"                                                                \
    "  %most = sub i64 %parts, 1\n"                                                                  \
    "  %index = and i64 %high, %most\n"                                                              \
    "  %from = mul i64 %index, %bytes\n"                                                             \
    "  %part = getelementptr i8, PTR %area, i64 %from\n"                                             \
    "  ret PTR %part\n"                                                                              \
    "}\n"
static const char *const llvm_remote_texts[] = {PART, REMOTE("alwaysinline", "")};
static const char *const llvm_cells_texts[] = {PART, llvm_cells_text, REMOTE("alwaysinline", CELLS)};
/* A call for each lane that is active. */
static const char *const llvm_spir_remote_texts[] = {REMOTE("noinline convergent nomerge", "")};
static const char *const llvm_spir_cells_texts[] = {llvm_cells_text, REMOTE("noinline convergent nomerge", CELLS)};
#undef CELLS
#undef PART
#undef REMOTE
#undef READ
#undef AT
/* clang-format on */

#endif
