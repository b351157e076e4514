/* SPDX-License-Identifier: Apache-2.0 */
/* Rows kept, and items of them; see reader.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/rocprofv3/reader.h"

#define PENDING (1u << 18)

uint32_t rp_text(struct rp_reader *r, const char *s, size_t n)
{
	return keyed_text(&r->keyed, s, n);
}

uint32_t rp_source(struct rp_reader *r, uint64_t key)
{
	uint32_t known = (uint32_t)map_get(&r->found_sources, key);

	if (known)
		return known - 1;
	if (!vec_reserve_zero(&r->sources, &r->source_room, r->source_count, 1) ||
	    !map_set(&r->found_sources, key, r->source_count + 1)) {
		r->failed = true;
		return 0;
	}
	return r->source_count++;
}

/* The process of a row: its own number, or that of its source. */
uint32_t rp_process(struct rp_reader *r, uint32_t source, uint64_t pid)
{
	struct rp_source *s = &r->sources[source];
	uint32_t process;

	if (!s->pid && pid <= UINT32_MAX)
		s->pid = (uint32_t)pid;
	if (!pid || pid > UINT32_MAX)
		pid = s->pid;
	process = keyed_process(&r->keyed, hash_mix(hash_u64(source), pid), (uint32_t)pid);
	if (!s->process)
		s->process = process;
	return process;
}

static uint64_t agent_key(uint32_t source, uint32_t by, uint64_t number)
{
	return hash_mix(hash_mix(hash_u64(source), by), number);
}

static void find_by(struct rp_reader *r, uint32_t source, uint32_t by, uint64_t number)
{
	uint64_t key = agent_key(source, by, number);

	/* Of two of one number the first one has it. */
	if (!map_get(&r->found_agents, key) && !map_set(&r->found_agents, key, r->agent_count))
		r->failed = true;
}

void rp_add_agent(struct rp_reader *r, struct rp_agent a)
{
	uint64_t key = (uint64_t)a.source << 1 | a.gpu;

	if (!vec_reserve(&r->agents, &r->agent_room, r->agent_count, 1)) {
		r->failed = true;
		return;
	}
	a.of_type = map_get(&r->of_type, key);
	if (!map_set(&r->of_type, key, a.of_type + 1))
		r->failed = true;
	r->agents[r->agent_count++] = a;
	find_by(r, a.source, BY_NODE, a.node);
	find_by(r, a.source, BY_LOGICAL, a.logical);
	find_by(r, a.source, BY_HANDLE, a.handle);
	find_by(r, a.source, a.gpu ? BY_TYPE_GPU : BY_TYPE_CPU, a.of_type);
}

bool rp_flush(struct rp_reader *r)
{
	size_t done = 0;

	while (done < r->pending.length) {
		ssize_t n = write(r->rows, r->pending.s + done, r->pending.length - done);

		if (n < 0 && errno != EINTR) {
			stream_error(r->o->log, "%s: there is no room for temporary files: %s",
				     r->path, strerror(errno));
			r->failed = true;
			return false;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	r->pending.length = 0;
	return !r->pending.failed;
}

static int64_t keep(struct rp_reader *r, const struct rp_row *row, const struct text *values)
{
	static const char zeros[8];
	uint64_t at = r->written;
	size_t n = sizeof(*row) + row->values;

	text_add_bytes(&r->pending, (const char *)row, sizeof(*row));
	if (row->values)
		text_add_bytes(&r->pending, values->s, row->values);
	text_add_bytes(&r->pending, zeros, -n & 7);
	r->written += n + (-n & 7);
	r->failed |= r->pending.failed;
	if (r->pending.length >= PENDING)
		rp_flush(r);
	return (int64_t)at;
}

void rp_add_row(struct rp_reader *r, struct rp_row *row, enum assembly_kind kind, uint32_t process,
		uint64_t tid, int64_t start, int64_t end, const struct text *values)
{
	int64_t times[] = {start, end};
	struct assembly_item *i;

	if (!assembly_is_time(start) || !assembly_is_time(end) || (!start && !end)) {
		unplaced_add(&r->left_out, "rows without a time", 1);
		return;
	}
	assembly_order_times(&r->left_out, times);
	i = assembly_add(&r->all, kind, row->what, 0, times);
	row->values = values && !values->failed ? (uint32_t)values->length : 0;
	i->process = process;
	i->key = row->correlation;
	if (tid <= UINT32_MAX)
		i->thread = keyed_thread(&r->keyed, hash_mix(hash_u64(process), tid), process,
					 (uint32_t)tid);
	i->row = keep(r, row, values);
}
