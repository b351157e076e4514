/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the runs of a comparison: the numbers of each by item. See compare.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "analysis/compare_same.h"
#include "analysis/labels.h"
#include "analysis/names.h"
#include "analysis/scopes.h"
#include "analysis/summary_parts.h"
#include "base/hash.h"
#include "base/vec.h"
#include "formats/raw/read.h"
#include "stream/filter.h"
#include "stream/trace.h"
#include "wire/tally.h"

#define KEYS 8u

/* What items of one trace are found by, and which they are. */
struct entry {
	uint32_t key[KEYS];
	uint32_t item;
};

struct reader {
	struct stream_sink sink; /* first */
	struct compare *c;
	struct compare_run *run;
	const struct trace *t;
	struct scopes *scopes;
	struct entry *entries;
	uint32_t entry_count, entry_room;
	struct map places;
	struct map executions; /* of ranges, by hash of the name */
	uint32_t *call_items;  /* by op: item + 1, where ops alone tell calls apart */
	struct busy *busy;     /* by agent of the trace: those of one label share the first one's */
	uint32_t *busy_of;
	double inside, waiting, copied, sent, allocated; /* ns, bytes */
	bool in_part; /* not all of what a process did is wanted */
	uint64_t calls, kernels, copies, messages, allocations, in_band;
};

/* ---- items ------------------------------------------------------------------------------------- */

static struct compare_item *find_item(const struct compare *c, uint64_t hash,
				      const struct text *key)
{
	uint64_t i;

	map_each(&c->places, hash, i) {
		struct compare_item *x = &c->items[i - 1];

		if (x->key_length == key->length && memcmp(x->key, key->s, key->length) == 0)
			return x;
	}
	return NULL;
}

uint32_t compare_item_at(struct compare *c, enum compare_kind kind, struct text *key,
			 struct text *label)
{
	uint64_t hash = key->s ? hash_bytes(key->s, key->length) : 0;
	struct compare_item *x;

	if (key->failed || label->failed || !key->s || !label->s)
		return UINT32_MAX;
	x = find_item(c, hash, key);
	if (x)
		return (uint32_t)(x - c->items);
	if (!vec_reserve(&c->items, &c->item_room, c->item_count, 1) ||
	    !map_add(&c->places, hash, c->item_count + 1))
		return UINT32_MAX;
	c->items[c->item_count] = (struct compare_item){
		.kind = kind, .key = key->s, .key_length = key->length, .label = label->s};
	*key = *label = (struct text){0};
	return c->item_count++;
}

struct run_item *compare_run_item(struct compare *c, struct compare_run *run, uint32_t item)
{
	if (item >= run->item_count) {
		if (!vec_reserve_zero(&run->items, &run->item_room, run->item_count,
				      item + 1 - run->item_count)) {
			c->failed = true;
			return NULL;
		}
		run->item_count = item + 1;
	}
	return &run->items[item];
}

void compare_add_value(struct compare *c, struct compare_run *run, const char *name,
		       enum quantity_unit unit, double value)
{
	uint32_t i;

	for (i = 0; i < c->quantity_count && strcmp(c->quantities[i].name, name) != 0; i++)
		;
	if (i == c->quantity_count) {
		char *copy = strdup(name);

		if (!copy || !vec_reserve(&c->quantities, &c->quantity_room, i, 1)) {
			free(copy);
			c->failed = true;
			return;
		}
		c->quantities[c->quantity_count++] = (struct quantity){.name = copy, .unit = unit};
	}
	if (!vec_reserve_zero(&run->values, &run->value_room, run->value_count,
			      i >= run->value_count ? i + 1 - run->value_count : 0)) {
		c->failed = true;
		return;
	}
	run->value_count = i >= run->value_count ? i + 1 : run->value_count;
	run->values[i] += value;
}

/* ---- what an item is called -------------------------------------------------------------------- */

