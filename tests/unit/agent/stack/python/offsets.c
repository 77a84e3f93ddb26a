/* offsets.c - proves the agent's table of CPython structure offsets.
 *
 * Compiled once per interpreter version against that version's own internal
 * headers; compares offsetof() with src/agent/stack/python_layout.c. With "print" it
 * prints the entry instead. Nothing of Python is linked or run.
 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include <Python.h>
#include <frameobject.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#include <internal/pycore_interpframe_structs.h>
#endif
#if PY_VERSION_HEX >= 0x030c0000
#include <internal/pycore_runtime.h>
#if __has_include(<internal/pycore_debug_offsets.h>)
#include <internal/pycore_debug_offsets.h>
#endif
#endif
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/stack/python_layout.h"

#ifdef Py_GIL_DISABLED
#define FREE_THREADED true
#else
#define FREE_THREADED false
#endif

/* A bit field has no offsetof: set it in a zeroed structure and look. */
static int kind_bit(void)
{
    PyASCIIObject string;
    uint32_t bits;
    memset(&string, 0, sizeof string);
    string.state.kind = 1;
    memcpy(&bits, &string.state, sizeof bits);
    return __builtin_ctz(bits);
}

static int bits_follow_kind(void)
{
    PyASCIIObject string;
    uint32_t bits;
    memset(&string, 0, sizeof string);
    string.state.compact = 1;
    memcpy(&bits, &string.state, sizeof bits);
    if (bits != 1u << (kind_bit() + 3))
        return 0;
    memset(&string, 0, sizeof string);
    string.state.ascii = 1;
    memcpy(&bits, &string.state, sizeof bits);
    return bits == 1u << (kind_bit() + 4);
}

