/* SPDX-License-Identifier: Apache-2.0 */
/* See off_use.h. */
#include "analysis/off_use.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call_use.h"
#include "base/hash.h"
#include "base/vec.h"

void off_use_release(struct off_use *u)
{
	map_release(&u->places);
	free(u->rows);
	*u = (struct off_use){0};
}

static struct off_use_row *row_of(struct off_use *u, uint32_t op, uint32_t stack)
{
	const uint64_t key = hash_u64((uint64_t)op << 32 | stack);
	uint64_t i;

	map_each(&u->places, key, i) {
		if (u->rows[i - 1].op == op && u->rows[i - 1].stack == stack)
			return &u->rows[i - 1];
	}
	if (!vec_reserve(&u->rows, &u->rows_room, u->rows_count, 1) ||
	    !map_add(&u->places, key, u->rows_count + 1u)) {
		u->failed = true;
		return NULL;
	}
	u->rows[u->rows_count] = (struct off_use_row){.op = op, .stack = stack};
	return &u->rows[u->rows_count++];
}

/* File name of the object that a place lies in; "": not known. */
static const char *object_of(const struct trace *t, uint32_t site)
{
	const uint32_t module = t->sites[site].module;
	const char *path = module && module < t->modules_count ? t->modules[module].path : NULL;
	const char *name = path ? strrchr(path, '/') : NULL;

	return name ? name + 1 : path ? path : "";
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Of the C library, of what stands before it, or of nothing that is known. */
static bool is_library(const char *object)
{
	return !*object || begins(object, "libc.so") || begins(object, "libc-") ||
	       begins(object, "libkymo-");
}

/* Innermost place of the program in a stack; 0: it has none, or waits in Kymo. */
static uint32_t place_of(const struct trace *t, const struct t_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		const char *object = object_of(t, stack->sites[i]);

		if (!is_library(object))
			return begins(object, "libkymo.so") ? 0 : stack->sites[i];
	}
	return 0;
}

uint32_t off_use_add(struct off_use *u, const struct rec *r)
{
	static const char *const names[] = {"stack"};
	const struct trace *t = u->trace;
	const uint64_t ns = r->end > r->start ? (uint64_t)(r->end - r->start) : 0;
	struct off_use_row *row;
	uint32_t place;
	uint64_t stack;

	if (r->thread >= t->threads_count || t->threads[r->thread].own)
		return 0;
	if (!call_use_words(t, r, names, 1, &stack) || !stack || stack >= t->stacks_count) {
		u->without_stack++;
		u->without_stack_ns += ns;
		return 0;
	}
	place = place_of(t, &t->stacks[stack]);
	row = row_of(u, r->op, (uint32_t)stack);
	if (!row)
		return place;
	row->times++;
	row->ns += ns;
	row->longest_ns = ns > row->longest_ns ? ns : row->longest_ns;
	return place;
}
