/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as items, with the operations, threads and names that only they define; see reader.h. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "formats/nsys/columns.h"
#include "formats/nsys/reader.h"

/* ---- times ------------------------------------------------------------------------------------- */

bool nsys_time(struct reader *r, const struct dbrow *row, unsigned column, int64_t *out)
{
	return assembly_time(&r->left_out, dbrow_integer(row, column, &r->wrong, out), out);
}

static bool take_times(struct reader *r, const struct dbrow *row, unsigned start, unsigned end,
		       int64_t out[2])
{
	if (!nsys_time(r, row, start, &out[0]) || !nsys_time(r, row, end, &out[1]))
		return false;
	assembly_order_times(&r->left_out, out);
	return true;
}

/* ---- calls ------------------------------------------------------------------------------------- */

const struct nsys_argument nsys_arguments[] = {{C_CALL_RETURN, "return", KYMO_KIND_SIGNED},
					       {C_CALL_COMM, "comm", KYMO_KIND_UNSIGNED},
					       {C_CALL_TAG, "tag", KYMO_KIND_SIGNED},
					       {C_CALL_PEER, "remote_rank", KYMO_KIND_SIGNED},
					       {C_CALL_ROOT, "root", KYMO_KIND_SIGNED},
					       {C_CALL_SIZE, "size", KYMO_KIND_UNSIGNED},
					       {C_CALL_RECEIVED, "received", KYMO_KIND_UNSIGNED},
					       {C_CALL_REQUEST, "request", KYMO_KIND_UNSIGNED},
					       {C_CALL_PACKED, "packed_size", KYMO_KIND_UNSIGNED},
					       {C_CALL_WORKER, "peer_worker", KYMO_KIND_UNSIGNED},
					       {0, NULL, 0}};

static uint32_t fields_of(const struct dbtable *t, struct make_field *fields)
{
	uint32_t n = 0;

	for (const struct nsys_argument *a = nsys_arguments; a->name; a++)
		if (t->at[a->column] >= 0)
			fields[n++] = (struct make_field){a->name, a->kind};
	return n;
}

/* "cudaMemcpy_v3020" is CUPTI's name of cudaMemcpy; "cuMemAlloc_v2" is the function's own. */
static void plain_name(const char *name, char *out, size_t size)
{
	const char *mark = strrchr(name, '_');

	snprintf(out, size, "%s", name);
	if (strncmp(name, "cuda", 4) == 0 && mark && mark[1] == 'v' && strlen(mark) >= 6 &&
	    strspn(mark + 2, "0123456789") == strlen(mark) - 2 && (size_t)(mark - name) < size)
		out[mark - name] = '\0';
}

static uint32_t runtime_op(struct reader *r, const char *name)
{
	char plain[256];

	plain_name(name, plain, sizeof(plain));
	return keyed_op(&r->keyed, strncmp(name, "cuda", 4) == 0 ? "cuda_runtime" : "cuda", plain,
			NULL, 0);
}

uint32_t nsys_op(struct reader *r, uint32_t source, const struct dbrow *row)
{
	unsigned column = dbrow_has(row, C_CALL_NAME) ? C_CALL_NAME : C_CALL_TEXT;
	int64_t id = nsys_number(r, row, column);
	uint64_t key = hash_mix(hash_u64(source), (uint64_t)id);
	uint32_t known = (uint32_t)map_get(&r->ops, key), text;
	struct make_field fields[16];
	const char *name;

	if (known)
		return known;
	text = nsys_text(r, id);
	name = text ? keyed_string(&r->keyed, text) : "(no name)";
	if (source == T_RUNTIME)
		known = runtime_op(r, name);
	else
		known = keyed_op(&r->keyed, r->calls[source - TABLES].domain, name, fields,
				 fields_of(row->table, fields));
	if (!map_set(&r->ops, key, known))
		r->failed = true;
	return known;
}

