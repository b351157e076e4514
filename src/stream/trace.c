/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a struct trace: an arena for what never grows, doubling arrays for what does. */
#include "stream/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

#define ARENA_PIECE (256u << 10)
#define ELEMENT_MAX 512u

struct piece {
	struct piece *next;
	size_t used, size;
	_Alignas(16) char data[];
};

struct owner {
	struct trace trace; /* first: a trace is an owner */
	struct piece *pieces;
	struct map domains;              /* by hash of the name */
	struct map numbers;              /* domain -> number that its next op has, + 1 */
	uint32_t domains_seen, ops_seen; /* that are in these */
	bool failed;
	_Alignas(16) char scratch[ELEMENT_MAX];
};

static struct owner *owner_of(const struct trace *t)
{
	return (struct owner *)(uintptr_t)t;
}

bool trace_failed(const struct trace *t)
{
	return owner_of(t)->failed;
}

static struct piece *piece_add(struct owner *o, size_t bytes)
{
	size_t size = bytes > ARENA_PIECE / 4 ? bytes : ARENA_PIECE;
	struct piece *p = calloc(1, sizeof(*p) + size);

	if (!p) {
		o->failed = true;
		return NULL;
	}
	p->size = size;
	p->next = o->pieces;
	o->pieces = p;
	return p;
}

void *trace_alloc(struct trace *t, size_t bytes)
{
	struct owner *o = owner_of(t);
	struct piece *p = o->pieces;
	size_t need = (bytes + 15) & ~(size_t)15;
	void *result;

	if (!p || p->size - p->used < need)
		p = piece_add(o, need);
	if (!p)
		return NULL;
	result = p->data + p->used;
	p->used += need;
	return result;
}

struct trace_mark trace_mark(const struct trace *t)
{
	struct piece *p = owner_of(t)->pieces;

	return (struct trace_mark){p, p ? p->used : 0};
}

void trace_go_back(struct trace *t, struct trace_mark to)
{
	struct owner *o = owner_of(t);
	struct piece *p = to.piece;

	while (o->pieces && o->pieces != p) {
		struct piece *next = o->pieces->next;

		free(o->pieces);
		o->pieces = next;
	}
	if (!p)
		return;
	memset(p->data + to.used, 0, p->used - to.used);
	p->used = to.used;
}

const char *trace_string(struct trace *t, const char *s, size_t length)
{
	char *copy;

	if (length == 0)
		return "";
	copy = trace_alloc(t, length + 1);
	if (!copy)
		return "";
	memcpy(copy, s, length);
	return copy;
}

void *trace_grow(struct trace *t, void *array, uint32_t *count, uint32_t *room, size_t size)
{
	struct owner *o = owner_of(t);
	char *data;

	if (!vec_reserve_u32(array, room, *count, 1, size)) {
		o->failed = true;
		memset(o->scratch, 0, sizeof(o->scratch));
		return o->scratch;
	}
	memcpy(&data, array, sizeof(data));
	return memset(data + (*count)++ * size, 0, size);
}

/* Element 0 of each array: printing "none" must be safe. */
static void add_none(struct trace *t)
{
	*trace_add(t, domains) = (struct t_domain){.name = "", .title = ""};
	*trace_add(t, ops) = (struct t_op){.name = ""};
	*trace_add(t, processes) = (struct t_process){.exe = "",
						      .argv = "",
						      .cwd = "",
						      .hostname = "",
						      .job = "",
						      .file = "",
						      .version = "",
						      .mpi = "",
						      .rank_by = "",
						      .rank = UINT32_MAX,
						      .of_rank = UINT32_MAX};
	*trace_add(t, threads) = (struct t_thread){.name = ""};
	*trace_add(t, clocks) = (struct t_clock){.name = "", .error_ns = -1};
	*trace_add(t, agents) = (struct t_agent){.type = "",
						 .name = "",
						 .vendor = "",
						 .driver = "",
						 .domain = "",
						 .platform = "",
						 .properties = "",
						 .hardware = "",
						 .label = ""};
	*trace_add(t, contexts) = (struct t_device_context){.domain = ""};
	*trace_add(t, queues) = (struct t_queue){.domain = "", .name = "", .label = ""};
	*trace_add(t, blobs) = (struct t_blob){.what = "", .data = ""};
	*trace_add(t, programs) = (struct t_program){.domain = "", .kind = "", .name = ""};
	*trace_add(t, kernels) = (struct t_kernel){.domain = "",
						   .name = "",
						   .symbol = "",
						   .framework = "",
						   .source = "",
						   .device = ""};
	*trace_add(t, modules) = (struct t_module){.path = ""};
	trace_add(t, sites);
	trace_add(t, stacks);
	*trace_add(t, notes) = (struct t_note){.part = "", .text = ""};
	*trace_add(t, strings) = (struct t_string){.text = ""};
	*trace_add(t, communicators) = (struct t_communicator){.name = ""};
	*trace_add(t, counters) = (struct t_counter){
		.name = "", .unit = "", .description = "", .provider = "", .dimensions = ""};
	*trace_add(t, codes) = (struct t_code){.function = "", .file = ""};
	*trace_add(t, places) =
		(struct t_place){.function = "", .what = "", .kind = "", .file = ""};
	trace_add(t, open_calls);
	trace_add(t, unfinished);
	trace_add(t, left_out);
	trace_add(t, pauses);
	trace_add(t, tallies);
	trace_add(t, loads);
}

