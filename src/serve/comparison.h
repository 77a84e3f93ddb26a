/* comparison.h - the measurements that a session is compared with (diff.c), for who closes it. */
#ifndef SONDE_SERVE_COMPARISON_H
#define SONDE_SERVE_COMPARISON_H

struct sonde_comparison;

void sonde__comparison_destroy(struct sonde_comparison *comparison); /* NULL: nothing happens */

#endif
