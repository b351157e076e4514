/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of a trace to and from tables. Most are described by columns; enum sets, fields of
 * operations, blobs, stacks and byte strings need a hand.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/store/definitions.h"
#include "stream/reference.h"
#include "stream/trace.h"

#define C(kind, member) SQL_COLUMN(kind, struct STRUCTURE, member)

#define STRUCTURE t_domain
static const struct sql_column domain_columns[] = {C(TEXT, name), C(TEXT, title)};
#undef STRUCTURE
#define STRUCTURE t_op
static const struct sql_column op_columns[] = {C(TEXT, name), C(U32, domain), C(U32, number),
					       C(U32, flags), C(I32, status_ok)};
#undef STRUCTURE
#define STRUCTURE t_field
static const struct sql_column field_columns[] = {C(TEXT, name),  C(TEXT, type), C(U8, kind),
						  C(U8, element), C(U8, size),   C(U8, flags)};
#undef STRUCTURE
#define STRUCTURE t_process
static const struct sql_column process_columns[] = {C(U32, pid),
						    C(U32, ppid),
						    C(KNOWN, rank),
						    C(TEXT, name),
						    C(TEXT, exe),
						    C(TEXT, argv),
						    C(TEXT, cwd),
						    C(TEXT, hostname),
						    C(TEXT, job),
						    C(TEXT, file),
						    C(TEXT, version),
						    C(TIME, start),
						    C(TIME, end),
						    C(I64, start_realtime),
						    C(I64, realtime_offset),
						    C(U32, arg_level),
						    C(KNOWN, how_ended),
						    C(I32, exit_status),
						    C(U64, lost_records),
						    C(U64, overwritten_records),
						    C(U64, lost_definitions),
						    C(U64, untraced_calls),
						    C(U64, untimed),
						    C(U64, damaged_blocks),
						    C(DOUBLE, clock_error_ns),
						    C(DOUBLE, record_cost_ns),
						    C(DOUBLE, overhead_ns),
						    C(DOUBLE, calls_cost_ns),
						    C(DOUBLE, calls_cost_variance),
						    C(U64, cost_samples),
						    C(DOUBLE, waiting_ns),
						    C(DOUBLE, beside_ns),
						    C(DOUBLE, drain_ns),
						    C(BOOL, telemetry),
						    C(U32, ranks),
						    C(U32, merged_ranks),
						    C(TEXT, mpi),
						    C(I32, thread_level),
						    C(BOOL, aligned),
						    C(I64, job_offset),
						    C(DOUBLE, job_error_ns),
						    C(I64, job_measured),
						    C(DOUBLE, job_measured_error_ns),
						    C(U64, unwritten_records),
						    C(TIME, seen),
						    C(BOOL, recording),
						    C(I64, quiet_ns),
						    C(U32, world),
						    C(U64, unlisted),
						    C(TEXT, filters),
						    C(U64, no_memory_records),
						    C(U64, left_out_rows),
						    C(U32, file_state),
						    C(U32, rank_stage),
						    C(DOUBLE, loading_ns),
						    C(DOUBLE, thread_time_ns),
						    C(U64, dropped_records),
						    C(TEXT, rank_by),
						    C(KNOWN, of_rank),
						    C(U64, user_ns),
						    C(U64, system_ns),
						    C(U64, resident_bytes),
						    C(U32, usage),
						    C(U64, delay_ns)};
#undef STRUCTURE
#define STRUCTURE t_thread
static const struct sql_column thread_columns[] = {
	C(U32, process),     {"number", SQL_U32, offsetof(struct t_thread, index)},
	C(U32, tid),         C(STRING, name),
	C(TIME, start),      C(TIME, end),
	C(U64, records),     C(U64, lost),
	C(BOOL, main),       C(BOOL, own),
	C(U64, processor_ns)};
#undef STRUCTURE
#define STRUCTURE t_clock
static const struct sql_column clock_columns[] = {C(U32, process), C(TEXT, name),
						  C(DOUBLE, error_ns), C(U32, syncs)};
#undef STRUCTURE
#define STRUCTURE t_agent
static const struct sql_column agent_columns[] = {
	C(U32, process), C(U32, parent),  C(U32, clock),   C(TEXT, type),     C(TEXT, name),
	C(TEXT, vendor), C(TEXT, driver), C(TEXT, domain), C(TEXT, platform), C(TEXT, properties),
	C(U64, handle),  C(TEXT, given),  C(TEXT, label)};
