/* SPDX-License-Identifier: Apache-2.0 */
/* Records in the order of groups, and cells of rows; see handlers.h. */
#include "handlers/handlers.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT 16u

static uint64_t key_of(const kymo_access_t *r, bool items)
{
	return items ? (uint64_t)r->group << 32 | r->item : r->group;
}

/* What bits the keys differ in. */
static uint64_t differing(const kymo_access_t *records, size_t count, bool items)
{
	uint64_t bits = 0;

	for (size_t i = 1; i < count; i++)
		bits |= key_of(&records[i], items) ^ key_of(&records[0], items);
	return bits;
}

/* By a digit of the keys; equal ones stay in order. */
static void sort_digit(const kymo_access_t *records, const uint32_t *from, uint32_t *to,
		       size_t count, bool items, uint32_t shift, size_t *places)
{
	const uint64_t mask = (1u << DIGIT) - 1;
	size_t sum = 0;

	memset(places, 0, sizeof(*places) << DIGIT);
	for (size_t i = 0; i < count; i++)
		places[key_of(&records[i], items) >> shift & mask]++;
	for (size_t d = 0; d <= mask; d++) {
		const size_t n = places[d];

		places[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[places[key_of(&records[from[i]], items) >> shift & mask]++] = from[i];
}

uint32_t *handlers_order(const kymo_access_t *records, size_t count, bool items)
{
	uint32_t *a = count < UINT32_MAX ? malloc((count + 1) * sizeof(*a)) : NULL;
	const uint64_t bits = differing(records, count, items);
	uint32_t *b = malloc((count + 1) * sizeof(*b));
	size_t *places = malloc(sizeof(*places) << DIGIT);

	for (size_t i = 0; a && i < count; i++)
		a[i] = (uint32_t)i;
	for (uint32_t shift = 0; a && b && places && shift < 64; shift += DIGIT) {
		uint32_t *swap = a;

		if (!(bits >> shift & ((1u << DIGIT) - 1)))
			continue;
		sort_digit(records, a, b, count, items, shift, places);
		a = b;
		b = swap;
	}
	if (!b || !places) {
		free(a);
		a = NULL;
	}
	free(b);
	free(places);
	return a;
}

/* ---- rows -------------------------------------------------------------------------------------- */

kymo_handler_cell_t handlers_number(uint64_t n)
{
	return (kymo_handler_cell_t){KYMO_CELL_UNSIGNED, {.number = n}};
}

kymo_handler_cell_t handlers_real(double v)
{
	return (kymo_handler_cell_t){KYMO_CELL_REAL, {.real = v}};
}

kymo_handler_cell_t handlers_text(const char *text)
{
	return (kymo_handler_cell_t){KYMO_CELL_TEXT, {.text = text}};
}

const char *handlers_space_name(uint32_t space)
{
	static const char *const names[] = {"other",   "global",  "constant", "local",
					    "private", "generic", "image"};

	return names[space < sizeof(names) / sizeof(names[0]) ? space : 0];
}

bool handlers_in_memory(const kymo_handler_site_t *s)
{
	return s->kind < KYMO_SITE_BLOCK &&
	       (s->space == KYMO_SPACE_GLOBAL || s->space == KYMO_SPACE_CONSTANT ||
		s->space == KYMO_SPACE_GENERIC);
}