struct trace *trace_new(void)
{
	struct owner *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->trace.path = o->trace.command = o->trace.formulas = o->trace.hostname =
		o->trace.version = "";
	add_none(&o->trace);
	if (o->failed) {
		trace_free(&o->trace);
		return NULL;
	}
	return &o->trace;
}

void trace_free(struct trace *t)
{
	struct owner *o = owner_of(t);
	struct piece *next;

	if (!t)
		return;
	for (struct piece *p = o->pieces; p; p = next) {
		next = p->next;
		free(p);
	}
	void *arrays[] = {t->domains,    t->ops,        t->processes, t->threads,  t->clocks,
			  t->agents,     t->contexts,   t->queues,    t->blobs,    t->programs,
			  t->kernels,    t->modules,    t->sites,     t->stacks,   t->notes,
			  t->open_calls, t->unfinished, t->left_out,  t->pauses,   t->communicators,
			  t->tallies,    t->loads,      t->strings,   t->counters, t->codes,
			  t->places};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		free(arrays[i]);
	map_release(&o->domains);
	map_release(&o->numbers);
	free(o);
}

/* ---- names and numbers of operations ----------------------------------------------------------- */

/* Domains that were added since, by whomever, are in the map behind this. */
static void see_domains(struct owner *o)
{
	const struct trace *t = &o->trace;

	for (o->domains_seen += !o->domains_seen; o->domains_seen < t->domains_count;
	     o->domains_seen++)
		if (!map_add(&o->domains, hash_string(t->domains[o->domains_seen].name),
			     o->domains_seen))
			o->failed = true;
}

uint32_t trace_find_domain(struct trace *t, const char *name)
{
	struct owner *o = owner_of(t);
	uint64_t i;

	see_domains(o);
	map_each(&o->domains, hash_string(name), i) {
		if (strcmp(t->domains[i].name, name) == 0)
			return (uint32_t)i;
	}
	return 0;
}

uint32_t trace_next_op(struct trace *t, uint32_t domain)
{
	struct owner *o = owner_of(t);
	uint64_t next;

	for (o->ops_seen += !o->ops_seen; o->ops_seen < t->ops_count; o->ops_seen++) {
		const struct t_op *op = &t->ops[o->ops_seen];

		next = map_get(&o->numbers, op->domain + UINT64_C(1));
		if (op->number + UINT64_C(1) >= next &&
		    !map_set(&o->numbers, op->domain + UINT64_C(1), op->number + UINT64_C(2)))
			o->failed = true;
	}
	next = map_get(&o->numbers, domain + UINT64_C(1));
	return next ? (uint32_t)(next - 1) : 0;
}

/* Merge sort would do as well; sets are small and mostly sorted, so insertion it is. */
void trace_sort_enum_set(struct t_enum_set *set)
{
	for (uint32_t i = 1; i < set->count; i++) {
		kymo_enum_value_t v = set->values[i];
		uint32_t k = i;

		for (; k > 0 && set->values[k - 1].value > v.value; k--)
			set->values[k] = set->values[k - 1];
		set->values[k] = v;
	}
}

void trace_number_queues(struct trace *t)
{
	uint32_t *next = calloc(t->agents_count, sizeof(*next));

	if (!next) {
		owner_of(t)->failed = true;
		return;
	}
	for (uint32_t i = 1; i < t->queues_count; i++)
		t->queues[i].number = next[t->queues[i].agent]++;
	free(next);
	trace_label_queues(t);
}

struct world {
	const char *job;
	int64_t start;
	uint32_t index, number;
};

static int by_start(const void *x, const void *y)
{
	const struct world *a = x, *b = y;
	int order = (a->start > b->start) - (a->start < b->start);

	return order ? order : strcmp(a->job, b->job);
}

