/* test.c - intervals and tests of differences; docs/diff.md, "Intervals and tests".
 *
 * Between runs: Welch, "The generalization of 'Student's' problem when several different population
 * variances are involved", Biometrika 34 (1947), with Satterthwaite's degrees of freedom (Biometrics
 * Bulletin 2, 1946); Student's own where one side is a single run. Within runs: the durations in pieces,
 * since neighbours are alike (the method of batch means, Conway, Management Science 10, 1963). Many rows:
 * Benjamini and Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57 (1995).
 */
#include <math.h>
#include <stdlib.h>

#include "base/student.h"
#include "own.h"

/* ---- two estimates ------------------------------------------------------------------------- */

struct estimate { double value, variance, freedom; }; /* variance: of the value */

/* Satterthwaite's; 0 where nothing varies. */
static double freedom_of(const struct estimate *a, const struct estimate *b)
{
    const double sum = a->variance + b->variance;
    const double of_a = a->freedom > 0 ? a->variance * a->variance / a->freedom : 0;
    const double of_b = b->freedom > 0 ? b->variance * b->variance / b->freedom : 0;
    return of_a + of_b > 0 ? sum * sum / (of_a + of_b) : 0;
}

/* The interval holds the measured difference, too; the test is of the lesser of both. What does not vary and differs is no
 * chance, what does not differ may be one. */
static struct sonde_diff_effect compare(const struct estimate *before, const struct estimate *after, double measured)
{
    const double delta = after->value - before->value, freedom = freedom_of(before, after);
    const double error = sqrt(before->variance + after->variance);
    const double nearer = delta * measured <= 0 ? 0 : (fabs(delta) < fabs(measured) ? delta : measured);
    const bool varies = freedom > 0 && error > 0;
    const double half = varies ? error * sonde_student_limit(freedom, SONDE_DIFF_CONFIDENCE) : 0;
    return (struct sonde_diff_effect){
        .known = true,
        .low = delta - half + fmin(0, measured - delta),
        .high = delta + half + fmax(0, measured - delta),
        .p = varies ? sonde_student_tail(nearer / error, freedom) : (nearer == 0 ? 1 : 0),
    };
}

/* ---- between runs --------------------------------------------------------------------------- */

static struct estimate mean_of(const double *values, size_t count)
{
    struct estimate e = {.freedom = (double)count - 1};
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        e.value += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - e.value) * (values[i] - e.value);
    e.variance = count > 1 ? squares / e.freedom / (double)count : 0;
    return e;
}

/* A single run varies as the runs of the other side do. */
static void lend(struct estimate *single, const struct estimate *several)
{
    single->variance = several->variance * (several->freedom + 1);
    single->freedom = 0;
}

/* Two single runs have nothing to lend. */
static struct sonde_diff_effect compare_means(struct estimate before, struct estimate after, double measured)
{
    const double freedom = before.freedom > 0 ? before.freedom : after.freedom;
    const bool pooled = before.freedom <= 0 || after.freedom <= 0;
    if (!(freedom > 0))
        return (struct sonde_diff_effect){0};
    if (before.freedom <= 0)
        lend(&before, &after);
    else if (after.freedom <= 0)
        lend(&after, &before);
    if (pooled) { /* both variances are one estimate: its freedom is that of the sum */
        before.variance += after.variance;
        before.freedom = freedom;
        after.variance = 0;
    }
    return compare(&before, &after, measured);
}

struct sonde_diff_effect sonde__effect_of_runs(const double *values, size_t before_count, size_t count, double measured)
{
    return compare_means(mean_of(values, before_count), mean_of(values + before_count, count - before_count), measured);
}

/* The logarithm of a mean: its variance is the relative one of the mean (the delta method). */
static struct estimate log_of(struct estimate mean)
{
    return (struct estimate){log(mean.value), mean.variance / (mean.value * mean.value), mean.freedom};
}

static struct sonde_diff_effect as_ratio(struct sonde_diff_effect effect)
{
    effect.low = exp(effect.low);
    effect.high = exp(effect.high);
    return effect;
}

struct sonde_diff_effect sonde__ratio_of_runs(const double *values, size_t before_count, size_t count)
{
    const struct estimate before = mean_of(values, before_count), after = mean_of(values + before_count, count - before_count);
    if (!(before.value > 0) || !(after.value > 0))
        return (struct sonde_diff_effect){0};
    const struct estimate a = log_of(before), b = log_of(after);
    const struct sonde_diff_effect effect = compare_means(a, b, b.value - a.value);
    return effect.known ? as_ratio(effect) : effect;
}

