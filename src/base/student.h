/* student.h - Student's t distribution, for intervals and tests of means. Any thread.
 *
 * By the regularized incomplete beta function: DLMF 8.17.22, and Abramowitz and Stegun 26.7.1.
 */
#ifndef SONDE_BASE_STUDENT_H
#define SONDE_BASE_STUDENT_H

/* How probable is it that |T| is at least |t|, with `freedom` degrees of freedom (above 0, not only whole ones)? 0 of an infinite t. */
double sonde_student_tail(double t, double freedom);

/* The t that |T| does not exceed with probability `confidence`, .95: half the width of an interval, in standard errors. */
double sonde_student_limit(double freedom, double confidence);

#endif
