/* SPDX-License-Identifier: Apache-2.0 */
/* From rows, curves and messages to the sections of a page. */
#ifndef PAGE_ENCODE_H
#define PAGE_ENCODE_H

#include "page/data.h"
#include "page/section.h"

/* What a record keeps in the page. */
struct page_plan {
	unsigned shift; /* times are multiples of 2^shift ns */
	bool links;     /* which call submitted it, bytes, messages */
	bool ids;       /* numbers by which `kymo view` finds the record in the store */
	uint64_t most;  /* slices of a row, its longest; UINT64_MAX: all */
};

struct page_level { /* of a row or a curve */
	unsigned shift;
	uint32_t bins, section, offset;
};

struct page_place { /* of a block */
	int64_t start, end;
	uint64_t busy, first; /* first: number of its first slice in its row */
	uint32_t count, section;
};

struct page_parts { /* of a row or a curve */
	struct page_level levels[16];
	uint32_t level_count;
	struct page_place *places;
	uint32_t place_count;
};

struct page_encoded {
	struct sections sections;
	struct page_parts *rows, *curves, messages;
	uint32_t row_count, curve_count;
	struct section_mark levels; /* behind those that no plan changes */
	uint32_t search;            /* section */
	uint64_t shorter;           /* slices that are in levels alone */
};

kymo_status_t page_encode_init(struct page_encoded *e, struct page_temporary where);
/* Of data that is finished: levels and curves, which are in every page. Comes first. */
kymo_status_t page_encode_levels(struct page_encoded *e, const struct page_data *d);
/* Without levels of rows: of so few slices that they can be drawn themselves. */
kymo_status_t page_encode_curves(struct page_encoded *e, const struct page_data *d);
/* Slices and messages; with another plan again. */
kymo_status_t page_encode_slices(struct page_encoded *e, const struct page_data *d,
				 const struct page_plan *p,
				 void (*progress)(void *data, double done), void *progress_data);
void page_encode_release(struct page_encoded *e);

/* Bytes that slices would take with this plan, by some of the blocks. Below 0: no memory, or they cannot be read. */
double page_encode_estimate(struct page_encoded *e, const struct page_data *d,
			    const struct page_plan *p);

#endif
