/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncurses, loaded by its name when a live view is wanted: linking it would cost every other command its pages. NULL
 * where it cannot be loaded; `why` says why.
 */
#ifndef CLI_TOP_CURSES_H
#define CLI_TOP_CURSES_H

#define NCURSES_NOMACROS         1
#define NCURSES_WIDECHAR         1
#define NCURSES_ENABLE_STDBOOL_H 0
#include <curses.h>
#include <stdio.h>

#include "base/library.h"

#define TOP_CURSES_FUNCTIONS(X)                                                                    \
	X(newterm)                                                                                 \
	X(delscreen)                                                                               \
	X(set_term)                                                                                \
	X(newwin)                                                                                  \
	X(delwin)                                                                                  \
	X(cbreak)                                                                                  \
	X(noecho)                                                                                  \
	X(keypad)                                                                                  \
	X(nodelay)                                                                                 \
	X(curs_set)                                                                                \
	X(wgetch)                                                                                  \
	X(resizeterm)                                                                              \
	X(endwin)                                                                                  \
	X(doupdate)                                                                                \
	X(wnoutrefresh)                                                                            \
	X(werase)                                                                                  \
	X(wmove)                                                                                   \
	X(waddnstr)                                                                                \
	X(wattrset)                                                                                \
	X(wresize)                                                                                 \
	X(clearok)                                                                                 \
	X(tigetstr)

struct top_curses {
	TOP_CURSES_FUNCTIONS(LIBRARY_POINTER)
};

const struct top_curses *top_curses_load(char why[LIBRARY_WHY]);

#endif
