/* llvm_guess.h - what instrumented kernels call, in LLVM's own language (LangRef, LLVM 15).
 *
 * A guess is the winner of a vote, by Boyer and Moore's majority algorithm (MJRTY, 1981): whoever agrees adds a vote, whoever does not
 * takes one away, and where none is left the next one's own stands. A thread votes for its last value, and for the line through that and
 * the last one before it. Offsets are of struct sonde_plan_guess, struct sonde_plan_found and struct sonde_plan_values.
 *
 * Sums are of one thread alone, and yet atomic, so that nobody takes work-items of one group for independent of each other. Where a runtime
 * may execute several at once, as lanes of a vector, they are everybody's, and those that vote leave samples.
 *
 * PTR stands for a pointer to the area or to marks: LLVM's `ptr`, in SPIR one of the global address space.
 */
#ifndef SONDE_INSTRUMENT_LLVM_GUESS_H
#define SONDE_INSTRUMENT_LLVM_GUESS_H

#define LOAD_WORD(name, at)   "  " name " = load atomic i64, PTR " at " monotonic, align 8\n"
#define STORE_WORD(value, at) "  store atomic i64 " value ", PTR " at " monotonic, align 8\n"
#define WORD(name, of, index) "  " name " = getelementptr i64, PTR " of ", i64 " index "\n"
#define TEXT_OF(x)            #x
#define TEXT(x)               TEXT_OF(x)
/* name = function(what is there, with), kept */
#define PUT_WORD(at, operation) LOAD_WORD("%old." at, "%" at) operation STORE_WORD("%new." at, "%" at)

/* clang-format off */
/* Marks from number `i` on, of `n`. It is a branch, of which the runtime's compiler makes a mask for several work-items at once. */
#define MARK(count, type, ones)                                                  \
    "define void @sonde_mark" count "(PTR %marks, i64 %i, i64 %n) alwaysinline {\n" \
    "  %there = icmp ult i64 %i, %n\n"                                           \
    "  br i1 %there, label %put, label %end\n"                                   \
    "put:\n"                                                                     \
    "  %at = getelementptr i8, PTR %marks, i64 %i\n"                             \
    "  store " type " " ones ", PTR %at, align 1\n"                              \
    "  br label %end\n"                                                          \
    "end:\n"                                                                     \
    "  ret void\n"                                                               \
    "}\n"
static const char *const llvm_mark_texts[] = {
    MARK("1", "i8", "1"),
    MARK("2", "i16", "257"),
    MARK("4", "i32", "16843009"),
    MARK("8", "i64", "72340172838076673"),
};
#undef MARK

/* struct sonde_plan_values: words go one way only, soon nothing is new. */
#define NEWS \
    WORD("%all", "%any", "1") WORD("%least", "%any", "2") WORD("%most", "%any", "3") \
    LOAD_WORD("%any.old", "%any") LOAD_WORD("%all.old", "%all") LOAD_WORD("%least.old", "%least") LOAD_WORD("%most.old", "%most") \
    "  %any.new = or i64 %any.old, %or\n" \
    "  %any.is = icmp ne i64 %any.new, %any.old\n" \
    "  %all.new = and i64 %all.old, %and\n" \
    "  %all.is = icmp ne i64 %all.new, %all.old\n" \
    "  %least.is = icmp slt i64 %smallest, %least.old\n" \
    "  %most.is = icmp sgt i64 %largest, %most.old\n" \
    "  %bits = or i1 %any.is, %all.is\n" \
    "  %ends = or i1 %least.is, %most.is\n" \
    "  %is = or i1 %bits, %ends\n" \
    "  br i1 %is, label %put, label %end\n" \
    "put:\n"

/* Is this work-group looked at (plan.h)? Of how many it was chosen, for its first work-item, else 0. CC is the convention of the runtime's functions; in
 * SPIR the first of these is declared above. */
