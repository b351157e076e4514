/* SPDX-License-Identifier: Apache-2.0 */
/* What a command makes for a while: gone as well where a signal ends it. */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>

/* Where temporary files go: TMPDIR, else what temporary_place() has said, else /tmp. */
const char *temporary_directory(void);

/* From now on (copied; NULL: nowhere): beside what a command makes there is room for as much. */
void temporary_place(const char *directory);

/* A new file in `directory` that has no name there; below 0: errno says why not. */
int temporary_file(const char *directory);

/*
 * SIGINT, SIGTERM and SIGHUP (where they would end the process) remove the file, or the folder with what is in it,
 * before they do. More than a few at a time are not watched.
 */
void temporary_add(const char *path);

/* It is no longer there under that name. */
void temporary_done(const char *path);

/* As when a signal ends the process: all that is there is removed. The process is to end then, by _exit(2). */
void temporary_end(void);

/*
 * A new folder, named `name` and what nobody can foresee, that this process holds until it ends or *hold is closed: -1
 * where the file system cannot. temporary_add() knows it.
 */
bool temporary_folder(char *name, size_t room, int *hold);

/* Removes one's own folders with names of that beginning that were made so, and that nobody holds. */
void temporary_sweep(const char *folder, const char *prefix);

#endif
