/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up in the table of formats. */
#include <string.h>

#include "formats/format.h"

const struct format *format_find(const char *name)
{
	for (const struct format *const *f = format_table; *f; f++) {
		if (strcmp((*f)->name, name) == 0)
			return *f;
	}
	return NULL;
}
