/* SPDX-License-Identifier: Apache-2.0 */
/* Names of processes, threads, devices, queues and operations in summaries; see labels.h. */
#include <string.h>

#include "analysis/labels.h"
#include "analysis/details.h"
#include "stream/names.h"
#include "stream/trace.h"
#include "wire/defs.h"

#define LABEL_MAX 80 /* of a range, whose name can be anything */

const struct dimension dimensions[] = {
	{BY_TRACE, "trace", "trace", false},
	{BY_NODE, "node", "node", false},
	{BY_RANK, "rank", "rank", false},
	{BY_PROCESS, "process", "process", false},
	{BY_THREAD, "thread", "thread", false},
	{BY_DEVICE, "device", "device", false},
	{BY_SUBDEVICE, "subdevice", "device or part", false},
	{BY_QUEUE, "queue", "queue", false},
	{BY_PEER, "peer", "peer", false},
	{BY_COMMUNICATOR, "communicator", "communicator", false},
	{BY_LIBRARY, "library", "library", false},
	{BY_SCOPE, "scope", "scope", false},
	{BY_STACK, "stack", "stack", false},
	{BY_SITE, "site", "call site", false},
	{BY_KERNEL, "kernel", "kernel", false},
	{BY_GRID, "grid", "grid x block", false},
	{BY_OP, "op", "name", false},
	{BY_DIRECTION, "direction", "direction", false},
	{BY_SIZE, "size", "size", false},
	{BY_MEMORY, "memory", "memory", true},
	{BY_STATUS, "status", "status", true},
	{BY_CODE, "code", "code", true},
};
const unsigned dimension_count = sizeof(dimensions) / sizeof(*dimensions);

unsigned summary_by_parse(const char *text, const char **bad, size_t *bad_length)
{
	unsigned by = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		unsigned i;

		for (i = 0; i < dimension_count; i++) {
			if (!dimensions[i].internal && strlen(dimensions[i].name) == n &&
			    strncmp(p, dimensions[i].name, n) == 0)
				break;
		}
		if (i == dimension_count) {
			*bad = p;
			*bad_length = n;
			return 0;
		}
		by |= dimensions[i].by;
		p += n + (p[n] == ',');
	}
	*bad = text;
	*bad_length = strlen(text);
	return by;
}

unsigned dimensions_of(enum tally_kind kind)
{
	const unsigned any = BY_TRACE | BY_NODE | BY_RANK | BY_PROCESS;
	const unsigned device = BY_DEVICE | BY_SUBDEVICE;
	const unsigned call = any | BY_OP | BY_SCOPE | BY_SITE | BY_STACK;

	switch (kind) {
	case TALLY_CALL:
	case TALLY_ACTIVITY:
		return call | BY_LIBRARY | BY_THREAD;
	case TALLY_MARKER:
		return any | BY_THREAD | BY_SCOPE | BY_OP;
	case TALLY_COMM:
		return call | BY_LIBRARY | BY_THREAD | BY_PEER | BY_COMMUNICATOR;
	case TALLY_COMM_SIZE:
		return call | BY_SIZE | BY_COMMUNICATOR;
	case TALLY_DISPATCH:
		return call | BY_LIBRARY | device | BY_QUEUE | BY_KERNEL | BY_GRID;
	case TALLY_COPY:
		return call | BY_LIBRARY | device | BY_QUEUE | BY_DIRECTION;
	case TALLY_COPY_SIZE:
		return call | BY_LIBRARY | device | BY_DIRECTION | BY_SIZE;
	case TALLY_SYNC:
		return call | BY_LIBRARY | BY_THREAD | device | BY_QUEUE;
	case TALLY_ERROR:
		return call | BY_LIBRARY | BY_THREAD | BY_STATUS | BY_CODE;
	case TALLY_ALLOCATION:
		return call | BY_LIBRARY | device | BY_MEMORY;
	case TALLY_LEAK:
		return any | BY_THREAD | device | BY_OP | BY_MEMORY | BY_SITE;
	case TALLY_POOL:
		return any | device | BY_OP | BY_MEMORY;
	case TALLY_COUNTER:
	case TALLY_SAMPLE:
	case TALLY_DEVICE_SAMPLE:
		return BY_OP;
	default:
		return any | BY_THREAD;
	}
}

