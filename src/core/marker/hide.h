/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an annotation is of a domain that is not followed; see choose.h. */
#ifndef CORE_MARKER_HIDE_H
#define CORE_MARKER_HIDE_H

#include "core/capture.h"
#include "core/marker/choose.h"
#include "core/marker/marker.h"

extern _Atomic bool marker_choosy;

bool marker_asks_string(kymo_string_t *domain);
bool marker_asks_id(uint32_t domain);

/* Nothing where nobody chose. */
static inline bool marker_hides(const kymo_marker_t *k)
{
	return cap_unlikely(atomic_load_explicit(&marker_choosy, memory_order_relaxed)) &&
	       !marker_asks_string(k && k->size >= sizeof(*k) ? k->domain : NULL);
}

static inline bool marker_hides_id(uint32_t domain)
{
	return cap_unlikely(atomic_load_explicit(&marker_choosy, memory_order_relaxed)) &&
	       !marker_asks_id(domain);
}

#endif
