/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views of ROCpd that people and tools query. Rows of several processes lie in one base view: what
 * is joined has the same guid as well. Of what is joined with INNER JOIN, a row that has none is not
 * shown; the writer leaves nothing out that these need.
 */
#include "formats/rocpd/schema.h"

#include <stddef.h>

/* The row of `table` that `left` says, which is a column of alias.column. */
#define WITH(table, alias, of, column)                                                             \
	" JOIN rocpd_" table " " alias " ON " alias ".id = " of "." column " AND " alias           \
	".guid = " of ".guid"
#define STRING_OF(of, column)                                                                      \
	"(SELECT string FROM rocpd_string x WHERE x.id = " of "." column " AND x.guid = " of       \
	".guid)"

#define CATEGORY STRING_OF("e", "category_id") " AS category"
#define STACK    "e.stack_id AS stack_id, e.parent_stack_id AS parent_stack_id, "
#define CORR     "e.correlation_id AS corr_id"
#define TAKES(r) "(" r ".end - " r ".start) AS duration"
#define TIMES(r) r ".start AS start, " r ".end AS end, " TAKES(r)
#define AGENT(a, prefix)                                                                           \
	a ".absolute_index AS " prefix "agent_abs_index, " a ".logical_index AS " prefix           \
	  "agent_log_index, " a ".type_index AS " prefix "agent_type_index, " a ".type AS " prefix \
	  "agent_type"
#define NODE                                                                                       \
	"SELECT n.id AS nid, n.machine_id AS machine_id, n.system_name AS system_name, "           \
	"n.hostname AS hostname, n.release AS system_release, n.version AS system_version, "       \
	"p.guid AS guid, p.ppid AS ppid, p.pid AS pid, "
#define JSON(of, path) "json_extract(" of ".extdata, '$." path "')"

#define SAMPLES(times)                                                                             \
	"SELECT r.id AS id, r.guid AS guid, " CATEGORY ", " STRING_OF(                             \
		"t", "name_id") " AS name, t.nid AS nid, p.pid AS pid, h.tid AS tid, " times       \
				", r.event_id AS event_id, " STACK CORR                            \
				", e.extdata AS extdata, e.call_stack AS call_stack, e.line_info " \
				"AS line_info "                                                    \
				"FROM rocpd_sample r" WITH("track", "t", "r", "track_id")          \
					WITH("event", "e", "r", "event_id")                        \
						WITH("info_process", "p", "t", "pid")              \
							WITH("info_thread", "h", "t", "tid")

