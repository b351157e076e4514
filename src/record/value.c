/* SPDX-License-Identifier: Apache-2.0 */
/* See value.h. */
#include "record/value.h"

const char *record_value_name(enum record_set set, int64_t value)
{
	const struct packed *p = RECORD_PACKED;
	const struct packed_set *s = (const struct packed_set *)packed_at(p, p->sets) + set;
	const struct packed_value *v = packed_at(p, p->values);

	for (uint32_t i = s->first_value; i < s->first_value + s->value_count; i++)
		if (v[i].value == value)
			return packed_text(p, v[i].name);
	return "?";
}
