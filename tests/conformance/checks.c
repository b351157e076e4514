/* SPDX-License-Identifier: Apache-2.0 */
/* The promises, each as a pass over what was kept. */
#include "conformance.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PROMISES 32

static struct {
	const char *promise;
	uint64_t looked, failed;
	char first[200];
} promises[PROMISES];

static unsigned find(const char *promise)
{
	unsigned i = 0;

	while (i < PROMISES - 1 && promises[i].promise && strcmp(promises[i].promise, promise) != 0)
		i++;
	promises[i].promise = promise;
	return i;
}

void fail(const char *promise, const char *format, ...)
{
	unsigned i = find(promise);
	va_list ap;

	if (promises[i].failed++)
		return;
	va_start(ap, format);
	vsnprintf(promises[i].first, sizeof(promises[i].first), format, ap);
	va_end(ap);
}

void report(FILE *out)
{
	for (unsigned i = 0; i < PROMISES && promises[i].promise; i++)
		fprintf(out, "%s %llu %llu %s\n", promises[i].promise,
			(unsigned long long)promises[i].looked,
			(unsigned long long)promises[i].failed, promises[i].first);
}

#define LOOK(promise, holds, ...)                                                                  \
	do {                                                                                       \
		promises[find(promise)].looked++;                                                  \
		if (!(holds))                                                                      \
			fail(promise, __VA_ARGS__);                                                \
	} while (0)
#define ID(x) ((unsigned long long)(x))

static const char *op_name(const struct event *e)
{
	return e->domain->ops[e->op].name;
}

static bool in(const struct event *e, const char *domain)
{
	return strcmp(e->domain->name, domain) == 0;
}

static bool is(const struct event *e, const char *domain, const char *op)
{
	return in(e, domain) && strcmp(op_name(e), op) == 0;
}

/* ---- an index: lists of events by a number ---- */

struct index {
	uint64_t *keys;
	size_t *first, *next; /* event + 1 */
	size_t mask;
};

static uint64_t call_of(const struct event *e)
{
	return e->call;
}

static size_t place(const struct index *x, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15u) & x->mask;

	while (x->first[i] && x->keys[i] != key)
		i = (i + 1) & x->mask;
	return i;
}

static void index_init(struct index *x, const struct list *l, uint64_t (*key)(const struct event *))
{
	size_t room = 16;

	while (room < l->count * 2 + 16)
		room *= 2;
	x->mask = room - 1;
	x->keys = calloc(room, sizeof(*x->keys));
	x->first = calloc(room, sizeof(*x->first));
	x->next = calloc(l->count + 1, sizeof(*x->next));
	for (size_t n = l->count; n-- > 0;) {
		size_t i = place(x, key(&l->events[n]));

		x->keys[i] = key(&l->events[n]);
		x->next[n] = x->first[i];
		x->first[i] = n + 1;
	}
}

static void index_release(struct index *x)
{
	free(x->keys);
	free(x->first);
	free(x->next);
}

#define EACH(e, x, l, key)                                                                         \
	for (size_t at_ = (x)->first[place(x, key)]; at_ && ((e) = &(l)->events[at_ - 1], true);   \
	     at_ = (x)->next[at_ - 1])

/* ---- promises ---- */

void check_times(const struct list *l, uint64_t began, uint64_t ended)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i];

		if (!e->start && !e->end)
			continue;
		LOOK("start-before-end", e->start <= e->end, "%s of call %llu", op_name(e),
		     ID(e->call));
		LOOK("within-the-tool's-life", e->start + 1000000 >= began && e->end <= ended,
		     "%s: %llu to %llu, tool %llu to %llu", op_name(e), ID(e->start), ID(e->end),
		     ID(began), ID(ended));
	}
}

/* ENTER and EXIT in pairs by id and op; a thread's calls lie in each other, as their parents say.
 */
