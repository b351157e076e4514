/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of one raw file into the trace. The file is walked twice: first for everything, then
 * for operations, which refer to domains and enum sets that may come later. Ids of the process are
 * kept in the reference fields until all are known, then replaced by global indexes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/raw/internal.h"
#include "formats/raw/reading.h"
#include "formats/raw/schema.h"
#include "stream/demangle.h"
#include "stream/names.h"

#define BLOB_MAX (64u << 20)

static const char *text(struct trace *t, const struct wire_def *d, unsigned i)
{
	size_t length;
	const char *s = wire_def_text(d, i, &length);

	return trace_string(t, s, length);
}

/* NUL separated words, quoted where a shell would need it. */
static const char *join_words(struct trace *t, const struct wire_def *d, unsigned i)
{
	size_t length, n = 0;
	const char *s = wire_def_text(d, i, &length), *end = s + length;
	char *out = trace_alloc(t, length * 4 + 8); /* a quote becomes four bytes */

	if (!out)
		return "";
	while (s < end) {
		size_t word = strnlen(s, (size_t)(end - s));
		bool plain = word && !memchr(s, ' ', word) && !memchr(s, '\'', word) &&
			     !memchr(s, '"', word) && !memchr(s, '\n', word);

		if (n)
			out[n++] = ' ';
		if (!plain)
			out[n++] = '\'';
		for (size_t k = 0; k < word; k++) {
			if (s[k] == '\'') {
				memcpy(out + n, "'\\''", 4);
				n += 4;
			} else {
				out[n++] = s[k];
			}
		}
		if (!plain)
			out[n++] = '\'';
		s += word + 1;
	}
	return out;
}

static bool has_word(const struct wire_def *d, uint32_t field, const char *begin)
{
	size_t length, n = strlen(begin);
	const char *s = wire_def_text(d, field, &length), *end = s + length;

	for (; s < end; s += strnlen(s, (size_t)(end - s)) + 1)
		if ((size_t)(end - s) > n && strncmp(s, begin, n) == 0 && s[n])
			return true;
	return false;
}

/* The program is told before its first buffer is, whose level it is: then as the launcher has asked for it. */
static uint32_t arg_level(const struct wire_def *d)
{
	const uint32_t told = (uint32_t)wire_def_get(d, DEF_PROCESS_ARG_LEVEL);

	return told                                                  ? told
	       : has_word(d, DEF_PROCESS_ENVIRONMENT, "KYMO_ARGS=f") ? 2
	       : has_word(d, DEF_PROCESS_ENVIRONMENT, "KYMO_ARGS=s") ? 1
								     : 0;
}

static void set_process(struct reading *r, const struct wire_def *d)
{
	struct trace *t = r->t;
	struct t_process *p = &t->processes[r->p->process];
	struct tick_origin *o = &r->p->origin;

	p->pid = (uint32_t)wire_def_get(d, DEF_PROCESS_PID);
	p->ppid = (uint32_t)wire_def_get(d, DEF_PROCESS_PPID);
	p->exe = text(t, d, DEF_PROCESS_EXE);
	p->argv = join_words(t, d, DEF_PROCESS_ARGV);
	p->cwd = text(t, d, DEF_PROCESS_CWD);
	p->hostname = text(t, d, DEF_PROCESS_HOSTNAME);
	p->version = text(t, d, DEF_PROCESS_VERSION);
	p->partial = false; /* what its parent told is the parent's */
	p->filters = raw_filters(t, d, &p->partial);
	p->some_ranks = has_word(d, DEF_PROCESS_ENVIRONMENT, "KYMO_RANK=");
	/* What its parent told of itself is the parent's. */
	t->pauses_count = r->pauses;
	r->on = r->told = false;
	p->arg_level = arg_level(d);
	p->telemetry = wire_def_get(d, DEF_PROCESS_ROLE) == PROCESS_TELEMETRY;
	if (p->telemetry)
		p->name = "telemetry";
	p->start = (int64_t)wire_def_get(d, DEF_PROCESS_START_MONOTONIC);
	p->start_realtime = (int64_t)wire_def_get(d, DEF_PROCESS_START_REALTIME);
	p->realtime_offset = (int64_t)((uint64_t)p->start_realtime - (uint64_t)p->start);
	o->tick = wire_def_get(d, DEF_PROCESS_START_TICK);
	o->ns = (uint64_t)p->start;
	o->per_second = wire_def_get(d, DEF_PROCESS_TICK_RATE);
	o->identity = wire_def_get(d, DEF_PROCESS_TICK_SOURCE) == 2;
}