struct source { /* of an item */
	enum compare_kind kind;
	enum tally_kind tally;
	struct tally row; /* as of a summary */
	uint32_t path, size, execution;
	const char *text; /* of a range whose name has no number; not terminated */
	uint32_t text_length;
};

/* "step 12/assemble" without its counters, part by part. */
static void add_path(const struct reader *r, struct text *out, uint32_t path)
{
	const char *p = scopes_text(r->scopes, path);

	if (r->c->options.full_names) {
		text_add(out, p);
		return;
	}
	while (*p) {
		size_t n = strcspn(p, "/");
		char *part = strndup(p, n);

		if (part)
			name_fold(out, part);
		out->failed |= !part;
		free(part);
		p += n;
		if (*p)
			text_add_bytes(out, p++, 1);
	}
}

static void add_name(const struct reader *r, const struct source *s, struct text *out)
{
	const struct summary like = {.trace = r->t};
	struct text plain = {0};

	if (s->kind == ITEM_CALL) {
		const struct t_op *op = &r->t->ops[s->row.key[KEY_OP]];

		text_addf(out, "%s %s", r->t->domains[op->domain].name, op->name);
		return;
	}
	text_add(out, s->kind == ITEM_KERNEL ? "kernel "
		      : s->kind == ITEM_COPY ? "copy "
					     : "range ");
	if (s->text)
		text_add_bytes(&plain, s->text, s->text_length);
	else
		label_add(&plain, &like, s->tally, &s->row, BY_OP);
	if (s->kind == ITEM_RANGE && !r->c->options.full_names)
		name_fold(out, plain.s ? plain.s : "");
	else
		text_add(out, plain.s ? plain.s : "");
	out->failed |= plain.failed;
	text_release(&plain);
}

/* All that an item is split by; each part of the key ends with a NUL. */
static void add_splits(const struct reader *r, const struct source *s, struct text *out)
{
	const struct summary like = {.trace = r->t};
	unsigned by = r->c->options.by;

	if (by & COMPARE_BY_SCOPE && s->path) {
		text_add(out, " in ");
		add_path(r, out, s->path);
	}
	if (by & COMPARE_BY_DEVICE && s->kind <= ITEM_COPY) {
		text_add(out, " on ");
		label_add(out, &like, s->tally, &s->row, BY_DEVICE);
	}
	if (by & COMPARE_BY_RANK) {
		text_add(out, ", rank ");
		label_add(out, &like, s->tally, &s->row, BY_RANK);
	}
	if (s->execution)
		text_addf(out, " #%u", s->execution);
}

static uint32_t name_item(struct reader *r, const struct source *s)
{
	struct text key = {0}, label = {0};
	uint32_t item, known = r->c->item_count;

	text_addf(&key, "%d:%u:", (int)s->kind, s->size);
	add_name(r, s, &label);
	text_add(&key, label.s ? label.s : "");
	text_add_bytes(&key, "", 1);
	add_splits(r, s, &label);
	text_add(&key, label.s ? label.s : "");
	item = compare_item_at(r->c, s->kind, &key, &label);
	if (item == UINT32_MAX)
		r->c->failed = true;
	else if (item >= known)
		r->c->items[item].size = s->size;
	text_release(&key);
	text_release(&label);
	return item;
}

/* The item of that source in this run. `names`: of what it is found by, four numbers. */
static struct run_item *item_of(struct reader *r, struct source *s, const uint32_t names[4])
{
	uint32_t process = r->c->options.by & COMPARE_BY_RANK ? s->row.key[KEY_PROCESS] : 0;
	const uint32_t key[KEYS] = {(uint32_t)s->kind, names[0], names[1],     names[2],
				    names[3],          s->path,  s->execution, process};
	uint64_t hash = hash_bytes(key, sizeof(key)), i;

	if (s->text)
		hash = hash_add(hash, s->text, s->text_length);
	else
		map_each(&r->places, hash, i)
			if (memcmp(r->entries[i - 1].key, key, sizeof(key)) == 0)
				return compare_run_item(r->c, r->run, r->entries[i - 1].item);
	if (!vec_reserve(&r->entries, &r->entry_room, r->entry_count, 1) ||
	    (!s->text && !map_add(&r->places, hash, r->entry_count + 1))) {
		r->c->failed = true;
		return NULL;
	}
	struct entry *e = &r->entries[r->entry_count];

