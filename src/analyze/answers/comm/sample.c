/* sample.c - how much kernels accessed in all, where only a sample of their launches was looked at (record --comm-sample).
 *
 * The launches that were looked at are in groups, in turn, so that groups differ by chance alone: the random group method (Wolter, Introduction to Variance
 * Estimation, 2.4). With n launches looked at, of n + m, whose bytes are x in all, and x_j of n_j launches in group j of k: the m others have
 * m x / n, whose variance is m² (1 + n/m) / n² times the variance of a group's excess, d_j = x_j - n_j x / n:
 *
 *     V = m² (1/n + 1/m) S², S² = k / (k - 1) · Σ d_j² / n
 *
 * S² is the variance of one launch, since d_j² is n_j times that on average. 1/n is what is not known of the mean, 1/m how the others scatter about it.
 */
#include <math.h>

#include "base/student.h"
#include "comm.h"

#define CONFIDENCE .95

struct sonde_comm_estimate sonde__comm_estimate(const struct sonde__comm_sample *sample, const uint64_t *bytes)
{
    struct sonde_comm_estimate e = {.unknown = sample->others > 0};
    double n = 0, x = 0, excess = 0;
    unsigned groups = 0;
    for (unsigned k = 0; k < SONDE_REMOTE_GROUPS; k++) {
        n += (double)sample->launches[k];
        x += (double)bytes[k];
        groups += sample->launches[k] > 0;
    }
    const double m = (double)sample->left_out;
    if (m <= 0)
        return e;
    if (n <= 0) {
        e.unknown = true;
        return e;
    }
    for (unsigned k = 0; k < SONDE_REMOTE_GROUPS; k++) {
        const double d = (double)bytes[k] - (double)sample->launches[k] * x / n;
        excess += sample->launches[k] ? d * d : 0;
    }
    e.bytes = m * x / n;
    e.single = groups < 2;
    e.freedom = groups > 1 ? groups - 1 : 0;
    e.error = groups > 1 ? m * sqrt((1 / n + 1 / m) * groups / (groups - 1) * excess / n) : 0;
    return e;
}

bool sonde_comm_estimated(const struct sonde_comm_sum *sum, double *bytes)
{
    *bytes = (double)sum->bytes + sum->more.bytes;
    return !sum->more.unknown;
}

bool sonde_comm_interval(const struct sonde_comm_sum *sum, double *low, double *high)
{
    double bytes;
    if (!sonde_comm_estimated(sum, &bytes) || sum->more.single)
        return false;
    const double half = sum->more.freedom ? sonde_student_limit((double)sum->more.freedom, CONFIDENCE) * sum->more.error : 0;
    *low = bytes - half > (double)sum->bytes ? bytes - half : (double)sum->bytes; /* so much was seen */
    *high = bytes + half;
    return true;
}
