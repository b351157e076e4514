/* SPDX-License-Identifier: Apache-2.0 */
/* Finding what devices wait for each other in collectives; see collectives.h. */
#include "analysis/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/communication.h"
#include "base/hash.h"
#include "base/vec.h"

/* A call of a process that launched collectives of a communicator. */
struct launch {
	uint64_t
		key; /* of the communicator; 0: what it launched is no collective, or of several communicators */
	uint32_t communicator, size;
	uint32_t call;   /* index of timeline.calls, or TIMELINE_NONE */
	uint32_t number; /* among those of the communicator */
	int64_t start;
};

/* ---- launches ---------------------------------------------------------------------------------- */

/* NCCL tells which rank of a communicator a process is; of MPI's that is not needed. */
static bool is_of_devices(const struct t_communicator *c)
{
	return c->own_rank && c->key && c->size > 1;
}

/* In a reduction, and where one gives to each, a rank may be done before others have come. */
static bool all_meet(const struct timeline *tl, const struct tl_message *m,
		     const struct t_communicator *c)
{
	const struct tl_call *call = timeline_find(tl, m->process, m->id);
	const char *name = call ? tl->trace->ops[call->op].name : "";

	return m->peer < 0 || c->size == 2 || strcmp(name, "ncclBroadcast") == 0 ||
	       strcmp(name, "ncclBcast") == 0;
}

static uint32_t launching_call(const struct timeline *tl, const struct tl_message *m)
{
	const struct tl_call *c =
		timeline_find(tl, m->process, m->completed_by ? m->completed_by : m->id);

	c = c ? communication_call(tl, c) : NULL;
	return c ? (uint32_t)(c - tl->calls) : TIMELINE_NONE;
}

static void list_launches(struct collectives *s)
{
	const struct timeline *tl = s->tl;

	for (uint32_t i = 0; i < tl->messages_count; i++) {
		const struct tl_message *m = &tl->messages[i];
		const struct t_communicator *c = &tl->trace->communicators[m->communicator];
		bool known = m->kind == COMM_OP_COLLECTIVE && !m->state && all_meet(tl, m, c);

		if (!is_of_devices(c))
			continue;
		if (!vec_reserve(&s->launches, &s->launches_room, s->launches_count, 1)) {
			s->failed = true;
			return;
		}
		s->launches[s->launches_count++] = (struct launch){.key = known ? c->key : 0,
								   .communicator = m->communicator,
								   .size = c->size,
								   .call = launching_call(tl, m),
								   .start = m->start};
	}
}

static int by_start(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	if (x->communicator != y->communicator)
		return x->communicator < y->communicator ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static int by_call(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	return x->call < y->call ? -1 : x->call > y->call;
}

/* Those of one communicator become one for each call, with a number; returns how many. */
static uint32_t number_launches(struct launch *l, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (n && l[i].call == l[n - 1].call && l[i].call != TIMELINE_NONE) {
			l[n - 1].key = l[i].key ? l[n - 1].key : 0;
			continue;
		}
		l[n] = l[i];
		l[n].number = n;
		n++;
	}
	return n;
}

/* How many the first communicator of a key has; another that has more or less is no use. */
static void check_number(struct collectives *s, struct map *numbers, struct launch *l,
			 uint32_t count)
{
	uint64_t key = s->tl->trace->communicators[l->communicator].key;
	uint64_t known = map_get(numbers, key);

	if (!known)
		s->failed |= !map_set(numbers, key, count);
	else if (known != count)
		s->failed |= !map_set(numbers, key, UINT64_MAX);
}

static void drop_uneven(struct collectives *s, const struct map *numbers)
{
	for (uint32_t i = 0; i < s->launches_count; i++)
		if (s->launches[i].key && map_get(numbers, s->launches[i].key) == UINT64_MAX)
			s->launches[i].key = 0;
}

/* One for each call; of those that launched for several communicators, or other things, nothing is known. */
static void merge_calls(struct collectives *s)
{
	uint32_t n = 0;

	if (s->launches_count)
		qsort(s->launches, s->launches_count, sizeof(*s->launches), by_call);
	for (uint32_t i = 0; i < s->launches_count; i++) {
		struct launch *l = &s->launches[i], *last = n ? &s->launches[n - 1] : NULL;

		if (l->call == TIMELINE_NONE)
			break;
		if (!last || last->call != l->call)
			s->launches[n++] = *l;
		else if (last->key != l->key || last->number != l->number)
			last->key = 0;
	}
	s->launches_count = n;
}

static void find_launches(struct collectives *s)
{
	struct map numbers = {0};
	uint32_t n = 0;

	list_launches(s);
	if (s->launches_count)
		qsort(s->launches, s->launches_count, sizeof(*s->launches), by_start);
	for (uint32_t i = 0, next; i < s->launches_count; i = next) {
		uint32_t count;

		for (next = i + 1; next < s->launches_count &&
				   s->launches[next].communicator == s->launches[i].communicator;)
			next++;
		count = number_launches(&s->launches[i], next - i);
		check_number(s, &numbers, &s->launches[i], count);
		memmove(&s->launches[n], &s->launches[i], count * sizeof(*s->launches));
		n += count;
	}
	s->launches_count = n;
	drop_uneven(s, &numbers);
	map_release(&numbers);
	merge_calls(s);
}

