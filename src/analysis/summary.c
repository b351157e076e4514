/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the numbers of a trace, from its raw files or from its store. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/communicators.h"
#include "analysis/details.h"
#include "analysis/leaks.h"
#include "analysis/heap_use.h"
#include "analysis/lock_use.h"
#include "analysis/summary.h"
#include "analysis/occa_use.h"
#include "analysis/wait_use.h"
#include "formats/raw/read.h"
#include "stream/filter.h"
#include "stream/trace.h"
#ifdef KYMO_HAVE_SQLITE
#include "analysis/trace_store.h"
#endif

/* ---- from raw ---------------------------------------------------------------------------------- */

static void raw_free(void *source)
{
	raw_trace_close(source);
}

static kymo_status_t read_raw(struct summary *s, const char *path, unsigned details,
			      const struct format_options *o)
{
	struct raw_trace *rt;
	struct tallies_sink sink;
	struct timeline_sink ahead;
	kymo_status_t status = raw_trace_open(path, o->log, &rt);

	if (status != KYMO_OK)
		return status;
	s->source = rt;
	s->source_free = raw_free;
	s->trace = raw_trace_definitions(rt);
	tallies_sink_init(&sink);
	if (details) {
		sink.sink.brief = !details_in_full(details);
		sink.scope_of = details_of;
		sink.data = s->details = details_new(rt, details, o);
		if (!s->details)
			return KYMO_ERROR_NO_MEMORY;
	}
	timeline_sink_init(&ahead, &sink.sink);
	ahead.sink.brief = sink.sink.brief;
	status = raw_trace_read(rt, o->filter, false, &ahead.sink, o);
	s->timeline = ahead.timeline;
	s->tallies = sink.tallies;
	if (status == KYMO_OK && !s->in_part && !leaks_find(s->tallies, rt))
		status = KYMO_ERROR_NO_MEMORY;
	return status;
}

kymo_status_t summary_stream(struct summary *s, struct stream_sink *sink,
			     const struct format_options *o)
{
	return s->source_free == raw_free ? raw_trace_read(s->source, o->filter, true, sink, o)
					  : KYMO_ERROR_UNSUPPORTED;
}

/* ---- from another format ----------------------------------------------------------------------- */

static void foreign_free(void *source)
{
	trace_free(source);
}

/* The format that reads a path which is no trace of Kymo's; NULL: none does. */
static const struct format *foreign_reader(const char *path)
{
	if (raw_trace_probe(path))
		return NULL;
	for (const struct format *const *f = format_table; *f; f++)
		if ((*f)->read && (*f)->probe && (*f)->probe(path))
			return *f;
	return NULL;
}

static kymo_status_t read_foreign(struct summary *s, const struct format *f, const char *path,
				  unsigned details, const struct format_options *o)
{
	struct format_options options = *o;
	struct tallies_sink sink;
	struct timeline_sink ahead;
	struct trace *t = NULL;
	kymo_status_t status;

	if (details) {
		stream_error(o->log, "%s: tables by this are made from traces of Kymo, not from %s",
			     path, f->name);
		return KYMO_ERROR_UNSUPPORTED;
	}
	tallies_sink_init(&sink);
	timeline_sink_init(&ahead, &sink.sink);
	ahead.sink.brief = sink.sink.brief;
	options.keep = &t;
	status = f->read(path, o->filter, false, &ahead.sink, &options);
	s->timeline = ahead.timeline;
	s->tallies = sink.tallies;
	s->trace = s->source = t;
	s->source_free = foreign_free;
	return status;
}

/* ---- from the store ---------------------------------------------------------------------------- */

#ifdef KYMO_HAVE_SQLITE
static void store_free(void *source)
{
	store_close(source);
}

static kymo_status_t read_store(struct summary *s, const char *path, const struct format_options *o)
{
	struct store *store;
	kymo_status_t status = trace_store_open(path, false, o, &store);

	if (status != KYMO_OK)
		return status;
	s->source = store;
	s->source_free = store_free;
	s->trace = store_trace(store);
	s->from_store = true;
	return store_tallies(store, &s->tallies);
}

