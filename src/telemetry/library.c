/* SPDX-License-Identifier: Apache-2.0 */
/* Vendors' libraries; see library.h. */
#include "telemetry/library.h"

#include <ctype.h>
#include <string.h>

bool library_load(struct probe *p, const char *const *names,
		  const struct library_function *functions, size_t count, void *out)
{
	char why[LIBRARY_WHY];

	if (library_find(names, NULL, functions, count, out, why))
		return true;
	meter_missing(p, "%s", why);
	return false;
}

bool library_uuid(const char *text, uint8_t out[16])
{
	const char *p =
		strncmp(text, "GPU-", 4) == 0 || strncmp(text, "MIG-", 4) == 0 ? text + 4 : text;
	unsigned n = 0;

	for (; *p && n < 32; p++) {
		unsigned digit;

		if (*p == '-')
			continue;
		if (!isxdigit((unsigned char)*p))
			return false;
		digit = isdigit((unsigned char)*p)
				? (unsigned)(*p - '0')
				: (unsigned)(tolower((unsigned char)*p) - 'a' + 10);
		out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] | digit : digit << 4);
		n++;
	}
	return n == 32 && !*p;
}
