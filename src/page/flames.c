/* SPDX-License-Identifier: Apache-2.0 */
/* See flames.h. */
#include "page/flames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_use.h"
#include "analysis/names.h"
#include "analysis/table.h"
#include "base/units.h"
#include "base/vec.h"
#include "record/fields.h"
#include "report/report.h"
#include "stream/trace.h"

const struct flame_about flame_about[FLAME_KINDS] = {
	{"samples", FLAME_SAMPLES_TITLE, FLAME_SAMPLES_ABOUT, {"time", "samples"}},
	{"device", FLAME_DEVICE_TITLE, FLAME_DEVICE_ABOUT, {"device time", "pieces of work"}},
	{"device_stacks",
	 FLAME_STACKS_TITLE,
	 FLAME_STACKS_ABOUT,
	 {"device time", "pieces of work"}},
	{"off_cpu", FLAME_OFF_CPU_TITLE, FLAME_OFF_CPU_ABOUT, {"time", "times"}},
	{"heap", FLAME_HEAP_TITLE, FLAME_HEAP_ABOUT, {"bytes", "allocations"}}};

struct open_frame {
	int64_t end;
	uint32_t op;                /* or, with `name`, nothing */
	uint32_t name;              /* + 1; 0: that of the op */
	uint32_t node[FLAME_KINDS]; /* 0: none yet */
};

static struct flames *of(struct stream_sink *s)
{
	return (struct flames *)(void *)s;
}

#define FORWARD(s, name, record) (of(s)->next ? of(s)->next->name(of(s)->next, (record)) : KYMO_OK)

/* ---- frames ------------------------------------------------------------------------------------ */

static uint32_t name_once(struct flames *f, uint32_t *known, const char *s)
{
	if (!*known)
		*known = 1 + flame_name(&f->names, s, SIZE_MAX);
	f->failed |= !*known;
	return *known - 1;
}

static uint32_t name_of_op(struct flames *f, uint32_t op)
{
	return name_once(f, &f->of_op[op], f->t->ops[op].name);
}

static uint32_t name_of_text(struct flames *f, const struct text *s)
{
	uint32_t name = s->failed ? FLAME_NONE : flame_name(&f->names, s->s ? s->s : "", s->length);

	f->failed |= name == FLAME_NONE;
	return name;
}

/* Names that differ only in counters are one frame, as they are one row of the summary. */
static uint32_t name_of_range(struct flames *f, const struct rec_marker *r)
{
	const bool numbered = r->name && r->name < f->t->strings_count;
	struct text plain = {0}, folded = {0};
	uint32_t name;

	if (numbered && f->of_string[r->name])
		return f->of_string[r->name] - 1;
	if (r->text_length)
		text_add_bytes(&plain, r->text, r->text_length);
	else
		text_add(&plain, "(range)");
	name_fold(&folded, plain.s ? plain.s : "");
	name = name_of_text(f, &folded);
	if (numbered)
		f->of_string[r->name] = name + 1;
	text_release(&plain);
	text_release(&folded);
	return name;
}

static uint32_t child(struct flames *f, enum flame_kind kind, uint32_t parent, uint32_t name)
{
	uint32_t node = flame_child(&f->of[kind], parent, name);

	f->failed |= node == FLAME_NONE;
	return node == FLAME_NONE ? 0 : node;
}

static uint32_t process_node(struct flames *f, enum flame_kind kind, uint32_t process)
{
	struct text name = {0};
	uint32_t node;

	if (!f->apart)
		return 0;
	profile_add_process(&name, f->t, process);
	node = child(f, kind, 0, name_of_text(f, &name));
	text_release(&name);
	return node;
}

/* Where stacks of a thread begin. */
static uint32_t thread_node(struct flames *f, enum flame_kind kind, uint32_t thread)
{
	uint32_t *root = &f->threads[thread].root[kind];
	struct text name = {0};

	if (!f->apart || *root)
		return *root;
	profile_add_thread(&name, f->t, thread);
	*root = child(f, kind, process_node(f, kind, f->t->threads[thread].process),
		      name_of_text(f, &name));
	text_release(&name);
	return *root;
}

