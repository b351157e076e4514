/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of kernels by number: each process counts those of a name, from 1, in the order in which they were launched,
 * whichever thread, queue or device. A pass ahead finds them; 56 bytes of memory for each execution of a kernel that
 * numbers are asked of, some 30 more for those that are wanted. What one call launched without times cannot be told apart: of these all are chosen if one is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "stream/filter_parts.h"

struct execution {
	uint32_t process, name; /* the first kernel that is called so */
	uint32_t queue;
	bool wanted;
	int64_t submit, start, end;
	uint64_t call;
};

struct filter_counts {
	struct stream_sink sink; /* first: of the pass */
	const struct filter_binding *b;
	uint32_t *name; /* by kernel: the first one that is called so; 0: numbers do not matter */
	struct execution *at;
	size_t count, room;
	struct map of_call; /* of those that are wanted, by process and call: index + 1 */
};

static bool are_numbered(const struct pattern *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->lines[i].numbers.count)
			return true;
	return false;
}

bool counts_needed(const struct stream_filter *f)
{
	return are_numbered(&f->kernels) || are_numbered(&f->no_kernels);
}

/* ---- names --------------------------------------------------------------------------------- */

static bool asks_numbers(const struct pattern *p, const char *name)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->lines[i].numbers.count && pattern_line_matches(&p->lines[i], name))
			return true;
	return false;
}

struct named {
	const char *name;
	uint32_t kernel;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static bool find_names(struct filter_counts *c)
{
	const struct stream_filter *f = c->b->filter;
	const struct trace *t = c->b->trace;
	struct named *all = malloc((t->kernels_count + (size_t)1) * sizeof(*all));
	uint32_t first = 0;

	c->name = calloc(t->kernels_count + (size_t)1, sizeof(*c->name));
	if (!all || !c->name) {
		free(all);
		return false;
	}
	for (uint32_t i = 1; i < t->kernels_count; i++)
		all[i - 1] = (struct named){t->kernels[i].name, i};
	if (t->kernels_count > 1)
		qsort(all, t->kernels_count - 1, sizeof(*all), by_name);
	for (uint32_t i = 0; i + 1 < t->kernels_count; i++) {
		bool new = !i || strcmp(all[i].name, all[i - 1].name) != 0;

		if (new)
			first = asks_numbers(&f->kernels, all[i].name) ||
						asks_numbers(&f->no_kernels, all[i].name)
					? all[i].kernel
					: 0;
		c->name[all[i].kernel] = first;
	}
	free(all);
	return true;
}

struct filter_counts *counts_new(struct filter_binding *b)
{
	struct filter_counts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->b = b;
	if (find_names(c))
		return c;
	counts_free(c);
	return NULL;
}

void counts_free(struct filter_counts *c)
{
	if (!c)
		return;
	map_release(&c->of_call);
	free(c->name);
	free(c->at);
	free(c);
}

/* ---- executions ---------------------------------------------------------------------------- */

static struct execution of_dispatch(const struct filter_counts *c, const struct rec_dispatch *r)
{
	return (struct execution){.process = r->base.process,
				  .name = c->name[r->kernel],
				  .queue = r->queue,
				  .submit = r->device.submit ? r->device.submit : r->base.start,
				  .start = r->device.start,
				  .end = r->device.end,
				  .call = r->device.correlation};
}

static struct execution of_unfinished(const struct filter_counts *c, const struct t_unfinished *u)
{
	return (struct execution){.process = u->process,
				  .name = c->name[u->kernel],
				  .queue = u->queue,
				  .submit = u->submit,
				  .start = INT64_MAX,
				  .end = INT64_MAX,
				  .call = u->id};
}

static kymo_status_t add(struct filter_counts *c, const struct execution *e)
{
	if (!e->name)
		return KYMO_OK;
	if (!vec_reserve(&c->at, &c->room, c->count, 1))
		return KYMO_ERROR_NO_MEMORY;
	c->at[c->count++] = *e;
	return KYMO_OK;
}

static kymo_status_t add_dispatch(struct stream_sink *sink, const struct rec_dispatch *r)
{
	struct filter_counts *c = (struct filter_counts *)(void *)sink;
	const struct execution e = of_dispatch(c, r);

	return add(c, &e);
}

static bool dispatches(const struct trace *t, const struct t_op *op)
{
	return strcmp(t->domains[op->domain].name, "dispatch") == 0;
}

struct stream_sink *counts_look(struct filter_counts *c,
				bool (**wants)(const struct trace *t, const struct t_op *op))
{
	c->sink = (struct stream_sink){.dispatch = add_dispatch, .brief = true};
	*wants = dispatches;
	return &c->sink;
}

#define ORDER(member)                                                                              \
	if (x->member != y->member)                                                                \
	return x->member < y->member ? -1 : 1

static int by_launch(const void *a, const void *b)
{
	const struct execution *x = a, *y = b;

	ORDER(process);
	ORDER(name);
	ORDER(submit);
	ORDER(start);
	ORDER(end);
	ORDER(call);
	ORDER(queue);
	return 0;
}

static bool is_one(const struct pattern *p, const char *name, uint64_t number)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct pattern_line *l = &p->lines[i];

