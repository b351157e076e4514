/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of the processor, whose frames lie in another table under the number of their sample; see reader.h. */
#include <string.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "formats/nsys/columns.h"
#include "formats/nsys/reader.h"

enum { FRAMES_MAX = 256 };

/* Of samples that have been taken, in r->chains: a second one of that number has no frames. */
#define CHAIN_TAKEN UINT64_MAX

static uint64_t chain_key(int64_t sample)
{
	return hash_u64((uint64_t)sample);
}

/* Frames of one sample follow each other: where the first one lies is enough. */
static void note_chain(struct reader *r, const struct dbrow *row, uint32_t source)
{
	int64_t sample = nsys_number(r, row, C_FRAME_SAMPLE);

	if ((r->chains.count && sample == r->last_chain) || row->id == -1)
		return;
	r->last_chain = sample;
	if (map_get(&r->chains, chain_key(sample)))
		unplaced_add(&r->left_out, "stacks in several parts: the first is taken", 1);
	else if (!bulk_map_set(&r->chains, chain_key(sample), (uint64_t)row->id + 1))
		r->failed = true;
}

struct frame {
	int64_t depth;
	struct keyed_place place;
	uint64_t address;
	bool kernel;
};

struct chain {
	struct frame frames[FRAMES_MAX];
	uint32_t count;
};

/* "function" of the module; where the function is not known its text is the address again. */
static struct frame frame_of(struct reader *r, const struct dbrow *row)
{
	struct frame f = {.depth = nsys_number(r, row, C_FRAME_DEPTH),
			  .address = (uint64_t)nsys_number(r, row, C_FRAME_ADDRESS),
			  .kernel = nsys_number(r, row, C_FRAME_KERNEL) != 0};

	if (dbrow_has(row, C_FRAME_MODULE))
		f.place.file = nsys_text(r, nsys_number(r, row, C_FRAME_MODULE));
	if (dbrow_has(row, C_FRAME_SYMBOL) &&
	    !(f.address && nsys_number(r, row, C_FRAME_UNRESOLVED)))
		f.place.function = nsys_text(r, nsys_number(r, row, C_FRAME_SYMBOL));
	f.place.address = f.address;
	return f;
}

/* Keeps them in order, which they have, as a rule; where there is no room the outermost gives way. */
static void put_frame(struct reader *r, struct chain *c, const struct frame *f)
{
	uint32_t at = c->count;

	while (at && c->frames[at - 1].depth > f->depth)
		at--;
	if (c->count == FRAMES_MAX)
		unplaced_add(&r->left_out, "frames of deep stacks", 1);
	if (at == FRAMES_MAX)
		return;
	c->count -= c->count == FRAMES_MAX;
	memmove(&c->frames[at + 1], &c->frames[at], (c->count - at) * sizeof(*c->frames));
	c->frames[at] = *f;
	c->count++;
}

static void read_chain(struct reader *r, int64_t sample, struct chain *c)
{
	uint64_t first = map_get(&r->chains, chain_key(sample));
	struct dbwalk *w = &r->chain_walk;
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;
	bool more;

	c->count = 0;
	if (!first || first == CHAIN_TAKEN)
		return;
	if (!bulk_map_set(&r->chains, chain_key(sample), CHAIN_TAKEN))
		r->failed = true;
	for (more = dbwalk_seek(w, (int64_t)(first - 1)); more; more = dbwalk_next(w)) {
		struct frame f;

		if (!dbrow_read(&r->tables[T_FRAME], w, all, &row))
			continue;
		if (nsys_number(r, &row, C_FRAME_SAMPLE) != sample)
			break;
		f = frame_of(r, &row);
		put_frame(r, c, &f);
	}
}

static uint32_t stack_of(struct reader *r, uint32_t process, const struct chain *c)
{
	uint32_t sites[FRAMES_MAX];

	for (uint32_t i = 0; i < c->count; i++)
		sites[i] = keyed_site(&r->keyed, process, &c->frames[i].place);
	return keyed_stack(&r->keyed, process, sites, c->count);
}

/* Where the program was: what the kernel did for it stands further in. */
static uint64_t address_of(const struct chain *c)
{
	uint32_t i = 0;

	while (i + 1 < c->count && c->frames[i].kernel)
		i++;
	return c->frames[i].address;
}

/* A column of row numbers is empty in the rows themselves. */
static int64_t sample_id(struct reader *r, const struct dbrow *row)
{
	return dbrow_has(row, C_SAMPLE_ID) ? nsys_number(r, row, C_SAMPLE_ID) : row->id;
}

static void collect_sample(struct reader *r, const struct dbrow *row, uint32_t source)
{
	struct chain c;
	struct assembly_item *i;
	int64_t time;

	if (!nsys_time(r, row, C_SAMPLE_TIME, &time))
		return;
	if (!dbrow_has(row, C_SAMPLE_THREAD)) {
		unplaced_lose(&r->left_out, "samples without a thread", 1);
		return;
	}
	read_chain(r, sample_id(r, row), &c);
	if (!c.count) {
		unplaced_lose(&r->left_out, "samples without a stack", 1);
		return;
	}
	/* It lies in calls and ranges of its thread. */
	i = assembly_add(&r->all, ASSEMBLY_MARK, source, row->id, (const int64_t[]){time, time});
	i->thread = nsys_thread(r, nsys_number(r, row, C_SAMPLE_THREAD));
	i->process = r->t->threads[i->thread].process;
	i->number = stack_of(r, i->process, &c) << 1 | c.frames[0].kernel;
	i->key = address_of(&c);
	if (dbrow_has(row, C_SAMPLE_CYCLES))
		unplaced_add(&r->left_out, "cycles of samples", 1);
}

void nsys_collect_samples(struct reader *r)
{
	if (!r->tables[T_SAMPLE].root) {
		if (r->tables[T_FRAME].root)
			unplaced_add(&r->left_out, "frames of samples that are not there",
				     dbtable_rows(&r->file, r->tables[T_FRAME].root));
		return;
	}
	dbwalk_init(&r->chain_walk, &r->file, r->tables[T_FRAME].root);
	nsys_each(r, T_FRAME, note_chain);
	nsys_each(r, T_SAMPLE, collect_sample);
	dbwalk_release(&r->chain_walk);
	bulk_map_release(&r->chains);
	make_activity(&r->model, RECORD_DOMAIN_sample, 0);
}

kymo_status_t nsys_deliver_sample(struct reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct dbrow *row)
{
	int64_t cpu = nsys_number(r, row, C_SAMPLE_CPU);
	struct rec_sample s = {.base = assembly_base(&r->all, i),
			       .cpu = cpu > 0 && cpu <= UINT32_MAX ? (uint32_t)cpu : 0,
			       .pc = i->key,
			       .kernel = i->number & 1};

	s.correlation = s.base.parent;
	s.base.stack = i->number >> 1;
	s.base.op = make_activity(&r->model, RECORD_DOMAIN_sample, SAMPLE_OP_PC);
	return sink->sample(sink, &s);
}