void check_pairs(const struct list *l)
{
	static uint64_t stack[65536][64];
	static unsigned depth[65536];

	memset(depth, 0, sizeof(depth));
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i];
		uint32_t t = e->thread & 65535;

		if (e->phase == KYMO_PHASE_ENTER) {
			if (depth[t])
				LOOK("nested", true, " ");
			LOOK("parents", e->parent == (depth[t] ? stack[t][depth[t] - 1] : 0),
			     "call %llu has parent %llu", ID(e->call), ID(e->parent));
			if (depth[t] < 64)
				stack[t][depth[t]++] = e->call;
		} else if (e->phase == KYMO_PHASE_EXIT) {
			bool top = depth[t] && stack[t][depth[t] - 1] == e->call;

			LOOK("pairs", top,
			     "%s: call %llu exits and is not the one that entered last", op_name(e),
			     ID(e->call));
			depth[t] -= depth[t] ? 1 : 0;
		}
	}
	for (unsigned t = 0; t < 65536; t++)
		LOOK("pairs", depth[t] == 0, "thread %u has %u calls that did not exit", t,
		     depth[t]);
}

void check_unique(const struct list *l)
{
	struct index x;

	index_init(&x, l, call_of);
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e;
		unsigned n = 0;

		if (l->events[i].phase != KYMO_PHASE_EXIT)
			continue;
		EACH(e, &x, l, l->events[i].call)
		n += e->phase == KYMO_PHASE_EXIT;
		LOOK("ids-unique", n == 1 && l->events[i].call, "id %llu is that of %u calls",
		     ID(l->events[i].call), n);
	}
	index_release(&x);
}

/* Each id once, after its call and after all that carries it. */
void check_retired(const struct list *l)
{
	struct index x;

	index_init(&x, l, call_of);
	for (size_t i = 0; i < l->count; i++) {
		size_t retired = 0, last = 0, times = 0;
		const struct event *e;

		if (l->events[i].phase != KYMO_PHASE_EXIT)
			continue;
		EACH(e, &x, l, l->events[i].call)
		{
			size_t at = (size_t)(e - l->events) + 1;

			if (in(e, "retirement")) {
				times++;
				retired = at;
			} else {
				last = at > last ? at : last;
			}
		}
		LOOK("retired-once", times == 1, "%s: id %llu was retired %zu times",
		     op_name(&l->events[i]), ID(l->events[i].call), times);
		LOOK("retired-last", times == 0 || retired > last, "%s: id %llu is used after that",
		     op_name(&l->events[i]), ID(l->events[i].call));
	}
	index_release(&x);
}

/* The first call of a thread gives it a name: from its own end on everything carries that. */
void check_external(const struct list *calls, const struct list *l)
{
	static size_t named[65536];
	struct index x;

	memset(named, 0, sizeof(named));
	index_init(&x, calls, call_of);
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i], *call;
		uint32_t thread = e->phase == KYMO_PHASE_COMPLETE ? 0 : e->thread;

		if (in(e, "retirement"))
			continue;
		if (e->phase == KYMO_PHASE_COMPLETE && e->call)
			EACH(call, &x, calls, e->call)
		if (call->phase == KYMO_PHASE_ENTER)
			thread = call->thread;
		if (!thread)
			continue;
		if (e->phase == KYMO_PHASE_ENTER && !named[thread & 65535]++)
			continue; /* it was given after this */
		LOOK("external", e->external == NAME_OF(thread), "%s of thread %u carries %llu",
		     op_name(e), thread, ID(e->external));
	}
	index_release(&x);
}

static uint64_t kernel_of(const struct event *e)
{
	return e->kernel;
}

void check_announced(const struct list *l)
{
	struct index x;

	index_init(&x, l, kernel_of);
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i], *symbol;
		bool before = false;

		if (!in(e, "dispatch") || e->phase != KYMO_PHASE_COMPLETE)
			continue;
		EACH(symbol, &x, l, e->kernel)
		before |= is(symbol, "kernel_symbol", "load") && symbol < e;
		LOOK("kernels-announced", before && e->kernel, "kernel %llu was not announced",
		     ID(e->kernel));
	}
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i], *other;
		unsigned n = 0;

		if (!is(e, "kernel_symbol", "load"))
			continue;
		EACH(other, &x, l, e->kernel)
		n += is(other, "kernel_symbol", "load");
		LOOK("kernels-once", n == 1, "kernel %llu was announced %u times", ID(e->kernel),
		     n);
	}
	index_release(&x);
}