void label_agent(struct text *out, const struct trace *t, uint32_t agent)
{
	const struct t_agent *a = &t->agents[agent < t->agents_count ? agent : 0];

	if (agent == 0 || agent >= t->agents_count) {
		text_add(out, "host");
		return;
	}
	text_add(out, a->label);
}

static void label_queue(struct text *out, const struct trace *t, uint32_t process, uint32_t queue,
			bool device)
{
	const struct t_queue *q = &t->queues[queue < t->queues_count ? queue : 0];

	if (t->processes[process].merged_ranks) {
		text_addf(out, "all of %u ranks", t->processes[process].merged_ranks);
		return;
	}
	if (queue == 0 || queue >= t->queues_count) {
		text_add(out, "no queue");
		return;
	}
	if (device) {
		label_agent(out, t, q->agent);
		text_add(out, " ");
	}
	text_add(out, q->label);
}

static uint32_t queue_agent(const struct trace *t, uint32_t queue)
{
	return queue < t->queues_count ? t->queues[queue].agent : 0;
}

/* The device a copy is counted for: the one it writes to, else the one it reads. */
static uint32_t copy_counts_for(const struct trace *t, enum tally_kind kind,
				const struct tally *row)
{
	if (row->key[KEY_COPY_DESTINATION_AGENT])
		return row->key[KEY_COPY_DESTINATION_AGENT];
	if (row->key[KEY_COPY_SOURCE_AGENT])
		return row->key[KEY_COPY_SOURCE_AGENT];
	return kind == TALLY_COPY ? queue_agent(t, row->key[KEY_COPY_QUEUE]) : 0;
}

/* Work of a part is that of its device, unless parts are told apart. */
static void label_device(struct text *out, const struct trace *t, uint32_t agent, bool parts)
{
	label_agent(out, t, parts ? agent : trace_whole_device(t, agent));
}

static void label_agent_of(struct text *out, const struct trace *t, enum tally_kind kind,
			   const struct tally *row, bool parts)
{
	uint32_t agent;

	switch (kind) {
	case TALLY_COPY:
	case TALLY_COPY_SIZE:
		label_device(out, t, copy_counts_for(t, kind, row), parts);
		break;
	case TALLY_SYNC:
		if (row->key[KEY_SYNC_QUEUE])
			label_device(out, t, queue_agent(t, row->key[KEY_SYNC_QUEUE]), parts);
		else
			text_add(out, "any");
		break;
	case TALLY_ALLOCATION:
	case TALLY_POOL:
	case TALLY_LEAK:
		agent = row->key[kind == TALLY_LEAK ? KEY_LEAK_AGENT : KEY_DISPATCH_AGENT];
		if (agent)
			label_device(out, t, agent, parts);
		else
			text_add(out, "(any of its context)");
		break;
	default:
		label_device(out, t, row->key[KEY_DISPATCH_AGENT], parts);
	}
}

static void label_place(struct text *out, uint32_t agent, unsigned memory)
{
	text_add(out, agent ? "device" : "host");
	if (memory && !(agent && memory == MEMORY_DEVICE))
		text_addf(out, " %s", name_memory_kind(memory));
}

/* False: nothing is known of it. */
static bool label_direction(struct text *out, const struct tally *row)
{
	unsigned from = row->key[KEY_COPY_KINDS] >> 8 & 0xff, to = row->key[KEY_COPY_KINDS] & 0xff;

	if (!row->key[KEY_COPY_SOURCE_AGENT] && !row->key[KEY_COPY_DESTINATION_AGENT] && !from &&
	    !to)
		return false;
	label_place(out, row->key[KEY_COPY_SOURCE_AGENT], from);
	text_add(out, " to ");
	label_place(out, row->key[KEY_COPY_DESTINATION_AGENT], to);
	return true;
}

