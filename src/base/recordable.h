/* SPDX-License-Identifier: Apache-2.0 */
/* Programs into which nothing can be preloaded. */
#ifndef BASE_RECORDABLE_H
#define BASE_RECORDABLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * False: the dynamic linker of the GNU C library does not start the program, or does so in secure mode; `why`, as "is
 * statically linked". What cannot be read, or is a script, is said to be recordable. `*other` (or NULL): another dynamic
 * linker starts it, which cannot load what is for this one. Takes no lock and no memory.
 */
bool recordable(const char *path, char *why, size_t size, bool *other);

#endif
