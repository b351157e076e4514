/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in front of the events: devices, rank, time of day, names of rows. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "formats/chrome/write.h"
#include "stream/names.h"
#include "stream/trace.h"

#define APART 1000000000u /* added to numbers of rows that others have */

/* Processes of several nodes may have the same id: each has a row of its own. */
static bool number_processes(struct chrome_writer *w)
{
	const struct trace *t = w->t;
	struct map seen = {0};
	bool ok = true;

	w->pids = calloc(t->processes_count, sizeof(*w->pids));
	for (uint32_t i = 1; ok && w->pids && i < t->processes_count; i++) {
		w->pids[i] = t->processes[i].pid;
		if (map_get(&seen, w->pids[i]))
			w->pids[i] = APART + t->agents_count + i;
		ok = map_set(&seen, w->pids[i], i);
	}
	map_release(&seen);
	return ok && w->pids;
}

/* Agents of several processes that are one device are one row; a part of a device is a row as well. */
static uint32_t same_before(const struct trace *t, uint32_t agent)
{
	for (uint32_t i = 1; i < agent; i++)
		if (strcmp(t->agents[i].label, t->agents[agent].label) == 0)
			return i;
	return agent;
}

static bool number_devices(struct chrome_writer *w)
{
	const struct trace *t = w->t;

	w->devices = calloc(t->agents_count, sizeof(*w->devices));
	for (uint32_t i = 1; w->devices && i < t->agents_count; i++) {
		uint32_t first = same_before(t, i);

		w->devices[i] = first < i ? w->devices[first] : ++w->device_count;
	}
	if (w->o.by_device)
		w->lanes = calloc(w->device_count + 1u, sizeof(*w->lanes));
	return w->devices != NULL && (!w->o.by_device || w->lanes);
}

/* The device's number, but for one that a process has for its id. */
uint32_t chrome_device_pid(const struct chrome_writer *w, uint32_t agent)
{
	uint32_t number = w->devices[agent] ? w->devices[agent] - 1 : 0;

	for (uint32_t i = 1; i < w->t->processes_count; i++)
		if (w->pids[i] < w->device_count)
			return APART + number;
	return number;
}

