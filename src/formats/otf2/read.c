/* SPDX-License-Identifier: Apache-2.0 */
/* OTF2 archives as traces: which paths are such, and the reader as a whole; see reader.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bulk.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/otf2/reader.h"

/* ---- which it is ----------------------------------------------------------------------------- */

/* libotf2 finds the other files by the name of this one. */
static bool name_ends(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && strcmp(path + n - 5, ".otf2") == 0;
}

/* A byte for the kind of the record, one for the order of bytes, the name. */
bool otf2r_is_anchor(const char *path)
{
	char begin[6] = "";
	int fd = file_open_regular(path);
	ssize_t n = fd >= 0 ? read(fd, begin, sizeof(begin)) : 0;

	if (fd >= 0)
		close(fd);
	return n == sizeof(begin) && memcmp(begin + 2, "OTF2", 4) == 0 && name_ends(path);
}

/* The anchor: the file itself, or in a folder traces.otf2, or the only one there. NULL: none. */
static char *find_anchor(const char *path)
{
	struct text found = {0};
	struct stat st;
	struct dirent *e;
	DIR *d;

	if (stat(path, &st) != 0)
		return NULL;
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) && otf2r_is_anchor(path) ? strdup(path) : NULL;
	text_addf(&found, "%s/traces.otf2", path);
	if (found.s && otf2r_is_anchor(found.s))
		return found.s;
	d = opendir(path);
	while (d && (e = readdir(d)) != NULL) {
		found.length = 0;
		text_addf(&found, "%s/%s", path, e->d_name);
		if (name_ends(e->d_name) && found.s && otf2r_is_anchor(found.s)) {
			closedir(d);
			return found.s;
		}
	}
	if (d)
		closedir(d);
	text_release(&found);
	return NULL;
}