#define CHOICE(CC)                                                               \
    "declare " CC "i64 @_Z14get_num_groupsj(i32)\n"                              \
    "declare " CC "i64 @_Z12get_local_idj(i32)\n"                                \
    "define i64 @sonde_choose(i64 %every) alwaysinline {\n"                      \
    "  %x = call " CC "i64 @_Z12get_group_idj(i32 0)\n"                          \
    "  %y = call " CC "i64 @_Z12get_group_idj(i32 1)\n"                          \
    "  %z = call " CC "i64 @_Z12get_group_idj(i32 2)\n"                          \
    "  %nx = call " CC "i64 @_Z14get_num_groupsj(i32 0)\n"                       \
    "  %ny = call " CC "i64 @_Z14get_num_groupsj(i32 1)\n"                       \
    "  %nz = call " CC "i64 @_Z14get_num_groupsj(i32 2)\n"                       \
    "  %layer = mul i64 %z, %ny\n"                                               \
    "  %row = add i64 %layer, %y\n"                                              \
    "  %before = mul i64 %row, %nx\n"                                            \
    "  %group = add i64 %before, %x\n"                                           \
    "  %plane = mul i64 %nx, %ny\n"                                              \
    "  %all = mul i64 %plane, %nz\n"                                             \
    "  %number = udiv i64 %group, %every\n"                                      \
    "  %first = mul i64 %number, %every\n"                                       \
    "  %at = sub i64 %group, %first\n"                                           \
    "  %rest = sub i64 %all, %first\n"                                           \
    "  %fewer = icmp ult i64 %rest, %every\n"                                    \
    "  %many = select i1 %fewer, i64 %rest, i64 %every\n"                        \
    "  %low = trunc i64 %number to i32\n"                                        \
    "  %h0 = add i32 %low, 1\n"                                                  \
    "  %h1 = mul i32 %h0, -1640531535\n"                                         \
    "  %h2 = lshr i32 %h1, 15\n"                                                 \
    "  %h3 = xor i32 %h1, %h2\n"                                                 \
    "  %h4 = mul i32 %h3, -2048144777\n"                                         \
    "  %h5 = lshr i32 %h4, 13\n"                                                 \
    "  %h6 = xor i32 %h4, %h5\n"                                                 \
    "  %wide = zext i32 %h6 to i64\n"                                            \
    "  %product = mul i64 %wide, %many\n"                                        \
    "  %one = lshr i64 %product, 32\n"                                           \
    "  %is = icmp eq i64 %at, %one\n"                                            \
    "  %result = select i1 %is, i64 %many, i64 0\n"                              \
    "  ret i64 %result\n"                                                        \
    "}\n"                                                                        \
    "define i1 @sonde_is_first() alwaysinline {\n"                               \
    "  %x = call " CC "i64 @_Z12get_local_idj(i32 0)\n"                          \
    "  %y = call " CC "i64 @_Z12get_local_idj(i32 1)\n"                          \
    "  %z = call " CC "i64 @_Z12get_local_idj(i32 2)\n"                          \
    "  %xy = or i64 %x, %y\n"                                                    \
    "  %xyz = or i64 %xy, %z\n"                                                  \
    "  %is = icmp eq i64 %xyz, 0\n"                                              \
    "  ret i1 %is\n"                                                             \
    "}\n"
static const char *const llvm_choice_texts[] = {"declare i64 @_Z12get_group_idj(i32)\n", CHOICE("")};
static const char *const llvm_spir_choice_texts[] = {CHOICE("spir_func ")};
#undef CHOICE