#undef STRUCTURE
#define STRUCTURE t_device_context
static const struct sql_column context_columns[] = {C(U32, process), C(U64, handle),
						    C(TEXT, domain), C(TEXT, name)};
#undef STRUCTURE
#define STRUCTURE t_queue
static const struct sql_column queue_columns[] = {
	C(U32, process),    C(U32, agent),   C(U32, context), C(U32, flags),  C(U64, handle),
	C(U64, properties), C(TEXT, domain), C(TEXT, name),   C(U32, number), C(TEXT, label)};
#undef STRUCTURE
#define STRUCTURE t_counter
static const struct sql_column counter_columns[] = {
	C(U32, process), C(U32, agent),        C(U32, flags),     C(TEXT, name),
	C(TEXT, unit),   C(TEXT, description), C(TEXT, provider), C(TEXT, dimensions)};
#undef STRUCTURE
#define STRUCTURE t_blob
static const struct sql_column blob_columns[] = {C(U32, process), C(TEXT, what), C(U64, stored),
						 C(U64, total)};
#undef STRUCTURE
#define STRUCTURE t_program
static const struct sql_column program_columns[] = {
	C(U32, process), C(U32, context), C(U32, source), C(U64, handle),
	C(TEXT, domain), C(TEXT, kind),   C(TEXT, name)};
#undef STRUCTURE
#define STRUCTURE t_kernel
static const struct sql_column kernel_columns[] = {
	C(U32, process), C(U32, program),    C(U64, handle),  C(TEXT, domain), C(STRING, name),
	C(TEXT, symbol), C(TEXT, framework), C(TEXT, source), C(TEXT, device)};
#undef STRUCTURE
#define STRUCTURE t_module
static const struct sql_column module_columns[] = {C(U32, process), C(U64, start), C(U64, end),
						   C(U64, bias), C(TEXT, path)};
#undef STRUCTURE
#define STRUCTURE t_site
static const struct sql_column site_columns[] = {
	C(U32, process), C(U64, address), C(U32, module), C(STRING, function),
	C(STRING, file), C(U32, line),    C(U32, caller)};
#undef STRUCTURE
#define STRUCTURE t_stack
static const struct sql_column stack_columns[] = {C(U32, process), C(TEXT, end)};
#undef STRUCTURE
#define STRUCTURE t_string
static const struct sql_column name_columns[] = {C(TEXT, text), C(U32, length), C(U64, total)};
#undef STRUCTURE
#define STRUCTURE t_code
static const struct sql_column code_columns[] = {C(U32, process), C(STRING, function),
						 C(STRING, file), C(U32, line),
						 C(U64, module),  C(U64, offset)};
#undef STRUCTURE
#define STRUCTURE t_place
static const struct sql_column place_columns[] = {
	C(U32, process),
	C(U32, program),
	C(STRING, function),
	C(STRING, what),
	C(STRING, kind),
	C(U32, block),
	C(U64, times),
	C(U64, bytes),
	C(STRING, file),
	C(U32, line),
	{"col", SQL_U32, offsetof(struct t_place, column)}};
#undef STRUCTURE
#define STRUCTURE t_communicator
static const struct sql_column communicator_columns[] = {
	C(U32, process), C(U32, kind), {"number", SQL_U32, offsetof(struct t_communicator, id)},
	C(TEXT, name),   C(U32, size), C(U32, remote_size),
	C(U32, parent),  C(U64, key),  C(U64, handle)};
#undef STRUCTURE
#define STRUCTURE t_note
static const struct sql_column note_columns[] = {C(U32, process), C(U32, severity), C(TEXT, part),
						 C(TEXT, text),   C(TIME, time),    C(U64, count)};
#undef STRUCTURE
#define STRUCTURE t_open_call
static const struct sql_column open_columns[] = {
	C(U32, thread),
	C(U32, op),
	C(U32, depth),
	{"correlation", SQL_U64, offsetof(struct t_open_call, id)},
	C(TIME, start)};
#undef STRUCTURE
#define STRUCTURE t_unfinished
static const struct sql_column unfinished_columns[] = {
	C(U32, process),
	C(U32, thread),
	C(U32, op),
	C(U32, agent),
	C(U32, queue),
	C(U32, kernel),
	{"correlation", SQL_U64, offsetof(struct t_unfinished, id)},
	C(U64, bytes),
	C(TIME, submit)};
#undef STRUCTURE
#define STRUCTURE t_left_out
static const struct sql_column left_out_columns[] = {C(U32, process), C(U32, thread), C(U32, op),
						     C(U64, calls)};
