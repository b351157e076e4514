/* SPDX-License-Identifier: Apache-2.0 */
/* Records as rows of lists; see writer.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/rocprofv3/writer.h"

#define KEPT_MEMORY (8u << 20)

static struct rp_writer *writer(struct stream_sink *s)
{
	return (struct rp_writer *)(void *)s;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static uint64_t list_key(uint32_t process, uint32_t list)
{
	return (uint64_t)list << 32 | process;
}

static struct rp_part *part_of(struct rp_writer *w, uint32_t process, uint32_t list)
{
	uint64_t key = list_key(process, list), at = map_get(&w->found, key);
	struct rp_part *p;

	if (at)
		return w->lists[at - 1];
	if (!vec_reserve(&w->lists, &w->room, w->count, 1))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->process = process;
	p->list = list;
	if (strand_begin(&w->strands, &p->strand, sizeof(struct rp_line)) != KYMO_OK ||
	    !map_set(&w->found, key, w->count + 1)) {
		strand_release(&p->strand);
		free(p);
		return NULL;
	}
	w->lists[w->count++] = p;
	return p;
}

kymo_status_t rp_keep(struct rp_writer *w, uint32_t process, uint32_t list,
		      const struct rp_line *line, const void *bytes, size_t n)
{
	static const size_t sizes[] = {[LINE_CALL] = sizeof(struct rp_call),
				       [LINE_DISPATCH] = sizeof(struct rec_dispatch),
				       [LINE_COPY] = sizeof(struct rec_copy),
				       [LINE_ALLOCATION] = sizeof(struct rec_allocation),
				       [LINE_MARKER] = sizeof(struct rec_marker),
				       [LINE_COUNTED] = sizeof(struct rp_kept),
				       [LINE_AGENT] = 0};
	struct rp_part *p = part_of(w, process, list);
	size_t size = offsetof(struct rp_line, call) + sizes[line->kind];

	return p ? strand_add(&p->strand, line, size, bytes, n) : KYMO_ERROR_NO_MEMORY;
}

static void put_call(struct rp_writer *w, const struct rp_form *form, struct output *o,
		     struct rp_call *c, const uint8_t *bytes, size_t n)
{
	const struct wire_record wire = {.classes = c->classes,
					 .classes_hi = c->classes_hi,
					 .pointer_base = c->pointer_base,
					 .fields = bytes,
					 .fields_end = bytes + n};

	c->rec.wire = c->has_wire ? &wire : NULL;
	form->call(w, o, &c->rec);
}

/* Marks, ranges of threads and of processes are numbered so. */
static bool marker_op(uint32_t op, uint32_t *out)
{
	*out = op == MARKER_OP_MARK || op == MARKER_OP_SUBMITTED_MARK ? 0
	       : op == MARKER_OP_RANGE                                ? 1
								      : 2;
	return op != MARKER_OP_PAUSE && op != MARKER_OP_RESUME;
}

static void put_marker(struct rp_writer *w, const struct rp_form *form, struct output *o,
		       struct rp_line *line, const void *text)
{
	struct rp_marker m = {.out = o,
			      .r = &line->marker,
			      .id = UINT64_C(1) << MARKER_ID | line->number,
			      .kind = KIND_MARKER_RANGE};

	line->marker.text = text;
	marker_op(w->t->ops[line->marker.base.op].number, &m.op);
	form->marker(w, &m);
}

static void put_line(struct rp_writer *w, const struct rp_form *form, struct output *o,
		     struct rp_line *line, const void *bytes, size_t n)
{
	const struct rp_counted counted = {.kept = &line->counted,
					   .values = (struct kernel_value *)(uintptr_t)bytes,
					   .count = (uint32_t)(n / sizeof(struct kernel_value))};

	if (line->kind == LINE_CALL && form->call)
		put_call(w, form, o, &line->call, bytes, n);
	else if (line->kind == LINE_DISPATCH)
		form->dispatch(w, o, &line->dispatch, line->number);
	else if (line->kind == LINE_COPY)
		form->copy(w, o, &line->copy, rp_direction(w->t, &line->copy));
	else if (line->kind == LINE_ALLOCATION)
		form->allocation(w, o, &line->allocation, rp_memory_op(w->t, &line->allocation));
	else if (line->kind == LINE_MARKER)
		put_marker(w, form, o, line, bytes);
	else if (line->kind == LINE_COUNTED)
		form->counters(w, o, &counted);
	else if (line->kind == LINE_AGENT)
		form->agent(w, o, (uint32_t)line->number);
}