	memcpy(e->key, key, sizeof(key));
	e->item = name_item(r, s);
	if (e->item == UINT32_MAX)
		return NULL;
	if (!s->text)
		r->entry_count++;
	return compare_run_item(r->c, r->run, e->item);
}

static uint32_t path_of(struct reader *r, uint32_t process, int64_t scope, uint64_t call)
{
	if (!r->scopes)
		return 0;
	return call ? scopes_path_of_call(r->scopes, process, call)
		    : scopes_path(r->scopes, process, scope);
}

/* ---- records ----------------------------------------------------------------------------------- */

static struct reader *reader_of(struct stream_sink *s)
{
	return (struct reader *)(void *)s;
}

static kymo_status_t status_of(const struct reader *r)
{
	return r->c->failed ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}

static uint64_t length_of(int64_t start, int64_t end)
{
	return end > start ? (uint64_t)(end - start) : 0;
}

static struct run_item *item_of_call(struct reader *r, uint32_t process, uint32_t op, int64_t scope)
{
	struct source s = {.kind = ITEM_CALL, .tally = TALLY_CALL};

	s.row.key[KEY_PROCESS] = process;
	s.row.key[KEY_OP] = op;
	s.path = path_of(r, process, scope, 0);
	return item_of(r, &s, (uint32_t[4]){op});
}

/* Most records of most traces are calls. */
static struct run_item *fast_item_of_call(struct reader *r, const struct rec *call)
{
	struct run_item *item;

	if (r->scopes || r->c->options.by & COMPARE_BY_RANK)
		return item_of_call(r, call->process, call->op, call->scope);
	if (r->call_items[call->op])
		return &r->run->items[r->call_items[call->op] - 1];
	item = item_of_call(r, call->process, call->op, 0);
	if (item)
		r->call_items[call->op] = (uint32_t)(item - r->run->items) + 1;
	return item;
}

static kymo_status_t on_call(struct stream_sink *sink, const struct rec *call)
{
	struct reader *r = reader_of(sink);
	struct run_item *item;

	if (call->op >= r->t->ops_count || call->process >= r->t->processes_count)
		return KYMO_OK;
	r->calls++;
	if (!call->parent)
		r->inside += (double)length_of(call->start, call->end);
	if (r->c->options.by & COMPARE_BY_ITERATION)
		return KYMO_OK;
	item = fast_item_of_call(r, call);
	if (item)
		kept_add(r->c, item, call->start, length_of(call->start, call->end));
	return status_of(r);
}

static void add_busy(struct reader *r, uint32_t agent, const struct rec_device *d)
{
	agent = trace_whole_device(r->t, agent);
	if (agent && agent < r->t->agents_count &&
	    !busy_add(&r->busy[r->busy_of[agent]], d->start, d->end))
		r->c->failed = true;
}

/* Device work without times is counted, and in no time. */
static void add_device(struct reader *r, struct run_item *item, const struct rec_device *d)
{
	if (!item)
		return;
	if (device_timed(d))
		kept_add(r->c, item, d->start, length_of(d->start, d->end));
	else
		item->count++;
}

/* Class of a number of work items: up to, and without, twice as many. 0: not known. */
static uint32_t size_class(const struct rec_dispatch *d)
{
	uint64_t items = d->dims ? 1 : 0;

	for (uint32_t i = 0; i < d->dims && i < 3; i++)
		if (d->global[i] && __builtin_mul_overflow(items, d->global[i], &items))
			return 64;
	return items ? 64 - (uint32_t)__builtin_clzll(items) : 0;
}

