/* SPDX-License-Identifier: Apache-2.0 */
/* Events as items: begins find their ends, in the order of time of their track; work finds its call. */
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "formats/perfetto/reader.h"
#include "record/fields.h"

enum {
	OPS_MAX = 50000, /* more names are no operations, but texts of an event each */
	DOMAINS_MAX = 48,
	FIELDS_MAX = 24
};

/* ---- kinds ------------------------------------------------------------------------------------ */

struct rule {
	const char *text;
	uint8_t kind; /* enum kind_in */
	const char *domain;
};

static const struct rule whole_categories[] = {
	{"dispatch", KIND_KERNEL, NULL},
	{"kernel_dispatch", KIND_KERNEL, NULL},
	{"copy", KIND_COPY, NULL},
	{"memory_copy", KIND_COPY, NULL},
	{"sync", KIND_SYNC, NULL},
	{"comm", KIND_COMM, NULL},
	{"loss", KIND_LOSS, NULL},
	{"note", KIND_NOTE, NULL},
	{"marker", KIND_RANGE, NULL},
	{"marker_api", KIND_RANGE, NULL},
	{"hip_stream", KIND_RANGE, NULL},
	{"code_object", KIND_OTHER, NULL},
	{"allocation", KIND_ALLOCATION, NULL},
	{"sample", KIND_OTHER, NULL},
	{"device_sample", KIND_OTHER, NULL},
	{"counter", KIND_OTHER, NULL},
	{"telemetry", KIND_OTHER, NULL},
};

/* Categories of calls begin so. */
static const struct rule call_categories[] = {
	{"hip", KIND_CALL, "hip"},
	{"hsa", KIND_CALL, "hsa"},
	{"rccl", KIND_CALL, "rccl"},
	{"nccl", KIND_CALL, "nccl"},
	{"rocdecode", KIND_CALL, "rocdecode"},
	{"rocjpeg", KIND_CALL, "rocjpeg"},
	{"mpi", KIND_CALL, "mpi"},
	{"ucx", KIND_CALL, "ucx"},
	{"shmem", KIND_CALL, "shmem"},
	{"pthread", KIND_CALL, "pthread"},
	{"numa", KIND_CALL, "numa"},
	{"vaapi", KIND_CALL, "vaapi"},
};

/* Names of calls begin so, where there are no categories (iprof). */
static const struct rule call_names[] = {
	{"cuda", KIND_CALL, "cuda_runtime"},
	{"cu", KIND_CALL, "cuda"},
	{"cl", KIND_CALL, "opencl"},
	{"hip", KIND_CALL, "hip"},
	{"ze", KIND_CALL, "ze"},
	{"MPI_", KIND_CALL, "mpi"},
	{"hsa_", KIND_CALL, "hsa"},
	{"fi_", KIND_CALL, "libfabric"},
	{"cxi", KIND_CALL, "cxi"},
};

static const struct rule *rule_of(const struct rule *rules, size_t n, const char *text, bool whole)
{
	for (size_t i = 0; i < n; i++)
		if (whole ? strcmp(text, rules[i].text) == 0
			  : strncmp(text, rules[i].text, strlen(rules[i].text)) == 0)
			return &rules[i];
	return NULL;
}

#define RULE(rules, text, whole) rule_of((rules), sizeof(rules) / sizeof(*(rules)), (text), (whole))

