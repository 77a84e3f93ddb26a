/* context.h - from a stack to a node of the calling context tree.
 *
 *     frame.c          modules, and frames of every kind
 *     context.c        the usual case; context_merge.c: paths put together frame by frame
 *     ranges.c         where open ranges stand in them
 *     node.c           nodes of the tree
 *     known.c          contexts of calls that came before, by one look-up
 *     replay.c         the same before the stack is walked (replay.h)
 *
 * `t` is the calling thread's own everywhere.
 */
#ifndef SONDE_AGENT_CONTEXT_CONTEXT_H
#define SONDE_AGENT_CONTEXT_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/state/thread.h"
#include "format/rows.h"

/* ---- frame.c: ids of frames; 0: no room. Any thread; table_lock for those that are new ----- */

#define SONDE_FRAME_ID_SKIP 0xffffffffu /* ours, or the runtime's loader: left out when innermost */
#define SONDE_FRAME_ID_EVAL 0xfffffffeu /* the Python interpreter's loop: replaced by Python frames */

int sonde__frames_init(void);                  /* when the agent starts, after the tables: 0 or SONDE_ENOMEM */
void sonde__frames_executable(const char *path); /* its path, which its link_map does not say. Monitor thread, before ON */
uint32_t sonde__frame_of_pc(uintptr_t pc);     /* lock-free once known; SONDE_FRAME_ID_* */
uint32_t sonde__frame_of_place(uintptr_t pc);  /* in a sample's handler: an interrupted place; 0: not now, or no room */
void sonde__frames_look(void);                 /* monitor's: modules that samples met first */
uint32_t sonde__frame_of_python(const struct sonde_pyframe *f);
uint64_t sonde__frame_python_key(const struct sonde_pyframe *f); /* equal keys: one frame */
uint32_t sonde__frame_of_api(uint32_t api);
uint32_t sonde__frame_of_sleep(uint32_t which, const char *name); /* a function of libc; 0: not now, or no room */
uint32_t sonde__frame_of_op(enum sonde_op_kind kind, uint32_t name);
uint32_t sonde__frame_of_link(uint32_t node);
uint32_t sonde__frame_of_kind(enum sonde_frame_kind kind);
/* The frame of a key (below 2^62), which is `row`'s; sonde__frame_find: only when it is there. */
uint32_t sonde__frame_intern(uint64_t key, struct sonde_row_frame row);
bool sonde__frame_find(uint64_t key, uint32_t *id);

#define SONDE_TOKEN_PYTHON (1ull << 63) /* alone: a call of the eval loop without a frame */
static inline uint64_t sonde__python_token(const struct sonde_pyframe *f)
{
    return f->code ? sonde__frame_python_key(f) | SONDE_TOKEN_PYTHON : SONDE_TOKEN_PYTHON;
}

/* ---- known.c: `pythons` frames are in python[] ------------------------------------------------ */

uint32_t sonde__known_node(struct sonde_thread *t, const struct sonde_trail *trail, uint32_t api, uint32_t pythons); /* 0: not known */
void sonde__known_keep(struct sonde_thread *t, uint32_t api, uint32_t pythons, uint32_t leaf); /* after the last walk */

/* ---- ranges.c: at least one is open, but where one is opened -------------------------------------- */

uint32_t sonde__ranges_context(struct sonde_thread *t, uint32_t node); /* what the context is among the open ranges */
/* Range number `depth` is opened, in the context `node`; the caller counts it as open afterwards. */
void sonde__ranges_open(struct sonde_thread *t, uint32_t depth, uint32_t node, uint32_t frame);
void sonde__ranges_closed(struct sonde_thread *t, uint32_t from); /* one was, and this is number `from` now */
uint32_t sonde__ranges_sample(struct sonde_thread *t, uint32_t count); /* node of path[] among them; in a handler, as sonde__context_sample */

/* ---- node.c ------------------------------------------------------------------------------------- */

/* Child of `parent` for `frame`; the parent itself when there is no room, or
 * when the frame is one of ours in the middle (the preload library calls main). */
uint32_t sonde__context_child(struct sonde_thread *t, uint32_t parent, uint32_t frame);
/* The node of a path from the outermost frame. */
uint32_t sonde__context_path(struct sonde_thread *t, const uint32_t *frame, uint32_t count);
/* The operation's leaf below the call's node. */
uint32_t sonde__context_op(struct sonde_thread *t, uint32_t api_node, enum sonde_op_kind kind, uint32_t name);
/* The same below `parent`, prepared in `origin` (0 none). Under harvest_lock. */
uint32_t sonde__context_report(uint32_t parent, uint32_t origin, enum sonde_op_kind kind, uint32_t name);
uint32_t sonde__node_parent(uint32_t node); /* 0: none */
uint32_t sonde__node_frame(uint32_t node);
bool sonde__frame_same(uint32_t a, uint32_t b); /* are they of the same code? */
/* Are these contexts of the same code? Any thread; slow. */
__attribute__((cold)) bool sonde__context_same(uint32_t a, uint32_t b);

/* ---- context.c --------------------------------------------------------------------------------- */

/* API node of the caller's stack, among the open ranges. SONDE_API_NONE: the node of the stack itself, without them. */
uint32_t sonde__context(struct sonde_thread *t, uint32_t api);
#define SONDE_API_NONE UINT32_MAX

/* In a sample's handler: node of the interrupted place. 0, or sonde__handler.missed: none this time. */
uint32_t sonde__context_sample(struct sonde_thread *t, const struct sonde_place *at);
/* After a wait, as in a handler: node of the function, number `which`, that this thread has waited in. 0 as above. */
uint32_t sonde__context_sleep(struct sonde_thread *t, uint32_t which, const char *name);
uint32_t sonde__context_routine(struct sonde_thread *t, uintptr_t routine); /* as a thread ends: of its start routine */

#endif
