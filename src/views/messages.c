/* messages.c - the view `messages`: what the ranks of a job sent each other, and who waited for whom. docs/mpi.md, docs/nccl.md. */
#include "analyze/job/messages.h"

#include "analyze/answers/summary/caveats.h"
#include "analyze/model/recorded.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "view.h"

/* ---- columns ------------------------------------------------------------------------------------------ */

#define meaning_LATE_SENDER   "waiting to receive what had not been sent yet"
#define meaning_LATE_RECEIVER "sending, and waiting until the other one began to receive"
#define meaning_BARRIER       "in a barrier, until the last one came"
#define meaning_ALL_TO_ALL    "in a call that needs something of all ranks, until the last one came"
#define meaning_LATE_ROOT     "in a call that needs something of its root, until that came"
#define meaning_EARLY_ROOT    "as the root of a call that needs something of the others, until the last one came"

static const struct sonde_view_column rank_columns[] = {
    {"rank", "Rank", SONDE_CELL_ID, SONDE_STYLE_MAIN, 0, "number that its launcher gave it"},
    {"calls_ns", "in MPI", SONDE_CELL_TIME, 0, 0, "time in MPI's calls, of all its threads"},
    {NULL, "of run", SONDE_CELL_SHARE, 0, 1, "the same, of the time that was recorded"},
    {"wait_ns", "waiting", SONDE_CELL_TIME, 0, 0, "of calls_ns, waiting for other ranks: the sum of those that follow"},
#define X(id, name, text) {name "_ns", text, SONDE_CELL_TIME, 0, 2 + SONDE_MESSAGE_WAIT_##id, meaning_##id},
    SONDE_MESSAGE_WAIT_MAP(X)
#undef X
        {"nccl_ns", "in NCCL", SONDE_CELL_TIME, 0, 0, "time in which kernels of NCCL's collectives ran"},
    {"nccl_wait_ns", "waiting there", SONDE_CELL_TIME, 0, 0, "of nccl_ns, until the kernels of other ranks had begun; it may be at the same time as wait_ns"},
    {"sent", "sent", SONDE_CELL_COUNT, 0, 0, "messages to one other rank"},
    {"sent_bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "bytes of these"},
    {"received", "received", SONDE_CELL_COUNT, 0, 0, "messages from one other rank"},
    {"received_bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "bytes of these"},
};
static const struct sonde_view_columns rank_list = SONDE_VIEW_COLUMNS("ranks", rank_columns);

static const struct sonde_view_column place_columns[] = {
    {NULL, "Waiting in", SONDE_CELL_TEXT, SONDE_STYLE_STACK | SONDE_STYLE_MAIN, 0, "call, or collective of NCCL, and the nearest frames of the user's code"},
    {"call", NULL, SONDE_CELL_TEXT, 0, 0, "function of MPI, or of NCCL, with its type"},
    {"comm", NULL, SONDE_CELL_TEXT, 0, 0, "of a collective of NCCL: its communicator, and how many ranks that has; null: a call of MPI"},
    {"kind", "why", SONDE_CELL_TEXT, 0, 0, "late sender: what is received had not been sent (NCCL: the kernel that sends had not begun); late receiver: what is sent was not received yet; barrier, "
                                           "all-to-all: the last rank had not come; late root: the root had not; early root: it had, the last rank not"},
    {"count", "count", SONDE_CELL_COUNT, 0, 1, "calls that waited, of all ranks"},
    {"wait_ns", "waited", SONDE_CELL_TIME, 0, 0, "their waiting, added up over all ranks"},
    {"rank", "most by", SONDE_CELL_ID, 0, 0, "rank that waited most there"},
    {"rank_ns", "it waited", SONDE_CELL_TIME, 0, 0, "how long that was"},
    {"rank_ratio", NULL, SONDE_CELL_SHARE, 0, 0, "so much of the time of its steps that rank waited there; where there are none (`step`), of the time in which it was recorded"},
    {NULL, "of steps", SONDE_CELL_SHARE, 0, 0, "so much of the time in its steps that rank waited there"},
    {NULL, "of run", SONDE_CELL_SHARE, 0, 0, "so much of the time in which it was recorded that rank waited there"},
    {"for_rank", "most for", SONDE_CELL_ID, 0, 0, "rank for which they waited most"},
    {"for_ns", "so long", SONDE_CELL_TIME, 0, 3, "how long that was"},
    {NULL, "which meanwhile", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "what that rank did most of this time; where it waited itself, what the rank did that is at the end of that chain"},
    {"cause", NULL, SONDE_CELL_TEXT, 0, 0, "what for_rank did: code: a function of the user's, with what it called, by samples; device: an operation; messages: it waited itself; "
                                           "null: not known, or not looked for (of the 16 longest places it is)"},
    {"cause_name", NULL, SONDE_CELL_TEXT, 0, 0, "the function, the operation, or the call in which it waited itself"},
    {"cause_ns", NULL, SONDE_CELL_TIME, 0, 0, "how much of for_ns that was: CPU time, time of the device, or of waiting"},
    {"root_rank", NULL, SONDE_CELL_ID, 0, 0, "for_rank, or, where that waited itself, the rank at the end of that chain"},
    {"root_cause", NULL, SONDE_CELL_TEXT, 0, 0, "what root_rank did, as in cause"},
    {"root_name", NULL, SONDE_CELL_TEXT, 0, 0, "as in cause_name"},
    {"root_ns", NULL, SONDE_CELL_TIME, 0, 0, "as in cause_ns"},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "node of the view profile"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of the user's code, innermost first", .of = &sonde_frames},
};
static const struct sonde_view_columns place_list = SONDE_VIEW_COLUMNS("waits", place_columns);

static const struct sonde_view_column pair_columns[] = {
    {"from", "From rank", SONDE_CELL_ID, SONDE_STYLE_MAIN, 0, "rank that sent"},
    {"to", "to", SONDE_CELL_ID, 0, 0, "rank to which it sent"},
    {"count", "messages", SONDE_CELL_COUNT, 0, 0, "messages sent"},
    {"bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "bytes of these"},
    {NULL, "mean", SONDE_CELL_BYTES, 0, 1, "bytes of one"},
    {"largest", "largest", SONDE_CELL_BYTES, 0, 2, "bytes of the largest one"},
};
static const struct sonde_view_columns pair_list = SONDE_VIEW_COLUMNS("pairs", pair_columns);

static const struct sonde_view_column collective_columns[] = {
    {"function", "Together", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "function of MPI, or of NCCL, with its type"},
    {"library", NULL, SONDE_CELL_TEXT, 0, 0, "MPI or NCCL"},
    {"comm", "communicator", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 1, "how many ranks it has, what tells its members, and which one of these they are; of NCCL its name, its identity and how many ranks"},
    {"count", "calls", SONDE_CELL_COUNT, 0, 0, "calls of all ranks"},
    {"bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "bytes that each gave, or got where only the root gives, added up; of NCCL what each was asked for"},
    {"calls_ns", "time", SONDE_CELL_TIME, 0, 0, "time in these calls, of all ranks; of NCCL in their kernels: of what is one kernel once"},
    {"wait_ns", "waiting", SONDE_CELL_TIME, 0, 0, "of it, until the others had come; of what is only begun by these, in the calls that end it"},
    {"rank", "most by", SONDE_CELL_ID, 0, 0, "rank that waited most in these"},
    {"rank_ns", "it waited", SONDE_CELL_TIME, 0, 2, "how long that was"},
    {"for_rank", "most for", SONDE_CELL_ID, 0, 0, "rank for which they waited most"},
    {"for_ns", "so long", SONDE_CELL_TIME, 0, 3, "how long that was"},
};
static const struct sonde_view_columns collective_list = SONDE_VIEW_COLUMNS("collectives", collective_columns);

static const struct sonde_view_column limit_columns[] = {
    {"library", NULL, SONDE_CELL_TEXT, 0, 0, "the MPI library, and its version"},
    {"network", NULL, SONDE_CELL_BOOLEAN, 0, 0, "true: of messages to ranks of other hosts; false: of the same one"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "a message of so many or more waits until its receiver begins to receive it; null: not known"},
    {"variable", NULL, SONDE_CELL_TEXT, 0, 0, "of the library, that decides it"},
    {"ranks", NULL, SONDE_CELL_COUNT, 0, 0, "ranks whose library says so"},
};
static const struct sonde_view_columns limit_list = SONDE_VIEW_COLUMNS("limits", limit_columns);

static const struct sonde_view_column columns[] = {
    {"messages", NULL, SONDE_CELL_COUNT, 0, 0, "messages from one rank to another; of a time window those that were sent in it"},
    {"apart", NULL, SONDE_CELL_COUNT, 0, 0, "messages and calls whose ranks ran on different hosts, whose clocks could not be aligned: their waiting is not known"},
    {"hosts", NULL, SONDE_CELL_COUNT, 0, 0, "hosts on which the ranks ran"},
    {"clock_bound_ns", NULL, SONDE_CELL_TIME, 0, 0, "of several hosts: waiting between two of them is known to within that, by the messages that align their clocks; 0: there is one, or none is aligned"},
    {"alone", NULL, SONDE_CELL_COUNT, 0, 0, "messages of which only one end is known"},
    {"mixed", NULL, SONDE_CELL_COUNT, 0, 0, "calls of all ranks of a communicator that do not belong together"},
    {"lost", NULL, SONDE_CELL_COUNT, 0, 0, "messages that found no room in the measurement"},
    {"step", NULL, SONDE_CELL_TEXT, 0, 0, "range of the program that its steps are: the most frequent one that is in no other; null: there is none, or no rank waited"},
    {"large_ns", NULL, SONDE_CELL_TIME, 0, 0, "of the waiting for late receivers, in calls whose message was as large as limits say, or larger; null: no limit is known where some waited"},
    {"limits", NULL, SONDE_CELL_LIST, 0, 0, "from which size on messages wait for their receivers, as the libraries of the ranks say", .of = &limit_list},
    {"ranks", NULL, SONDE_CELL_LIST, 0, 0, "each rank", .of = &rank_list},
    {"waits", NULL, SONDE_CELL_LIST, 0, 0, "where ranks waited for others", .of = &place_list},
    {"pairs", NULL, SONDE_CELL_LIST, 0, 0, "who sent to whom", .of = &pair_list},
    {"collectives", NULL, SONDE_CELL_LIST, 0, 0, "what ranks did together", .of = &collective_list},
};
static const struct sonde_view_columns messages_list = SONDE_VIEW_COLUMNS("messages", columns);

/* ---- cells -------------------------------------------------------------------------------------------- */

static const char *const wait_texts[] = {
#define X(id, name, text) text,
    SONDE_MESSAGE_WAIT_MAP(X)
#undef X
};

static uint64_t waiting(const struct sonde_message_rank *r)
{
    uint64_t sum = 0;
    for (int i = 0; i < SONDE_MESSAGE_WAITS; i++)
        sum += r->wait_ns[i];
    return sum;
}

static void rank_row(struct sonde_view_table *t, const struct sonde_message_rank *r)
{
    sonde_cell_int(t, true, r->rank);
    sonde_cell_int(t, true, r->calls_ns);
    sonde_cell_share(t, (double)r->calls_ns, (double)r->wall_ns);
    sonde_cell_int(t, true, waiting(r));
    for (int i = 0; i < SONDE_MESSAGE_WAITS; i++)
        sonde_cell_int(t, true, r->wait_ns[i]);
    sonde_cell_int(t, true, r->nccl_ns);
    sonde_cell_int(t, true, r->nccl_wait_ns);
    sonde_cell_int(t, true, r->sent);
    sonde_cell_int(t, true, r->sent_bytes);
    sonde_cell_int(t, true, r->received);
    sonde_cell_int(t, true, r->received_bytes);
}

static void name_place(const struct sonde_query *q, struct sonde_text *out, const struct sonde_message_place *p)
{
    if (*p->comm)
        sonde_text_add(out, q->profile->nodes.items[p->node].name);
    else
        sonde_name_frame(q, out, &q->profile->nodes.items[p->node]);
    sonde_text_add(out, " ← ");
    sonde_name_callers(q, out, p->node, 2);
}

static void name_doing(const struct sonde_query *q, struct sonde_text *out, const struct sonde_message_doing *d)
{
    const struct sonde_cct_node *node = &q->profile->nodes.items[d->node];
    if (d->cause == SONDE_MESSAGE_CAUSE_CODE)
        sonde_name_routine(q, out, node);
    else if (*node->name)
        sonde_text_add(out, node->name);
    else
        sonde_name_frame(q, out, node);
}

/* "work() ring.c"; "waited in MPI_Recv, in the end for rank 0: work() ring.c". */
static void name_cause(const struct sonde_query *q, struct sonde_text *out, const struct sonde_message_place *p)
{
    const bool chain = p->doing.cause == SONDE_MESSAGE_CAUSE_MESSAGES;
    if (chain) {
        sonde_text_add(out, "waited in ");
        name_doing(q, out, &p->doing);
        sonde_text_format(out, ", in the end for rank %u", p->root.rank);
    }
    if (chain && p->root.cause != SONDE_MESSAGE_CAUSE_UNKNOWN)
        sonde_text_add(out, ": ");
    if (p->root.cause != SONDE_MESSAGE_CAUSE_UNKNOWN)
        name_doing(q, out, &p->root);
}

static void doing_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_message_doing *d)
{
    static const char *const causes[] = {[SONDE_MESSAGE_CAUSE_CODE] = "code", [SONDE_MESSAGE_CAUSE_DEVICE] = "device", [SONDE_MESSAGE_CAUSE_MESSAGES] = "messages"};
    const bool known = d->cause != SONDE_MESSAGE_CAUSE_UNKNOWN;
    struct sonde_text name = {0};
    if (known)
        name_doing(q, &name, d);
    sonde_cell_text(t, known ? causes[d->cause] : NULL);
    sonde_cell_take(t, &name);
    sonde_cell_int(t, known, d->ns);
}

static void place_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_message_place *p)
{
    struct sonde_text title = {0}, cause = {0};
    name_place(q, &title, p);
    sonde_cell_take(t, &title);
    sonde_cell_text(t, q->profile->nodes.items[p->node].name);
    sonde_cell_text(t, *p->comm ? p->comm : NULL);
    sonde_cell_text(t, wait_texts[p->kind]);
    sonde_cell_int(t, true, p->count);
    sonde_cell_int(t, true, p->ns);
    sonde_cell_int(t, true, p->most_rank);
    sonde_cell_int(t, true, p->most_ns);
    for (int form = 0; form < 3; form++)
        sonde_cell_share(t, (double)p->share_ns, (double)p->share_of_ns);
    sonde_cell_int(t, true, p->for_rank);
    sonde_cell_int(t, true, p->for_ns);
    name_cause(q, &cause, p);
    sonde_cell_take(t, &cause);
    doing_cells(t, q, &p->doing);
    sonde_cell_int(t, p->doing.cause != SONDE_MESSAGE_CAUSE_UNKNOWN, p->root.rank);
    doing_cells(t, q, &p->root);
    sonde_cell_int(t, true, p->node);
    sonde_cell_frames(t, q, p->node);
}

static void pair_row(struct sonde_view_table *t, const struct sonde_message_pair *p)
{
    sonde_cell_int(t, true, p->from);
    sonde_cell_int(t, true, p->to);
    sonde_cell_int(t, true, p->count);
    sonde_cell_int(t, true, p->bytes);
    sonde_cell_real(t, true, (double)p->bytes / (double)p->count);
    sonde_cell_int(t, true, p->largest);
}

static void collective_row(struct sonde_view_table *t, const struct sonde_message_collective *c)
{
    sonde_cell_text(t, c->function);
    sonde_cell_text(t, c->nccl ? "NCCL" : "MPI");
    sonde_cell_text(t, c->comm);
    sonde_cell_int(t, true, c->count);
    sonde_cell_int(t, true, c->bytes);
    sonde_cell_int(t, true, c->ns);
    sonde_cell_int(t, true, c->wait_ns);
    const uint64_t most[] = {c->most_rank, c->most_ns, c->for_rank, c->for_ns};
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        sonde_cell_int(t, c->most_ns > 0, most[i]);
}

static void limit_row(struct sonde_view_table *t, const struct sonde_messages *all, const struct sonde_message_limit *l)
{
    sonde_cell_text(t, sonde_intern_get(&all->texts, l->library));
    sonde_cell_boolean(t, l->network);
    sonde_cell_int(t, l->bytes, l->bytes);
    sonde_cell_text(t, l->variable ? sonde_intern_get(&all->texts, l->variable) : NULL);
    sonde_cell_int(t, true, l->ranks);
}

/* ---- sentences ------------------------------------------------------------------------------------------ */

/* "the ranks waited 1.2 s for each other (31 % of their time), 0.9 s of it in MPI_Recv ← step() ring.c:13, mostly for rank 0, which ran work() ring.c; rank 3 longest: 40 % of its steps (train)". */
static void say_most(const struct sonde_query *q, const struct sonde_messages *all, struct sonde_view_data *out)
{
    uint64_t waited = 0, wall = 0;
    char total[SONDE_NUMBER_MAX], percent[SONDE_NUMBER_MAX], there[SONDE_NUMBER_MAX], share[SONDE_NUMBER_MAX];
    struct sonde_text place = {0}, cause = {0};
    for (size_t i = 0; i < all->ranks.count; i++) {
        waited += waiting(&all->ranks.items[i]) + all->ranks.items[i].nccl_wait_ns;
        wall += all->ranks.items[i].wall_ns;
    }
    if (!all->places.count)
        return;
    const struct sonde_message_place *most = &all->places.items[0];
    name_place(q, &place, most);
    if (most->doing.cause == SONDE_MESSAGE_CAUSE_MESSAGES) {
        sonde_text_add(&cause, ", which waited itself in ");
        name_doing(q, &cause, &most->doing);
        sonde_text_format(&cause, ", in the end for rank %u", most->root.rank);
    }
    if (most->root.cause == SONDE_MESSAGE_CAUSE_CODE || most->root.cause == SONDE_MESSAGE_CAUSE_DEVICE) {
        sonde_text_add(&cause, most->root.cause == SONDE_MESSAGE_CAUSE_CODE ? ", which ran " : ", whose device ran ");
        name_doing(q, &cause, &most->root);
    }
    sonde_text_format(&cause, "; rank %u longest: %s of its %s", most->most_rank, sonde_number_percent(share, (double)most->share_ns, (double)most->share_of_ns),
                      all->step ? "steps" : "run");
    if (all->step)
        sonde_text_format(&cause, " (%s)", sonde_intern_get(&all->step_names, all->step));
    sonde_view_say(out, false, "the ranks waited %s for each other (%s of their time), %s of it in %s, mostly for rank %u%s",
                   sonde_number_time(total, (double)waited), sonde_number_percent(percent, (double)waited, (double)wall),
                   sonde_number_time(there, (double)most->ns), sonde_text_get(&place), most->for_rank, sonde_text_get(&cause));
    sonde_text_fini(&place);
    sonde_text_fini(&cause);
}

/* "Open MPI 4.1.4: a message of 4.10 kB or more waits for its receiver (btl_vader_eager_limit): 85 % of the waiting for late receivers". */
static void say_limits(const struct sonde_messages *all, struct sonde_view_data *out)
{
    uint64_t late_ns = 0;
    bool said = false;
    for (size_t i = 0; i < all->ranks.count; i++)
        late_ns += all->ranks.items[i].wait_ns[SONDE_MESSAGE_WAIT_LATE_RECEIVER];
    for (size_t i = 0; i < all->limits.count; i++) {
        const struct sonde_message_limit *l = &all->limits.items[i];
        const char *library = sonde_intern_get(&all->texts, l->library);
        char size[SONDE_NUMBER_MAX], percent[SONDE_NUMBER_MAX];
        struct sonde_text share = {0}, ranks = {0};
        if (l->network && all->hosts < 2)
            continue;
        if (all->ranks.count != l->ranks)
            sonde_text_format(&ranks, " (%u of the ranks)", l->ranks);
        if (!said && late_ns && !all->unlimited_ns)
            sonde_text_format(&share, "; %s of the waiting for late receivers is for such", sonde_number_percent(percent, (double)all->large_ns, (double)late_ns));
        if (l->bytes)
            sonde_view_say(out, false, "%s%s: a message of %s or more%s waits for its receiver (%s)%s", library, sonde_text_get(&ranks),
                           sonde_number_bytes(size, (double)l->bytes), l->network ? " to another host" : "",
                           sonde_intern_get(&all->texts, l->variable), sonde_text_get(&share));
        else if (!l->network)
            sonde_view_say(out, false, "%s%s: it is not known from which size on a message waits for its receiver", library, sonde_text_get(&ranks));
        said = true;
        sonde_text_fini(&share);
        sonde_text_fini(&ranks);
    }
}

static void say_faults(const struct sonde_messages *all, struct sonde_view_data *out)
{
    char number[SONDE_NUMBER_MAX];
    if (all->apart)
        sonde_view_say(out, false, "messages and calls whose ranks ran on different hosts: %s; their messages do not align the clocks of these, so their waiting is not known",
                       sonde_number_count(number, all->apart));
    if (*all->contradict[0])
        sonde_view_say(out, false, "the clocks of %s and %s contradict each other: one of them was probably set while the ranks ran; of what these two waited for each other nothing is told",
                       all->contradict[0], all->contradict[1]);
    if (all->clock_bound_ns)
        sonde_view_say(out, false, "the clocks of %u hosts are aligned by messages: what ranks waited for those of another host is known to within %s each time",
                       all->hosts, sonde_number_time(number, (double)all->clock_bound_ns));
    if (all->alone)
        sonde_view_say(out, false, "messages of which only one end is known: %s; the other rank was not recorded then, or used a call that is not followed",
                       sonde_number_count(number, all->alone));
    if (all->mixed)
        sonde_view_say(out, false, "calls that do not belong together as recorded: %s; some rank was not recorded all the time, and no waiting is told of them",
                       sonde_number_count(number, all->mixed));
    if (all->lost)
        sonde_view_say(out, false, "messages that found no room in the measurement: %s; what ranks waited for may be told wrongly; see --memory of sonde record",
                       sonde_number_count(number, all->lost));
}

/* ---- the view -------------------------------------------------------------------------------------------- */

#define ROWS(list, row, ...)                                                                              \
    do {                                                                                                  \
        const size_t shown_ = sonde_query_rows(q, all->list.count);                                       \
        for (size_t i_ = 0; i_ < all->list.count && i_ < shown_; i_++)                                    \
            row(list, __VA_ARGS__ &all->list.items[i_]);                                                  \
        list->left_out = all->list.count - (all->list.count < shown_ ? all->list.count : shown_);         \
    } while (0)

/* What nobody used has no columns on the terminal. */
static void hide_library(struct sonde_view_table *ranks, const struct sonde_messages *all)
{
    static const char *const mpi[] = {"in MPI", "of run", "waiting", "sent", "received", "bytes"}, *const nccl[] = {"in NCCL", "waiting there"};
    uint64_t calls_ns = 0;
    for (size_t i = 0; i < all->ranks.count; i++)
        calls_ns += all->ranks.items[i].calls_ns;
    for (size_t i = 0; i < sizeof nccl / sizeof *nccl && !all->nccl; i++)
        sonde_view_hide(ranks, nccl[i]);
    if (calls_ns || all->messages)
        return;
    for (size_t i = 0; i < sizeof mpi / sizeof *mpi; i++)
        sonde_view_hide(ranks, mpi[i]);
    for (int i = 0; i < SONDE_MESSAGE_WAITS; i++)
        sonde_view_hide(ranks, wait_texts[i]);
}

static void fill(const struct sonde_query *q, const struct sonde_messages *all, struct sonde_view_data *out)
{
    struct sonde_view_table *t = out->root = sonde_view_table(out, &messages_list);
    sonde_cell_int(t, true, all->messages);
    sonde_cell_int(t, true, all->apart);
    sonde_cell_int(t, true, all->hosts);
    sonde_cell_int(t, true, all->clock_bound_ns);
    sonde_cell_int(t, true, all->alone);
    sonde_cell_int(t, true, all->mixed);
    sonde_cell_int(t, true, all->lost);
    sonde_cell_text(t, all->step ? sonde_intern_get(&all->step_names, all->step) : NULL);
    sonde_cell_int(t, !all->unlimited_ns, all->large_ns);
    struct sonde_view_table *limits = sonde_cell_list(t), *ranks = sonde_cell_list(t), *places = sonde_cell_list(t), *pairs = sonde_cell_list(t), *collectives = sonde_cell_list(t);
    ROWS(limits, limit_row, all, );
    ROWS(ranks, rank_row, );
    ROWS(places, place_row, q, );
    ROWS(pairs, pair_row, );
    ROWS(collectives, collective_row, );
    if (!all->ranks.count) {
        sonde_view_say(out, false, q->range.from.given || q->range.to.given ? "no rank began to send or to receive anything through MPI, or a collective of NCCL, in this time" : "no rank sent or received anything through MPI, or had a collective of NCCL: docs/mpi.md and docs/nccl.md say which programs can be followed");
        return;
    }
    sonde_view_hide(places, all->step ? "of run" : "of steps");
    hide_library(ranks, all);
    say_most(q, all, out);
    say_limits(all, out);
    say_faults(all, out);
    sonde_view_show(out, ranks, true);
    if (all->places.count)
        sonde_view_show(out, places, true);
    if (all->pairs.count)
        sonde_view_show(out, pairs, true);
    if (all->collectives.count)
        sonde_view_show(out, collectives, true);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_messages messages = {0};
    struct sonde_query_window asked = {0};
    const bool within = q->range.from.given || q->range.to.given;
    uint64_t begin_ns, end_ns;
    int rc = within ? sonde_query_window(q, true, &asked, diag) : 0;
    if (rc)
        return rc;
    sonde_run_range(q->m, &begin_ns, &end_ns);
    const struct sonde_message_window window = {
        /* what began last may begin at the end */
        .from_ns = begin_ns + asked.from_ns,
        .to_ns = q->range.to.given ? begin_ns + asked.to_ns : UINT64_MAX,
    };
    rc = sonde_messages_compute(q->m, q->profile, within ? &window : NULL, &messages);
    if (!rc)
        fill(q, &messages, out);
    sonde_messages_fini(&messages);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot match the messages of") : 0;
}

const struct sonde_view sonde_view_messages = {
    .name = "messages",
    .summary = "messages between the ranks of a job (MPI, NCCL): who sent what to whom, who waited for whom, and where",
    .description = "What the ranks of a job sent each other through MPI, what they did together, through NCCL, too, how long each waited for others, in which call, why and for whom.",
    .single = true,
    .options = (const char *const[]){"from", "to", NULL},
    .tables = (const struct sonde_view_columns *const[]){&messages_list, NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON,
    .quick_notes = true,
    .make = make,
};