static kymo_status_t on_dispatch(struct stream_sink *sink, const struct rec_dispatch *d)
{
	struct reader *r = reader_of(sink);
	struct source s = {.kind = ITEM_KERNEL, .tally = TALLY_DISPATCH};
	uint32_t agent = r->c->options.by & COMPARE_BY_DEVICE ? d->agent : 0;

	r->kernels++;
	if (device_timed(&d->device))
		add_busy(r, d->agent, &d->device);
	if (r->c->options.by & COMPARE_BY_ITERATION)
		return status_of(r);
	s.row.key[KEY_PROCESS] = d->base.process;
	s.row.key[KEY_DISPATCH_AGENT] = d->agent;
	s.row.key[KEY_DISPATCH_KERNEL] = d->kernel;
	s.size = size_class(d);
	s.path = path_of(r, d->base.process, 0, device_call(&d->device));
	add_device(r, item_of(r, &s, (uint32_t[4]){d->kernel, s.size, agent}), &d->device);
	return status_of(r);
}

static kymo_status_t on_copy(struct stream_sink *sink, const struct rec_copy *d)
{
	struct reader *r = reader_of(sink);
	struct source s = {.kind = ITEM_COPY, .tally = TALLY_COPY};
	uint32_t kinds = (uint32_t)d->source_kind << 8 | d->destination_kind;
	uint32_t agents = (d->source_agent != 0) + 2u * (d->destination_agent != 0);

	r->copies++;
	r->copied += (double)d->bytes;
	if (device_timed(&d->device))
		add_busy(r, copy_agent(r->t, d), &d->device);
	if (r->c->options.by & COMPARE_BY_ITERATION)
		return status_of(r);
	s.row.key[KEY_PROCESS] = d->base.process;
	s.row.key[KEY_COPY_OP] = d->base.op;
	s.row.key[KEY_COPY_QUEUE] = d->queue;
	s.row.key[KEY_COPY_SOURCE_AGENT] = d->source_agent;
	s.row.key[KEY_COPY_DESTINATION_AGENT] = d->destination_agent;
	s.row.key[KEY_COPY_KINDS] = kinds;
	s.path = path_of(r, d->base.process, 0, device_call(&d->device));
	add_device(r,
		   item_of(r, &s,
			   (uint32_t[4]){d->base.op, kinds, agents,
					 r->c->options.by & COMPARE_BY_DEVICE ? copy_agent(r->t, d)
									      : 0}),
		   &d->device);
	return status_of(r);
}

/* Which execution of its name it is: of folded names together. */
static void count_execution(struct reader *r, struct source *s)
{
	struct text name = {0};
	uint64_t hash;

	add_name(r, s, &name);
	hash = hash_bytes(name.s ? name.s : "", name.length);
	hash = hash_mix(hash_mix(hash, s->path), s->row.key[KEY_PROCESS]);
	s->execution = (uint32_t)map_get(&r->executions, hash) + 1;
	if (name.failed || !map_set(&r->executions, hash, s->execution))
		r->c->failed = true;
	text_release(&name);
}

/* Marks take no time. */
static kymo_status_t on_marker(struct stream_sink *sink, const struct rec_marker *m)
{
	struct reader *r = reader_of(sink);
	struct source s = {.kind = ITEM_RANGE, .tally = TALLY_MARKER};
	const uint32_t names[4] = {m->name, m->domain, m->base.op};
	struct run_item *item;

	if (!m->scope)
		return KYMO_OK;
	s.row.key[KEY_PROCESS] = m->base.process;
	s.row.key[KEY_MARKER_NAME] = m->name;
	s.row.key[KEY_MARKER_DOMAIN] = m->domain;
	if (!m->name && m->text) {
		s.text = m->text;
		s.text_length = m->text_length;
	}
	s.path = path_of(r, m->base.process, m->base.scope, 0);
	if (r->c->options.by & COMPARE_BY_ITERATION)
		count_execution(r, &s);
	item = item_of(r, &s, names);
	if (item)
		kept_add(r->c, item, m->base.start, length_of(m->base.start, m->base.end));
	return status_of(r);
}