kymo_status_t rp_put_list(struct rp_writer *w, uint32_t process, uint32_t list,
			  const struct rp_form *form, struct output *o)
{
	uint64_t at = map_get(&w->found, list_key(process, list));
	struct strand *x;
	struct rp_line line;
	const void *bytes;
	size_t n;

	w->later = false;
	if (!at)
		return KYMO_OK;
	x = &w->lists[at - 1]->strand;
	strand_rewind(x);
	while (!o->error && strand_next(x, &line, &bytes, &n))
		put_line(w, form, o, &line, bytes, n);
	if (x->error && !o->error)
		o->error = x->error;
	return output_status(o);
}

/* ---- processes ------------------------------------------------------------------------------- */

uint32_t rp_twin(const struct rp_writer *w, uint32_t process)
{
	return w->twins[process];
}

static bool count_one(struct map *m, uint64_t key, uint32_t *count)
{
	*count = (uint32_t)map_get(m, key) + 1;
	return map_set(m, key, *count);
}

static bool find_twins(struct rp_writer *w)
{
	const struct trace *t = w->t;
	struct map pids = {0}, hosts = {0};
	bool ok = true;
	uint32_t n;

	w->twins = calloc(t->processes_count, sizeof(*w->twins));
	if (!w->twins)
		return false;
	for (uint32_t i = 1; i < t->processes_count; i++)
		ok &= count_one(&pids, t->processes[i].pid + UINT64_C(1), &n);
	for (uint32_t i = 1; i < t->processes_count && ok; i++) {
		const struct t_process *p = &t->processes[i];

		w->hosts |= strcmp(p->hostname, t->processes[1].hostname) != 0;
		if (map_get(&pids, p->pid + UINT64_C(1)) < 2)
			continue;
		ok &= count_one(&hosts, hash_mix(hash_string(p->hostname), p->pid), &w->twins[i]);
	}
	map_release(&pids);
	map_release(&hosts);
	return ok;
}

/* ---- records --------------------------------------------------------------------------------- */

/* One more line, of which sums tell under `name`. */
static kymo_status_t add_line(struct rp_writer *w, const struct rp_line *line, uint32_t list,
			      const char *name, const void *bytes, size_t n)
{
	const struct rec *r = &line->call.rec;
	bool device = line->kind == LINE_DISPATCH || line->kind == LINE_COPY;
	const struct rec_device *d =
		line->kind == LINE_COPY ? &line->copy.device : &line->dispatch.device;
	int64_t ns = device ? d->end - d->start : r->end - r->start;

	if (!rp_stats_add(&w->stats, r->process, list, name, ns > 0 ? (uint64_t)ns : 0))
		return KYMO_ERROR_NO_MEMORY;
	return rp_keep(w, r->process, list, line, bytes, n);
}

static kymo_status_t leave_out(struct rp_writer *w, const char *what)
{
	unplaced_leave(&w->unplaced, what, 1, 1);
	return KYMO_OK;
}

static kymo_status_t keep(struct rp_writer *w, const struct rec_dispatch *r, uint64_t number)
{
	struct rp_kept k = {.key.time = r->device.start, .dispatch = *r, .number = number};

	k.dispatch.base.wire = NULL;
	return w->keeps ? spool_add(&w->kept, &k) : KYMO_OK;
}

/* What neither of the forms has a column or member for. */
static void count_left(struct rp_writer *w, const struct rec_dispatch *r)
{
	const struct rec_launch *l = &r->launch;

	unplaced_add(&w->unplaced, "offsets of kernels",
		     r->offset[0] || r->offset[1] || r->offset[2]);
	unplaced_add(&w->unplaced, "dynamic shared memory, clusters and graphs of kernels",
		     l->dynamic_shared || l->cluster[0] || l->graph || l->graph_node);
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct rp_writer *w = writer(s);
	struct rp_line line;
	const char *why = rp_unplaced_dispatch(r);
	kymo_status_t status;

	if (why)
		return leave_out(w, why);
	count_left(w, r);
	line.kind = LINE_DISPATCH;
	line.number = ++w->numbers.dispatches[r->base.process];
	line.dispatch = *r;
	line.dispatch.base.wire = NULL;
	w->launches[r->kernel] = r->launch;
	status = keep(w, r, line.number);
	return status != KYMO_OK
		       ? status
		       : add_line(w, &line, LIST_KERNELS, w->t->kernels[r->kernel].name, NULL, 0);
}