uint32_t raw_domain(struct trace *t, const char *name, size_t length, const char *title,
		    size_t title_length)
{
	uint32_t i = 1;

	while (i < t->domains_count && (strlen(t->domains[i].name) != length ||
					memcmp(t->domains[i].name, name, length) != 0))
		i++;
	if (i == t->domains_count)
		*trace_add(t, domains) = (struct t_domain){trace_string(t, name, length),
							   trace_string(t, title, title_length)};
	return i;
}

static void add_domain(struct reading *r, const struct wire_def *d)
{
	size_t length, title_length;
	const char *name = wire_def_text(d, DEF_DOMAIN_NAME, &length);
	const char *title = wire_def_text(d, DEF_DOMAIN_TITLE, &title_length);
	uint32_t i = raw_domain(r->t, name, length, title, title_length);

	map_set(&r->p->domains, wire_def_get(d, DEF_DOMAIN_ID), i);
	schema_domain_base(r->p, i, wire_def_get(d, DEF_DOMAIN_BASE));
}

static void add_enum_set(struct reading *r, const struct wire_def *d)
{
	schema_add_set(r->p, d);
}

static void add_op(struct reading *r, const struct wire_def *d)
{
	schema_add_op(r->p, d);
}

/* The thread of that index in the process; made if need be. */
static struct t_thread *thread_of(struct reading *r, uint64_t index)
{
	uint32_t i = map_get(&r->p->threads, index);
	struct t_thread *th;

	if (i)
		return &r->t->threads[i];
	i = r->t->threads_count;
	th = trace_add(r->t, threads);
	th->process = r->p->process;
	th->index = (uint32_t)index;
	th->name = "";
	map_set(&r->p->threads, index, i);
	return th;
}

static void add_thread(struct reading *r, const struct wire_def *d)
{
	struct t_thread *th = thread_of(r, wire_def_get(d, DEF_THREAD_INDEX));

	th->tid = (uint32_t)wire_def_get(d, DEF_THREAD_TID);
	th->name = text(r->t, d, DEF_THREAD_NAME);
	th->start = (int64_t)wire_def_get(d, DEF_THREAD_START); /* a tick until resolve() */
	th->main = wire_def_get(d, DEF_THREAD_MAIN) != 0;
	/* Told again as it ends, when it has signed off. */
	th->own |= wire_def_get(d, DEF_THREAD_OWN) != 0;
}

static void end_thread(struct reading *r, const struct wire_def *d)
{
	struct t_thread *th = thread_of(r, wire_def_get(d, DEF_THREAD_END_INDEX));

	th->end = (int64_t)wire_def_get(d, DEF_THREAD_END_TICK);
	th->records = wire_def_get(d, DEF_THREAD_END_RECORDS);
	th->lost = wire_def_get(d, DEF_THREAD_END_LOST);
	th->processor_ns = wire_def_get(d, DEF_THREAD_END_PROCESSOR);
}

static uint32_t site_at(struct reading *r, uint64_t address)
{
	uint32_t i = map_get(&r->p->addresses, address);

	if (i)
		return i;
	i = r->t->sites_count;
	*trace_add(r->t, sites) = (struct t_site){.process = r->p->process,
						  .address = address,
						  .module = r->t->modules_count}; /* resolve.c */
	map_set(&r->p->addresses, address, i);
	return i;
}

