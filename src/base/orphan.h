/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting `kymo` out of a program: a grandchild that the program's wait(), SIGCHLD and file descriptors
 * never see.
 */
#ifndef BASE_ORPHAN_H
#define BASE_ORPHAN_H

#include <stdbool.h>
#include <stddef.h>

#define ORPHAN_FDS 4u

/* Where the program `kymo` is: KYMO_BIN, or beside the library that this is in. */
bool orphan_kymo(char *out, size_t size);

/*
 * Starts the program at `path`. fd[n] becomes its descriptor n, -1: /dev/null (of 3: none); it has no others. Its
 * environment is this process's less what would trace it. `seconds`: it is killed after so long, 0: never.
 * False: it could not be started; that it cannot be executed shows in its ending alone.
 */
bool orphan_start(const char *path, char *const argv[], const int fd[ORPHAN_FDS], unsigned seconds);

#endif