/* clang-format off */
const struct rocpd_view rocpd_views[] = {
	{"code_objects",
	 "SELECT o.id AS id, o.guid AS guid, o.nid AS nid, p.pid AS pid, a.absolute_index AS "
	 "agent_abs_index, o.uri AS uri, o.load_base AS load_base, o.load_size AS load_size, "
	 "o.load_delta AS load_delta, o.storage_type AS storage_type_str, " JSON("o", "size")
	 " AS code_object_size, " JSON("o", "storage_type") " AS storage_type, "
	 JSON("o", "memory_base") " AS memory_base, " JSON("o", "memory_size")
	 " AS memory_size FROM rocpd_info_code_object o" WITH("info_agent", "a", "o", "agent_id")
	 WITH("info_process", "p", "o", "pid"),
	 0},
	{"kernel_symbols",
	 "SELECT k.id AS id, k.guid AS guid, k.nid AS nid, p.pid AS pid, k.code_object_id AS "
	 "code_object_id, k.kernel_name AS kernel_name, k.display_name AS display_name, "
	 "k.kernel_object AS kernel_object, k.kernarg_segment_size AS kernarg_segment_size, "
	 "k.kernarg_segment_alignment AS kernarg_segment_alignment, k.group_segment_size AS "
	 "group_segment_size, k.private_segment_size AS private_segment_size, k.sgpr_count AS "
	 "sgpr_count, k.arch_vgpr_count AS arch_vgpr_count, k.accum_vgpr_count AS "
	 "accum_vgpr_count, " JSON("k", "size") " AS kernel_symbol_size, " JSON("k", "kernel_id")
	 " AS kernel_id, " JSON("k", "kernel_code_entry_byte_offset") " AS "
	 "kernel_code_entry_byte_offset, " JSON("k", "formatted_kernel_name")
	 " AS formatted_kernel_name, " JSON("k", "demangled_kernel_name") " AS "
	 "demangled_kernel_name, " JSON("k", "truncated_kernel_name") " AS "
	 "truncated_kernel_name, " JSON("k", "kernel_address.handle") " AS kernel_address FROM "
	 "rocpd_info_kernel_symbol k" WITH("info_process", "p", "k", "pid"),
	 0},
	{"processes",
	 NODE "p.init AS init, p.start AS start, p.end AS end, p.fini AS fini, p.command AS "
	 "command FROM rocpd_info_process p" WITH("info_node", "n", "p", "nid"),
	 0},
	{"threads",
	 NODE "t.tid AS tid, t.start AS start, t.end AS end, t.name AS name FROM "
	 "rocpd_info_thread t" WITH("info_process", "p", "t", "pid")
	 WITH("info_node", "n", "t", "nid"),
	 0},
	{"regions",
	 "SELECT r.id AS id, r.guid AS guid, " CATEGORY ", s.string AS name, r.nid AS nid, "
	 "p.pid AS pid, t.tid AS tid, " TIMES("r") ", r.event_id AS event_id, " STACK CORR
	 ", e.extdata AS extdata, e.call_stack AS call_stack, e.line_info AS line_info FROM "
	 "rocpd_region r" WITH("event", "e", "r", "event_id") WITH("string", "s", "r", "name_id")
	 WITH("info_process", "p", "r", "pid") WITH("info_thread", "t", "r", "tid"),
	 0},
	{"region_args",
	 "SELECT r.id AS id, r.guid AS guid, r.nid AS nid, p.pid AS pid, a.type AS type, "
	 "a.name AS name, a.value AS value FROM rocpd_region r"
	 WITH("event", "e", "r", "event_id") " JOIN rocpd_arg a ON a.event_id = e.id AND a.guid "
	 "= r.guid" WITH("info_process", "p", "r", "pid"),
	 0},
	{"samples",
	 SAMPLES("r.timestamp AS timestamp"),
	 0},
	{"sample_regions",
	 SAMPLES("r.timestamp AS start, r.timestamp AS END, (r.timestamp - r.timestamp) AS duration"),
	 0},
	{"regions_and_samples",
	 "SELECT * FROM regions UNION ALL SELECT * FROM sample_regions",
	 0},
	{"kernels",
	 "SELECT k.id AS id, k.guid AS guid, t.tid AS tid, " CATEGORY ", r.string AS region, "
	 "s.display_name AS name, k.nid AS nid, p.pid AS pid, " AGENT("a", "")
	 ", s.code_object_id AS code_object_id, k.kernel_id AS kernel_id, k.dispatch_id AS "
	 "dispatch_id, k.stream_id AS stream_id, k.queue_id AS queue_id, q.name AS queue, "
	 "st.name AS stream, " TIMES("k") ", k.grid_size_x AS grid_x, k.grid_size_y AS grid_y, "
	 "k.grid_size_z AS grid_z, k.workgroup_size_x AS workgroup_x, k.workgroup_size_y AS "
	 "workgroup_y, k.workgroup_size_z AS workgroup_z, k.group_segment_size AS lds_size, "
	 "k.private_segment_size AS scratch_size, s.arch_vgpr_count AS vgpr_count, "
	 "s.accum_vgpr_count AS accum_vgpr_count, s.sgpr_count AS sgpr_count, "
	 "s.group_segment_size AS static_lds_size, s.private_segment_size AS "
	 "static_scratch_size, " STACK CORR " FROM rocpd_kernel_dispatch k"
	 WITH("info_agent", "a", "k", "agent_id") WITH("event", "e", "k", "event_id")
	 WITH("string", "r", "k", "region_name_id")
	 WITH("info_kernel_symbol", "s", "k", "kernel_id") " LEFT"
	 WITH("info_stream", "st", "k", "stream_id") " LEFT"
	 WITH("info_queue", "q", "k", "queue_id") WITH("info_process", "p", "q", "pid")
	 WITH("info_thread", "t", "k", "tid"),
	 0},
	{"pmc_info",
	 "SELECT c.id AS id, c.guid AS guid, c.nid AS nid, p.pid AS pid, a.absolute_index AS "
	 "agent_abs_index, c.is_constant AS is_constant, c.is_derived AS is_derived, c.name AS "
	 "name, c.description AS description, c.block AS block, c.expression AS expression "
	 "FROM rocpd_info_pmc c" WITH("info_agent", "a", "c", "agent_id")
	 WITH("info_process", "p", "c", "pid"),
	 0},
	{"pmc_events",
	 "SELECT v.id AS id, v.guid AS guid, v.pmc_id AS pmc_id, e.id AS event_id, " CATEGORY
	 ", (SELECT display_name FROM rocpd_info_kernel_symbol x WHERE x.id = k.kernel_id AND "
	 "x.guid = k.guid) AS name, k.nid AS nid, p.pid AS pid, k.dispatch_id AS dispatch_id, "
	 TIMES("k") ", c.name AS counter_name, v.value AS counter_value FROM rocpd_pmc_event v"
	 WITH("info_pmc", "c", "v", "pmc_id") WITH("event", "e", "v", "event_id")
	 " JOIN rocpd_kernel_dispatch k ON k.event_id = v.event_id AND k.guid = v.guid"
	 WITH("info_process", "p", "k", "pid"),
	 0},
	{"events_args",
	 "SELECT e.id AS event_id, " CATEGORY ", " STACK "e.correlation_id AS correlation_id, "
	 "a.position AS arg_position, a.type AS arg_type, a.name AS arg_name, a.value AS "
	 "arg_value, e.call_stack AS call_stack, e.line_info AS line_info, a.extdata AS "
	 "extdata FROM rocpd_event e JOIN rocpd_arg a ON a.event_id = e.id AND a.guid = e.guid",
	 0},
	{"stream_args",
	 "SELECT a.id AS argument_id, a.event_id AS event_id, a.position AS arg_position, "
	 "a.type AS arg_type, a.value AS arg_value, " JSON("a", "stream_id")
	 " AS stream_id, s.nid AS nid, p.pid AS pid, s.name AS stream_name, s.extdata AS "
	 "extdata FROM rocpd_arg a JOIN rocpd_info_stream s ON " JSON("a", "stream_id")
	 " = s.id AND a.guid = s.guid" WITH("info_process", "p", "s", "pid")
	 " WHERE a.name = 'stream'",
	 0},
	{"memory_copies",
	 "SELECT m.id AS id, m.guid AS guid, " CATEGORY ", m.nid AS nid, p.pid AS pid, t.tid AS "
	 "tid, " TIMES("m") ", s.string AS name, r.string AS region_name, m.stream_id AS "
	 "stream_id, m.queue_id AS queue_id, st.name AS stream_name, q.name AS queue_name, "
	 "m.size AS size, d.name AS dst_device, " AGENT("d", "dst_") ", m.dst_address AS "
	 "dst_address, o.name AS src_device, " AGENT("o", "src_") ", m.src_address AS "
	 "src_address, " STACK CORR " FROM rocpd_memory_copy m"
	 WITH("string", "s", "m", "name_id") " LEFT" WITH("string", "r", "m", "region_name_id")
	 WITH("info_agent", "d", "m", "dst_agent_id")
	 WITH("info_agent", "o", "m", "src_agent_id") " LEFT"
	 WITH("info_queue", "q", "m", "queue_id") " LEFT"
	 WITH("info_stream", "st", "m", "stream_id") WITH("event", "e", "m", "event_id")
	 WITH("info_process", "p", "m", "pid") WITH("info_thread", "t", "m", "tid"),
	 0},
	{"memory_allocations",
	 "SELECT m.id AS id, m.guid AS guid, " CATEGORY ", m.nid AS nid, p.pid AS pid, t.tid AS "
	 "tid, " TIMES("m") ", m.type AS type, m.level AS level, a.name AS agent_name, "
	 AGENT("a", "") ", m.address AS address, m.size AS size, m.queue_id AS queue_id, q.name "
	 "AS queue_name, m.stream_id AS stream_id, st.name AS stream_name, " STACK CORR
	 " FROM rocpd_memory_allocate m LEFT" WITH("info_agent", "a", "m", "agent_id") " LEFT"
	 WITH("info_queue", "q", "m", "queue_id") " LEFT"
	 WITH("info_stream", "st", "m", "stream_id") WITH("event", "e", "m", "event_id")
	 WITH("info_process", "p", "m", "pid") WITH("info_thread", "t", "m", "tid"),
	 0},
	{"scratch_memory",
	 "SELECT m.id AS id, m.guid AS guid, m.nid AS nid, p.pid AS pid, m.type AS operation, "
	 "a.name AS agent_name, " AGENT("a", "") ", m.queue_id AS queue_id, t.tid AS tid, "
	 JSON("m", "flags") " AS alloc_flags, " TIMES("m") ", m.size AS size, m.address AS "
	 "address, e.correlation_id AS correlation_id, " STACK CORR ", " CATEGORY
	 ", e.extdata AS event_extdata FROM rocpd_memory_allocate m LEFT"
	 WITH("info_agent", "a", "m", "agent_id") " LEFT"
	 WITH("info_queue", "q", "m", "queue_id") WITH("event", "e", "m", "event_id")
	 WITH("info_process", "p", "m", "pid") WITH("info_thread", "t", "m", "tid")
	 " WHERE m.level = 'SCRATCH' ORDER BY m.start ASC",
	 0},
	{"counters_collection",
	 "SELECT MIN(v.id) AS id, v.guid AS guid, k.dispatch_id AS dispatch_id, k.kernel_id AS "
	 "kernel_id, e.id AS event_id, e.correlation_id AS correlation_id, " STACK
	 "p.pid AS pid, t.tid AS tid, k.agent_id AS agent_id, " AGENT("a", "")
	 ", k.queue_id AS queue_id, k.grid_size_x AS grid_size_x, k.grid_size_y AS "
	 "grid_size_y, k.grid_size_z AS grid_size_z, (k.grid_size_x * k.grid_size_y * "
	 "k.grid_size_z) AS grid_size, s.display_name AS kernel_name, "
	 STRING_OF("k", "region_name_id") " AS kernel_region, k.workgroup_size_x AS "
	 "workgroup_size_x, k.workgroup_size_y AS workgroup_size_y, k.workgroup_size_z AS "
	 "workgroup_size_z, (k.workgroup_size_x * k.workgroup_size_y * k.workgroup_size_z) AS "
	 "workgroup_size, k.group_segment_size AS lds_block_size, k.private_segment_size AS "
	 "scratch_size, s.arch_vgpr_count AS vgpr_count, s.accum_vgpr_count AS "
	 "accum_vgpr_count, s.sgpr_count AS sgpr_count, c.name AS counter_name, c.symbol AS "
	 "counter_symbol, c.component AS component, c.description AS description, c.block AS "
	 "block, c.expression AS expression, c.value_type AS value_type, c.id AS counter_id, "
	 "SUM(v.value) AS value, k.start AS start, k.end AS end, c.is_constant AS is_constant, "
	 "c.is_derived AS is_derived, " TAKES("k") ", " CATEGORY ", k.nid AS nid, e.extdata AS "
	 "extdata, s.code_object_id AS code_object_id FROM rocpd_pmc_event v"
	 WITH("info_pmc", "c", "v", "pmc_id") WITH("event", "e", "v", "event_id")
	 " JOIN rocpd_kernel_dispatch k ON k.event_id = v.event_id AND k.guid = v.guid"
	 WITH("info_agent", "a", "k", "agent_id")
	 WITH("info_kernel_symbol", "s", "k", "kernel_id") WITH("info_process", "p", "k", "pid")
	 WITH("info_thread", "t", "k", "tid") " GROUP BY v.guid, k.dispatch_id, c.name, "
	 "k.agent_id",
	 0},
	{"graph_launches",
	 "SELECT g.id AS id, g.guid AS guid, " CATEGORY ", g.nid AS nid, p.pid AS pid, t.tid AS "
	 "tid, " TIMES("g") ", " AGENT("a", "") ", g.queue_id AS queue_id, g.graph_exec_id AS "
	 "graph_exec_id, g.kernel_dispatch_count AS kernel_dispatch_count, " STACK CORR
	 " FROM rocpd_graph_launch g LEFT" WITH("info_agent", "a", "g", "agent_id")
	 WITH("event", "e", "g", "event_id") WITH("info_process", "p", "g", "pid")
	 WITH("info_thread", "t", "g", "tid"),
	 2},
	{"spm_counters",
	 "SELECT v.id AS id, v.guid AS guid, v.pmc_id AS pmc_id, v.sample_id AS sample_id, "
	 "r.timestamp AS timestamp, c.name AS counter_name, v.value AS counter_value, v.xcc AS "
	 "xcc, v.shader_engine AS shader_engine, v.instance AS instance FROM rocpd_pmc_event v"
	 WITH("info_pmc", "c", "v", "pmc_id") WITH("sample", "r", "v", "sample_id"),
	 3},
	{"top_kernels",
	 "SELECT s.display_name AS name, COUNT(k.kernel_id) AS total_calls, SUM(k.end - "
	 "k.start) / 1000.0 AS total_duration, (SUM(k.end - k.start) / COUNT(k.kernel_id)) / "
	 "1000.0 AS average, SUM(k.end - k.start) * 100.0 / (SELECT SUM(x.end - x.start) FROM "
	 "rocpd_kernel_dispatch x) AS percentage FROM rocpd_kernel_dispatch k"
	 WITH("info_kernel_symbol", "s", "k", "kernel_id") " GROUP BY name ORDER BY "
	 "total_duration DESC",
	 0},
	{"busy",
	 "WITH work AS (SELECT agent_id, guid, start, end FROM rocpd_kernel_dispatch UNION ALL "
	 "SELECT dst_agent_id, guid, start, end FROM rocpd_memory_copy), each AS (SELECT "
	 "agent_id, guid, SUM(end - start) AS GpuTime FROM work GROUP BY agent_id, guid), "
	 "whole AS (SELECT MAX(end) - MIN(start) AS WallTime FROM work) SELECT w.agent_id AS "
	 "agent_id, a.type AS type, GpuTime, WallTime, GpuTime * 1.0 / WallTime AS Busy FROM "
	 "each w JOIN whole" WITH("info_agent", "a", "w", "agent_id"),
	 0},
	{"top",
	 "WITH work AS (SELECT s.display_name AS name, k.end - k.start AS duration FROM "
	 "rocpd_kernel_dispatch k" WITH("info_kernel_symbol", "s", "k", "kernel_id")
	 " UNION ALL SELECT s.string, m.end - m.start FROM rocpd_memory_copy m"
	 WITH("string", "s", "m", "name_id") " UNION ALL SELECT s.string, r.end - r.start FROM "
	 "rocpd_region r" WITH("string", "s", "r", "name_id") "), whole AS (SELECT "
	 "SUM(duration) AS total_time FROM work) SELECT name, COUNT(*) AS total_calls, "
	 "SUM(duration) / 1000.0 AS total_duration, (SUM(duration) / COUNT(*)) / 1000.0 AS "
	 "average, SUM(duration) * 100.0 / total_time AS percentage FROM work JOIN whole GROUP "
	 "BY name ORDER BY total_duration DESC",
	 0},
	{NULL, NULL, 0},
};
/* clang-format on */
