/* SPDX-License-Identifier: Apache-2.0 */
/* rocprofv3's output as a whole; see reader.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bulk.h"
#include "formats/rocprofv3/reader.h"
#include "stream/spool.h"

bool rp_probe(const char *path)
{
	return rp_csv_probe(path) || rp_json_probe(path);
}

static void release(struct rp_reader *r)
{
	struct map *const maps[] = {&r->found_sources, &r->found_symbols, &r->kinds,
				    &r->operations,    &r->texts,         &r->live,
				    &r->found_agents,  &r->of_type};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	bulk_map_release(&r->seen_kernels);
	bulk_map_release(&r->kernel_ends);
	if (r->mapped)
		munmap(r->mapped, r->written);
	if (r->rows >= 0)
		close(r->rows);
	text_release(&r->pending);
	text_release(&r->scratch);
	free(r->sources);
	free(r->agents);
	free(r->symbols);
	keyed_release(&r->keyed);
	assembly_release(&r->all);
	trace_free(r->t);
}

static void tell(const struct rp_reader *r)
{
	struct unplaced u = r->left_out;

	unplaced_add(&u, "rows that could not be read", r->unread);
	unplaced_add(&u, "numbers of calls that another call has", r->all.twice);
	unplaced_tell(&u, r->o->log, "left out of what was read");
	if (r->unsized)
		stream_warn(
			r->o->log,
			"%s: rocprofv3's CSV files have no sizes of copies, arguments, waits and "
			"messages: %" PRIu64 " copies are of 0 bytes here; its JSON files and "
			"databases have the sizes (--output-format json, rocpd)",
			r->path, r->unsized);
	if (r->damaged)
		stream_warn(r->o->log,
			    "%s: it ends too early, or is damaged: what is behind the "
			    "damage was not read",
			    r->path);
	make_lost(r->t, 0, r->unread, r->damaged);
}

static bool map_rows(struct rp_reader *r)
{
	void *p;

	if (!rp_flush(r) || !r->written)
		return !r->failed;
	p = mmap(NULL, r->written, PROT_READ | PROT_WRITE, MAP_SHARED, r->rows, 0);
	r->mapped = p == MAP_FAILED ? NULL : p;
	return r->mapped != NULL;
}

static kymo_status_t read_all(struct rp_reader *r, struct stream_sink *sink)
{
	bool json = rp_json_probe(r->path);

	if (!(json ? rp_read_json(r, r->path) : rp_read_csv(r, r->path)))
		return KYMO_ERROR_SYSTEM;
	if (r->failed)
		return KYMO_ERROR_NO_MEMORY;
	if (!r->all.count) {
		tell(r);
		return make_no_event(r->o->log, r->path);
	}
	if (!map_rows(r))
		return KYMO_ERROR_NO_MEMORY;
	rp_define(r);
	if (r->failed || r->keyed.failed)
		return KYMO_ERROR_NO_MEMORY;
	tell(r);
	return rp_deliver(r, sink);
}

kymo_status_t rp_read(const char *path, const struct stream_filter *filter, bool ordered,
		      struct stream_sink *sink, const struct format_options *o)
{
	struct rp_reader *r = calloc(1, sizeof(*r));
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	(void)filter;
	(void)ordered;
	if (!r)
		return status;
	r->o = o;
	r->path = path;
	r->rows = spool_temporary(o->log);
	r->t = r->keyed.t = trace_new();
	if (r->rows < 0) {
		status = KYMO_ERROR_SYSTEM;
	} else if (r->t) {
		r->t->path = trace_string(r->t, path, strlen(path));
		make_usual_activities(r->t, &r->model);
		status = read_all(r, sink);
	}
	make_tell_memory(status, o->log, path);
	if (r->t)
		release(r);
	free(r);
	return status;
}