/* Where a thread executes one work-item after the other. */
static const char *const llvm_alone_texts[] = { /* to be put one behind the other */
    "declare void @_Z7barrierj(i32) convergent nounwind\n"
    "declare ptr @llvm.thread.pointer()\n"
    /* The part of this thread, which it owns from now on. Where all are others', the last one, until it is done. */
    "define PTR @sonde_part(PTR %area, i64 %bytes, i64 %owner.at, i64 %parts) alwaysinline {\n"
    "  %thread = call ptr @llvm.thread.pointer()\n"
    "  %own = ptrtoint ptr %thread to i64\n"
    "  %most = sub i64 %parts, 1\n"
    "  %mixed = mul i64 %own, -3372029247567499371\n" /* Steele, Vigna: Computationally Easy, Spectrally Good Multipliers, 2021, table 6 */
    "  %high = lshr i64 %mixed, 32\n"
    "  br label %look\n"
    "look:\n"
    "  %tries = phi i64 [ 0, %0 ], [ %next, %other ]\n"
    "  %place = add i64 %high, %tries\n"
    "  %one = and i64 %place, %most\n"
    "  %all = icmp eq i64 %tries, %parts\n"
    "  %index = select i1 %all, i64 %parts, i64 %one\n"
    "  %from = mul i64 %index, %bytes\n"
    "  %part = getelementptr i8, PTR %area, i64 %from\n"
    "  %at = getelementptr i8, PTR %part, i64 %owner.at\n"
    LOAD_WORD("%owner", "%at")
    "  %mine = icmp eq i64 %owner, %own\n"
    "  br i1 %mine, label %end, label %ask\n"
    "ask:\n"
    "  %free = icmp eq i64 %owner, 0\n"
    "  br i1 %free, label %claim, label %other\n"
    "claim:\n"
    "  %pair = cmpxchg PTR %at, i64 0, i64 %own acquire monotonic\n"
    "  %got = extractvalue { i64, i1 } %pair, 1\n"
    "  br i1 %got, label %end, label %other\n"
    "other:\n"
    "  %more = add i64 %tries, 1\n"
    "  %next = select i1 %all, i64 %tries, i64 %more\n"
    "  br label %look\n"
    "end:\n"
    "  ret PTR %part\n"
    "}\n",

    "define void @sonde_done(PTR %part, PTR %shared, i64 %owner.at) alwaysinline {\n"
    "  %is = icmp eq PTR %part, %shared\n"
    "  br i1 %is, label %leave, label %end\n"
    "leave:\n"
    "  %at = getelementptr i8, PTR %part, i64 %owner.at\n"
    "  store atomic i64 0, PTR %at release, align 8\n"
    "  br label %end\n"
    "end:\n"
    "  ret void\n"
    "}\n",

    /* Is there still a vote? */
    "define i1 @sonde_enter(PTR %guess) {\n"
    WORD("%votes", "%guess", "1")
    "  br label %try\n"
    "try:\n"
    "  %was = atomicrmw xchg PTR %guess, i64 1 acquire\n"
    "  %free = icmp eq i64 %was, 0\n"
    "  br i1 %free, label %in, label %try\n"
    "in:\n"
    LOAD_WORD("%count", "%votes")
    "  %open = icmp ult i64 %count, " TEXT(SONDE_PLAN_VOTES) "\n"
    "  ret i1 %open\n"
    "}\n",

    "define void @sonde_leave(PTR %guess) {\n"
    "  store atomic i64 0, PTR %guess release, align 8\n"
    "  ret void\n"
    "}\n",

    /* Of an access that was executed once, as long as there is room. */
    "define void @sonde_log(PTR %guess, i64 %count, i64 %bits, i64 %index) {\n"
    WORD("%logged", "%guess", "13") WORD("%log", "%guess", "14")
    LOAD_WORD("%n", "%logged")
    "  %once = icmp eq i64 %count, 1\n"
    "  %room = icmp ult i64 %n, " TEXT(SONDE_PLAN_LOG) "\n"
    "  %can = and i1 %once, %room\n"
    "  br i1 %can, label %put, label %end\n"
    "put:\n"
    "  %at = mul i64 %n, 2\n"
    "  %next = add i64 %n, 1\n"
    WORD("%bits.at", "%log", "%at") WORD("%index.at", "%bits.at", "1")
    STORE_WORD("%bits", "%bits.at") STORE_WORD("%index", "%index.at")
    "  store atomic i64 %next, PTR %logged release, align 8\n"
    "  br label %end\n"
    "end:\n"
    "  ret void\n"
    "}\n",

    "define void @sonde_add(PTR %at, i64 %more) alwaysinline {\n"
    PUT_WORD("at", "  %new.at = add i64 %old.at, %more\n")
    "  ret void\n"
    "}\n",

    "define void @sonde_join(PTR %any, i64 %or, i64 %and, i64 %smallest, i64 %largest) alwaysinline {\n"
    NEWS
    "  %least.new = select i1 %least.is, i64 %smallest, i64 %least.old\n"
    "  %most.new = select i1 %most.is, i64 %largest, i64 %most.old\n"
    STORE_WORD("%any.new", "%any") STORE_WORD("%all.new", "%all") STORE_WORD("%least.new", "%least") STORE_WORD("%most.new", "%most")
    "  br label %end\n"
    "end:\n"
    "  ret void\n"
    "}\n",
};

