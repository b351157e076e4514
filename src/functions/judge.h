/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of functions_judge(): which bytes nothing may lead to, and whose they are. */
#ifndef FUNCTIONS_JUDGE_H
#define FUNCTIONS_JUDGE_H

#include "functions/functions.h"

struct judge {
	struct functions *f;
	struct decoder *d;
	uint8_t *inside
		[IMAGE_SEGMENTS]; /* a bit for each byte of a segment with code: covered, and not the first */
	uint64_t
		budget; /* bytes that may still be decoded: symbols may claim any size, again and again */
	bool unnamed; /* a runtime of runtimes.c is in the file: functions without names may be its own */
	bool unframed; /* the same of those without call frame information */
	bool luajit;   /* the file is LuaJIT's, or linked with it */
	bool framed;   /* most functions have call frame information */
};

/* The address is in covered bytes, behind the first. */
bool judge_inside(const struct judge *j, uint64_t at);
/* If it is, the function is refused. */
void judge_lead(struct judge *j, uint64_t at, enum verdict v);

/* ---- runtimes.c ---- */

/* What the functions of the file tell, all of them: before the others here are asked. */
void judge_runtimes(struct judge *j);
/* VERDICT_RUNTIME, or VERDICT_CHOSEN. */
enum verdict judge_runtime(const struct judge *j, const struct function *x);
/* How it is called is known to its own code alone: others have call frame information, and it no name that other objects were linked by. */
bool judge_unframed(const struct judge *j, const struct function *x);

/* ---- scan.c: branches, and addresses that are taken ---- */
void judge_scan(struct judge *j);

/* ---- data.c ---- */

/* Addresses in data that lead into covered bytes. */
void judge_data(struct judge *j);
/* Marks functions that relocations name as resolvers of indirect functions. */
void judge_resolvers(struct functions *f);
/* Marks sites that the compiler lists. */
void judge_listed(struct functions *f);

/* ---- body.c ---- */

/* Decodes all of the function: its size, loops, jump tables. */
void judge_body(struct judge *j, struct function *x);

#endif
