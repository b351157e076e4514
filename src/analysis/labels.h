/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of tallies are called, by each of the keys a summary can be made by. */
#ifndef ANALYSIS_LABELS_H
#define ANALYSIS_LABELS_H

#include "analysis/summary.h"
#include "base/text.h"

struct dimension {
	unsigned by; /* enum summary_by */
	const char *name, *heading;
	bool internal; /* not for users to choose */
};
extern const struct dimension dimensions[];
extern const unsigned dimension_count;

/* Which dimensions a kind of tally knows. */
unsigned dimensions_of(enum tally_kind kind);

/* Adds the label of the row for one dimension that its kind knows. */
void label_add(struct text *out, const struct summary *s, enum tally_kind kind,
	       const struct tally *row, unsigned by);

/* The thread of a row whose kind knows it. */
uint32_t label_thread_of(enum tally_kind kind, const struct tally *row);

/* The queue, likewise. */
uint32_t label_queue_of(enum tally_kind kind, const struct tally *row);

/* "opencl:GPU name", told apart by a number where a process has several of the name. */
void label_agent(struct text *out, const struct trace *t, uint32_t agent);

/* "domain:name" of an annotation, the domain where the program uses them. */
void label_range(struct text *out, const struct trace *t, uint32_t domain, uint32_t name);

/* What a row of TALLY_COPY or TALLY_COPY_SIZE is: bytes moved, made by the device, or mapped. */
enum transfer { TRANSFER_COPY, TRANSFER_FILL, TRANSFER_MAP };
enum transfer label_transfer(const struct trace *t, const struct tally *row);

#endif