#undef STRUCTURE
#define STRUCTURE t_pause
static const struct sql_column pause_columns[] = {C(U32, process), C(TIME, start), C(TIME, end)};
#undef STRUCTURE

#define STRUCTURE t_load
#define KEY(name, i)                                                                               \
	{                                                                                          \
		name, SQL_U32, offsetof(struct t_load, key) + (i) * sizeof(uint32_t)               \
	}
static const struct sql_column load_columns[] = {
	C(U32, process), C(U32, kind),   C(BOOL, whole),   KEY("key1", 1),   KEY("key2", 2),
	KEY("key3", 3),  KEY("key4", 4), KEY("key5", 5),   C(TEXT, domain),  C(U64, sum),
	C(U64, min),     C(U64, max),    C(U32, min_rank), C(U32, max_rank), C(U32, ranks)};
#undef KEY
#undef STRUCTURE

static const struct sql_table field_table = SQL_TABLE("op_field", field_columns);

struct definition {
	struct sql_table table;
	size_t size;
	size_t array, count, room; /* offsets in struct trace */
};
#define DEFINITION(table, columns, type, name)                                                     \
	{                                                                                          \
		SQL_TABLE(table, columns), sizeof(struct type), offsetof(struct trace, name),      \
			offsetof(struct trace, name##_count), offsetof(struct trace, name##_room)  \
	}

static const struct definition definitions[] = {
	DEFINITION("domain", domain_columns, t_domain, domains),
	DEFINITION("op", op_columns, t_op, ops),
	DEFINITION("process", process_columns, t_process, processes),
	DEFINITION("thread", thread_columns, t_thread, threads),
	DEFINITION("clock", clock_columns, t_clock, clocks),
	DEFINITION("agent", agent_columns, t_agent, agents),
	DEFINITION("device_context", context_columns, t_device_context, contexts),
	DEFINITION("queue", queue_columns, t_queue, queues),
	DEFINITION("blob", blob_columns, t_blob, blobs),
	DEFINITION("program", program_columns, t_program, programs),
	DEFINITION("kernel", kernel_columns, t_kernel, kernels),
	DEFINITION("module", module_columns, t_module, modules),
	DEFINITION("site", site_columns, t_site, sites),
	DEFINITION("stack", stack_columns, t_stack, stacks),
	DEFINITION("marker_name", name_columns, t_string, strings),
	DEFINITION("counter", counter_columns, t_counter, counters),
	DEFINITION("device_code", code_columns, t_code, codes),
	DEFINITION("kernel_place", place_columns, t_place, places),
	DEFINITION("communicator", communicator_columns, t_communicator, communicators),
	DEFINITION("note", note_columns, t_note, notes),
	DEFINITION("open_call", open_columns, t_open_call, open_calls),
	DEFINITION("unfinished_work", unfinished_columns, t_unfinished, unfinished),
	DEFINITION("left_out", left_out_columns, t_left_out, left_out),
	DEFINITION("pause", pause_columns, t_pause, pauses),
	DEFINITION("rank_load", load_columns, t_load, loads),
};
#define DEFINITIONS (sizeof(definitions) / sizeof(*definitions))

/* ---- writing ----------------------------------------------------------------------------------- */

static bool write_definition(struct sql_context *c, const struct definition *d,
			     const struct trace *t)
{
	const char *array = *(char *const *)((const char *)t + d->array);
	uint32_t count = *(const uint32_t *)((const char *)t + d->count);
	sqlite3_stmt *s = sql_insert(c->db, &d->table);
	bool ok = s != NULL;

	for (uint32_t i = 1; ok && i < count; i++)
		ok = sql_write(c, s, &d->table, i, array + i * d->size);
	sqlite3_finalize(s);
	return ok;
}

/* Sets are numbered in order of first use by an operation or field. */
struct set_list {
	const struct t_enum_set **sets;
	uint32_t count, room;
};

static int64_t set_id(struct set_list *l, const struct t_enum_set *set)
{
	if (!set)
		return 0;
	for (uint32_t i = l->count; i-- > 0;) {
		if (l->sets[i] == set)
			return i + 1;
	}
	if (!vec_reserve(&l->sets, &l->room, l->count, 1))
		return 0;
	l->sets[l->count++] = set;
	return l->count;
}

static bool step(sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	return rc == SQLITE_DONE;
}

static bool write_sets(struct sql_context *c, const struct set_list *l)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(c->db,
				     "INSERT INTO enum_value(enum_set, set_name, name, value) "
				     "VALUES(?, ?, ?, ?)",
				     -1, &s, NULL) == SQLITE_OK;

	for (uint32_t i = 0; i < l->count; i++) {
		for (uint32_t v = 0; ok && v < l->sets[i]->count; v++) {
			sqlite3_bind_int64(s, 1, i + 1);
			sqlite3_bind_text(s, 2, l->sets[i]->name, -1, SQLITE_STATIC);
			sqlite3_bind_text(s, 3, l->sets[i]->values[v].name, -1, SQLITE_STATIC);
			sqlite3_bind_int64(s, 4, l->sets[i]->values[v].value);
			ok = step(s);
		}
	}
	sqlite3_finalize(s);
	return ok;
}

