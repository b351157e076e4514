/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording on a disk of the node: raw files are written into a folder there and brought into the
 * trace when they are complete, so that while the program runs nothing goes to a shared file system.
 */
#ifndef DRAIN_COLLECT_H
#define DRAIN_COLLECT_H

#include <limits.h>
#include <stdbool.h>

/* Makes a new folder in `dir` with raw/ in it. `cwd` is where a relative `dir` starts. False: errno,
 * and `folder` is "". */
bool collect_begin(char folder[PATH_MAX], const char *dir, const char *cwd);

/* Called before a file appears under its new name. */
struct collect_note {
	void (*name)(void *data, unsigned number, const char *path);
	void *data;
	unsigned number;
};

/* Moves a finished file into raw/ of the trace; *path is its new place. False: errno, it stays. */
bool collect_file(char path[PATH_MAX], const char *trace, const struct collect_note *note);

/* Removes the folder unless a file has stayed there. */
void collect_end(const char *folder);

#endif
