/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call-path profiles in the layout that Caliper calls json-split and Hatchet reads:
 *
 *   {"data": [[value of each column, ...], ...], "columns": ["path", ...], "column_metadata": [{"is_value": ...}, ...],
 *    "nodes": [{"label", "column": "path", "parent"}, ...], and what is known of the run}
 *
 * A path is process (where not all are ranks), thread, then ranges and calls as they nest, then device and work below
 * the call that submitted it. Device work comes when it was collected, after its call: both are sorted by the call's
 * number, outside of memory, and joined at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/temporary.h"
#include "base/vec.h"
#include "formats/caliper/paths.h"
#include "formats/format.h"
#include "stream/names.h"
#include "stream/output.h"
#include "stream/spool.h"
#include "stream/symbol.h"
#include "stream/unplaced.h"

enum { SPOOL_BYTES = 8 << 20 };

struct frame { /* a call or range that may still enclose what comes */
	int64_t end;
	uint32_t node;
};

struct thread_stack {
	struct frame *frames;
	uint32_t count, room;
};

struct item {                 /* of the spool: a call, or work that a call submitted */
	struct spool_key key; /* time: number of the call */
	uint32_t process, thread;
	uint32_t node; /* of the call; 0: work */
	uint32_t agent, kernel, op;
	uint64_t ns, bytes;
	bool timed;
};

struct caliper_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	struct output out;
	const struct trace *t;
	struct paths paths;
	struct thread_stack *stacks; /* by thread */
	uint32_t *numbers;           /* of threads in their processes */
	uint32_t stacks_count;
	struct spool spool;
	struct symbols *symbols;
	struct unplaced unplaced;
	bool ranks; /* all processes are ranks: these are a column */
};

static struct caliper_writer *writer_of(struct stream_sink *s)
{
	return (struct caliper_writer *)(void *)s;
}

static int by_call(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->key.time != b->key.time)
		return a->key.time < b->key.time ? -1 : 1;
	if (!a->node != !b->node)
		return a->node ? -1 : 1;
	return (a->key.order > b->key.order) - (a->key.order < b->key.order);
}

/* ---- paths --------------------------------------------------------------------------------- */

/* Threads of ranks have the same path in all, by their number. */
static uint32_t thread_node(struct caliper_writer *w, uint32_t process, uint32_t thread)
{
	const struct t_process *p = &w->t->processes[process];
	const struct t_thread *t = &w->t->threads[thread];
	uint32_t root = 0;
	char label[256];

	if (!w->ranks) {
		snprintf(label, sizeof(label), "%s %" PRIu32, name_program(p), p->pid);
		root = paths_node(&w->paths, 0, label, strlen(label));
		if (!root)
			return 0;
	}
	if (t->main)
		snprintf(label, sizeof(label), "main thread");
	else
		snprintf(label, sizeof(label),
			 *t->name ? "thread %" PRIu32 " (%s)" : "thread %" PRIu32,
			 w->numbers[thread], t->name);
	return paths_node(&w->paths, root, label, strlen(label));
}

/* Drops what is over, finds the innermost that encloses [start, end]. */
static uint32_t enclosing(struct thread_stack *s, int64_t start, int64_t end)
{
	uint32_t kept = 0;

	while (s->count && s->frames[s->count - 1].end <= start)
		s->count--;
	if (s->count && s->frames[s->count - 1].end >= end)
		return s->frames[s->count - 1].node;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->frames[i].end > start)
			s->frames[kept++] = s->frames[i];
	s->count = kept;
	for (uint32_t i = s->count; i-- > 0;)
		if (s->frames[i].end >= end)
			return s->frames[i].node;
	return 0;
}

/* A call or range of a thread: its node, plus one; 0: no memory. */
static uint32_t host(struct caliper_writer *w, const struct rec *r, const char *label,
		     size_t length)
{
	struct thread_stack *s = &w->stacks[r->thread];
	uint64_t ns = (uint64_t)r->end - (uint64_t)r->start;
	uint32_t parent = enclosing(s, r->start, r->end), node;
	bool top = !parent;
	struct path_row *row;

	if (top)
		parent = thread_node(w, r->process, r->thread);
	node = parent ? paths_node(&w->paths, parent, label, length) : 0;
	row = node ? paths_row(&w->paths, node, r->process) : NULL;
	if (!row || !vec_reserve(&s->frames, &s->room, s->count, 1))
		return 0;
	row->count++;
	row->inclusive += ns;
	s->frames[s->count++] = (struct frame){r->end, node};
	for (; parent; parent = top ? w->paths.nodes[parent - 1].parent : 0) {
		row = paths_row(&w->paths, parent, r->process);
		if (!row)
			return 0;
		row->within += ns;
		row->inclusive += top ? ns : 0; /* a thread, a process is what is in it */
	}
	return node;
}