uint32_t rp_copy_agent(const struct rp_writer *w, const struct rec_copy *r, uint32_t direction,
		       bool to)
{
	bool device = (direction - 1) & (to ? 1 : 2);
	uint32_t agent = to ? r->destination_agent : r->source_agent;

	if (!device)
		return 0;
	return agent ? agent : copy_agent(w->t, r);
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct rp_writer *w = writer(s);
	struct rp_line line;
	const char *why = rp_unplaced_copy(w->t, r);

	if (why)
		return leave_out(w, why);
	unplaced_add(&w->unplaced, "sizes of copies", !w->form->sizes && r->bytes);
	line.kind = LINE_COPY;
	line.number = 0;
	line.copy = *r;
	line.copy.base.wire = NULL;
	return add_line(w, &line, LIST_COPIES, rp_directions[rp_direction(w->t, r)], NULL, 0);
}

static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct rp_writer *w = writer(s);
	struct rp_line line;

	unplaced_add(&w->unplaced, "numbers and contexts of allocations",
		     r->allocation || r->parent || r->context);
	line.kind = LINE_ALLOCATION;
	line.number = 0;
	line.allocation = *r;
	line.allocation.base.wire = NULL;
	return add_line(w, &line, LIST_MEMORY, rp_memory_ops[rp_memory_op(w->t, r)], NULL, 0);
}

static kymo_status_t on_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct rp_writer *w = writer(s);
	struct rp_line line;
	const char *name = r->name < w->t->strings_count ? w->t->strings[r->name].text : "";
	uint32_t op;

	if (!marker_op(w->t->ops[r->base.op].number, &op))
		return leave_out(w, "pauses");
	unplaced_add(&w->unplaced, "payloads, colors and domains of annotations",
		     r->payload_bytes || r->color || r->domain || r->category);
	line.kind = LINE_MARKER;
	line.number = ++w->numbers.markers[r->base.process];
	line.marker = *r;
	line.marker.base.wire = NULL;
	line.marker.text = NULL;
	line.marker.payload = NULL;
	return add_line(w, &line, LIST_MARKERS, r->name ? name : "(other)", r->text,
			r->text_length);
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	struct rp_writer *w = writer(s);
	const struct wire_record *wire = r->wire;
	bool has = wire && !wire->no_fields, keeps = has && w->form->arguments;
	struct rp_line line;

	unplaced_add(&w->unplaced, "arguments of calls", has && !keeps);
	unplaced_add(&w->unplaced, "statuses of calls that failed", !r->ok);
	line.kind = LINE_CALL;
	line.number = 0;
	line.call = (struct rp_call){.rec = *r, .has_wire = keeps};
	line.call.rec.wire = NULL;
	if (keeps) {
		line.call.classes = wire->classes;
		line.call.classes_hi = wire->classes_hi;
		line.call.pointer_base = wire->pointer_base;
	}
	return add_line(w, &line, rp_list_of(w->numbers.kinds[r->op]), w->t->ops[r->op].name,
			keeps ? wire->fields : NULL,
			keeps ? (size_t)(wire->fields_end - wire->fields) : 0);
}

static kymo_status_t on_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct rp_writer *w = writer(s);

	if (!r->kernel) {
		unplaced_record(&w->unplaced, w->t, &r->base);
		return KYMO_OK;
	}
	return kernel_values_add(&w->values, w->t, r) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	unplaced_record(&writer(s)->unplaced, writer(s)->t, r);
	return KYMO_OK;
}

static kymo_status_t on_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	(void)c;
	return leave_out(writer(s), "calls that never returned");
}

static kymo_status_t on_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	(void)u;
	return leave_out(writer(s), "device work that was not seen to finish");
}

/* ---- counters of kernels --------------------------------------------------------------------- */

static void take_value(void *data, const struct kernel_value *v)
{
	struct rp_counted *c = data;

	if (!vec_reserve(&c->values, &c->room, c->count, 1))
		c->failed = true;
	else
		c->values[c->count++] = *v;
}

static int compare_values(const void *pa, const void *pb)
{
	const struct kernel_value *a = pa, *b = pb;

	if (a->counter != b->counter)
		return a->counter < b->counter ? -1 : 1;
	return a->instance < b->instance ? -1 : a->instance > b->instance;
}