/* A store by itself. */
static bool is_store(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode) && store_probe(path);
}
#else
static kymo_status_t read_store(struct summary *s, const char *path, const struct format_options *o)
{
	stream_error(o->log, "this kymo was built without SQLite: there are no stores");
	return KYMO_ERROR_UNSUPPORTED;
}

static bool is_store(const char *path)
{
	return false;
}
#endif

/* What is selected has no store of its own. */
static kymo_status_t refuse_store(const char *path, const struct format_options *o)
{
	stream_error(o->log,
		     "%s: records are selected from the raw files of a trace, and this is a store: "
		     "name the trace's directory, or use kymo query with WHERE",
		     path);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

static bool select_part(struct summary *s, const struct stream_filter *filter)
{
	s->selection = stream_filter_text(filter);
	s->in_part = stream_filter_in_part(filter);
	return s->selection;
}

static bool has_objects(const struct summary *s)
{
	return s->timeline && s->timeline->objects && s->timeline->objects->alive_count;
}

static bool has_buffers(const struct summary *s)
{
	return s->timeline && s->timeline->occa && s->timeline->occa->memory_count;
}

static bool has_locks(const struct summary *s)
{
	return s->timeline && s->timeline->locks && s->timeline->locks->rows_count;
}

static bool has_waits(const struct summary *s)
{
	return s->timeline && s->timeline->host_waits && s->timeline->host_waits->rows_count;
}

static bool has_heap(const struct summary *s)
{
	return s->timeline && s->timeline->heap && s->timeline->heap->rows_count;
}

static kymo_status_t read_from(struct summary *s, const char *path, enum summary_source from,
			       unsigned by, const struct format_options *o)
{
	const struct format *foreign;
	kymo_status_t status;

	memset(s, 0, sizeof(*s));
	s->path = strdup(path);
	if (!s->path)
		return KYMO_ERROR_NO_MEMORY;
	if (o->filter && !select_part(s, o->filter))
		status = KYMO_ERROR_NO_MEMORY;
	else if (o->filter && is_store(path))
		status = refuse_store(path, o);
	else if (from == SUMMARY_STORE || (from == SUMMARY_ANY && is_store(path)))
		status = read_store(s, path, o);
	else if ((foreign = foreign_reader(path)))
		status = read_foreign(s, foreign, path, by & DETAILS_BY, o);
	else
		status = read_raw(s, path, by & DETAILS_BY, o);
	if (status == KYMO_OK && (s->tallies->set[TALLY_LEAK].count || has_objects(s) ||
				  has_buffers(s) || has_locks(s) || has_waits(s) || has_heap(s) ||
				  (s->timeline && s->timeline->off.rows_count))) {
		s->symbols = symbols_new(s->trace, o->log);
		status = s->symbols ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
	}
	if (status == KYMO_OK && by & BY_COMMUNICATOR) {
		s->communicators = communicators_numbered(s->trace);
		status = s->communicators ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
	}
	if (status != KYMO_OK)
		summary_release(s);
	return status;
}

kymo_status_t summary_read(struct summary *s, const char *path, enum summary_source from,
			   const struct format_options *o)
{
	return read_from(s, path, from, BY_OP, o);
}

kymo_status_t summary_read_by(struct summary *s, const char *path, unsigned by,
			      const struct format_options *o)
{
	return read_from(s, path, by & DETAILS_BY ? SUMMARY_RAW : SUMMARY_ANY, by, o);
}

void summary_release(struct summary *s)
{
	tallies_free(s->tallies);
	timeline_free(s->timeline);
	details_free(s->details);
	if (s->source)
		s->source_free(s->source);
	symbols_free(s->symbols);
	free(s->communicators);
	free(s->path);
	free(s->selection);
	memset(s, 0, sizeof(*s));
}