static kymo_status_t on_sync(struct stream_sink *sink, const struct rec_sync *s)
{
	reader_of(sink)->waiting += (double)length_of(s->base.start, s->base.end);
	return KYMO_OK;
}

static kymo_status_t on_comm(struct stream_sink *sink, const struct rec_comm *m)
{
	reader_of(sink)->messages++;
	reader_of(sink)->sent += (double)m->sent;
	return KYMO_OK;
}

static kymo_status_t on_allocation(struct stream_sink *sink, const struct rec_allocation *a)
{
	struct reader *r = reader_of(sink);

	if (r->t->ops[a->base.op].number == ALLOCATION_OP_FREE || a->parent)
		return KYMO_OK;
	r->allocations++;
	r->allocated += (double)a->bytes;
	return KYMO_OK;
}

static kymo_status_t on_loss(struct stream_sink *sink, const struct rec_loss *l)
{
	struct reader *r = reader_of(sink);

	r->in_band += l->count;
	if (!l->count && !r->t->processes[l->process].overwritten_records)
		r->run->damaged++;
	return KYMO_OK;
}

/* ---- a run ------------------------------------------------------------------------------------- */

/* Devices of one label are one, whichever process uses them. */
static bool prepare_devices(struct reader *r)
{
	r->busy = calloc(r->t->agents_count + 1u, sizeof(*r->busy));
	r->busy_of = calloc(r->t->agents_count + 1u, sizeof(*r->busy_of));
	if (!r->busy || !r->busy_of)
		return false;
	for (uint32_t i = 1; i < r->t->agents_count; i++) {
		uint32_t k = 1;

		while (k < i && strcmp(r->t->agents[k].label, r->t->agents[i].label) != 0)
			k++;
		r->busy_of[i] = k;
	}
	return true;
}

static kymo_status_t on_begin(struct stream_sink *sink, const struct trace *t)
{
	struct reader *r = reader_of(sink);

	r->t = t;
	r->call_items = calloc(t->ops_count + 1u, sizeof(*r->call_items));
	return r->call_items && prepare_devices(r) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* Calls that the program only counted; those that the mode has left out are not missing. */
static void add_counted(struct reader *r)
{
	const struct trace *t = r->t;

	for (uint32_t i = 1; i < t->tallies_count; i++) {
		const struct t_tally *y = &t->tallies[i];
		struct run_item *item;

		r->run->uncompared |= y->kind != WIRE_TALLY_CALL && y->count;
		if (y->kind != WIRE_TALLY_CALL || !y->count ||
		    r->c->options.by & COMPARE_BY_ITERATION)
			continue;
		item = item_of_call(r, y->key[KEY_PROCESS], y->key[KEY_OP], 0);
		if (!item)
			return;
		item->count += y->count;
		item->total += y->total;
		item->counted = true;
		r->run->counted |= !y->beside;
		r->calls += y->count;
		r->inside += (double)y->self;
	}
	for (uint32_t i = 1; i < t->left_out_count; i++) {
		struct run_item *item =
			item_of_call(r, t->left_out[i].process, t->left_out[i].op, 0);

		if (item)
			item->left_out = true;
	}
}

static void add_quantities(struct reader *r)
{
	struct compare *c = r->c;
	struct compare_run *run = r->run;
	const struct {
		const char *name;
		enum quantity_unit unit;
		double value;
	} all[] = {
		{"in calls, all threads", QUANTITY_TIME, r->inside},
		{"waiting for devices", QUANTITY_TIME, r->waiting},
		{"calls", QUANTITY_COUNT, (double)r->calls},
		{"kernels", QUANTITY_COUNT, (double)r->kernels},
		{"copies", QUANTITY_COUNT, (double)r->copies},
		{"bytes copied, filled, mapped", QUANTITY_BYTES, r->copied},
		{"messages", QUANTITY_COUNT, (double)r->messages},
		{"bytes sent", QUANTITY_BYTES, r->sent},
		{"allocations", QUANTITY_COUNT, (double)r->allocations},
		{"bytes allocated", QUANTITY_BYTES, r->allocated},
	};
	struct text name = {0};

	run->length = (double)summary_duration(r->t);
	if (!r->in_part)
		compare_add_value(c, run, "run time", QUANTITY_TIME, run->length);
	for (uint32_t i = 1; i < r->t->agents_count; i++) {
		uint64_t sum = r->busy_of[i] == i ? busy_sum(&r->busy[i]) : 0;

		run->late += r->busy[i].late;
		if (!sum)
			continue;
		name.length = 0;
		text_addf(&name, "busy: %s", r->t->agents[i].label);
		compare_add_value(c, run, name.s ? name.s : "busy", QUANTITY_TIME, (double)sum);
	}
	c->failed |= name.failed;
	text_release(&name);
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].value > 0)
			compare_add_value(c, run, all[i].name, all[i].unit, all[i].value);
}

