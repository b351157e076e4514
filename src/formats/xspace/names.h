/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with numbers from 1 on, as a plane has them for its events and for its stats. */
#ifndef FORMATS_XSPACE_NAMES_H
#define FORMATS_XSPACE_NAMES_H

#include "base/map.h"
#include "base/text.h"

struct names {
	struct map numbers; /* by hash */
	char **texts;       /* by number - 1 */
	uint32_t count, room;
	size_t bytes;
};

/* The number of that text, which is added; bytes that are no text become U+FFFD. 0: no memory. */
uint32_t names_get(struct names *n, struct text *scratch, const char *s, size_t length);

void names_release(struct names *n);

#endif
