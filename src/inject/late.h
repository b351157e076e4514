/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doors of a program that runs already. What would have been preloaded is loaded now, and the places where the
 * program's objects keep the addresses of functions (their global offset tables) lead there. Each place is one
 * aligned word, so that threads which run meanwhile call the one or the other.
 */
#ifndef INJECT_LATE_H
#define INJECT_LATE_H

#include <stdbool.h>
#include <stddef.h>

/* Enters what the launcher's variables name. What cannot be entered any more is added to `missed`, a line each. */
void late_enter(char *missed, size_t size);

/* Objects that were loaded since then. False: there are none. */
bool late_enter_more(void);

/* The places lead where they did. Doors stay loaded: threads may be inside. */
void late_leave(void);

#endif
