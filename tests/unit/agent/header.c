/* header.c - two threads use sonde.h at once, in a program without Sonde; built with ThreadSanitizer, which sees what they share. */
#include <pthread.h>
#include <stddef.h>

#include <sonde/sonde.h>

static void *use(void *unused)
{
    sonde_start();
    sonde_stop();
    return unused;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
