/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that are not as they should be, one for each of ODD_VERSION, ODD_EXPORT, ODD_TABLES, ODD_BATCH. */
#include <kymo/handler.h>

static int nothing;

static kymo_status_t init(const kymo_handler_options_t *options,
			  const kymo_handler_launch_t *launch, void **state, char *why, size_t size)
{
	(void)options;
	(void)launch;
	(void)why;
	(void)size;
	*state = &nothing;
	return KYMO_OK;
}

static kymo_status_t on_batch(void *state, const kymo_access_t *records, size_t count)
{
	(void)state;
	(void)records;
	(void)count;
#ifdef ODD_BATCH
	return KYMO_ERROR_UNSUPPORTED;
#else
	return KYMO_OK;
#endif
}

/* A good row among tables and rows that are none, and numbers that no signed integer can be. */
static kymo_status_t report(void *state, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"n"}, *const bad[] = {"No name"},
				 *const twice[] = {"n", "m", "n"}, *const first[] = {"n", "pid"};
	const kymo_handler_cell_t cells[] = {{KYMO_CELL_UNSIGNED, {.number = 7}},
					     {99, {.number = 0}}};
	static const char *const numbers[] = {"most", "half", "start_address"};
	const kymo_handler_cell_t large[] = {{KYMO_CELL_UNSIGNED, {.number = UINT64_MAX}},
					     {KYMO_CELL_UNSIGNED, {.number = 1ull << 63}},
					     {KYMO_CELL_UNSIGNED, {.number = (1ull << 63) + 1}}};

	(void)state;
	w->table(w, "bad", bad, 1);
	w->table(w, "twice", twice, 3);
	w->table(w, "first", first, 2);
	w->row(w, 0, cells, 1); /* of no table */
	w->table(w, "good", columns, 1);
	w->row(w, 0, cells, 2);     /* too long */
	w->row(w, 0, cells + 1, 1); /* no such kind */
	w->row(w, 0, cells, 1);
	w->table(w, "large", numbers, 3);
	w->row(w, 0, large, 3);
	w->left_out(w, "things", UINT64_MAX - 1);
	return KYMO_OK;
}

static void finish(void *state)
{
	(void)state;
}

#ifdef ODD_EXPORT
#define kymo_handler kymo_other
const kymo_handler_t *kymo_other(void);
#endif

__attribute__((visibility("default"))) const kymo_handler_t *kymo_handler(void)
{
	static const kymo_handler_t handler = {
		.size = sizeof(handler),
#ifdef ODD_VERSION
		.version = KYMO_HANDLER_VERSION + 1,
#else
		.version = KYMO_HANDLER_VERSION,
#endif
		.wants = KYMO_HANDLER_ACCESSES,
		.name = "odd",
		.description = "a handler of the tests",
		.init = init,
		.on_batch = on_batch,
		.report = report,
		.finish = finish,
	};

	return &handler;
}