/* Where it may execute several at once (SPIR): parts are shared, nobody waits for another, and words are changed by atomics only. */
static const char *const llvm_group_part_texts[] = {
    "declare spir_func i64 @_Z12get_group_idj(i32)\n"
    "define PTR @sonde_part(PTR %area, i64 %bytes, i64 %owner.at, i64 %parts) alwaysinline {\n"
    "  %x = call spir_func i64 @_Z12get_group_idj(i32 0)\n"
    "  %y = call spir_func i64 @_Z12get_group_idj(i32 1)\n"
    "  %z = call spir_func i64 @_Z12get_group_idj(i32 2)\n"
    "  %slice = shl i64 %z, 20\n"
    "  %row = xor i64 %slice, %y\n"
    "  %mixed = mul i64 %row, -3372029247567499371\n" /* as above */
    "  %high = lshr i64 %mixed, 32\n"
    "  %place = add i64 %high, %x\n"
    "  %most = sub i64 %parts, 1\n"
    "  %index = and i64 %place, %most\n"
    "  %from = mul i64 %index, %bytes\n"
    "  %part = getelementptr i8, PTR %area, i64 %from\n"
    "  ret PTR %part\n"
    "}\n",
};
static const char *const llvm_together_texts[] = {
    "define void @sonde_add(PTR %at, i64 %more) alwaysinline {\n"
    "  %old = atomicrmw add PTR %at, i64 %more monotonic\n"
    "  ret void\n"
    "}\n",

    "define void @sonde_join(PTR %any, i64 %or, i64 %and, i64 %smallest, i64 %largest) alwaysinline {\n"
    NEWS
    "  %any.out = atomicrmw or PTR %any, i64 %or monotonic\n"
    "  %all.out = atomicrmw and PTR %all, i64 %and monotonic\n"
    "  %least.out = atomicrmw min PTR %least, i64 %smallest monotonic\n"
    "  %most.out = atomicrmw max PTR %most, i64 %largest monotonic\n"
    "  br label %end\n"
    "end:\n"
    "  ret void\n"
    "}\n",

    /* Leave a sample where there is room. The one who leaves the last of those that vote lets them vote, one after the other. The guess's
     * first word has a bit for each sample of an access that was executed once, and how many that vote are left, from bit 48 on.
     * Two calls are never made one with either's guess, see put_one. */
#define SAMPLE(suffix, line)                                                                                                  \
    "define void @sonde_sample" suffix "(PTR %guess, i1 %once, i64 %bits, i64 %index, i64 %mask, i64 %shift) noinline convergent nomerge {\n"    \
    WORD("%logged", "%guess", "13") WORD("%log", "%guess", "14")                                                              \
    LOAD_WORD("%before", "%logged")                                                                                           \
    "  %full = icmp uge i64 %before, " TEXT(SONDE_PLAN_LOG) "\n"                                                              \
    "  br i1 %full, label %end, label %take\n"                                                                                \
    "take:\n"                                                                                                                 \
    "  %ticket = atomicrmw add PTR %logged, i64 1 monotonic\n"                                                                \
    "  %room = icmp ult i64 %ticket, " TEXT(SONDE_PLAN_LOG) "\n"                                                              \
    "  br i1 %room, label %put, label %end\n"                                                                                 \
    "put:\n"                                                                                                                  \
    "  %at = mul i64 %ticket, 2\n"                                                                                            \
    WORD("%bits.at", "%log", "%at") WORD("%index.at", "%bits.at", "1")                                                        \
    STORE_WORD("%bits", "%bits.at") STORE_WORD("%index", "%index.at")                                                         \
    "  %own = shl i64 1, %ticket\n"                                                                                           \
    "  %is.once = select i1 %once, i64 %own, i64 0\n"                                                                         \
    "  %votes = icmp ult i64 %ticket, " TEXT(SONDE_PLAN_VOTES) "\n"                                                           \
    "  %vote = select i1 %votes, i64 281474976710656, i64 0\n"                                                                \
    "  %more = add i64 %is.once, %vote\n"                                                                                     \
    "  %word = atomicrmw add PTR %guess, i64 %more acq_rel\n"                                                                 \
    "  %left = lshr i64 %word, 48\n"                                                                                          \
    "  %next.left = add i64 %left, 1\n"                                                                                       \
    "  %complete = icmp eq i64 %next.left, " TEXT(SONDE_PLAN_VOTES) "\n"                                                      \
    "  %last = and i1 %complete, %votes\n"                                                                                    \
    "  br i1 %last, label %each, label %end\n"                                                                                \
    "each:\n"                                                                                                                 \
    "  %i = phi i64 [ 0, %put ], [ %i.next, %each ]\n"                                                                        \
    "  %i.at = mul i64 %i, 2\n"                                                                                               \
    WORD("%i.bits", "%log", "%i.at") WORD("%i.index", "%i.bits", "1")                                                         \
    LOAD_WORD("%b", "%i.bits") LOAD_WORD("%x", "%i.index")                                                                    \
    "  %up = shl i64 %b, %shift\n"                                                                                            \
    "  %number = ashr i64 %up, %shift\n"                                                                                      \
    "  call void @sonde_vote_value(PTR %guess, i64 %b)\n"                                                                     \
    line                                                                                                                      \
    "  call void @sonde_voted(PTR %guess)\n"                                                                                  \
    "  %i.next = add i64 %i, 1\n"                                                                                             \
    "  %over = icmp eq i64 %i.next, " TEXT(SONDE_PLAN_VOTES) "\n"                                                             \
    "  br i1 %over, label %end, label %each\n"                                                                                \
    "end:\n"                                                                                                                  \
    "  ret void\n"                                                                                                            \
    "}\n"
#define SAMPLE_LINE(suffix) \
    SAMPLE(suffix, "  call void @sonde_vote_line" suffix "(PTR %guess, i64 %x, i64 %b, i64 %mask, i64 %number)\n")
    SAMPLE("_value", ""),
    SAMPLE_LINE(""),
    SAMPLE_LINE("_float"),
    SAMPLE_LINE("_double"),
#undef SAMPLE_LINE
#undef SAMPLE
};