static uint32_t copy_op(const struct trace *t, const struct tally *row)
{
	return row->key[KEY_COPY_OP] < t->ops_count ? row->key[KEY_COPY_OP] : 0;
}

static void label_copy(struct text *out, const struct trace *t, const struct tally *row)
{
	struct text direction = {0};

	text_add(out, t->ops[copy_op(t, row)].name);
	if (label_direction(&direction, row) && !direction.failed)
		text_addf(out, " (%s)", direction.s);
	text_release(&direction);
}

enum transfer label_transfer(const struct trace *t, const struct tally *row)
{
	const char *op = t->ops[copy_op(t, row)].name;

	if (strcmp(op, "fill") == 0)
		return TRANSFER_FILL;
	return strcmp(op, "map") == 0 || strcmp(op, "unmap") == 0 ? TRANSFER_MAP : TRANSFER_COPY;
}

/* Fills have no source; what is mapped may well stay where it is. */
static void label_way(struct text *out, const struct trace *t, const struct tally *row)
{
	const char *op = t->ops[copy_op(t, row)].name;

	if (strcmp(op, "fill") == 0) {
		text_add(out, "fill of ");
		label_place(out, row->key[KEY_COPY_DESTINATION_AGENT],
			    row->key[KEY_COPY_KINDS] & 0xff);
		return;
	}
	if (strcmp(op, "map") == 0 || strcmp(op, "unmap") == 0)
		text_addf(out, "%sped, ", op);
	if (!label_direction(out, row))
		text_add(out, "not known");
}

/* "4..15 B", "1..4 KiB": the end of a class in large units belongs to the next. */
static void label_size(struct text *out, uint32_t size_class)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	uint64_t low = tally_size_least(size_class);
	unsigned unit = size_class ? (size_class - 1) / 5 : 0;

	if (unit >= sizeof(units) / sizeof(*units)) {
		text_add(out, "(no class)");
		return;
	}
	low >>= 10 * unit;
	if (size_class == 0)
		text_add(out, "0 B");
	else
		text_addf(out, "%llu..%llu %s", (unsigned long long)low,
			  (unsigned long long)(low * 4 - (unit == 0)), units[unit]);
}

void label_range(struct text *out, const struct trace *t, uint32_t domain, uint32_t name)
{
	if (domain && domain < t->strings_count)
		text_addf(out, "%s:", t->strings[domain].text);
	if (!name || name >= t->strings_count)
		text_add(out, "(no name)");
	else
		text_addf(out, "%.*s%s", LABEL_MAX, t->strings[name].text,
			  t->strings[name].length > LABEL_MAX ? "..." : "");
}

static void label_kernel(struct text *out, const struct trace *t, const struct tally *row)
{
	uint32_t k = row->key[KEY_DISPATCH_KERNEL];

	k = k < t->kernels_count ? k : 0;
	text_add(out, k && *t->kernels[k].name ? t->kernels[k].name : "(unknown kernel)");
}

static void label_op(struct text *out, const struct trace *t, enum tally_kind kind,
		     const struct tally *row)
{
	uint32_t op;

	if (kind == TALLY_COPY || kind == TALLY_COPY_SIZE) {
		label_copy(out, t, row);
		return;
	}
	if (kind == TALLY_ALLOCATION || kind == TALLY_LEAK) {
		text_add(out,
			 name_allocation_what(row->key[kind == TALLY_LEAK ? KEY_LEAK_WHAT
									  : KEY_ALLOCATION_WHAT]));
		return;
	}
	if (kind == TALLY_DISPATCH) {
		label_kernel(out, t, row);
		return;
	}
	if (kind == TALLY_MARKER) {
		label_range(out, t, row->key[KEY_MARKER_DOMAIN], row->key[KEY_MARKER_NAME]);
		return;
	}
	op = kind == TALLY_ERROR       ? row->key[KEY_ERROR_OP]
	     : kind == TALLY_COMM_SIZE ? row->key[KEY_COMM_SIZE_OP]
				       : row->key[KEY_OP];
	text_add(out, op && op < t->ops_count ? t->ops[op].name : "(unknown operation)");
}