static bool write_fields(struct sql_context *c, const struct trace *t)
{
	sqlite3_stmt *s = sql_insert(c->db, &field_table), *field = NULL, *op = NULL;
	struct set_list sets = {0};
	int64_t id = 0;
	bool ok = s &&
		  sqlite3_prepare_v2(c->db,
				     "UPDATE op_field SET op = ?, position = ?, enum_set = ? "
				     "WHERE id = ?",
				     -1, &field, NULL) == SQLITE_OK &&
		  sqlite3_prepare_v2(c->db, "UPDATE op SET status_set = ? WHERE id = ?", -1, &op,
				     NULL) == SQLITE_OK;

	for (uint32_t o = 1; ok && o < t->ops_count; o++) {
		sqlite3_bind_int64(op, 1, set_id(&sets, t->ops[o].status_set));
		sqlite3_bind_int64(op, 2, o);
		ok = step(op);
		for (uint32_t i = 0; ok && i < t->ops[o].field_count; i++) {
			ok = sql_write(c, s, &field_table, ++id, &t->ops[o].fields[i]);
			sqlite3_bind_int64(field, 1, o);
			sqlite3_bind_int64(field, 2, i);
			sqlite3_bind_int64(field, 3, set_id(&sets, t->ops[o].fields[i].set));
			sqlite3_bind_int64(field, 4, id);
			ok = ok && step(field);
		}
	}
	ok = ok && write_sets(c, &sets);
	free(sets.sets);
	sqlite3_finalize(s);
	sqlite3_finalize(field);
	sqlite3_finalize(op);
	return ok;
}

static void hex(char *out, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	out[2 * n] = '\0';
}

static bool write_hex(struct sql_context *c, const char *sql, uint32_t id, const uint8_t *bytes,
		      uint32_t n)
{
	sqlite3_stmt *s = NULL;
	char text[2 * 64 + 1];
	bool ok;

	hex(text, bytes, n < 64 ? n : 64);
	ok = sqlite3_prepare_v2(c->db, sql, -1, &s, NULL) == SQLITE_OK;
	if (ok) {
		sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, id);
		ok = step(s);
	}
	sqlite3_finalize(s);
	return ok;
}

static bool write_blobs(struct sql_context *c, const struct trace *t)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(c->db, "UPDATE blob SET data = ? WHERE id = ?", -1, &s,
				     NULL) == SQLITE_OK;

	for (uint32_t i = 1; ok && i < t->blobs_count; i++) {
		sqlite3_bind_text64(s, 1, t->blobs[i].data, t->blobs[i].stored, SQLITE_STATIC,
				    SQLITE_UTF8);
		sqlite3_bind_int64(s, 2, i);
		ok = step(s);
	}
	sqlite3_finalize(s);
	return ok;
}

/* Of a place in inlined functions a frame for each. */
static bool write_frames(sqlite3_stmt *s, const struct trace *t, uint32_t site, uint32_t *depth)
{
	bool ok = true;

	for (; ok && site; site = t->sites[site].caller) {
		sqlite3_bind_int64(s, 3, (*depth)++);
		sqlite3_bind_int64(s, 4, site);
		ok = step(s);
	}
	return ok;
}

static bool write_stacks(struct sql_context *c, const struct trace *t)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(c->db,
				     "INSERT INTO stack_frame(stack, process, depth, site) "
				     "VALUES(?, ?, ?, ?)",
				     -1, &s, NULL) == SQLITE_OK;

	for (uint32_t i = 1; ok && i < t->stacks_count; i++) {
		sqlite3_bind_int64(s, 1, i);
		sqlite3_bind_int64(s, 2, t->stacks[i].process);
		for (uint32_t k = 0, depth = 0; ok && k < t->stacks[i].count; k++)
			ok = write_frames(s, t, t->stacks[i].sites[k], &depth);
	}
	sqlite3_finalize(s);
	return ok;
}