/* ---- records ------------------------------------------------------------------------------- */

static const char single[] = "times and values of single calls, kernels, copies and samples";

static kymo_status_t call(struct stream_sink *s, const struct rec *r)
{
	struct caliper_writer *w = writer_of(s);
	const char *name = w->t->ops[r->op].name;
	struct item item = {
		.key = {.time = (int64_t)r->id}, .process = r->process, .thread = r->thread};

	unplaced_add(&w->unplaced, single, 1);
	item.node = host(w, r, name, strlen(name));
	return item.node ? spool_add(&w->spool, &item) : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct caliper_writer *w = writer_of(s);

	if (w->t->ops[r->base.op].number !=
	    MARKER_OP_RANGE) { /* others need not nest, or last no time */
		unplaced_record(&w->unplaced, w->t, &r->base);
		return KYMO_OK;
	}
	unplaced_add(&w->unplaced, single, 1);
	return host(w, &r->base, r->text, r->text_length) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t work(struct caliper_writer *w, const struct rec *r, const struct rec_device *d,
			  struct item *item)
{
	unplaced_add(&w->unplaced, single, 1);
	item->key.time = (int64_t)device_call(d);
	item->process = r->process;
	item->thread = r->thread;
	item->op = r->op;
	item->timed = device_timed(d);
	item->ns = item->timed ? (uint64_t)d->end - (uint64_t)d->start : 0;
	return spool_add(&w->spool, item);
}

static kymo_status_t dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct item item = {.agent = r->agent, .kernel = r->kernel};

	return work(writer_of(s), &r->base, &r->device, &item);
}

static kymo_status_t copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct item item = {.agent = copy_agent(writer_of(s)->t, r), .bytes = r->bytes};

	return work(writer_of(s), &r->base, &r->device, &item);
}

static uint32_t symbol_node(struct caliper_writer *w, uint32_t parent, const struct symbol *y)
{
	char text[1024];

	if (y->caller)
		parent = symbol_node(w, parent, y->caller);
	if (y->function) {
		symbol_frame(y, text, sizeof(text));
		return paths_node(&w->paths, parent, text, strlen(text));
	}
	snprintf(text, sizeof(text), "%.40s+0x%" PRIx64, y->module, y->offset);
	return paths_node(&w->paths, parent, text, strlen(text));
}

/* Outermost first, below a node of their own: functions are no calls that were recorded. */
static kymo_status_t sample(struct stream_sink *s, const struct rec_sample *r)
{
	static const char below[] = "call stacks of samples";
	struct caliper_writer *w = writer_of(s);
	const uint32_t *sites;
	uint32_t node, count;
	struct path_row *row;

	if (r->lost) {
		unplaced_leave(&w->unplaced, "samples that were lost", r->lost, 1);
		return KYMO_OK;
	}
	unplaced_add(&w->unplaced, single, 1);
	node = thread_node(w, r->base.process, r->base.thread);
	node = node ? paths_node(&w->paths, node, below, sizeof(below) - 1) : 0;
	sites = symbols_stack(w->symbols, r->base.stack, SYMBOLS_TIME, &count);
	for (uint32_t i = r->base.stack ? count : 0; node && i-- > 0;)
		node = symbol_node(w, node, symbols_site(w->symbols, sites[i]));
	row = node ? paths_row(&w->paths, node, r->base.process) : NULL;
	if (!row)
		return KYMO_ERROR_NO_MEMORY;
	row->samples++;
	row->sampled += r->weight > 0 ? (uint64_t)r->weight : 0;
	return KYMO_OK;
}

static kymo_status_t other(struct stream_sink *s, const struct rec *r)
{
	unplaced_record(&writer_of(s)->unplaced, writer_of(s)->t, r);
	return KYMO_OK;
}