static void add_site(struct reading *r, const struct wire_def *d)
{
	uint32_t i = site_at(r, wire_def_get(d, DEF_SITE_ADDRESS));
	const char *function = text(r->t, d, DEF_SITE_FUNCTION);
	const char *file = text(r->t, d, DEF_SITE_FILE);

	map_set(&r->p->sites, wire_def_get(d, DEF_SITE_ID), i);
	if (!*function || i >= r->t->sites_count)
		return;
	r->t->sites[i].function = function;
	r->t->sites[i].file = *file ? file : NULL;
	r->t->sites[i].line = (uint32_t)wire_def_get(d, DEF_SITE_LINE);
}

static void add_stack(struct reading *r, const struct wire_def *d)
{
	size_t length;
	const char *s = wire_def_text(d, DEF_STACK_ADDRESSES, &length);
	uint32_t n = (uint32_t)(length / 8);
	uint64_t end = wire_def_get(d, DEF_STACK_END);
	struct t_stack stack = {.process = r->p->process, .count = n, .end = name_stack_end(end)};

	stack.sites = trace_alloc(r->t, n * sizeof(*stack.sites));
	for (uint32_t i = 0; stack.sites && i < n; i++) {
		uint64_t address;

		memcpy(&address, s + (size_t)i * 8, 8);
		stack.sites[i] = site_at(r, address);
	}
	if (!stack.sites)
		stack.count = 0;
	map_set(&r->p->stacks, wire_def_get(d, DEF_STACK_ID), r->t->stacks_count);
	*trace_add(r->t, stacks) = stack;
}

static void add_module(struct reading *r, const struct wire_def *d)
{
	size_t length;
	const char *id = wire_def_text(d, DEF_MODULE_BUILD_ID, &length);
	uint8_t *copy = length ? trace_alloc(r->t, length) : NULL;

	if (copy)
		memcpy(copy, id, length);
	*trace_add(r->t, modules) =
		(struct t_module){.process = r->p->process,
				  .start = wire_def_get(d, DEF_MODULE_START),
				  .end = wire_def_get(d, DEF_MODULE_END),
				  .bias = wire_def_get(d, DEF_MODULE_BIAS),
				  .path = text(r->t, d, DEF_MODULE_PATH),
				  .build_id = copy,
				  .build_id_length = copy ? (uint32_t)length : 0};
}

/* True when `id` was not defined before: then it now stands for `next`. */
static bool define(struct map *m, uint64_t id, uint32_t next)
{
	return id != 0 && map_get(m, id) == 0 && map_set(m, id, next);
}

static void add_agent(struct reading *r, const struct wire_def *d)
{
	struct t_agent *a;
	size_t length;
	const char *uuid = wire_def_text(d, DEF_AGENT_UUID, &length);

	if (!define(&r->p->agents, wire_def_get(d, DEF_AGENT_ID), r->t->agents_count))
		return;
	a = trace_add(r->t, agents);
	a->process = r->p->process;
	a->parent = (uint32_t)wire_def_get(d, DEF_AGENT_PARENT);
	a->clock = (uint32_t)wire_def_get(d, DEF_AGENT_CLOCK);
	a->type = text(r->t, d, DEF_AGENT_TYPE);
	a->name = text(r->t, d, DEF_AGENT_NAME);
	a->vendor = text(r->t, d, DEF_AGENT_VENDOR);
	a->driver = text(r->t, d, DEF_AGENT_DRIVER);
	a->domain = text(r->t, d, DEF_AGENT_DOMAIN);
	a->platform = text(r->t, d, DEF_AGENT_PLATFORM);
	a->properties = text(r->t, d, DEF_AGENT_PROPERTIES);
	a->handle = wire_def_get(d, DEF_AGENT_HANDLE);
	a->has_uuid = length == sizeof(a->uuid);
	if (a->has_uuid)
		memcpy(a->uuid, uuid, sizeof(a->uuid));
}

static void add_context(struct reading *r, const struct wire_def *d)
{
	if (!define(&r->p->contexts, wire_def_get(d, DEF_DEVICE_CONTEXT_ID), r->t->contexts_count))
		return;
	*trace_add(r->t, contexts) =
		(struct t_device_context){r->p->process, wire_def_get(d, DEF_DEVICE_CONTEXT_HANDLE),
					  text(r->t, d, DEF_DEVICE_CONTEXT_DOMAIN), NULL};
}

