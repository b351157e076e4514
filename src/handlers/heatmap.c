/* SPDX-License-Identifier: Apache-2.0 */
/* Where in memory the accesses are: by page, by buffer, by kind of memory. Each access is in one row of each table. */
#include "handlers/handlers.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

#define PAGE   (1u << 20)
#define SPACES (KYMO_SPACE_IMAGE + 1u)

struct heat {
	uint64_t accesses, bytes;
};

struct page {
	uint64_t number;
	struct heat heat;
};

struct heatmap {
	const kymo_handler_launch_t *launch;
	uint64_t page; /* bytes */
	struct page *pages;
	uint32_t count, room, last; /* pages; the one of the access before, plus one */
	struct map places;          /* of a page's number: its place, plus one */
	struct heat *buffers, spaces[SPACES];
	const kymo_handler_buffer_t *buffer; /* of the access before */
};

/* ---- buffers ----------------------------------------------------------------------------------- */

static bool holds(const kymo_handler_buffer_t *b, uint64_t address)
{
	return b->base && address >= b->base && address - b->base < b->bytes;
}

const kymo_handler_buffer_t *handlers_buffer_of(const kymo_handler_launch_t *l, uint64_t address)
{
	const kymo_handler_buffer_t *best = NULL;

	for (uint32_t i = 0; i < l->buffer_count; i++)
		if (holds(&l->buffers[i], address) && (!best || l->buffers[i].bytes < best->bytes))
			best = &l->buffers[i];
	return best;
}

/* ---- life -------------------------------------------------------------------------------------- */

static void finish(void *state)
{
	struct heatmap *h = state;

	map_release(&h->places);
	free(h->pages);
	free(h->buffers);
	free(h);
}

static kymo_status_t init(const kymo_handler_options_t *options,
			  const kymo_handler_launch_t *launch, void **state, char *why, size_t size)
{
	struct heatmap *h = calloc(1, sizeof(*h));

	if (!h)
		return KYMO_ERROR_NO_MEMORY;
	h->launch = launch;
	h->buffers = calloc(launch->buffer_count + 1u, sizeof(*h->buffers));
	*state = h;
	if (h->buffers && handlers_options_known(options, "page", why, size) &&
	    handlers_option_number(options, "page", 1, PAGE, &h->page, why, size))
		return KYMO_OK;
	finish(h);
	return *why ? KYMO_ERROR_INVALID_ARGUMENT : KYMO_ERROR_NO_MEMORY;
}

/* ---- counting ---------------------------------------------------------------------------------- */

static void warm(struct heat *h, uint32_t bytes)
{
	h->accesses++;
	h->bytes += bytes;
}

/* Place of the page, plus one; 0: no memory. */
static uint32_t page_of(struct heatmap *h, uint64_t number)
{
	uint32_t i = h->last;

	if (i && h->pages[i - 1].number == number)
		return i;
	i = (uint32_t)map_get(&h->places, number);
	if (i)
		return i;
	if (!vec_reserve(&h->pages, &h->room, h->count, 1) ||
	    !map_set(&h->places, number, h->count + 1u))
		return 0;
	h->pages[h->count++] = (struct page){number, {0, 0}};
	return h->count;
}

/* The last of `buffers` is of accesses that are in none. */
static uint32_t buffer_of(struct heatmap *h, uint64_t address)
{
	if (!h->buffer || !holds(h->buffer, address) || h->launch->buffer_count > 1)
		h->buffer = handlers_buffer_of(h->launch, address);
	return h->buffer ? (uint32_t)(h->buffer - h->launch->buffers) : h->launch->buffer_count;
}

static kymo_status_t on_batch(void *state, const kymo_access_t *records, size_t count)
{
	struct heatmap *h = state;

	for (size_t i = 0; i < count; i++) {
		const kymo_handler_site_t *s = &h->launch->sites[records[i].site];

		warm(&h->spaces[s->space < SPACES ? s->space : 0], s->bytes);
		if (!handlers_in_memory(s))
			continue;
		h->last = page_of(h, records[i].address / h->page);
		if (!h->last)
			return KYMO_ERROR_NO_MEMORY;
		warm(&h->pages[h->last - 1].heat, s->bytes);
		warm(&h->buffers[buffer_of(h, records[i].address)], s->bytes);
	}
	return KYMO_OK;
}

/* ---- report ------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void put_pages(struct heatmap *h, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"address", "page_bytes", "argument", "accesses",
					      "bytes"};

	qsort(h->pages, h->count, sizeof(*h->pages), by_number);
	w->table(w, "pages", columns, 5);
	for (uint32_t i = 0; i < h->count; i++) {
		const uint64_t address = h->pages[i].number * h->page;
		const kymo_handler_buffer_t *b = NULL;

		for (uint32_t k = 0; k < h->launch->buffer_count && !b; k++) {
			const kymo_handler_buffer_t *x = &h->launch->buffers[k];

			if (x->base && x->base < address + h->page && address < x->base + x->bytes)
				b = x;
		}
		w->row(w, 0,
		       (const kymo_handler_cell_t[]){handlers_number(address),
						     handlers_number(h->page),
						     handlers_text(b ? b->name : NULL),
						     handlers_number(h->pages[i].heat.accesses),
						     handlers_number(h->pages[i].heat.bytes)},
		       5);
	}
}

static void put_buffers(const struct heatmap *h, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"argument",     "number",   "buffer", "address",
					      "buffer_bytes", "accesses", "bytes"};

	w->table(w, "buffers", columns, 7);
	for (uint32_t i = 0; i <= h->launch->buffer_count; i++) {
		const kymo_handler_buffer_t none = {.name = "(none that is known)",
						    .argument = UINT32_MAX};
		const bool known = i < h->launch->buffer_count;
		const kymo_handler_buffer_t *b = known ? &h->launch->buffers[i] : &none;

		if (!known && !h->buffers[i].accesses)
			continue;
		w->row(w, 0,
		       (const kymo_handler_cell_t[]){
			       handlers_text(b->name),
			       b->argument == UINT32_MAX ? handlers_text(NULL)
							 : handlers_number(b->argument),
			       b->id ? handlers_number(b->id) : handlers_text(NULL),
			       b->base ? handlers_number(b->base) : handlers_text(NULL),
			       known ? handlers_number(b->bytes) : handlers_text(NULL),
			       handlers_number(h->buffers[i].accesses),
			       handlers_number(h->buffers[i].bytes)},
		       7);
	}
}

static kymo_status_t report(void *state, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"memory", "accesses", "bytes"};
	struct heatmap *h = state;

	put_pages(h, w);
	put_buffers(h, w);
	w->table(w, "memories", columns, 3);
	for (uint32_t i = 0; i < SPACES; i++)
		if (h->spaces[i].accesses)
			w->row(w, 0,
			       (const kymo_handler_cell_t[]){handlers_text(handlers_space_name(i)),
							     handlers_number(h->spaces[i].accesses),
							     handlers_number(h->spaces[i].bytes)},
			       3);
	return KYMO_OK;
}

const kymo_handler_t handler_heatmap = {
	.size = sizeof(handler_heatmap),
	.version = KYMO_HANDLER_VERSION,
	.wants = KYMO_HANDLER_ACCESSES,
	.name = "heatmap",
	.description = "accesses and bytes by page (page=1M) and by buffer",
	.init = init,
	.on_batch = on_batch,
	.report = report,
	.finish = finish,
};
