/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known of one record, for `kymo view`: read from the raw files, which have more than a page keeps. */
#ifndef PAGE_RECORD_H
#define PAGE_RECORD_H

#include "base/text.h"
#include "stream/stream.h"

/* What a slice of the page says of its record. */
struct page_asked {
	uint32_t process;
	uint32_t thread, queue; /* indexes; 0: any */
	int64_t start, end;     /* ns since the trace began */
	uint64_t id; /* of a call, of work: of the call that submitted it; 0: not known */
	bool work;   /* a kernel or copy, at times of its device */
};

struct page_records;

/* The trace is opened when a record is first asked for. NULL: no memory. */
struct page_records *page_records_new(const char *trace, struct stream_log *log);
void page_records_free(struct page_records *p);

/*
 * Adds the answer (docs/page.md, "record") to `out`. It takes a bounded time: chunks of other times are not looked into,
 * and of a trace whose devices tell late no more than can be read in PAGE_RECORD_MS. False: the trace cannot be read.
 */
enum { PAGE_RECORD_MS = 1000 };
bool page_records_find(struct page_records *p, const struct page_asked *asked, struct text *out);

#endif
