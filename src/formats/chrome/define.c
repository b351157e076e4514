/* SPDX-License-Identifier: Apache-2.0 */
/* What records refer to: processes, threads, devices, queues, kernels, operations, counters, names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/counter.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/vec.h"
#include "formats/chrome/reader.h"

#define FIELDS_MAX 20u /* arguments of a call */

enum salt { PROCESS = 1, THREAD, COUNTER };

/* ---- strings --------------------------------------------------------------------------------- */

uint32_t reader_text(struct reader *r, const char *s, size_t n)
{
	return keyed_text(&r->keyed, s, n);
}

uint32_t reader_string(struct reader *r, struct span value)
{
	struct span text = value;

	if (span_is_string(value) && !span_string(value, &r->scratch, &text))
		return 0;
	return reader_text(r, text.s, text.n);
}

static const char *text_of(const struct reader *r, uint32_t string)
{
	return r->t->strings[string].text;
}

/* A number and a string that says it are one. */
static uint64_t hash_value(uint64_t hash, struct span v)
{
	if (span_is_string(v))
		v = (struct span){v.s + 1, v.n - 2};
	return hash_add(hash, v.s, v.n);
}

static uint64_t row_key(enum salt salt, struct span pid, struct span tid)
{
	return hash_value(hash_value(hash_u64(salt), pid), tid);
}

uint64_t reader_row_key(struct span pid, struct span tid)
{
	return row_key(THREAD, pid, tid);
}

uint64_t reader_process_key(struct span pid)
{
	return row_key(PROCESS, pid, (struct span){"", 0});
}

uint64_t reader_counter_key(struct span pid, struct span name, struct span id)
{
	return hash_value(row_key(COUNTER, pid, name), id);
}

/* ---- processes and threads ------------------------------------------------------------------- */

/* Ids that are no number have none of their own. */
static uint32_t number_of(struct span id)
{
	int64_t v;

	return span_signed(id, &v) ? (uint32_t)v : 0;
}

/* The text of an id that is no number, as a name. */
static const char *name_of_id(struct reader *r, struct span id)
{
	int64_t v;

	return !id.n || span_signed(id, &v) ? "" : text_of(r, reader_string(r, id));
}

static uint32_t add_process(struct reader *r, struct span pid, uint64_t key)
{
	uint32_t process = keyed_process(&r->keyed, key, number_of(pid));

	r->t->processes[process].exe = name_of_id(r, pid);
	return process;
}

uint32_t reader_process(struct reader *r, struct span pid)
{
	uint64_t key = reader_process_key(pid);
	uint32_t known = (uint32_t)map_get(&r->keyed.processes, key);

	return known ? known : add_process(r, pid, key);
}

static uint32_t add_thread(struct reader *r, uint32_t process, struct span tid, uint64_t key)
{
	uint32_t thread = keyed_thread(&r->keyed, key, process, number_of(tid));

	r->t->threads[thread].name = name_of_id(r, tid);
	return thread;
}

uint32_t reader_thread(struct reader *r, struct span pid, struct span tid)
{
	uint64_t key = row_key(THREAD, pid, tid);
	uint32_t known = (uint32_t)map_get(&r->keyed.threads, key);

	return known ? known : add_thread(r, reader_process(r, pid), tid, key);
}

/* "thread 17 (python3)" is python3; names end where their text does. */
static uint32_t plain_name(struct reader *r, struct span value)
{
	struct span text;
	const char *open;

	if (!span_string(value, &r->scratch, &text))
		return 0;
	while (text.n && text.s[text.n - 1] == ' ')
		text.n--;
	open = text.n && text.s[text.n - 1] == ')' ? memchr(text.s, '(', text.n) : NULL;
	if (open && text.n > 7 && memcmp(text.s, "thread ", 7) == 0)
		return reader_text(r, open + 1, text.n - (size_t)(open - text.s) - 2);
	return reader_text(r, text.s, text.n);
}