/* ---- parts ------------------------------------------------------------------------------------- */

static const struct launch *launch_of(const struct collectives *s, const struct tl_work *w)
{
	const struct tl_call *c = w->communicates ? timeline_call(s->tl, w) : NULL;
	struct launch key = {0};

	c = c ? communication_call(s->tl, c) : NULL;
	if (!c || !s->launches_count)
		return NULL;
	key.call = (uint32_t)(c - s->tl->calls);
	return bsearch(&key, s->launches, s->launches_count, sizeof(key), by_call);
}

static int by_meeting(const void *a, const void *b)
{
	const struct collective_part *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->work < y->work ? -1 : x->work > y->work;
}

/* Kernels of one launch on one device are one part. */
static void merge_parts(struct collectives *s)
{
	const struct tl_work *work = s->tl->work;
	uint32_t n = 0;

	if (s->parts_count)
		qsort(s->parts, s->parts_count, sizeof(*s->parts), by_meeting);
	for (uint32_t i = 0; i < s->parts_count; i++) {
		const struct collective_part *p = &s->parts[i];
		struct collective_part *last = n ? &s->parts[n - 1] : NULL;

		if (!last || last->key != p->key || last->number != p->number ||
		    last->device != p->device) {
			s->parts[n++] = *p;
			continue;
		}
		last->ns += p->ns;
		if (work[p->work].start < work[last->work].start)
			last->work = p->work;
	}
	s->parts_count = n;
}

static void find_parts(struct collectives *s)
{
	const struct timeline *tl = s->tl;

	for (uint32_t i = 0; i < tl->work_count; i++) {
		const struct tl_work *w = &tl->work[i];
		const struct launch *l = launch_of(s, w);

		if (!l || !l->key)
			continue;
		if (!vec_reserve(&s->parts, &s->parts_room, s->parts_count, 1)) {
			s->failed = true;
			return;
		}
		s->parts[s->parts_count++] =
			(struct collective_part){.key = l->key,
						 .ns = (uint64_t)(w->end - w->start),
						 .number = l->number,
						 .size = l->size,
						 .device = w->device,
						 .work = i};
	}
	merge_parts(s);
}

/* ---- waits ------------------------------------------------------------------------------------- */

/* The circle of these devices, new or not; NULL: no memory. */
static struct collective_circle *circle_at(struct collectives *s, uint32_t first, uint32_t size)
{
	uint64_t hash = HASH_START, i;

	for (uint32_t k = 0; k < size; k++)
		hash = hash_add(hash, &s->parts[first + k].device, sizeof(uint32_t));
	i = map_get(&s->circle_of, hash);
	if (i)
		return &s->circles[i - 1];
	if (!vec_reserve(&s->circles, &s->circles_room, s->circles_count, 1) ||
	    !map_set(&s->circle_of, hash, s->circles_count + 1)) {
		s->failed = true;
		return NULL;
	}
	s->circles[s->circles_count] = (struct collective_circle){
		.first = first, .size = size, .start = INT64_MAX, .end = INT64_MIN};
	return &s->circles[s->circles_count++];
}

static void add_wait(struct collectives *s, const struct collective_wait *w)
{
	if (vec_reserve(&s->waits, &s->waits_room, s->waits_count, 1))
		s->waits[s->waits_count++] = *w;
	else
		s->failed = true;
}

/* All devices of a communicator have come together. */
static void meet(struct collectives *s, uint32_t first, uint32_t size)
{
	struct collective_circle *c = circle_at(s, first, size);
	const struct collective_part *p = &s->parts[first], *last = p;
	bool told = false;

	if (!c)
		return;
	c->meetings++;
	for (uint32_t i = 1; i < size; i++)
		last = p[i].ns < last->ns ? &p[i] : last;
	for (uint32_t i = 0; i < size; i++) {
		const struct tl_work *w = &s->tl->work[p[i].work];
		uint64_t ns = p[i].ns - last->ns;

		c->start = w->start < c->start ? w->start : c->start;
		c->end = w->end > c->end ? w->end : c->end;
		if (ns < TIMELINE_LONG_NS)
			continue;
		add_wait(s, &(struct collective_wait){.start = w->start,
						      .end = w->start + (int64_t)ns,
						      .circle = (uint32_t)(c - s->circles),
						      .cause = last->device,
						      .device = p[i].device,
						      .work = p[i].work,
						      .first = !told});
		told = true;
	}
}

