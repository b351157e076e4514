/* SPDX-License-Identifier: Apache-2.0 */
/* See value.h. */
#include "record/value.h"

const char *record_value_name(const kymo_enum_set_t *set, int64_t value)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (set->values[i].value == value)
			return set->values[i].name;
	return "?";
}
