/* hop.c - a library that calls back; built twice with frames of different size
 * (ROOM), so that a rule of one is wrong for the other at the same address. */
typedef void (*callback)(void);

void hop(callback function);
callback hop_resolving;
int hop_lazy(int n);

__attribute__((noinline)) static void inner(callback function, volatile char *room)
{
    volatile char more[ROOM / 2 + 8];
    more[0] = room[0];
    function();
    room[1] = more[0];
}

void hop(callback function)
{
    volatile char room[ROOM];
    room[0] = 1;
    inner(function, room);
    room[0] = 2;
}

static int lazy_target(int n)
{
    return n + 1;
}

/* Runs inside the dynamic linker's lazy binding, whose frame is found from rbx. */
__attribute__((used)) static int (*resolve(void))(int)
{
    if (hop_resolving)
        hop_resolving();
    return lazy_target;
}

int hop_lazy(int n) __attribute__((ifunc("resolve")));
