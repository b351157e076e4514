/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of ROCpd as those of a trace; see reader.h. */
#include "formats/rocpd/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/rocpd/columns.h"
#include "record/fields.h"
#include "stream/make.h"

/* ---- texts ------------------------------------------------------------------------------------- */

static const char *keep(struct reader *r, const struct dbvalue *v)
{
	return v->type == DB_TEXT ? trace_string(r->t, v->text, v->length) : "";
}

/* Number of the text + 1; 0: no memory. */
static uint64_t add_text(struct reader *r, const char *text)
{
	if (!vec_reserve(&r->texts, &r->texts_room, r->texts_count, 1))
		return 0;
	r->texts[r->texts_count] = text;
	return ++r->texts_count;
}

const char *model_text(const struct reader *r, const struct set *s, int64_t row)
{
	uint64_t i = map_get(&s->strings, (uint64_t)row);

	return i ? r->texts[i - 1] : "";
}

/* ---- walks over tables of definitions ---------------------------------------------------------- */

typedef bool (*take_row)(struct reader *r, struct set *s, const struct dbrow *row);

/* False: no memory. */
static bool each(struct reader *r, struct set *s, enum rocpd_table table, take_row take)
{
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbwalk w;
	struct dbrow row;
	bool ok = true;

	if (!s->tables[table].root)
		return true;
	dbwalk_init(&w, s->file, s->tables[table].root);
	while (ok && dbwalk_next(&w))
		if (dbrow_read(&s->tables[table], &w, all, &row))
			ok = take(r, s, &row);
	dbwalk_release(&w);
	return ok;
}

static uint32_t index_of(const struct map *m, int64_t row)
{
	uint64_t i = map_get(m, (uint64_t)row);

	return i ? (uint32_t)i - 1 : 0;
}

static bool set_index(struct map *m, int64_t row, uint32_t index)
{
	return map_set(m, (uint64_t)row, index + UINT64_C(1));
}

static bool take_string(struct reader *r, struct set *s, const struct dbrow *row)
{
	uint64_t i = add_text(r, keep(r, dbrow_value(row, C_STRING_TEXT)));

	return i && map_set(&s->strings, (uint64_t)row->id, i);
}

static bool take_queue_name(struct reader *r, struct set *s, const struct dbrow *row)
{
	uint64_t i = add_text(r, keep(r, dbrow_value(row, C_QUEUE_NAME)));

	return i && map_set(&s->queue_names, (uint64_t)row->id, i);
}

static bool take_stream_name(struct reader *r, struct set *s, const struct dbrow *row)
{
	uint64_t i = add_text(r, keep(r, dbrow_value(row, C_QUEUE_NAME)));

	return i && map_set(&s->stream_names, (uint64_t)row->id, i);
}

/* The name of the only node that sets have, mostly. */
static bool take_node(struct reader *r, struct set *s, const struct dbrow *row)
{
	uint64_t i = add_text(r, keep(r, dbrow_value(row, C_NODE_HOST)));

	return i && map_set(&s->live, (uint64_t)row->id, i); /* until processes have it */
}

static const char *first_word(struct reader *r, const char *command)
{
	return trace_string(r->t, command, strcspn(command, " "));
}

/* Nothing is known of it but where it was read. */
static struct t_process *add_process(struct reader *r, const char *path)
{
	struct t_process *p = trace_add(r->t, processes);

	p->rank = p->of_rank = UINT32_MAX;
	p->exit_status = p->thread_level = -1;
	p->argv = p->exe = p->hostname = "";
	p->cwd = p->job = p->version = p->mpi = p->rank_by = p->filters = "";
	p->file = trace_string(r->t, path, strlen(path));
	return p;
}

/* A text that Kymo wrote beside the columns; `otherwise` where it did not. */
static const char *own_text(struct reader *r, const struct dbvalue *extdata, const char *key,
			    const char *otherwise)
{
	const char *text, *kept;
	uint32_t length;
	char *plain;

	if (!json_find_text(extdata, key, &text, &length) || !length)
		return otherwise;
	plain = malloc(length);
	if (!plain)
		return otherwise;
	kept = trace_string(r->t, plain, json_unescape(text, length, plain, length));
	free(plain);
	return kept;
}

