/* report_text.c - values as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "report.h"

json_t *report_json_count(uint64_t n)
{
    return json_integer(n < INT64_MAX ? (json_int_t)n : INT64_MAX);
}

json_t *report_json_ns(bool known, double ns)
{
    return !known ? json_null() : json_integer(ns < 9e18 ? (json_int_t)llround(ns) : INT64_MAX);
}

json_t *report_json_text(const char *text)
{
    struct sonde_text room = {0}; /* for a path or name that is not UTF-8 */
    json_t *value = *text ? json_string(sonde_utf8_clean(text, &room)) : json_null();
    sonde_text_fini(&room);
    return value;
}

json_t *report_json_frame(const struct sonde_cct_node *node)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "name", report_json_text(node->name),
                     "file", report_json_text(node->file),
                     "line", node->line ? json_integer(node->line) : json_null(),
                     "module", report_json_text(node->module));
}

json_t *report_json_frames(const struct report *r, uint32_t leaf)
{
    uint32_t nodes[8], count = leaf ? sonde_profile_callers(r->q.profile, leaf, nodes, 8) : 0;
    json_t *frames = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(frames, report_json_frame(&r->q.profile->nodes.items[nodes[i]]));
    return frames;
}