bool otf2_probe(const char *path)
{
	char *anchor = find_anchor(path);

	free(anchor);
	return anchor != NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void define_model(struct reader *r)
{
	static const enum record_domain domains[] = {RECORD_DOMAIN_dispatch,   RECORD_DOMAIN_copy,
						     RECORD_DOMAIN_allocation, RECORD_DOMAIN_sync,
						     RECORD_DOMAIN_marker,     RECORD_DOMAIN_comm,
						     RECORD_DOMAIN_counter};

	make_activities(r->t, &r->model);
	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		make_activity(&r->model, domains[i], 0);
}

static void describe(struct reader *r)
{
	char *s = NULL;

	r->t->command = r->t->hostname = r->t->version = "";
	if (r->kymo && OTF2_Reader_GetDescription(r->archive, &s) == OTF2_SUCCESS && s)
		r->t->command = trace_string(r->t, s, strlen(s));
	free(s);
	s = NULL;
	if (OTF2_Reader_GetMachineName(r->archive, &s) == OTF2_SUCCESS && s)
		r->t->hostname = trace_string(r->t, s, strlen(s));
	free(s);
}

/* libotf2 says what is wrong; what could be read until then counts. */
static void tell_fault(struct reader *r)
{
	if (r->code == OTF2_SUCCESS)
		return;
	stream_warn(r->o->log, "%s: damaged: libotf2 says: %s%s%s", r->path,
		    OTF2_Error_GetDescription(r->code), *r->fault ? ": " : "", r->fault);
	make_lost(r->t, 0, 0, 1);
}

static bool out_of_memory(const struct reader *r)
{
	return r->emptied || r->keyed.failed || trace_failed(r->t) ||
	       r->status == KYMO_ERROR_NO_MEMORY;
}

/* The first time: what there is. */
static kymo_status_t collect(struct reader *r, OTF2_GlobalEvtReaderCallbacks *events)
{
	OTF2_GlobalDefReaderCallbacks *definitions = otf2r_define();
	kymo_status_t status;
	bool opened = false;

	if (!definitions)
		return KYMO_ERROR_NO_MEMORY;
	opened = otf2r_open(r, definitions);
	OTF2_GlobalDefReaderCallbacks_Delete(definitions);
	if (opened) {
		describe(r);
		if (!otf2r_model(r))
			return KYMO_ERROR_NO_MEMORY;
		r->defined = r->unplaced;
		otf2r_events(r, events);
		otf2r_finish(r);
		otf2r_markers(r);
	}
	otf2r_close(r);
	status = opened ? otf2r_collect_samples(r) : KYMO_OK;
	if (status != KYMO_OK)
		return status;
	if (out_of_memory(r))
		return KYMO_ERROR_NO_MEMORY;
	if (r->any)
		return KYMO_OK;
	tell_fault(r);
	return make_no_event(r->o->log, r->path);
}

static void under_way(struct reader *r)
{
	for (uint32_t i = 1; i < r->t->open_calls_count && r->status == KYMO_OK; i++)
		r->status = r->sink->open_call(r->sink, &r->t->open_calls[i]);
	for (uint32_t i = 1; i < r->t->unfinished_count && r->status == KYMO_OK; i++)
		r->status = r->sink->unfinished(r->sink, &r->t->unfinished[i]);
}

/* The second time: records. */
static kymo_status_t hand_on(struct reader *r, OTF2_GlobalEvtReaderCallbacks *events,
			     struct stream_sink *sink)
{
	kymo_status_t end;

	stream_sink_complete(sink);
	r->code = OTF2_SUCCESS;
	r->sink = sink;
	otf2r_start_over(r);
	r->status = sink->begin(sink, r->t);
	if (r->status == KYMO_OK && otf2r_open(r, NULL))
		otf2r_events(r, events);
	otf2r_finish(r);
	otf2r_close(r);
	tell_fault(r);
	otf2r_hand_on_samples(r);
	if (r->samples)
		tell_fault(r->samples);
	under_way(r);
	if (r->status != KYMO_OK && r->status != KYMO_ERROR_LIMIT)
		return r->status;
	end = sink->end(sink, r->t);
	return r->status == KYMO_OK ? end : r->status;
}

static void tell_left_out(const struct reader *r)
{
	struct text prefix = {0};

	text_addf(&prefix, "%s: not taken, or otherwise than it stands there", r->path);
	unplaced_tell(&r->unplaced, r->o->log, prefix.s ? prefix.s : "not taken");
	text_release(&prefix);
}

static kymo_status_t read_all(struct reader *r, struct stream_sink *sink)
{
	OTF2_GlobalEvtReaderCallbacks *events;
	kymo_status_t status;

	if (!otf2r_try(r))
		return KYMO_ERROR_INVALID_ARGUMENT;
	events = otf2r_listen();
	if (!events)
		return KYMO_ERROR_NO_MEMORY;
	define_model(r);
	status = collect(r, events);
	if (status == KYMO_OK)
		status = otf2r_complete(r) ? hand_on(r, events, sink) : KYMO_ERROR_NO_MEMORY;
	OTF2_GlobalEvtReaderCallbacks_Delete(events);
	tell_left_out(r);
	if (r->samples)
		tell_left_out(r->samples);
	return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void release(struct reader *r)
{
	struct map *const maps[] = {&r->callees_at, &r->communicators, &r->last_values, &r->lanes,
				    &r->live,       &r->paths,         &r->codes};

	if (r->samples)
		release(r->samples);

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	for (uint32_t i = 0; i < r->callees_count; i++)
		free(r->callees[i].fields);
	free(r->callees);
	otf2r_release_waiting(&r->transfers);
	otf2r_release_waiting(&r->requests);
	otf2r_release_waiting(&r->launches);
	otf2r_release_definitions(r);
	keyed_release(&r->keyed);
	bulk_map_release(&r->call_at);
	bulk_free(r->calls);
	free(r->largest);
	free(r->next);
	free(r->scopes);
	free(r->anchor);
	text_release(&r->payload);
	if (r->main == r)
		trace_free(r->t);
	free(r);
}

kymo_status_t otf2_read(const char *path, const struct stream_filter *filter, bool ordered,
			struct stream_sink *sink, const struct format_options *o)
{
	struct reader *r = calloc(1, sizeof(*r));
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	if (!r)
		return status;
	r->o = o;
	r->path = path;
	r->main = r;
	r->t = r->keyed.t = trace_new();
	r->anchor = find_anchor(path);
	if (r->t && !r->anchor) {
		stream_error(o->log, "%s: there is no OTF2 archive", path);
		status = KYMO_ERROR_NOT_FOUND;
	} else if (r->t) {
		r->t->path = trace_string(r->t, path, strlen(path));
		status = read_all(r, sink);
	}
	make_tell_memory(status, o->log, path);
	release(r);
	return status;
}
