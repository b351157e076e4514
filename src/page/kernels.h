/* SPDX-License-Identifier: Apache-2.0 */
/* How well kernels use their device, as `kymo kernels` tells it, in pages and documents: of traces with counters of kernels. */
#ifndef PAGE_KERNELS_H
#define PAGE_KERNELS_H

#include "analysis/diagnose.h"
#include "analysis/summary.h"
#include "page/draw.h"

enum {
	PAGE_KERNELS_MOST = 24, /* that have panels: those that took most time */
	PAGE_ROOFLINES_MOST = 8 /* devices */
};

struct page_kernels;

/*
 * Of what o->filter selects; the store is built where it is needed. *out: NULL where there is nothing to tell, or no store,
 * which the log says. Metrics are Kymo's and those of the file (NULL: none). What limits kernels is added to `d` (may be NULL) as `kymo diagnose` does. False: no memory.
 */
/* False: the file (NULL: there is none) has mistakes, which `error` tells. */
bool page_kernels_check(const char *metrics_file, char *error, size_t size);
bool page_kernels_read(struct page_kernels **out, const struct summary *s, struct diagnosis *d,
		       const char *metrics_file, const struct format_options *o);
void page_kernels_release(struct page_kernels *k);

/* As a member of the head (docs/page.md); NULL: null. */
void page_kernels_put(FILE *out, const struct page_kernels *k);

/* For documents, and for workbooks; NULL: there is nothing. */
const struct report *page_kernels_people(const struct page_kernels *k);
const struct report *page_kernels_programs(const struct page_kernels *k);

/* Devices that have points and roofs, and the roofline of one of them. */
unsigned page_kernels_rooflines(const struct page_kernels *k);
void page_kernels_draw(const struct page_kernels *k, unsigned number, struct draw *d);

#endif