static bool write_bytes(struct sql_context *c, const struct trace *t)
{
	bool ok = true;

	for (uint32_t i = 1; ok && i < t->agents_count; i++) {
		if (t->agents[i].has_uuid)
			ok = write_hex(c, "UPDATE agent SET uuid = ? WHERE id = ?", i,
				       t->agents[i].uuid, sizeof(t->agents[i].uuid));
	}
	for (uint32_t i = 1; ok && i < t->modules_count; i++) {
		if (t->modules[i].build_id_length)
			ok = write_hex(c, "UPDATE module SET build_id = ? WHERE id = ?", i,
				       t->modules[i].build_id, t->modules[i].build_id_length);
	}
	return ok;
}

static bool write_ranks(sqlite3_stmt *s, uint32_t communicator, bool remote,
			const struct t_ranks *runs, uint32_t count)
{
	bool ok = true;

	for (uint32_t i = 0; ok && i < count; i++) {
		sqlite3_bind_int64(s, 1, communicator);
		sqlite3_bind_int64(s, 2, remote);
		sqlite3_bind_int64(s, 3, runs[i].first);
		sqlite3_bind_int64(s, 4, runs[i].count);
		sqlite3_bind_int64(s, 5, runs[i].stride);
		ok = step(s);
	}
	return ok;
}

static bool write_members(struct sql_context *c, const struct trace *t)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(c->db,
				     "INSERT INTO communicator_ranks(communicator, remote, first, "
				     "count, stride) VALUES(?, ?, ?, ?, ?)",
				     -1, &s, NULL) == SQLITE_OK;

	for (uint32_t i = 1; ok && i < t->communicators_count; i++) {
		const struct t_communicator *x = &t->communicators[i];

		ok = write_ranks(s, i, false, x->members, x->member_runs) &&
		     write_ranks(s, i, true, x->remote, x->remote_runs);
	}
	sqlite3_finalize(s);
	return ok;
}

bool definitions_write(struct sql_context *c, const struct trace *t)
{
	for (unsigned i = 0; i < DEFINITIONS; i++) {
		if (!write_definition(c, &definitions[i], t))
			return false;
	}
	return write_fields(c, t) && write_blobs(c, t) && write_stacks(c, t) &&
	       write_members(c, t) && write_bytes(c, t);
}

/* ---- reading ----------------------------------------------------------------------------------- */

static const char *keep(void *trace, const char *text)
{
	return text ? trace_string(trace, text, strlen(text)) : "";
}

void definitions_reader(struct sql_context *c, struct trace *t)
{
	c->keep = keep;
	c->owner = t;
}

/* Ids are positions: rows must be numbered 1, 2, 3 ... */
static bool read_definition(struct sql_context *c, const struct definition *d, struct trace *t)
{
	void *array = (char *)t + d->array;
	uint32_t *count = (uint32_t *)(void *)((char *)t + d->count);
	uint32_t *room = (uint32_t *)(void *)((char *)t + d->room);
	sqlite3_stmt *s = sql_select(c->db, &d->table);
	bool ok = s != NULL;
	int rc = SQLITE_DONE;

	while (ok && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		ok = sqlite3_column_int64(s, 0) == *count;
		if (ok)
			sql_read(c, s, &d->table, trace_grow(t, array, count, room, d->size));
	}
	sqlite3_finalize(s);
	return ok && rc == SQLITE_DONE && !trace_failed(t);
}

static bool read_sets(struct sql_context *c, struct trace *t, struct t_enum_set ***out,
		      uint32_t *out_count)
{
	sqlite3_stmt *s = NULL;
	uint32_t count = 0, of = 0;
	bool ok = sqlite3_prepare_v2(c->db,
				     "SELECT enum_set, set_name, name, value, "
				     "count(*) OVER (PARTITION BY enum_set), "
				     "(SELECT count(*) FROM op_field) "
				     "FROM enum_value ORDER BY enum_set, id",
				     -1, &s, NULL) == SQLITE_OK;
	struct t_enum_set **sets = NULL, *set = NULL;

	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int(s, 0);

		if (!sets) { /* one for each op and each field at most */
			of = (uint32_t)sqlite3_column_int(s, 5) + t->ops_count + 1;
			sets = trace_alloc(t, of * sizeof(*sets));
		}
		if (!sets || id >= of)
			break;
		if (!sets[id]) {
			set = sets[id] = trace_alloc(t, sizeof(*set));
			if (!set)
				break;
			set->name = keep(t, (const char *)sqlite3_column_text(s, 1));
			set->values = trace_alloc(t, (size_t)sqlite3_column_int(s, 4) *
							     sizeof(*set->values));
			count = (uint32_t)sqlite3_column_int(s, 4);
		}
		if (!set->values || set->count >= count)
			break;
		set->values[set->count++] =
			(kymo_enum_value_t){keep(t, (const char *)sqlite3_column_text(s, 2)),
					    sqlite3_column_int64(s, 3)};
	}
	sqlite3_finalize(s);
	*out = sets;
	*out_count = of;
	return ok && !trace_failed(t);
}

