/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nsight Systems' SQLite exports: rows are noted, tied to their calls and sorted, then read again in that
 * order and handed on. 56 bytes (base/bulk.h) for each row, and as many for a while; see reader.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "formats/nsys/reader.h"

static void release(struct reader *r)
{
	struct map *const maps[] = {&r->agents,   &r->hosts,        &r->enums,   &r->ops,
				    &r->domains,  &r->categories,   &r->metrics, &r->live,
				    &r->comms_at, &r->communicators};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	bulk_map_release(&r->chains);
	dbindex_close(&r->strings);
	keyed_release(&r->keyed);
	assembly_release(&r->all);
	text_release(&r->payload);
	free(r->comms);
	free(r->gpus);
	free(r->devices);
	dbfile_close(&r->file);
	trace_free(r->t);
}

static void tell(const struct reader *r)
{
	struct unplaced u = r->left_out;

	unplaced_damage(r->o->log, r->path, r->file.missing, r->file.damaged, r->wrong);
	unplaced_add(&u, "numbers of calls that another call has", r->all.twice);
	unplaced_add(&u, "processes of work that is of none: the first has it", r->all.unplaced);
	unplaced_tell(&u, r->o->log, "left out of what was read");
}

/* False: no memory. */
static bool assemble(struct reader *r)
{
	make_usual_activities(r->t, &r->model);
	nsys_model(r);
	nsys_collect(r);
	if (r->failed || !assembly_order(&r->all, r->t))
		return false;
	nsys_name(r);
	nsys_define_work(r);
	nsys_define_messages(r);
	nsys_complete(r);
	return !r->failed && !r->keyed.failed;
}

static kymo_status_t read_all(struct reader *r, const char *path, struct stream_sink *sink)
{
	kymo_status_t status = nsys_open(r, path);

	if (status != KYMO_OK)
		return status;
	if (!assemble(r))
		return KYMO_ERROR_NO_MEMORY;
	if (r->all.count) {
		r->all.left_out = &r->left_out;
		make_left_out(r->t, &r->left_out, "nsys", r->file.missing + r->file.damaged);
		status = nsys_deliver(r, sink);
	} else {
		status = make_no_event(r->o->log, path);
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
	make_tell_memory(status, o->log, path);
	if (r && r->t)
		release(r);
	free(r);
	return status;
}

extern const struct format format_nsys;
const struct format format_nsys = {
	.name = "nsys",
	.summary = "SQLite export of Nsight Systems, without scheduling and call stacks of calls",
	.suffix = ".sqlite",
	.probe = nsys_probe,
	.read = nsys_read,
};