static void own_number(const struct dbvalue *extdata, const char *key, uint32_t *out)
{
	int64_t n;

	if (json_find_number(extdata, key, &n) && n >= 0 && n <= UINT32_MAX)
		*out = (uint32_t)n;
}

/* What it was in its job, and how it ended, as Kymo writes it. */
static void own_role(struct reader *r, struct t_process *p, const struct dbvalue *extdata)
{
	struct dbvalue own;
	int64_t n;

	if (!json_find_rest(extdata, "kymo", &own))
		return;
	own_number(&own, "rank", &p->rank);
	own_number(&own, "ranks", &p->ranks);
	own_number(&own, "of_rank", &p->of_rank);
	p->rank_by = own_text(r, &own, "rank_by", "");
	p->job = own_text(r, &own, "job", "");
	p->mpi = own_text(r, &own, "mpi", "");
	p->name = own_text(r, &own, "name", NULL);
	p->exe = own_text(r, &own, "exe", p->exe);
	if (json_find_number(&own, "thread_level", &n) && n >= -1 && n <= 3)
		p->thread_level = (int32_t)n;
	p->telemetry = json_find_number(&own, "telemetry", &n) && n == 1;
	p->how_ended = UINT32_MAX; /* unless Kymo saw how */
	own_number(&own, "how_ended", &p->how_ended);
	if (json_find_number(&own, "exit_status", &n) && n >= INT32_MIN && n <= INT32_MAX)
		p->exit_status = (int32_t)n;
}

static bool take_process(struct reader *r, struct set *s, const struct dbrow *row)
{
	struct t_process *p = add_process(r, s->path);
	uint32_t index = r->t->processes_count - 1;
	uint64_t host = map_get(&s->live, (uint64_t)row_number(r, row, C_PROCESS_NODE));
	int64_t start = row_number(r, row, C_PROCESS_START), offset = 0;

	p->pid = (uint32_t)row_number(r, row, C_PROCESS_PID);
	p->ppid = (uint32_t)row_number(r, row, C_PROCESS_PPID);
	p->argv = keep(r, dbrow_value(row, C_PROCESS_COMMAND));
	p->exe = first_word(r, p->argv);
	p->hostname = host ? r->texts[host - 1] : "";
	own_role(r, p, dbrow_value(row, C_PROCESS_EXTDATA));
	p->start = start ? start : row_number(r, row, C_PROCESS_INIT);
	p->end = row_number(r, row, C_PROCESS_END);
	p->end = p->end ? p->end : row_number(r, row, C_PROCESS_FINI);
	if (json_find_number(dbrow_value(row, C_PROCESS_EXTDATA), "lost_records", &offset) &&
	    offset > 0)
		p->lost_records = (uint64_t)offset;
	if (json_find_number(dbrow_value(row, C_PROCESS_EXTDATA), "realtime_offset_ns", &offset) &&
	    offset) {
		p->realtime_offset = offset;
		p->start_realtime = p->start + offset;
	}
	s->process = s->process ? s->process : index;
	return set_index(&s->processes, row->id, index);
}

static bool has_records(const struct set *s)
{
	static const uint8_t tables[] = {T_THREAD,   T_REGION, T_SAMPLE,
					 T_DISPATCH, T_COPY,   T_ALLOCATION};
	bool any = false;

	for (size_t i = 0; i < sizeof(tables) && !any; i++) {
		struct dbwalk w;

		if (!s->tables[tables[i]].root)
			continue;
		dbwalk_init(&w, s->file, s->tables[tables[i]].root);
		any = dbwalk_next(&w);
		dbwalk_release(&w);
	}
	return any;
}

/* Records without a row of their process, as in damaged files, are of one of which nothing is known. */
static void add_unknown_process(struct reader *r, struct set *s)
{
	add_process(r, s->path)->lost_definitions = 1;
	s->process = r->t->processes_count - 1;
	stream_warn(r->o->log,
		    "%s: no row of a process can be read: what it did is of an unknown one",
		    s->path);
}

static uint32_t process_of(const struct set *s, int64_t row)
{
	uint32_t i = index_of(&s->processes, row);

	return i ? i : s->process;
}

