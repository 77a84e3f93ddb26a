/* gated.c - an operation, then one every 5 ms, each waited for, while there is a file WORK; until there is a file END. tests/monitor/when_test.py runs it.
 *
 *     gated WORK END
 *
 * case: gated /none /dev/null => kernel=1
 */
#include "guest.h"

#include <time.h>

int main(int argc, char **argv)
{
    struct guest g;
    if (argc < 3)
        return 2;
    guest_open(&g);
    guest_add(&g, 1);
    CL(clFinish(g.queue));
    while (access(argv[2], F_OK) != 0) {
        if (access(argv[1], F_OK) == 0) {
            guest_add(&g, 1);
            CL(clFinish(g.queue));
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return 0;
}
