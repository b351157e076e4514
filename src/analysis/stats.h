/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of two groups of numbers: whether they differ, by how much, and how small a difference would
 * have been seen. The values are few (runs, or blocks of a run), so tests are exact where they can be, and
 * nothing here draws random numbers: the same input gives the same answer.
 */
#ifndef ANALYSIS_STATS_H
#define ANALYSIS_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Student's t: probability of less than `t`, and the value below which `p` lies; the same of a normal distribution. */
double stats_t_below(double t, double freedom);
double stats_t_at(double p, double freedom);
double stats_normal_below(double z);
double stats_normal_at(double p);

double stats_mean(const double *x, size_t n);
/* Of the sample: divided by n - 1; 0 of fewer than two. */
double stats_variance(const double *x, size_t n);
/* Sorts `x`. */
double stats_median(double *x, size_t n);

/* What two groups say of the shift from the first to the second. */
struct stats_shift {
	double shift;     /* estimate */
	double low, high; /* interval that holds it in 95 of 100 cases */
	double p;         /* two-sided: of so great a shift where there is none */
	double error;     /* standard deviation of `shift`, for what could have been seen */
	double freedom;   /* of `error` */
	bool ranks;       /* by ranks, else by t */
};

/* Least p that ranks of so many values can give. */
double stats_rank_least(size_t a, size_t b);

/*
 * By ranks: Mann-Whitney's test, exact with ties up to 40 values together; median of all differences
 * (Hodges, Lehmann), and the interval of differences that the test would not reject. False: no memory.
 */
bool stats_by_ranks(const double *a, size_t na, const double *b, size_t nb,
		    struct stats_shift *out);

/* By means: Student's test of equally many, else Welch's. A group is taken to vary by `floor` (a standard deviation) at least. Both need two values. */
void stats_by_means(const double *a, size_t na, const double *b, size_t nb, double floor,
		    struct stats_shift *out);

/* With a standard deviation of single values, known with so many degrees of freedom. */
void stats_by_known(double a, size_t na, double b, size_t nb, double deviation, double freedom,
		    struct stats_shift *out);

/* Holm: `p` of several tests becomes what each is worth as one of them. False: no memory. */
bool stats_holm(double *p, size_t n);

/* The least shift that a test at level `alpha` sees in 4 of 5 cases. */
double stats_detectable(const struct stats_shift *s, double alpha);

#endif
