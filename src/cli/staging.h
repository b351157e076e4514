/* SPDX-License-Identifier: Apache-2.0 */
/* An output that takes its place when it is whole: what was there before stays until then, and if nothing comes of it. */
#ifndef CLI_STAGING_H
#define CLI_STAGING_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include <kymo/status.h>

struct staging {
	char path[PATH_MAX];   /* what to write; nothing is there yet, unless `as_it_is` */
	char target[PATH_MAX]; /* links resolved: what it replaces belongs where they lead */
	mode_t mode;           /* of the file that is replaced; 0: there is none */
	bool folder;           /* of files */
	bool into;             /* the folder is there: the files go into it, beside what it has */
	bool as_it_is;         /* a device or a pipe, which cannot be replaced */
	bool force;
};

/*
 * Says why `output` cannot be: it is there already and `force` is not given, or lies in one of the
 * `traces` that are read.
 */
kymo_status_t staging_begin(struct staging *s, const char *output, bool folder, bool force,
			    char *const *traces);

/* Once something is written to: nobody may read more of it than of what it replaces. */
void staging_opened(const struct staging *s);

/* `ok`: it takes its place; else it is removed. */
kymo_status_t staging_end(struct staging *s, bool ok);

#endif
