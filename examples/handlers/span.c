/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler of records: which part of memory each place of a kernel touches, from the lowest to the highest address.
 *
 *   cc -shared -fPIC span.c $(pkg-config --cflags kymo) -o libkymo-handler-span.so
 *   KYMO_HANDLER_PATH=. kymo run --handlers span ./a.out
 *   kymo kernels --handler span a.kymo
 */
#include <kymo/handler.h>

#include <stdlib.h>

struct site {
	uint64_t accesses, lowest, behind;
};

struct span {
	const kymo_handler_launch_t *launch;
	struct site *sites;
};

static kymo_status_t init(const kymo_handler_options_t *options,
			  const kymo_handler_launch_t *launch, void **state, char *why, size_t size)
{
	struct span *s = calloc(1, sizeof(*s));

	(void)options; /* it has none */
	(void)why;
	(void)size;
	if (!s)
		return KYMO_ERROR_NO_MEMORY;
	s->launch = launch;
	s->sites = calloc(launch->site_count, sizeof(*s->sites));
	*state = s;
	return KYMO_OK;
}

static kymo_status_t on_batch(void *state, const kymo_access_t *records, size_t count)
{
	struct span *s = state;

	if (!s->sites)
		return KYMO_ERROR_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		struct site *x = &s->sites[records[i].site];
		uint64_t first = records[i].address;
		uint64_t end = first + s->launch->sites[records[i].site].bytes;

		x->lowest = !x->accesses || first < x->lowest ? first : x->lowest;
		x->behind = end > x->behind ? end : x->behind;
		x->accesses++;
	}
	return KYMO_OK;
}

static kymo_status_t report(void *state, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"kind", "accesses", "span_bytes"};
	const struct span *s = state;
	kymo_status_t status = w->table(w, "places", columns, 3);

	for (uint32_t i = 0; status == KYMO_OK && i < s->launch->site_count; i++) {
		const kymo_handler_site_t *site = &s->launch->sites[i];
		const struct site *x = &s->sites[i];
		const kymo_handler_cell_t cells[] = {
			{KYMO_CELL_TEXT, {.text = site->what}},
			{KYMO_CELL_UNSIGNED, {.number = x->accesses}},
			{KYMO_CELL_UNSIGNED, {.number = x->behind - x->lowest}}};

		if (x->accesses)
			status = w->row(w, site->place, cells, 3);
	}
	return status;
}

static void finish(void *state)
{
	struct span *s = state;

	free(s->sites);
	free(s);
}

const kymo_handler_t *kymo_handler(void)
{
	static const kymo_handler_t handler = {
		.size = sizeof(handler),
		.version = KYMO_HANDLER_VERSION,
		.wants = KYMO_HANDLER_ACCESSES,
		.name = "span",
		.description = "the memory from the lowest to the highest address of each place",
		.init = init,
		.on_batch = on_batch,
		.report = report,
		.finish = finish,
	};

	return &handler;
}