static void add_queue(struct reading *r, const struct wire_def *d)
{
	if (!define(&r->p->queues, wire_def_get(d, DEF_QUEUE_ID), r->t->queues_count))
		return;
	*trace_add(r->t, queues) =
		(struct t_queue){.process = r->p->process,
				 .agent = (uint32_t)wire_def_get(d, DEF_QUEUE_AGENT),
				 .context = (uint32_t)wire_def_get(d, DEF_QUEUE_CONTEXT),
				 .flags = (uint32_t)wire_def_get(d, DEF_QUEUE_FLAGS),
				 .handle = wire_def_get(d, DEF_QUEUE_HANDLE),
				 .properties = wire_def_get(d, DEF_QUEUE_PROPERTIES),
				 .domain = text(r->t, d, DEF_QUEUE_DOMAIN),
				 .name = text(r->t, d, DEF_QUEUE_NAME)};
}

static void add_program(struct reading *r, const struct wire_def *d)
{
	if (!define(&r->p->programs, wire_def_get(d, DEF_PROGRAM_ID), r->t->programs_count))
		return;
	*trace_add(r->t, programs) =
		(struct t_program){.process = r->p->process,
				   .context = (uint32_t)wire_def_get(d, DEF_PROGRAM_CONTEXT),
				   .source = (uint32_t)wire_def_get(d, DEF_PROGRAM_SOURCE),
				   .handle = wire_def_get(d, DEF_PROGRAM_HANDLE),
				   .domain = text(r->t, d, DEF_PROGRAM_DOMAIN),
				   .kind = text(r->t, d, DEF_PROGRAM_KIND),
				   .name = text(r->t, d, DEF_PROGRAM_NAME)};
}

/* What the program's author called a kernel; CUDA and others tell the symbol only. */
static const char *written_name(struct trace *t, const char *symbol)
{
	char *name = demangle(symbol), *copy = NULL;

	if (name) {
		copy = trace_alloc(t, strlen(name) + 1);
		if (copy)
			strcpy(copy, name);
		free(name);
	}
	return copy ? copy : symbol;
}

static void add_kernel(struct reading *r, const struct wire_def *d)
{
	const char *name = text(r->t, d, DEF_KERNEL_NAME), *written = written_name(r->t, name),
		   *symbol = text(r->t, d, DEF_KERNEL_SYMBOL);

	if (!define(&r->p->kernels, wire_def_get(d, DEF_KERNEL_ID), r->t->kernels_count))
		return;
	*trace_add(r->t, kernels) =
		(struct t_kernel){.process = r->p->process,
				  .program = (uint32_t)wire_def_get(d, DEF_KERNEL_PROGRAM),
				  .handle = wire_def_get(d, DEF_KERNEL_HANDLE),
				  .domain = text(r->t, d, DEF_KERNEL_DOMAIN),
				  .name = written,
				  .symbol = *symbol || written == name ? symbol : name,
				  .framework = text(r->t, d, DEF_KERNEL_FRAMEWORK),
				  .source = text(r->t, d, DEF_KERNEL_SOURCE),
				  .device = text(r->t, d, DEF_KERNEL_DEVICE)};
}

static void add_code(struct reading *r, const struct wire_def *d)
{
	if (!define(&r->p->codes, wire_def_get(d, DEF_CODE_ID), r->t->codes_count))
		return;
	*trace_add(r->t, codes) =
		(struct t_code){.process = r->p->process,
				.function = written_name(r->t, text(r->t, d, DEF_CODE_FUNCTION)),
				.file = text(r->t, d, DEF_CODE_FILE),
				.line = (uint32_t)wire_def_get(d, DEF_CODE_LINE),
				.module = wire_def_get(d, DEF_CODE_MODULE),
				.offset = wire_def_get(d, DEF_CODE_OFFSET)};
}

