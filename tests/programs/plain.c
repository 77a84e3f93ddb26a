/* plain.c - an ordinary program: the measure that the others are held against.
 *
 * case: plain => kernel=100 read=1
 * case: static-arguments "two words" '' => kernel=100 read=1
 * case: stdin-is-passed-on - => kernel=100 read=1 ; stdin=line one
 * case: status-7 7 => kernel=100 read=1
 */
#include "guest.h"

int main(int argc, char **argv)
{
    char line[64];
    for (int i = 1; i < argc; i++)
        printf("argument %d: [%s]\n", i, argv[i]);
    if (argc > 1 && strcmp(argv[1], "-") == 0)
        while (fgets(line, sizeof line, stdin))
            printf("read: %s\n", line);
    guest_work(100);
    fprintf(stderr, "to standard error\n");
    return argc > 1 ? atoi(argv[1]) : 0;
}