static bool take_thread(struct reader *r, struct set *s, const struct dbrow *row)
{
	struct t_thread *h = trace_add(r->t, threads);

	h->process = process_of(s, row_number(r, row, C_THREAD_PROCESS));
	h->tid = (uint32_t)row_number(r, row, C_THREAD_ID);
	h->name = keep(r, dbrow_value(row, C_THREAD_NAME));
	h->start = row_number(r, row, C_THREAD_START);
	h->end = row_number(r, row, C_THREAD_END);
	h->main = h->tid == r->t->processes[h->process].pid;
	h->index = r->t->threads_count - 1;
	return set_index(&s->threads, row->id, r->t->threads_count - 1);
}

/* A CPU is the host, but one that Kymo wrote as a device that a runtime has. */
static bool is_host(const struct dbrow *row)
{
	const char *label;
	uint32_t length;

	if (!dbvalue_is(dbrow_value(row, C_AGENT_TYPE), "CPU"))
		return false;
	return !json_find_text(dbrow_value(row, C_AGENT_EXTDATA), "label", &label, &length) ||
	       (length == 4 && memcmp(label, "host", 4) == 0);
}

static bool take_agent(struct reader *r, struct set *s, const struct dbrow *row)
{
	const char *product = keep(r, dbrow_value(row, C_AGENT_PRODUCT));
	struct dbvalue own;
	struct t_agent *a;

	if (is_host(row))
		return set_index(&s->agents, row->id, 0);
	a = trace_add(r->t, agents);
	a->process = process_of(s, row_number(r, row, C_AGENT_PROCESS));
	a->type = dbvalue_is(dbrow_value(row, C_AGENT_TYPE), "CPU")   ? "cpu"
		  : dbvalue_is(dbrow_value(row, C_AGENT_TYPE), "NIC") ? "nic"
								      : "gpu";
	if (json_find_rest(dbrow_value(row, C_AGENT_EXTDATA), "kymo", &own))
		a->type = own_text(r, &own, "type", a->type);
	a->name = *product ? product : keep(r, dbrow_value(row, C_AGENT_NAME));
	a->vendor = keep(r, dbrow_value(row, C_AGENT_VENDOR));
	a->driver = a->domain = a->platform = a->properties = "";
	a->handle = (uint64_t)row_number(r, row, C_AGENT_ABSOLUTE);
	return set_index(&s->agents, row->id, r->t->agents_count - 1);
}

static bool take_program(struct reader *r, struct set *s, const struct dbrow *row)
{
	struct t_program *p = trace_add(r->t, programs);

	p->process = process_of(s, row_number(r, row, C_CODE_PROCESS));
	p->handle = (uint64_t)row_number(r, row, C_CODE_BASE);
	p->domain = "";
	p->kind = "binary";
	p->name = keep(r, dbrow_value(row, C_CODE_URI));
	return true;
}

static bool take_kernel(struct reader *r, struct set *s, const struct dbrow *row)
{
	struct t_kernel *k = trace_add(r->t, kernels);
	const char *name = keep(r, dbrow_value(row, C_SYMBOL_DISPLAY));

	k->process = process_of(s, row_number(r, row, C_SYMBOL_PROCESS));
	k->handle = (uint64_t)row_number(r, row, C_SYMBOL_OBJECT);
	k->domain = k->symbol = k->framework = k->source = k->device = "";
	k->name = *name ? name : keep(r, dbrow_value(row, C_SYMBOL_NAME));
	return set_index(&s->kernels, row->id, r->t->kernels_count - 1);
}

static bool take_counter(struct reader *r, struct set *s, const struct dbrow *row)
{
	struct t_counter *c = trace_add(r->t, counters);

	c->process = process_of(s, row_number(r, row, C_PMC_PROCESS));
	c->agent = index_of(&s->agents, row_number(r, row, C_PMC_AGENT));
	c->flags = dbvalue_is(dbrow_value(row, C_PMC_TYPE), "ABS") ? 1 : 0;
	c->name = keep(r, dbrow_value(row, C_PMC_NAME));
	c->unit = keep(r, dbrow_value(row, C_PMC_UNITS));
	c->description = keep(r, dbrow_value(row, C_PMC_DESCRIPTION));
	c->provider = keep(r, dbrow_value(row, C_PMC_COMPONENT));
	c->dimensions = "";
	return set_index(&s->counters, row->id, r->t->counters_count - 1);
}

