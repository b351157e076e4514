/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call and which range a sample lies in, where that was not known when it was taken: records
 * pass in order of their start, so the calls and ranges that are open at a moment are a stack for
 * each thread. What a filter leaves out is not seen.
 */
#ifndef FORMATS_RAW_WITHIN_H
#define FORMATS_RAW_WITHIN_H

#include "formats/raw/chunk.h"

struct within;

struct within *within_new(const struct trace *t);
void within_free(struct within *w);

/* Every record, in order. Samples get their call and scope. */
void enclosing_scope_update(struct within *w, enum raw_kind kind, union raw_any *any);

#endif
