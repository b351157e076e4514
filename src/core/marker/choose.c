/* SPDX-License-Identifier: Apache-2.0 */
/* See choose.h. */
#include "core/marker/hide.h"

enum { KEPT = 4096 }; /* answers, by number of the name */
enum { UNKNOWN, YES, NO };

_Atomic bool marker_choosy;
static bool (*choose)(const char *domain);
static _Atomic uint8_t answers[KEPT];

void kymo_marker_choose(bool (*wanted)(const char *domain))
{
	choose = wanted;
	atomic_store(&marker_choosy, wanted != NULL);
}

bool marker_asks(const char *domain)
{
	return !atomic_load(&marker_choosy) || choose(domain);
}

static bool answer(uint32_t id, const char *domain)
{
	uint8_t known =
		id < KEPT ? atomic_load_explicit(&answers[id], memory_order_relaxed) : UNKNOWN;

	if (known == UNKNOWN) {
		known = choose(domain) ? YES : NO;
		if (id < KEPT)
			atomic_store_explicit(&answers[id], known, memory_order_relaxed);
	}
	return known == YES;
}

bool marker_asks_string(kymo_string_t *domain)
{
	const char *text = domain && domain->text ? domain->text : "";
	uint32_t id = marker_string_id(domain);

	/* A name that got no number is asked for each time. */
	return id ? answer(id, text) : choose(text);
}

bool marker_asks_id(uint32_t domain)
{
	return domain ? answer(domain, marker_string_text(domain)) : choose("");
}