/* ---- what threads are in ----------------------------------------------------------------------- */

static void leave_ended(struct flames_thread *h, int64_t now)
{
	uint32_t kept = 0;

	if (!h->crossing) {
		while (h->count && h->open[h->count - 1].end <= now)
			h->count--;
		return;
	}
	for (uint32_t i = 0; i < h->count; i++)
		if (h->open[i].end > now)
			h->open[kept++] = h->open[i];
	h->count = kept;
	h->crossing = kept > 1;
}

static struct flames_thread *enter(struct flames *f, const struct rec *r, uint32_t name)
{
	struct flames_thread *h = &f->threads[r->thread];

	leave_ended(h, r->start);
	if (!vec_reserve(&h->open, &h->room, h->count, 1)) {
		f->failed = true;
		return NULL;
	}
	h->crossing |= h->count && r->end > h->open[h->count - 1].end;
	h->open[h->count++] = (struct open_frame){.end = r->end, .op = r->op, .name = name};
	return h;
}

/* The node of all that the thread is in. */
static uint32_t path_node(struct flames *f, enum flame_kind kind, uint32_t thread)
{
	struct flames_thread *h = &f->threads[thread];
	uint32_t node = thread_node(f, kind, thread);

	for (uint32_t i = 0; i < h->count; i++) {
		struct open_frame *o = &h->open[i];

		if (!o->node[kind])
			o->node[kind] =
				child(f, kind, node, o->name ? o->name - 1 : name_of_op(f, o->op));
		node = o->node[kind];
	}
	return node;
}

static kymo_status_t check(const struct flames *f)
{
	return f->failed ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}

static bool is_known(const struct flames *f, const struct rec *r)
{
	return r->thread && r->thread < f->t->threads_count && r->op < f->t->ops_count;
}

static uint32_t stack_nodes(struct flames *f, enum flame_kind kind, uint32_t node, uint32_t stack);

/* The thread, then the frames of the stack. */
static uint32_t frames_node(struct flames *f, enum flame_kind kind, uint32_t thread, uint32_t stack)
{
	return stack_nodes(f, kind, thread_node(f, kind, thread), stack);
}

/* The stack that the thread waited with, which is an argument of the record; 0: nobody has looked. */
static uint32_t stack_of_state(const struct trace *t, const struct rec *r)
{
	static const char *const names[] = {"stack"};
	uint64_t stack;

	return call_use_words(t, r, names, 1, &stack) && stack < t->stacks_count ? (uint32_t)stack
										 : 0;
}

/* What a thread is in that is no call: of these, being without a processor. */
static void take_state(struct flames *f, const struct rec *r)
{
	uint32_t node, stack;

	if (strcmp(f->t->domains[f->t->ops[r->op].domain].name, "off_cpu") != 0 ||
	    r->end <= r->start || f->t->threads[r->thread].own)
		return;
	leave_ended(&f->threads[r->thread], r->start);
	stack = stack_of_state(f->t, r);
	node = stack ? frames_node(f, FLAME_OFF_CPU, r->thread, stack)
		     : path_node(f, FLAME_OFF_CPU, r->thread);
	node = child(f, FLAME_OFF_CPU, node, name_of_op(f, r->op));
	if (node)
		flame_add(&f->of[FLAME_OFF_CPU], node, (uint64_t)(r->end - r->start), 1);
}

static void take_call(struct flames *f, const struct rec *r)
{
	const struct tl_call *c;
	uint32_t at;

	if (!f->paths || !is_known(f, r))
		return;
	if (f->t->ops[r->op].flags & KYMO_OP_STATE) {
		take_state(f, r);
		return;
	}
	if (!enter(f, r, 0) || !f->op_submits[r->op])
		return;
	c = timeline_find(f->tl, r->process, r->id);
	at = c ? (uint32_t)(c - f->tl->calls) : 0;
	if (!c || !f->submits[at])
		return;
	f->node_of[at] = path_node(f, FLAME_DEVICE, r->thread);
	f->stack_of[at] = r->stack;
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	return FORWARD(s, begin, t);
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	take_call(of(s), r);
	return check(of(s)) == KYMO_OK ? FORWARD(s, call, r) : KYMO_ERROR_NO_MEMORY;
}

