/* messages.c - what the ranks of a made-up job send each other: in every step each exchanges a halo with the two beside it, in a ring, and all sum
 * something up. Who waits for whom follows from when each is ready, which is a function of rank and step.
 *
 * A step of a rank, in the time of the job: it is ready; it begins to receive from both sides, sends to both, waits for what it receives, and
 * enters MPI_Allreduce, which all leave together. One rank, the slow one, is ready late in every step: those beside it wait for its messages in
 * MPI_Waitall, all others in MPI_Allreduce for the one beside it that comes last.
 *
 * Hosts have clocks of their own: that of each runs a little faster than the one before, and was started another hour. Their wall clocks are
 * wrong by some milliseconds.
 */
#include "model.h"

#include <stdlib.h>

#include <sonde/kinds.h>

enum {
    CALL_NS = 1000,      /* a call that does not wait */
    TURN_NS = 2000,      /* from the entry of one to that of the next */
    FLIGHT_NS = 5000,    /* from the entry of the call that sends to when it is there */
    SUM_NS = 10000,      /* from when the last has come */
    EVEN_NS = 50000,     /* times at which ranks are ready differ by multiples of that, */
    EVEN_TIMES = 8,      /* up to so many */
    WORK_NS = 4000,      /* there is for each operation of a thread, its calls included: more than it takes */
    BATCH_NS = 1000000,  /* and for what it waits for its queues */
    HALO_BYTES = 1 << 16,
    SUM_BYTES = 8,
    TO_LEFT_TAG = 1,     /* of what goes to the left; one more: to the right */
};

/* ---- when ------------------------------------------------------------------------------------ */

uint32_t synth_slow_rank(const struct synth_options *o)
{
    return o->processes / 2;
}

static uint32_t left_of(const struct synth_options *o, uint32_t rank)
{
    return (rank + o->processes - 1) % o->processes;
}

static uint32_t right_of(const struct synth_options *o, uint32_t rank)
{
    return (rank + 1) % o->processes;
}

static uint64_t step_ns(const struct synth_options *o)
{
    return o->messages * (uint64_t)WORK_NS + BATCH_NS;
}

/* How much later than the earliest a rank is ready. */
static uint64_t uneven_ns(const struct synth_options *o, uint32_t rank, uint32_t step)
{
    const uint64_t mixed = (rank * 2654435761u ^ (step + o->seed) * 2246822519u) * 0x9e3779b97f4a7c15;
    return rank == synth_slow_rank(o) ? EVEN_TIMES * EVEN_NS + o->late_ns : (mixed >> 40) % EVEN_TIMES * EVEN_NS;
}

struct step {
    uint64_t ready_ns, receive_ns[2], send_ns[2], wait_ns, waited_ns, sum_ns; /* entries, but for waited_ns; of two: left, right */
};

/* What comes from the side beside it is what that one sends to the other side. */
static struct step step_of(const struct model *m, uint32_t rank, uint32_t step)
{
    const struct synth_options *o = m->options;
    const uint64_t begin_ns = m->steps[step];
    const uint32_t beside[2] = {left_of(o, rank), right_of(o, rank)};
    struct step s = {.ready_ns = begin_ns + step_ns(o) + uneven_ns(o, rank, step)};
    for (uint32_t side = 0; side < 2; side++) {
        s.receive_ns[side] = s.ready_ns + side * TURN_NS;
        s.send_ns[side] = s.ready_ns + (2 + side) * TURN_NS;
    }
    s.wait_ns = s.waited_ns = s.ready_ns + 4 * TURN_NS;
    for (uint32_t side = 0; side < 2; side++) {
        const uint64_t there_ns = begin_ns + step_ns(o) + uneven_ns(o, beside[side], step) + (2 + !side) * TURN_NS + FLIGHT_NS;
        s.waited_ns = there_ns > s.waited_ns ? there_ns : s.waited_ns;
    }
    s.waited_ns += CALL_NS;
    s.sum_ns = s.waited_ns + CALL_NS;
    return s;
}

static void add_waits(struct model *m, uint32_t rank, uint32_t step, uint64_t last_ns)
{
    const struct synth_options *o = m->options;
    const struct step own = step_of(m, rank, step), left = step_of(m, left_of(o, rank), step), right = step_of(m, right_of(o, rank), step);
    const uint64_t sent_ns = left.send_ns[1] > right.send_ns[0] ? left.send_ns[1] : right.send_ns[0];
    m->totals->late_sender_ns += sent_ns > own.wait_ns ? sent_ns - own.wait_ns : 0;
    m->totals->all_to_all_ns += last_ns - own.sum_ns;
    m->totals->messages += 2;
    m->totals->message_bytes += 2 * HALO_BYTES;
}

