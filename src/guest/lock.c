/* lock.c - see lock.h. */
#include "guest/lock.h"

__thread struct sonde_handler sonde__handler __attribute__((tls_model("initial-exec")));
