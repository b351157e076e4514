/* SPDX-License-Identifier: Apache-2.0 */
/* The run of a page held against another one: as `kymo compare` says it, of the page's run as A and the other as B. */
#ifndef PAGE_COMPARISON_H
#define PAGE_COMPARISON_H

#include <stdio.h>

#include "analysis/compare.h"

struct page;
struct page_data;

struct comparison {
	const char *with,
		*name; /* borrowed: the other trace, and what people know it as; NULL: there is none */
	struct compare compare;
	struct report people, programs;
};

/* Of what o->filter selects of both. On failure the log says why; comparison_release() in any case. */
kymo_status_t comparison_read(struct comparison *c, const char *trace,
			      const struct format_options *o);
void comparison_release(struct comparison *c);

/* As a member of the head (docs/page.md); `title`: what people know the page's run as. */
void comparison_put(FILE *out, const struct comparison *c, const struct page_data *d,
		    const char *title);

#endif
