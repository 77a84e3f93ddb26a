/* hook.h - the shapes that a hook can have.
 *
 * An OpenCL function is hooked by stating its parameters and arguments once,
 * in one of these macros, with what is particular to it:
 *
 *   ENQUEUE   puts an operation on a queue: does it block, and what does it
 *             ask of the device (an expression of type struct sonde_submit)
 *   CALL      anything else: an object that leads to its runtime, and what we
 *             do afterwards. There `real` is the runtime's table, `result` what
 *             it returned, and `made_by` the call while the agent records, else
 *             NULL: objects are followed in both cases.
 */
#ifndef SONDE_OPENCL_HOOK_H
#define SONDE_OPENCL_HOOK_H

#include "opencl.h"

/* The last three parameters of every enqueue. */
#define WAITS  cl_uint wait_count, const cl_event *wait_list, cl_event *event
#define WAITED wait_count, wait_list, event

/* `table` has the runtime's function as a member of its own name. The queue is
 * the parameter `command_queue`. */
#define ENQUEUE_WRITES_WITH(table, function, parameters, arguments, blocking, written, ...) \
    cl_int CL_API_CALL sonde__##function parameters                                        \
    {                                                                                      \
        const __typeof__(*table) *real = table;                                            \
        struct sonde_cl_enqueue enqueue;                                                   \
        if (!sonde__cl_enqueue_begin(&enqueue, API_##function, command_queue, WAITED))     \
            return sonde__cl_unrecorded(real->function arguments, event);                  \
        event = enqueue.event;                                                             \
        if (sonde__cl_twins_wanted())                                                      \
            sonde__cl_values_before(&enqueue, command_queue, written);                     \
        sonde__cl_order_waits(&enqueue, &wait_count, &wait_list);                          \
        cl_int status = real->function arguments;                                          \
        if (sonde__cl_twin_refused(&enqueue, status))                                      \
            status = real->function arguments;                                             \
        sonde_call_leave(&enqueue.call);                                                   \
        struct sonde_submit submit = { 0 };                                                \
        if (status == CL_SUCCESS)                                                          \
            submit = __VA_ARGS__;                                                          \
        sonde__cl_enqueue_end(&enqueue, status, blocking, &submit, command_queue);         \
        return status;                                                                     \
    }
#define ENQUEUE_WITH(table, function, parameters, arguments, blocking, ...) \
    ENQUEUE_WRITES_WITH(table, function, parameters, arguments, blocking, WRITES_NOTHING, __VA_ARGS__)
/* `written`, one of WRITES(...): to memory that values may be compared in. */
#define ENQUEUE_WRITES(function, parameters, arguments, blocking, written, ...)            \
    ENQUEUE_WRITES_WITH(sonde__cl_target(command_queue), function, parameters, arguments,  \
                        blocking, written, __VA_ARGS__)
#define WRITES(...) (&(const struct sonde_cl_written){ __VA_ARGS__ })
#define RECTANGLE(at, of, row, slice) .is_rectangle = true, .origin = (at), .region = (of), .row_pitch = (row), .slice_pitch = (slice)
#define PIXELS(in, at, of) .mem = (in), .is_image = true, .origin = (at), .region = (of)
#define WRITES_NOTHING WRITES(.mem = NULL)
#define ENQUEUE(function, parameters, arguments, blocking, ...) \
    ENQUEUE_WRITES(function, parameters, arguments, blocking, WRITES_NOTHING, __VA_ARGS__)

#define CALL_WITH(table, type, function, parameters, expression, ...)                      \
    type CL_API_CALL sonde__##function parameters                                          \
    {                                                                                      \
        sonde__cl_clean_point();                                                           \
        const __typeof__(*table) *real = table;                                            \
        struct sonde_call call, *made_by = NULL;                                           \
        if (sonde_call_begin(&call, API_##function))                                       \
            made_by = &call;                                                               \
        type const result = expression;                                                    \
        if (made_by)                                                                       \
            sonde_call_leave(made_by);                                                     \
        __VA_ARGS__;                                                                       \
        if (made_by)                                                                       \
            sonde_call_end(made_by);                                                       \
        return result;                                                                     \
    }
/* Calls the runtime by `expression`, or, the usual case, as the program did. */
#define CALL_AS(type, function, parameters, object, expression, ...)                       \
    CALL_WITH(sonde__cl_target(object), type, function, parameters, expression, __VA_ARGS__)
#define CALL(type, function, parameters, arguments, object, ...)                           \
    CALL_AS(type, function, parameters, object, real->function arguments, __VA_ARGS__)
#define NOTHING (void)0

/* An enqueue that is not recorded: its event stands for nothing that we know. */
static inline cl_int sonde__cl_unrecorded(cl_int status, const cl_event *event)
{
    if (status == CL_SUCCESS)
        sonde_op_unrecorded();
    if (event && status == CL_SUCCESS)
        sonde__cl_event_made(*event, 0);
    return status;
}

static inline struct sonde_submit op(enum sonde_op_kind kind, uint64_t bytes, uint32_t object)
{
    return (struct sonde_submit){.kind = kind, .bytes = bytes, .object = object};
}

/* A copy between two objects: it is about the one that it reads, and uses the other, too. */
static inline struct sonde_submit between(const struct sonde_call *call, enum sonde_op_kind kind,
                                          uint64_t bytes, uint32_t source, uint32_t target)
{
    if (!source)
        return op(kind, bytes, target);
    if (target == source)
        return op(kind, bytes, source);
    sonde_call_uses(call, &target, 1);
    return op(kind, bytes, source);
}

#endif
