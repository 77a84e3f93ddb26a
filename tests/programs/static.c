/* static.c - linked statically, so nothing of Sonde is loaded into it; and a child that is not.
 *
 * case: static => nothing
 * link: -static
 */
#include <stdio.h>

int main(void)
{
    printf("static\n");
    return 4;
}
