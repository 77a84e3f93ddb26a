/* event.h - what travels from a program's thread to the monitor. */
#ifndef SONDE_AGENT_STATE_EVENT_H
#define SONDE_AGENT_STATE_EVENT_H

#include <stdint.h>

#include <sonde/backend.h>

struct sonde_event { /* one hooked call, and the operation it made */
    uint64_t enter_ns, leave_ns;
    uint64_t token;       /* 0: no device completion to wait for; with EVENT_KEYED: the key */
    uint64_t bytes;
    uint64_t correlation; /* 0: no operation */
    uint32_t api_node, op_node;
    uint32_t lane, thread_lane;
    uint32_t object, work;
    uint16_t kind, flags;  /* flags: SONDE_EVENT_* */
};
enum {
    SONDE_EVENT_KEYED = 1,
    SONDE_EVENT_MANY = 2,
    SONDE_EVENT_FURTHER = 4, /* of a call that came already */
    SONDE_EVENT_OVER = 8,    /* has the times of the submission with the key `token` */
    SONDE_EVENT_MESSAGE = 32, /* a struct sonde_row_message: token (posted), correlation (comm << 32 | tag), lane (peer) */
    SONDE_EVENT_WAIT = 16,   /* a struct sonde_row_wait: enter_ns, correlation (waiter), token (awaited), lane, work (device) */
};

enum {
    SONDE_ACT_CALL = 1,
    SONDE_ACT_OP = 2,
    SONDE_ACT_WAIT = 4,
    SONDE_ACT_MESSAGE = 16,
    SONDE_ACT_NO_ROOM = 8, /* an operation, dropped */
};
struct sonde_activity { /* what a harvester hands over: the call, its operation, or both */
    struct sonde_event event;
    struct sonde_times times;
    uint16_t parts;  /* SONDE_ACT_* */
    uint16_t result; /* enum sonde_poll */
};

#endif
