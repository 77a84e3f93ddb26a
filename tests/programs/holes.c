/* holes.c - a program whose segments lie apart (CMakeLists.txt links it so), as those of many large programs do:
 * the loader then tells no more of it than the segment that holds an address.
 *
 * case: stacks => kernel=10 read=1 ; check-unwinds ; whole-stacks
 */
#include "guest.h"

static __attribute__((noinline)) int deeper(int n)
{
    if (n > 0)
        return deeper(n - 1) + 1;
    guest_work(10);
    return 0;
}

int main(void)
{
    printf("%d calls deep\n", deeper(20));
    return 0;
}
