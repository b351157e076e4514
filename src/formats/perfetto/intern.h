/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of strings with small numbers, for the interned strings of one packet sequence. Its size
 * is bounded: once it is full, unknown strings get no number and are written out in place.
 */
#ifndef FORMATS_PERFETTO_INTERN_H
#define FORMATS_PERFETTO_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum { INTERN_LAST = 128 };

struct intern {
	struct map numbers; /* by hash of the string */
	const char **texts; /* by number - 1; copies */
	uint32_t count, room;
	size_t bytes;
	/* The last ones that intern_known() was asked for, by where the text lies. */
	struct intern_place {
		const char *text;
		uint32_t number;
	} last[INTERN_LAST];
};

/*
 * Number of `text` from 1 on; *fresh tells whether it was new. 0: the table is full (or there is no
 * memory) and `text` is not in it.
 */
uint32_t intern_get(struct intern *t, const char *text, bool *fresh);

static inline struct intern_place *intern_place(struct intern *t, const char *text)
{
	return &t->last[((uintptr_t)text >> 3 ^ (uintptr_t)text >> 10) % INTERN_LAST];
}

/* Number of a text that lies where it does for as long as the table; 0: it is to be looked up. */
static inline uint32_t intern_known(struct intern *t, const char *text)
{
	const struct intern_place *p = intern_place(t, text);

	return p->text == text ? p->number : 0;
}

/* The table's own copy of string `number`. */
const char *intern_text(const struct intern *t, uint32_t number);

void intern_release(struct intern *t);

#endif
