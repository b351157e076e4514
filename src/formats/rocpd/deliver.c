/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of ROCpd as records; see reader.h. */
#include "formats/rocpd/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/rocpd/columns.h"
#include "record/fields.h"
#include "stream/names.h"

/* ---- JSON -------------------------------------------------------------------------------------- */

/* Behind "key": ; NULL: there is no such key. */
static const char *find_key(const struct dbvalue *json, const char *key, const char **end)
{
	size_t n = strlen(key);
	const char *p;

	if (json->type != DB_TEXT || json->length < 4)
		return NULL;
	*end = json->text + json->length;
	for (p = json->text; (p = memchr(p, '"', (size_t)(*end - p))); p++) {
		if ((size_t)(*end - p) < n + 3)
			return NULL;
		if (p[1] == *key && memcmp(p + 1, key, n) == 0 && memcmp(p + 1 + n, "\":", 2) == 0)
			break;
	}
	if (!p)
		return NULL;
	for (p += n + 3; p < *end && *p == ' '; p++)
		;
	return p;
}

bool json_find_rest(const struct dbvalue *json, const char *key, struct dbvalue *rest)
{
	const char *end, *p = find_key(json, key, &end);

	if (!p || p >= end)
		return false;
	*rest = (struct dbvalue){.type = DB_TEXT, .text = p, .length = (uint32_t)(end - p)};
	return true;
}

/* False: there is no number at `p`. */
static bool read_number(const char *p, const char *end, int64_t *out)
{
	const char *from = p;
	bool negative;
	int64_t v = 0;

	*out = 0;
	if (!p || p >= end)
		return false;
	negative = *p == '-';
	for (p += negative; p < end && *p >= '0' && *p <= '9'; p++) {
		int digit = negative ? '0' - *p : *p - '0';

		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
			v = negative ? INT64_MIN : INT64_MAX;
	}
	*out = v;
	return p != from;
}

bool json_find_number(const struct dbvalue *json, const char *key, int64_t *out)
{
	const char *end = NULL, *p = find_key(json, key, &end);

	return read_number(p, end, out);
}

/* As it is written: with escapes. */
static bool read_text(const char *p, const char *end, const char **text, uint32_t *length)
{
	const char *q;

	if (!p || p >= end || *p != '"')
		return false;
	for (q = ++p; q < end && *q != '"'; q++)
		q += *q == '\\';
	if (q >= end)
		return false;
	*text = p;
	*length = (uint32_t)(q - p);
	return true;
}

bool json_find_text(const struct dbvalue *json, const char *key, const char **text,
		    uint32_t *length)
{
	const char *end = NULL, *p = find_key(json, key, &end);

	return read_text(p, end, text, length);
}

/* What is behind the next "key": at or after `at`; NULL: there is none. */
static const char *next_key(const char *at, const char *end, const char **key, uint32_t *length)
{
	while (at < end && (at = memchr(at, '"', (size_t)(end - at)))) {
		if (!read_text(at, end, key, length))
			return NULL;
		at = *key + *length + 1;
		if (at < end && *at == ':')
			return at + 1;
	}
	return NULL;
}

static bool is_key(const char *key, uint32_t length, const char *name)
{
	return strlen(name) == length && memcmp(name, key, length) == 0;
}

/* "\x01", as Kymo writes bytes that are no text. */
static bool escaped_byte(const char *text, uint32_t left, char *out)
{
	char digits[3] = {0}, *end;

	if (left < 4 || text[0] != '\\' || text[1] != 'x')
		return false;
	memcpy(digits, text + 2, 2);
	*out = (char)strtoul(digits, &end, 16);
	return end == digits + 2;
}

uint32_t json_unescape(const char *text, uint32_t length, char *out, uint32_t size)
{
	static const char from[] = "nrtbf\"\\/", to[] = "\n\r\t\b\f\"\\/";
	uint32_t n = 0;

	for (uint32_t i = 0; i < length && n < size; i++) {
		const char *at =
			text[i] == '\\' && i + 1 < length ? strchr(from, text[i + 1]) : NULL;

		if (escaped_byte(text + i, length - i, &out[n])) {
			n++;
			i += 3;
			continue;
		}
		out[n++] = at && *at ? to[at - from] : text[i];
		i += at && *at;
	}
	return n;
}

/* ---- what all have ----------------------------------------------------------------------------- */

struct row_of {
	struct reader *r;
	struct set *s;
	struct dbvalue all[DBFILE_COLUMNS], event_all[DBFILE_COLUMNS];
	struct dbrow row, event;
};