/* Ranges that another thread may end are in no thread. */
static kymo_status_t on_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct flames *f = of(s);

	if (f->paths && r->scope && !r->starter && is_known(f, &r->base))
		enter(f, &r->base, 1 + name_of_range(f, r));
	return check(f) == KYMO_OK ? FORWARD(s, marker, r) : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	struct flames *f = of(s);

	if (f->paths && is_known(f, r) && r->end > r->start)
		enter(f, r, 0);
	return check(f) == KYMO_OK ? FORWARD(s, other, r) : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct flames *f = of(s);

	if (r->lost)
		f->lost += r->lost;
	else if (!profile_add(&f->samples, r))
		return KYMO_ERROR_NO_MEMORY;
	f->timed |= !r->lost && r->weight > 0;
	return FORWARD(s, sample, r);
}

static kymo_status_t on_heap(struct stream_sink *s, const struct rec_heap *r)
{
	struct flames *f = of(s);
	uint32_t node;

	f->heap_lost += r->lost;
	if (is_known(f, &r->base) && f->t->ops[r->base.op].number == HEAP_OP_ALLOCATE) {
		node = frames_node(f, FLAME_HEAP, r->base.thread, r->base.stack);
		if (node)
			flame_add(&f->of[FLAME_HEAP], node, r->bytes, (uint64_t)(r->objects + 0.5));
	}
	return check(f) == KYMO_OK ? FORWARD(s, heap, r) : KYMO_ERROR_NO_MEMORY;
}

#define PASS_ON(name, type)                                                                        \
	static kymo_status_t on_##name(struct stream_sink *s, const struct type *r)                \
	{                                                                                          \
		return FORWARD(s, name, r);                                                        \
	}
PASS_ON(dispatch, rec_dispatch)
PASS_ON(copy, rec_copy)
PASS_ON(allocation, rec_allocation)
PASS_ON(sync, rec_sync)
PASS_ON(comm, rec_comm)
PASS_ON(counter, rec_counter)
PASS_ON(device_sample, rec_device_sample)
PASS_ON(kernel_line, rec_kernel_line)
PASS_ON(loss, rec_loss)
PASS_ON(open_call, t_open_call)
PASS_ON(unfinished, t_unfinished)
PASS_ON(end, trace)

/* ---- when all records are there ---------------------------------------------------------------- */

static uint32_t name_of_symbol(struct flames *f, const struct symbol *y)
{
	uint32_t name = 0, *known = y->number < f->t->sites_count ? &f->of_site[y->number] : &name;
	char room[1024];

	if (*known)
		return *known - 1;
	return name_once(f, known, symbol_frame(y, room, sizeof(room)));
}

/* The frames of a place, from the outermost in. */
static uint32_t symbol_nodes(struct flames *f, enum flame_kind kind, uint32_t node,
			     const struct symbol *y)
{
	if (y->caller)
		node = symbol_nodes(f, kind, node, y->caller);
	return f->failed ? node : child(f, kind, node, name_of_symbol(f, y));
}

static uint32_t site_nodes(struct flames *f, enum flame_kind kind, uint32_t node,
			   const uint32_t *sites, uint32_t count)
{
	for (uint32_t i = count; i-- > 0 && !f->failed;)
		node = symbol_nodes(
			f, kind, node,
			symbols_site(f->symbols, sites[i] < f->t->sites_count ? sites[i] : 0));
	return node;
}