/* Thread << 32 | name's row. */
static bool take_track(struct reader *r, struct set *s, const struct dbrow *row)
{
	uint64_t thread = index_of(&s->threads, row_number(r, row, C_TRACK_THREAD));
	uint64_t name = (uint64_t)row_number(r, row, C_TRACK_NAME) & UINT32_MAX;

	return map_set(&s->tracks, (uint64_t)row->id, (thread << 32 | name) + 1);
}

/* ---- ops --------------------------------------------------------------------------------------- */

static uint32_t add_op(struct reader *r, uint32_t domain, const char *name, uint32_t flags,
		       uint32_t number)
{
	struct t_op *op = trace_add(r->t, ops);

	op->name = name;
	op->domain = domain;
	op->flags = flags;
	op->number = number;
	return r->t->ops_count - 1;
}

static uint64_t op_key(uint32_t domain, const char *name)
{
	return hash_mix(hash_u64(domain), hash_string(name));
}

/* Waits are regions, which are found by their names. False: no memory. */
static bool add_activities(struct reader *r)
{
	static const uint8_t domains[] = {
		[ACTIVITY_DISPATCH] = RECORD_DOMAIN_dispatch,
		[ACTIVITY_COPY] = RECORD_DOMAIN_copy,
		[ACTIVITY_ALLOCATION] = RECORD_DOMAIN_allocation,
		[ACTIVITY_MARKER] = RECORD_DOMAIN_marker,
		[ACTIVITY_COUNTER] = RECORD_DOMAIN_counter,
		[ACTIVITY_SYNC] = RECORD_DOMAIN_sync,
	};
	struct make_activities a;
	uint32_t waits;
	bool ok = true;

	make_usual_activities(r->t, &a);
	for (size_t i = 0; i < sizeof(domains); i++)
		r->activity[i] = make_activity(&a, domains[i], 0);
	waits = r->t->ops[r->activity[ACTIVITY_SYNC]].domain;
	for (uint32_t i = r->activity[ACTIVITY_SYNC]; ok && i < r->t->ops_count; i++)
		if (r->t->ops[i].domain == waits)
			ok = map_add(&r->by_name, op_key(waits, r->t->ops[i].name), i);
	return ok;
}

static const struct {
	const char *begins, *domain;
} domains[] = {
	{"HIP_COMPILER_", "hip_compiler"},
	{"HIP_", "hip"},
	{"HSA_", "hsa"},
	{"RCCL_", "rccl"},
	{"ROCDECODE_", "rocdecode"},
	{"ROCJPEG_", "rocjpeg"},
	{"OMPT", "openmp"},
};

/* "CUDA_API" is cuda. */
static void domain_name(const char *category, char *out, size_t size)
{
	size_t n = strlen(category);

	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++) {
		if (strncmp(category, domains[i].begins, strlen(domains[i].begins)) == 0) {
			snprintf(out, size, "%s", domains[i].domain);
			return;
		}
	}
	if (n > 8 && strcmp(category + n - 8, "_API_EXT") == 0)
		n -= 8;
	else if (n > 6 && strcmp(category + n - 6, "_EVENT") == 0)
		n -= 6;
	else if (n > 4 && strcmp(category + n - 4, "_API") == 0)
		n -= 4;
	n = n < size - 1 ? n : size - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = category[i] >= 'A' && category[i] <= 'Z' ? (char)(category[i] + 32)
								  : category[i];
	out[n] = '\0';
	if (!n)
		snprintf(out, size, "unknown");
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

static uint32_t find_op(struct reader *r, const char *category, const char *name)
{
	uint32_t domain, flags = ends_with(category, "_EVENT") ? KYMO_OP_ACTIVITY : 0;
	uint64_t key, i;
	char text[80];

	domain_name(category, text, sizeof(text));
	domain = strcmp(text, "sync") == 0 ? make_domain(r->t, text, text)
					   : make_foreign_domain(r->t, text);
	key = op_key(domain, name);
	map_each(&r->by_name, key, i) {
		if (r->t->ops[i].domain == domain && strcmp(r->t->ops[i].name, name) == 0)
			return (uint32_t)i;
	}
	i = add_op(r, domain, name, flags, trace_next_op(r->t, domain));
	return map_add(&r->by_name, key, i) ? (uint32_t)i : 0;
}

