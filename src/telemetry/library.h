/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's library, by dlopen: the launcher needs none of them. */
#ifndef TELEMETRY_LIBRARY_H
#define TELEMETRY_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "telemetry/source.h"

struct library_function {
	const char *name;
	size_t offset; /* of the pointer in the structure that is filled */
	bool optional;
};

#define LIBRARY_FUNCTION(structure, member, symbol)                                                \
	{                                                                                          \
		symbol, offsetof(structure, member), false                                         \
	}
#define LIBRARY_OPTIONAL(structure, member, symbol)                                                \
	{                                                                                          \
		symbol, offsetof(structure, member), true                                          \
	}

enum { LIBRARY_WHY = 160 };

/* Loads the first of `names` (NULL terminated) and finds the functions. False: `why` says why not. */
bool library_find(const char *const *names, const struct library_function *functions, size_t count,
		  void *out, char why[LIBRARY_WHY]);

/* The same for a source; false: the probe was told. */
bool library_load(struct probe *p, const char *const *names,
		  const struct library_function *functions, size_t count, void *out);

/* "GPU-01234567-89ab-..." or plain digits to 16 bytes. False: there are not 32 digits. */
bool library_uuid(const char *text, uint8_t out[16]);

#endif