static uint64_t property(const char *properties, const char *name)
{
	const char *p = strstr(properties, name);

	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

static void put_property(struct output *o, const struct t_agent *a, const char *ours,
			 const char *theirs)
{
	uint64_t v = property(a->properties, ours);

	if (!v)
		return;
	output_text(o, theirs);
	output_unsigned(o, v);
}

static void put_devices(struct chrome_writer *w)
{
	struct output *o = &w->out;
	uint32_t next = 1;

	output_text(o, ",\n\"deviceProperties\":[");
	for (uint32_t i = 1; i < w->t->agents_count; i++) {
		const struct t_agent *a = &w->t->agents[i];

		if (w->devices[i] != next) /* it is another process's, too */
			continue;
		output_text(o, next++ > 1 ? ",\n{\"id\":" : "\n{\"id\":");
		output_unsigned(o, w->devices[i] - 1);
		output_text(o, ",\"name\":");
		output_json(o, a->name);
		output_text(o, ",\"runtime\":");
		output_json(o, a->domain);
		output_text(o, ",\"type\":");
		output_json(o, a->type);
		put_property(o, a, "\"memory_bytes\":", ",\"totalGlobalMem\":");
		put_property(o, a, "\"multiprocessors\":", ",\"numSms\":");
		put_property(o, a, "\"compute_units\":", ",\"numSms\":");
		put_property(o, a, "\"warp\":", ",\"warpSize\":");
		output_char(o, '}');
	}
	output_char(o, ']');
}

static void put_rank(struct chrome_writer *w)
{
	const struct t_process *p = &w->t->processes[w->t->processes_count > 1];
	struct output *o = &w->out;

	if (w->t->processes_count != 2 || p->rank == UINT32_MAX)
		return;
	output_text(o, ",\n\"distributedInfo\":{\"rank\":");
	output_unsigned(o, p->rank);
	if (p->ranks) {
		output_text(o, ",\"world_size\":");
		output_unsigned(o, p->ranks);
	}
	output_char(o, '}');
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void row(struct chrome_writer *w, const char *what, uint32_t pid, uint32_t tid,
		const char *key, const char *text, int64_t number)
{
	out_begin(w, 'M', NULL, what, strlen(what), pid, tid, w->t->origin);
	out_args(w);
	out_key(w, key);
	if (text)
		output_json(&w->out, text);
	else
		output_signed(&w->out, number);
	out_end(w, true);
}

void chrome_name_row(struct chrome_writer *w, uint32_t pid, uint32_t tid, const char *name)
{
	row(w, "thread_name", pid, tid, "name", name, 0);
}

/* The rank is for viewers in the label, and as a number for readers. */
static void label_process(struct chrome_writer *w, uint32_t process)
{
	const struct t_process *p = &w->t->processes[process];
	char labels[80] = "CPU";

	if (p->rank != UINT32_MAX)
		snprintf(labels, sizeof(labels), "CPU, rank %u", p->rank);
	out_begin(w, 'M', NULL, "process_labels", 14, w->pids[process], 0, w->t->origin);
	out_args(w);
	out_text(w, "labels", labels);
	if (p->rank != UINT32_MAX) {
		out_unsigned(w, "rank", p->rank);
		out_unsigned(w, "ranks", p->ranks);
		out_text(w, "rank by", p->rank_by);
		out_text(w, "mpi", p->mpi);
		out_unsigned(w, "rank stage", p->rank_stage);
	}
	if (p->rank != UINT32_MAX && p->thread_level >= 0)
		out_unsigned(w, "thread level", (uint64_t)p->thread_level);
	out_end(w, true);
}

/* Messages name them by their numbers. */
static void put_communicators(struct chrome_writer *w)
{
	const struct trace *t = w->t;

	for (uint32_t i = 1; i < t->communicators_count; i++) {
		const struct t_communicator *c = &t->communicators[i];

		out_begin(w, 'M', NULL, "kymo communicator", 17, w->pids[c->process], 0, t->origin);
		out_args(w);
		out_text(w, "name", c->name);
		out_unsigned(w, "id", c->id);
		out_unsigned(w, "kind", c->kind);
		out_unsigned(w, "size", c->size);
		out_unsigned(w, "remote size", c->remote_size);
		out_unsigned(w, "key", c->key);
		out_unsigned(w, "handle", c->handle);
		if (c->own_rank)
			out_unsigned(w, "own rank", c->own_rank - 1);
		out_end(w, true);
	}
}

static void name_processes(struct chrome_writer *w)
{
	const struct trace *t = w->t;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		row(w, "process_name", w->pids[i], 0, "name", name_program(p), 0);
		label_process(w, i);
		row(w, "process_sort_index", w->pids[i], 0, "sort_index", NULL, i);
	}
	for (uint32_t i = 1; i < t->threads_count; i++)
		if (*t->threads[i].name)
			row(w, "thread_name", w->pids[t->threads[i].process], t->threads[i].tid,
			    "name", t->threads[i].name, 0);
}

/* For readers: it is no process. */
static void label_device(struct chrome_writer *w, uint32_t agent)
{
	out_begin(w, 'M', NULL, "process_labels", 14, chrome_device_pid(w, agent), 0, w->t->origin);
	out_args(w);
	out_text(w, "labels", w->t->agents[agent].type);
	out_unsigned(w, "kymo device", w->devices[agent] - 1);
	out_end(w, true);
}

static void name_devices(struct chrome_writer *w)
{
	const struct trace *t = w->t;
	uint32_t next = 1;

	for (uint32_t i = 1; i < t->agents_count; i++) {
		uint32_t pid = chrome_device_pid(w, i);

		if (w->devices[i] != next)
			continue;
		next++;
		row(w, "process_name", pid, 0, "name", t->agents[i].label, 0);
		label_device(w, i);
		row(w, "process_sort_index", pid, 0, "sort_index", NULL, 5000000 + (int64_t)i);
	}
	for (uint32_t i = 1; !w->lanes && i < t->queues_count; i++)
		if (t->queues[i].agent)
			row(w, "thread_name", chrome_device_pid(w, t->queues[i].agent), i, "name",
			    *t->queues[i].name ? t->queues[i].name : t->queues[i].label, 0);
}

/* In the row of a device another counter has the name already: viewers would draw them as one. */
static bool stands_apart(struct chrome_writer *w, uint32_t counter, uint32_t pid, const char *name,
			 bool *apart)
{
	uint64_t key = hash_mix(hash_string(name), pid), other = map_get(&w->counter_rows, key);

	*apart = other && other != counter + 1u;
	return other || map_set(&w->counter_rows, key, counter + 1u);
}

bool chrome_name_counter(struct chrome_writer *w, const struct rec_counter *r, uint32_t agent,
			 const char *name, bool *apart)
{
	uint64_t key = hash_mix(hash_u64(r->counter), agent), told = map_get(&w->counters, key);
	uint32_t pid = chrome_device_pid(w, agent);

	*apart = told == 2;
	if (told)
		return true;
	if (!stands_apart(w, r->counter, pid, name, apart) ||
	    !map_set(&w->counters, key, 1u + *apart))
		return false;
	out_begin(w, 'M', NULL, "kymo counter", 12, pid, 0, w->t->origin);
	out_args(w);
	out_text(w, "name", name);
	if (*apart)
		out_unsigned(w, "id", r->counter);
	out_unsigned(w, "process", w->pids[r->base.process]);
	if (r->base.thread)
		out_unsigned(w, "thread", w->t->threads[r->base.thread].tid);
	out_unsigned(w, "device", w->devices[agent] - 1);
	out_end(w, true);
	return true;
}

kymo_status_t chrome_names(struct chrome_writer *w)
{
	int64_t base = trace_to_realtime(w->t);
	struct output *o = &w->out;

	if (!number_processes(w) || !number_devices(w))
		return KYMO_ERROR_NO_MEMORY;
	output_text(o, "{\n\"schemaVersion\":1,\n\"displayTimeUnit\":\"ms\"");
	if (base) {
		output_text(o, ",\n\"baseTimeNanoseconds\":");
		output_signed(o, base + w->t->origin);
	}
	if (*w->t->hostname) {
		output_text(o, ",\n\"host_name\":");
		output_json(o, w->t->hostname);
	}
	put_devices(w);
	put_rank(w);
	output_text(o, ",\n\"traceEvents\":[");
	name_processes(w);
	name_devices(w);
	put_communicators(w);
	return output_status(o);
}
