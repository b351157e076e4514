/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of words in values of knobs; apart from them for the library that is loaded into programs. */
#include "base/knob.h"

#include <string.h>

bool knob_list_has(const char *list, const char *word)
{
	size_t n = strlen(word);
	bool all = !list, less = false;

	for (const char *p = list; p && *p;) {
		size_t m = strcspn(p, ",");

		if (*p == '-' && m == n + 1 && strncmp(p + 1, word, n) == 0)
			return false;
		if ((m == n && strncmp(p, word, n) == 0) || (m == 3 && strncmp(p, "all", 3) == 0))
			all = true;
		less |= *p == '-';
		p += m + (p[m] == ',');
	}
	return all || less;
}

bool knob_list_names(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p && *p;) {
		size_t m = strcspn(p, ",");

		if (m == n && strncmp(p, word, n) == 0)
			return true;
		p += m + (p[m] == ',');
	}
	return false;
}
