/* SPDX-License-Identifier: Apache-2.0 */
/* See top_curses.h. */
#include "cli/top_curses.h"

#include <dlfcn.h>

const struct top_curses *top_curses_load(void)
{
	static struct top_curses x;
	static void *library;

	if (library)
		return &x;
	library = dlopen(KYMO_CURSES_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return NULL;
#define TOP_CURSES_FUNCTION(name)                                                                  \
	x.name = (__typeof__(x.name))dlsym(library, #name);                                        \
	if (!x.name)                                                                               \
		x.name = (__typeof__(x.name))dlsym(RTLD_DEFAULT, #name);                           \
	if (!x.name)                                                                               \
		return library = NULL;
	TOP_CURSES_FUNCTIONS(TOP_CURSES_FUNCTION)
#undef TOP_CURSES_FUNCTION
	return &x;
}
