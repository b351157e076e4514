/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the numbers of a trace, from its raw files or from its store. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/scopes.h"
#include "analysis/summary.h"
#include "formats/raw/read.h"
#ifdef KYMO_HAVE_SQLITE
#include "analysis/trace_store.h"
#endif

/* ---- from raw ---------------------------------------------------------------------------------- */

/* Device work belongs to the scope that it was submitted from. */
static uint32_t scope_of(void *scopes, const struct rec *r, uint64_t call)
{
	return call ? scopes_path_of_call(scopes, r->process, call)
		    : scopes_path(scopes, r->process, r->scope);
}

static void raw_free(void *source)
{
	raw_trace_close(source);
}

static kymo_status_t read_raw(struct summary *s, const char *path, bool by_scope,
			      const struct format_options *o)
{
	struct raw_trace *rt;
	struct tallies_sink sink;
	kymo_status_t status = raw_trace_open(path, o->log, &rt);

	if (status != KYMO_OK)
		return status;
	s->source = rt;
	s->source_free = raw_free;
	s->trace = raw_trace_definitions(rt);
	tallies_sink_init(&sink);
	if (by_scope) {
		sink.scope_of = scope_of;
		sink.data = s->scopes = scopes_new(rt);
		if (!s->scopes)
			return KYMO_ERROR_NO_MEMORY;
	}
	status = raw_trace_read(rt, NULL, false, &sink.sink, o);
	s->tallies = sink.tallies;
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