/* Three callbacks: the call enters and exits, the work completes; the work names that call. */
void check_dispatches(const struct list *l)
{
	struct index x;

	index_init(&x, l, call_of);
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i], *call;
		unsigned enters = 0, exits = 0;
		uint64_t entered = 0;

		if (e->phase != KYMO_PHASE_COMPLETE || !e->named ||
		    !(in(e, "dispatch") || in(e, "copy") || in(e, "allocation")))
			continue;
		LOOK("work-names-its-call", e->named == e->call, "%llu and %llu", ID(e->named),
		     ID(e->call));
		EACH(call, &x, l, e->call)
		{
			enters += call->phase == KYMO_PHASE_ENTER;
			exits += call->phase == KYMO_PHASE_EXIT;
			entered = call->phase == KYMO_PHASE_ENTER ? call->now : entered;
		}
		LOOK("three-callbacks", enters == 1 && exits == 1,
		     "%s of call %llu: %u enters, %u exits", op_name(e), ID(e->call), enters,
		     exits);
		LOOK("work-after-its-call", e->end >= entered || !enters,
		     "%s of call %llu ended %llu ns before it was entered", op_name(e), ID(e->call),
		     ID(entered - e->end));
	}
	index_release(&x);
}

void check_copies(const struct list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i];

		if (is(e, "copy", "read"))
			LOOK("direction", e->source && !e->destination, "read from %llu to %llu",
			     ID(e->source), ID(e->destination));
		if (is(e, "copy", "write"))
			LOOK("direction", !e->source && e->destination, "write from %llu to %llu",
			     ID(e->source), ID(e->destination));
	}
}

static uint64_t id_of(const struct event *e)
{
	return in(e, "allocation") ? e->id : 0;
}

void check_allocations(const struct list *l)
{
	struct index x;

	index_init(&x, l, id_of);
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i], *other;
		unsigned before = 0, frees = 0;

		if (!is(e, "allocation", "free"))
			continue;
		EACH(other, &x, l, e->id)
		{
			before += is(other, "allocation", "allocate") && other < e;
			frees += is(other, "allocation", "free");
			if (is(other, "allocation", "allocate") && e->bytes)
				LOOK("allocation-bytes", other->bytes == e->bytes,
				     "allocation %llu: %llu bytes, %llu freed", ID(e->id),
				     ID(other->bytes), ID(e->bytes));
		}
		LOOK("allocations", before == 1 && frees == 1,
		     "allocation %llu: %u times before its free, %u frees", ID(e->id), before,
		     frees);
	}
	index_release(&x);
}

static uint64_t scope_of(const struct event *e)
{
	return in(e, "scope") ? e->id : 0;
}

/* Whatever lies in a scope lies in one that is told; so do scopes, and no scope lies in itself. */
void check_scopes(const struct list *l)
{
	struct index x;

	index_init(&x, l, scope_of);
	for (size_t i = 0; i < l->count; i++) {
		const struct event *e = &l->events[i], *s;
		uint64_t scope = in(e, "scope") ? e->own_parent : (uint64_t)e->scope;
		unsigned up = 0;

		if (in(e, "scope")) {
			unsigned n = 0;

			EACH(s, &x, l, e->id)
			n++;
			LOOK("scopes-unique", n == 1 && e->id, "scope %llu ended %u times",
			     ID(e->id), n);
		}
		for (; scope && up < 1000; up++) {
			bool found = false;
			uint64_t parent = 0;

			EACH(s, &x, l, scope)
			{
				found = true;
				parent = s->own_parent;
			}
			LOOK("scopes-known", found, "%s lies in scope %llu, which never ended",
			     op_name(e), ID(scope));
			scope = parent;
		}
		LOOK("scopes-a-tree", up < 1000, "scope %llu lies in itself", ID(e->id));
	}
	index_release(&x);
}

