/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables by which the launcher tells a process what to do, KYMO_*. A program that it starts has them in
 * its environment; one that ran already is brought them, and its environment stays as it is.
 */
#ifndef BASE_VARIABLES_H
#define BASE_VARIABLES_H

/*
 * `words` is NAME=VALUE for each, every one with its zero, and a zero after the last; borrowed until others are
 * brought. NULL: what the environment has counts again. Each library has its own (this is linked into each).
 */
void variables_bring(const char *words);

/* The value, borrowed; NULL: there is none. Any thread. */
const char *variable(const char *name);

#endif