/* Of a block `block` is 0, and a place that belongs to one comes behind it. */
static void add_place(struct reading *r, const struct wire_def *d)
{
	if (!define(&r->p->places, wire_def_get(d, DEF_PLACE_ID), r->t->places_count))
		return;
	*trace_add(r->t, places) = (struct t_place){
		.process = r->p->process,
		.program = (uint32_t)wire_def_get(d, DEF_PLACE_PROGRAM),
		.block = (uint32_t)map_get(&r->p->places, wire_def_get(d, DEF_PLACE_BLOCK)),
		.function = text(r->t, d, DEF_PLACE_FUNCTION),
		.what = text(r->t, d, DEF_PLACE_WHAT),
		.kind = text(r->t, d, DEF_PLACE_KIND),
		.file = text(r->t, d, DEF_PLACE_FILE),
		.line = (uint32_t)wire_def_get(d, DEF_PLACE_LINE),
		.column = (uint32_t)wire_def_get(d, DEF_PLACE_COLUMN),
		.times = wire_def_get(d, DEF_PLACE_TIMES),
		.bytes = wire_def_get(d, DEF_PLACE_BYTES)};
}

/* A blob comes in pieces; all of one claim the same size, which the file must be able to hold. */
static void add_blob(struct reading *r, const struct wire_def *d)
{
	uint64_t id = wire_def_get(d, DEF_BLOB_ID), offset = wire_def_get(d, DEF_BLOB_OFFSET);
	uint64_t stored = wire_def_get(d, DEF_BLOB_STORED);
	struct t_blob *b;
	size_t length;
	const char *data = wire_def_text(d, DEF_BLOB_DATA, &length);

	if (stored > BLOB_MAX)
		return;
	if (define(&r->p->blobs, id, r->t->blobs_count)) {
		b = trace_add(r->t, blobs);
		*b = (struct t_blob){r->p->process, text(r->t, d, DEF_BLOB_WHAT),
				     trace_alloc(r->t, stored + 1), stored,
				     wire_def_get(d, DEF_BLOB_TOTAL)};
		if (!b->data)
			*b = (struct t_blob){.what = "", .data = ""};
	}
	b = &r->t->blobs[map_get(&r->p->blobs, id)];
	if (b->process == r->p->process && offset <= b->stored && length <= b->stored - offset)
		memcpy((char *)(uintptr_t)b->data + offset, data, length);
}

static void add_clock(struct reading *r, const struct wire_def *d)
{
	if (define(&r->p->clock_ids, wire_def_get(d, DEF_CLOCK_ID), r->t->clocks_count))
		*trace_add(r->t, clocks) =
			(struct t_clock){r->p->process, text(r->t, d, DEF_CLOCK_NAME), -1, 0};
}

static void add_clock_sync(struct reading *r, const struct wire_def *d)
{
	uint32_t n = r->clock_sync_count;

	if (!vec_reserve(&r->clock_syncs, &r->clock_sync_room, n, 1) ||
	    !vec_reserve(&r->clock_sync_ids, &r->clock_sync_id_room, n, 1) ||
	    !vec_reserve(&r->clock_sync_host, &r->clock_sync_host_room, n, 1))
		return;
	r->clock_syncs[n] = (struct device_sync){/* ticks until resolve() */
						 (int64_t)wire_def_get(d, DEF_CLOCK_SYNC_BEFORE),
						 (int64_t)wire_def_get(d, DEF_CLOCK_SYNC_AFTER),
						 (int64_t)wire_def_get(d, DEF_CLOCK_SYNC_VALUE)};
	r->clock_sync_host[n] = (uint8_t)wire_def_get(d, DEF_CLOCK_SYNC_HOST);
	r->clock_sync_ids[n] = wire_def_get(d, DEF_CLOCK_SYNC_CLOCK);
	r->clock_sync_count++;
}

static void add_sync_point(struct raw_process *p, const struct raw_tick_sync *s)
{
	if (vec_reserve(&p->syncs, &p->sync_room, p->sync_count, 1))
		p->syncs[p->sync_count++] = *s;
}

