/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that a site adds: files NAME.sql of one folder, each a query over the trace's store with what the rule is in the
 * comments at its head (docs/diagnose.md). Who runs `kymo diagnose` may not have written them: they read, and no more.
 */
#ifndef ANALYSIS_SITE_RULES_H
#define ANALYSIS_SITE_RULES_H

#include "analysis/diagnose.h"

struct store;

struct site_rule {
	struct rule rule;   /* first; has no function */
	const char *text;   /* title of its findings, with {column} */
	const char *advice; /* or NULL */
	char *path;
	char *sql;          /* the whole file */
	char *head;         /* the comments, cut into the texts above */
	uint32_t text_line; /* of the file */
};

struct site_rules {
	struct site_rule **at; /* in order of their files' names; findings refer to them */
	uint32_t count, room;
};

/*
 * Reads the rules of a folder. A file with a mistake is told to `log`, with its line, and left out. False: no memory, or
 * `named` and the folder cannot be read, which is told as well; one that is not `named` may be missing.
 */
bool site_rules_read(struct site_rules *r, const char *folder, bool named, struct stream_log *log);
void site_rules_release(struct site_rules *r);

/*
 * Asks them and adds what they find to `d`, whose own rules have been asked. What is wrong with a query is told to `log` and
 * ends that rule. Both `r` and the store are borrowed; `r` until the diagnosis is released. False: no memory.
 */
bool site_rules_ask(const struct site_rules *r, struct diagnosis *d, struct store *store,
		    struct stream_log *log);

#endif
