/* lock.c - see lock.h. */
#include "guest/lock.h"

_Atomic uint32_t sonde__process_number = 1;
__thread struct sonde_handler sonde__handler __attribute__((tls_model("initial-exec")));