static void label_process(struct text *out, const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process < t->processes_count ? process : 0];

	if (p->merged_ranks)
		text_addf(out, "%u ranks of %s", p->merged_ranks, name_program(p));
	else
		text_addf(out, "%u %s", p->pid, name_program(p));
}

/* "1.0": rank 0 of the second world, where there are several. "of 0": what that rank has started. */
static void label_rank(struct text *out, const struct trace *t, const struct t_process *p)
{
	if (p->rank == UINT32_MAX && p->of_rank != UINT32_MAX)
		text_add(out, "of ");
	if (t->worlds > 1 && (p->merged_ranks || p->rank != UINT32_MAX || p->of_rank != UINT32_MAX))
		text_addf(out, "%u.", p->world);
	if (p->merged_ranks && p->merged_ranks == p->ranks)
		text_add(out, "all");
	else if (p->merged_ranks)
		text_addf(out, "%u of %u", p->merged_ranks, p->ranks);
	else if (p->rank == UINT32_MAX && p->of_rank != UINT32_MAX)
		text_addf(out, "%u", p->of_rank);
	else if (p->rank == UINT32_MAX)
		text_add(out, "none");
	else
		text_addf(out, "%u", p->rank);
}

/* A rank of the same world. Ranks of others are not numbered in it. */
static void label_peer(struct text *out, const struct trace *t, const struct tally *row)
{
	uint32_t op = row->key[KEY_OP] < t->ops_count ? row->key[KEY_OP] : 0;
	uint32_t peer = row->key[KEY_COMM_PEER];

	if (peer && t->worlds > 1)
		text_addf(out, "%u.%u", t->processes[row->key[KEY_PROCESS]].world, peer - 1);
	else if (peer)
		text_addf(out, "%u", peer - 1);
	else if (t->worlds > 1 && strcmp(t->ops[op].name, "collective") != 0)
		text_add(out, "another world's");
	else
		text_add(out, "all");
}

/* "MPI_COMM_WORLD (4 ranks)"; a number where several are called the same. */
static void label_communicator(struct text *out, const struct summary *s, enum tally_kind kind,
			       const struct tally *row)
{
	static const char *const words[] = {[COMMUNICATOR_INTRA] = "communicator",
					    [COMMUNICATOR_INTER] = "intercommunicator",
					    [COMMUNICATOR_WINDOW] = "window",
					    [COMMUNICATOR_FILE] = "file"};
	const struct trace *t = s->trace;
	uint32_t i =
		row->key[kind == TALLY_COMM ? KEY_COMM_COMMUNICATOR : KEY_COMM_SIZE_COMMUNICATOR];
	const struct t_communicator *c = &t->communicators[i];
	uint32_t number = i < t->communicators_count && s->communicators ? s->communicators[i] : 0;

	if (!i || i >= t->communicators_count) {
		text_add(out, "(not known)");
		return;
	}
	if (*c->name)
		text_add(out, c->name);
	else
		text_add(out, c->kind < sizeof(words) / sizeof(*words) ? words[c->kind] : "?");
	if (number)
		text_addf(out, " #%u", number - 1);
	text_addf(out, " (%u rank%s)", c->size, c->size == 1 ? "" : "s");
}

/* Of the traced call that allocated it. */
static void label_leak(struct text *out, const struct summary *s, const struct tally *row)
{
	char text[600];

	if (s->symbols && row->key[KEY_LEAK_SITE] &&
	    row->key[KEY_LEAK_SITE] < s->trace->sites_count)
		text_add(out,
			 symbols_text(s->symbols, row->key[KEY_LEAK_SITE], text, sizeof(text)));
	else
		text_add(out, "(not known)");
}