static bool read_fields(struct sql_context *c, struct trace *t)
{
	sqlite3_stmt *s = NULL;
	const struct t_op *last = NULL;
	struct t_enum_set **sets;
	uint32_t count, room = 0;
	bool ok = read_sets(c, t, &sets, &count) &&
		  sqlite3_prepare_v2(c->db,
				     "SELECT f.id, f.name, f.type, f.kind, f.element, f.size, "
				     "f.flags, f.op, f.position, f.enum_set, "
				     "count(*) OVER (PARTITION BY f.op) FROM op_field f "
				     "ORDER BY f.op, f.position",
				     -1, &s, NULL) == SQLITE_OK;

	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		uint32_t o = (uint32_t)sqlite3_column_int(s, 7);
		uint32_t at = (uint32_t)sqlite3_column_int(s, 8);
		uint32_t set = (uint32_t)sqlite3_column_int(s, 9);
		uint32_t fields = (uint32_t)sqlite3_column_int(s, 10);
		struct t_op *op = o && o < t->ops_count ? &t->ops[o] : NULL;

		if (op && !op->fields) {
			room = fields < KYMO_FIELDS_MAX ? fields : KYMO_FIELDS_MAX;
			op->fields = trace_alloc(t, room * sizeof(*op->fields));
			last = op;
		}
		/* What SQL tells apart may be one op: the room is that of the first. */
		ok = op && op == last && op->fields && at == op->field_count && at < room;
		if (!ok)
			break;
		sql_read(c, s, &field_table, &op->fields[at]);
		op->fields[at].size = trace_field_size(op->fields[at].size);
		op->fields[at].set = set < count ? sets[set] : NULL;
		op->fields[at].reference =
			(uint8_t)reference_of(&op->fields[at], op->flags & KYMO_OP_ACTIVITY);
		op->field_count++;
	}
	sqlite3_finalize(s);
	s = NULL;
	ok = ok &&
	     sqlite3_prepare_v2(c->db, "SELECT id, status_set FROM op", -1, &s, NULL) == SQLITE_OK;
	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		uint32_t set = (uint32_t)sqlite3_column_int(s, 1);

		if (set < count)
			t->ops[sqlite3_column_int(s, 0)].status_set = sets[set];
	}
	sqlite3_finalize(s);
	return ok && !trace_failed(t);
}

static bool read_blobs(struct sql_context *c, struct trace *t)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(c->db, "SELECT id, data FROM blob", -1, &s, NULL) == SQLITE_OK;

	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		struct t_blob *b = &t->blobs[sqlite3_column_int(s, 0)];
		const char *text = (const char *)sqlite3_column_text(s, 1);

		b->stored = (uint64_t)sqlite3_column_bytes(s, 1);
		b->data = trace_string(t, text ? text : "", b->stored);
	}
	sqlite3_finalize(s);
	return ok && !trace_failed(t);
}

/* A frame that the one before it brings with it (stream/symbol.h): *last. */
static bool is_caller(const struct trace *t, uint32_t *last, uint32_t site)
{
	bool is = *last && *last < t->sites_count && t->sites[*last].caller == site;

	*last = site;
	return is;
}

static bool read_stacks(struct sql_context *c, struct trace *t)
{
	sqlite3_stmt *s = NULL;
	uint32_t last = 0, room = 0, filled = 0;
	bool ok = sqlite3_prepare_v2(c->db,
				     "SELECT stack, site, count(*) OVER (PARTITION BY "
				     "stack) FROM stack_frame ORDER BY stack, depth",
				     -1, &s, NULL) == SQLITE_OK;

	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int(s, 0);
		uint32_t depth = (uint32_t)sqlite3_column_int(s, 2);
		uint32_t site = (uint32_t)sqlite3_column_int(s, 1);
		struct t_stack *k = id && id < t->stacks_count ? &t->stacks[id] : NULL;

		if (k && !k->sites) {
			last = 0;
			room = depth;
			filled = id;
			k->sites = trace_alloc(t, depth * sizeof(*k->sites));
		}
		/* What SQL tells apart may be one stack: the room is that of the first. */
		ok = k && id == filled && k->sites && k->count < room && site < t->sites_count;
		if (ok && !is_caller(t, &last, site))
			k->sites[k->count++] = site;
	}
	sqlite3_finalize(s);
	return ok;
}

