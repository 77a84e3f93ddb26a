/* python_layout.c - the table of CPython structure offsets, x86-64 Linux.
 *
 * Every number is compared with the interpreters' own headers by
 * tests/unit/agent/stack/python/offsets.c (which also prints new entries). From 3.13 on
 * the interpreter's own description, _Py_DebugOffsets, overrides the table.
 */
#include "python_layout.h"

#include <stddef.h>
#include <string.h>

/* What versions have in common: a plain object header, and strings before and from 3.12. */
#define OBJECTS .object_type = 8, .object_size = 16, .bytes_data = 32
#define STRINGS_3_9 \
    .string_length = 16, .string_hash = 24, .string_state = 32, .string_ascii = 48, \
    .string_compact = 72, .string_kind_bit = 2
#define STRINGS_3_12 \
    .string_length = 16, .string_hash = 24, .string_state = 32, .string_ascii = 40, \
    .string_compact = 56, .string_kind_bit = 2

/* With --disable-gil an object's header is 16 bytes larger. */
#define OBJECTS_FREE .object_type = 24, .object_size = 32, .bytes_data = 48
#define STRINGS_FREE \
    .string_length = 32, .string_hash = 40, .string_state = 48, .string_ascii = 56, \
    .string_compact = 72

/* clang-format off */
static const struct sonde__python_layout layouts[] = {
    {
        .version = 0x0309, .form = SONDE__PYTHON_OBJECTS,
        .thread_interp = 16, .thread_frame = 24, .thread_id = 176,
        .frame_code = 32, .frame_previous = 24, .frame_instruction = 104, .frame_generator = 96,
        .code_name = 112, .code_file = 104, .code_table = 120, .code_first_line = 40,
        .code_bytes = 48, .code_consts = 56,
        OBJECTS, STRINGS_3_9,
    },
    {
        .version = 0x030a, .form = SONDE__PYTHON_OBJECTS,
        .thread_interp = 16, .thread_frame = 24, .thread_cframe = 48, .thread_id = 176,
        .cframe_previous = 8,
        .frame_code = 32, .frame_previous = 24, .frame_instruction = 96, .frame_generator = 88,
        .code_name = 112, .code_file = 104, .code_table = 120, .code_first_line = 40,
        .code_bytes = 48, .code_consts = 56,
        OBJECTS, STRINGS_3_9,
    },
    {
        .version = 0x030b, .form = SONDE__PYTHON_CFRAMES,
        .thread_interp = 16, .thread_cframe = 56, .thread_id = 152,
        .cframe_current = 8, .cframe_previous = 16,
        .frame_code = 32, .frame_previous = 48, .frame_instruction = 56, .frame_owner = 69,
        .code_name = 120, .code_qualname = 128, .code_file = 112, .code_table = 136,
        .code_first_line = 72, .code_first_traceable = 168, .code_bytes = 184, .code_consts = 24,
        OBJECTS, STRINGS_3_9,
    },
    {
        .version = 0x030c, .form = SONDE__PYTHON_SHIMS,
        .thread_interp = 16, .thread_cframe = 56, .thread_id = 136, .runtime_initialized = 16,
        .cframe_current = 0, .cframe_previous = 8,
        .frame_code = 0, .frame_previous = 8, .frame_instruction = 56, .frame_owner = 70,
        .code_name = 120, .code_qualname = 128, .code_file = 112, .code_table = 136,
        .code_first_line = 68, .code_first_traceable = 176, .code_bytes = 192, .code_consts = 24,
        .code_version = 92,
        OBJECTS, STRINGS_3_12,
    },
    {
        .version = 0x030d, .form = SONDE__PYTHON_SHIMS,
        .thread_interp = 16, .thread_frame = 72, .thread_id = 152,
        .frame_code = 0, .frame_previous = 8, .frame_instruction = 56, .frame_owner = 70,
        .code_name = 120, .code_qualname = 128, .code_file = 112, .code_table = 136,
        .code_first_line = 68, .code_first_traceable = 184, .code_bytes = 200, .code_consts = 24,
        .code_version = 92,
        OBJECTS, STRINGS_3_12,
    },
    {
        .version = 0x030d, .form = SONDE__PYTHON_SHIMS, .free_threaded = true,
        .thread_interp = 16, .thread_frame = 72, .thread_id = 152,
        .frame_code = 0, .frame_previous = 8, .frame_instruction = 56, .frame_owner = 70,
        .code_name = 136, .code_qualname = 144, .code_file = 128, .code_table = 152,
        .code_first_line = 84, .code_first_traceable = 200, .code_bytes = 216, .code_consts = 40,
        .code_version = 108,
        OBJECTS_FREE, STRINGS_FREE, .string_kind_bit = 2,
    },
    {
        .version = 0x030e, .form = SONDE__PYTHON_SHIMS,
        .thread_interp = 16, .thread_frame = 72, .thread_id = 152,
        .frame_code = 0, .frame_previous = 8, .frame_instruction = 56, .frame_owner = 74,
        .code_name = 120, .code_qualname = 128, .code_file = 112, .code_table = 136,
        .code_first_line = 68, .code_first_traceable = 192, .code_bytes = 208, .code_consts = 24,
        .code_version = 92,
        OBJECTS, STRINGS_3_12,
    },
    {
        .version = 0x030e, .form = SONDE__PYTHON_SHIMS, .free_threaded = true,
        .thread_interp = 16, .thread_frame = 72, .thread_id = 152,
        .frame_code = 0, .frame_previous = 8, .frame_instruction = 56, .frame_owner = 78,
        .frame_tlbc = 72,
        .code_name = 136, .code_qualname = 144, .code_file = 128, .code_table = 152,
        .code_first_line = 84, .code_first_traceable = 208, .code_bytes = 232, .code_consts = 40,
        .code_version = 108, .code_tlbc = 224,
        OBJECTS_FREE, STRINGS_FREE, .string_kind_bit = 8,
    },
};
/* clang-format on */