static bool read_row(struct row_of *x, struct places *p, enum rocpd_table table, int64_t id,
		     const struct dbrow *row)
{
	struct dbwalk *w = &p->rows[table];

	if (row) {
		x->row = *row;
		return true;
	}
	return dbwalk_seek(w, id) && dbrow_read(&x->s->tables[table], w, x->all, &x->row);
}

/* False: the row has none, which views of this format do not show. */
static bool read_event(struct row_of *x, struct places *p, unsigned column)
{
	const struct dbvalue *v = dbrow_value(&x->row, column);
	struct dbwalk *w = &p->rows[T_EVENT];

	if (v->type == DB_INTEGER && dbwalk_seek(w, v->integer) &&
	    dbrow_read(&x->s->tables[T_EVENT], w, x->event_all, &x->event))
		return true;
	unplaced_add(&x->r->skipped, "rows without their event", 1);
	x->s->left_out++;
	return false;
}

static uint64_t number(struct row_of *x, unsigned column)
{
	return (uint64_t)row_number(x->r, &x->row, column);
}

static uint64_t of_event(struct row_of *x, unsigned column)
{
	return (uint64_t)row_number(x->r, &x->event, column);
}

static uint32_t index_in(const struct map *m, uint64_t row)
{
	uint64_t i = map_get(m, row);

	return i ? (uint32_t)i - 1 : 0;
}

static void place(struct row_of *x, struct rec *r, unsigned process, unsigned thread)
{
	r->process = index_in(&x->s->processes, number(x, process));
	r->process = r->process ? r->process : x->s->process;
	r->thread = index_in(&x->s->threads, number(x, thread));
	r->external = of_event(x, C_EVENT_CORRELATION);
	r->ok = true;
}

/* Ends before starts, as damaged files have them, are none. */
static void times(struct row_of *x, unsigned start, unsigned end, int64_t *from, int64_t *to)
{
	*from = (int64_t)number(x, start);
	*to = (int64_t)number(x, end);
	if (*to < *from) {
		unplaced_add(&x->r->skipped, "ends before their starts", 1);
		*to = *from;
	}
}

/* ---- host -------------------------------------------------------------------------------------- */

static kymo_status_t deliver_marker(struct row_of *x, struct rec base, bool range)
{
	struct rec_marker m = {.base = base};
	const struct dbvalue *extdata = dbrow_value(&x->event, C_EVENT_EXTDATA);
	const char *name = range ? model_text(x->r, x->s, (int64_t)number(x, C_REGION_NAME))
				 : x->r->t->ops[base.op].name;
	char text[RANGE_TEXT];

	m.base.op = x->r->activity[ACTIVITY_MARKER] + (range ? MARKER_OP_RANGE : MARKER_OP_MARK);
	m.text = text;
	m.text_length = range_text(name, extdata, text);
	m.name = range ? range_name(x->r, name, text, m.text_length) : 0;
	m.scope = range ? x->event.id : 0;
	if (!filter_marker(x->r->filter, &m))
		return KYMO_OK;
	return x->r->sink->marker(x->r->sink, &m);
}

/* Calls have an id each, of 40 bits at most in stores: writers that have none get that of the event. */
static uint64_t call_id(struct row_of *x)
{
	uint64_t stack = of_event(x, C_EVENT_STACK);

	return stack ? stack
		     : UINT64_C(1) << 39 | ((uint64_t)x->event.id & ((UINT64_C(1) << 39) - 1));
}

static void read_status(struct row_of *x, struct rec *r)
{
	const struct dbvalue *v = dbrow_value(&x->row, C_REGION_EXTDATA);
	int64_t n;

	if (v->type == DB_TEXT && v->length > 2 && json_find_number(v, "status", &n)) {
		r->status = (int32_t)n;
		r->ok = false;
	}
}

static const struct wire_record *arguments(struct row_of *x, uint32_t op)
{
	return args_read(x->r, x->s, op, x->event.id);
}

static kymo_status_t deliver_activity(struct row_of *x, const struct rec *r)
{
	struct stream_sink *sink = x->r->sink;
	struct rec_sync y = {.base = *r, .correlation = of_event(x, C_EVENT_STACK)};

	if (x->r->t->ops[r->op].domain == x->r->t->ops[x->r->activity[ACTIVITY_SYNC]].domain)
		return filter_sync(x->r->filter, &y) ? sink->sync(sink, &y) : KYMO_OK;
	if (!filter_call(x->r->filter, r))
		return KYMO_OK;
	y.base.wire = arguments(x, r->op);
	return sink->other(sink, &y.base);
}