static uint32_t stack_nodes(struct flames *f, enum flame_kind kind, uint32_t node, uint32_t stack)
{
	const bool time = kind == FLAME_SAMPLES || kind == FLAME_OFF_CPU;
	uint32_t count;
	const uint32_t *sites =
		symbols_stack(f->symbols, stack, time ? SYMBOLS_TIME : SYMBOLS_CALLER, &count);

	return site_nodes(f, kind, node, sites, count);
}

static void add_samples(struct flames *f)
{
	for (uint32_t i = 0; i < f->samples.count && !f->failed; i++) {
		const struct profile_row *r = &f->samples.at[i];
		uint32_t node = frames_node(f, FLAME_SAMPLES, r->thread, r->stack);
		char pc[24];

		snprintf(pc, sizeof(pc), "0x%" PRIx64, r->pc);
		if (!r->stack)
			node = child(f, FLAME_SAMPLES, node, flame_name(&f->names, pc, sizeof(pc)));
		if (r->kernel)
			node = child(f, FLAME_SAMPLES, node,
				     flame_name(&f->names, "[kernel]", SIZE_MAX));
		if (!f->failed)
			flame_add(&f->of[FLAME_SAMPLES], node,
				  f->timed ? profile_weight(r) : r->samples, r->samples);
	}
}

static uint32_t name_of_work(struct flames *f, const struct tl_work *w)
{
	const uint32_t kernel = w->kernel < f->t->kernels_count ? w->kernel : 0;
	const char *name = f->t->kernels[kernel].name;

	if (w->kind != WORK_KERNEL)
		return name_of_op(f, w->op);
	return name_once(f, &f->of_kernel[kernel],
			 kernel && name && *name ? name : "(unknown kernel)");
}

/* Below the frames of who submitted it. */
static void add_work(struct flames *f, enum flame_kind kind, uint32_t node, const struct tl_work *w)
{
	const uint32_t agent = f->tl->devices[w->device].agent;

	if (f->devices)
		node = child(f, kind, node,
			     name_once(f, &f->of_device[w->device], f->t->agents[agent].label));
	node = child(f, kind, node, name_of_work(f, w));
	if (!f->failed)
		flame_add(&f->of[kind], node, (uint64_t)(w->end - w->start), 1);
}

static uint32_t unknown_call(struct flames *f, enum flame_kind kind, uint32_t process)
{
	return child(f, kind, process_node(f, kind, process),
		     flame_name(&f->names, "(no call is known)", SIZE_MAX));
}

static uint32_t stack_node(struct flames *f, const struct tl_call *c)
{
	const uint32_t stack = f->stack_of[c - f->tl->calls];
	uint32_t node = thread_node(f, FLAME_STACKS, c->thread);

	if (stack && stack < f->t->stacks_count)
		node = stack_nodes(f, FLAME_STACKS, node, stack);
	else if (c->site)
		node = site_nodes(f, FLAME_STACKS, node, &c->site, 1);
	return child(f, FLAME_STACKS, node, name_of_op(f, c->op));
}

static void add_device(struct flames *f, bool stacks)
{
	for (uint32_t i = 0; i < f->tl->work_count && !f->failed; i++) {
		const struct tl_work *w = &f->tl->work[i];
		const struct tl_call *c = timeline_call(f->tl, w);
		uint32_t node = c ? f->node_of[c - f->tl->calls] : 0;

		add_work(f, FLAME_DEVICE, node ? node : unknown_call(f, FLAME_DEVICE, w->process),
			 w);
		if (stacks)
			add_work(f, FLAME_STACKS,
				 c ? stack_node(f, c) : unknown_call(f, FLAME_STACKS, w->process),
				 w);
	}
}

static bool any_stack(const struct flames *f)
{
	for (uint32_t i = 0; i < f->tl->calls_count; i++)
		if (f->stack_of[i])
			return true;
	return false;
}

bool flames_finish(struct flames *f)
{
	add_samples(f);
	add_device(f, any_stack(f));
	for (unsigned k = 0; k < FLAME_KINDS && !f->failed; k++)
		f->failed = !flame_fold(&f->of[k], FLAME_NODES);
	profile_rows_release(&f->samples);
	f->made = !f->failed;
	return f->made;
}

