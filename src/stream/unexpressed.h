/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a format cannot say: counted while it is written, told once at the end, so that nothing is
 * left out silently.
 */
#ifndef STREAM_UNEXPRESSED_H
#define STREAM_UNEXPRESSED_H

#include "stream/stream.h"

#define UNEXPRESSED_KINDS 32

struct unexpressed {
	struct {
		const char *what; /* static, in the plural: "arguments of calls" */
		uint64_t count;
	} rows[UNEXPRESSED_KINDS];
};

/* Counts `n` more of `what`, which is the same pointer each time; the last row takes what has no
 * room. */
static inline void unexpressed_add(struct unexpressed *u, const char *what, uint64_t n)
{
	uint32_t i = 0;

	while (i < UNEXPRESSED_KINDS - 1 && u->rows[i].what && u->rows[i].what != what)
		i++;
	if (!u->rows[i].what)
		u->rows[i].what = i < UNEXPRESSED_KINDS - 1 ? what : "other things";
	u->rows[i].count += n;
}

/* A warning: "OTF2 has no place for: 12 arguments of calls, ..."; nothing if all was said. */
void unexpressed_tell(const struct unexpressed *u, const char *format, struct stream_log *log);

#endif