double rp_counter_sum(const struct rp_counted *c, uint32_t i)
{
	uint32_t counter = c->values[i].counter;
	double sum = 0;

	for (; i < c->count && c->values[i].counter == counter; i++)
		sum += c->values[i].value;
	return sum;
}

static kymo_status_t put_counted(struct rp_writer *w, struct rp_counted *c)
{
	struct rp_line line = {.kind = LINE_COUNTED, .counted = *c->kept};

	c->count = 0;
	kernel_values_each(&w->values, &c->kept->dispatch, take_value, c);
	if (c->failed)
		return KYMO_ERROR_NO_MEMORY;
	if (!c->count)
		return KYMO_OK;
	qsort(c->values, c->count, sizeof(*c->values), compare_values);
	return rp_keep(w, c->kept->dispatch.base.process, LIST_COUNTERS, &line, c->values,
		       c->count * sizeof(*c->values));
}

static kymo_status_t put_counters(struct rp_writer *w)
{
	struct rp_counted c = {0};
	kymo_status_t status = spool_rewind(&w->kept);
	const void *item = NULL;

	while (status == KYMO_OK) {
		status = spool_next(&w->kept, &item);
		c.kept = item;
		if (status != KYMO_OK || !item)
			break;
		status = put_counted(w, &c);
	}
	free(c.values);
	return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	struct rp_writer *w = writer(s);
	char *folder;
	kymo_status_t status = KYMO_OK;

	w->t = t;
	w->keeps = t->counters_count > 1;
	w->launches = calloc((size_t)t->kernels_count + 1, sizeof(*w->launches));
	w->openings = calloc((size_t)t->ops_count + 1, sizeof(*w->openings));
	w->openings_count = t->ops_count;
	folder = spool_directory_of(w->o.output, w->form == &rp_csv);
	if (!w->launches || !w->openings || !folder || !rp_number(&w->numbers, t) || !find_twins(w))
		status = KYMO_ERROR_NO_MEMORY;
	else if (w->keeps)
		status = spool_init(&w->kept, sizeof(struct rp_kept), KEPT_MEMORY, folder);
	if (status == KYMO_OK)
		status = strands_init(&w->strands, folder);
	if (status == KYMO_ERROR_SYSTEM)
		spool_tell(w->o.log, errno);
	free(folder);
	return status;
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct rp_writer *w = writer(s);
	kymo_status_t status = w->keeps ? put_counters(w) : KYMO_OK;

	(void)t;
	rp_stats_sort(&w->stats);
	unplaced_tell(&w->unplaced, w->o.log, w->form->missing);
	return status == KYMO_OK ? w->form->finish(w) : status;
}

void rp_free(struct stream_sink *s)
{
	struct rp_writer *w = writer(s);

	output_close(&w->out, w->o.log);
	for (uint32_t i = 0; i < w->count; i++) {
		strand_release(&w->lists[i]->strand);
		free(w->lists[i]);
	}
	strands_release(&w->strands);
	if (w->keeps)
		spool_release(&w->kept);
	kernel_values_release(&w->values);
	rp_numbers_release(&w->numbers);
	rp_stats_release(&w->stats);
	map_release(&w->found);
	free(w->lists);
	for (uint32_t i = 0; w->openings && i < w->openings_count; i++)
		text_release(&w->openings[i]);
	free(w->openings);
	free(w->twins);
	free(w->launches);
	free(w);
}

kymo_status_t rp_write(const struct format_options *o, const struct rp_form *form,
		       struct stream_sink **sink)
{
	struct rp_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	*sink = NULL;
	if (w)
		status = form == &rp_csv ? output_folder(o->output, o->force, o->log)
					 : output_open(&w->out, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		free(w);
		return status;
	}
	w->o = *o;
	w->form = form;
	w->strands.fd = -1;
	w->sink = (struct stream_sink){.begin = on_begin,
				       .call = on_call,
				       .dispatch = on_dispatch,
				       .copy = on_copy,
				       .allocation = on_allocation,
				       .marker = on_marker,
				       .counter = on_counter,
				       .other = on_other,
				       .open_call = on_open_call,
				       .unfinished = on_unfinished,
				       .end = on_end,
				       .unplaced = &w->unplaced};
	stream_sink_complete(&w->sink);
	*sink = &w->sink;
	return KYMO_OK;
}