void reader_name_row(struct reader *r, const struct event *e)
{
	bool process = span_is(e->name, "\"process_name\"");
	uint64_t key = process ? reader_process_key(e->pid) : row_key(THREAD, e->pid, e->tid);
	struct span value;
	uint32_t name;

	if (!event_arg(e, "name", &value))
		return;
	name = plain_name(r, value);
	if (name && !map_set(&r->rows, key, name))
		r->failed = true;
}

/* ---- operations ------------------------------------------------------------------------------ */

bool reader_is_own_arg(struct span key)
{
	static const char *const known[] = {"correlation", "External id", "external id",
					    "cbid",        "cid",         "status",
					    "Ev Idx",      "Trace name",  "Trace iteration"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (span_is(key, known[i]))
			return true;
	return false;
}

static uint8_t kind_of(struct span v)
{
	uint64_t u;
	int64_t i;

	if (span_is_string(v) && (v.n < 4 || strncmp(v.s + 1, "0x", 2) != 0))
		return span_signed(v, &i) ? KYMO_KIND_SIGNED : KYMO_KIND_STRING;
	if (span_is_string(v))
		return span_unsigned(v, &u) ? KYMO_KIND_POINTER : KYMO_KIND_STRING;
	return span_signed(v, &i)     ? KYMO_KIND_SIGNED
	       : span_unsigned(v, &u) ? KYMO_KIND_UNSIGNED
				      : KYMO_KIND_STRING;
}

/* Arguments are those of the first event of that name; others show what they have of them. */
static uint32_t fields_of(struct reader *r, const struct event *e, struct make_field *fields)
{
	struct span_walk w;
	struct span key, value;
	uint32_t n = 0;

	if (!span_object(e->args, &w))
		return 0;
	while (n < FIELDS_MAX && span_member(&w, &key, &value)) {
		uint32_t name = reader_is_own_arg(key) ? 0 : reader_text(r, key.s, key.n);

		if (name)
			fields[n++] = (struct make_field){text_of(r, name), kind_of(value)};
	}
	return n;
}

uint32_t reader_op(struct reader *r, const char *domain, const struct event *e)
{
	uint32_t name = reader_string(r, e->name);
	uint64_t key = hash_mix(hash_string(domain), name);
	uint32_t known = (uint32_t)map_get(&r->ops, key), d;
	struct make_field fields[FIELDS_MAX];

	if (known)
		return known;
	d = make_foreign_domain(r->t, domain);
	known = make_op(r->t, d, name ? text_of(r, name) : "(no name)", fields,
			fields_of(r, e, fields));
	if (!map_set(&r->ops, key, known))
		r->failed = true;
	return known;
}

uint32_t reader_counter(struct reader *r, uint32_t process, uint32_t agent, uint32_t name)
{
	const struct t_counter c = {.process = process,
				    .agent = agent,
				    .flags = KYMO_COUNTER_GAUGE,
				    .name = text_of(r, name),
				    .unit = "",
				    .description = "",
				    .provider = "chrome",
				    .dimensions = ""};

	return keyed_counter(&r->keyed, (uint64_t)agent << 32 | name, &c);
}

/* ---- devices --------------------------------------------------------------------------------- */

static const char *runtime_of(const struct reader *r)
{
	return r->cuda >= r->hip && r->cuda >= r->other_runtimes ? "cuda"
	       : r->hip >= r->other_runtimes                     ? "hip"
								 : "device";
}

static uint32_t add_agent(struct reader *r, uint32_t process, int64_t id)
{
	struct t_agent a = {.process = process,
			    .type = "gpu",
			    .vendor = "",
			    .driver = "",
			    .domain = runtime_of(r),
			    .platform = "",
			    .properties = "",
			    .handle = (uint64_t)id};
	char name[32];

	snprintf(name, sizeof(name), "device %lld", (long long)id);
	a.name = name;
	for (uint32_t i = 0; i < r->device_count; i++)
		if (r->devices[i].id == id && r->devices[i].name) {
			a.name = text_of(r, r->devices[i].name);
			a.properties = r->devices[i].properties;
			a.type = r->devices[i].type ? text_of(r, r->devices[i].type) : a.type;
			a.domain = r->devices[i].runtime ? text_of(r, r->devices[i].runtime)
							 : a.domain;
		}
	if (a.name == name)
		a.name = trace_string(r->t, name, strlen(name));
	*trace_add(r->t, agents) = a;
	if (!map_set(&r->agents, hash_mix(hash_u64(process), (uint64_t)id), r->t->agents_count - 1))
		r->failed = true;
	return r->t->agents_count - 1;
}

/*
 * Devices of one name have no other identity than their number: those before it come first, so that it is
 * the same one in all processes.
 */
uint32_t reader_agent(struct reader *r, uint32_t process, const struct place *p)
{
	if (!p->has_device)
		return 0;
	for (uint32_t i = 0; i < r->device_count; i++)
		if (r->devices[i].id < p->device &&
		    !map_get(&r->agents, hash_mix(hash_u64(process), (uint64_t)r->devices[i].id)))
			add_agent(r, process, r->devices[i].id);
	if (map_get(&r->agents, hash_mix(hash_u64(process), (uint64_t)p->device)))
		return (uint32_t)map_get(&r->agents,
					 hash_mix(hash_u64(process), (uint64_t)p->device));
	return add_agent(r, process, p->device);
}

uint32_t reader_queue(struct reader *r, uint32_t process, const struct place *p)
{
	struct t_queue q = {.process = process,
			    .agent = reader_agent(r, process, p),
			    .handle = (uint64_t)p->stream,
			    .domain = runtime_of(r)};

	if (!p->has_stream)
		return 0;
	q.name = text_of(r, (uint32_t)map_get(&r->rows, p->row));
	return keyed_queue(&r->keyed, &q);
}

uint32_t reader_kernel(struct reader *r, uint32_t process, uint32_t name)
{
	return keyed_kernel(&r->keyed, process, name, 0, runtime_of(r));
}

/* ---- the members beside the events ----------------------------------------------------------- */

static bool find_number(struct span device, const char *name, uint64_t *v)
{
	struct span value;

	return span_find(device, name, &value) && span_unsigned(value, v);
}

/* What the file has as two numbers, or as another unit. */
static void add_derived(struct json *j, struct span device)
{
	uint64_t major, minor, threads, warp;
	char capability[48];
	int n;

	if (find_number(device, "computeMajor", &major) &&
	    find_number(device, "computeMinor", &minor)) {
		n = snprintf(capability, sizeof(capability), "%llu.%llu", (unsigned long long)major,
			     (unsigned long long)minor);
		json_name(j, "compute_capability");
		json_add_bytes(j, capability, (size_t)n);
	}
	if (find_number(device, "maxThreadsPerMultiprocessor", &threads) &&
	    find_number(device, "warpSize", &warp) && warp) {
		json_name(j, "warps_per_multiprocessor");
		json_add_unsigned(j, threads / warp);
	}
}

/* Under the names that the rules of `kymo diagnose` know. */
static const char *properties_of(struct reader *r, struct span device)
{
	static const char *const names[][2] = {
		{"id", "device"},
		{"totalGlobalMem", "memory_bytes"},
		{"numSms", "multiprocessors"},
		{"warpSize", "warp"},
		{"maxThreadsPerBlock", "threads_per_block"},
		{"sharedMemPerBlock", "shared_bytes_per_block"},
		{"regsPerMultiprocessor", "registers_per_multiprocessor"},
		{"sharedMemPerMultiprocessor", "shared_bytes_per_multiprocessor"}};
	struct text out = {0};
	struct json j = {.out = &out, .compact = true};
	const char *kept;
	uint64_t v;

	json_open(&j, '{');
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!find_number(device, names[i][0], &v))
			continue;
		json_name(&j, names[i][1]);
		json_add_unsigned(&j, v);
	}
	add_derived(&j, device);
	json_close(&j);
	kept = trace_string(r->t, out.s ? out.s : "", out.length);
	text_release(&out);
	return kept;
}

