/* SPDX-License-Identifier: Apache-2.0 */
/* Vendors' libraries; see library.h. They stay loaded: some do not bear to be unloaded. */
#include "telemetry/library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool library_find(const char *const *names, const struct library_function *functions, size_t count,
		  void *out, char why[LIBRARY_WHY])
{
	void *handle = NULL, *f;

	for (unsigned i = 0; names[i] && !handle; i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		snprintf(why, LIBRARY_WHY, "%s was not found", names[0]);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		f = dlsym(handle, functions[i].name);
		memcpy((char *)out + functions[i].offset, &f, sizeof(f));
		if (!f && !functions[i].optional) {
			snprintf(why, LIBRARY_WHY, "%s is too old: it has no function %s", names[0],
				 functions[i].name);
			dlclose(handle);
			return false;
		}
	}
	return true;
}

bool library_load(struct probe *p, const char *const *names,
		  const struct library_function *functions, size_t count, void *out)
{
	char why[LIBRARY_WHY];

	if (library_find(names, functions, count, out, why))
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