static bool is_copy_name(const char *name)
{
	static const char *const words[] = {
		"memcpy",     "memset",     "MemoryCopy", "MemoryFill", "ReadBuffer", "WriteBuffer",
		"CopyBuffer", "FillBuffer", "ReadImage",  "WriteImage", "CopyImage",  "UnmapMem",
		"EnqueueMap", "SVMMap",     "SVMUnmap",   "SVMMemFill", "MigrateMem"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

static bool is_device_row(const struct pfreader *r, const struct track_in *t)
{
	const char *name = pfread_string(r, t->name);
	uint64_t number;

	return t->host && (pfread_numbered(name, "Device ", &number) ||
			   pfread_numbered(name, "SubDevice ", &number));
}

static enum kind_in kind_of_name(const struct pfreader *r, const char *name,
				 const struct track_in *track, const char **domain)
{
	const struct rule *rule;

	if (is_device_row(r, track))
		return is_copy_name(name) ? KIND_COPY : KIND_KERNEL;
	rule = track->host && track->what == TRACK_THREAD ? RULE(call_names, name, false) : NULL;
	if (!rule)
		return KIND_RANGE;
	*domain = rule->domain;
	return KIND_CALL;
}

enum kind_in pfread_kind(const struct pfreader *r, const struct event_in *e,
			 const struct track_in *track, const char **domain)
{
	const char *category = pfread_string(r, e->categories[0]);
	const struct rule *rule;

	if (!*category)
		return kind_of_name(r, pfread_string(r, e->name), track, domain);
	if (strncmp(category, "rocm_", 5) == 0)
		category += 5;
	rule = RULE(whole_categories, category, true);
	if (rule && (rule->kind == KIND_KERNEL || rule->kind == KIND_COPY))
		return track->what == TRACK_THREAD ? KIND_RANGE : (enum kind_in)rule->kind;
	if (rule)
		return (enum kind_in)rule->kind;
	if (!track->thread)
		return KIND_RANGE;
	rule = RULE(call_categories, category, false);
	*domain = rule ? rule->domain : category;
	if (rule || (e->correlated && r->t->domains_count < DOMAINS_MAX))
		return KIND_CALL;
	return KIND_RANGE;
}

/* ---- operations ------------------------------------------------------------------------------- */

static bool has_field(const struct t_op *op, const char *name)
{
	for (uint32_t i = 0; i < op->field_count; i++)
		if (op->fields[i].name == name)
			return true;
	return false;
}

static void add_field(struct pfreader *r, struct t_op *op, const struct note *n)
{
	static const uint8_t kinds[] = {[NOTE_UNSIGNED] = KYMO_KIND_UNSIGNED,
					[NOTE_SIGNED] = KYMO_KIND_SIGNED,
					[NOTE_REAL] = KYMO_KIND_STRING,
					[NOTE_POINTER] = KYMO_KIND_POINTER,
					[NOTE_TEXT] = KYMO_KIND_STRING};
	uint8_t kind = kinds[n->type];
	uint32_t count = op->field_count;

	if (count == 0 || count == 4 || count == 8 || count == 16) {
		uint32_t room = count == 16 ? FIELDS_MAX : count ? count * 2 : 4;
		struct t_field *fields = trace_alloc(r->t, room * sizeof(*fields));

		if (!fields)
			return;
		if (count)
			memcpy(fields, op->fields, count * sizeof(*fields));
		op->fields = fields;
	}
	op->fields[op->field_count++] =
		(struct t_field){.name = pfread_string(r, n->name),
				 .type = kind == KYMO_KIND_STRING ? "char *" : "",
				 .kind = kind,
				 .size = kind == KYMO_KIND_STRING ? 1 : 8};
}

static uint32_t op_of(struct pfreader *r, const char *domain, const struct event_in *x)
{
	const char *name = x->name ? pfread_string(r, x->name) : "(no name)";
	uint32_t index;

	if (r->t->ops_count >= OPS_MAX)
		name = "(others)";
	index = keyed_op(&r->keyed, domain, name, NULL, 0);
	for (uint32_t i = 0; i < x->notes->count; i++) {
		struct t_op *op = &r->t->ops[index];
		const struct note *n = &x->notes->list[i];

		if (pfread_is_argument(n) && op->field_count < FIELDS_MAX &&
		    !has_field(op, pfread_string(r, n->name)))
			add_field(r, op, n);
	}
	return index;
}

/* ---- calls and their work --------------------------------------------------------------------- */

/* The call at the begin of one of its flows. */
static uint32_t call_of_flow(struct pfreader *r, const struct event_in *x)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < x->flow_count; i++) {
		uint64_t call = x->terminating >> i & 1 ? map_remove(&r->flows, x->flows[i])
							: map_get(&r->flows, x->flows[i]);

		found = found ? found : (uint32_t)call;
	}
	return found;
}