/* Bytes of a hexadecimal text; at most `room`. */
static uint32_t unhex(const char *text, uint8_t *out, uint32_t room)
{
	size_t digits = text ? strlen(text) : 0;
	uint32_t n = 0;
	unsigned byte;

	while (n < room && 2 * (size_t)n < digits &&
	       sscanf(text + 2 * (size_t)n, "%2x", &byte) == 1)
		out[n++] = (uint8_t)byte;
	return n;
}

static bool read_bytes(struct sql_context *c, struct trace *t)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(c->db, "SELECT id, uuid FROM agent WHERE uuid IS NOT NULL", -1,
				     &s, NULL) == SQLITE_OK;

	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		struct t_agent *a = &t->agents[sqlite3_column_int(s, 0)];

		a->has_uuid = unhex((const char *)sqlite3_column_text(s, 1), a->uuid,
				    sizeof(a->uuid)) == sizeof(a->uuid);
	}
	sqlite3_finalize(s);
	s = NULL;
	ok = ok &&
	     sqlite3_prepare_v2(c->db, "SELECT id, build_id FROM module WHERE build_id IS NOT NULL",
				-1, &s, NULL) == SQLITE_OK;
	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		struct t_module *m = &t->modules[sqlite3_column_int(s, 0)];
		uint8_t *bytes = trace_alloc(t, 64);

		if (!bytes)
			break;
		m->build_id = bytes;
		m->build_id_length = unhex((const char *)sqlite3_column_text(s, 1), bytes, 64);
	}
	sqlite3_finalize(s);
	trace_number_agents(t);
	trace_label_queues(t);
	return ok && !trace_failed(t);
}

/* ---- what is read refers to what is there -------------------------------------------------------- */