static void add_tick_sync(struct reading *r, const struct wire_def *d)
{
	struct raw_tick_sync s = {
		wire_def_get(d, DEF_TICK_SYNC_BEFORE), wire_def_get(d, DEF_TICK_SYNC_AFTER),
		wire_def_get(d, DEF_TICK_SYNC_RAW), wire_def_get(d, DEF_TICK_SYNC_REALTIME)};

	add_sync_point(r->p, &s);
}

static void add_note(struct reading *r, const struct wire_def *d)
{
	*trace_add(r->t, notes) = (struct t_note){r->p->process,
						  (uint32_t)wire_def_get(d, DEF_NOTE_SEVERITY),
						  text(r->t, d, DEF_NOTE_PART),
						  text(r->t, d, DEF_NOTE_TEXT),
						  (int64_t)wire_def_get(d, DEF_NOTE_TICK),
						  wire_def_get(d, DEF_NOTE_COUNT)};
}

static void add_overhead(struct reading *r, const struct wire_def *d)
{
	uint64_t measured = wire_def_get(d, DEF_OVERHEAD_MEASURED);

	r->record_millis = wire_def_get(d, DEF_OVERHEAD_RECORD);
	if (measured > r->overhead)
		r->overhead = measured;
	r->loading = wire_def_get(d, DEF_OVERHEAD_LOADING);
}

/* Of a pause that goes on the end is 0; ticks until resolve(), of which 0 is the process's start. */
static void add_recording(struct reading *r, const struct wire_def *d)
{
	bool on = wire_def_get(d, DEF_RECORDING_ON) != 0, first = !r->told;
	int64_t tick = (int64_t)wire_def_get(d, DEF_RECORDING_TICK);
	struct trace *t = r->t;

	r->told = true;
	if (on == r->on && !first)
		return;
	r->on = on;
	if (first && !(on && tick == 0))
		*trace_add(t, pauses) = (struct t_pause){r->p->process, 0, on ? tick : 0};
	else if (!first && on)
		t->pauses[t->pauses_count - 1].end = tick;
	else if (!first)
		*trace_add(t, pauses) = (struct t_pause){r->p->process, tick, 0};
}

static void end_process(struct reading *r, const struct wire_def *d)
{
	struct t_process *p = &r->t->processes[r->p->process];

	r->process_end_seen = true;
	r->process_end_how = wire_def_get(d, DEF_PROCESS_END_HOW);
	r->process_end_tick = wire_def_get(d, DEF_PROCESS_END_TICK);
	p->lost_records = wire_def_get(d, DEF_PROCESS_END_LOST);
	p->lost_definitions = wire_def_get(d, DEF_PROCESS_END_DEFS_LOST);
	p->untraced_calls = wire_def_get(d, DEF_PROCESS_END_UNTRACED);
	p->untimed = wire_def_get(d, DEF_PROCESS_END_UNTIMED);
}

static void add_string(struct reading *r, const struct wire_def *d)
{
	raw_add_string(r->p, d);
}

static void add_name(struct reading *r, const struct wire_def *d)
{
	raw_add_name(r->p, d);
}

static void add_counter(struct reading *r, const struct wire_def *d)
{
	raw_add_counter(r->p, d);
}

static void add_rank(struct reading *r, const struct wire_def *d)
{
	raw_add_rank(r->p, d);
}

static void add_communicator(struct reading *r, const struct wire_def *d)
{
	raw_add_communicator(r->p, d);
}

static void add_job_clock(struct reading *r, const struct wire_def *d)
{
	raw_add_job_clock(r->p, d);
}

static void add_job_table(struct reading *r, const struct wire_def *d)
{
	raw_add_job_table(r->p, d);
}

static void add_given(struct reading *r, const struct wire_def *d)
{
	raw_add_given(r->p, d);
}

typedef void (*def_handler)(struct reading *r, const struct wire_def *d);