static void settle(struct reader *r)
{
	struct compare_run *run = r->run;

	add_counted(r);
	add_quantities(r);
	run->records = r->calls + r->kernels + r->copies + r->messages;
	compare_same_read(r->c, run, r->t, r->in_band);
	if (r->in_part) /* what others lost is not missing here */
		run->lost = r->in_band;
	for (uint32_t i = 0; i < run->item_count; i++)
		kept_settle(r->c, &run->items[i]);
}

static void reader_release(struct reader *r)
{
	for (uint32_t i = 0; r->busy && r->t && i < r->t->agents_count; i++)
		busy_release(&r->busy[i]);
	free(r->busy);
	free(r->busy_of);
	free(r->call_items);
	free(r->entries);
	map_release(&r->places);
	map_release(&r->executions);
	scopes_free(r->scopes);
}

static kymo_status_t read_run(struct compare *c, struct compare_run *run,
			      const struct format_options *o)
{
	struct reader r = {.sink = {.begin = on_begin,
				    .call = on_call,
				    .dispatch = on_dispatch,
				    .copy = on_copy,
				    .marker = on_marker,
				    .sync = on_sync,
				    .comm = on_comm,
				    .allocation = on_allocation,
				    .loss = on_loss,
				    .brief = true,
				    .lists = true}, /* or tallies come as a whole */
			   .c = c,
			   .run = run};
	struct raw_trace *rt;
	kymo_status_t status = raw_trace_open(run->path, o->log, &rt);

	if (status != KYMO_OK)
		return status;
	if (c->options.by & COMPARE_BY_SCOPE) {
		r.scopes = scopes_new(rt, 0);
		status = r.scopes ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
	}
	r.in_part = o->filter && stream_filter_in_part(o->filter);
	stream_sink_complete(&r.sink);
	/* Executions of a range are numbered as they began. */
	if (status == KYMO_OK)
		status = raw_trace_read(rt, o->filter, (c->options.by & COMPARE_BY_ITERATION) != 0,
					&r.sink, o);
	if (status == KYMO_OK)
		settle(&r);
	reader_release(&r);
	raw_trace_close(rt);
	if (status == KYMO_OK && c->failed)
		status = KYMO_ERROR_NO_MEMORY;
	if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(o->log, "%s: not enough memory to compare it", run->path);
	return status;
}

const char *compare_item_name(const struct compare_item *x)
{
	return strchr(strchr(x->key, ':') + 1, ':') + 1;
}

/* The part of the key behind the class of sizes: the same of a kernel with other sizes. */
static uint64_t hash_unsized(const struct compare_item *x)
{
	const char *name = compare_item_name(x);

	return hash_bytes(name, x->key_length - (size_t)(name - x->key));
}

