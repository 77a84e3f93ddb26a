/* number.c - formatting with units. */
#include "number.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

char *sonde_number_count(char out[SONDE_NUMBER_MAX], uint64_t n)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

/* Decimals that leave three significant digits; what rounds up to the next
 * power of ten loses one (9.996 is 10.0). */
static int decimals(double value)
{
    return value < 9.995 ? 2 : (value < 99.95 ? 1 : 0);
}

char *sonde_number_plain(char out[SONDE_NUMBER_MAX], double value)
{
    if (value >= 999.5 && value < 1e18)
        return sonde_number_count(out, (uint64_t)(value + 0.5));
    if (value > 0 && value < 0.995)
        snprintf(out, SONDE_NUMBER_MAX, "%.3g", value);
    else
        snprintf(out, SONDE_NUMBER_MAX, "%.*f", decimals(value), value);
    return out;
}

static char *scaled(char *out, double value, const char *const *units, int count)
{
    int unit = 0;
    while (unit + 1 < count && value >= 999.5)
        value /= 1000, unit++;
    if (unit == 0)
        snprintf(out, SONDE_NUMBER_MAX, "%.0f %s", value, units[unit]);
    else
        snprintf(out, SONDE_NUMBER_MAX, "%.*f %s", decimals(value), value, units[unit]);
    return out;
}

char *sonde_number_time(char out[SONDE_NUMBER_MAX], double ns)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    double seconds = ns / 1e9;
    if (seconds < 999.5)
        return scaled(out, ns, units, 4);
    unsigned long long whole = (unsigned long long)(seconds + 0.5);
    if (whole < 3600)
        snprintf(out, SONDE_NUMBER_MAX, "%llu min %02llu s", whole / 60, whole % 60);
    else
        snprintf(out, SONDE_NUMBER_MAX, "%llu h %02llu min", whole / 3600, whole / 60 % 60);
    return out;
}

char *sonde_number_bytes(char out[SONDE_NUMBER_MAX], double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    return scaled(out, bytes, units, 6);
}

char *sonde_number_percent(char out[SONDE_NUMBER_MAX], double part, double whole)
{
    if (!(whole > 0))
        return strcpy(out, "-");
    double percent = 100 * part / whole;
    if (percent > 0 && percent < 0.05)
        return strcpy(out, "<0.1 %");
    snprintf(out, SONDE_NUMBER_MAX, "%.1f %%", percent);
    return out;
}

static char *with_error(char *out, const char *number, const char *error, bool worth_saying)
{
    snprintf(out, SONDE_ESTIMATE_MAX, worth_saying ? "%s ± %s" : "%s", number, error);
    return out;
}

char *sonde_number_estimate(char out[SONDE_ESTIMATE_MAX], double ns, double error_ns)
{
    char number[SONDE_NUMBER_MAX], error[SONDE_NUMBER_MAX];
    return with_error(out, sonde_number_time(number, ns), sonde_number_time(error, error_ns), error_ns > 0 && error_ns >= .005 * ns);
}

char *sonde_number_percent_estimate(char out[SONDE_ESTIMATE_MAX], double part, double error, double whole)
{
    char number[SONDE_NUMBER_MAX], other[SONDE_NUMBER_MAX];
    return with_error(out, sonde_number_percent(number, part, whole), sonde_number_percent(other, error, whole),
                      error > 0 && error >= .005 * whole);
}
