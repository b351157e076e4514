/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of foreign annotation interfaces: values that the program takes itself, recorded as those
 * of any other counter. They live until the process ends and may be used from any thread.
 */
#ifndef CORE_ANNOTATION_COUNTER_H
#define CORE_ANNOTATION_COUNTER_H

#include <kymo/publish.h>

#include "core/annotation/string.h"

struct annotation_counter;

/*
 * The counter of that name, the same for equal names; `domain` is who says it, `description` may be
 * NULL. NULL: no name, or no memory.
 */
struct annotation_counter *annotation_counter(kymo_string_t *name, kymo_string_t *domain,
					      const char *description);

/* Its value at a time of the clock; at 0, and at times that cannot be, it is that of now. */
void annotation_count(struct annotation_counter *c, double value, kymo_clock_t clock,
		      uint64_t time);

/* A value that is a number, as one. */
static inline double annotation_number(const kymo_payload_t *p)
{
	return p->type == KYMO_PAYLOAD_DOUBLE  ? p->value.d
	       : p->type == KYMO_PAYLOAD_INT64 ? (double)p->value.i
					       : (double)p->value.u;
}

#endif