static const def_handler handlers[DEF_COUNT] = {
	[DEF_PROCESS] = set_process,
	[DEF_DOMAIN] = add_domain,
	[DEF_ENUM_SET] = add_enum_set,
	[DEF_OP] = add_op,
	[DEF_THREAD] = add_thread,
	[DEF_SITE] = add_site,
	[DEF_STACK] = add_stack,
	[DEF_MODULE] = add_module,
	[DEF_AGENT] = add_agent,
	[DEF_DEVICE_CONTEXT] = add_context,
	[DEF_QUEUE] = add_queue,
	[DEF_PROGRAM] = add_program,
	[DEF_KERNEL] = add_kernel,
	[DEF_BLOB] = add_blob,
	[DEF_CLOCK_SYNC] = add_clock_sync,
	[DEF_TICK_SYNC] = add_tick_sync,
	[DEF_NOTE] = add_note,
	[DEF_THREAD_END] = end_thread,
	[DEF_OVERHEAD] = add_overhead,
	[DEF_STRING] = add_string,
	[DEF_NAME] = add_name,
	[DEF_COUNTER] = add_counter,
	[DEF_RANK] = add_rank,
	[DEF_COMMUNICATOR] = add_communicator,
	[DEF_JOB_CLOCK] = add_job_clock,
	[DEF_JOB_TALLY] = add_job_table,
	[DEF_JOB_GIVEN] = add_given,
	[DEF_PROCESS_END] = end_process,
	[DEF_CLOCK] = add_clock,
	[DEF_CODE] = add_code,
	[DEF_PLACE] = add_place,
	[DEF_RECORDING] = add_recording,
};

/* ---- blocks -------------------------------------------------------------------------------- */

static void read_chunk(struct reading *r, uint32_t block, const uint8_t *data, size_t bytes,
		       bool ops)
{
	struct wire_reader reader;
	struct wire_def d;
	int got = -1;

	if (wire_reader_init(&reader, data, bytes)) {
		while ((got = wire_def_read(&reader.p, reader.end, &d)) > 0) {
			if (d.kind < DEF_COUNT && handlers[d.kind] && (d.kind == DEF_OP) == ops)
				handlers[d.kind](r, &d);
		}
	}
	if (got < 0 && !ops) {
		r->p->file.damaged++;
		stream_warn(r->p->rt->log, "%s: definitions at offset %llu are damaged",
			    r->p->file.path, (unsigned long long)r->p->file.blocks[block]);
	}
}

/* The last of several counts. */
static void read_open_calls(struct reading *r, const uint8_t *data, size_t bytes)
{
	struct raw_open o;

	r->t->open_calls_count = r->open_calls;
	for (; bytes >= sizeof(o); data += sizeof(o), bytes -= sizeof(o)) {
		uint32_t thread;

		memcpy(&o, data, sizeof(o));
		thread_of(r, o.thread)->tid = o.tid;
		thread = map_get(&r->p->threads, o.thread);
		*trace_add(r->t, open_calls) = (struct t_open_call){
			thread, o.call.op, o.depth, o.call.id, (int64_t)o.call.start};
	}
}

/* At the end, or how things stood while the process ran. */
static void read_end(struct reading *r, const uint8_t *data, size_t bytes, bool end)
{
	struct t_process *p = &r->t->processes[r->p->process];
	struct raw_end e = {0};

	if (bytes < offsetof(struct raw_end, overhead_ticks))
		return;
	memcpy(&e, data, bytes < sizeof(e) ? bytes : sizeof(e)); /* members are appended */
	if (end) {
		p->how_ended = e.how;
		p->exit_status = e.status;
		r->end_tick = e.tick;
		p->damaged_blocks += e.damaged_chunks; /* those that the drain saw */
	}
	if (e.lost_records > p->lost_records)
		p->lost_records = e.lost_records;
	if (e.lost_definitions > p->lost_definitions)
		p->lost_definitions = e.lost_definitions;
	p->overwritten_records = e.overwritten_records;
	p->unwritten_records = e.unwritten_records;
	p->no_memory_records = e.no_memory_records;
	p->dropped_records = e.dropped_records;
	p->user_ns = e.user_ns;
	p->system_ns = e.system_ns;
	p->resident_bytes = e.resident_bytes;
	p->usage = (uint32_t)e.usage;
	p->delay_ns = e.delay_ns;
	if (e.overhead_ticks > r->overhead)
		r->overhead = e.overhead_ticks;
	r->waiting = e.waiting_ticks;
	r->beside = e.beside_ticks;
	if (e.loading_ticks)
		r->loading = e.loading_ticks;
	p->drain_ns = (double)e.drain_ns;
}