static void collect_call(struct reader *r, const struct dbrow *row, uint32_t source)
{
	struct assembly_item *i;
	int64_t times[2], id;

	if (!take_times(r, row, C_CALL_START, C_CALL_END, times))
		return;
	if (!dbrow_has(row, C_CALL_THREAD)) {
		unplaced_lose(&r->left_out, "calls without a thread", 1);
		return;
	}
	i = assembly_add(&r->all, ASSEMBLY_CALL, source, row->id, times);
	i->thread = nsys_thread(r, nsys_number(r, row, C_CALL_THREAD));
	i->process = r->t->threads[i->thread].process;
	i->number = nsys_op(r, source, row);
	id = source == T_RUNTIME ? nsys_number(r, row, C_CALL_CORRELATION) : 0;
	i->key = id > 0 ? (uint64_t)id : 0;
}

/* ---- device work ------------------------------------------------------------------------------- */

/* Rows of moments, and waits of a queue, which take none of the host's time. */
static bool is_moment(struct reader *r, const struct dbrow *row, uint32_t source)
{
	if (source == T_SYNC)
		return nsys_enum(r, T_ENUM_SYNC, nsys_number(r, row, C_SYNC_TYPE)) ==
		       WAIT_QUEUE_EVENT;
	return source == T_USAGE || source == T_EVENT || source == T_CPU_FAULT;
}

static void collect_work(struct reader *r, const struct dbrow *row, uint32_t source)
{
	bool moment = is_moment(r, row, source);
	struct assembly_item *i;
	int64_t times[2], id;

	if (moment ? !nsys_time(r, row, C_WORK_START, &times[0])
		   : !take_times(r, row, C_WORK_START, C_WORK_END, times))
		return;
	times[1] = moment ? times[0] : times[1];
	if (source == T_EVENT && !times[0]) {
		unplaced_lose(&r->left_out, "events whose time was not collected", 1);
		return;
	}
	i = assembly_add(&r->all, ASSEMBLY_WORK, source, row->id, times);
	id = nsys_number(r, row, C_WORK_CORRELATION);
	i->key = id > 0 ? (uint64_t)id : 0;
	if (dbrow_has(row, C_WORK_PROCESS))
		i->process = nsys_process(r, nsys_number(r, row, C_WORK_PROCESS));
}

/* ---- NVTX -------------------------------------------------------------------------------------- */

uint64_t nsys_domain_key(int64_t global, int64_t domain)
{
	return hash_mix(hash_u64((uint64_t)global >> 24), (uint64_t)domain);
}

uint64_t nsys_category_key(int64_t global, int64_t domain, int64_t category)
{
	return hash_mix(nsys_domain_key(global, domain), (uint64_t)category);
}

uint32_t nsys_marker_name(struct reader *r, const struct dbrow *row)
{
	const struct dbvalue *v = dbrow_value(row, C_NVTX_TEXT);

	if (v->type == DB_TEXT)
		return keyed_text(&r->keyed, v->text, v->length);
	return dbrow_has(row, C_NVTX_TEXT_ID) ? nsys_text(r, nsys_number(r, row, C_NVTX_TEXT_ID))
					      : 0;
}

static void keep_name(struct reader *r, struct map *m, uint64_t key, uint32_t name)
{
	if (name && !map_set(m, key, name))
		r->failed = true;
}

/* What the file itself calls them where it does not say of what type they are. */
static uint32_t type_of(struct reader *r, const struct dbrow *row)
{
	if (row->table->at[C_NVTX_TYPE] >= 0)
		return nsys_enum(r, T_ENUM_NVTX, nsys_number(r, row, C_NVTX_TYPE));
	return dbrow_has(row, C_NVTX_END) ? NVTX_PUSH_POP : NVTX_MARK;
}