		if ((strcmp(l->text, name) == 0 || !l->numbers.count ||
		     numbers_have(&l->numbers, number)) &&
		    (strcmp(l->text, name) == 0 || pattern_line_matches(l, name)))
			return true;
	}
	return false;
}

static uint64_t number_all(struct filter_counts *c)
{
	const struct stream_filter *f = c->b->filter;
	uint64_t number = 0, most = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct execution *e = &c->at[i];
		const char *name = c->b->trace->kernels[e->name].name;

		number = i && e->process == e[-1].process && e->name == e[-1].name ? number + 1 : 1;
		most = number > most ? number : most;
		e->wanted = (!f->kernels.set || is_one(&f->kernels, name, number)) &&
			    !is_one(&f->no_kernels, name, number);
	}
	return most;
}

static bool find_calls(struct filter_counts *c)
{
	bool good = true;

	for (size_t i = 0; good && i < c->count; i++)
		if (c->at[i].wanted)
			good = map_add(&c->of_call, hash_mix(c->at[i].process, c->at[i].call),
				       i + 1);
	return good;
}

static bool any_wanted(const struct filter_counts *c)
{
	for (uint32_t i = 1; i < c->b->trace->kernels_count; i++)
		if (!c->name[i] && c->b->kernels[i])
			return true; /* whatever its number */
	for (size_t i = 0; i < c->count; i++)
		if (c->at[i].wanted)
			return true;
	return false;
}

kymo_status_t counts_looked(struct filter_counts *c, struct filter_binding *b)
{
	const struct trace *t = b->trace;
	kymo_status_t status = KYMO_OK;
	struct names_list none = {0};
	struct text what = {0};
	uint64_t most;

	for (uint32_t i = 1; i < t->unfinished_count && status == KYMO_OK; i++) {
		const struct execution e = of_unfinished(c, &t->unfinished[i]);

		status = add(c, &e);
	}
	if (status != KYMO_OK)
		return status;
	if (c->count)
		qsort(c->at, c->count, sizeof(*c->at), by_launch);
	most = number_all(c);
	if (!find_calls(c))
		return KYMO_ERROR_NO_MEMORY;
	if (!b->filter->kernels.set)
		return KYMO_OK;
	text_addf(&what, "no process has executed a kernel of that name so often, but %llu time%s",
		  (unsigned long long)most, most == 1 ? "" : "s");
	status = filter_choose(b, CHOICE_EXECUTION, any_wanted(c), what.s ? what.s : "", &none);
	text_release(&what);
	return status;
}

/* ---- afterwards ---------------------------------------------------------------------------- */

static bool have(const struct filter_counts *c, const struct execution *e)
{
	size_t low = 0, high = c->count;

	if (!e->name)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_launch(&c->at[middle], e) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->count && by_launch(&c->at[low], e) == 0; low++)
		if (c->at[low].wanted)
			return true;
	return false;
}

bool counts_have(const struct filter_counts *c, const struct rec_dispatch *r)
{
	const struct execution e = of_dispatch(c, r);

	return have(c, &e);
}

bool counts_have_unfinished(const struct filter_counts *c, const struct t_unfinished *u)
{
	const struct execution e = of_unfinished(c, u);

	return have(c, &e);
}

bool counts_have_call(const struct filter_counts *c, uint32_t process, uint64_t call,
		      uint32_t kernel)
{
	uint64_t i;

	if (!c->name[kernel])
		return true;
	map_each(&c->of_call, hash_mix(process, call), i) {
		const struct execution *e = &c->at[i - 1];

		if (e->process == process && e->call == call && e->name == c->name[kernel])
			return true;
	}
	return false;
}