static void read_small(struct reading *r, const struct raw_block *b, const uint8_t *data,
		       size_t bytes)
{
	struct raw_tick_sync s;

	if (b->type != RAW_TICK_SYNC && b->first_tick > r->seen_tick)
		r->seen_tick = b->first_tick;
	if (b->type == RAW_OPEN_CALLS) {
		read_open_calls(r, data, bytes);
	} else if (b->type == RAW_END || b->type == RAW_STATE) {
		read_end(r, data, bytes, b->type == RAW_END);
	} else if (b->type == RAW_TICK_SYNC && bytes >= sizeof(s)) {
		memcpy(&s, data, sizeof(s));
		add_sync_point(r->p, &s);
		if (s.before > r->seen_tick)
			r->seen_tick = s.before;
	} else if (b->type == RAW_JOB && bytes >= sizeof(r->p->job)) {
		memcpy(&r->p->job, data, sizeof(r->p->job));
	}
}

/* A thread whose definition is missing still has chunks: they say its tid. */
static void check_thread(struct reading *r, uint32_t block, const struct raw_block *b,
			 struct raw_buffer *buffer)
{
	struct wire_chunk h;
	const uint8_t *data;
	size_t bytes;

	if (map_get(&r->p->threads, b->thread) ||
	    !raw_file_payload(&r->p->file, block, buffer, false, &data, &bytes) ||
	    bytes < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	if (map_get(&r->p->threads, h.thread) == 0) {
		struct t_thread *th = thread_of(r, h.thread);

		th->tid = h.tid;
		th->start = (int64_t)h.base_tick;
	}
}

/* One walk over the blocks; the second (`ops`) also sees to threads without definition. */
static void walk(struct reading *r, bool ops)
{
	struct raw_buffer buffer = {0};

	for (uint32_t i = 0; i < r->p->file.block_count; i++) {
		struct raw_block b;
		const uint8_t *data;
		size_t bytes;

		raw_file_block(&r->p->file, i, &b);
		if (b.type == RAW_CHUNK && b.chunk_type != WIRE_CHUNK_DEFINITIONS) {
			if (ops && b.chunk_type != WIRE_CHUNK_LIVE)
				check_thread(r, i, &b, &buffer);
			continue;
		}
		if (ops && b.type != RAW_CHUNK)
			continue;
		if (!raw_file_payload(&r->p->file, i, &buffer, !ops, &data, &bytes))
			continue;
		if (b.type == RAW_CHUNK)
			read_chunk(r, i, data, bytes, ops);
		else
			read_small(r, &b, data, bytes);
	}
	raw_buffer_release(&buffer);
}

kymo_status_t raw_read_definitions(struct raw_process *p)
{
	struct trace *t = p->rt->trace;
	struct reading r = {.p = p,
			    .t = t,
			    .agents = t->agents_count,
			    .contexts = t->contexts_count,
			    .queues = t->queues_count,
			    .programs = t->programs_count,
			    .kernels = t->kernels_count,
			    .places = t->places_count,
			    .modules = t->modules_count,
			    .sites = t->sites_count,
			    .notes = t->notes_count,
			    .clocks = t->clocks_count};
	uint32_t first_open = r.open_calls = t->open_calls_count;

	r.pauses = t->pauses_count;
	kymo_status_t status;

	p->first_thread = t->threads_count;
	p->first_note = t->notes_count;
	walk(&r, false);
	walk(&r, true);
	status = raw_resolve(&r, first_open);
	if (status == KYMO_OK && !raw_count_missing_definitions(p))
		status = KYMO_ERROR_NO_MEMORY;
	if (status == KYMO_OK) {
		raw_read_tallies(p);
		raw_read_live(p);
		raw_check_cost(p);
	}
	free(r.clock_syncs);
	free(r.clock_sync_ids);
	free(r.clock_sync_host);
	return status;
}