/* ---- within runs ----------------------------------------------------------------------------- */

void sonde__pieces_add(struct sonde__pieces *pieces, double ns)
{
    const uint64_t all = pieces->expected ? pieces->expected : 1;
    const uint64_t number = all < SONDE__PIECES ? pieces->seen : pieces->seen * SONDE__PIECES / all;
    const uint64_t at = number < SONDE__PIECES ? number : SONDE__PIECES - 1;
    pieces->sum[at] += ns;
    pieces->count[at]++;
    pieces->seen++;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of(double *values, size_t count)
{
    if (!count)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The spread of pieces of which most are equal: a coarse clock's tick, the least deviation that there is. */
static double least_deviation(const double *sorted, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (sorted[i] > 0)
            return sorted[i];
    return 0;
}

struct sonde__typical sonde__pieces_typical(const struct sonde__pieces *pieces)
{
    double means[SONDE__PIECES], deviations[SONDE__PIECES];
    struct sonde__typical typical = {0};
    for (int i = 0; i < SONDE__PIECES; i++)
        if (pieces->count[i])
            means[typical.pieces++] = pieces->sum[i] / pieces->count[i];
    typical.ns = median_of(means, typical.pieces);
    for (uint32_t i = 0; i < typical.pieces; i++)
        deviations[i] = fabs(means[i] - typical.ns);
    typical.spread_ns = 1.4826 * median_of(deviations, typical.pieces); /* that of a normal distribution */
    if (typical.spread_ns == 0)
        typical.spread_ns = least_deviation(deviations, typical.pieces);
    return typical;
}

/* What a total would be if every duration were the typical one; it varies between runs as pieces do within one. */
static struct estimate total_of(const struct sonde__single *side, bool counts_vary)
{
    const double n = (double)side->count, ns = side->typical.ns, spread = n * side->typical.spread_ns;
    if (!side->count)
        return (struct estimate){0};
    return (struct estimate){n * ns, spread * spread + (counts_vary ? n * ns * ns : 0), (double)side->typical.pieces - 1};
}

static bool says_enough(const struct sonde__single *side)
{
    return !side->count || side->typical.pieces >= SONDE__PIECES_LEAST;
}

struct sonde_diff_effect sonde__effect_within(const struct sonde__single *before, const struct sonde__single *after)
{
    const bool counts_vary = before->count != after->count;
    const struct estimate a = total_of(before, counts_vary), b = total_of(after, counts_vary);
    if (!says_enough(before) || !says_enough(after))
        return (struct sonde_diff_effect){0};
    return compare(&a, &b, after->total_ns - before->total_ns);
}

struct sonde_diff_effect sonde__ratio_within(const struct sonde__typical *before, const struct sonde__typical *after)
{
    struct estimate e[SONDE_DIFF_SIDES];
    const struct sonde__typical *const sides[] = {before, after};
    for (int i = 0; i < SONDE_DIFF_SIDES; i++) {
        const struct sonde__typical *t = sides[i];
        if (t->pieces < SONDE__PIECES_LEAST || !(t->ns > 0))
            return (struct sonde_diff_effect){0};
        e[i] = log_of((struct estimate){t->ns, t->spread_ns * t->spread_ns, (double)t->pieces - 1});
    }
    return as_ratio(compare(&e[SONDE_DIFF_BEFORE], &e[SONDE_DIFF_AFTER], e[SONDE_DIFF_AFTER].value - e[SONDE_DIFF_BEFORE].value));
}

/* Numbers that are the same are taken as the program's; others as Poisson's, which few programs' vary more than. */
struct sonde_diff_effect sonde__effect_of_counts(double before, double before_each, double after, double after_each)
{
    const double delta = after * after_each - before * before_each;
    const double error = sqrt(before * before_each * before_each + after * after_each * after_each);
    const double many = 1e6; /* degrees of freedom: nothing is estimated */
    if (delta == 0 || !(error > 0))
        return (struct sonde_diff_effect){true, delta, delta, delta == 0 ? 1 : 0};
    const double half = error * sonde_student_limit(many, SONDE_DIFF_CONFIDENCE);
    return (struct sonde_diff_effect){true, delta - half, delta + half, sonde_student_tail(delta / error, many)};
}

/* ---- many rows -------------------------------------------------------------------------------- */

double sonde__false_discovery_limit(double *p, size_t count)
{
    if (count)
        qsort(p, count, sizeof *p, by_value);
    for (size_t i = count; i > 0; i--)
        if (p[i - 1] <= SONDE_DIFF_RATE * (double)i / (double)count)
            return p[i - 1];
    return -1;
}