/* In either case. */
static const char *const llvm_guess_texts[] = {
    /* Is the element on the line? 1 or 0. */
    "define i64 @sonde_lined(i64 %slope, i64 %offset, i64 %index, i64 %bits, i64 %mask) alwaysinline {\n"
    "  %up = mul i64 %slope, %index\n"
    "  %value = add i64 %up, %offset\n"
    "  %apart = xor i64 %value, %bits\n"
    "  %different = and i64 %apart, %mask\n"
    "  %is = icmp eq i64 %different, 0\n"
    "  %one = zext i1 %is to i64\n"
    "  ret i64 %one\n"
    "}\n",

#define REAL_LINE                                    \
    "  %a = bitcast i64 %slope to double\n"          \
    "  %b = bitcast i64 %offset to double\n"         \
    "  %i = sitofp i64 %index to double\n"           \
    "  %up = fmul double %a, %i\n"                   \
    "  %value = fadd double %up, %b\n"
    "define i64 @sonde_lined_double(i64 %slope, i64 %offset, i64 %index, i64 %bits, i64 %mask) alwaysinline {\n"
    REAL_LINE
    "  %own = bitcast i64 %bits to double\n"
    "  %is = fcmp oeq double %value, %own\n"
    "  %one = zext i1 %is to i64\n"
    "  ret i64 %one\n"
    "}\n",
    "define i64 @sonde_lined_float(i64 %slope, i64 %offset, i64 %index, i64 %bits, i64 %mask) alwaysinline {\n"
    REAL_LINE
    "  %short = trunc i64 %bits to i32\n"
    "  %own = bitcast i32 %short to float\n"
    "  %near = fptrunc double %value to float\n"
    "  %is = fcmp oeq float %near, %own\n"
    "  %one = zext i1 %is to i64\n"
    "  ret i64 %one\n"
    "}\n",
#undef REAL_LINE

    /* An element where a line stands, or is voted on. */
#define LINE(suffix)                                                                                                             \
    "define void @sonde_line" suffix "(i1 %wanted, ptr %lined, ptr %last.number, ptr %last.index, i64 %slope, i64 %offset, "     \
    "i64 %index, i64 %bits, i64 %mask, i64 %number) alwaysinline {\n"                                                            \
    "  br i1 %wanted, label %look, label %end\n"                                                                                 \
    "look:\n"                                                                                                                    \
    "  %one = call i64 @sonde_lined" suffix "(i64 %slope, i64 %offset, i64 %index, i64 %bits, i64 %mask)\n"                      \
    "  %before = load i64, ptr %lined\n"                                                                                         \
    "  %sum = add i64 %before, %one\n"                                                                                           \
    "  store i64 %sum, ptr %lined\n"                                                                                             \
    "  store i64 %number, ptr %last.number\n"                                                                                    \
    "  store i64 %index, ptr %last.index\n"                                                                                      \
    "  br label %end\n"                                                                                                          \
    "end:\n"                                                                                                                     \
    "  ret void\n"                                                                                                               \
    "}\n"
    LINE(""),
    LINE("_float"),
    LINE("_double"),
#undef LINE

    /* It stays as a sample, too. */
    "define void @sonde_vote_value(PTR %guess, i64 %own) {\n"
    WORD("%count.at", "%guess", "1") WORD("%value", "%guess", "2") WORD("%for", "%guess", "5") WORD("%samples", "%guess", TEXT(SONDE_PLAN_SAMPLE_WORD))
    LOAD_WORD("%count", "%count.at") LOAD_WORD("%is", "%value") LOAD_WORD("%votes", "%for")
    WORD("%sample", "%samples", "%count")
    STORE_WORD("%own", "%sample")
    "  %none = icmp eq i64 %votes, 0\n"
    "  %new = select i1 %none, i64 %own, i64 %is\n"
    "  %same = icmp eq i64 %new, %own\n"
    "  %step = select i1 %same, i64 1, i64 -1\n"
    "  %after = add i64 %votes, %step\n"
    STORE_WORD("%new", "%value") STORE_WORD("%after", "%for")
    "  ret void\n"
    "}\n",

    /* A point and the last one make a line, unless they have the same index, or the same number, or an integer has no whole slope. */
#define VOTE_LINE(suffix, to_number, line)                                                                               \
    "define void @sonde_vote_line" suffix "(PTR %guess, i64 %index, i64 %bits, i64 %mask, i64 %integer) {\n"   \
    to_number                                                                                                           \
    WORD("%slope", "%guess", "3") WORD("%offset", "%guess", "4") WORD("%for", "%guess", "6")                            \
    WORD("%last.index", "%guess", "7") WORD("%last.number", "%guess", "8") WORD("%seen", "%guess", "9")                 \
    WORD("%first.at", "%guess", "10") WORD("%second.at", "%guess", "11") WORD("%third.at", "%guess", "12")              \
    LOAD_WORD("%i", "%last.index") LOAD_WORD("%n", "%last.number") LOAD_WORD("%any", "%seen")                           \
    "  %away = sub i64 %index, %i\n"                                                                                    \
    "  %here = icmp eq i64 %away, 0\n"                                                                                  \
    "  %first = icmp eq i64 %any, 0\n"                                                                                  \
    "  %useless = or i1 %here, %first\n"                                                                                \
    STORE_WORD("%index", "%last.index") STORE_WORD("%number", "%last.number") STORE_WORD("1", "%seen")                  \
    "  br i1 %useless, label %end, label %vote\n"                                                                       \
    "vote:\n"                                                                                                           \
    LOAD_WORD("%a", "%slope") LOAD_WORD("%b", "%offset") LOAD_WORD("%votes", "%for")                                    \
    "  %on = call i64 @sonde_lined" suffix "(i64 %a, i64 %b, i64 %index, i64 %bits, i64 %mask)\n"                       \
    "  %none = icmp eq i64 %votes, 0\n"                                                                                 \
    "  br i1 %none, label %own, label %count\n"                                                                         \
    "count:\n"                                                                                                          \
    "  %twice = add i64 %on, %on\n"                                                                                     \
    "  %step = sub i64 %twice, 1\n"                                                                                     \
    "  %after = add i64 %votes, %step\n"                                                                                \
    STORE_WORD("%after", "%for")                                                                                        \
    LOAD_WORD("%x1.old", "%first.at") LOAD_WORD("%x2.old", "%second.at") LOAD_WORD("%more.old", "%third.at")            \
    "  %not.first = icmp ne i64 %index, %x1.old\n"                                                                      \
    "  %not.second = icmp ne i64 %index, %x2.old\n"                                                                     \
    "  %another = and i1 %not.first, %not.second\n"                                                                     \
    "  %is.on = icmp ne i64 %on, 0\n"                                                                                   \
    "  %is.third = and i1 %another, %is.on\n"                                                                           \
    "  %is.word = zext i1 %is.third to i64\n"                                                                           \
    "  %more.new = or i64 %more.old, %is.word\n"                                                                        \
    STORE_WORD("%more.new", "%third.at")                                                                                \
    "  br label %end\n"                                                                                                 \
    "own:\n"                                                                                                            \
    line                                                                                                                \
    "  br i1 %flat, label %end, label %stand\n"                                                                         \
    "stand:\n"                                                                                                          \
    STORE_WORD("%a.bits", "%slope") STORE_WORD("%b.bits", "%offset") STORE_WORD("1", "%for")                            \
    STORE_WORD("%i", "%first.at") STORE_WORD("%index", "%second.at") STORE_WORD("0", "%third.at")                       \
    "  br label %end\n"                                                                                                 \
    "end:\n"                                                                                                            \
    "  ret void\n"                                                                                                      \
    "}\n"
    VOTE_LINE("", "  %number = add i64 %integer, 0\n",
    "  %gap = sub i64 %number, %n\n"
    "  %back = icmp eq i64 %away, -1\n"       /* INT64_MIN / -1 */
    "  %by = select i1 %back, i64 1, i64 %away\n"
    "  %negative = sub i64 0, %gap\n"
    "  %over = select i1 %back, i64 %negative, i64 %gap\n"
    "  %a.bits = sdiv i64 %over, %by\n"
    "  %whole = mul i64 %a.bits, %by\n"
    "  %split = icmp ne i64 %whole, %over\n"
    "  %level = icmp eq i64 %a.bits, 0\n"
    "  %flat = or i1 %split, %level\n"
    "  %up.own = mul i64 %a.bits, %index\n"
    "  %b.bits = sub i64 %number, %up.own\n"),
#define REAL_OWN                                           \
    "  %y0 = bitcast i64 %n to double\n"                   \
    "  %y1 = bitcast i64 %number to double\n"              \
    "  %dy = fsub double %y1, %y0\n"                       \
    "  %dx = sitofp i64 %away to double\n"                 \
    "  %a.new = fdiv double %dy, %dx\n"                    \
    "  %x1 = sitofp i64 %index to double\n"                \
    "  %rise = fmul double %a.new, %x1\n"                  \
    "  %b.new = fsub double %y1, %rise\n"                  \
    "  %a.bits = bitcast double %a.new to i64\n"           \
    "  %b.bits = bitcast double %b.new to i64\n"           \
    "  %flat = fcmp ueq double %a.new, 0.0\n"
    VOTE_LINE("_float",
    "  %short = trunc i64 %bits to i32\n"
    "  %own.float = bitcast i32 %short to float\n"
    "  %own.double = fpext float %own.float to double\n"
    "  %number = bitcast double %own.double to i64\n",
    REAL_OWN),
    VOTE_LINE("_double", "  %number = add i64 %bits, 0\n", REAL_OWN),

    /* A line that few agree on does not stand. */
    "define void @sonde_voted(PTR %guess) {\n"
    WORD("%votes", "%guess", "1") WORD("%slope", "%guess", "3") WORD("%for", "%guess", "6") WORD("%third.at", "%guess", "12")
    LOAD_WORD("%before", "%votes") LOAD_WORD("%a", "%slope") LOAD_WORD("%line", "%for") LOAD_WORD("%third", "%third.at")
    "  %after = add i64 %before, 1\n"
    "  %last = icmp eq i64 %after, " TEXT(SONDE_PLAN_VOTES) "\n"
    "  %few = icmp slt i64 %line, " TEXT(SONDE_PLAN_LINE_VOTES) "\n"
    "  %two = icmp eq i64 %third, 0\n"
    "  %weak = or i1 %few, %two\n"
    "  %none = and i1 %last, %weak\n"
    "  %kept = select i1 %none, i64 0, i64 %a\n"
    STORE_WORD("%kept", "%slope")
    "  store atomic i64 %after, PTR %votes release, align 8\n"
    "  ret void\n"
    "}\n",
};
#undef REAL_OWN
#undef VOTE_LINE
/* clang-format on */

#undef NEWS
#undef PUT_WORD
#undef WORD
#undef STORE_WORD
#undef LOAD_WORD
#undef TEXT
#undef TEXT_OF

#endif
