/* names.h - names that a program gives to NVTX once and uses often: domains,
 * registered strings, categories. Found without a lock; adding takes one.
 * They live as long as the process: equal ones are one, and there is a bound.
 */
#ifndef SONDE_NVTX_NAMES_H
#define SONDE_NVTX_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum sonde_nvtx_kind {
    SONDE_NVTX_DOMAIN = 1,
    SONDE_NVTX_STRING,
    SONDE_NVTX_CATEGORY,
};

struct sonde_nvtx_name {
    const void *domain;    /* STRING, CATEGORY: whose it is; NULL the default domain's */
    uint32_t kind, number; /* CATEGORY: its number */
    uint32_t length;
    char bytes[];
};

/* The name of this kind; made when there is none. NULL: no room. A category has one name, the first. */
const struct sonde_nvtx_name *sonde__nvtx_name(enum sonde_nvtx_kind kind, const void *domain, uint32_t number,
                                               const char *bytes, size_t length);
/* A category's name; NULL when it has none. */
const struct sonde_nvtx_name *sonde__nvtx_category(const void *domain, uint32_t number);

/* UTF-8 of a wide string, cut to fit; its length. */
size_t sonde__nvtx_narrow(const wchar_t *wide, char *bytes, size_t size);

#endif
