/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tables of one domain share that are made of its calls' arguments, which no tally knows (file_use.h, lock_use.h,
 * occa_use.h, wait_use.h): which calls these are, and the values of their fields.
 */
#ifndef ANALYSIS_CALL_USE_H
#define ANALYSIS_CALL_USE_H

#include "stream/stream.h"

/* What an op of the domain is for the table, by its name; 0: nothing. */
typedef uint8_t call_use_fn(const char *op);

/* Likewise of any op of a trace. */
uint8_t call_use_of(const struct trace *t, const struct t_op *op, const char *domain,
		    call_use_fn *is);

/* By op; the caller's to free. NULL: no memory. */
uint8_t *call_use_ops(const struct trace *t, const char *domain, call_use_fn *is);

/* Values of the fields of these names: words[i], 0 where it is not there. Returns a bit for each that is. */
uint32_t call_use_words(const struct trace *t, const struct rec *r, const char *const *names,
			unsigned count, uint64_t *words);

#endif