struct reference {
	size_t array, count, size, member; /* of those that refer; in struct trace, in theirs */
	size_t to;                         /* how many there are of what they refer to */
};
#define REFERENCE(name, type, member, to)                                                          \
	{                                                                                          \
		offsetof(struct trace, name), offsetof(struct trace, name##_count),                \
			sizeof(struct type), offsetof(struct type, member),                        \
			offsetof(struct trace, to##_count)                                         \
	}

static const struct reference references[] = {
	REFERENCE(ops, t_op, domain, domains),
	REFERENCE(threads, t_thread, process, processes),
	REFERENCE(clocks, t_clock, process, processes),
	REFERENCE(agents, t_agent, process, processes),
	REFERENCE(agents, t_agent, parent, agents),
	REFERENCE(agents, t_agent, clock, clocks),
	REFERENCE(contexts, t_device_context, process, processes),
	REFERENCE(queues, t_queue, process, processes),
	REFERENCE(queues, t_queue, agent, agents),
	REFERENCE(queues, t_queue, context, contexts),
	REFERENCE(counters, t_counter, process, processes),
	REFERENCE(counters, t_counter, agent, agents),
	REFERENCE(blobs, t_blob, process, processes),
	REFERENCE(programs, t_program, process, processes),
	REFERENCE(programs, t_program, context, contexts),
	REFERENCE(programs, t_program, source, blobs),
	REFERENCE(kernels, t_kernel, process, processes),
	REFERENCE(kernels, t_kernel, program, programs),
	REFERENCE(modules, t_module, process, processes),
	REFERENCE(sites, t_site, process, processes),
	REFERENCE(sites, t_site, module, modules),
	REFERENCE(sites, t_site, caller, sites),
	REFERENCE(stacks, t_stack, process, processes),
	REFERENCE(codes, t_code, process, processes),
	REFERENCE(places, t_place, process, processes),
	REFERENCE(places, t_place, program, programs),
	REFERENCE(places, t_place, block, places),
	REFERENCE(communicators, t_communicator, process, processes),
	REFERENCE(communicators, t_communicator, parent, communicators),
	REFERENCE(notes, t_note, process, processes),
	REFERENCE(open_calls, t_open_call, thread, threads),
	REFERENCE(open_calls, t_open_call, op, ops),
	REFERENCE(unfinished, t_unfinished, process, processes),
	REFERENCE(unfinished, t_unfinished, thread, threads),
	REFERENCE(unfinished, t_unfinished, op, ops),
	REFERENCE(unfinished, t_unfinished, agent, agents),
	REFERENCE(unfinished, t_unfinished, queue, queues),
	REFERENCE(unfinished, t_unfinished, kernel, kernels),
	REFERENCE(left_out, t_left_out, process, processes),
	REFERENCE(left_out, t_left_out, thread, threads),
	REFERENCE(left_out, t_left_out, op, ops),
	REFERENCE(pauses, t_pause, process, processes),
	REFERENCE(loads, t_load, process, processes),
};

static uint32_t number_at(const void *structure, size_t offset)
{
	uint32_t n;

	memcpy(&n, (const char *)structure + offset, sizeof(n));
	return n;
}

static bool is_sound(const struct trace *t, const struct reference *r)
{
	const char *array = *(char *const *)((const char *)t + r->array);
	uint32_t count = number_at(t, r->count), to = number_at(t, r->to);

	for (uint32_t i = 1; i < count; i++)
		if (number_at(array + i * r->size, r->member) >= to)
			return false;
	return true;
}

/* A store can come from anywhere. Element 0 of each list, which is none, was not in it. */
static bool are_sound(const struct trace *t)
{
	for (size_t i = 0; i < sizeof(references) / sizeof(*references); i++)
		if (!is_sound(t, &references[i]))
			return false;
	for (uint32_t i = 1; i < t->sites_count; i++)
		if (t->sites[i].caller && t->sites[i].caller <= i)
			return false;
	return true;
}

/* Texts that had a zero in them end there. */
static void measure_strings(struct trace *t)
{
	for (uint32_t i = 1; i < t->strings_count; i++)
		t->strings[i].length = (uint32_t)strnlen(t->strings[i].text, t->strings[i].length);
}

/* ---- all of it --------------------------------------------------------------------------------- */

struct trace *definitions_read(struct sql_context *c)
{
	struct trace *t = trace_new();
	const char *number;
	bool ok = t != NULL;

	if (!ok)
		return NULL;
	definitions_reader(c, t);
	number = metadata_text(c, "origin");
	ok = number != NULL;
	t->origin = c->origin = ok ? strtoll(number, NULL, 10) : 0;
	number = metadata_text(c, "duration");
	t->end = sql_time(t->origin, number ? strtoll(number, NULL, 10) : 0);
	t->command = metadata_text(c, "command");
	if (!t->command)
		t->command = "";
	t->imported = metadata_text(c, "imported");
	t->imported_format = metadata_text(c, "imported_format");
	if (t->imported && !t->imported_format)
		t->imported_format = "";
	t->formulas = metadata_text(c, "formulas");
	if (!t->formulas)
		t->formulas = "";
	for (unsigned i = 0; ok && i < DEFINITIONS; i++)
		ok = read_definition(c, &definitions[i], t);
	for (uint32_t i = 1; ok && i < t->sites_count; i++) {
		t->sites[i].function = *t->sites[i].function ? t->sites[i].function : NULL;
		t->sites[i].file = *t->sites[i].file ? t->sites[i].file : NULL;
	}
	for (uint32_t i = 1; ok && i < t->stacks_count; i++)
		t->stacks[i].end = t->stacks[i].end && *t->stacks[i].end ? t->stacks[i].end : NULL;
	ok = ok && are_sound(t);
	if (ok) {
		measure_strings(t);
		trace_number_worlds(t);
	}
	if (ok && read_fields(c, t) && read_blobs(c, t) && read_stacks(c, t) && read_bytes(c, t))
		return t;
	trace_free(t);
	return NULL;
}

/* ---- metadata ---------------------------------------------------------------------------------- */

bool metadata_add(sqlite3 *db, const char *tag, const char *value)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(db, "INSERT INTO metadata(tag, value) VALUES(?, ?)", -1, &s,
				     NULL) == SQLITE_OK;

	if (ok) {
		sqlite3_bind_text(s, 1, tag, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, value, -1, SQLITE_STATIC);
		ok = step(s);
	}
	sqlite3_finalize(s);
	return ok;
}

bool metadata_add_integer(sqlite3 *db, const char *tag, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return metadata_add(db, tag, text);
}

const char *metadata_text(struct sql_context *c, const char *tag)
{
	sqlite3_stmt *s = NULL;
	const char *text = NULL;

	if (sqlite3_prepare_v2(c->db, "SELECT value FROM metadata WHERE tag = ?", -1, &s, NULL) !=
	    SQLITE_OK)
		return NULL;
	sqlite3_bind_text(s, 1, tag, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		text = c->keep(c->owner, (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return text;
}
