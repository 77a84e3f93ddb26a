/* number.h - numbers as people read them: three significant digits and a unit.
 *
 * Every function fills `out` and returns it.
 */
#ifndef SONDE_BASE_NUMBER_H
#define SONDE_BASE_NUMBER_H

#include <stdint.h>

#define SONDE_NUMBER_MAX 32
#define SONDE_ESTIMATE_MAX (2 * SONDE_NUMBER_MAX + 8)

char *sonde_number_count(char out[SONDE_NUMBER_MAX], uint64_t n);   /* 1,504 */
char *sonde_number_time(char out[SONDE_NUMBER_MAX], double ns);     /* 248 µs, 1.39 s, 1 h 04 min */
char *sonde_number_bytes(char out[SONDE_NUMBER_MAX], double bytes); /* 33.6 MB: powers of 1,000 */
/* part of whole: 81.2 %; "-" when whole is 0 (unknown); "<0.1 %" for a non-zero part that rounds to 0. */
char *sonde_number_percent(char out[SONDE_NUMBER_MAX], double part, double whole);
char *sonde_number_plain(char out[SONDE_NUMBER_MAX], double value); /* 1.84, 24.9, 1,504 */
/* With a standard error that is at least half a percent, of the number or of the whole: "1.23 s ± 45.0 ms", "63.2 % ± 4.1 %". */
char *sonde_number_estimate(char out[SONDE_ESTIMATE_MAX], double ns, double error_ns);
char *sonde_number_percent_estimate(char out[SONDE_ESTIMATE_MAX], double part, double error, double whole);

#endif
