/* process.c - see process.h. */
#include "guest/process.h"

_Atomic uint32_t sonde__process_number = 1;
