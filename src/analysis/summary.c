/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the numbers of a trace. From raw files: the scan hands over wire records; of a call only
 * times, operation and ids are looked at, arguments are never decoded.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/scopes.h"
#include "analysis/summary.h"
#include "formats/raw/scan.h"
#ifdef KYMO_HAVE_SQLITE
#include "analysis/trace_store.h"
#endif

/* ---- from raw ---------------------------------------------------------------------------------- */

/* The scope an activity is counted for: device work belongs to the one it was submitted from. */
static uint32_t scope_of(struct scopes *s, enum raw_kind kind, const union raw_any *any)
{
	uint64_t call = kind == RAW_KIND_DISPATCH ? any->dispatch.device.correlation
			: kind == RAW_KIND_COPY   ? any->copy.device.correlation
						  : 0;

	return call ? scopes_path_of_call(s, any->rec.process, call)
		    : scopes_path(s, any->rec.process, any->rec.scope);
}

static void add_activity(struct tallies *a, enum raw_kind kind, const union raw_any *any)
{
	switch (kind) {
	case RAW_KIND_DISPATCH:
		tallies_dispatch(a, &any->dispatch);
		break;
	case RAW_KIND_COPY:
		tallies_copy(a, &any->copy);
		break;
	case RAW_KIND_ALLOCATION:
		tallies_allocation(a, &any->allocation);
		break;
	case RAW_KIND_SYNC:
		tallies_sync(a, &any->sync);
		break;
	case RAW_KIND_MARKER:
		tallies_marker(a, &any->marker);
		break;
	case RAW_KIND_COUNTER:
		tallies_counter(a, &any->counter);
		break;
	case RAW_KIND_SAMPLE:
		tallies_sample(a, &any->sample);
		break;
	case RAW_KIND_DEVICE_SAMPLE:
		tallies_device_sample(a, &any->device_sample);
		break;
	case RAW_KIND_COMM:
		tallies_comm(a, &any->comm);
		break;
	case RAW_KIND_PUBLISHED:
		tallies_call(a, any->rec.thread, any->rec.op,
			     (uint64_t)(any->rec.end - any->rec.start), any->rec.id,
			     any->rec.parent, any->rec.ok);
		if (!any->rec.ok)
			tallies_error(a, any->rec.thread, any->rec.op, any->rec.status,
				      any->rec.start);
		break;
	default:
		tallies_other(a, &any->rec);
	}
}

static inline void add_call(struct tallies *a, struct raw_chunk *c, const struct raw_op *op,
			    const struct wire_record *w)
{
	int32_t good = a->trace->ops[op->op].status_ok;
	int64_t start = raw_chunk_ns(c, w->start), end = raw_chunk_ns(c, w->end);
	bool ok = !w->has_status || w->status == good;

	tallies_call(a, c->thread, op->op, (uint64_t)(end - start), w->id, w->parent, ok);
	if (__builtin_expect(!ok, 0))
		tallies_error(a, c->thread, op->op, w->status, start);
}

/* Records of a chunk end one after the other, so the last one tells when the trace ends. */
static void add_chunk(struct tallies *a, struct scopes *scopes, struct raw_chunk *c, int64_t *last)
{
	struct rec_loss loss = {c->process, c->thread, c->lost, c->lost_after, c->lost_before};
	struct wire_record w;
	union raw_any any;
	uint64_t end = 0;
	bool some = false;

	if (c->lost || c->missing)
		tallies_loss(a, &loss);
	while (raw_chunk_next(c, &w)) {
		const struct raw_op *op = raw_chunk_op(c, w.op);

		if (__builtin_expect(op->kind == RAW_KIND_CALL, 1)) {
			if (scopes)
				a->scope = scopes_path(scopes, c->process, w.scope);
			add_call(a, c, op, &w);
		} else {
			enum raw_kind kind = raw_record(c, &w, &any);

			if (scopes)
				a->scope = scope_of(scopes, kind, &any);
			add_activity(a, kind, &any);
		}
		end = w.end;
		some = true;
	}
	if (some && raw_chunk_ns(c, end) > *last)
		*last = raw_chunk_ns(c, end);
}

static void raw_free(void *source)
{
	raw_trace_close(source);
}

static kymo_status_t read_raw(struct summary *s, const char *path, bool by_scope,
			      const struct format_options *o)
{
	struct raw_trace *rt;
	struct raw_scan scan;
	struct raw_chunk chunk;
	kymo_status_t status = raw_trace_open(path, o->log, &rt);
	struct trace *t;

	if (status != KYMO_OK)
		return status;
	s->source = rt;
	s->source_free = raw_free;
	s->trace = t = raw_trace_definitions(rt);
	s->tallies = tallies_new(t);
	if (by_scope)
		s->scopes = scopes_new(rt);
	if (!s->tallies || (by_scope && !s->scopes))
		return KYMO_ERROR_NO_MEMORY;
	s->tallies->scoped = by_scope;
	raw_scan_init(&scan, rt);
	while (raw_scan_next(&scan, &chunk)) {
		add_chunk(s->tallies, s->scopes, &chunk, &t->end);
		if (o->progress)
			o->progress(o->progress_data,
				    (double)scan.bytes_done / (double)scan.bytes_total);
	}
	raw_scan_finish(&scan);
	raw_trace_totals(rt);
	tallies_end(s->tallies);
	if (o->progress)
		o->progress(o->progress_data, 1.0);
	return s->tallies->failed ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
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

/* True when a store can answer at once. */
static bool store_ready(const char *path)
{
	char file[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return store_probe(path);
	return snprintf(file, sizeof(file), "%s/%s", path, STORE_FILE) < (int)sizeof(file) &&
	       store_fresh(file, path);
}
#else
static kymo_status_t read_store(struct summary *s, const char *path, const struct format_options *o)
{
	stream_error(o->log, "this kymo was built without SQLite: there are no stores");
	return KYMO_ERROR_UNSUPPORTED;
}

static bool store_ready(const char *path)
{
	return false;
}
#endif

kymo_status_t summary_read(struct summary *s, const char *path, enum summary_source from,
			   const struct format_options *o)
{
	kymo_status_t status;

	memset(s, 0, sizeof(*s));
	s->path = strdup(path);
	if (!s->path)
		return KYMO_ERROR_NO_MEMORY;
	if (from == SUMMARY_STORE || (from == SUMMARY_ANY && store_ready(path)))
		status = read_store(s, path, o);
	else
		status = read_raw(s, path, from == SUMMARY_SCOPES, o);
	if (status != KYMO_OK)
		summary_release(s);
	return status;
}

void summary_release(struct summary *s)
{
	tallies_free(s->tallies);
	scopes_free(s->scopes);
	if (s->source)
		s->source_free(s->source);
	free(s->path);
	memset(s, 0, sizeof(*s));
}
