/* main.c - sonde-synth: write a made-up measurement, print its known totals as JSON.
 */
#include "synth.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

static const char *const kind_names[] = {
#define X(name, text, ...) text,
    SONDE_OP_KIND_MAP(X)
#undef X
};

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static void print_totals(const char *path, const struct synth_totals *t)
{
    json_t *root = json_object(), *operations = json_object(), *times = json_object(), *bytes = json_object();
    json_t *kernels = json_array();

    for (uint32_t i = 0; i < SONDE_OP_KIND_COUNT; i++) {
        if (!t->operations[i])
            continue;
        json_object_set_new(operations, kind_names[i], number(t->operations[i]));
        json_object_set_new(times, kind_names[i], number(t->kind_ns[i]));
        json_object_set_new(bytes, kind_names[i], number(t->kind_bytes[i]));
    }
    for (uint32_t i = 0; i < SYNTH_KERNELS; i++)
        if (t->kernels[i].count)
            json_array_append_new(kernels, json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", t->kernels[i].name,
                                                     "count", number(t->kernels[i].count),
                                                     "total_ns", number(t->kernels[i].total_ns),
                                                     "min_ns", number(t->kernels[i].min_ns),
                                                     "max_ns", number(t->kernels[i].max_ns)));
    json_object_set_new(root, "path", json_string(path));
    json_object_set_new(root, "operations", operations);
    json_object_set_new(root, "total_ns", times);
    json_object_set_new(root, "bytes", bytes);
    json_object_set_new(root, "kernels", kernels);
    json_object_set_new(root, "seen", number(t->seen));
    json_object_set_new(root, "calls", number(t->calls));
    json_object_set_new(root, "api_ns", number(t->api_ns));
    json_object_set_new(root, "device_busy_ns", number(t->device_busy_ns));
    json_object_set_new(root, "first_start_ns", number(t->seen ? t->start_ns : 0));
    json_object_set_new(root, "last_end_ns", number(t->end_ns));
    json_object_set_new(root, "samples", number(t->samples));
    json_object_set_new(root, "switches", number(t->switches));
    json_object_set_new(root, "off_ns", number(t->off_ns));
    json_object_set_new(root, "waits", number(t->waits));
    json_object_set_new(root, "messages", number(t->messages));
    json_object_set_new(root, "message_bytes", number(t->message_bytes));
    json_object_set_new(root, "late_sender_ns", number(t->late_sender_ns));
    json_object_set_new(root, "all_to_all_ns", number(t->all_to_all_ns));
    json_object_set_new(root, "disk_bytes", number(t->disk_bytes));
    json_dumpf(root, stdout, JSON_INDENT(1));
    puts("");
    json_decref(root);
}

static int usage(FILE *to)
{
    fputs("usage: sonde-synth [--operations N] [--lanes N] [--threads N] [--processes N]\n"
          "                   [--devices N] [--depth N] [--paths N] [--cpu HZ] [--waits N]\n"
          "                   [--compute NS] [--seed N] [--ranks] [--unsealed] [--profile]\n"
          "                   [--messages N [--hosts N] [--late NS]] DIRECTORY\n"
          "Writes a made-up measurement to DIRECTORY, which must not exist, and prints\n"
          "its known totals as JSON.\n",
          to);
    return to == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"operations", 1, NULL, 'n'},
        {"lanes", 1, NULL, 'l'},
        {"threads", 1, NULL, 't'},
        {"processes", 1, NULL, 'p'},
        {"seed", 1, NULL, 's'},
        {"unsealed", 0, NULL, 'u'},
        {"devices", 1, NULL, 'd'},
        {"depth", 1, NULL, 'D'},
        {"paths", 1, NULL, 'a'},
        {"cpu", 1, NULL, 'c'},
        {"waits", 1, NULL, 'w'},
        {"compute", 1, NULL, 'C'},
        {"profile", 0, NULL, 'P'},
        {"ranks", 0, NULL, 'r'},
        {"messages", 1, NULL, 'm'},
        {"hosts", 1, NULL, 'H'},
        {"late", 1, NULL, 'L'},
        {"help", 0, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct synth_options o = {.operations = 10000, .lanes = 1, .threads = 1, .processes = 1, .seed = 1};
    struct synth_totals totals;
    struct sonde_diag diag = {0};
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;
        switch (c) {
        case 'n': o.operations = value; break;
        case 'l': o.lanes = (uint32_t)value; break;
        case 't': o.threads = (uint32_t)value; break;
        case 'p': o.processes = (uint32_t)value; break;
        case 's': o.seed = value; break;
        case 'd': o.devices = (uint32_t)value; break;
        case 'D': o.depth = (uint32_t)value; break;
        case 'a': o.paths = (uint32_t)value; break;
        case 'c': o.cpu_hz = (uint32_t)value; break;
        case 'w': o.waits = (uint32_t)value; break;
        case 'C': o.compute_ns = value; break;
        case 'u': o.unsealed = true; break;
        case 'P': o.profile = true; break;
        case 'r': o.ranks = true; break;
        case 'm': o.messages = (uint32_t)value; break;
        case 'H': o.hosts = (uint32_t)value; break;
        case 'L': o.late_ns = value; break;
        case 'h': return usage(stdout);
        default: return usage(stderr);
        }
    }
    if (optind + 1 != argc || !o.lanes || !o.threads)
        return usage(stderr);
    int status = synth_write(argv[optind], &o, &totals, &diag);
    if (status < 0) {
        fprintf(stderr, "sonde-synth: %s: %s %s %s\n", sonde_error_text(status), diag.what, diag.where, diag.why);
        return 1;
    }
    print_totals(argv[optind], &totals);
    return 0;
}