static void add_size(struct compare *c, struct compare_item *x)
{
	static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	unsigned power = x->size ? x->size - 1 : 0;
	struct text label = {0};

	text_add(&label, x->label);
	if (!x->size)
		text_add(&label, " [size not known]");
	else if (power < 10)
		text_addf(&label, " [%u..%u]", 1u << power, (2u << power) - 1);
	else if (power % 10 == 9)
		text_addf(&label, " [512 %s..1 %s]", units[power / 10], units[power / 10 + 1]);
	else
		text_addf(&label, " [%u..%u %s]", 1u << power % 10, 2u << power % 10,
			  units[power / 10]);
	if (label.failed || !label.s) {
		c->failed = true;
		text_release(&label);
		return;
	}
	free(x->label);
	x->label = label.s;
}

/* Kernels that ran over very different numbers of work items are told apart, where there are such. */
static void tell_sizes(struct compare *c)
{
	struct map counts = {0};

	for (uint32_t i = 0; i < c->item_count; i++) {
		uint64_t hash = hash_unsized(&c->items[i]);

		if (c->items[i].kind == ITEM_KERNEL &&
		    !map_set(&counts, hash, map_get(&counts, hash) + 1))
			c->failed = true;
	}
	for (uint32_t i = 0; i < c->item_count; i++)
		if (c->items[i].kind == ITEM_KERNEL &&
		    map_get(&counts, hash_unsized(&c->items[i])) > 1)
			add_size(c, &c->items[i]);
	map_release(&counts);
}

static void run_release(struct compare_run *r)
{
	for (uint32_t i = 0; i < r->item_count; i++) {
		if (r->items[i].kept)
			free(r->items[i].kept->times);
		free(r->items[i].kept);
	}
	free(r->items);
	free(r->values);
	free(r->command);
	free(r->hosts);
	free(r->devices);
	free(r->version);
	free(r->left_out);
}

/* Another trace of the side that holds the same run, or NULL: runs of a side are counted as independent. */
static const struct compare_run *find_copy(const struct compare *c, const struct compare_run *run)
{
	for (const struct compare_run *other = c->runs; other < run && run->begin; other++)
		if (other->side == run->side && other->begin == run->begin &&
		    other->end == run->end && other->processes == run->processes)
			return other;
	return NULL;
}

static kymo_status_t add_run(struct compare *c, const char *path, unsigned side,
			     const struct format_options *o)
{
	struct compare_run *run = &c->runs[c->count[0] + c->count[1]];
	const struct compare_run *other;
	kymo_status_t status;

	run->path = path;
	run->side = side;
	c->count[side]++;
	status = read_run(c, run, o);
	other = status == KYMO_OK ? find_copy(c, run) : NULL;
	if (other) {
		stream_warn(o->log, "%s holds the same run as %s: counted once", path, other->path);
		run_release(run);
		*run = (struct compare_run){0};
		c->count[side]--;
	}
	return status;
}

kymo_status_t compare_read(struct compare *c, char *const *paths, unsigned a, unsigned b,
			   const struct compare_options *options, const struct format_options *o)
{
	kymo_status_t status = KYMO_OK;

	*c = (struct compare){.options = *options};
	c->runs = calloc(a + b, sizeof(*c->runs));
	c->selection = o->filter ? stream_filter_text(o->filter) : NULL;
	if (!c->runs || (o->filter && !c->selection))
		return KYMO_ERROR_NO_MEMORY;
	for (unsigned i = 0; i < a + b && status == KYMO_OK; i++)
		status = add_run(c, paths[i], i >= a, o);
	if (status == KYMO_OK)
		tell_sizes(c);
	return status == KYMO_OK && c->failed ? KYMO_ERROR_NO_MEMORY : status;
}

void compare_release(struct compare *c)
{
	for (uint32_t i = 0; i < c->item_count; i++) {
		free(c->items[i].key);
		free(c->items[i].label);
	}
	for (uint32_t i = 0; i < c->quantity_count; i++)
		free(c->quantities[i].name);
	for (unsigned i = 0; c->runs && i < c->count[0] + c->count[1]; i++)
		run_release(&c->runs[i]);
	free(c->items);
	free(c->quantities);
	free(c->runs);
	free(c->selection);
	map_release(&c->places);
	*c = (struct compare){0};
}