static int by_cause(const void *a, const void *b)
{
	const struct collective_wait *x = a, *y = b;

	if (x->circle != y->circle)
		return x->circle < y->circle ? -1 : 1;
	if (x->cause != y->cause)
		return x->cause < y->cause ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void find_waits(struct collectives *s)
{
	for (uint32_t i = 0, next; i < s->parts_count && !s->failed; i = next) {
		const struct collective_part *p = &s->parts[i];

		for (next = i + 1; next < s->parts_count && s->parts[next].key == p->key &&
				   s->parts[next].number == p->number;)
			next++;
		if (next - i == p->size)
			meet(s, i, p->size);
	}
	if (s->waits_count)
		qsort(s->waits, s->waits_count, sizeof(*s->waits), by_cause);
	for (uint32_t i = s->waits_count; i-- > 0;) {
		s->circles[s->waits[i].circle].first_wait = i;
		s->circles[s->waits[i].circle].waits++;
	}
}

/* ---- members ----------------------------------------------------------------------------------- */

static struct collective_member *member_at(struct collective_member *list, uint32_t size,
					   uint32_t device)
{
	uint32_t low = 0, high = size;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (list[middle].device <= device)
			low = middle;
		else
			high = middle;
	}
	return &list[low];
}

/* What one device waits for another, each moment once; *all: beside other kernels, too. */
static uint64_t waited(const struct collectives *s, const struct collective_wait *w, uint32_t count,
		       uint64_t *all)
{
	const struct intervals *computing = &s->tl->devices[w->device].computing;
	uint64_t ns = 0;
	int64_t until = INT64_MIN;

	*all = 0;
	for (uint32_t i = 0; i < count; i++) {
		int64_t start = w[i].start > until ? w[i].start : until;

		if (w[i].end <= start)
			continue;
		until = w[i].end;
		*all += (uint64_t)(until - start);
		ns += (uint64_t)(until - start) - intervals_within(computing, start, until);
	}
	return ns;
}

struct collective_member *collectives_members(const struct collectives *s,
					      const struct collective_circle *c)
{
	struct collective_member *m = calloc(c->size, sizeof(*m));
	uint32_t end = c->first_wait + c->waits;

	for (uint32_t i = 0; m && i < c->size; i++) {
		m[i].device = s->parts[c->first + i].device;
		m[i].computing = intervals_within(&s->tl->devices[m[i].device].computing,
						  s->tl->start, c->end);
	}
	for (uint32_t i = c->first_wait, next; m && i < end; i = next) {
		const struct collective_wait *w = &s->waits[i];
		struct collective_member *cause = member_at(m, c->size, w->cause);
		struct collective_member *waits = member_at(m, c->size, w->device);
		uint64_t all, ns;

		for (next = i; next < end && s->waits[next].cause == w->cause &&
			       s->waits[next].device == w->device;)
			cause->last += s->waits[next++].first;
		ns = waited(s, w, next - i, &all);
		waits->spins += all;
		waits->waits += ns;
		cause->charged += ns;
	}
	return m;
}

/* ---- what is not known --------------------------------------------------------------------------- */

bool collectives_missing(const struct trace *t, uint32_t *there, uint32_t *of)
{
	struct map found = {0};
	bool ok = true;

	*there = *of = 0;
	for (uint32_t i = 1; ok && i < t->communicators_count; i++)
		if (is_of_devices(&t->communicators[i]))
			ok = map_set(&found, t->communicators[i].key,
				     map_get(&found, t->communicators[i].key) + 1);
	for (uint32_t i = 1; ok && i < t->communicators_count; i++) {
		const struct t_communicator *c = &t->communicators[i];
		uint32_t n = is_of_devices(c) ? (uint32_t)map_get(&found, c->key) : 0;

		if (n && n < c->size && c->size - n > *of - *there) {
			*there = n;
			*of = c->size;
		}
	}
	map_release(&found);
	return ok;
}

uint64_t collectives_unmatched(const struct collectives *s)
{
	uint64_t all = 0, known = 0;

	for (uint32_t i = 0; i < s->tl->work_count; i++) {
		const struct tl_work *w = &s->tl->work[i];

		all += w->communicates ? (uint64_t)(w->end - w->start) : 0;
	}
	for (uint32_t i = 0, next; i < s->parts_count; i = next) {
		uint64_t ns = 0;

		for (next = i; next < s->parts_count && s->parts[next].key == s->parts[i].key &&
			       s->parts[next].number == s->parts[i].number;)
			ns += s->parts[next++].ns;
		known += next - i == s->parts[i].size ? ns : 0;
	}
	return all - known;
}

/* ---- all ----------------------------------------------------------------------------------------- */

bool collectives_find(struct collectives *s, const struct timeline *tl)
{
	*s = (struct collectives){.tl = tl};
	find_launches(s);
	find_parts(s);
	find_waits(s);
	return !s->failed;
}

void collectives_release(struct collectives *s)
{
	map_release(&s->circle_of);
	free(s->launches);
	free(s->parts);
	free(s->waits);
	free(s->circles);
	*s = (struct collectives){0};
}
