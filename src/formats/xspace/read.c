/* SPDX-License-Identifier: Apache-2.0 */
/* The reader as a whole; see reader.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bulk.h"
#include "formats/xspace/reader.h"

/* All that the model has may come: its operations must be there before the first record. */
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

static void say_loss(const struct reader *r, const char *path)
{
	struct text prefix = {0};

	text_addf(&prefix, "%s: not taken, or otherwise than it stands there", path);
	unplaced_tell(&r->unplaced, r->o->log, prefix.s ? prefix.s : "not taken");
	if (r->wrong)
		stream_warn(r->o->log, "%s: %" PRIu64 " fields of a wrong type are passed over",
			    path, r->wrong);
	if (r->damaged)
		stream_warn(r->o->log,
			    "%s: %" PRIu64 " parts that end too early are read up to there", path,
			    r->damaged);
	text_release(&prefix);
}

static kymo_status_t read_all(struct reader *r, const char *path, struct stream_sink *sink)
{
	kymo_status_t status;

	define_model(r);
	r->scope_domain = xread_text(r, (struct part){(const uint8_t *)"xla scope", 9});
	xread_planes(r);
	if (!r->failed)
		xread_events(r);
	if (r->failed || !xread_order(r))
		return KYMO_ERROR_NO_MEMORY;
	if (!r->picked) {
		say_loss(r, path);
		return make_no_event(r->o->log, path);
	}
	xread_complete(r);
	if (r->failed || !make_complete(r->t))
		return KYMO_ERROR_NO_MEMORY;
	make_left_out(r->t, &r->unplaced, "xspace", r->damaged);
	stream_sink_complete(sink);
	status = xread_emit(r, sink);
	say_loss(r, path);
	return r->failed && status == KYMO_OK ? KYMO_ERROR_NO_MEMORY : status;
}

static void release(struct reader *r)
{
	struct map *const maps[] = {&r->known,  &r->strings, &r->threads,  &r->ops, &r->agents,
				    &r->queues, &r->kernels, &r->counters, &r->pids};
	struct map *const large[] = {&r->edge_places, &r->own_scopes, &r->calls};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		bulk_map_release(large[i]);
	for (uint32_t i = 0; i < r->plane_count; i++) {
		map_release(&r->planes[i].events);
		map_release(&r->planes[i].stats);
	}
	free(r->planes);
	free(r->lines);
	free(r->event_names);
	free(r->stat_names);
	bulk_free(r->entries);
	bulk_free(r->order);
	bulk_free(r->edges);
	free(r->threads_of);
	free(r->last_scope);
	names_release(&r->left_out);
	text_release(&r->scratch);
	trace_free(r->t);
	inputs_close(&r->in);
}

kymo_status_t xspace_read(const char *path, const struct stream_filter *filter, bool ordered,
			  struct stream_sink *sink, const struct format_options *o)
{
	struct reader r = {.o = o, .window = {INT64_MAX, INT64_MIN}};
	kymo_status_t status = KYMO_ERROR_SYSTEM;

	(void)filter;
	(void)ordered;
	r.t = trace_new();
	if (!r.t)
		return KYMO_ERROR_NO_MEMORY;
	if (inputs_open(&r.in, path, o))
		status = read_all(&r, path, sink);
	make_tell_memory(status, o->log, path);
	release(&r);
	return status;
}
