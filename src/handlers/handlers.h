/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers (kymo/handler.h) that come with Kymo, and how users name handlers: NAME[:KEY[=VALUE]]..., with commas between
 * them; NAME may be the path of a library, with a '/' in it.
 */
#ifndef HANDLERS_HANDLERS_H
#define HANDLERS_HANDLERS_H

#include <kymo/handler.h>

#include "lanes/lanes.h"

#define HANDLERS_MOST 16u /* in a list */
#define HANDLERS_KEYS 16u /* of one */

/* One of Kymo's own; NULL: it has none of this name. */
const kymo_handler_t *handlers_find(const char *name);
/* All of them, by number from 0; NULL behind the last. */
const kymo_handler_t *handlers_at(uint32_t i);

/* As a user names one; released with handlers_spec_release(). */
struct handlers_spec {
	char *text; /* holds all below */
	const char *name;
	bool path;
	const char *keys[HANDLERS_KEYS], *values[HANDLERS_KEYS];
	uint32_t count;
};

/* The next one of a list, which is moved on behind it. False: `why` says what is wrong with it; the end is an empty name. */
bool handlers_spec_next(const char **list, struct handlers_spec *out, char *why, size_t size);
void handlers_spec_release(struct handlers_spec *s);

/* ---- for handlers ---- */

/* All options are among `known`, words with spaces between them; else `why` says which is not. */
bool handlers_options_known(const kymo_handler_options_t *o, const char *known, char *why,
			    size_t size);
/* A whole number, with K, M, G behind it or not; `otherwise` if it is not given. False: it is none from `least` on. */
bool handlers_option_number(const kymo_handler_options_t *o, const char *key, uint64_t least,
			    uint64_t otherwise, uint64_t *out, char *why, size_t size);

/* The order of records by group (`items`: and by work item), as they came within one; to be freed. NULL: no memory. */
uint32_t *handlers_order(const kymo_access_t *records, size_t count, bool items);

kymo_handler_cell_t handlers_number(uint64_t n);
kymo_handler_cell_t handlers_real(double v); /* NaN: not known */
kymo_handler_cell_t handlers_text(const char *text);

const char *handlers_space_name(uint32_t space);
/* An access to memory that all groups have: its addresses are those of buffers. */
bool handlers_in_memory(const kymo_handler_site_t *s);

/* Which buffer an address lies in: the smallest of those that hold it, the first of equal ones. NULL: none. */
const kymo_handler_buffer_t *handlers_buffer_of(const kymo_handler_launch_t *l, uint64_t address);

extern const kymo_handler_t handler_heatmap, handler_reuse, handler_blocks, handler_addresses,
	handler_block_log;

/* Of the handler "memory": what it counts, by site, and as which device. */
extern const kymo_handler_t handler_memory;
const struct lanes_count *handler_memory_counts(const void *state,
						const kymo_lanes_profile_t **profile);

#endif
