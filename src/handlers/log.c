/* SPDX-License-Identifier: Apache-2.0 */
/* The records themselves, the first of them: accesses, and blocks with regions. */
#include "handlers/handlers.h"

#include <stdlib.h>

#define LIMIT 1000u

struct log {
	const kymo_handler_launch_t *launch;
	kymo_access_t *records;
	uint64_t limit, count, left_out;
};

static void finish(void *state)
{
	struct log *l = state;

	free(l->records);
	free(l);
}

static kymo_status_t init(const kymo_handler_options_t *options,
			  const kymo_handler_launch_t *launch, void **state, char *why, size_t size)
{
	struct log *l = calloc(1, sizeof(*l));

	if (!l)
		return KYMO_ERROR_NO_MEMORY;
	l->launch = launch;
	*state = l;
	if (handlers_options_known(options, "limit", why, size) &&
	    handlers_option_number(options, "limit", 1, LIMIT, &l->limit, why, size))
		l->records = l->limit < SIZE_MAX / sizeof(*l->records)
				     ? malloc(l->limit * sizeof(*l->records))
				     : NULL;
	if (l->records)
		return KYMO_OK;
	finish(l);
	return *why ? KYMO_ERROR_INVALID_ARGUMENT : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t on_batch(void *state, const kymo_access_t *records, size_t count)
{
	struct log *l = state;
	uint32_t *order = NULL;
	const uint64_t room = l->limit - l->count;

	if (room)
		order = handlers_order(records, count, false);
	if (room && !order)
		return KYMO_ERROR_NO_MEMORY;
	for (size_t i = 0; i < count && i < room; i++)
		l->records[l->count++] = records[order[i]];
	l->left_out += count > room ? count - room : 0;
	free(order);
	return KYMO_OK;
}

static kymo_status_t report_addresses(void *state, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"group",  "item",     "occurrence",   "kind",
					      "memory", "argument", "access_bytes", "address"};
	const struct log *l = state;

	w->table(w, "records", columns, 8);
	for (uint64_t i = 0; i < l->count; i++) {
		const kymo_access_t *r = &l->records[i];
		const kymo_handler_site_t *s = &l->launch->sites[r->site];
		const kymo_handler_buffer_t *b =
			handlers_in_memory(s) ? handlers_buffer_of(l->launch, r->address) : NULL;

		w->row(w, s->place,
		       (const kymo_handler_cell_t[]){
			       handlers_number(r->group), handlers_number(r->item),
			       handlers_number(r->occurrence), handlers_text(s->what),
			       handlers_text(handlers_space_name(s->space)),
			       handlers_text(b ? b->name : NULL), handlers_number(s->bytes),
			       handlers_number(r->address)},
		       8);
	}
	return w->left_out(w, "accesses behind the first ones (limit=)", l->left_out);
}

static const char *kind_of(const kymo_handler_site_t *s)
{
	return s->kind == KYMO_SITE_REGION_BEGIN ? "begin"
	       : s->kind == KYMO_SITE_REGION_END ? "end"
	       : s->kind == KYMO_SITE_END        ? "leaves"
						 : "block";
}

static kymo_status_t report_blocks(void *state, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"group", "item", "occurrence",
					      "kind",  "name", "clock_ticks"};
	const struct log *l = state;

	w->table(w, "records", columns, 6);
	for (uint64_t i = 0; i < l->count; i++) {
		const kymo_access_t *r = &l->records[i];
		const kymo_handler_site_t *s = &l->launch->sites[r->site];

		w->row(w, s->place,
		       (const kymo_handler_cell_t[]){
			       handlers_number(r->group), handlers_number(r->item),
			       handlers_number(r->occurrence), handlers_text(kind_of(s)),
			       handlers_text(s->what),
			       r->clock ? handlers_number(r->clock) : handlers_text(NULL)},
		       6);
	}
	return w->left_out(w, "records behind the first ones (limit=)", l->left_out);
}

const kymo_handler_t handler_addresses = {
	.size = sizeof(handler_addresses),
	.version = KYMO_HANDLER_VERSION,
	.wants = KYMO_HANDLER_ACCESSES,
	.name = "addresses",
	.description = "the accesses themselves, the first of a launch (limit=1000)",
	.init = init,
	.on_batch = on_batch,
	.report = report_addresses,
	.finish = finish,
};

const kymo_handler_t handler_block_log = {
	.size = sizeof(handler_block_log),
	.version = KYMO_HANDLER_VERSION,
	.wants = KYMO_HANDLER_BLOCKS,
	.name = "block-log",
	.description = "the blocks and regions that work items run, the first of a launch "
		       "(limit=1000)",
	.init = init,
	.on_batch = on_batch,
	.report = report_blocks,
	.finish = finish,
};