static void label_thread(struct text *out, const struct trace *t, uint32_t thread)
{
	const struct t_thread *h = &t->threads[thread < t->threads_count ? thread : 0];

	if (t->processes[h->process].merged_ranks)
		text_addf(out, "all of %u ranks", t->processes[h->process].merged_ranks);
	else
		text_addf(out, "%u/%u", t->processes[h->process].pid, h->tid);
	if (*h->name)
		text_addf(out, " %s", h->name);
	if (h->own)
		text_add(out, " (of Kymo)");
}

uint32_t label_thread_of(enum tally_kind kind, const struct tally *row)
{
	return row->key[kind == TALLY_ERROR ? KEY_ERROR_THREAD : KEY_THREAD];
}

uint32_t label_queue_of(enum tally_kind kind, const struct tally *row)
{
	switch (kind) {
	case TALLY_DISPATCH:
		return row->key[KEY_DISPATCH_QUEUE];
	case TALLY_COPY:
		return row->key[KEY_COPY_QUEUE];
	case TALLY_SYNC:
		return row->key[KEY_SYNC_QUEUE];
	default: /* the others know of none */
		return 0;
	}
}

/* Of calls that the program only counted no status is known. */
static void label_status(struct text *out, const struct trace *t, const struct tally *row,
			 bool code)
{
	uint32_t op = row->key[KEY_ERROR_OP] < t->ops_count ? row->key[KEY_ERROR_OP] : 0;
	int32_t status = (int32_t)row->key[KEY_ERROR_STATUS];
	const char *name = rec_status_name(&t->ops[op], status);

	if (row->key[KEY_ERROR_UNCODED])
		text_add(out, code ? "" : "(not kept)");
	else if (code)
		text_addf(out, "%d", status);
	else
		text_add(out, name ? name : "");
}

void label_add(struct text *out, const struct summary *s, enum tally_kind kind,
	       const struct tally *row, unsigned by)
{
	const struct trace *t = s->trace;
	uint32_t process = row->key[KEY_PROCESS] < t->processes_count ? row->key[KEY_PROCESS] : 0;

	switch (by) {
	case BY_TRACE:
		text_add(out, s->path);
		break;
	case BY_NODE:
		text_add(out, t->processes[process].merged_ranks ? "all"
								 : t->processes[process].hostname);
		break;
	case BY_RANK:
		label_rank(out, t, &t->processes[process]);
		break;
	case BY_PROCESS:
		label_process(out, t, process);
		break;
	case BY_THREAD:
		label_thread(out, t, label_thread_of(kind, row));
		break;
	case BY_DEVICE:
	case BY_SUBDEVICE:
		label_agent_of(out, t, kind, row, by == BY_SUBDEVICE);
		break;
	case BY_QUEUE:
		label_queue(out, t, process, label_queue_of(kind, row), true);
		break;
	case BY_PEER:
		label_peer(out, t, row);
		break;
	case BY_SCOPE:
	case BY_SITE:
		if (kind == TALLY_LEAK) {
			label_leak(out, s, row);
			break;
		} /* fallthrough */
	case BY_STACK:
	case BY_GRID:
	case BY_LIBRARY:
		details_add(out, s->details, row->key[TALLY_SCOPE], by);
		break;
	case BY_KERNEL:
		label_kernel(out, t, row);
		break;
	case BY_COMMUNICATOR:
		label_communicator(out, s, kind, row);
		break;
	case BY_DIRECTION:
		label_way(out, t, row);
		break;
	case BY_SIZE:
		label_size(out, row->key[KEY_COPY_SIZE_CLASS]);
		break;
	case BY_MEMORY:
		text_add(out, name_memory_kind(row->key[kind == TALLY_LEAK ? KEY_LEAK_KIND
									   : KEY_ALLOCATION_KIND]));
		break;
	case BY_STATUS:
	case BY_CODE:
		label_status(out, t, row, by == BY_CODE);
		break;
	default:
		label_op(out, t, kind, row);
	}
}