/* What the row says of it is damaged. */
static kymo_status_t without_operation(struct row_of *x)
{
	x->s->left_out++;
	return KYMO_OK;
}

static kymo_status_t deliver_region(struct row_of *x, struct places *p, const struct item *item,
				    const struct dbrow *there)
{
	struct stream_sink *sink = x->r->sink;
	struct rec r = {0};
	uint64_t parent;

	if (!read_row(x, p, T_REGION, item->id, there) || !read_event(x, p, C_REGION_EVENT))
		return KYMO_OK;
	place(x, &r, C_REGION_PROCESS, C_REGION_THREAD);
	times(x, C_REGION_START, C_REGION_END, &r.start, &r.end);
	r.op = model_op(x->r, x->s, of_event(x, C_EVENT_CATEGORY), number(x, C_REGION_NAME));
	if (!r.op)
		return without_operation(x);
	if (r.op >= x->r->activity[ACTIVITY_MARKER] && r.op < x->r->activity[ACTIVITY_COUNTER])
		return deliver_marker(x, r, true);
	read_status(x, &r);
	if (x->r->t->ops[r.op].flags & KYMO_OP_ACTIVITY)
		return deliver_activity(x, &r);
	r.id = call_id(x);
	parent = of_event(x, C_EVENT_PARENT);
	r.parent = parent == r.id ? 0 : parent;
	if (!filter_call(x->r->filter, &r))
		return KYMO_OK;
	r.wire = arguments(x, r.op);
	return sink->call(sink, &r);
}

static kymo_status_t deliver_sample(struct row_of *x, struct places *p, const struct item *item,
				    const struct dbrow *there)
{
	struct rec r = {.ok = true};
	uint64_t track;

	if (!read_row(x, p, T_SAMPLE, item->id, there) || !read_event(x, p, C_SAMPLE_EVENT))
		return KYMO_OK;
	track = map_get(&x->s->tracks, number(x, C_SAMPLE_TRACK));
	track = track ? track - 1 : 0;
	r.thread = (uint32_t)(track >> 32);
	r.process = r.thread ? x->r->t->threads[r.thread].process : x->s->process;
	r.external = of_event(x, C_EVENT_CORRELATION);
	r.start = r.end = (int64_t)number(x, C_SAMPLE_TIME);
	r.op = model_op(x->r, x->s, of_event(x, C_EVENT_CATEGORY), track & UINT32_MAX);
	if (!r.op)
		return without_operation(x);
	if (r.op >= x->r->activity[ACTIVITY_MARKER] && r.op < x->r->activity[ACTIVITY_COUNTER])
		return deliver_marker(x, r, false);
	return deliver_activity(x, &r);
}

/* ---- device ------------------------------------------------------------------------------------ */

static uint32_t untimed_reason(const char *text, uint32_t length)
{
	for (uint32_t i = UNTIMED_NO_PROFILING; i <= UNTIMED_IN_BUFFER; i++) {
		const char *name = name_untimed(i);

		if (strlen(name) == length && memcmp(name, text, length) == 0)
			return i;
	}
	return UNTIMED_QUERY;
}

/* What Kymo writes beside the columns; of others nothing is there. */
static void device_details(struct row_of *x, unsigned extdata, struct rec_device *d)
{
	const struct dbvalue *v = dbrow_value(&x->row, extdata);
	const char *at = v->text, *end, *key, *why;
	uint32_t length, size;
	int64_t n;

	if (v->type != DB_TEXT || v->length <= 2)
		return;
	end = v->text + v->length;
	while ((at = next_key(at, end, &key, &length))) {
		if (is_key(key, length, "queued"))
			read_number(at, end, &d->queued);
		else if (is_key(key, length, "submitted"))
			read_number(at, end, &d->submitted);
		else if (is_key(key, length, "submit"))
			read_number(at, end, &d->submit);
		else if (is_key(key, length, "status") && read_number(at, end, &n))
			d->status = (int32_t)n;
		else if (is_key(key, length, "causal_violation"))
			d->causal_violation = read_number(at, end, &n);
		else if (is_key(key, length, "untimed") && read_text(at, end, &why, &size)) {
			d->untimed = untimed_reason(why, size);
			d->start = d->end = 0;
		}
	}
}

