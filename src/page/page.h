/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as one HTML file that shows it: docs/page.md has its layout. It needs nothing from elsewhere, and what is in
 * it is inert data but for the script that the build has put into Kymo.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdio.h>

#include "analysis/diagnose.h"
#include "analysis/summary.h"
#include "page/clusters.h"
#include "page/comparison.h"
#include "page/encode.h"
#include "page/flames.h"
#include "page/kernels.h"
#include "page/matrix.h"
#include "report/report.h"

enum {
	PAGE_TABLE_ROWS = 10000, /* of a table, that a page has */
	PAGE_WINDOWS_MOST = 64
};

struct page {
	uint64_t size;                /* bytes that it should have at most; 0: whatever is needed */
	struct comparison comparison; /* made by page_read(), where `with` names another trace */
	bool without_kernels;         /* nobody asks for them */
	const char *metrics_file;     /* that adds metrics of kernels; NULL: none does */
	/* Made by page_make(). */
	const struct summary *summary;
	const struct diagnosis *diagnosis; /* NULL: the trace has no records to judge */
	struct clusters clusters;
	struct page_data data;
	struct flames flames;
	struct matrix matrix;
	struct page_kernels *kernels; /* NULL: the trace has no counters of kernels */
	struct members members;
	struct page_encoded encoded;
	struct page_plan plan;
	struct report people, programs;
	struct summary read;
	struct diagnosis findings;
	struct symbols *symbols;
};

/* Of raw files, or what o->filter selects; `p` is zero but for what stands before that. Temporary files lie in `folder`. To be released in any case. */
kymo_status_t page_make(struct page *p, const char *trace, const char *folder,
			const struct format_options *o);
/*
 * Summary, findings, tables, curves of counters and (`flames`) what flame graphs are made of, without what else the
 * timeline draws: document.h. All but the summary is of one pass over the records.
 */
kymo_status_t page_read(struct page *p, const char *trace, const char *folder, bool flames,
			const struct format_options *o);
/* Behind page_read() without them. */
kymo_status_t page_read_flames(struct page *p, const struct format_options *o);
void page_release(struct page *p);

/* What people know the trace as: of another tool's file that is read for a while, that file. */
static inline const char *page_title(const struct page *p)
{
	return p->read.trace->imported ? p->read.trace->path : p->read.path;
}

/* What a part of a trace was read of, in ns since it began: windows in order of time, from `start` up to `end`, which is not in it. */
struct page_glance {
	int64_t start, end;
	struct page_window {
		int64_t start, end;
	} at[PAGE_WINDOWS_MOST];
	uint32_t count;
	bool late; /* what devices told much later is not there */
};

/* What the page has beside its sections, or of a part of a trace what draws it; to be released. NULL: no memory. */
char *page_head(const struct page *p, const struct page_glance *glance, size_t *bytes);

/* The tables of a report as a member of it. */
void page_put_tables(FILE *out, const struct report *r);

/* The critical path as a member of it, path.c. */
void page_put_path(FILE *out, const struct page *p);

/* What tells kernels in little room, likewise, briefs.c. */
void page_put_briefs(FILE *out, const struct page_data *d);

/* Chooses what records keep so that the page has p->size bytes at most, and makes its sections. */
kymo_status_t page_fit(struct page *p, void (*progress)(void *data, double done),
		       void *progress_data);

/* Bytes of the page as it is planned; 0: no memory. */
uint64_t page_size(const struct page *p);

/* Bytes of the parts of a page. */
struct page_bytes {
	uint64_t head, tables, data, bundle; /* tables: those that are read without a script */
};

/* False: `out` could not be written to (errno), or there was no memory. */
bool page_write(const struct page *p, FILE *out, struct page_bytes *bytes);

/* The page without its data, which its script asks whoever serves it for. */
void page_write_served(const char *name, FILE *out);

/* ---- made by the build (embed.py): the script and style of the page, and what its policy knows them by ---- */

struct page_bundle {
	const unsigned char *data;
	size_t bytes;
	const char *hash; /* "sha256-..." */
};
extern const struct page_bundle page_script, page_style;

#endif
