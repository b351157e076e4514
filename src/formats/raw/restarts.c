/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often drains of the trace ended unexpectedly and were followed by others. A drain says so in
 * its manifest, and in the file of each process that it was recording then: however many those are,
 * it is one note for the drains of a node.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/raw/internal.h"
#include "wire/raw.h"

enum { WARNING = 2 };

/* An entry of the node, which is added if there is none; NULL: no memory. */
static struct raw_restarts *of_node(struct raw_trace *rt, const char *host)
{
	struct raw_restarts *r;

	for (uint32_t i = 0; i < rt->restart_count; i++)
		if (strcmp(rt->restarts[i].host, host) == 0)
			return &rt->restarts[i];
	if (!vec_reserve(&rt->restarts, &rt->restart_room, rt->restart_count, 1))
		return NULL;
	r = &rt->restarts[rt->restart_count++];
	*r = (struct raw_restarts){.host = host};
	return r;
}

/* A reason that is not that of all of them is none. */
static void same_reason(struct raw_restarts *r, int32_t sig, int32_t status)
{
	bool first = r->times == 0;

	r->signal = first || r->signal == sig ? sig : 0;
	r->status = first || r->status == status ? status : 0;
}

void raw_add_restarts(struct raw_trace *rt, const char *host, uint64_t times, int32_t sig,
		      int32_t status)
{
	struct raw_restarts *r = times && times <= RESTARTS_MAX ? of_node(rt, host) : NULL;

	if (!r)
		return;
	same_reason(r, sig, status);
	r->times += (uint32_t)times;
}

/* ---- what files say ----------------------------------------------------------------------------
 */

static bool is_restart(const struct t_note *n)
{
	return n->process && strcmp(n->part, "drain") == 0 &&
	       strncmp(n->text, RAW_NOTE_DRAIN_ENDED, strlen(RAW_NOTE_DRAIN_ENDED)) == 0;
}

/* A process has been through no more restarts than its drain has had, so the most of one are taken.
 */
static void take_note(struct raw_trace *rt, const struct t_note *n, uint32_t of_process)
{
	const char *reason = n->text + strlen(RAW_NOTE_DRAIN_ENDED);
	struct raw_restarts *r = of_node(rt, rt->trace->processes[n->process].hostname);
	int sig = 0, status = 0;

	if (!r)
		return;
	if (sscanf(reason, "signal %d", &sig) != 1 && sscanf(reason, "status %d", &status) != 1)
		sig = status = 0;
	same_reason(r, sig, status);
	r->times = of_process > r->times ? of_process : r->times;
}

/* Takes them out; without a manifest that tells it they are the number. */
static void take_notes(struct raw_trace *rt)
{
	struct trace *t = rt->trace;
	bool told = rt->restart_count;
	uint32_t kept = 1, process = 0, times = 0;

	for (uint32_t i = 1; i < t->notes_count; i++) {
		struct t_note n = t->notes[i];

		if (!is_restart(&n)) {
			t->notes[kept++] = n;
			continue;
		}
		times = n.process == process ? times + 1 : 1;
		process = n.process;
		if (!told)
			take_note(rt, &n, times);
	}
	t->notes_count = kept;
}

/* ---- what the trace says -----------------------------------------------------------------------
 */

static bool several_nodes(const struct trace *t)
{
	for (uint32_t i = 2; i < t->processes_count; i++)
		if (strcmp(t->processes[i].hostname, t->processes[1].hostname) != 0)
			return true;
	return false;
}

static void add_note(struct trace *t, const struct raw_restarts *r, bool named)
{
	struct t_note *n = trace_add(t, notes);
	char text[256], reason[64] = "ended unexpectedly";

	if (r->signal || r->status)
		snprintf(reason, sizeof(reason), "was ended by %s %d",
			 r->signal ? "signal" : "status", r->signal ? r->signal : r->status);
	snprintf(text, sizeof(text), "the drain%s%s %s; another went on in its place",
		 named ? " of " : "", named ? r->host : "", reason);
	*n = (struct t_note){.severity = WARNING,
			     .part = "drain",
			     .count = r->times,
			     .text = trace_string(t, text, strlen(text))};
}

void raw_settle_restarts(struct raw_trace *rt)
{
	bool named;

	take_notes(rt);
	named = rt->restart_count > 1 || several_nodes(rt->trace);
	for (uint32_t i = 0; i < rt->restart_count; i++)
		add_note(rt->trace, &rt->restarts[i], named);
	free(rt->restarts);
	rt->restarts = NULL;
	rt->restart_count = rt->restart_room = 0;
}