static kymo_status_t open_call(struct stream_sink *s, const struct t_open_call *c)
{
	unplaced_leave(&writer_of(s)->unplaced, "calls that never returned", 1, 1);
	return KYMO_OK;
}

static kymo_status_t unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	unplaced_leave(&writer_of(s)->unplaced, "device work that never finished",
		       u->unlisted ? u->unlisted : 1, 1);
	return KYMO_OK;
}

/* ---- end ----------------------------------------------------------------------------------- */

static bool place_work(struct caliper_writer *w, const struct item *i, uint32_t node)
{
	const char *name = i->kernel ? w->t->kernels[i->kernel].name : w->t->ops[i->op].name;
	const char *device = i->agent ? w->t->agents[i->agent].label : "device";
	struct path_row *row;

	if (!node)
		node = thread_node(w, i->process, i->thread);
	node = node ? paths_node(&w->paths, node, device, strlen(device)) : 0;
	node = node ? paths_node(&w->paths, node, name, strlen(name)) : 0;
	row = node ? paths_row(&w->paths, node, i->process) : NULL;
	if (!row)
		return false;
	row->count++;
	row->device += i->ns;
	row->bytes += i->bytes;
	row->untimed += !i->timed;
	return true;
}

static kymo_status_t join(struct caliper_writer *w)
{
	kymo_status_t status = spool_rewind(&w->spool);
	uint32_t node = 0, process = 0;
	int64_t id = 0;

	while (status == KYMO_OK) {
		const struct item *i;

		status = spool_next(&w->spool, (const void **)&i);
		if (status != KYMO_OK || !i)
			break;
		if (i->node) {
			node = i->node;
			process = i->process;
			id = i->key.time;
		} else if (!place_work(w, i,
				       id && i->process == process && i->key.time == id ? node
											: 0)) {
			status = KYMO_ERROR_NO_MEMORY;
		}
	}
	return status;
}

static void seconds(struct output *o, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), ",%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
	output_text(o, text);
}

static void put_row(struct caliper_writer *w, const struct path_row *r)
{
	const uint64_t numbers[] = {r->count, r->bytes, r->untimed, r->samples};
	struct output *o = &w->out;

	output_char(o, '[');
	output_unsigned(o, r->node - 1);
	if (w->ranks) {
		output_char(o, ',');
		output_unsigned(o, w->t->processes[r->process].rank);
	}
	seconds(o, r->inclusive > r->within ? r->inclusive - r->within : 0);
	seconds(o, r->inclusive);
	seconds(o, r->device);
	seconds(o, r->sampled);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		output_char(o, ',');
		output_unsigned(o, numbers[i]);
	}
	output_char(o, ']');
}

static void put_columns(struct caliper_writer *w)
{
	static const char second[] = ",{\"is_value\":true,\"attribute.unit\":\"sec\"}";
	struct output *o = &w->out;

	output_text(o, "\n],\n\"columns\":[\"path\"");
	output_text(o, w->ranks ? ",\"mpi.rank\"" : "");
	output_text(o, ",\"sum#time.duration\",\"inclusive#sum#time.duration\",\"device time\","
		       "\"sampled time\",\"count\",\"bytes\",\"untimed\",\"samples\"],\n"
		       "\"column_metadata\":[{\"is_value\":false}");
	output_text(o, w->ranks ? ",{\"is_value\":true}" : "");
	for (int i = 0; i < 4; i++)
		output_text(o, second);
	for (int i = 0; i < 4; i++)
		output_text(o, ",{\"is_value\":true}");
	output_text(o, "],\n\"nodes\":[");
}

static void put(struct caliper_writer *w)
{
	struct output *o = &w->out;

	output_text(o, "{\"data\":[");
	for (uint32_t i = 0; i < w->paths.row_count; i++) {
		output_text(o, i ? ",\n" : "\n");
		put_row(w, &w->paths.rows[i]);
	}
	put_columns(w);
	for (uint32_t i = 0; i < w->paths.node_count; i++) {
		const struct path_node *n = &w->paths.nodes[i];

		output_text(o, i ? ",\n{\"label\":" : "\n{\"label\":");
		output_json_bytes(o, n->label, n->length);
		output_text(o, ",\"column\":\"path\"");
		if (n->parent) {
			output_text(o, ",\"parent\":");
			output_unsigned(o, n->parent - 1);
		}
		output_char(o, '}');
	}
	output_text(o, "\n],\n\"command\":");
	output_json(o, w->t->command);
	output_text(o, ",\"hostname\":");
	output_json(o, w->t->hostname);
	output_text(o, ",\"kymo.version\":\"" KYMO_VERSION "\"}\n");
}

