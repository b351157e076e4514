/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as items, with what only they define; see reader.h. */
#include <string.h>

#include "base/bulk.h"
#include "formats/rpd/reader.h"
#include "record/fields.h"

/* ---- times ------------------------------------------------------------------------------------- */

static bool take_times(struct reader *r, const struct dbrow *row, unsigned start, unsigned end,
		       int64_t out[2])
{
	if (!assembly_time(&r->left_out, dbrow_integer(row, start, &r->wrong, &out[0]), &out[0]) ||
	    !assembly_time(&r->left_out, dbrow_integer(row, end, &r->wrong, &out[1]), &out[1]))
		return false;
	assembly_order_times(&r->left_out, out);
	return true;
}

/* The id of a row that others refer to. */
static int64_t id_of(struct reader *r, const struct dbrow *row, unsigned column)
{
	return dbrow_has(row, column) ? rpd_number(r, row, column) : row->id;
}

/* ---- calls and markers ------------------------------------------------------------------------- */

/* Calls that give sizes in work items, as kernels themselves do. */
static bool is_extended(const char *name)
{
	return strcmp(name, "hipExtModuleLaunchKernel") == 0 ||
	       strcmp(name, "hipHccModuleLaunchKernel") == 0;
}

/* Memory is there when its call ends. */
static void collect_memory(struct reader *r, const struct dbrow *row, enum rpd_table table,
			   uint64_t call, int64_t end)
{
	const int64_t times[2] = {end, end};
	uint64_t address, bytes;
	bool gone;

	if (call && rpd_memory(r, row, &address, &bytes, &gone))
		assembly_add(&r->all, ASSEMBLY_WORK, table, row->id, times)->key = call;
}

static void collect_call(struct reader *r, const struct dbrow *row, enum rpd_table table)
{
	bool marker = rpd_is_marker(r, row);
	int64_t times[2], id = id_of(r, row, C_API_ID);
	struct assembly_item *i;
	const struct t_op *op;

	if (!take_times(r, row, C_API_START, C_API_END, times))
		return;
	i = assembly_add(&r->all,
			 !marker                ? ASSEMBLY_CALL
			 : times[0] == times[1] ? ASSEMBLY_MARK
						: ASSEMBLY_RANGE,
			 table, row->id, times);
	i->thread =
		rpd_thread(r, rpd_number(r, row, C_API_PROCESS), rpd_number(r, row, C_API_THREAD));
	i->process = r->t->threads[i->thread].process;
	if (marker) {
		rpd_marker_name(r, row);
		return;
	}
	i->number = rpd_op(r, row, table);
	i->key = table == T_API && id > 0 ? (uint64_t)id : 0;
	op = &r->t->ops[i->number];
	r->hip += strcmp(r->t->domains[op->domain].name, "hip") == 0;
	r->cuda += strncmp(r->t->domains[op->domain].name, "cuda", 4) == 0;
	if (i->key && is_extended(op->name) && !bulk_map_set(&r->extended, i->key, 1))
		r->failed = true;
	collect_memory(r, row, table, i->key, i->end);
}

/* ---- device work ------------------------------------------------------------------------------- */

static void take_link(struct reader *r, const struct dbrow *row, enum rpd_table table)
{
	uint64_t op = (uint64_t)rpd_number(r, row, C_LINK_OP);
	int64_t api = rpd_number(r, row, C_LINK_API);

	if (api <= 0)
		return;
	r->links += map_get(&r->api_ops, op) != 0;
	if (!bulk_map_set(&r->api_ops, op, (uint64_t)api + 1))
		r->failed = true;
}

/* Work items, where all sizes are whole numbers of groups: blocks are that by chance alone. */
static void look_at_sizes(struct reader *r, const struct dbrow *row, enum rpd_table table)
{
	if (map_get(&r->extended, (uint64_t)rpd_number(r, row, C_KERNEL_API)))
		return;
	for (unsigned i = 0; i < 3; i++) {
		int64_t grid = rpd_number(r, row, C_KERNEL_GRID + i);
		int64_t group = rpd_number(r, row, C_KERNEL_GROUP + i);

		if (grid > 0 && group > 0 && grid % group)
			r->items = false;
	}
}

static uint64_t call_of(const struct reader *r, int64_t op)
{
	uint64_t api = map_get(&r->api_ops, (uint64_t)op);

	return api ? api - 1 : 0;
}

static void collect_op(struct reader *r, const struct dbrow *row, enum rpd_table table)
{
	struct assembly_item *i;
	int64_t times[2];

	if (!take_times(r, row, C_OP_START, C_OP_END, times))
		return;
	if (rpd_class(r, row) == CLASS_BARRIER)
		times[1] = times[0];
	i = assembly_add(&r->all, ASSEMBLY_WORK, table, row->id, times);
	i->key = call_of(r, id_of(r, row, C_OP_ID));
}

/* Of a kernel, at its end. */
static void collect_counter(struct reader *r, const struct dbrow *row, enum rpd_table table)
{
	int64_t id = rpd_number(r, row, C_COUNTER_OP), times[2];
	struct dbvalue all[DBFILE_COLUMNS];
	struct assembly_item *i;
	struct dbrow op;

	if (!dbindex_get(&r->ops, id, all, &op)) {
		unplaced_lose(&r->left_out, "counters of nothing", 1);
		return;
	}
	if (!take_times(r, &op, C_OP_START, C_OP_END, times))
		return;
	times[0] = times[1];
	i = assembly_add(&r->all, ASSEMBLY_WORK, table, row->id, times);
	i->key = call_of(r, id);
}

static void collect_monitor(struct reader *r, const struct dbrow *row, enum rpd_table table)
{
	int64_t times[2];

	if (!take_times(r, row, C_MONITOR_START, C_MONITOR_START, times))
		return;
	assembly_add(&r->all, ASSEMBLY_OTHER, table, row->id, times);
	rpd_monitor(r, row);
}

/* ---- the whole --------------------------------------------------------------------------------- */

void rpd_collect(struct reader *r)
{
	r->items = true;
	rpd_each(r, T_API, collect_call);
	rpd_each(r, T_HSA, collect_call);
	r->runtime = r->cuda > r->hip ? "cuda" : "hip";
	rpd_each(r, T_API_OPS, take_link);
	rpd_each(r, T_KERNEL_API, look_at_sizes);
	rpd_each(r, T_OP, collect_op);
	rpd_each(r, T_COUNTER, collect_counter);
	rpd_each(r, T_MONITOR, collect_monitor);
	if (r->t->processes_count == 1 && r->all.count)
		rpd_process(r, 0);
}
