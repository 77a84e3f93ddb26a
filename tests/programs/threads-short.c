/* threads-short.c - threads that enqueue once and vanish; memory must not grow with their number.
 *
 * The peak resident size in KiB goes to the file `memory`, which the runner
 * does not compare between runs: it compares 100,000 threads with 1,000. That
 * is exact with --profile; a trace has buffers in flight as well.
 *
 * case: thousand 1000 => kernel=1000 read=1 ; memory=few ; record=--profile
 * case: hundred-thousand 100000 => kernel=100000 read=1 ; memory=many ; record=--profile
 * case: traced 20000 => kernel=20000 read=1
 */
#include "guest.h"

#include <pthread.h>

static struct guest g;

static void *once(void *arg)
{
    guest_add(&g, 1);
    return arg;
}

static void peak_to_file(void)
{
    char  line[256];
    FILE *in = fopen("/proc/self/status", "r"), *out = fopen("memory", "w");
    while (in && out && fgets(line, sizeof line, in))
        if (strncmp(line, "VmHWM:", 6) == 0)
            fprintf(out, "%ld\n", atol(line + 6));
    if (in)
        fclose(in);
    if (out)
        fclose(out);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    guest_open(&g);
    for (int i = 0; i < count; i += 4) {
        pthread_t four[4];
        for (int k = 0; k < 4; k++)
            if (pthread_create(&four[k], NULL, once, NULL) != 0)
                printf("thread %d was not made\n", i + k);
        for (int k = 0; k < 4; k++)
            pthread_join(four[k], NULL);
        if (i % 100 == 0)
            CL(clFinish(g.queue));
    }
    printf("ran %d\n", guest_read(&g));
    peak_to_file();
    guest_close(&g);
    return 0;
}