static void begin_flows(struct pfreader *r, const struct event_in *x, uint32_t item)
{
	for (uint32_t i = 0; i < x->flow_count; i++)
		if (!(x->terminating >> i & 1) && !bulk_map_set(&r->flows, x->flows[i], item + 1u))
			r->failed = true;
}

static void take_call(struct pfreader *r, struct assembly_item *i, const struct event_in *x,
		      const char *domain)
{
	i->kind = ASSEMBLY_CALL;
	i->key = x->correlation;
	i->number = op_of(r, domain, x);
	begin_flows(r, x, (uint32_t)(i - r->all.items));
}

static void take_work(struct pfreader *r, struct assembly_item *i, const struct event_in *x)
{
	uint32_t call = call_of_flow(r, x);

	i->kind = ASSEMBLY_WORK;
	i->key = x->correlation;
	if (i->key || !call)
		return;
	if (!r->all.items[call - 1].key)
		r->all.items[call - 1].key = ++r->last_key;
	i->key = r->all.items[call - 1].key;
}

static bool has_category(const struct pfreader *r, const struct event_in *x, const char *name)
{
	for (uint32_t i = 0; i < x->category_count; i++)
		if (strcmp(pfread_string(r, x->categories[i]), name) == 0)
			return true;
	return false;
}

static void take_device(struct pfreader *r, struct assembly_item *i, const struct event_in *x,
			uint32_t track)
{
	pfread_device_row(r, track);
	if (r->tracks[track].process)
		i->process = r->tracks[track].process;
	i->thread = 0;
	i->left_open = has_category(r, x, PERFETTO_UNFINISHED);
	take_work(r, i, x);
	if (i->source == KIND_KERNEL)
		i->number = keyed_kernel(&r->keyed, i->process, x->name, 0, "device");
}

static void take_range(struct assembly_item *i, const struct track_in *t, bool instant)
{
	i->kind = instant                                            ? ASSEMBLY_MARK
		  : t->thread && !(t->apart && t->what == TRACK_ROW) ? ASSEMBLY_RANGE
								     : ASSEMBLY_PROCESS_RANGE;
}

/* ---- what says something of the trace --------------------------------------------------------- */

static void take_loss(struct pfreader *r, const struct event_in *x, uint32_t process)
{
	uint64_t n = pfread_number(x->notes, NAME_COUNT);

	make_lost(r->t, process, n < COUNT_MAX ? n : COUNT_MAX, n == 0);
}

/* How a process ended, and what its recording lost. */
static void take_end_of_process(struct pfreader *r, const struct event_in *x, uint32_t process,
				int64_t time)
{
	static const char *const texts[] = {"finished", "exited without finishing the trace",
					    "killed by a signal", "replaced by exec"};
	const char *how = pfread_note_text(x->notes, NAME_HOW);
	struct t_process *p = &r->t->processes[process];

	for (uint32_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strcmp(how, texts[i]) == 0)
			p->how_ended = i;
	p->exit_status = (int32_t)pfread_number(x->notes, NAME_EXIT_STATUS);
	p->end = time;
	make_lost(r->t, process, pfread_number(x->notes, NAME_LOST), 0);
}

static void take_note(struct pfreader *r, const struct event_in *x, uint32_t process, int64_t time)
{
	uint64_t count = pfread_number(x->notes, NAME_COUNT);

	if (strcmp(pfread_string(r, x->name), "end of process") == 0) {
		take_end_of_process(r, x, process, time);
		return;
	}
	*trace_add(r->t, notes) = (struct t_note){.process = process,
						  .severity = 1,
						  .part = "perfetto",
						  .text = pfread_string(r, x->name),
						  .time = time,
						  .count = count ? count : 1};
}

/* ---- slices ----------------------------------------------------------------------------------- */

static struct assembly_item *add_item(struct pfreader *r, uint64_t event, enum kind_in kind,
				      int64_t end)
{
	const struct event *e = &r->events[event];
	const struct track_in *t = &r->tracks[e->track];
	const int64_t times[] = {e->time, end > e->time ? end : e->time};
	struct assembly_item *i = assembly_add(&r->all, ASSEMBLY_CALL, kind, (int64_t)event, times);

	i->process = t->process ? t->process : pfread_fallback(r);
	i->thread = t->thread;
	return i;
}