static void collect_range(struct reader *r, const struct dbrow *row, enum assembly_kind kind)
{
	const struct dbvalue *end = dbrow_value(row, C_NVTX_END);
	struct assembly_item *i;
	int64_t times[2];
	bool open;

	if (!nsys_time(r, row, C_NVTX_START, &times[0]))
		return;
	/* Older versions write a value that is no end for none. */
	open = kind != ASSEMBLY_MARK &&
	       (end->type == DB_NULL ||
		(end->type == DB_INTEGER && end->integer <= 0 && end->integer < times[0]));
	times[1] = times[0];
	if (kind != ASSEMBLY_MARK && !open && !take_times(r, row, C_NVTX_START, C_NVTX_END, times))
		return;
	if (!dbrow_has(row, C_NVTX_THREAD)) {
		unplaced_lose(&r->left_out, "ranges and marks without a thread", 1);
		return;
	}
	i = assembly_add(&r->all, kind, T_NVTX, row->id, times);
	i->left_open = open;
	i->thread = nsys_thread(r, nsys_number(r, row, C_NVTX_THREAD));
	i->process = r->t->threads[i->thread].process;
	nsys_marker_name(r, row);
}

static void collect_nvtx(struct reader *r, const struct dbrow *row, uint32_t source)
{
	int64_t global = nsys_number(r, row, C_NVTX_THREAD);
	int64_t domain = nsys_number(r, row, C_NVTX_DOMAIN);

	switch (type_of(r, row)) {
	case NVTX_MARK:
		collect_range(r, row, ASSEMBLY_MARK);
		break;
	case NVTX_PUSH_POP:
		collect_range(r, row, ASSEMBLY_RANGE);
		break;
	case NVTX_START_END:
		collect_range(r, row, ASSEMBLY_PROCESS_RANGE);
		break;
	case NVTX_DOMAIN:
		keep_name(r, &r->domains, nsys_domain_key(global, domain),
			  nsys_marker_name(r, row));
		break;
	case NVTX_CATEGORY:
		keep_name(r, &r->categories,
			  nsys_category_key(global, domain, nsys_number(r, row, C_NVTX_CATEGORY)),
			  nsys_marker_name(r, row));
		break;
	case NVTX_DOMAIN_END:
		break;
	default:
		unplaced_lose(&r->left_out, "NVTX events of other types", 1);
	}
}

/* ---- metrics ----------------------------------------------------------------------------------- */

enum { GPU_MASK = 0xff }; /* of a type of events: the device that they are of */

uint32_t nsys_counter(struct reader *r, int64_t type, int64_t metric)
{
	uint64_t key = hash_mix(hash_u64((uint64_t)type), (uint64_t)metric);
	uint32_t known = (uint32_t)map_get(&r->keyed.counters, hash_mix(hash_u64(1), key));
	struct t_counter c = {.process = 1,
			      .flags = 1,
			      .unit = "",
			      .description = "",
			      .provider = "nsys",
			      .dimensions = ""};
	uint64_t name = map_get(&r->metrics, key);
	char text[48];

	if (known)
		return known;
	snprintf(text, sizeof(text), "metric %lld", (long long)metric);
	c.name = name > 1 ? keyed_string(&r->keyed, (uint32_t)name - 1)
			  : trace_string(r->t, text, strlen(text));
	c.unit = strchr(c.name, '%') ? "%" : "";
	c.agent = nsys_gpu_agent(r, 1, type & GPU_MASK);
	return keyed_counter(&r->keyed, key, &c);
}

static void collect_metric(struct reader *r, const struct dbrow *row, uint32_t source)
{
	int64_t times[2];

	if (!nsys_time(r, row, C_METRIC_TIME, &times[0]))
		return;
	times[1] = times[0];
	assembly_add(&r->all, ASSEMBLY_OTHER, source, row->id, times);
	nsys_counter(r, nsys_number(r, row, C_METRIC_OF_TYPE), nsys_number(r, row, C_METRIC_OF));
}

/* ---- the whole --------------------------------------------------------------------------------- */

void nsys_collect(struct reader *r)
{
	nsys_each(r, T_RUNTIME, collect_call);
	for (uint32_t i = 0; i < r->calls_count; i++)
		nsys_each(r, TABLES + i, collect_call);
	nsys_each(r, T_NVTX, collect_nvtx);
	for (uint32_t i = T_KERNEL; i <= T_USAGE; i++)
		nsys_each(r, i, collect_work);
	nsys_each(r, T_GPU_METRIC, collect_metric);
	nsys_collect_samples(r);
	if (r->t->processes_count == 1 && r->all.count)
		nsys_process(r, 0);
}