/* One record for what callbacks tell in one EXIT or COMPLETE, or a loss counted. */
void check_drops(const struct list *t, const struct list *d, uint64_t lost, uint64_t count)
{
	uint64_t ends = 0;

	for (size_t i = 0; i < t->count; i++)
		ends += t->events[i].phase != KYMO_PHASE_ENTER;
	LOOK("drops", count == d->count, "%llu records delivered, %llu said", ID(d->count),
	     ID(count));
	LOOK("drops", ends == d->count + lost, "%llu told, %llu delivered, %llu lost", ID(ends),
	     ID(d->count), ID(lost));
	if (lost)
		LOOK("drops-happened", true, " ");
}

static int compare_calls(const void *a, const void *b)
{
	const struct event *x = *(const struct event *const *)a,
			   *y = *(const struct event *const *)b;
	int order = strcmp(x->domain->name, y->domain->name);

	if (order == 0)
		order = (x->op > y->op) - (x->op < y->op);
	if (order == 0)
		order = (x->call > y->call) - (x->call < y->call);
	return order;
}

static int compare(const void *a, const void *b)
{
	const struct event *x = *(const struct event *const *)a,
			   *y = *(const struct event *const *)b;
	int order = compare_calls(a, b);

	return order ? order : strcmp(x->text ? x->text : "", y->text ? y->text : "");
}

static const struct event **sorted(const struct list *l, size_t *count)
{
	const struct event **s = malloc((l->count + 1) * sizeof(*s));

	*count = 0;
	for (size_t i = 0; i < l->count; i++)
		if (l->events[i].phase != KYMO_PHASE_ENTER)
			s[(*count)++] = &l->events[i];
	qsort(s, *count, sizeof(*s), compare);
	return s;
}

/* Of what is behind one pointer all numbers are there, or none is. */
void check_members(const struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->events[i].members)
			LOOK("members-together", !l->events[i].split, "%s: %s",
			     op_name(&l->events[i]), l->events[i].split);
}

/* Both views tell the same of the same things. */
void check_same(const struct list *t, const struct list *d)
{
	size_t told_count, delivered_count;
	const struct event **told = sorted(t, &told_count),
			   **delivered = sorted(d, &delivered_count);

	for (size_t i = 0, j = 0; i < told_count || j < delivered_count;) {
		int order = i == told_count        ? 1
			    : j == delivered_count ? -1
						   : compare_calls(&told[i], &delivered[j]);
		const struct event *one = order <= 0 ? told[i] : delivered[j];
		const struct event *a, *b;
		bool plain;

		LOOK("same-views", order == 0, "%s.%s of call %llu: only %s, %s", one->domain->name,
		     op_name(one), ID(one->call), order < 0 ? "by callback" : "in the buffer",
		     one->text ? one->text : "");
		i += order <= 0;
		j += order >= 0;
		if (order)
			continue;
		a = told[i - 1];
		b = delivered[j - 1];
		plain = !a->without_fields && !b->without_fields;
		LOOK("same-thread", a->thread == b->thread, "%s of %llu: %u, %u", op_name(a),
		     ID(a->call), a->thread, b->thread);
		LOOK("same-parent", a->parent == b->parent, "%s of %llu: %llu, %llu", op_name(a),
		     ID(a->call), ID(a->parent), ID(b->parent));
		LOOK("same-scope", a->scope == b->scope, "%s of %llu", op_name(a), ID(a->call));
		LOOK("same-status", a->status == b->status, "%s of %llu: %d, %d", op_name(a),
		     ID(a->call), a->status, b->status);
		if (plain)
			LOOK("same-values", strcmp(a->text, b->text) == 0, "%s: %s, %s", op_name(a),
			     a->text, b->text);
	}
	free(told);
	free(delivered);
}
