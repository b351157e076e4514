/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of words in values of knobs; apart from them for the library that is loaded into programs. */
#include "base/knob.h"

#include <string.h>

bool knob_list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	if (!list)
		return true;
	for (const char *p = list; *p;) {
		size_t m = strcspn(p, ",");

		if ((m == n && strncmp(p, word, n) == 0) || (m == 3 && strncmp(p, "all", 3) == 0))
			return true;
		p += m + (p[m] == ',');
	}
	return false;
}
