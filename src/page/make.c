/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace for its page: see page.h. */
#include "page/page.h"

#include <string.h>

#include "analysis/device_legend.h"
#include "stream/large.h"

static kymo_status_t judge(struct page *p, const struct format_options *o)
{
	struct summary *s = &p->read;

	p->findings = (struct diagnosis){.whole_names = true};
	if (!s->timeline)
		return KYMO_OK;
	p->symbols = symbols_new(s->trace, o->log);
	if (!p->symbols || !diagnose(&p->findings, s->path, s->timeline, s->tallies, p->symbols))
		return KYMO_ERROR_NO_MEMORY;
	p->diagnosis = s->diagnosis = &p->findings;
	return KYMO_OK;
}

static kymo_status_t make_tables(struct page *p)
{
	struct summary *s = &p->read;

	p->people = (struct report){.top = TABLE_TOP,
				    .more = "kymo summary --all",
				    .people = true,
				    .fold = true,
				    .utf8 = true};
	p->programs = (struct report){.top = 0};
	if (summary_report(&p->people, s, 1, BY_OP) != KYMO_OK ||
	    !device_legend(&p->people, s, 1) ||
	    summary_report(&p->programs, s, 1, BY_OP) != KYMO_OK ||
	    !clusters_find(&p->clusters, s, PAGE_PROCESSES_MOST))
		return KYMO_ERROR_NO_MEMORY;
	clusters_table(&p->clusters, s->trace, &p->programs);
	return KYMO_OK;
}

/* One more pass over the records, of which `next` (may be NULL) gets all. */
static kymo_status_t read_flames(struct page *p, struct stream_sink *next,
				 const struct format_options *o)
{
	struct summary *s = &p->read;
	kymo_status_t status;

	if (!s->timeline)
		return next ? summary_stream(s, next, o) : KYMO_OK;
	if (!flames_init(&p->flames, s->trace, s->timeline, p->symbols, next))
		return KYMO_ERROR_NO_MEMORY;
	status = summary_stream(s, &p->flames.sink, o);
	if (status == KYMO_OK && !flames_finish(&p->flames))
		status = KYMO_ERROR_NO_MEMORY;
	return status;
}

kymo_status_t page_read_flames(struct page *p, const struct format_options *o)
{
	kymo_status_t status = read_flames(p, NULL, o);

	if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(o->log, "not enough memory for the flame graphs of %s", p->read.path);
	return status;
}

static kymo_status_t encode_matrix(struct page *p)
{
	if (!p->read.timeline || !matrix_any(p->read.timeline))
		return KYMO_OK;
	if (!matrix_find(&p->matrix, p->read.timeline, MATRIX_PAIRS_MOST))
		return KYMO_ERROR_NO_MEMORY;
	return matrix_encode(&p->matrix, &p->encoded.sections);
}

static kymo_status_t read_records(struct page *p, const char *folder,
				  const struct format_options *o)
{
	struct format_options again = *o;
	const struct page_temporary where = {folder, o->log};
	kymo_status_t status = page_data_init(&p->data, where);

	again.progress_data = (void *)(uintptr_t) "Laying out";

	p->data.draws = p->clusters.draws;
	p->data.like = p->clusters.like;
	p->data.members = &p->members;
	if (status == KYMO_OK && !members_init(&p->members, p->read.trace, &p->clusters))
		status = KYMO_ERROR_NO_MEMORY;
	if (status == KYMO_OK)
		status = page_encode_init(&p->encoded, where);
	if (status == KYMO_OK)
		status = read_flames(p, &p->data.sink, &again);
	if (status == KYMO_OK)
		status = page_data_finish(&p->data, p->read.timeline);
	if (status == KYMO_OK)
		status = members_encode(&p->members, &p->encoded.sections);
	if (status == KYMO_OK)
		status = encode_matrix(p);
	if (status == KYMO_OK)
		status = page_fit(p, o->progress, (void *)(uintptr_t) "Packing");
	return status;
}

static bool has_counters(const struct page *p)
{
	return p->read.tallies->set[TALLY_COUNTER].count;
}

/* In one pass what plots and documents are made of beside the summary. */
static kymo_status_t read_drawn(struct page *p, const char *folder, bool flames,
				const struct format_options *o)
{
	const bool counters = has_counters(p);
	kymo_status_t status = KYMO_OK;

	if (counters) {
		status = page_data_init(&p->data, (struct page_temporary){folder, o->log});
		page_data_counters_alone(&p->data);
	}
	if (status == KYMO_OK && flames)
		status = read_flames(p, counters ? &p->data.sink : NULL, o);
	else if (status == KYMO_OK && counters)
		status = summary_stream(&p->read, &p->data.sink, o);
	if (status == KYMO_OK && counters)
		status = page_data_finish(&p->data, NULL);
	return status;
}

/* Behind judge(), to whose findings it adds. */
static kymo_status_t read_kernels(struct page *p, const struct format_options *o)
{
	struct diagnosis *d = p->diagnosis ? &p->findings : NULL;

	return page_kernels_read(&p->kernels, &p->read, d, p->metrics_file, o)
		       ? KYMO_OK
		       : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t read_summary(struct page *p, const char *trace, const struct format_options *o)
{
	kymo_status_t status;

	p->data.store.fd = p->data.points.fd = p->encoded.sections.fd = -1;
	status = summary_read(&p->read, trace, SUMMARY_RAW, o);
	if (status != KYMO_OK)
		return status;
	p->summary = &p->read;
	status = judge(p, o);
	if (status == KYMO_OK && !p->without_kernels)
		status = read_kernels(p, o);
	if (status == KYMO_OK)
		status = make_tables(p);
	if (status == KYMO_OK && p->comparison.with)
		status = comparison_read(&p->comparison, trace, o);
	if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(o->log, "not enough memory for the report of %s", trace);
	return status;
}

kymo_status_t page_read(struct page *p, const char *trace, const char *folder, bool flames,
			const struct format_options *o)
{
	kymo_status_t status = read_summary(p, trace, o);

	if (status != KYMO_OK)
		return status;
	status = read_drawn(p, folder, flames, o);
	if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(o->log, "not enough memory for the counters and flame graphs of %s",
			     trace);
	return status;
}

kymo_status_t page_make(struct page *p, const char *trace, const char *folder,
			const struct format_options *o)
{
	const char *before = large_place(folder);
	kymo_status_t status = read_summary(p, trace, o);

	if (status != KYMO_OK) {
		large_place(before);
		return status;
	}
	status = read_records(p, folder, o);
	large_place(before);
	if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(o->log, "not enough memory for the page of %s", trace);
	return status;
}

void page_release(struct page *p)
{
	page_encode_release(&p->encoded);
	page_data_release(&p->data);
	flames_release(&p->flames);
	matrix_release(&p->matrix);
	page_kernels_release(p->kernels);
	members_release(&p->members);
	clusters_release(&p->clusters);
	comparison_release(&p->comparison);
	report_release(&p->people);
	report_release(&p->programs);
	if (p->diagnosis)
		diagnosis_release(&p->findings);
	symbols_free(p->symbols);
	if (p->summary)
		summary_release(&p->read);
}
