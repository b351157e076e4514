/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing among what a trace lists itself; of what was counted, not recorded, by the keys of the counts. */
#include <string.h>

#include "stream/filter_parts.h"

static bool has_thread(uint32_t kind)
{
	return kind == TALLY_CALL || kind == TALLY_ACTIVITY || kind == TALLY_SYNC ||
	       kind == TALLY_MARKER || kind == TALLY_COUNTER || kind == TALLY_SAMPLE ||
	       kind == TALLY_COMM || kind == TALLY_LOSS || kind == TALLY_ERROR;
}

static uint32_t thread_of(const struct t_tally *y)
{
	return y->key[y->kind == TALLY_ERROR ? KEY_ERROR_THREAD : KEY_THREAD];
}

/* Ops of that domain are wanted: of counts that name none. */
static bool domain_wanted(const struct filter_binding *b, const char *domain)
{
	const struct trace *t = b->trace;

	for (uint32_t i = 1; i < t->ops_count; i++)
		if (b->ops[i] && strcmp(t->domains[t->ops[i].domain].name, domain) == 0)
			return true;
	return false;
}

static bool op_wanted(const struct filter_binding *b, const struct t_tally *y)
{
	if (!b->ops)
		return true;
	switch (y->kind) {
	case TALLY_DISPATCH:
		return domain_wanted(b, "dispatch");
	case TALLY_ALLOCATION:
	case TALLY_POOL:
		return domain_wanted(b, "allocation");
	case TALLY_SAMPLE:
		return domain_wanted(b, "sample");
	case TALLY_DEVICE_SAMPLE:
		return domain_wanted(b, "device_sample");
	case TALLY_LOSS:
		return true;
	case TALLY_COPY:
	case TALLY_ERROR:
	case TALLY_COMM_SIZE:
	case TALLY_COPY_SIZE:
		return b->ops[y->key[1]];
	default:
		return b->ops[y->key[KEY_OP]];
	}
}

static uint32_t agent_of_copy(const struct trace *t, const struct t_tally *y)
{
	uint32_t agent = t->queues[y->key[KEY_COPY_QUEUE]].agent;

	if (!agent)
		agent = y->key[KEY_COPY_DESTINATION_AGENT] ? y->key[KEY_COPY_DESTINATION_AGENT]
							   : y->key[KEY_COPY_SOURCE_AGENT];
	return agent;
}

static bool device_wanted(const struct filter_binding *b, const struct t_tally *y)
{
	uint32_t agent = 0, queue = 0;

	if (!b->only_devices)
		return true;
	switch (y->kind) {
	case TALLY_DISPATCH:
		agent = y->key[KEY_DISPATCH_AGENT];
		queue = y->key[KEY_DISPATCH_QUEUE];
		break;
	case TALLY_COPY:
		agent = agent_of_copy(b->trace, y);
		queue = y->key[KEY_COPY_QUEUE];
		break;
	case TALLY_SYNC:
		queue = y->key[KEY_SYNC_QUEUE];
		agent = b->trace->queues[queue].agent;
		break;
	case TALLY_ALLOCATION:
	case TALLY_POOL:
	case TALLY_DEVICE_SAMPLE:
		agent = y->key[1];
		break;
	default:
		return false;
	}
	return (!b->agents || b->agents[agent]) && (!b->queues || b->queues[queue]);
}

static bool is_wanted(const struct filter_binding *b, const struct t_tally *y)
{
	return !b->nothing && filter_process(b, y->key[KEY_PROCESS]) &&
	       (!b->threads || b->threads[thread_of(y)]) && op_wanted(b, y) &&
	       (!b->only_kernels || y->kind == TALLY_DISPATCH) &&
	       (!b->kernels || y->kind != TALLY_DISPATCH ||
		b->kernels[y->key[KEY_DISPATCH_KERNEL]]) &&
	       device_wanted(b, y);
}

/* Classes of sizes have no queue, and which device's they are is not always known. */
static bool can_tell(const struct filter_binding *b, const struct t_tally *y)
{
	return !b->host && !b->ranges && !b->counts && b->from == INT64_MIN && b->to == INT64_MAX &&
	       b->min_duration == INT64_MIN && (!b->threads || has_thread(y->kind));
}

static bool keep_tallies(const struct filter_binding *b, struct trace *t)
{
	uint32_t kept = 1;

	for (uint32_t i = 1; i < t->tallies_count; i++) {
		if (!can_tell(b, &t->tallies[i])) {
			if (t->tallies[i].beside)
				continue;
			stream_error(
				b->filter->log,
				"%s: calls and work were counted, not recorded (mode summary): "
				"of these process, rank, node, domain, operation, kernel, "
				"device and queue can be chosen, not time, range, number of "
				"an execution, call site, memory or the thread of device work; "
				"record with --mode "
				"default to choose by them",
				t->path);
			return false;
		}
		if (is_wanted(b, &t->tallies[i]))
			t->tallies[kept++] = t->tallies[i];
	}
	if (t->tallies_count)
		t->tallies_count = kept;
	return true;
}

static bool left_out_wanted(const struct filter_binding *b, const struct t_left_out *l)
{
	return !b->nothing && !b->only_kernels && !b->only_devices && !b->host && !b->ranges &&
	       b->from == INT64_MIN && b->to == INT64_MAX && b->min_duration == INT64_MIN &&
	       filter_op(b, l->op) && filter_thread(b, l->process, l->thread);
}

/* Element 0 of each list is "none" and stays. */
#define KEEP(t, list, wanted)                                                                      \
	do {                                                                                       \
		uint32_t kept_ = 1;                                                                \
                                                                                                   \
		for (uint32_t i = 1; i < (t)->list##_count; i++)                                   \
			if (wanted)                                                                \
				(t)->list[kept_++] = (t)->list[i];                                 \
		if ((t)->list##_count)                                                             \
			(t)->list##_count = kept_;                                                 \
	} while (0)

bool filter_lists(const struct filter_binding *b, struct trace *t)
{
	if (!keep_tallies(b, t))
		return false;
	KEEP(t, open_calls, filter_open_call(b, t, &t->open_calls[i]));
	KEEP(t, unfinished, filter_unfinished(b, t, &t->unfinished[i]));
	KEEP(t, left_out, left_out_wanted(b, &t->left_out[i]));
	KEEP(t, loads, false); /* are of all ranks */
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].unlisted && !filter_unlisted(b, t, i))
			t->processes[i].unlisted = 0;
	return true;
}
