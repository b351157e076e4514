/* SPDX-License-Identifier: Apache-2.0 */
/* Names of processes, threads, devices, queues and operations in summaries; see labels.h. */
#include <string.h>

#include "analysis/labels.h"
#include "analysis/scopes.h"
#include "stream/names.h"

#define LABEL_MAX 80 /* of a range, whose name can be anything */

const struct dimension dimensions[] = {
	{BY_TRACE, "trace", "trace"},     {BY_RANK, "rank", "rank"},
	{BY_PROCESS, "process", "process"}, {BY_THREAD, "thread", "thread"},
	{BY_DEVICE, "device", "device"},  {BY_QUEUE, "queue", "queue"},
	{BY_PEER, "peer", "peer"},        {BY_SCOPE, "scope", "scope"},     {BY_OP, "op", "name"},
};
const unsigned dimension_count = sizeof(dimensions) / sizeof(*dimensions);

unsigned summary_by_parse(const char *text, const char **bad, size_t *bad_length)
{
	unsigned by = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		unsigned i;

		for (i = 0; i < dimension_count; i++) {
			if (strlen(dimensions[i].name) == n &&
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
	const unsigned any = BY_TRACE | BY_RANK | BY_PROCESS;

	switch (kind) {
	case TALLY_CALL:
	case TALLY_ACTIVITY:
		return any | BY_THREAD | BY_SCOPE | BY_OP;
	case TALLY_COMM:
		return any | BY_THREAD | BY_PEER | BY_OP;
	case TALLY_MARKER:
		return any | BY_THREAD | BY_OP;
	case TALLY_DISPATCH:
	case TALLY_COPY:
		return any | BY_DEVICE | BY_QUEUE | BY_SCOPE | BY_OP;
	case TALLY_SYNC:
		return any | BY_THREAD | BY_QUEUE | BY_SCOPE | BY_OP;
	case TALLY_ERROR:
		return any | BY_OP;
	case TALLY_ALLOCATION:
	case TALLY_POOL:
		return any | BY_DEVICE;
	default:
		return any | BY_THREAD;
	}
}

void label_agent(struct text *out, const struct trace *t, uint32_t agent)
{
	const struct t_agent *a = &t->agents[agent < t->agents_count ? agent : 0];
	unsigned same = 0, before = 0;

	if (agent == 0 || agent >= t->agents_count) {
		text_add(out, "host");
		return;
	}
	for (uint32_t i = 1; i < t->agents_count; i++) {
		const struct t_agent *b = &t->agents[i];

		if (b->process != a->process || strcmp(b->name, a->name) != 0)
			continue;
		same++;
		before += i < agent;
	}
	text_add(out, *a->name ? a->name : a->type);
	if (same > 1)
		text_addf(out, " #%u", before);
}

static void label_queue(struct text *out, const struct trace *t, uint32_t queue, bool device)
{
	const struct t_queue *q = &t->queues[queue < t->queues_count ? queue : 0];

	if (queue == 0 || queue >= t->queues_count) {
		text_add(out, "no queue");
		return;
	}
	if (device) {
		label_agent(out, t, q->agent);
		text_add(out, " ");
	}
	text_addf(out, "queue %u", q->number);
	if (*q->name)
		text_addf(out, " (%s)", q->name);
}

/* The device a copy is counted for: the one it writes to, else the one it reads. */
static uint32_t copy_agent(const struct trace *t, const struct tally *row)
{
	uint32_t queue = row->key[2];

	if (row->key[4])
		return row->key[4];
	if (row->key[3])
		return row->key[3];
	return queue < t->queues_count ? t->queues[queue].agent : 0;
}

static void label_copy(struct text *out, const struct trace *t, const struct tally *row)
{
	uint32_t op = row->key[1];
	unsigned from = row->key[5] >> 8 & 0xff, to = row->key[5] & 0xff;

	text_add(out, op < t->ops_count ? t->ops[op].name : "");
	if (row->key[3] || row->key[4] || from || to) {
		text_add(out, " (");
		text_add(out, row->key[3] ? "device" : "host");
		if (from && !(row->key[3] && from == MEMORY_DEVICE))
			text_addf(out, " %s", name_memory_kind(from));
		text_add(out, " to ");
		text_add(out, row->key[4] ? "device" : "host");
		if (to && !(row->key[4] && to == MEMORY_DEVICE))
			text_addf(out, " %s", name_memory_kind(to));
		text_add(out, ")");
	}
}

/* "domain:name", the domain where the program uses them. */
static void label_marker(struct text *out, const struct trace *t, const struct tally *row)
{
	uint32_t name = row->key[3], domain = row->key[4];

	if (domain && domain < t->strings_count)
		text_addf(out, "%s:", t->strings[domain].text);
	if (!name || name >= t->strings_count)
		text_add(out, "(no name)");
	else
		text_addf(out, "%.*s%s", LABEL_MAX, t->strings[name].text,
			  t->strings[name].length > LABEL_MAX ? "..." : "");
}

static void label_op(struct text *out, const struct trace *t, enum tally_kind kind,
		     const struct tally *row)
{
	uint32_t op;

	if (kind == TALLY_COPY) {
		label_copy(out, t, row);
		return;
	}
	if (kind == TALLY_DISPATCH) {
		uint32_t k = row->key[3] < t->kernels_count ? row->key[3] : 0;

		text_add(out, k && *t->kernels[k].name ? t->kernels[k].name : "(unknown kernel)");
		return;
	}
	if (kind == TALLY_MARKER) {
		label_marker(out, t, row);
		return;
	}
	op = row->key[kind == TALLY_ERROR ? 1 : 2];
	text_add(out, op && op < t->ops_count ? t->ops[op].name : "(unknown operation)");
}

static void label_process(struct text *out, const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process < t->processes_count ? process : 0];

	text_addf(out, "%u %s", p->pid, name_program(p));
}

static void label_thread(struct text *out, const struct trace *t, uint32_t thread)
{
	const struct t_thread *h = &t->threads[thread < t->threads_count ? thread : 0];

	text_addf(out, "%u/%u", t->processes[h->process].pid, h->tid);
	if (*h->name)
		text_addf(out, " %s", h->name);
}

void label_add(struct text *out, const struct summary *s, enum tally_kind kind,
	       const struct tally *row, unsigned by)
{
	const struct trace *t = s->trace;
	uint32_t process = row->key[0] < t->processes_count ? row->key[0] : 0, rank;

	switch (by) {
	case BY_TRACE:
		text_add(out, s->path);
		break;
	case BY_RANK:
		rank = t->processes[process].rank;
		if (rank == UINT32_MAX)
			text_add(out, "none");
		else
			text_addf(out, "%u", rank);
		break;
	case BY_PROCESS:
		label_process(out, t, process);
		break;
	case BY_THREAD:
		label_thread(out, t, row->key[1]);
		break;
	case BY_DEVICE:
		label_agent(out, t, kind == TALLY_COPY ? copy_agent(t, row) : row->key[1]);
		break;
	case BY_QUEUE:
		label_queue(out, t, row->key[kind == TALLY_SYNC ? 3 : 2], true);
		break;
	case BY_PEER:
		if (row->key[4])
			text_addf(out, "%u", row->key[4] - 1);
		else
			text_add(out, "all");
		break;
	case BY_SCOPE:
		text_add(out, s->scopes ? scopes_text(s->scopes, row->key[TALLY_SCOPE]) : "");
		break;
	default:
		label_op(out, t, kind, row);
	}
}