static kymo_status_t deliver_dispatch(struct row_of *x, struct places *p, const struct item *item,
				      const struct dbrow *there)
{
	struct rec_dispatch d = {.dims = 3};

	if (!read_row(x, p, T_DISPATCH, item->id, there) || !read_event(x, p, C_DISPATCH_EVENT))
		return KYMO_OK;
	place(x, &d.base, C_DISPATCH_PROCESS, C_DISPATCH_THREAD);
	d.base.op = x->r->activity[ACTIVITY_DISPATCH];
	times(x, C_DISPATCH_START, C_DISPATCH_END, &d.device.start, &d.device.end);
	d.base.start = d.device.start;
	d.base.end = d.device.end;
	d.device.correlation = of_event(x, C_EVENT_STACK);
	d.agent = index_in(&x->s->agents, number(x, C_DISPATCH_AGENT));
	d.kernel = index_in(&x->s->kernels, number(x, C_DISPATCH_SYMBOL));
	d.queue = model_queue(x->r, x->s, d.agent, (int64_t)number(x, C_DISPATCH_STREAM),
			      (int64_t)number(x, C_DISPATCH_QUEUE));
	for (unsigned i = 0; i < 3; i++) {
		d.local[i] = number(x, C_DISPATCH_WORK_X + i);
		d.global[i] = number(x, C_DISPATCH_GRID_X + i);
	}
	while (d.dims > 1 && d.global[d.dims - 1] <= 1 && d.local[d.dims - 1] <= 1)
		d.dims--;
	d.launch.local_memory = number(x, C_DISPATCH_PRIVATE);
	d.launch.static_shared = number(x, C_DISPATCH_GROUP);
	d.launch.graph = number(x, C_DISPATCH_GRAPH);
	d.launch.graph_node = number(x, C_DISPATCH_NODE);
	if (rec_launch_is_set(&d.launch))
		d.base.op += DISPATCH_OP_LAUNCH;
	device_details(x, C_DISPATCH_EXTDATA, &d.device);
	return filter_dispatch(x->r->filter, &d) ? x->r->sink->dispatch(x->r->sink, &d) : KYMO_OK;
}

/* As Kymo writes it; of others it is not known. */
static uint8_t memory_kind(struct row_of *x, const char *key)
{
	const char *text;
	uint32_t length;

	if (!json_find_text(dbrow_value(&x->row, C_COPY_EXTDATA), key, &text, &length))
		return MEMORY_UNKNOWN;
	for (uint32_t i = MEMORY_HOST_PAGEABLE; i <= MEMORY_SHARED; i++) {
		const char *name = name_memory_kind(i);

		if (strlen(name) == length && memcmp(name, text, length) == 0)
			return (uint8_t)i;
	}
	return MEMORY_UNKNOWN;
}

static uint32_t copy_op(const char *name)
{
	static const struct {
		const char *name;
		uint32_t op;
	} names[] = {{"MEMORY_COPY_HOST_TO_DEVICE", COPY_OP_WRITE},
		     {"MEMORY_COPY_DEVICE_TO_HOST", COPY_OP_READ},
		     {"MEMORY_FILL", COPY_OP_FILL},
		     {"MEMORY_MAP", COPY_OP_MAP},
		     {"MEMORY_UNMAP", COPY_OP_UNMAP},
		     {"MEMORY_MIGRATE", COPY_OP_MIGRATE},
		     {"MEMORY_FAULT", COPY_OP_FAULT}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].op;
	return COPY_OP_COPY;
}

static kymo_status_t deliver_copy(struct row_of *x, struct places *p, const struct item *item,
				  const struct dbrow *there)
{
	struct rec_copy c = {0};

	if (!read_row(x, p, T_COPY, item->id, there) || !read_event(x, p, C_COPY_EVENT))
		return KYMO_OK;
	place(x, &c.base, C_COPY_PROCESS, C_COPY_THREAD);
	c.base.op = x->r->activity[ACTIVITY_COPY] +
		    copy_op(model_text(x->r, x->s, (int64_t)number(x, C_COPY_NAME)));
	times(x, C_COPY_START, C_COPY_END, &c.device.start, &c.device.end);
	c.base.start = c.device.start;
	c.base.end = c.device.end;
	c.device.correlation = of_event(x, C_EVENT_STACK);
	c.source_agent = index_in(&x->s->agents, number(x, C_COPY_FROM));
	c.destination_agent = index_in(&x->s->agents, number(x, C_COPY_TO));
	c.bytes = number(x, C_COPY_SIZE);
	c.source_kind = memory_kind(x, "source_kind");
	c.destination_kind = memory_kind(x, "destination_kind");
	c.queue =
		model_queue(x->r, x->s, c.destination_agent ? c.destination_agent : c.source_agent,
			    (int64_t)number(x, C_COPY_STREAM), (int64_t)number(x, C_COPY_QUEUE));
	device_details(x, C_COPY_EXTDATA, &c.device);
	return filter_copy(x->r->filter, &c) ? x->r->sink->copy(x->r->sink, &c) : KYMO_OK;
}

