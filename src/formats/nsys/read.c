/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nsight Systems' SQLite exports: rows are noted, tied to their calls and sorted, then read again in that
 * order and handed on. 56 bytes of memory for each row, and as many for a while; see reader.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "formats/nsys/reader.h"

static void release(struct reader *r)
{
	struct map *const maps[] = {&r->hosts,      &r->enums,   &r->ops, &r->domains,
				    &r->categories, &r->metrics, &r->live};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	dbtexts_close(&r->strings);
	keyed_release(&r->keyed);
	assembly_release(&r->all);
	text_release(&r->payload);
	free(r->gpus);
	free(r->devices);
	dbfile_close(&r->file);
	trace_free(r->t);
}

static void tell(const struct reader *r)
{
	struct stream_log *log = r->o->log;
	struct unplaced u = r->left_out;

	if (r->file.missing)
		stream_warn(log, "%s: damaged: cut, %" PRIu64 " page%s missing", r->path,
			    r->file.missing, r->file.missing == 1 ? " is" : "s are");
	if (r->file.damaged)
		stream_warn(log, "%s: damaged: %" PRIu64 " page%s or row%s could not be read",
			    r->path, r->file.damaged, plural(r->file.damaged),
			    plural(r->file.damaged));
	if (r->wrong)
		stream_warn(log,
			    "%s: %" PRIu64 " value%s of another type than the column's: read "
			    "as 0",
			    r->path, r->wrong, plural(r->wrong));
	unplaced_add(&u, "numbers of calls that another call has", r->all.twice);
	unplaced_add(&u, "processes of work that is of none: the first has it", r->all.unplaced);
	unplaced_tell(&u, log, "left out of what was read");
}

/* All that the model has may come: its operations must be there before the first record. */
static void define_model(struct reader *r)
{
	static const enum record_domain domains[] = {
		RECORD_DOMAIN_dispatch, RECORD_DOMAIN_copy,   RECORD_DOMAIN_allocation,
		RECORD_DOMAIN_sync,     RECORD_DOMAIN_marker, RECORD_DOMAIN_counter};

	make_activities(r->t, &r->model);
	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		make_activity(&r->model, domains[i], 0);
}

/* False: no memory. */
static bool assemble(struct reader *r)
{
	define_model(r);
	nsys_model(r);
	nsys_collect(r);
	if (r->failed || !assembly_order(&r->all, r->t))
		return false;
	nsys_name(r);
	nsys_define_work(r);
	nsys_complete(r);
	return !r->failed && !r->keyed.failed;
}

static kymo_status_t hand_on(struct reader *r, struct stream_sink *sink)
{
	kymo_status_t status;

	stream_sink_complete(sink);
	status = sink->begin(sink, r->t);
	if (status == KYMO_OK)
		status = nsys_deliver(r, sink);
	if (status == KYMO_OK || status == KYMO_ERROR_LIMIT) {
		kymo_status_t end = sink->end(sink, r->t);

		status = status == KYMO_OK ? end : status;
	}
	return status;
}

static kymo_status_t read_all(struct reader *r, const char *path, struct stream_sink *sink)
{
	kymo_status_t status = nsys_open(r, path);

	if (status != KYMO_OK)
		return status;
	if (!assemble(r))
		return KYMO_ERROR_NO_MEMORY;
	if (r->all.count) {
		status = hand_on(r, sink);
	} else {
		stream_error(r->o->log, "%s: there is no event in it that can be taken", path);
		status = KYMO_ERROR_NOT_FOUND;
	}
	tell(r);
	return status;
}

static kymo_status_t nsys_read(const char *path, const struct stream_filter *filter, bool ordered,
			       struct stream_sink *sink, const struct format_options *o)
{
	struct reader *r = calloc(1, sizeof(*r));
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	if (r)
		r->t = trace_new();
	if (r && r->t) {
		r->o = o;
		r->keyed.t = r->t;
		r->t->path = trace_string(r->t, path, strlen(path));
		status = read_all(r, path, sink);
	}
	if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(o->log, "%s: there is not enough memory to read it", path);
	if (r && r->t)
		release(r);
	free(r);
	return status;
}

extern const struct format format_nsys;
const struct format format_nsys = {
	.name = "nsys",
	.summary = "SQLite export of Nsight Systems, without samples, scheduling and call stacks",
	.suffix = ".sqlite",
	.probe = nsys_probe,
	.read = nsys_read,
};
