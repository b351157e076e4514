/* SPDX-License-Identifier: Apache-2.0 */
/* What the program says of itself: texts, names of objects, marks and ranges. */
#include <string.h>

#define KYMO_MARKER_LINKED /* its types alone */
#include <kymo/marker.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/raw/internal.h"

/* ---- texts --------------------------------------------------------------------------------- */

/* One text has one number in a trace, whichever processes use it: they are counted together. */
uint32_t raw_string(struct raw_trace *rt, const char *s, size_t n, uint64_t total)
{
	struct trace *t = rt->trace;
	uint64_t key = hash_mix(hash_bytes(s, n), total), i;

	map_each(&rt->strings, key, i)
		if (t->strings[i].length == n && t->strings[i].total == total &&
		    memcmp(t->strings[i].text, s, n) == 0)
			return (uint32_t)i;
	i = t->strings_count;
	*trace_add(t, strings) = (struct t_string){trace_string(t, s, n), (uint32_t)n, total};
	map_add(&rt->strings, key, i);
	return (uint32_t)i;
}

void raw_add_string(struct raw_process *p, const struct wire_def *d)
{
	size_t n;
	const char *s = wire_def_text(d, DEF_STRING_TEXT, &n);

	map_set(&p->strings, wire_def_get(d, DEF_STRING_ID),
		raw_string(p->rt, s, n, wire_def_get(d, DEF_STRING_TOTAL)));
}

/* ---- names of objects ---------------------------------------------------------------------- */

void raw_add_name(struct raw_process *p, const struct wire_def *d)
{
	struct trace *t = p->rt->trace;
	size_t length, domain_length;
	const char *name = wire_def_text(d, DEF_NAME_NAME, &length);
	const char *domain = wire_def_text(d, DEF_NAME_DOMAIN, &domain_length);

	if (!vec_reserve(&p->names, &p->name_room, p->name_count, 1))
		return;
	p->names[p->name_count++] = (struct raw_name){
		.what = (uint32_t)wire_def_get(d, DEF_NAME_WHAT),
		.domain = trace_string(t, domain, domain_length),
		.handle = wire_def_get(d, DEF_NAME_HANDLE),
		.name = trace_string(t, name, length),
		.tick = wire_def_get(d, DEF_NAME_TICK),
		/* Definitions come in order: what is there by now existed when it was named. */
		.queues = t->queues_count,
		.contexts = t->contexts_count,
		.agents = t->agents_count,
	};
}

/* Handles are used again: the last object before the naming, else the first after it. */
#define PICK(array, before, match)                                                                 \
	({                                                                                         \
		uint32_t pick = 0;                                                                 \
		for (uint32_t i = (before); i-- > 1 && !pick;)                                     \
			pick = t->array[i].process == p->process && (match) ? i : 0;               \
		for (uint32_t i = (before); i < t->array##_count && !pick; i++)                    \
			pick = t->array[i].process == p->process && (match) ? i : 0;               \
		pick;                                                                              \
	})

static bool same(const struct raw_name *n, const char *domain, uint64_t handle)
{
	return n->handle == handle && (!*n->domain || strcmp(n->domain, domain) == 0);
}

/* Still in ticks: called before times are resolved. */
static void name_thread(struct raw_process *p, const struct raw_name *n)
{
	struct trace *t = p->rt->trace;
	struct t_thread *best = NULL;

	for (uint32_t i = p->first_thread; i < t->threads_count; i++) {
		struct t_thread *th = &t->threads[i];

		if (th->tid == n->handle && (!best || (uint64_t)th->start <= n->tick))
			best = th;
	}
	if (best)
		best->name = n->name;
}

static void apply(struct raw_process *p, const struct raw_name *n)
{
	struct trace *t = p->rt->trace;
	uint32_t at;

	switch (n->what) {
	case KYMO_OBJECT_PROCESS:
		t->processes[p->process].name = n->name;
		break;
	case KYMO_OBJECT_THREAD:
		name_thread(p, n);
		break;
	case KYMO_OBJECT_DEVICE:
		at = PICK(agents, n->agents, same(n, t->agents[i].domain, t->agents[i].handle));
		if (at)
			t->agents[at].given = n->name;
		break;
	case KYMO_OBJECT_CONTEXT:
		at = PICK(contexts, n->contexts,
			  same(n, t->contexts[i].domain, t->contexts[i].handle));
		if (at)
			t->contexts[at].name = n->name;
		break;
	case KYMO_OBJECT_QUEUE:
		at = PICK(queues, n->queues, same(n, t->queues[i].domain, t->queues[i].handle));
		if (at)
			t->queues[at].name = n->name;
		break;
	default:
		break;
	}
}

void raw_apply_names(struct raw_process *p)
{
	for (uint32_t i = 0; i < p->name_count; i++)
		apply(p, &p->names[i]);
}

/* ---- records ------------------------------------------------------------------------------- */

bool raw_op_is_marker(const struct t_op *op)
{
	for (uint32_t i = 0; i < op->field_count; i++)
		if (strcmp(op->fields[i].name, "name") == 0)
			return true;
	return false;
}

void raw_finish_marker(struct raw_chunk *c, struct rec_marker *out)
{
	const struct t_string *name = &c->source->rt->trace->strings[out->name];

	if (out->name) {
		out->text = name->text;
		out->text_length = name->length;
	} else if (!out->text) {
		out->text = "";
	}
}
