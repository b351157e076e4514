/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as text, Markdown, CSV, JSON. */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include "analysis/diagnose.h"
#include "report/report.h"

enum { FINDINGS_EACH = 5 };

/* Of text and Markdown the first `top`, and `each` of a rule; 0: all. False: `out` could not be written to. */
bool findings_print(const struct diagnosis *d, enum report_format format, uint32_t top,
		    uint32_t each, FILE *out);

/* Writes the numbers of the tracks that a finding is seen on, with commas between them. */
typedef void finding_places(const void *data, const struct finding *f, FILE *out);

/* The array of findings alone, each with `at`: where on the timeline it can be seen, or null. */
void findings_json(const struct diagnosis *d, finding_places *put, const void *data, FILE *out);

#endif
