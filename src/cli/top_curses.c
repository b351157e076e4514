/* SPDX-License-Identifier: Apache-2.0 */
/* See top_curses.h. */
#include "cli/top_curses.h"

const struct top_curses *top_curses_load(char why[LIBRARY_WHY])
{
#define ROW(name) LIBRARY_FUNCTION(struct top_curses, name, #name),
	static const struct library_function rows[] = {TOP_CURSES_FUNCTIONS(ROW)};
#undef ROW
	static const char *const names[] = {KYMO_CURSES_LIBRARY, NULL};
	static struct top_curses x;

	return library_find(names, "libncursesw6", rows, sizeof(rows) / sizeof(rows[0]), &x, why)
		       ? &x
		       : NULL;
}