static void take_slice(struct pfreader *r, uint64_t event, bool instant, int64_t end)
{
	const struct event *e = &r->events[event];
	const struct track_in *t = &r->tracks[e->track];
	const char *domain = NULL;
	struct assembly_item *i;
	struct event_in x;
	enum kind_in kind;

	r->notes.brief = true;
	pfread_event(r, e, &r->notes, &x);
	kind = e->type == EVENT_STAGE ? KIND_KERNEL : pfread_kind(r, &x, t, &domain);
	if (kind == KIND_CALL && instant)
		kind = KIND_RANGE;
	if (kind == KIND_LOSS || kind == KIND_NOTE) {
		r->notes.brief = false;
		pfread_event(r, e, &r->notes, &x);
	}
	if (kind == KIND_LOSS) {
		take_loss(r, &x, t->process ? t->process : pfread_fallback(r));
		return;
	}
	if (kind == KIND_NOTE) {
		take_note(r, &x, t->process ? t->process : pfread_fallback(r), e->time);
		return;
	}
	if (kind == KIND_ALLOCATION && !pfread_note(x.notes, NAME_BYTES))
		kind = KIND_OTHER; /* without arguments it says nothing */
	if (kind == KIND_OTHER) {
		unplaced_add(&r->left_out, pfread_string(r, x.categories[0]), 1);
		return;
	}
	i = add_item(r, event, kind, end);
	if (kind == KIND_CALL)
		take_call(r, i, &x, domain);
	else if (kind == KIND_KERNEL || kind == KIND_COPY)
		take_device(r, i, &x, e->track);
	else if (kind == KIND_SYNC || kind == KIND_COMM || kind == KIND_ALLOCATION)
		take_work(r, i, &x);
	else
		take_range(i, t, instant);
	if (kind == KIND_COMM)
		make_activity(&r->model, RECORD_DOMAIN_comm, 0);
	r->allocations += kind == KIND_ALLOCATION;
	if (kind == KIND_RANGE)
		begin_flows(r, &x, (uint32_t)(i - r->all.items));
}

static void begin_slice(struct pfreader *r, uint64_t event)
{
	uint32_t before = r->all.count;
	struct track_in *t;

	take_slice(r, event, false, r->events[event].time);
	if (r->failed)
		return;
	t = &r->tracks[r->events[event].track];
	if (r->all.count == before) { /* its end is that of nothing */
		t->skipped++;
		return;
	}
	r->all.items[before].up = t->open;
	t->open = before + 1;
}

static bool says_something(const struct pfreader *r, const struct event *e)
{
	struct proto_walk w = proto_walk(pfread_message(r, e));
	struct proto_field f;

	while (proto_next(&w, &f))
		if (f.number == 4)
			return true;
	return false;
}

static void end_slice(struct pfreader *r, uint64_t event)
{
	const struct event *e = &r->events[event];
	struct track_in *t = &r->tracks[e->track];
	uint32_t open = t->open;
	struct assembly_item *i;

	if (t->skipped) {
		t->skipped--;
		return;
	}
	if (!open) {
		r->ends_alone++;
		return;
	}
	i = &r->all.items[open - 1];
	t->open = i->up;
	i->up = 0;
	i->end = e->time > i->start ? e->time : i->start;
	assembly_window(&r->all, i->start, i->end);
	if (says_something(r, e) && !bulk_map_set(&r->ends, open, event + 1))
		r->failed = true;
}

static void take_value(struct pfreader *r, uint64_t event)
{
	struct event *e = &r->events[event];
	uint32_t counter = pfread_counter(r, e->track);
	struct assembly_item *i;

	e->value *= (double)r->tracks[e->track].multiplier;
	i = add_item(r, event, KIND_COUNTER, e->time);
	i->kind = ASSEMBLY_OTHER;
	i->number = counter;
}

static void take_sample(struct pfreader *r, uint64_t event)
{
	const struct event *e = &r->events[event];
	struct assembly_item *i = add_item(r, event, KIND_SAMPLE, e->time);

	i->kind = ASSEMBLY_MARK; /* what it lies in is found as that of a mark */
	i->number = pfread_stack(r, i->process, e->generation, (uint64_t)e->duration);
	make_activity(&r->model, RECORD_DOMAIN_sample, 0);
}

