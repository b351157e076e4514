/* SPDX-License-Identifier: Apache-2.0 */
/* What kind an event is, by its phase and category; what the records need of it goes to the file of details. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bulk.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"
#include "formats/chrome/reader.h"
#include "formats/chrome/values.h"
#include "record/fields.h"
#include "stream/names.h"
#include "stream/spool.h"

#define BUFFER (1u << 20)

/* ---- what is not taken ----------------------------------------------------------------------- */

void reader_leave_out(struct reader *r, const char *format, const char *what, size_t n)
{
	char text[sizeof(r->left_out->text)], name[48];
	uint32_t i = 0;

	snprintf(name, sizeof(name), "%.*s", (int)(n < 40 ? n : 40), what);
	snprintf(text, sizeof(text), format, name); /* NOLINT: formats are those of this folder */
	while (i < r->left_out_count && strcmp(r->left_out[i].text, text) != 0)
		i++;
	if (i == r->left_out_count) {
		if (i >= 64 || !vec_reserve(&r->left_out, &r->left_out_room, i, 1)) {
			i = i ? i - 1 : 0; /* of so many kinds the last ones are one */
			if (!r->left_out_count)
				return;
			snprintf(r->left_out[i].text, sizeof(text), "events of other kinds");
		} else {
			r->left_out[r->left_out_count++] = (struct left_out){.count = 0};
			memcpy(r->left_out[i].text, text, sizeof(text));
		}
	}
	r->left_out[i].count++;
}

/* Writers give null for what they do not know. */
static bool take_unsigned(struct reader *r, struct span value, uint64_t *out)
{
	if (span_unsigned(value, out))
		return true;
	r->wrong += !span_is(value, "null");
	return false;
}

uint64_t reader_unsigned(struct reader *r, const struct event *e, const char *name)
{
	struct span value;
	uint64_t v;

	return event_arg(e, name, &value) && take_unsigned(r, value, &v) ? v : 0;
}

