/* SPDX-License-Identifier: Apache-2.0 */
/* Members of definitions and records; see tables.h. */
#include "formats/ctf/tables.h"

#include "record/members.h"

#define MEMBER(T, type, name, member, of)                                                          \
	{#name, (uint16_t)offsetof(struct T, member), 0, CTF_##type, CTF_##of, 0},
#define WITH_LENGTH(T, type, name, member, count)                                                  \
	{#name,                                                                                    \
	 (uint16_t)offsetof(struct T, member),                                                     \
	 (uint16_t)offsetof(struct T, count),                                                      \
	 CTF_##type,                                                                               \
	 CTF_NOTHING,                                                                              \
	 (uint8_t)sizeof(((struct T *)0)->count)},

/* V: a value; R: the index of an element of a list. */
#define V(type, name)        MEMBER(T_NOW, type, name, name, NOTHING)
#define R(name, list)        MEMBER(T_NOW, U32, name, name, LIST_##list)
#define L(type, name, count) WITH_LENGTH(T_NOW, type, name, name, count)

#define TABLE(NAME, rows)                                                                          \
	{                                                                                          \
		NAME, rows, sizeof(rows) / sizeof(*(rows)), 0                                      \
	}

#define T_NOW t_domain
static const struct ctf_member domain_members[] = {V(TEXT, name) V(TEXT, title)};
#undef T_NOW
#define T_NOW t_op
static const struct ctf_member op_members[] = {V(TEXT, name) R(domain, domains) V(U32, number)
						       V(U32, flags) V(I32, status_ok)};
#undef T_NOW
#define T_NOW t_process
static const struct ctf_member process_members[] = {
	V(U32, pid) V(U32, ppid) V(U32, rank) V(TEXT0, name) V(TEXT, exe) V(TEXT, argv) V(
		TEXT, cwd) V(TEXT, hostname) V(TEXT, job) V(TEXT, file) V(TEXT, version) V(I64,
											   start)
		V(I64, end) V(I64, start_realtime) V(I64, realtime_offset) V(U32, arg_level) V(
			U32, how_ended) V(I32, exit_status) V(U64, lost_records) V(U64,
										   lost_definitions)
			V(U64, untraced_calls) V(U64, untimed) V(U64, overwritten_records) V(
				U64, damaged_blocks) V(F64,
						       clock_error_ns) V(F64, record_cost_ns)
				V(F64, overhead_ns) V(F64, loading_ns) V(F64, calls_cost_ns) V(
					F64, calls_cost_variance) V(U64,
								    cost_samples) V(F64, waiting_ns)
					V(F64, beside_ns) V(F64, drain_ns) V(U32, ranks) V(
						TEXT, rank_by) V(U32,
								 of_rank) V(U32,
									    world) V(TEXT,
										     mpi) V(I32,
											    thread_level)
						V(BOOL, aligned) V(U32, job_points) V(
							I64,
							job_offset) V(F64,
								      job_error_ns) V(I64,
										      job_measured) V(F64,
												      job_measured_error_ns)
							V(U32, merged_ranks) V(F64, thread_time_ns) V(
								BOOL, telemetry) V(U64,
										   unwritten_records) V(U64, unlisted)
								V(U64, no_memory_records) V(U64, dropped_records) V(
									U64,
									left_out_rows) V(U64,
											 user_ns) V(U64,
												    system_ns)
									V(U64, resident_bytes) V(U32, usage) V(
										U64,
										delay_ns) V(U32,
											    file_state)
										V(U32, rank_stage) V(
											I64,
											seen) V(BOOL, recording)
											V(I64, quiet_ns) V(
												TEXT0,
												filters) V(BOOL,
													   some_ranks)
												V(BOOL,
												  partial)};
#undef T_NOW
#define T_NOW t_thread
static const struct ctf_member thread_members[] = {
	R(process, processes) V(U32, index) V(U32, tid) V(TEXT, name) V(I64, start) V(I64, end)
		V(U64, records) V(U64, lost) V(U64, processor_ns) V(BOOL, main) V(BOOL, own)};
#undef T_NOW
#define T_NOW t_clock
static const struct ctf_member clock_members[] = {R(process, processes) V(TEXT, name)
							  V(F64, error_ns) V(U32, syncs)};
#undef T_NOW
#define T_NOW t_agent
static const struct ctf_member device_members[] = {
	R(process, processes) R(parent, agents) R(clock, clocks) V(TEXT, type) V(TEXT, name)
		V(TEXT, vendor) V(TEXT, driver) V(TEXT, domain) V(TEXT, platform)
			V(TEXT, properties) V(U64, handle) V(UUID, uuid) V(BOOL, has_uuid)
				V(TEXT0, given)};
#undef T_NOW
#define T_NOW t_device_context
static const struct ctf_member context_members[] = {R(process, processes) V(U64, handle)
							    V(TEXT, domain) V(TEXT0, name)};
#undef T_NOW
#define T_NOW t_queue
static const struct ctf_member queue_members[] = {
	R(process, processes) R(agent, agents) R(context, contexts) V(U32, flags) V(U64, handle)
		V(U64, properties) V(TEXT, domain) V(TEXT, name)};
#undef T_NOW
#define T_NOW t_blob
static const struct ctf_member blob_members[] = {R(process, processes) V(TEXT, what)
							 L(BYTES, data, stored) V(U64, total)};
#undef T_NOW
#define T_NOW t_program
static const struct ctf_member program_members[] = {R(process, processes) R(context, contexts) R(
	source, blobs) V(U64, handle) V(TEXT, domain) V(TEXT, kind) V(TEXT, name)};
#undef T_NOW
#define T_NOW t_kernel
static const struct ctf_member kernel_members[] = {
	R(process, processes) R(program, programs) V(U64, handle) V(TEXT, domain) V(TEXT, name)
		V(TEXT, symbol) V(TEXT, framework) V(TEXT, source) V(TEXT, device)};
#undef T_NOW
#define T_NOW t_module
static const struct ctf_member module_members[] = {R(process, processes) V(U64, start) V(
	U64, end) V(U64, bias) V(TEXT, path) L(BYTES, build_id, build_id_length)};
#undef T_NOW
#define T_NOW t_site
static const struct ctf_member site_members[] = {R(process, processes) V(U64, address) R(
	module, modules) V(TEXT0, function) V(TEXT0, file) V(U32, line)};
#undef T_NOW
#define T_NOW t_stack
static const struct ctf_member stack_members[] = {R(process, processes) L(U32S, sites, count)};
#undef T_NOW
#define T_NOW t_note
static const struct ctf_member note_members[] = {R(process, processes) V(U32, severity) V(
	TEXT, part) V(TEXT, text) V(I64, time) V(U64, count)};
#undef T_NOW
#define T_NOW t_open_call
static const struct ctf_member open_call_members[] = {R(thread, threads) R(op, ops) V(U32, depth)
							      V(U64, id) V(I64, start)};
#undef T_NOW
#define T_NOW t_unfinished
static const struct ctf_member unfinished_members[] = {
	R(process, processes) R(thread, threads) R(op, ops) R(agent, agents) R(queue, queues)
		R(kernel, kernels) V(U64, id) V(U64, bytes) V(I64, submit) V(U64, unlisted)};
#undef T_NOW
#define T_NOW t_left_out
static const struct ctf_member left_out_members[] = {R(process, processes) R(thread, threads)
							     R(op, ops) V(U64, calls)};
#undef T_NOW
#define T_NOW t_pause
static const struct ctf_member pause_members[] = {R(process, processes) V(I64, start) V(I64, end)};
#undef T_NOW
#define T_NOW t_string
static const struct ctf_member string_members[] = {L(COUNTED, text, length) V(U64, total)};
#undef T_NOW
#define T_NOW t_communicator
static const struct ctf_member communicator_members[] = {
	R(process, processes) V(U32, kind) V(U32, id) V(TEXT, name) V(U32, size) V(U32, remote_size)
		R(parent, communicators) V(U64, key) V(U64, handle) V(U32, own_rank)
			L(RUNS, members, member_runs) L(RUNS, remote, remote_runs)};
#undef T_NOW
#define T_NOW t_counter
static const struct ctf_member counter_members[] = {
	R(process, processes) R(agent, agents) V(U32, flags) V(TEXT, name) V(TEXT, unit)
		V(TEXT, description) V(TEXT, provider) V(TEXT, dimensions)};
#undef T_NOW
#define T_NOW t_code
static const struct ctf_member code_members[] = {R(process, processes) V(TEXT, function) V(
	TEXT, file) V(U32, line) V(U64, module) V(U64, offset)};
#undef T_NOW
#define T_NOW t_place
static const struct ctf_member place_members[] = {
	R(process, processes) R(program, programs) R(block, places) V(TEXT, function) V(TEXT, what)
		V(TEXT, kind) V(TEXT, file) V(U32, line) V(U32, column) V(U64, times)
			V(U64, bytes)};
#undef T_NOW

#define LIST(list, type, name)                                                                     \
	{{#name, name##_members, sizeof(name##_members) / sizeof(*name##_members),                 \
	  sizeof(struct type)},                                                                    \
	 (uint32_t)offsetof(struct trace, list),                                                   \
	 (uint32_t)offsetof(struct trace, list##_count),                                           \
	 (uint32_t)offsetof(struct trace, list##_room)},
const struct ctf_list ctf_lists[CTF_LIST_COUNT] = {CTF_LISTS(LIST)};

/* ---- what no list has ----------------------------------------------------------------------- */

#define T_NOW trace
static const struct ctf_member trace_members[] = {V(TEXT, command) V(TEXT, formulas) V(
	TEXT, hostname) V(TEXT, version) V(I64, started) V(U32, worlds) V(I64, origin) V(I64, end)};
#undef T_NOW
#define T_NOW ctf_op_field
static const struct ctf_member op_field_members[] = {R(op, ops) V(U32, set) V(TEXT, name) V(
	TEXT, type) V(U8, kind) V(U8, element) V(U8, size) V(U8, flags) V(U8, reference)};
#undef T_NOW
#define T_NOW ctf_end
static const struct ctf_member end_members[] = {V(U64, records)};
#undef T_NOW
#define T_NOW ctf_value
static const struct ctf_member value_members[] = {V(U32, set) V(TEXT, set_name) V(TEXT, name)
							  V(I64, value)};
#undef T_NOW

const struct ctf_table ctf_trace_table = TABLE("trace", trace_members);
const struct ctf_table ctf_end_table = TABLE("end", end_members);
const struct ctf_table ctf_op_field_table = TABLE("op_field", op_field_members);
const struct ctf_table ctf_value_table = TABLE("value", value_members);

/* ---- records --------------------------------------------------------------------------------- */

#define T_NOW rec
static const struct ctf_member base_members[] = {
	MEMBER(rec, U32, op_index, op, LIST_ops) MEMBER(rec, U32, process_index, process,
							LIST_processes)
		MEMBER(rec, U32, thread_index, thread, LIST_threads) V(I64, start) V(I64, end)
			MEMBER(rec, U64, call_id, id, NOTHING)
				MEMBER(rec, U64, parent_call, parent, NOTHING) R(site, sites)
					R(stack, stacks) V(I32, status) V(BOOL, ok) V(BOOL, unwound)
						V(U64, external)
							MEMBER(rec, I64, in_scope, scope, NOTHING)};
#undef T_NOW
#define D(type, name, member) MEMBER(rec_device, type, name, member, NOTHING)
static const struct ctf_member device_time_members[] = {
	D(I64, device_queued, queued) D(I64, device_submitted, submitted)
		D(I64, device_start, start) D(I64, device_end, end) D(U32, untimed, untimed)
			D(I32, device_status, status) D(U64, correlation, correlation)
				D(I64, submit, submit) D(BOOL, causal_violation, causal_violation)};
#define T_NOW rec_loss
static const struct ctf_member loss_members[] = {
	R(process, processes) R(thread, threads) V(U64, count) V(I64, after) V(I64, before)};
#undef T_NOW

const struct ctf_table ctf_base_table = TABLE("", base_members);
const struct ctf_table ctf_device_table = TABLE("", device_time_members);
const struct ctf_table ctf_loss_table = TABLE("loss", loss_members);

#define CTF_OF_NONE           CTF_NOTHING
#define CTF_OF_CALL           CTF_NOTHING
#define CTF_OF_OP             CTF_LIST_ops
#define CTF_OF_PLACE          CTF_LIST_places
#define CTF_OF_AGENT          CTF_LIST_agents
#define CTF_OF_QUEUE          CTF_LIST_queues
#define CTF_OF_KERNEL         CTF_LIST_kernels
#define CTF_OF_STRING         CTF_LIST_strings
#define CTF_OF_THREAD         CTF_LIST_threads
#define CTF_OF_COUNTER        CTF_LIST_counters
#define CTF_OF_CODE           CTF_LIST_codes
#define CTF_OF_COMMUNICATOR   CTF_LIST_communicators
#define CTF_OF_DEVICE_CONTEXT CTF_LIST_contexts
#define CTF_OF_PROGRAM        CTF_LIST_programs
#define CTF_OF_BLOB           CTF_LIST_blobs
#define CTF_OF_STACK          CTF_LIST_stacks

#define SHORT(T, type, name, member, of) MEMBER(T, type, name, member, OF_##of)
#define M_U8(T, name, member, of)        SHORT(T, U8, name, member, of)
#define M_U32(T, name, member, of)       SHORT(T, U32, name, member, of)
#define M_U64(T, name, member, of)       SHORT(T, U64, name, member, of)
#define M_I32(T, name, member, of)       SHORT(T, I32, name, member, of)
#define M_I64(T, name, member, of)       SHORT(T, I64, name, member, of)
#define M_F64(T, name, member, of)       SHORT(T, F64, name, member, of)
#define M_BOOL(T, name, member, of)      SHORT(T, BOOL, name, member, of)
#define M_TEXT(T, name, member, of)      WITH_LENGTH(T, COUNTED, name, member, member##_length)
#define M_BYTES(T, name, member, of)     WITH_LENGTH(T, BYTES, name, member, member##_bytes)
#define MODEL(T, type, name, member, of) M_##type(T, name, member, of)

#define RECORD(K, name, type)                                                                      \
	static const struct ctf_member name##_of_records[] = {RECORD_MEMBERS_##name(MODEL)};
RECORD_KINDS(RECORD)

#define KIND(K, name, type)                                                                        \
	[CTF_KIND_##K] = {#name, name##_of_records,                                                \
			  sizeof(name##_of_records) / sizeof(*name##_of_records),                  \
			  sizeof(struct type)},
const struct ctf_table ctf_kind_tables[CTF_KINDS] = {
	[CTF_KIND_CALL] = {.size = sizeof(struct rec)},
	RECORD_KINDS(KIND)[CTF_KIND_OTHER] = {.size = sizeof(struct rec)}};

const uint32_t ctf_device_offset[CTF_KINDS] = {[CTF_KIND_DISPATCH] =
						       offsetof(struct rec_dispatch, device),
					       [CTF_KIND_COPY] = offsetof(struct rec_copy, device)};

enum ctf_kind ctf_kind_of(const char *domain)
{
	static const struct {
		const char *domain;
		enum ctf_kind kind;
	} kinds[] = {
#define DOMAIN_KIND(name, kind) {name, CTF_KIND_##kind},
		RECORD_DOMAINS(DOMAIN_KIND)};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].domain, domain) == 0)
			return kinds[i].kind;
	return CTF_KIND_CALL;
}

const char *ctf_kind_name(enum ctf_kind kind)
{
	return kind == CTF_KIND_CALL    ? "call"
	       : kind == CTF_KIND_OTHER ? "other"
					: ctf_kind_tables[kind].name;
}