static void take_devices(struct reader *r, struct span list)
{
	struct span_walk w;
	struct span each, value;

	if (!span_array(list, &w))
		return;
	while (span_element(&w, &each)) {
		struct device d = {.properties = properties_of(r, each)};

		if (!span_find(each, "id", &value) || !span_signed(value, &d.id))
			continue;
		if (span_find(each, "name", &value))
			d.name = reader_string(r, value);
		if (span_find(each, "runtime", &value))
			d.runtime = reader_string(r, value);
		if (span_find(each, "type", &value) && span_is_string(value))
			d.type = reader_string(r, value);
		if (!vec_reserve(&r->devices, &r->device_room, r->device_count, 1))
			r->failed = true;
		else
			r->devices[r->device_count++] = d;
	}
}

static void take_ranks(struct reader *r, struct span object)
{
	struct span value;
	uint64_t v;

	if (span_find(object, "rank", &value) && span_unsigned(value, &v) && v < UINT32_MAX)
		r->rank = (uint32_t)v;
	if (span_find(object, "world_size", &value) && span_unsigned(value, &v) && v < UINT32_MAX)
		r->ranks = (uint32_t)v;
}

void reader_top_member(struct reader *r, struct span key, struct span value)
{
	int64_t base;

	if (span_is(key, "deviceProperties"))
		take_devices(r, value);
	else if (span_is(key, "distributedInfo"))
		take_ranks(r, value);
	else if (span_is(key, "baseTimeNanoseconds") && span_signed(value, &base))
		r->base = base;
	else if (span_is(key, "host_name"))
		r->hostname = reader_string(r, value);
	else if ((span_is(key, "samples") || span_is(key, "stackFrames")) && value.n > 2)
		reader_leave_out(r, "what is in \"%s\"", key.s, key.n);
	else if (span_is(key, "systemTraceEvents") && value.n > 2)
		reader_leave_out(r, "what is in \"%s\"", key.s, key.n);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void name_rows(struct reader *r, const struct map *things, bool processes)
{
	const struct map_entry *m;

	for (size_t at = 0; (m = map_entry(things, &at));) {
		const char *name = text_of(r, (uint32_t)map_get(&r->rows, m->key));

		if (!*name)
			continue;
		if (processes)
			r->t->processes[m->value].exe = name;
		else
			r->t->threads[m->value].name = name;
	}
}

static void complete_process(struct reader *r, struct t_process *p)
{
	p->argv = *p->exe ? p->exe : "(no name)";
	p->hostname = text_of(r, r->hostname);
	p->start = r->window[0] + r->shift;
	p->end = r->window[1] + r->shift;
	p->realtime_offset = r->base ? r->base - r->shift : 0;
	p->start_realtime = r->base ? p->start + p->realtime_offset : 0;
	p->file = r->source.path;
	if (r->rank == UINT32_MAX || r->t->processes_count != 2 || p->rank != UINT32_MAX)
		return;
	p->rank = r->rank;
	p->ranks = r->ranks;
	p->rank_by = "PyTorch";
}

void reader_complete(struct reader *r)
{
	struct trace *t = r->t;

	name_rows(r, &r->keyed.processes, true);
	name_rows(r, &r->keyed.threads, false);
	for (uint32_t i = 1; i < t->processes_count; i++)
		complete_process(r, &t->processes[i]);
	t->path = r->source.path;
	t->command = t->processes_count > 1 ? t->processes[1].argv : "";
	t->hostname = text_of(r, r->hostname);
	t->version = "";
	t->started = t->processes_count > 1 ? t->processes[1].start_realtime / 1000000000 : 0;
	t->origin = r->window[0] + r->shift;
	t->end = r->window[1] + r->shift;
	if (!keyed_complete(&r->keyed, t->origin, t->end))
		r->failed = true;
}
