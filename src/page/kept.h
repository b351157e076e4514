/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a page in a file beside its trace, for `kymo view`: head, directory of sections, sections. */
#ifndef PAGE_KEPT_H
#define PAGE_KEPT_H

#include "page/page.h"

struct page_kept {
	int fd;
	uint64_t head, head_bytes; /* where, how many */
	uint64_t data;
	struct section *at;
	uint32_t count;
};

/*
 * What the data is made of: names, sizes and times of the raw files below `trace`, and the version of Kymo. Two traces
 * that differ have two.
 */
uint64_t page_kept_of(const char *trace);

/* Writes `path` anew. False: errno says why. */
bool page_kept_write(const struct page *p, const char *path, uint64_t of);

/* False: there is none, it is of something else, or damaged. */
bool page_kept_open(struct page_kept *k, const char *path, uint64_t of);
void page_kept_close(struct page_kept *k);

#endif