static struct sonde__python_layout truth(void)
{
    struct sonde__python_layout t;
    memset(&t, 0, sizeof t);
    t.version = PY_VERSION_HEX >> 16;
    t.free_threaded = FREE_THREADED;
    t.thread_interp = offsetof(PyThreadState, interp);
    t.thread_id = offsetof(PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030b0000
    t.form = SONDE__PYTHON_OBJECTS;
    t.thread_frame = offsetof(PyThreadState, frame);
    t.frame_code = offsetof(struct _frame, f_code);
    t.frame_previous = offsetof(struct _frame, f_back);
    t.frame_instruction = offsetof(struct _frame, f_lasti);
    t.frame_generator = offsetof(struct _frame, f_gen);
    t.code_bytes = offsetof(PyCodeObject, co_code);
#if PY_VERSION_HEX >= 0x030a0000
    t.thread_cframe = offsetof(PyThreadState, cframe);
    t.cframe_previous = offsetof(CFrame, previous);
    t.code_table = offsetof(PyCodeObject, co_linetable);
#else
    t.code_table = offsetof(PyCodeObject, co_lnotab);
#endif
#else
    t.form = PY_VERSION_HEX < 0x030c0000 ? SONDE__PYTHON_CFRAMES : SONDE__PYTHON_SHIMS;
#if PY_VERSION_HEX < 0x030d0000
    t.thread_cframe = offsetof(PyThreadState, cframe);
    t.cframe_current = offsetof(_PyCFrame, current_frame);
#if PY_VERSION_HEX >= 0x030c0000
    t.runtime_initialized = offsetof(_PyRuntimeState, initialized);
#endif
    t.cframe_previous = offsetof(_PyCFrame, previous);
    t.frame_code = offsetof(struct _PyInterpreterFrame, f_code);
    t.frame_instruction = offsetof(struct _PyInterpreterFrame, prev_instr);
#else
    t.thread_frame = offsetof(PyThreadState, current_frame);
    t.frame_code = offsetof(struct _PyInterpreterFrame, f_executable);
    t.frame_instruction = offsetof(struct _PyInterpreterFrame, instr_ptr);
#endif
    t.frame_previous = offsetof(struct _PyInterpreterFrame, previous);
    t.frame_owner = offsetof(struct _PyInterpreterFrame, owner);
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
    t.frame_tlbc = offsetof(struct _PyInterpreterFrame, tlbc_index);
    t.code_tlbc = offsetof(PyCodeObject, co_tlbc);
#endif
    t.code_qualname = offsetof(PyCodeObject, co_qualname);
    t.code_table = offsetof(PyCodeObject, co_linetable);
    t.code_first_traceable = offsetof(PyCodeObject, _co_firsttraceable);
    t.code_bytes = offsetof(PyCodeObject, co_code_adaptive);
#if PY_VERSION_HEX >= 0x030c0000
    t.code_version = offsetof(PyCodeObject, co_version);
#endif
#endif
    t.code_name = offsetof(PyCodeObject, co_name);
    t.code_file = offsetof(PyCodeObject, co_filename);
    t.code_first_line = offsetof(PyCodeObject, co_firstlineno);
    t.code_consts = offsetof(PyCodeObject, co_consts);
    t.object_type = offsetof(PyObject, ob_type);
    t.object_size = offsetof(PyVarObject, ob_size);
    t.bytes_data = offsetof(PyBytesObject, ob_sval);
    t.string_length = offsetof(PyASCIIObject, length);
    t.string_hash = offsetof(PyASCIIObject, hash);
    t.string_state = offsetof(PyASCIIObject, state);
    t.string_ascii = sizeof(PyASCIIObject);
    t.string_compact = sizeof(PyCompactUnicodeObject);
    t.string_kind_bit = (uint16_t)kind_bit();
    return t;
}

static void print(const struct sonde__python_layout *t)
{
    printf("    {\n        .version = 0x%04x, .form = %d, .free_threaded = %d,\n", t->version, t->form,
           t->free_threaded);
#define X(field)                                   \
    if (t->field)                                  \
        printf("        ." #field " = %u,\n", t->field);
    SONDE__PYTHON_LAYOUT_MAP(X)
#undef X
    printf("    },\n");
}

#if PY_VERSION_HEX >= 0x030d0000
/* Where a field of _Py_DebugOffsets is, by name. */
static long debug_word(const char *name)
{
#define WORD(member)               \
    if (strcmp(name, #member) == 0) \
        return (long)(offsetof(struct _Py_DebugOffsets, member) / 8);
    WORD(version)
    WORD(free_threaded)
    WORD(thread_state.interp)
    WORD(thread_state.current_frame)
    WORD(thread_state.thread_id)
    WORD(interpreter_frame.previous)
    WORD(interpreter_frame.executable)
    WORD(interpreter_frame.instr_ptr)
    WORD(interpreter_frame.owner)
    WORD(code_object.filename)
    WORD(code_object.name)
    WORD(code_object.qualname)
    WORD(code_object.linetable)
    WORD(code_object.firstlineno)
    WORD(code_object.co_code_adaptive)
    WORD(pyobject.ob_type)
    WORD(bytes_object.ob_size)
    WORD(bytes_object.ob_sval)
    WORD(unicode_object.state)
    WORD(unicode_object.length)
    WORD(unicode_object.asciiobject_size)
#if PY_VERSION_HEX >= 0x030e0000
    WORD(interpreter_frame.tlbc_index)
    WORD(code_object.co_tlbc)
#endif
#undef WORD
    return -1;
}

static int check_debug_words(int printing)
{
    int wrong = 0;
    for (const struct sonde__python_debug_word *w = sonde__python_debug_words; w->name; w++) {
        long have = PY_VERSION_HEX < 0x030e0000 ? w->word_3_13 : w->word_3_14;
        long want = debug_word(w->name);
        if (printing)
            printf("%s %ld\n", w->name, want);
        else if (have != want && !(want < 0 && have == 0)) {
            printf("_Py_DebugOffsets.%s: table %ld, headers %ld\n", w->name, have, want);
            wrong++;
        }
    }
    return wrong;
}
#else
static int check_debug_words(int printing)
{
    (void)printing;
    return 0;
}
#endif

int main(int argc, char **argv)
{
    struct sonde__python_layout t = truth();
    int printing = argc > 1 && strcmp(argv[1], "print") == 0;
    if (printing) {
        print(&t);
        return check_debug_words(1);
    }
    const struct sonde__python_layout *have =
        sonde__python_layout_find(PY_VERSION_HEX >> 16, FREE_THREADED);
    int wrong = check_debug_words(0), fields = 0;
    if (!have) {
        printf("the table has no entry for %s\n", PY_VERSION);
        return 1;
    }
    if (!bits_follow_kind()) {
        printf("string state: compact and ascii do not follow kind\n");
        wrong++;
    }
    if (have->form != t.form) {
        printf("form: table %u, headers %u\n", have->form, t.form);
        wrong++;
    }
#define X(field)                                                                    \
    fields++;                                                                       \
    if (have->field != t.field) {                                                   \
        printf(#field ": table %u, headers %u\n", have->field, t.field);            \
        wrong++;                                                                    \
    }
    SONDE__PYTHON_LAYOUT_MAP(X)
#undef X
    printf("%s%s: %d fields compared, %d wrong\n", PY_VERSION, FREE_THREADED ? "t" : "", fields, wrong);
    return wrong != 0;
}
