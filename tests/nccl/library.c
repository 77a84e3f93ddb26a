/* library.c - what Sonde asks a program's libnccl.so, and a frame of it on the stack. */
int ncclGetVersion(int *version);
void ncclCall(void (*body)(void));
__attribute__((visibility("default"))) int ncclGetVersion(int *version)
{
    *version = VERSION;
    return 0;
}

__attribute__((visibility("default"))) void ncclCall(void (*body)(void))
{
    body();
    __asm__ volatile("" ::: "memory"); /* no tail call */
}