static void leave_phase(struct reader *r, char phase)
{
	reader_leave_out(r, "events of phase \"%s\"", &phase, 1);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void write_details(struct reader *r)
{
	struct text *b = &r->details_buffer;

	if (b->length && file_write_all(r->details_file, b->s, b->length) != b->length) {
		if (!r->failed)
			spool_tell(r->o->log, errno);
		r->failed = r->no_room = true;
	}
	b->length = 0;
}

uint64_t reader_put_details(struct reader *r, const void *d, size_t n)
{
	static const char zero[8];
	uint64_t at = r->details_size;
	size_t pad = (8 - (n + r->packed.length) % 8) % 8;

	text_add_bytes(&r->details_buffer, d, n);
	if (r->packed.length)
		text_add_bytes(&r->details_buffer, r->packed.s, r->packed.length);
	text_add_bytes(&r->details_buffer, zero, pad);
	r->details_size += n + r->packed.length + pad;
	r->packed.length = 0;
	r->failed |= r->details_buffer.failed;
	if (r->details_buffer.length >= BUFFER)
		write_details(r);
	return at;
}

bool reader_flush(struct reader *r)
{
	write_details(r);
	return !r->failed;
}

struct entry *reader_add_entry(struct reader *r, const struct event *e, enum entry_kind kind)
{
	static struct entry none;
	struct entry *x;

	if (!bulk_reserve(&r->entries, &r->room, r->count, 1)) {
		r->failed = true;
		return &none;
	}
	x = &r->entries[r->count++];
	*x = (struct entry){.start = e->time, .end = e->time, .kind = kind};
	if (e->has_duration && e->duration > 0)
		x->end += e->duration;
	return x;
}

static uint32_t string_of(struct reader *r, const char *s)
{
	return reader_text(r, s, strlen(s));
}

static struct details common(struct reader *r, const struct event *e)
{
	struct details d = {.name = reader_string(r, e->name)};

	d.external = reader_unsigned(r, e, "External id");
	d.external = d.external ? d.external : reader_unsigned(r, e, "external id");
	return d;
}

/* ---- ranges and calls ------------------------------------------------------------------------ */

static void marker_entry(struct reader *r, const struct event *e, enum entry_kind kind,
			 uint32_t domain, uint32_t category)
{
	struct details d = common(r, e);
	struct entry *x;

	d.domain = domain;
	d.category = category;
	values_pack(&r->packed, &r->scratch, e->args);
	d.values = (uint32_t)r->packed.length;
	x = reader_add_entry(r, e, kind);
	x->thread = reader_row_thread(r, e);
	x->details = reader_put_details(r, &d, sizeof(d));
}

static bool begins(struct span v, const char *text)
{
	return v.n > strlen(text) && memcmp(v.s + 1, text, strlen(text)) == 0;
}

static bool ends(struct span v, const char *text)
{
	size_t n = strlen(text);

	return v.n > n + 2 && memcmp(v.s + v.n - 1 - n, text, n) == 0;
}

/* Domain of a category of calls, "" of others. */
static void domain_of_calls(const struct event *e, char out[40])
{
	size_t suffix = ends(e->category, "_runtime") ? 8 : ends(e->category, "_driver") ? 7 : 0;
	size_t n = e->category.n;
	bool old = span_is(e->category, "\"Runtime\""); /* Kineto's, before 2022 */

	*out = 0;
	if (!old && (!suffix || n > 40 + suffix))
		return;
	if (old || span_is(e->category, "\"cuda_runtime\"") ||
	    span_is(e->category, "\"cuda_driver\""))
		strcpy(out, begins(e->name, "hip")                    ? "hip"
			    : span_is(e->category, "\"cuda_driver\"") ? "cuda"
								      : "cuda_runtime");
	else
		snprintf(out, 40, "%.*s", (int)(n - 2 - suffix), e->category.s + 1);
}

static void call_entry(struct reader *r, const struct event *e, const char *domain,
		       enum entry_kind kind)
{
	struct details d = common(r, e);
	struct span value;
	struct entry *x;
	uint64_t id;

	d.op = reader_op(r, domain, e);
	values_pack(&r->packed, &r->scratch, e->args);
	d.values = (uint32_t)r->packed.length;
	x = reader_add_entry(r, e, kind);
	x->thread = reader_thread(r, e->pid, e->tid);
	x->details = reader_put_details(r, &d, sizeof(d));
	r->cuda += strncmp(domain, "cuda", 4) == 0;
	r->hip += strncmp(domain, "hip", 3) == 0;
	r->other_runtimes += strncmp(domain, "cuda", 4) != 0 && strncmp(domain, "hip", 3) != 0;
	if (!event_arg(e, "correlation", &value) || !span_unsigned(value, &id) || !id ||
	    id > INT64_MAX)
		return;
	x->key = id;
	x->correlated = true;
	r->largest_call = id > r->largest_call ? id : r->largest_call;
}

static void host_entry(struct reader *r, const struct event *e, enum entry_kind kind)
{
	static const char *const torch[] = {"\"cpu_op\"", "\"user_annotation\"",
					    "\"collective_comm\"", "\"Operator\""};
	uint32_t category = reader_string(r, e->category);
	char domain[40];

	domain_of_calls(e, domain);
	if (*domain) {
		call_entry(r, e, domain, kind == ENTRY_RANGE ? ENTRY_CALL : kind);
		return;
	}
	for (size_t i = 0; i < sizeof(torch) / sizeof(*torch); i++)
		if (span_is(e->category, torch[i])) {
			marker_entry(r, e, kind, string_of(r, "torch"), category);
			return;
		}
	if (span_is(e->category, "\"python_function\""))
		marker_entry(r, e, kind, string_of(r, "python"), 0);
	else if (span_is(e->category, "\"overhead\""))
		marker_entry(r, e, ENTRY_PROCESS_RANGE, string_of(r, "profiler"), category);
	else
		marker_entry(r, e, kind, category, 0);
}

/* ---- device work ----------------------------------------------------------------------------- */

static struct place place_of(const struct event *e)
{
	struct place p = {.row = reader_row_key(e->pid, e->tid)};
	struct span value;

	p.has_device = (event_arg(e, "device", &value) && span_signed(value, &p.device)) ||
		       span_signed(e->pid, &p.device);
	p.has_stream = (event_arg(e, "stream", &value) && span_signed(value, &p.stream)) ||
		       span_signed(e->tid, &p.stream);
	p.has_device &= p.device >= 0; /* -1: of none */
	p.has_stream &= p.stream >= 0;
	return p;
}

static void take_three(struct reader *r, const struct event *e, const char *name, uint64_t out[3])
{
	struct span list, each;
	struct span_walk w;

	if (!event_arg(e, name, &list))
		return;
	if (!span_array(list, &w)) {
		r->wrong += !span_is(list, "null");
		return;
	}
	for (unsigned i = 0; i < 3 && span_element(&w, &each); i++)
		if (!take_unsigned(r, each, &out[i]))
			out[i] = 0;
		else if (out[i] > UINT32_MAX) {
			r->wrong++;
			out[i] = 0;
		}
}

static void take_launch(struct reader *r, const struct event *e, struct device_details *d)
{
	struct span value;

	take_three(r, e, "grid", d->grid);
	take_three(r, e, "block", d->block);
	take_three(r, e, "global", d->global);
	d->registers = reader_unsigned(r, e, "registers per thread");
	d->shared = reader_unsigned(r, e, "shared memory");
	d->static_shared = reader_unsigned(r, e, "static shared memory");
	d->shared -= d->static_shared < d->shared ? d->static_shared : d->shared;
	d->local = reader_unsigned(r, e, "local memory");
	d->graph = reader_unsigned(r, e, "graph id");
	d->graph_node = reader_unsigned(r, e, "graph node id");
	d->launch = event_arg(e, "registers per thread", &value) || d->shared || d->static_shared ||
		    d->graph;
}

/* Of Kymo's: device work whose times are not known, where it was submitted. */
static bool is_untimed(const struct event *e)
{
	struct span value;

	return strchr("iI", e->phase) && span_is(e->category, "\"untimed\"") &&
	       event_arg(e, "untimed", &value) && span_is_string(value);
}

static void device_entry(struct reader *r, const struct event *e, enum entry_kind kind,
			 struct device_details *d)
{
	struct entry *x = reader_add_entry(r, e, kind);

	d->base.external = reader_unsigned(r, e, "External id");
	d->process = reader_named_process(r, e);
	if (is_untimed(e))
		reader_take_untimed(e, d);
	x->key = reader_unsigned(r, e, "correlation");
	x->correlated = x->key != 0;
	x->details = reader_put_details(r, d, sizeof(*d));
}

static void kernel_entry(struct reader *r, const struct event *e)
{
	struct device_details d = {.base = {.name = reader_string(r, e->name)},
				   .place = place_of(e)};

	take_launch(r, e, &d);
	device_entry(r, e, ENTRY_DISPATCH, &d);
}

/* The operation as Kymo's own writer names it; UINT32_MAX: it does not. */
static uint32_t named_op(const struct event *e, const char *const *names, uint32_t count)
{
	struct span value;

	if (!event_arg(e, "op", &value) || !span_is_string(value))
		return UINT32_MAX;
	value = (struct span){value.s + 1, value.n - 2};
	for (uint32_t i = 0; i < count; i++)
		if (span_is(value, names[i]))
			return i;
	return UINT32_MAX;
}

static bool contains(struct span v, const char *a, const char *b, const char *c)
{
	return memmem(v.s, v.n, a, strlen(a)) || memmem(v.s, v.n, b, strlen(b)) ||
	       memmem(v.s, v.n, c, strlen(c));
}

static uint8_t memory_kind(struct span v)
{
	return memmem(v.s, v.n, "Pageable", 8)  ? MEMORY_HOST_PAGEABLE
	       : memmem(v.s, v.n, "Pinned", 6)  ? MEMORY_HOST_PINNED
	       : memmem(v.s, v.n, "Managed", 7) ? MEMORY_MANAGED
	       : memmem(v.s, v.n, "Unified", 7) ? MEMORY_MANAGED
	       : memmem(v.s, v.n, "Device", 6)  ? MEMORY_DEVICE
						: MEMORY_UNKNOWN;
}

/* "Memcpy HtoD (Pinned -> Device)": which way, and between which memories. */
static void take_direction(const struct event *e, struct device_details *d)
{
	struct span text = e->name, direction;
	const char *arrow = memmem(text.s, text.n, "->", 2), *open = memchr(text.s, '(', text.n);
	bool to_host, from_host;

	if (!event_arg(e, "direction", &direction) && !event_arg(e, "kind", &direction))
		direction = text;
	if (!contains(direction, "to", "TO", "To"))
		direction = text;
	from_host = contains(direction, "Hto", "HOST_TO", "HostTo");
	to_host = contains(direction, "toH", "TO_HOST", "ToHost");
	d->op = from_host && !to_host   ? COPY_OP_WRITE
		: to_host && !from_host ? COPY_OP_READ
					: COPY_OP_COPY;
	if (!from_host)
		d->from = d->place;
	if (!to_host)
		d->to = d->place;
	d->source_kind = from_host ? MEMORY_UNKNOWN : MEMORY_DEVICE;
	d->destination_kind = to_host ? MEMORY_UNKNOWN : MEMORY_DEVICE;
	if (!arrow || !open || open > arrow)
		return;
	d->source_kind = memory_kind((struct span){open, (size_t)(arrow - open)});
	d->destination_kind = memory_kind((struct span){arrow, (size_t)(text.s + text.n - arrow)});
}

static void take_devices(const struct event *e, struct device_details *d)
{
	struct span value;

	if (event_arg(e, "fromDevice", &value) && span_signed(value, &d->from.device))
		d->from.has_device = true;
	if (event_arg(e, "toDevice", &value) && span_signed(value, &d->to.device))
		d->to.has_device = true;
}

static const char *const copy_ops[] = {"read", "write", "copy",    "fill",
				       "map",  "unmap", "migrate", "fault"};

static void copy_entry(struct reader *r, const struct event *e)
{
	struct device_details d = {.place = place_of(e)};
	uint32_t op;

	d.bytes = reader_unsigned(r, e, "bytes");
	d.bytes = d.bytes ? d.bytes : reader_unsigned(r, e, "size");
	take_direction(e, &d);
	take_devices(e, &d);
	op = named_op(e, copy_ops, sizeof(copy_ops) / sizeof(*copy_ops));
	d.op = op == UINT32_MAX ? d.op : op;
	device_entry(r, e, ENTRY_COPY, &d);
}

static void fill_entry(struct reader *r, const struct event *e)
{
	struct device_details d = {.place = place_of(e), .op = COPY_OP_FILL};

	d.bytes = reader_unsigned(r, e, "bytes");
	d.from = d.to = d.place;
	d.destination_kind = memory_kind(e->name);
	device_entry(r, e, ENTRY_COPY, &d);
}

static void sync_entry(struct reader *r, const struct event *e)
{
	static const char *const ops[] = {"queue",   "events",         "blocking",
					  "barrier", "marker",         "user_event",
					  "device",  "event_record",   "acquire",
					  "release", "semaphore_wait", "semaphore_signal"};
	struct device_details d = {.place = place_of(e),
				   .op = named_op(e, ops, sizeof(ops) / sizeof(*ops)),
				   .count = reader_unsigned(r, e, "events")};
	bool host = true;

	if (d.op != UINT32_MAX) {
		host = true; /* it lasted as long as it says */
	} else if (memmem(e->name.s, e->name.n, "Wait Event", 10)) {
		d.op = SYNC_OP_BARRIER;
		host = false;
	} else if (memmem(e->name.s, e->name.n, "Event Record", 12)) {
		d.op = SYNC_OP_EVENT_RECORD;
		host = false;
	} else {
		d.op = memmem(e->name.s, e->name.n, "Event", 5)    ? SYNC_OP_EVENTS
		       : memmem(e->name.s, e->name.n, "Stream", 6) ? SYNC_OP_QUEUE
								   : SYNC_OP_DEVICE;
	}
	if (!d.count && (d.op == SYNC_OP_EVENTS || d.op == SYNC_OP_BARRIER))
		d.count = 1;
	d.address = reader_unsigned(r, e, "wait_on_cuda_event_id");
	device_entry(r, e, ENTRY_SYNC, &d);
	if (!host)
		r->entries[r->count - 1].end = r->entries[r->count - 1].start;
}

/* Of the whole device: a range that no thread is in. */
static void device_range(struct reader *r, const struct event *e)
{
	struct device_details d = {.place = place_of(e),
				   .base = {.name = reader_string(r, e->name),
					    .domain = string_of(r, "torch on device"),
					    .category = reader_string(r, e->category)}};

	device_entry(r, e, ENTRY_PROCESS_RANGE, &d);
}

/* What Kymo's own writer says besides: it knows more than pools. */
static void take_memory_names(const struct event *e, struct device_details *d)
{
	static const char *const ops[] = {"allocate", "free"};
	uint32_t op = named_op(e, ops, 2);
	struct span value;

	d->op = op == UINT32_MAX ? d->op : op;
	for (uint8_t i = 0; event_arg(e, "what", &value) && i <= ALLOCATION_REGISTERED; i++)
		if (value.n > 2 &&
		    span_is((struct span){value.s + 1, value.n - 2}, name_allocation_what(i)))
			d->destination_kind = i;
	for (uint8_t i = 0; event_arg(e, "memory", &value) && i <= MEMORY_SHARED; i++)
		if (value.n > 2 &&
		    span_is((struct span){value.s + 1, value.n - 2}, name_memory_kind(i)))
			d->source_kind = i;
}

/* An event of the caching allocator: bytes are negative where memory is given back. */
static void memory_entry(struct reader *r, const struct event *e)
{
	struct device_details d = {.place = {.device = 0}};
	struct span value;
	int64_t bytes, type = 0;
	struct entry *x;

	if (!event_arg(e, "Bytes", &value) || !span_signed(value, &bytes)) {
		reader_leave_out(r, "%s events without bytes", "[memory]", 8);
		return;
	}
	if (event_arg(e, "Device Type", &value))
		span_signed(value, &type);
	if (type && event_arg(e, "Device Id", &value))
		d.place.has_device = span_signed(value, &d.place.device);
	d.address = reader_unsigned(r, e, "Addr");
	d.op = bytes < 0 ? ALLOCATION_OP_FREE : ALLOCATION_OP_ALLOCATE;
	d.bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
	d.source_kind = type ? MEMORY_DEVICE : MEMORY_HOST_PAGEABLE;
	d.destination_kind = ALLOCATION_POOL;
	take_memory_names(e, &d);
	x = reader_add_entry(r, e, ENTRY_MEMORY);
	x->thread = reader_thread(r, e->pid, e->tid);
	x->details = reader_put_details(r, &d, sizeof(d));
}

/* True: it was device work. */
static bool device_event(struct reader *r, const struct event *e)
{
	struct span value;

	if (span_is(e->category, "\"kernel\"") || span_is(e->category, "\"Kernel\""))
		kernel_entry(r, e);
	else if (span_is(e->category, "\"gpu_memcpy\"") || span_is(e->category, "\"Memcpy\""))
		copy_entry(r, e);
	else if (span_is(e->category, "\"gpu_memset\"") || span_is(e->category, "\"Memset\""))
		fill_entry(r, e);
	else if (span_is(e->category, "\"cuda_sync\"") || span_is(e->category, "\"cuda_event\""))
		sync_entry(r, e);
	else if (span_is(e->category, "\"gpu_user_annotation\"") ||
		 span_is(e->category, "\"cuda_profiler_range\""))
		device_range(r, e);
	else if (span_is(e->category, "\"mtia_ccp_events\""))
		(event_arg(e, "direction", &value) ? copy_entry : kernel_entry)(r, e);
	else
		return false;
	return true;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void widen_window(struct reader *r, const struct event *e)
{
	int64_t end = e->time + (e->has_duration && e->duration > 0 ? e->duration : 0);

	r->window[0] = e->time < r->window[0] ? e->time : r->window[0];
	r->window[1] = end > r->window[1] ? end : r->window[1];
}

/* What the other tool says of itself: when it recorded. */
static bool is_window(const struct event *e)
{
	return span_is(e->category, "\"Trace\"") || span_is(e->pid, "\"Traces\"") ||
	       span_is(e->pid, "\"Spans\"") || span_is(e->name, "\"Record Window End\"");
}

static void complete_event(struct reader *r, const struct event *e)
{
	if (!e->has_duration)
		reader_leave_out(r, "%s events without a duration", "complete", 8);
	else if (e->duration < 0)
		reader_leave_out(r, "%s events that end before they begin", "complete", 8);
	else if (!device_event(r, e))
		host_entry(r, e, ENTRY_RANGE);
}

static void instant_event(struct reader *r, const struct event *e)
{
	if (span_is(e->name, "\"[memory]\""))
		memory_entry(r, e);
	else if (is_untimed(e) &&
		 named_op(e, copy_ops, sizeof(copy_ops) / sizeof(*copy_ops)) != UINT32_MAX)
		copy_entry(r, e);
	else if (is_untimed(e))
		kernel_entry(r, e);
	else
		marker_entry(r, e, ENTRY_MARK, reader_string(r, e->category), 0);
}

uint64_t reader_async_key(struct reader *r, const struct event *e)
{
	uint64_t key = hash_bytes(e->id.s, e->id.n);

	key = hash_add(key, e->category.s, e->category.n);
	key = hash_add(key, e->scope.s, e->scope.n);
	if (strchr("SF", e->phase)) /* the older ones do not nest: names pair them */
		key = hash_add(key, e->name.s, e->name.n);
	return hash_mix(key, reader_process(r, e->pid));
}

static void async_event(struct reader *r, const struct event *e)
{
	enum entry_kind kind = strchr("bS", e->phase)   ? ENTRY_ASYNC_BEGIN
			       : strchr("eF", e->phase) ? ENTRY_ASYNC_END
							: ENTRY_MARK;

	if (reader_is_message(e)) {
		reader_message(r, e);
		return;
	}
	marker_entry(r, e, kind, reader_string(r, e->category), 0);
	if (r->count)
		r->entries[r->count - 1].key = reader_async_key(r, e);
}

static void counter_event(struct reader *r, const struct event *e)
{
	const struct device_counter c = reader_whose_counter(r, e);
	struct span_walk w;
	struct span key, value, name;

	if (!span_object(e->args, &w))
		return;
	while (span_member(&w, &key, &value)) {
		struct details d = {0};
		struct entry *x;

		if (!span_real(value, &d.value)) {
			reader_leave_out(r, "values of %s that are no numbers", "counters", 8);
			continue;
		}
		if (!span_string(e->name, &r->scratch, &name))
			name = (struct span){"", 0};
		r->other.length = 0;
		text_add_bytes(&r->other, name.s, name.n);
		if (!span_is(key, "value") && !span_is(key, "")) {
			text_add_bytes(&r->other, name.n ? " " : "", name.n != 0);
			text_add_bytes(&r->other, key.s, key.n);
		}
		d.counter = reader_counter(
			r, c.process, c.agent,
			reader_text(r, r->other.s ? r->other.s : "", r->other.length));
		x = reader_add_entry(r, e, ENTRY_COUNTER);
		x->thread = c.thread;
		x->details = reader_put_details(r, &d, sizeof(d));
	}
}

/* 0: it is none. */
static uint32_t line_number(const char *s, const char *end)
{
	uint32_t line = 0;

	for (; s < end && line < UINT32_MAX / 16; s++) {
		if (*s < '0' || *s > '9')
			return 0;
		line = 10 * line + (uint32_t)(*s - '0');
	}
	return line;
}

/* "function file.c:12", as Kymo writes it, or whatever else it is called. */
static struct keyed_place place_of_frame(struct reader *r, struct span frame)
{
	struct keyed_place p = {0};
	struct span text = {"", 0};
	const char *blank, *colon;

	span_string(frame, &r->scratch, &text);
	blank = memrchr(text.s, ' ', text.n);
	colon = blank ? memrchr(blank, ':', text.n - (size_t)(blank - text.s)) : NULL;
	if (colon)
		p.line = line_number(colon + 1, text.s + text.n);
	if (p.line)
		p.file = reader_text(r, blank + 1, (size_t)(colon - blank) - 1);
	p.function = reader_text(r, text.s, p.line ? (size_t)(blank - text.s) : text.n);
	return p;
}

/* Frames stand from the outermost in. */
static uint32_t stack_of(struct reader *r, uint32_t process, struct span frames)
{
	enum { FRAMES = 256 };
	uint32_t sites[FRAMES], first = FRAMES;
	struct span_walk w;
	struct span frame;

	if (!span_array(frames, &w))
		return 0;
	while (span_element(&w, &frame)) {
		struct keyed_place p = place_of_frame(r, frame);

		if (first == 0) { /* no room: the outermost gives way */
			reader_leave_out(r, "frames of %s stacks", "deep", 4);
			memmove(sites + 1, sites, (FRAMES - 1) * sizeof(*sites));
			first = 1;
		}
		sites[--first] = keyed_site(&r->keyed, process, &p);
	}
	return keyed_stack(&r->keyed, process, sites + first, FRAMES - first);
}

static void sample_event(struct reader *r, const struct event *e)
{
	static const double most = 4e18; /* ns that 64 bits hold */
	uint32_t process = reader_process(r, e->pid);
	struct details d = {.external = reader_unsigned(r, e, "pc")};
	struct span value;
	struct entry *x;

	if (!e->stack.n) {
		reader_leave_out(r, "samples %s", "without a stack", 15);
		return;
	}
	d.name = stack_of(r, process, e->stack);
	d.domain = (uint32_t)reader_unsigned(r, e, "cpu");
	d.category = (uint32_t)reader_unsigned(r, e, "kernel");
	if (!event_arg(e, "weight", &value) || !span_real(value, &d.value) ||
	    !(d.value > -most && d.value < most))
		d.value = 0;
	x = reader_add_entry(r, e, ENTRY_SAMPLE);
	x->thread = reader_thread(r, e->pid, e->tid);
	x->key = reader_unsigned(r, e, "correlation");
	x->details = reader_put_details(r, &d, sizeof(d));
}

static void metadata_event(struct reader *r, const struct event *e)
{
	static const char *const silent[] = {"\"process_sort_index\"", "\"thread_sort_index\""};

	if (span_is(e->name, "\"process_name\"") || span_is(e->name, "\"thread_name\"")) {
		reader_name_row(r, e);
		return;
	}
	if (span_is(e->name, "\"process_labels\"")) {
		reader_label_process(r, e);
		return;
	}
	if (span_is(e->name, "\"kymo counter\"")) {
		reader_label_counter(r, e);
		return;
	}
	if (span_is(e->name, "\"kymo communicator\"")) {
		reader_communicator(r, e);
		return;
	}
	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++)
		if (span_is(e->name, silent[i]))
			return;
	reader_leave_out(r, "metadata events %s", e->name.s, e->name.n);
}

/* What ties calls to device work says the correlation already. */
static void flow_event(struct reader *r, const struct event *e)
{
	if (!span_is(e->category, "\"ac2g\"") && !span_is(e->category, "\"async_cpu_to_gpu\"") &&
	    !span_is(e->category, "\"async_gpu\""))
		reader_leave_out(r, "flow events of category %s",
				 e->category.n ? e->category.s : "\"\"",
				 e->category.n ? e->category.n : 2);
}

static void timed_event(struct reader *r, const struct event *e)
{
	widen_window(r, e);
	if (is_window(e))
		return;
	switch (e->phase) {
	case 'X':
		complete_event(r, e);
		break;
	case 'B':
		host_entry(r, e, ENTRY_BEGIN);
		break;
	case 'E':
		reader_add_entry(r, e, ENTRY_END)->thread = reader_thread(r, e->pid, e->tid);
		break;
	case 'i':
	case 'I':
	case 'R':
		instant_event(r, e);
		break;
	case 'C':
		counter_event(r, e);
		break;
	case 'P':
		sample_event(r, e);
		break;
	default:
		async_event(r, e);
	}
}

void reader_event(struct reader *r, const struct event *e)
{
	if (e->phase == 'M')
		metadata_event(r, e);
	else if (strchr("stf", e->phase))
		flow_event(r, e);
	else if (!strchr("XBEiIRCbenSFTpP", e->phase))
		leave_phase(r, e->phase);
	else if (!e->has_time)
		reader_leave_out(r, "events of phase \"%s\" without a time", &e->phase, 1);
	else
		timed_event(r, e);
}
