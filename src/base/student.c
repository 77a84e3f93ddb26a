/* student.c - see student.h. */
#include "student.h"

#include <float.h>
#include <math.h>

/* The continued fraction of the incomplete beta function, DLMF 8.17.22, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1), h;
    d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
    h = d;
    for (int m = 1; m <= 1000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
        c = 1 + even / c;
        c = fabs(c) < DBL_MIN ? DBL_MIN : c;
        h *= d * c;
        d = 1 + odd * d;
        d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
        c = 1 + odd / c;
        c = fabs(c) < DBL_MIN ? DBL_MIN : c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return h;
}

/* Regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double sonde_student_tail(double t, double freedom)
{
    return isfinite(t) ? beta(freedom / 2, .5, freedom / (freedom + t * t)) : 0;
}

double sonde_student_limit(double freedom, double confidence)
{
    double low = 0, high = 1;
    while (sonde_student_tail(high, freedom) > 1 - confidence && high < 1e15)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        if (sonde_student_tail(middle, freedom) > 1 - confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}