const struct sonde__python_layout *sonde__python_layout_find(uint32_t version, bool free_threaded)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == version && layouts[i].free_threaded == free_threaded)
            return &layouts[i];
    return NULL;
}

#define NOT_IN_LAYOUT UINT16_MAX
#define AT(member) (uint16_t) offsetof(struct sonde__python_layout, member)

/* "version" and "free_threaded" come first: their place has not changed. */
enum {
    WORD_VERSION = 1,
    WORD_FREE_THREADED = 2,
    WORDS = 96,
};
const struct sonde__python_debug_word sonde__python_debug_words[] = {
    {"version", WORD_VERSION, WORD_VERSION, NOT_IN_LAYOUT},
    {"free_threaded", WORD_FREE_THREADED, WORD_FREE_THREADED, NOT_IN_LAYOUT},
    {"thread_state.interp", 22, 25, AT(thread_interp)},
    {"thread_state.current_frame", 23, 26, AT(thread_frame)},
    {"thread_state.thread_id", 24, 27, AT(thread_id)},
    {"interpreter_frame.previous", 29, 32, AT(frame_previous)},
    {"interpreter_frame.executable", 30, 33, AT(frame_code)},
    {"interpreter_frame.instr_ptr", 31, 34, AT(frame_instruction)},
    {"interpreter_frame.owner", 33, 36, AT(frame_owner)},
    {"interpreter_frame.tlbc_index", 0, 38, AT(frame_tlbc)},
    {"code_object.filename", 35, 40, AT(code_file)},
    {"code_object.name", 36, 41, AT(code_name)},
    {"code_object.qualname", 37, 42, AT(code_qualname)},
    {"code_object.linetable", 38, 43, AT(code_table)},
    {"code_object.firstlineno", 39, 44, AT(code_first_line)},
    {"code_object.co_code_adaptive", 43, 48, AT(code_bytes)},
    {"code_object.co_tlbc", 0, 49, AT(code_tlbc)},
    {"pyobject.ob_type", 45, 51, AT(object_type)},
    {"bytes_object.ob_size", 65, 75, AT(object_size)},
    {"bytes_object.ob_sval", 66, 76, AT(bytes_data)},
    {"unicode_object.state", 68, 78, AT(string_state)},
    {"unicode_object.length", 69, 79, AT(string_length)},
    {"unicode_object.asciiobject_size", 70, 80, AT(string_ascii)},
    {NULL, 0, 0, 0},
};

bool sonde__python_layout_debug(const void *runtime, uint32_t version,
                                struct sonde__python_layout *layout, const char **why)
{
    uint64_t words[WORDS];
    memcpy(words, runtime, sizeof words);
    if (memcmp(words, "xdebugpy", 8) != 0 || words[WORD_VERSION] >> 16 != version) {
        *why = "the interpreter does not describe itself (_Py_DebugOffsets)";
        return false;
    }
    const struct sonde__python_layout *known =
        sonde__python_layout_find(version, words[WORD_FREE_THREADED] != 0);
    if (!known) {
        *why = "unknown version of CPython";
        return false;
    }
    *layout = *known;
    for (const struct sonde__python_debug_word *w = sonde__python_debug_words; w->name; w++) {
        uint32_t index = version >= 0x030e ? w->word_3_14 : w->word_3_13;
        if (index == 0 || w->field == NOT_IN_LAYOUT)
            continue;
        if (words[index] > 8192) {
            *why = "the interpreter's description of itself (_Py_DebugOffsets) is not plausible";
            return false;
        }
        uint16_t value = (uint16_t)words[index];
        memcpy((char *)layout + w->field, &value, sizeof value);
    }
    /* What the description leaves out stays next to its described neighbour. */
    int moved = layout->code_bytes - known->code_bytes;
    layout->code_first_traceable = (uint16_t)(known->code_first_traceable + moved);
    moved = layout->code_first_line - known->code_first_line;
    layout->code_version = (uint16_t)(known->code_version + moved);
    layout->code_consts = (uint16_t)(known->code_consts + moved);
    moved = layout->string_ascii - known->string_ascii;
    layout->string_compact = (uint16_t)(known->string_compact + moved);
    return true;
}
