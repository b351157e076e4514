/* SPDX-License-Identifier: Apache-2.0 */
/* See lock_use.h. */
#include "analysis/lock_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

static const struct {
	const char *op, *kind;
	bool waits;
} known[] = {
	{"pthread_mutex_lock", "mutex", true},
	{"pthread_mutex_unlock", "mutex", false},
	{"pthread_rwlock_rdlock", "readers/writer", true},
	{"pthread_rwlock_wrlock", "readers/writer", true},
	{"pthread_cond_wait", "condition", true},
	{"pthread_barrier_wait", "barrier", true},
	{"pthread_spin_lock", "spin lock", true},
	{"sem_wait", "semaphore", true},
};
#define KNOWN (sizeof(known) / sizeof(*known))

static uint8_t what_is(const struct trace *t, const struct t_op *op)
{
	if (strcmp(t->domains[op->domain].name, "lock") != 0)
		return 0;
	for (unsigned i = 0; i < KNOWN; i++)
		if (strcmp(op->name, known[i].op) == 0)
			return (uint8_t)(i + 1);
	return 0;
}

struct lock_use *lock_use_new(const struct trace *t)
{
	struct lock_use *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->trace = t;
	u->op_is = calloc(t->ops_count + 1u, sizeof(*u->op_is));
	if (!u->op_is) {
		free(u);
		return NULL;
	}
	for (uint32_t i = 0; i < t->ops_count; i++)
		u->op_is[i] = what_is(t, &t->ops[i]);
	return u;
}

void lock_use_free(struct lock_use *u)
{
	if (!u)
		return;
	map_release(&u->places);
	map_release(&u->pair_places);
	free(u->pairs);
	free(u->rows);
	free(u->op_is);
	free(u);
}

static struct lock_use_row *row_of(struct lock_use *u, uint32_t process, uint64_t object,
				   const char *kind)
{
	const uint64_t hash = hash_add(hash_string(kind), (const uint64_t[]){process, object},
				       2 * sizeof(uint64_t));
	uint64_t i;

	map_each(&u->places, hash, i) {
		struct lock_use_row *row = &u->rows[i - 1];

		if (row->process == process && row->object == object && row->kind == kind)
			return row;
	}
	if (!vec_reserve(&u->rows, &u->rows_room, u->rows_count, 1) ||
	    !map_add(&u->places, hash, u->rows_count + 1u)) {
		u->failed = true;
		return NULL;
	}
	u->rows[u->rows_count] =
		(struct lock_use_row){.process = process, .object = object, .kind = kind};
	return &u->rows[u->rows_count++];
}

static void add_pair(struct lock_use *u, struct lock_use_row *row, uint32_t tid, uint64_t ns)
{
	const uint32_t place = (uint32_t)(row - u->rows);
	const uint64_t hash = hash_u64((uint64_t)place << 32 | tid);
	struct lock_use_pair *pair = NULL;
	uint64_t i;

	map_each(&u->pair_places, hash, i) {
		if (u->pairs[i - 1].row == place && u->pairs[i - 1].tid == tid)
			pair = &u->pairs[i - 1];
	}
	if (!pair) {
		if (!vec_reserve(&u->pairs, &u->pairs_room, u->pairs_count, 1) ||
		    !map_add(&u->pair_places, hash, u->pairs_count + 1u)) {
			u->failed = true;
			return;
		}
		pair = &u->pairs[u->pairs_count++];
		*pair = (struct lock_use_pair){.row = place, .tid = tid};
	}
	pair->ns += ns;
	if (pair->ns > row->tid_ns || !row->tid) {
		row->tid_ns = pair->ns;
		row->tid = tid;
	}
}

struct arguments {
	uint64_t object, thread, held;
	bool any;
};

static void read_arguments(struct arguments *a, const struct trace *t, const struct rec *r)
{
	const struct t_field *field;
	struct rec_fields fields;
	struct wire_value value;

	*a = (struct arguments){0};
	if (!r->wire)
		return;
	rec_fields_init(&fields, t, r);
	while (rec_fields_next(&fields, &field, &value)) {
		if (!value.present)
			continue;
		if (strcmp(field->name, "object") == 0) {
			a->object = value.u;
			a->any = true;
		} else if (strcmp(field->name, "held") == 0) {
			a->held = value.u;
		} else if (strcmp(field->name, "owner") == 0 ||
			   strcmp(field->name, "woken_by") == 0) {
			a->thread = value.u;
		}
	}
}

void lock_use_call_wanted(struct lock_use *u, const struct rec *r)
{
	const unsigned is = u->op_is[r->op] - 1u;
	const uint64_t ns = r->end > r->start ? (uint64_t)(r->end - r->start) : 0;
	struct lock_use_row *row;
	struct arguments a;

	read_arguments(&a, u->trace, r);
	row = a.any ? row_of(u, r->process, a.object, known[is].kind) : NULL;
	if (!row)
		return;
	if (!known[is].waits) {
		row->held_ns += a.held;
		row->longest_held_ns =
			a.held > row->longest_held_ns ? a.held : row->longest_held_ns;
		return;
	}
	row->ns += ns;
	if (!row->waits++ || ns > row->longest_ns) {
		row->longest_ns = ns;
		row->longest_site = r->site;
	}
	if (a.thread)
		add_pair(u, row, (uint32_t)a.thread, ns);
}
