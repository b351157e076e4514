/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why nothing of a runtime was recorded although it was used: what a traced process or the launcher
 * finds out is left in the trace as a small file each, to be told where a trace has nothing in it.
 */
#ifndef BASE_UNSEEN_H
#define BASE_UNSEEN_H

#include <stdbool.h>

#define UNSEEN_TEXT 512 /* bytes of a text at most, with the NUL */

/* Leaves `text` in the trace directory, under the name of what it is about: a domain, "preload". */
void unseen_tell(const char *trace, const char *about, const char *text);

/* Calls `told` for each text that was left there, in the order of what they are about. How many. */
unsigned unseen_told(const char *trace, void (*told)(void *data, const char *text), void *data);

/*
 * A program is started that cannot be recorded: why, as "is statically linked". Each start is counted, up to a limit; takes
 * no lock and no memory.
 */
void unseen_program(const char *trace, const char *path, const char *why);

/* Calls `told` for each program that was, of which so many `starts` were seen. */
void unseen_programs(const char *trace, void (*told)(void *data, const char *text, unsigned starts),
		     void *data);

#endif
