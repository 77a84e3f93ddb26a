/* static.c - a program without a loader. */
#include <unistd.h>

int main(void)
{
    return (int)sleep(1000);
}