/* A lifetime begins where an address is given and ends where it is freed. */
static void follow_allocation(struct set *s, struct rec_allocation *a, bool gone)
{
	uint64_t bytes;

	if (!gone) {
		a->allocation = ++s->allocations;
		map_set(&s->live, a->address, a->bytes + 1);
		map_set(&s->live_ids, a->address, a->allocation);
		return;
	}
	bytes = map_remove(&s->live, a->address);
	a->allocation = map_remove(&s->live_ids, a->address);
	a->bytes = a->bytes || !bytes ? a->bytes : bytes - 1;
}

static kymo_status_t deliver_allocation(struct row_of *x, struct places *p, const struct item *item,
					const struct dbrow *there)
{
	struct rec_allocation a = {.what = ALLOCATION_BUFFER};
	const struct dbvalue *type;
	bool gone;

	if (!read_row(x, p, T_ALLOCATION, item->id, there) || !read_event(x, p, C_ALLOCATION_EVENT))
		return KYMO_OK;
	type = dbrow_value(&x->row, C_ALLOCATION_TYPE);
	gone = type->type == DB_TEXT && type->length && type->text[0] != 'A';
	place(x, &a.base, C_ALLOCATION_PROCESS, C_ALLOCATION_THREAD);
	a.base.op = x->r->activity[ACTIVITY_ALLOCATION] + gone;
	times(x, C_ALLOCATION_START, C_ALLOCATION_END, &a.base.start, &a.base.end);
	a.base.end -= a.base.end == a.base.start + 1; /* as what has no length is written */
	a.correlation = of_event(x, C_EVENT_STACK);
	a.agent = index_in(&x->s->agents, number(x, C_ALLOCATION_AGENT));
	a.kind = a.agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
	a.bytes = number(x, C_ALLOCATION_SIZE);
	a.address = number(x, C_ALLOCATION_ADDRESS);
	follow_allocation(x->s, &a, gone);
	return filter_allocation(x->r->filter, &a) ? x->r->sink->allocation(x->r->sink, &a)
						   : KYMO_OK;
}

/* ---- counters ---------------------------------------------------------------------------------- */

/* `item` says when and, of those of kernels, which: `id` is the row of the sample or kernel. */
static kymo_status_t deliver_value(struct row_of *x, struct places *p, const struct item *item)
{
	bool kernel = item->table == T_DISPATCH;
	struct rec_counter c = {.base = {.ok = true, .start = item->start, .end = item->start}};
	uint64_t pmc;
	double value;

	if (!dbwalk_seek(&p->rows[T_VALUE], item->value) ||
	    !dbrow_read(&x->s->tables[T_VALUE], &p->rows[T_VALUE], x->all, &x->row))
		return KYMO_OK;
	pmc = number(x, C_VALUE_PMC);
	value = dbvalue_real(dbrow_value(&x->row, C_VALUE_VALUE));
	if (!read_event(x, p, C_VALUE_EVENT))
		return KYMO_OK;
	c.base.op = x->r->activity[ACTIVITY_COUNTER] +
		    (kernel ? COUNTER_OP_DISPATCH : COUNTER_OP_SAMPLE);
	c.base.process = x->s->process;
	c.counter = index_in(&x->s->counters, pmc);
	c.agent = x->r->t->counters[c.counter].agent;
	c.correlation = of_event(x, C_EVENT_STACK);
	c.value = value;
	if (kernel && dbwalk_seek(&p->rows[T_DISPATCH], item->id) &&
	    dbrow_read(&x->s->tables[T_DISPATCH], &p->rows[T_DISPATCH], x->all, &x->row))
		c.kernel = index_in(&x->s->kernels, number(x, C_DISPATCH_SYMBOL));
	return filter_counter(x->r->filter, &c) ? x->r->sink->counter(x->r->sink, &c) : KYMO_OK;
}

kymo_status_t deliver(struct reader *r, struct places *p, const struct item *item,
		      const struct dbrow *there)
{
	struct row_of x;

	x.r = r;
	x.s = &r->sets[item->set];
	if (item->value)
		return deliver_value(&x, p, item);
	switch (item->table) {
	case T_REGION:
		return deliver_region(&x, p, item, there);
	case T_SAMPLE:
		return deliver_sample(&x, p, item, there);
	case T_DISPATCH:
		return deliver_dispatch(&x, p, item, there);
	case T_COPY:
		return deliver_copy(&x, p, item, there);
	default:
		return deliver_allocation(&x, p, item, there);
	}
}
