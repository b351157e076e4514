/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a trace as `kymo view` draws them before all of it was read: of a window whatever is in it, where that is not
 * much, else what is in shorter windows spread over it.
 */
#ifndef PAGE_GLANCE_H
#define PAGE_GLANCE_H

#include "base/text.h"
#include "stream/filter.h"

struct page_glances;

enum { GLANCE_EFFORTS = 2 };

/*
 * Of what `filter` selects (NULL: everything). *out is NULL where the trace cannot be read, or there is no memory: whoever
 * reads all of it says why. Not KYMO_OK: the trace has not what was selected, and the filter's log says so.
 */
kymo_status_t page_glances_new(const char *trace, const struct stream_filter *filter,
			       struct page_glances **out);
/* Comes first: reads what tells which records are selected; of most selections nothing. False: they cannot be told. */
bool page_glances_look(struct page_glances *g);
void page_glances_free(struct page_glances *g);

/*
 * Of [start, end), ns since the trace began: u64 bytes of the head, the head (docs/page.md, "glance"), the sections.
 * With one more `effort` (below GLANCE_EFFORTS) four times as much is read. Who asks meanwhile waits. False: no memory, or the
 * temporary folder is full.
 */
bool page_glance(struct page_glances *g, int64_t start, int64_t end, unsigned effort,
		 struct text *out);

/* Makes that of all of the trace, [0, INT64_MAX), beforehand: each page begins with it. */
bool page_glance_first(struct page_glances *g);

#endif