static bool all_ranks(const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (!t->processes[i].telemetry && t->processes[i].rank == UINT32_MAX)
			return false;
	return t->processes_count > 1 && t->worlds <= 1;
}

/* From 1, in each process, Kymo's own and those of tools behind the program's. NULL: no memory. */
static uint32_t *number_threads(const struct trace *t)
{
	uint32_t *numbers = calloc(t->threads_count, sizeof(*numbers));
	uint32_t *counts = calloc(t->processes_count, sizeof(*counts));

	for (int own = 0; own < 2; own++)
		for (uint32_t i = 1; numbers && counts && i < t->threads_count; i++)
			if (t->threads[i].own == own)
				numbers[i] = ++counts[t->threads[i].process];
	if (!counts) {
		free(numbers);
		numbers = NULL;
	}
	free(counts);
	return numbers;
}

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct caliper_writer *w = writer_of(s);

	w->t = t;
	w->ranks = all_ranks(t);
	w->stacks_count = t->threads_count;
	w->stacks = calloc(t->threads_count, sizeof(*w->stacks));
	w->numbers = number_threads(t);
	w->symbols = symbols_new(t, w->o.log);
	return w->stacks && w->numbers && w->symbols ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct caliper_writer *w = writer_of(s);
	kymo_status_t status = join(w);

	if (status != KYMO_OK)
		return status;
	for (uint32_t i = 1; i < t->left_out_count; i++)
		unplaced_add(&w->unplaced, "calls that were not recorded", t->left_out[i].calls);
	put(w);
	unplaced_tell(&w->unplaced, w->o.log, "Caliper's profiles have no place for");
	return output_close(&w->out, w->o.log);
}

static void caliper_free(struct stream_sink *s)
{
	struct caliper_writer *w = writer_of(s);

	if (!s)
		return;
	output_close(&w->out, w->o.log);
	for (uint32_t i = 0; w->stacks && i < w->stacks_count; i++)
		free(w->stacks[i].frames);
	free(w->stacks);
	free(w->numbers);
	paths_release(&w->paths);
	spool_release(&w->spool);
	symbols_free(w->symbols);
	free(w);
}

static kymo_status_t caliper_write(const struct format_options *o, struct stream_sink **sink)
{
	struct caliper_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	*sink = NULL;
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	w->sink = (struct stream_sink){.begin = begin,
				       .call = call,
				       .dispatch = dispatch,
				       .copy = copy,
				       .marker = marker,
				       .sample = sample,
				       .other = other,
				       .open_call = open_call,
				       .unfinished = unfinished,
				       .end = end,
				       .unplaced = &w->unplaced};
	stream_sink_complete(&w->sink);
	status = spool_init(&w->spool, sizeof(struct item), SPOOL_BYTES, temporary_directory());
	w->spool.compare = by_call;
	if (status == KYMO_OK)
		status = output_open(&w->out, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		caliper_free(&w->sink);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

#define PROFILE "a profile has sums for each call path"
static const struct format_kind kinds[] = {
	{"call", FORMAT_KEEPS_PART, "times and values of single calls, kernels, copies and samples",
	 PROFILE},
	{"dispatch", FORMAT_KEEPS_PART,
	 "times and values of single calls, kernels, copies and samples", PROFILE},
	{"copy", FORMAT_KEEPS_PART, "times and values of single calls, kernels, copies and samples",
	 PROFILE},
	{"marker", FORMAT_KEEPS_PART,
	 "marker; times and values of single calls, kernels, copies and samples",
	 "marks have no length, and ranges that any thread may end need not nest: no call path"},
	{"sample", FORMAT_KEEPS_PART,
	 "times and values of single calls, kernels, copies and samples; samples that were lost",
	 PROFILE},
	{"*", FORMAT_LEAVES, NULL, PROFILE},
	{0}};

extern const struct format format_caliper;
const struct format format_caliper = {
	.name = "caliper",
	.summary = "a call-path profile in Caliper's json-split layout, for Hatchet",
	.suffix = ".json",
	.needs_order = true,
	.kinds = kinds,
	.write = caliper_write,
	.sink_free = caliper_free,
};