uint32_t model_op(struct reader *r, struct set *s, uint64_t category, uint64_t name)
{
	uint64_t key = (category & UINT32_MAX) << 32 | (name & UINT32_MAX),
		 i = map_get(&s->ops, key);
	const char *text = model_text(r, s, (int64_t)category);

	if (i)
		return (uint32_t)i - 1;
	if (r->complete) {
		unplaced_add(&r->skipped, "operations that pages tell in two ways", 1);
		return 0;
	}
	i = strncmp(text, "MARKER_", 7) == 0 ? r->activity[ACTIVITY_MARKER] + MARKER_OP_RANGE
					     : find_op(r, text, model_text(r, s, (int64_t)name));
	map_set(&s->ops, key, i + 1);
	return (uint32_t)i;
}

/* ---- queues ------------------------------------------------------------------------------------ */

/* The stream that the user put it in, where there is more than the default one, else the queue. */
uint32_t model_queue(struct reader *r, struct set *s, uint32_t agent, int64_t stream, int64_t queue)
{
	const struct map *names = stream ? &s->stream_names : &s->queue_names;
	int64_t row = stream ? stream : queue;
	uint64_t key = (uint64_t)agent << 32 | (uint64_t)(row & INT32_MAX) << 1 | (stream != 0);
	uint64_t i = map_get(&s->queues, key), name;
	struct t_queue *q;

	if (i)
		return (uint32_t)i;
	if (r->complete) {
		unplaced_add(&r->skipped, "queues that pages tell in two ways", 1);
		return 0;
	}
	q = trace_add(r->t, queues);
	q->process = r->t->agents[agent].process;
	q->agent = agent;
	q->handle = (uint64_t)row;
	q->domain = "";
	name = map_get(names, (uint64_t)row);
	q->name = name ? r->texts[name - 1] : "";
	map_set(&s->queues, key, r->t->queues_count - 1);
	return r->t->queues_count - 1;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static bool read_definitions(struct reader *r, struct set *s)
{
	static const struct {
		enum rocpd_table table;
		take_row take;
	} order[] = {
		{T_STRING, take_string},    {T_NODE, take_node},         {T_PROCESS, take_process},
		{T_THREAD, take_thread},    {T_AGENT, take_agent},       {T_CODE, take_program},
		{T_SYMBOL, take_kernel},    {T_PMC, take_counter},       {T_TRACK, take_track},
		{T_QUEUE, take_queue_name}, {T_STREAM, take_stream_name}};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (!each(r, s, order[i].table, order[i].take))
			return false;
		if (order[i].table == T_PROCESS && !s->process && has_records(s))
			add_unknown_process(r, s);
	}
	map_clear(&s->live);
	return true;
}

/* What was run: the program, not what sampled the node beside it. */
static void name_command(struct reader *r)
{
	for (uint32_t i = r->t->processes_count; i-- > 1;) {
		const struct t_process *p = &r->t->processes[i];

		if (!p->telemetry && *p->argv)
			r->t->command = p->argv;
	}
}

kymo_status_t model_read(struct reader *r)
{
	r->t = trace_new();
	if (!r->t)
		return KYMO_ERROR_NO_MEMORY;
	r->t->path = trace_string(r->t, r->paths[0], strlen(r->paths[0]));
	r->t->imported = r->t->path;
	r->t->imported_format = "rocpd";
	r->t->command = r->t->hostname = r->t->version = "";
	if (!add_activities(r))
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < r->sets_count; i++)
		if (!read_definitions(r, &r->sets[i]))
			return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < r->missing_count; i++) {
		struct t_process *p = add_process(r, r->missing[i]);

		p->file_state = FILE_MISSING;
		p->how_ended = UINT32_MAX;
	}
	name_command(r);
	return trace_failed(r->t) ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}
