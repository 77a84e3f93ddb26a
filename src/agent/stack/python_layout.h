/* python_layout.h - where CPython keeps what a stack walk needs, per version.
 *
 * All values are byte offsets into the interpreter's structures on x86-64,
 * measured, not copied: tests/unit/agent/stack/python/offsets.c compiles against each
 * version's own headers and compares every one of them with this table.
 */
#ifndef SONDE_AGENT_STACK_PYTHON_LAYOUT_H
#define SONDE_AGENT_STACK_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How the frames hang together. */
enum sonde__python_form {
    SONDE__PYTHON_OBJECTS, /* 3.9, 3.10: PyFrameObject, one C call of the eval loop per frame */
    SONDE__PYTHON_CFRAMES, /* 3.11: interpreter frames; a cframe on the C stack per eval call */
    SONDE__PYTHON_SHIMS,   /* 3.12+: interpreter frames; a shim frame on the C stack per eval call */
};

/*      field             what it is; first those that python_replay.c needs, in one line */
#define SONDE__PYTHON_LAYOUT_MAP(X)                                                     \
    X(thread_frame)        /* .frame (3.9, 3.10), .current_frame (3.13+); else 0 */     \
    X(thread_cframe)       /* .cframe (3.10 to 3.12); else 0 */                         \
    X(cframe_current)      /* _PyCFrame.current_frame (3.11, 3.12); else 0 */           \
    X(runtime_initialized) /* _PyRuntimeState.initialized (3.12); else 0 */             \
    X(frame_code)          /* the frame's code object */                                \
    X(frame_previous)      /* the caller's frame */                                     \
    X(frame_instruction)   /* f_lasti, prev_instr or instr_ptr */                       \
    X(frame_owner)         /* .owner (3.11+); else 0 */                                 \
    X(code_version)        /* co_version (3.12+); else 0 */                             \
    X(code_tlbc)           /* co_tlbc (free-threaded 3.14); else 0 */                   \
    X(thread_interp)       /* PyThreadState.interp */                                   \
    X(thread_id)           /* .thread_id: pthread_self() of its thread */               \
    X(cframe_previous)     /* .previous (3.10 to 3.12); else 0 */                       \
    X(frame_generator)     /* PyFrameObject.f_gen (3.9, 3.10); else 0 */                \
    X(frame_tlbc)          /* .tlbc_index (free-threaded 3.14); else 0 */               \
    X(code_name)           /* co_name */                                                \
    X(code_qualname)       /* co_qualname (3.11+); else 0 */                            \
    X(code_file)           /* co_filename */                                            \
    X(code_table)          /* co_lnotab, co_linetable */                                \
    X(code_first_line)     /* co_firstlineno */                                         \
    X(code_first_traceable)/* _co_firsttraceable (3.11+); else 0 */                     \
    X(code_bytes)          /* co_code (object), co_code_adaptive (in place, 3.11+) */   \
    X(code_consts)         /* co_consts */                                              \
    X(object_type)         /* PyObject.ob_type */                                       \
    X(object_size)         /* PyVarObject.ob_size */                                    \
    X(bytes_data)          /* PyBytesObject.ob_sval */                                  \
    X(string_length)       /* PyASCIIObject.length */                                   \
    X(string_hash)         /* PyASCIIObject.hash */                                     \
    X(string_state)        /* PyASCIIObject.state */                                    \
    X(string_ascii)        /* sizeof(PyASCIIObject): data of a compact ASCII string */  \
    X(string_compact)      /* sizeof(PyCompactUnicodeObject): data of other compact ones */ \
    X(string_kind_bit)     /* position of state.kind (3 bits); .compact and .ascii follow */

struct sonde__python_layout {
    uint16_t version;       /* 0x030b */
    uint8_t form;           /* enum sonde__python_form */
    bool free_threaded;     /* built with --disable-gil */
#define X(field) uint16_t field;
    SONDE__PYTHON_LAYOUT_MAP(X)
#undef X
};

/* The table entry; NULL when the version is not known. */
const struct sonde__python_layout *sonde__python_layout_find(uint32_t version, bool free_threaded);

/* From 3.13 on the interpreter describes itself: at the start of _PyRuntime
 * lies a _Py_DebugOffsets. Copy the table entry that fits into *layout, and put
 * in what the interpreter says of itself where it says it. False, with a
 * reason, when there is no such description or it is not of this version. */
bool sonde__python_layout_debug(const void *runtime, uint32_t version,
                                struct sonde__python_layout *layout, const char **why);

/* Index of a field among the 64-bit words of _Py_DebugOffsets, for the checker. */
struct sonde__python_debug_word {
    const char *name;      /* "thread_state.current_frame" */
    uint16_t word_3_13, word_3_14;
    uint16_t field;        /* offset in struct sonde__python_layout */
};
extern const struct sonde__python_debug_word sonde__python_debug_words[];

#endif