static int by_index(const void *x, const void *y)
{
	const struct world *a = x, *b = y;

	return (a->index > b->index) - (a->index < b->index);
}

/* Ranks of one world mostly follow on one another. */
static uint32_t find_world(struct world *list, uint32_t *count, uint32_t latest,
			   const struct t_process *p)
{
	uint32_t i = latest;

	if (*count && strcmp(list[i].job, p->job) != 0)
		for (i = 0; i < *count && strcmp(list[i].job, p->job) != 0; i++)
			;
	if (i == *count) {
		list[i] = (struct world){p->job, p->start, i, 0};
		++*count;
	}
	list[i].start = p->start < list[i].start ? p->start : list[i].start;
	return i;
}

/* One that belongs to a rank is of its world, too. */
static bool of_world(const struct t_process *p)
{
	if (p->file_state && !*p->job) /* of which job is not known: it makes none of its own */
		return false;
	return p->rank != UINT32_MAX || p->merged_ranks || p->of_rank != UINT32_MAX;
}

void trace_number_worlds(struct trace *t)
{
	struct world *list = calloc(t->processes_count, sizeof(*list));
	uint32_t count = 0, latest = 0;

	if (!list) {
		owner_of(t)->failed = true;
		return;
	}
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (of_world(&t->processes[i]))
			t->processes[i].world = latest =
				find_world(list, &count, latest, &t->processes[i]);
	qsort(list, count, sizeof(*list), by_start);
	for (uint32_t i = 0; i < count; i++)
		list[i].number = i;
	qsort(list, count, sizeof(*list), by_index);
	for (uint32_t i = 1; count && i < t->processes_count; i++)
		if (of_world(&t->processes[i]))
			t->processes[i].world = list[t->processes[i].world].number;
	t->worlds = count;
	free(list);
}

static int by_text(const void *x, const void *y)
{
	const char *const *a = x, *const *b = y;

	return strcmp(*a, *b);
}

/* Those that were compared are one; nodes are known by their names. */
uint32_t trace_clocks(const struct trace *t)
{
	const char **hosts = calloc(t->processes_count, sizeof(*hosts));
	uint32_t n = 0, clocks = 0;
	bool compared = false;

	for (uint32_t i = 1; hosts && i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		if (p->aligned || p->merged_ranks)
			compared |= !p->merged_ranks || p->merged_ranks > 1;
		else if (p->file_state == FILE_READ && p->start)
			hosts[n++] = p->hostname;
	}
	if (n)
		qsort(hosts, n, sizeof(*hosts), by_text);
	for (uint32_t i = 0; i < n; i++)
		clocks += i == 0 || strcmp(hosts[i], hosts[i - 1]) != 0;
	/* What others of a node have compared holds for all of it. */
	for (uint32_t i = 1; hosts && compared && clocks == 1 && i < t->processes_count; i++)
		if (t->processes[i].aligned && strcmp(t->processes[i].hostname, hosts[0]) == 0)
			compared = false;
	free(hosts);
	return clocks + compared;
}

struct span {
	const char *host;
	int64_t start, end;
};

static int by_host(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	return strcmp(a->host, b->host);
}

static uint64_t longest_of_a_node(struct span *list, uint32_t n)
{
	int64_t longest = 0, start = 0, end = 0;

	if (n)
		qsort(list, n, sizeof(*list), by_host);
	for (uint32_t i = 0; i < n; i++) {
		bool same = i > 0 && strcmp(list[i].host, list[i - 1].host) == 0;

		start = same && start < list[i].start ? start : list[i].start;
		end = same && end > list[i].end ? end : list[i].end;
		longest = end - start > longest ? end - start : longest;
	}
	return (uint64_t)longest;
}

uint64_t trace_duration(const struct trace *t)
{
	struct span *list;
	uint64_t longest;
	uint32_t n = 0;

	if (t->end <= t->origin)
		return 0;
	if (trace_clocks(t) <= 1)
		return (uint64_t)(t->end - t->origin);
	list = calloc(t->processes_count, sizeof(*list));
	for (uint32_t i = 1; list && i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];
		int64_t end = p->end ? p->end : p->seen;

		if (p->start && end > p->start)
			list[n++] = (struct span){p->hostname, p->start, end};
	}
	longest = longest_of_a_node(list, n);
	free(list);
	return longest;
}

int64_t trace_to_realtime(const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].realtime_offset)
			return t->processes[i].realtime_offset - t->processes[i].job_offset;
	return 0;
}
