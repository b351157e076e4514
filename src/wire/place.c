/* SPDX-License-Identifier: Apache-2.0 */
/* What does not lie at its place itself; see place.h. */
#include "wire/place.h"

struct wire_stop wire_put_found(uint8_t *p, uint8_t *limit, uint64_t base,
				const struct wire_place *w, unsigned kind, uint64_t v,
				unsigned text)
{
	const char *s = (const char *)(uintptr_t)v;

	if (kind != KYMO_KIND_STRING)
		return wire_put_word(p, base, v & wire_masks[w->size],
				     kind == KYMO_KIND_POINTER || kind == KYMO_KIND_HANDLE);
	if (!s || !text)
		return (struct wire_stop){p, 0};
	return wire_put_array(p, limit, s, strnlen(s, 1u << 20), 1, text);
}