/* When each step begins: when all have left the one before. */
int synth_messages_plan(struct model *m)
{
    const struct synth_options *o = m->options;
    const uint32_t count = (uint32_t)(o->operations / ((uint64_t)o->messages * o->threads));
    m->steps = calloc((size_t)count + 2, sizeof *m->steps);
    if (!m->steps)
        return SONDE_ENOMEM;
    m->steps[0] = synth_start_ns(o, o->processes) + 1000000;
    for (uint32_t step = 0; step < count; step++) {
        uint64_t last_ns = 0;
        for (uint32_t rank = 0; rank < o->processes; rank++) {
            const uint64_t sum_ns = step_of(m, rank, step).sum_ns;
            last_ns = sum_ns > last_ns ? sum_ns : last_ns;
        }
        for (uint32_t rank = 0; rank < o->processes; rank++)
            add_waits(m, rank, step, last_ns);
        m->steps[step + 1] = last_ns + SUM_NS;
    }
    return 0;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

uint32_t synth_host(const struct synth_options *o, uint32_t rank)
{
    return o->hosts ? (uint32_t)((uint64_t)rank * o->hosts / o->processes) : 0;
}

/* What a host's clock shows: one hour, and a millionth, more than that before. */
uint64_t synth_clock_ns(const struct synth_options *o, uint32_t rank, uint64_t ns)
{
    const uint64_t host = synth_host(o, rank);
    return ns + host * 3600000000000ull + ns * host / 1000000;
}

uint64_t synth_wall_offset_ns(const struct synth_options *o, uint32_t rank)
{
    const uint64_t host = synth_host(o, rank), wrong_ns = host * 7919 % 8001 * 1000;
    return 1700000000000000000 - host * 3600000000000ull + wrong_ns;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void add_row(struct model *m, uint32_t call, uint64_t enter_ns, uint64_t leave_ns, struct sonde_row_message row)
{
    const struct synth_options *o = m->options;
    row.enter_ns = synth_clock_ns(o, m->rank, enter_ns);
    row.leave_ns = synth_clock_ns(o, m->rank, leave_ns);
    row.posted_ns = row.posted_ns ? synth_clock_ns(o, m->rank, row.posted_ns) : row.enter_ns;
    row.node = m->mpi_node[call];
    row.comm = row.kind == SONDE_MESSAGE_CALL ? 0 : m->comm;
    if (!o->profile)
        synth_add(m->build, SONDE_TABLE_MESSAGE, m->threads[0].lane, &row);
}

void synth_messages_step(struct model *m, uint32_t step)
{
    const struct synth_options *o = m->options;
    const struct step s = step_of(m, m->rank, step);
    const uint32_t beside[2] = {left_of(o, m->rank), right_of(o, m->rank)};
    for (int side = 0; side < 2; side++)
        add_row(m, MPI_IRECV, s.receive_ns[side], s.receive_ns[side] + CALL_NS, (struct sonde_row_message){.kind = SONDE_MESSAGE_CALL});
    for (int side = 0; side < 2; side++)
        add_row(m, MPI_ISEND, s.send_ns[side], s.send_ns[side] + CALL_NS,
                (struct sonde_row_message){.kind = SONDE_MESSAGE_SEND, .bytes = HALO_BYTES, .peer = beside[side] + 1, .tag = TO_LEFT_TAG + (uint32_t)side});
    for (int side = 0; side < 2; side++)
        add_row(m, MPI_WAITALL, s.wait_ns, s.waited_ns,
                (struct sonde_row_message){.kind = SONDE_MESSAGE_RECEIVE, .bytes = HALO_BYTES, .peer = beside[side] + 1, .tag = TO_LEFT_TAG + !side, .posted_ns = s.receive_ns[side]});
    add_row(m, MPI_ALLREDUCE, s.sum_ns, m->steps[step + 1], (struct sonde_row_message){.kind = SONDE_MESSAGE_ALL_TO_ALL, .bytes = SUM_BYTES});
}

uint64_t synth_ready_ns(const struct model *m, uint32_t step)
{
    return synth_clock_ns(m->options, m->rank, step_of(m, m->rank, step).ready_ns);
}

uint64_t synth_next_ns(const struct model *m, uint32_t step)
{
    return synth_clock_ns(m->options, m->rank, m->steps[step + 1]);
}
