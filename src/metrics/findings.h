/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What limits a kernel, in words. A rule is a file in metrics/rules and a line in rules.list: it looks at metrics of a
 * kernel by their ids, says nothing where one is missing, and names the panel to open next.
 */
#ifndef METRICS_FINDINGS_H
#define METRICS_FINDINGS_H

#include "analysis/diagnose.h"
#include "metrics/report.h"

struct kernel_findings;

/* What a line of a kernel does in all launches that were instrumented or sampled. */
struct kernel_line {
	char *where;             /* "FILE:LINE", "line N", or an instruction's address */
	const char *what;        /* "load", "store", "atomic" ...; NULL: it is not one access */
	const char *kind, *unit; /* its memory; what it is counted in: sector, line, round */
	double needed, used, used_by_kernel;
	double warps, items, lanes; /* executions; work items that were active, of how many */
	double uniform, divergent;  /* branches of warps */
	const char *load, *user;    /* instructions: a load, and the first that uses it */
	uint32_t distance;          /* so many instructions behind it */
	double samples, waiting;    /* of the kernel; of these, at the user, waiting for memory */
};

struct kernel_rule {
	struct rule rule;  /* first; has no function */
	const char *panel; /* to open next */
	const char *advice;
	void (*find)(struct kernel_findings *f, const struct kernel_group *g); /* or NULL */
	/* Or NULL; of each line of which something of the kind is known. */
	void (*find_line)(struct kernel_findings *f, const struct kernel_group *g,
			  const struct kernel_line *l);
};

extern const struct kernel_rule *const kernel_rules[];
extern const uint32_t kernel_rules_count;

struct kernel_finding {
	const struct kernel_rule *rule;
	const struct kernel_group *group;
	struct text title;
	double gain; /* so many times as fast at most; NaN: nothing that follows from counters */
};

struct kernel_findings {
	const struct metric_set *set;
	const struct metric_specs *specs;
	struct store *store; /* NULL: nothing is known of lines */
	struct kernel_finding *at;
	uint32_t count, room;
	const struct kernel_rule *rule; /* that is being asked */
	bool failed;
};

/* Asks all rules of the first `most` kernels (0: all). False: no memory. */
bool kernel_findings_find(struct kernel_findings *f, const struct kernel_data *d, uint32_t most);
void kernel_findings_release(struct kernel_findings *f);

/* As a table of the report. */
void kernel_findings_report(struct report *r, const struct kernel_findings *f);

/* Adds them to what `kymo diagnose` tells. */
bool kernel_findings_tell(const struct kernel_findings *f, struct diagnosis *d);

/* ---- line_findings.c: asks the rules of lines, of the kernels that kernel_findings_find() asked ---- */

bool kernel_findings_lines(struct kernel_findings *f, const struct kernel_data *d, uint32_t most);

/* ---- for rules -------------------------------------------------------------------------------------- */

/* The value of a metric; NaN: it has none, or not of this kernel. */
double kernel_metric(struct kernel_findings *f, const struct kernel_group *g, const char *id);
/* That of the dispatch that has least. */
double kernel_metric_least(struct kernel_findings *f, const struct kernel_group *g, const char *id);

/* A finding of the rule that is asked: a sentence without full stop that names its numbers. */
void kernel_finding_add(struct kernel_findings *f, const struct kernel_group *g, const char *title,
			...) __attribute__((format(printf, 3, 4)));

/*
 * Adds to the finding that was added last a bound on what can be gained: `per_cent` of its time the kernel takes in any
 * case, `when`, the assumption. Nothing where that is unknown, or no share.
 */
void kernel_finding_bound(struct kernel_findings *f, double per_cent, const char *when);

#endif
