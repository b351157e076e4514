/* SPDX-License-Identifier: Apache-2.0 */
/* RPD: rows are noted, tied to their calls and sorted, then read again in that order; see reader.h. */
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "formats/rpd/reader.h"

static void release(struct reader *r)
{
	struct map *const maps[] = {&r->call_ops, &r->live};
	struct map *const large[] = {&r->api_ops, &r->extended, &r->told};
	struct dbindex *const indexes[] = {&r->strings, &r->arguments, &r->ops, &r->kernel_apis,
					   &r->copy_apis};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		bulk_map_release(large[i]);
	for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes); i++)
		dbindex_close(indexes[i]);
	for (unsigned i = 0; i < TABLES; i++)
		dbwalk_release(&r->walks[i]);
	keyed_release(&r->keyed);
	assembly_release(&r->all);
	dbfile_close(&r->file);
	trace_free(r->t);
}

static void tell(const struct reader *r)
{
	struct unplaced u = r->left_out;

	unplaced_damage(r->o->log, r->path, r->file.missing, r->file.damaged, r->wrong);
	unplaced_add(&u, "numbers of calls that another call has", r->all.twice);
	unplaced_add(&u, "further calls of work that has one", r->links);
	unplaced_add(&u, "processes of work that is of none: the first has it", r->all.unplaced);
	unplaced_tell(&u, r->o->log, "left out of what was read");
}

/* False: no memory. */
static bool assemble(struct reader *r)
{
	make_usual_activities(r->t, &r->model);
	rpd_metadata(r);
	rpd_collect(r);
	if (r->failed || !assembly_order(&r->all, r->t))
		return false;
	rpd_define_work(r);
	rpd_complete(r);
	return !r->failed && !r->keyed.failed;
}

static kymo_status_t read_all(struct reader *r, const char *path, struct stream_sink *sink)
{
	kymo_status_t status = rpd_open(r, path);

	if (status != KYMO_OK)
		return status;
	if (!assemble(r))
		return KYMO_ERROR_NO_MEMORY;
	if (r->all.count) {
		r->all.left_out = &r->left_out;
		make_left_out(r->t, &r->left_out, "rpd", r->file.missing + r->file.damaged);
		status = rpd_deliver(r, sink);
	} else {
		status = make_no_event(r->o->log, path);
	}
	tell(r);
	return r->failed ? KYMO_ERROR_NO_MEMORY : status;
}

static kymo_status_t rpd_read(const char *path, const struct stream_filter *filter, bool ordered,
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

extern const struct format format_rpd;
const struct format format_rpd = {
	.name = "rpd",
	.summary = "RPD of rocmProfileData (ROCm), without call stacks and names of devices",
	.suffix = ".rpd",
	.probe = rpd_probe,
	.read = rpd_read,
};
