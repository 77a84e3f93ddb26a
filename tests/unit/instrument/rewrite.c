/* rewrite.c - a PTX file with instrumented copies of its kernels: rewrite IN OUT PLAN[/EVERY] [KERNEL]
 *
 * Prints a line for each kernel ("kernel NAME BLOCKS" or "plain NAME WHY", as SONDE_VALUE_MISSED_*) and, behind a kernel, for each access the number of the
 * statement that has it among those of its kernel, its block, what it is, and the parameter that its address comes from ("access
 * STATEMENT BLOCK ld f 4 1 2"), the words that are in front of its area ("front 0 0 …"), then the pointers through which it writes
 * in their order ("set PARAMETER OFFSET GRAIN"), and the variables that it names ("variable NAME").
 *
 * rewrite OUT: the kernels that copy and compare.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/compare.h"
#include "instrument/flow.h"
#include "instrument/rewrite.h"

static const char *const ops[] = {"ld", "st", "atom", "red", "cp"};

static const char *const reasons[] = {
#define X(name, text) #name,
    SONDE_VALUE_MISSED_MAP(X)
#undef X
};

/* The guesses in front of its area, as they start. */
static void print_front(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow)
{
    const size_t bytes = sonde__ptx_front(f, SONDE_PLAN_GUESSES);
    uint64_t *words = calloc(1, bytes);
    sonde__ptx_front_start(p, f, flow, words);
    printf("front");
    for (size_t k = 0; k < bytes / sizeof *words; k++)
        printf(" %llx", (unsigned long long)words[k]);
    printf("\n");
    free(words);
}

static void print_kernel(const struct sonde_ptx *p, const struct sonde_ptx_function *f)
{
    const enum sonde_value_missed why = sonde__ptx_plain(p, f);
    const char *name = p->text + f->name.at;
    if (why || !f->accesses) {
        printf("plain %.*s %s\n", (int)f->name.bytes, name, why ? reasons[why] : "nothing");
        return;
    }
    printf("kernel %.*s %u\n", (int)f->name.bytes, name, f->blocks);
    struct sonde_ptx_flow flow;
    uint32_t statement = 0, item = f->open;
    if (sonde__ptx_flow(p, f, &flow))
        return;
    for (uint32_t k = f->first_access; k < f->first_access + f->accesses; k++) {
        for (; item < p->accesses[k].item; item++)
            statement += p->items[item].kind == SONDE_PTX_STATEMENT;
        const struct sonde_ptx_access *a = &p->accesses[k];
        printf("access %u %u %s %c %u %u %u\n", statement, a->block, ops[a->op], "busfx"[a->type], a->element_bytes, a->elements,
               flow.origins[k - f->first_access].parameter);
    }
    print_front(p, f, &flow);
    sonde__ptx_flow_release(&flow);
}

static void print_sets(const struct sonde_ptx *p, const struct sonde_ptx_function *f)
{
    struct sonde_ptx_flow flow;
    if (sonde__ptx_plain(p, f) || !f->accesses || sonde__ptx_flow(p, f, &flow))
        return;
    for (uint32_t set = 0; set < flow.sets; set++)
        for (uint32_t i = 0; i < flow.pointer_count; i++)
            if (flow.pointers[i].grain && flow.pointers[i].set == set)
                printf("set %u %u %u\n", flow.pointers[i].origin.parameter, flow.pointers[i].origin.offset, flow.pointers[i].grain);
    for (uint32_t v = 0; v < flow.variables.count; v++)
        printf("variable %.*s\n", (int)flow.variables.name[v].bytes, p->text + flow.variables.name[v].at);
    sonde__ptx_flow_release(&flow);
}

int main(int argc, char **argv)
{
    enum { MOST = 16 << 20 };
    if (argc == 2) {
        FILE *file = fopen(argv[1], "wb");
        return !file || fputs(sonde__ptx_compare, file) < 0 || fclose(file);
    }
    FILE *in = argc > 3 ? fopen(argv[1], "rb") : NULL, *out = argc > 3 ? fopen(argv[2], "wb") : NULL;
    char *text = malloc(MOST);
    struct sonde_ptx p;
    struct sonde_ptx_text made;
    if (!in || !out || !text)
        return 2;
    const size_t bytes = fread(text, 1, MOST, in);
    fclose(in);
    if (sonde__ptx_read(&p, text, bytes)) {
        fprintf(stderr, "%s:%u: %s\n", argv[1], p.line, p.why ? p.why : "out of memory");
        return 1;
    }
    const struct sonde_ptx_function *only = NULL;
    for (uint32_t f = 0; argc > 4 && f < p.function_count; f++)
        if (strlen(argv[4]) == p.functions[f].name.bytes && !memcmp(p.text + p.functions[f].name.at, argv[4], p.functions[f].name.bytes))
            only = &p.functions[f];
    if ((argc > 4 && !only) || sonde__ptx_rewrite(&p, only, (uint32_t)atoi(argv[3]), strchr(argv[3], '/') ? (uint32_t)atoi(strchr(argv[3], '/') + 1) : 0, &made) || fwrite(made.text, 1, made.bytes, out) != made.bytes)
        return 1;
    fclose(out);
    for (uint32_t f = 0; f < p.function_count; f++) {
        print_kernel(&p, &p.functions[f]);
        print_sets(&p, &p.functions[f]);
    }
    sonde__ptx_text_release(&made);
    sonde__ptx_release(&p);
    free(text);
    return 0;
}