bool flames_has(const struct flames *f, enum flame_kind kind)
{
	return f->made && f->of[kind].count > 1;
}

/* ---- life -------------------------------------------------------------------------------------- */

static bool make_room(struct flames *f)
{
	f->threads = calloc(f->t->threads_count + 1u, sizeof(*f->threads));
	f->of_op = calloc(f->t->ops_count + 1u, sizeof(*f->of_op));
	f->of_string = calloc(f->t->strings_count + 1u, sizeof(*f->of_string));
	f->of_site = calloc(f->t->sites_count + 1u, sizeof(*f->of_site));
	f->of_kernel = calloc(f->t->kernels_count + 1u, sizeof(*f->of_kernel));
	f->of_device = calloc(f->tl->devices_count + 1u, sizeof(*f->of_device));
	f->node_of = calloc(f->tl->calls_count + 1u, sizeof(*f->node_of));
	f->stack_of = calloc(f->tl->calls_count + 1u, sizeof(*f->stack_of));
	f->submits = calloc(f->tl->calls_count + 1u, sizeof(*f->submits));
	f->op_submits = calloc(f->t->ops_count + 1u, sizeof(*f->op_submits));
	return f->threads && f->of_op && f->of_string && f->of_site && f->of_kernel &&
	       f->of_device && f->node_of && f->stack_of && f->submits && f->op_submits;
}

bool flames_init(struct flames *f, const struct trace *t, const struct timeline *tl,
		 struct symbols *symbols, struct stream_sink *next)
{
	/* Calls have their stacks only where they are read in full. */
	const bool brief = t->stacks_count <= 1 && (!next || next->brief);

	*f = (struct flames){.t = t, .tl = tl, .symbols = symbols, .next = next};
	f->sink = (struct stream_sink){.begin = on_begin,
				       .call = on_call,
				       .dispatch = on_dispatch,
				       .copy = on_copy,
				       .allocation = on_allocation,
				       .sync = on_sync,
				       .marker = on_marker,
				       .comm = on_comm,
				       .counter = on_counter,
				       .sample = on_sample,
				       .heap = on_heap,
				       .device_sample = on_device_sample,
				       .kernel_line = on_kernel_line,
				       .other = on_other,
				       .loss = on_loss,
				       .open_call = on_open_call,
				       .unfinished = on_unfinished,
				       .end = on_end,
				       .brief = brief,
				       .matches = next && next->matches};
	if (!make_room(f))
		return false;
	for (uint32_t i = 0; i < tl->work_count; i++)
		if (tl->work[i].call != TIMELINE_NONE) {
			f->submits[tl->work[i].call] = true;
			f->op_submits[tl->calls[tl->work[i].call].op] = true;
		}
	f->paths = tl->work_count;
	for (uint32_t i = 1; i < t->ops_count; i++)
		f->paths |= (t->ops[i].flags & KYMO_OP_STATE) != 0;
	f->apart = t->processes_count <= FLAME_PROCESSES;
	f->devices = tl->devices_count > 1;
	return true;
}

void flames_release(struct flames *f)
{
	for (uint32_t i = 0; f->threads && i < f->t->threads_count; i++)
		free(f->threads[i].open);
	free(f->threads);
	free(f->of_op);
	free(f->of_string);
	free(f->of_site);
	free(f->of_kernel);
	free(f->of_device);
	free(f->node_of);
	free(f->stack_of);
	free(f->submits);
	free(f->op_submits);
	for (unsigned k = 0; k < FLAME_KINDS; k++)
		flame_release(&f->of[k]);
	flame_names_release(&f->names);
	profile_rows_release(&f->samples);
}

/* ---- as JSON ----------------------------------------------------------------------------------- */

