/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that are loaded by their names when they are wanted, and the functions of theirs that are used: linking them
 * would cost every program what they bring along. They stay loaded: some do not bear to be unloaded.
 *	#define FUNCTIONS(X) X(deflate) X(inflate)
 *	static struct { FUNCTIONS(LIBRARY_POINTER) } z;
 *	#define ROW(name) LIBRARY_FUNCTION(__typeof__(z), name, #name),
 *	static const struct library_function rows[] = {FUNCTIONS(ROW)};
 *	library_find(names, "zlib1g", rows, sizeof(rows) / sizeof(rows[0]), &z, why)
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
	const char *name;
	size_t offset; /* of the pointer in the structure that is filled */
	bool optional; /* NULL where the library has none */
};

#define LIBRARY_POINTER(name) __typeof__(&name) name;
#define LIBRARY_FUNCTION(structure, member, symbol)                                                \
	{                                                                                          \
		symbol, offsetof(structure, member), false                                         \
	}
#define LIBRARY_OPTIONAL(structure, member, symbol)                                                \
	{                                                                                          \
		symbol, offsetof(structure, member), true                                          \
	}

enum { LIBRARY_WHY = 256 };

/*
 * Loads the first of `names` (NULL terminated) and finds the functions. `package`: Debian's that brings it, or NULL.
 * False: `why` says why not, and `out` is not to be used.
 */
bool library_find(const char *const *names, const char *package,
		  const struct library_function *functions, size_t count, void *out,
		  char why[LIBRARY_WHY]);

#endif
