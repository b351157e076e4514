/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is to take another's place, in one step: whoever opens that name finds the one or the
 * other, whole. Until then it has no name, where the file system can have such files: who removes the
 * folder meanwhile does not come upon it, and nothing stays of it when this process is killed.
 */
#ifndef DRAIN_REPLACE_H
#define DRAIN_REPLACE_H

#include <limits.h>
#include <stdbool.h>

struct replacement {
	int folder;              /* that both lie in, wherever that is moved to; borrowed */
	int fd;                  /* appends; -1: there is none */
	char name[NAME_MAX + 1]; /* whose place it takes */
	char own[NAME_MAX + 1];  /* "": none */
};

/* False: errno. */
bool replacement_begin(struct replacement *r, int folder, const char *name);

/*
 * False: errno, ENOENT that there is no file of that name any more, which stays so. The descriptor
 * stays open in any case.
 */
bool replacement_take_place(struct replacement *r);

/* Closes what is open, and removes what has not taken its place. */
void replacement_end(struct replacement *r);

/*
 * Removes what those have left who were killed at files of that suffix, where files need names. Nobody
 * writes to the folder: what somebody else is just replacing there may stay as it is.
 */
void replacement_sweep(int folder, const char *suffix);

#endif
