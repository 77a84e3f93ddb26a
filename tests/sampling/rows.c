/* rows.c - print the CPU side of a measurement as text, for run.py.
 *
 *     ledger NAME VALUE
 *     sample TID TIME CPU FLAGS NODE PATH      PATH: functions, outermost first, inlined ones too, ';' after each; '!' an exact place
 *     off TID OUT IN FLAGS
 *     sleep TID FROM TO KIND PATH
 *     profile TID COUNT CPU NODE
 *     call TID NODE PATH                       each context of an API call that was made
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "format/reader.h"

static const struct sonde_process *p;

/* The functions of a frame: one that is inlined there comes after the one it is inlined in. */
static void print_frame(uint32_t id)
{
    const struct sonde_row_frame *f = &p->frames[id];
    const char *end = f->flags & 1 ? "!;" : ";";
    bool known = false;
    if (f->kind == SONDE_FRAME_PYTHON && f->module < p->pycode_count) {
        printf("%s%s", sonde_process_string(p, p->pycodes[f->module].name), end);
        return;
    }
    if (f->kind == SONDE_FRAME_API) {
        printf("%s%s", sonde_process_string(p, f->name), end);
        return;
    }
    uint32_t end_at = 0; /* of its rows: sorted by frame, then by depth */
    for (uint32_t step = 1u << 31; step; step /= 2)
        if (end_at + step <= p->symbol_count && p->symbols[end_at + step - 1].frame <= id)
            end_at += step;
    for (const struct sonde_row_symbol *s = p->symbols + end_at; s > p->symbols && s[-1].frame == id;) {
        s--;
        if (!s->function)
            continue;
        printf("%s%s", sonde_process_string(p, s->function), s->depth ? ";" : end);
        known = true;
    }
    if (!known)
        printf("kind%u%s", f->kind, end);
}

static void print_path(uint32_t id)
{
    const struct sonde_row_node *node = sonde_process_node(p, id, NULL);
    if (!node)
        return;
    print_path(node->parent);
    print_frame(node->frame);
}

static uint32_t tid_of(uint32_t lane)
{
    return lane < p->lane_count ? p->lanes[lane].tid : 0;
}

static int samples(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    const struct sonde_row_sample *s = rows;
    (void)user;
    for (uint32_t i = 0; i < count; i++) {
        printf("sample %u %" PRIu64 " %" PRIu64 " %u %u ", tid_of(lane), s[i].time_ns, s[i].cpu_ns, s[i].flags, s[i].node);
        print_path(s[i].node);
        puts("");
    }
    return 0;
}

static int switches(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    const struct sonde_row_switch *s = rows;
    (void)user;
    for (uint32_t i = 0; i < count; i++)
        printf("off %u %" PRIu64 " %" PRIu64 " %u\n", tid_of(lane), s[i].out_ns, s[i].in_ns, s[i].flags);
    return 0;
}

static int sleeps(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    const struct sonde_row_sleep *s = rows;
    (void)user;
    for (uint32_t i = 0; i < count; i++) {
        printf("sleep %u %" PRIu64 " %" PRIu64 " %u ", tid_of(lane), s[i].from_ns, s[i].to_ns, s[i].kind);
        print_path(s[i].node);
        puts("");
    }
    return 0;
}

static void profile(void)
{
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_profile *r = &p->profiles[i];
        if (r->lane && r->lane < p->lane_count && p->lanes[r->lane].kind == SONDE_LANE_KIND_THREAD && r->count)
            printf("profile %u %" PRIu64 " %" PRIu64 " %u\n", tid_of(r->lane), r->count, r->sum_ns, r->node);
        if (!r->lane && r->count) {
            printf("call 0 %u ", r->node);
            print_path(r->node);
            puts("");
        }
    }
}

int main(int argc, char **argv)
{
    struct sonde_measurement *m = NULL;
    struct sonde_diag diag = {0};
    if (argc != 2 || sonde_measurement_open(argv[1], &m, &diag) != 0) {
        fprintf(stderr, "usage: rows MEASUREMENT (%s)\n", diag.what);
        return 2;
    }
    for (uint32_t i = 0; i < m->process_count; i++) {
        p = &m->processes[i];
        const struct sonde_live_header *h = &p->header;
        const struct { const char *name; uint64_t n; } values[] = {
            {"rate_hz", h->cpu_rate_hz}, {"sampling", h->cpu_sampling}, {"switches", h->cpu_switches},
            {"samples", h->cpu.samples}, {"deferred", h->cpu.deferred}, {"lost", h->cpu.lost},
            {"sample_rows_dropped", h->cpu.sample_rows_dropped}, {"switch_rows_dropped", h->cpu.switch_rows_dropped},
            {"threads", h->cpu.threads}, {"threads_missed", h->cpu.threads_missed}, {"handler_ns", h->cpu.handler_ns},
            {"process_ns", h->cpu.process_ns}, {"sampled_ns", h->cpu.sampled_ns}, {"sleep_rows_dropped", h->cpu.sleep_rows_dropped},
            {"thread_cpu_ns", h->ledger.thread_cpu_ns}, {"folded", h->ledger.contexts_folded},
            {"unwinds", h->ledger.unwinds}, {"unwind_failed", h->ledger.unwind_failed}};
        uint32_t made[2] = {0};
        for (uint32_t k = 1; k < p->frame_count; k++)
            if (p->frames[k].kind == SONDE_FRAME_UNKNOWN)
                made[!(p->frames[k].flags & SONDE_FRAME_ADDRESS)]++;
        printf("ledger made_places %u\nledger made_pages %u\n", made[0], made[1]);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            printf("ledger %s %" PRIu64 "\n", values[k].name, values[k].n);
        for (uint32_t k = 0; k < p->note_count; k++)
            printf("note %s\n", p->notes[k].text);
        profile();
        sonde_process_trace(p, SONDE_TABLE_SAMPLE, 0, 0, UINT64_MAX, samples, NULL);
        sonde_process_trace(p, SONDE_TABLE_SWITCH, 0, 0, UINT64_MAX, switches, NULL);
        sonde_process_trace(p, SONDE_TABLE_SLEEP, 0, 0, UINT64_MAX, sleeps, NULL);
    }
    sonde_measurement_close(m);
    return 0;
}