/* Names that are still in use, in the order of their first use: place + 1. */
static void put_names(FILE *out, const struct flames *f, uint32_t *place)
{
	uint32_t count = 0;

	fputs("[", out);
	for (unsigned k = 0; k < FLAME_KINDS; k++)
		for (uint32_t i = 1; i < f->of[k].count; i++) {
			uint32_t name = f->of[k].nodes[i].name;

			if (name == FLAME_NONE || place[name])
				continue;
			fputs(count ? ",\n" : "", out);
			json_string(out, f->names.at[name]);
			place[name] = ++count;
		}
	fputs("]", out);
}

static void put_nodes(FILE *out, const struct flame *f, const uint32_t *place)
{
	fputs("[", out);
	for (uint32_t i = 1; i < f->count; i++) {
		const struct flame_node *n = &f->nodes[i];

		fprintf(out, "%s[%u,%d,%" PRIu64 ",%" PRIu64, i > 1 ? "," : "", n->parent,
			n->name == FLAME_NONE ? -1 : (int)place[n->name] - 1, n->value[0],
			n->value[1]);
		if (n->others)
			fprintf(out, ",%u", n->others);
		fputs("]", out);
	}
	fputs("]", out);
}

void flames_left_out(const struct flames *f, enum flame_kind kind, struct text *out)
{
	const bool device = kind == FLAME_DEVICE || kind == FLAME_STACKS;
	char n[32];

	if (kind == FLAME_SAMPLES && f->lost)
		text_addf(out, "%s sample%s that %s lost", units_count(f->lost, n), plural(f->lost),
			  f->lost == 1 ? "was" : "were");
	if (kind == FLAME_HEAP && f->heap_lost)
		text_addf(out, "%s sample%s that %s lost", units_count(f->heap_lost, n),
			  plural(f->heap_lost), f->heap_lost == 1 ? "was" : "were");
	if (device && f->tl->untimed)
		text_addf(out, "%s piece%s of device work without device times",
			  units_count(f->tl->untimed, n), plural(f->tl->untimed));
	if (device && f->tl->cut)
		text_addf(out, "%sdevice work and calls behind the first %s",
			  out->length ? ", " : "", units_count(TIMELINE_MOST, n));
}

const char *flames_unit(const struct flames *f, enum flame_kind kind)
{
	if (kind == FLAME_HEAP)
		return "bytes";
	return kind == FLAME_SAMPLES && !f->timed ? "count" : "ns";
}

static void put_flame(FILE *out, const struct flames *f, enum flame_kind kind,
		      const uint32_t *place)
{
	const struct flame_about *a = &flame_about[kind];
	const char *unit = flames_unit(f, kind);
	struct text left_out = {0};

	flames_left_out(f, kind, &left_out);
	fprintf(out,
		"{\"name\": \"%s\", \"title\": \"%s\", \"about\": \"%s\", \"values\": [[\"%s\", "
		"\"%s\"], [\"%s\", \"count\"]], \"apart\": %s, \"folded\": %u, \"left_out\": "
		"\"%s\", \"nodes\": ",
		a->name, a->title, a->about, *unit == 'c' ? a->values[1] : a->values[0], unit,
		a->values[1], f->apart ? "true" : "false", f->of[kind].folded,
		left_out.s ? left_out.s : "");
	text_release(&left_out);
	put_nodes(out, &f->of[kind], place);
	fputs("}", out);
}

void flames_put(FILE *out, const struct flames *f)
{
	uint32_t *place = calloc(f->names.count + 1u, sizeof(*place));
	const char *comma = "";

	fputs("{\"names\": ", out);
	if (place)
		put_names(out, f, place);
	else
		fputs("[]", out);
	fputs(", \"graphs\": [", out);
	for (unsigned k = 0; place && k < FLAME_KINDS; k++) {
		if (!flames_has(f, (enum flame_kind)k))
			continue;
		fputs(comma, out);
		put_flame(out, f, (enum flame_kind)k, place);
		comma = ",\n";
	}
	fputs("]}", out);
	free(place);
}
