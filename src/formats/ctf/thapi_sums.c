/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that iprof keeps instead of a trace ("aggreg" folders), as tallies; see foreign.h. They have no times, and bytes
 * apart from the copies that moved them.
 */
#include <string.h>

#include "base/hash.h"
#include "formats/ctf/foreign.h"
#include "record/tallies.h"
#include "wire/tally.h"

struct sum {
	const char *name;
	uint64_t count, errors, total, min, max;
};

static uint64_t context_number(const struct foreign_event *e, const char *name)
{
	uint64_t n = 0;

	ctf_number(foreign_context(e->event, name), &n);
	return n;
}

static struct sum sum_of(const struct foreign_event *e)
{
	const char *name = ctf_text(foreign_context(e->event, "name"));
	struct sum s = {.name = name && *name ? name : "?",
			.count = context_number(e, "count"),
			.total = context_number(e, "total"),
			.min = context_number(e, "min"),
			.max = context_number(e, "max")};

	ctf_number(ctf_member(e->payload, "err_count"), &s.errors);
	return s;
}

static struct t_tally *add(struct ctf_reader *r, const struct foreign_event *e, uint32_t kind,
			   const struct sum *s)
{
	struct t_tally *y = trace_add(r->t, tallies);

	*y = (struct t_tally){.kind = kind,
			      .thread = e->thread->thread,
			      .count = s->count,
			      .errors = s->errors,
			      .total = s->total,
			      .self = s->total,
			      .min = s->min,
			      .max = s->max,
			      .ns_per_tick = 1};
	y->key[KEY_PROCESS] = e->thread->process;
	return y;
}

static void host(struct ctf_reader *r, const struct foreign_event *e, const struct sum *s)
{
	uint64_t backend = 0;
	struct t_tally *y;
	uint32_t op;

	ctf_number(ctf_member(e->payload, "backend"), &backend);
	op = keyed_op(&r->foreign->keyed, thapi_backend(backend), s->name, NULL, 0);
	y = add(r, e, WIRE_TALLY_CALL, s);
	y->key[KEY_THREAD] = e->thread->thread;
	y->key[KEY_OP] = op;
}

static struct t_tally *fresh_copies(struct ctf_reader *r, const struct foreign_event *e,
				    uint64_t key)
{
	const struct sum none = {.min = UINT64_MAX};
	struct t_tally *y = add(r, e, WIRE_TALLY_COPY, &none);

	y->work = trace_alloc(r->t, sizeof(*y->work));
	if (!y->work || !map_set(&r->foreign->sums, key, r->t->tallies_count - 1u)) {
		r->status = KYMO_ERROR_NO_MEMORY;
		r->done = true;
		return NULL;
	}
	*y->work = (struct t_work){0};
	return y;
}

/* Copies by that name of one thread: their times come with a device, their bytes without, in either order. */
static struct t_tally *copies(struct ctf_reader *r, const struct foreign_event *e, uint32_t agent,
			      const struct sum *s, bool timed)
{
	uint64_t key = hash_mix(hash_string(s->name), e->thread->thread), place;
	uint32_t op = thapi_copy_op(s->name);
	struct t_tally *y = NULL;

	place = map_get(&r->foreign->sums, key);
	if (place && (!timed || !r->t->tallies[place].count))
		y = &r->t->tallies[place];
	else
		y = fresh_copies(r, e, key);
	if (!y || (!timed && y->count))
		return y;
	op = op == UINT32_MAX ? COPY_OP_COPY : op;
	y->key[KEY_COPY_OP] = make_activity(&r->foreign->model, RECORD_DOMAIN_copy, op);
	y->key[KEY_COPY_SOURCE_AGENT] = op == COPY_OP_WRITE ? 0 : agent;
	y->key[KEY_COPY_DESTINATION_AGENT] = op == COPY_OP_READ ? 0 : agent;
	return y;
}

static void device(struct ctf_reader *r, const struct foreign_event *e, const struct sum *s)
{
	uint64_t did = 0, sdid = 0;
	struct t_tally *y;
	uint32_t agent, queue;

	ctf_number(ctf_member(e->payload, "did"), &did);
	ctf_number(ctf_member(e->payload, "sdid"), &sdid);
	if (thapi_is_no_work(s->name))
		return;
	agent = thapi_agent(r, e->thread->process, "device", sdid ? sdid : did);
	queue = thapi_queue(r, e->thread->process, "device", agent, 0);
	if (thapi_is_copy(s->name)) {
		y = copies(r, e, agent, s, true);
		if (!y)
			return;
		y->count = s->count;
		y->total = s->total;
		y->min = s->min;
		y->max = s->max;
		y->key[KEY_COPY_QUEUE] = queue;
		return;
	}
	y = add(r, e, WIRE_TALLY_DISPATCH, s);
	y->self = 0;
	y->key[KEY_DISPATCH_AGENT] = agent;
	y->key[KEY_DISPATCH_QUEUE] = queue;
	y->key[KEY_DISPATCH_KERNEL] =
		keyed_kernel(&r->foreign->keyed, e->thread->process,
			     keyed_text(&r->foreign->keyed, s->name, strlen(s->name)), 0, "device");
}

static void traffic(struct ctf_reader *r, const struct foreign_event *e, const struct sum *s)
{
	struct t_tally *y = copies(r, e, 0, s, false);

	if (!y)
		return;
	y->work->bytes += s->total;
	y->work->untimed = s->count;
}

/* Copies of which only the bytes were told have no times. */
void thapi_sums_complete(struct ctf_reader *r)
{
	for (uint32_t i = 1; i < r->t->tallies_count; i++) {
		struct t_tally *y = &r->t->tallies[i];

		if (y->kind != WIRE_TALLY_COPY)
			continue;
		if (y->count) {
			y->work->untimed = 0;
		} else {
			y->count = y->work->untimed;
			y->work->untimed_bytes = y->work->bytes;
		}
	}
}

void thapi_sum(struct ctf_reader *r, const struct foreign_event *e)
{
	struct sum s = sum_of(e);

	if (!s.count || (!r->defining && e->c->role != ROLE_SUM_DEVICE))
		return;
	if (!r->defining) {
		if (thapi_is_no_work(s.name))
			thapi_no_work(r, s.count);
		return;
	}
	if (e->c->role == ROLE_SUM_HOST)
		host(r, e, &s);
	else if (e->c->role == ROLE_SUM_DEVICE)
		device(r, e, &s);
	else
		traffic(r, e, &s);
}