static void take_event(struct pfreader *r, uint64_t event)
{
	const struct event *e = &r->events[event];

	switch ((enum event_type)e->type) {
	case EVENT_BEGIN:
		begin_slice(r, event);
		break;
	case EVENT_END:
		end_slice(r, event);
		break;
	case EVENT_INSTANT:
		take_slice(r, event, true, e->time);
		break;
	case EVENT_COMPLETE:
	case EVENT_STAGE:
		take_slice(r, event, false, e->time + e->duration);
		break;
	case EVENT_COUNTER:
		take_value(r, event);
		break;
	case EVENT_SAMPLE:
		take_sample(r, event);
		break;
	default:
		break;
	}
}

/* ---- order ------------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b, void *events)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct event *x = (const struct event *)events + i,
			   *y = (const struct event *)events + k;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (i > k) - (i < k);
}

/* Sequences are not in order of each other: one track may be written by several. */
static bool sorted_events(struct pfreader *r)
{
	uint32_t *order = bulk_array(r->event_count + 1, sizeof(*order));
	bool ok = order != NULL;

	for (uint32_t i = 0; ok && i < r->event_count; i++)
		order[i] = i;
	ok = ok && bulk_sort(&order, r->event_count, sizeof(*order), by_time, r->events);
	for (uint32_t i = 0; ok && i < r->event_count && !r->failed; i++)
		take_event(r, order[i]);
	bulk_free(order);
	return ok;
}

static void leave_open(struct pfreader *r)
{
	for (uint32_t i = 0; i < r->track_count; i++)
		for (uint32_t open = r->tracks[i].open, up; open; open = up) {
			struct assembly_item *x = &r->all.items[open - 1];

			up = x->up;
			x->up = 0;
			x->left_open = true;
			r->left_open++;
		}
}

/* ---- definitions that need the calls ---------------------------------------------------------- */

static void define_open_call(struct pfreader *r, const struct assembly_item *i)
{
	*trace_add(r->t, open_calls) = (struct t_open_call){
		.thread = i->thread, .op = i->number, .id = i->key, .start = i->start};
	if (!bulk_map_set(&r->left_open_items, (uint64_t)(i - r->all.items) + 1,
			  r->t->open_calls_count - 1u))
		r->failed = true;
}

static void define_unfinished(struct pfreader *r, const struct assembly_item *i)
{
	struct t_unfinished u;

	pfread_unfinished(r, i, &u);
	*trace_add(r->t, unfinished) = u;
	if (!bulk_map_set(&r->left_open_items, (uint64_t)(i - r->all.items) + 1,
			  r->t->unfinished_count - 1u))
		r->failed = true;
}

static void define_rest(struct pfreader *r)
{
	for (uint32_t n = 0; n < r->all.count; n++) {
		const struct assembly_item *i = &r->all.items[n];
		const struct assembly_item *call = assembly_call(&r->all, i);

		if (i->source == KIND_CALL && i->left_open)
			define_open_call(r, i);
		if (i->source != KIND_KERNEL && i->source != KIND_COPY)
			continue;
		if (call)
			r->t->ops[call->number].flags |= KYMO_OP_SUBMITS;
		if (i->left_open)
			define_unfinished(r, i);
	}
	for (uint32_t n = 1; n < r->t->notes_count; n++)
		r->t->notes[n].time += r->all.shift;
	for (uint32_t n = 1; n < r->t->processes_count; n++)
		if (r->t->processes[n].end)
			r->t->processes[n].end += r->all.shift;
}

bool pfread_match(struct pfreader *r)
{
	if (r->unsorted) {
		if (!sorted_events(r))
			return false;
	} else {
		for (uint64_t i = 0; i < r->event_count && !r->failed; i++)
			take_event(r, i);
	}
	if (r->failed)
		return false;
	leave_open(r);
	if (r->t->processes_count == 1)
		pfread_fallback(r);
	if (!assembly_order(&r->all, r->t))
		return false;
	define_rest(r);
	return !r->failed;
}
