-- SPDX-License-Identifier: Apache-2.0
-- The store: one SQLite database a trace. Tables hold integers; what repeats is text once, in a
-- table of definitions. Row ids of definitions are the indexes that records use; 0 is "none".
-- Times are nanoseconds since metadata 'origin' (node time); durations are nanoseconds.
-- The id of a call is (process - 1) << 40 | its correlation id, so whatever carries a correlation
-- id joins to `call` by row id, without an index. Views carry the names of ROCpd's public views.

CREATE TABLE metadata(id INTEGER PRIMARY KEY, tag TEXT NOT NULL UNIQUE, value TEXT);
CREATE TABLE source(id INTEGER PRIMARY KEY, file TEXT, size INTEGER, modified INTEGER);
CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

-- definitions ---------------------------------------------------------------------------------
CREATE TABLE domain(id INTEGER PRIMARY KEY, name TEXT, title TEXT);
CREATE TABLE enum_value(id INTEGER PRIMARY KEY, enum_set INTEGER, set_name TEXT, name TEXT,
	value INTEGER);
CREATE INDEX enum_value_in_set ON enum_value(enum_set, value);
CREATE INDEX enum_value_by_name ON enum_value(set_name, value);
CREATE TABLE op(id INTEGER PRIMARY KEY, domain INTEGER, number INTEGER, name TEXT, flags INTEGER,
	status_set INTEGER, status_ok INTEGER);
CREATE TABLE op_field(id INTEGER PRIMARY KEY, op INTEGER, position INTEGER, name TEXT, type TEXT,
	enum_set INTEGER, kind INTEGER, element INTEGER, size INTEGER, flags INTEGER);
CREATE TABLE process(id INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, rank INTEGER,
	name TEXT, exe TEXT,
	argv TEXT, cwd TEXT, hostname TEXT, job TEXT, file TEXT, version TEXT, start INTEGER,
	end INTEGER, start_realtime INTEGER, realtime_offset INTEGER, arg_level INTEGER,
	how_ended INTEGER, exit_status INTEGER, lost_records INTEGER, overwritten_records INTEGER,
	lost_definitions INTEGER,
	untraced_calls INTEGER, untimed INTEGER, damaged_blocks INTEGER, clock_error_ns REAL,
	-- what recording took: of a record that is no call; timed as it was spent (collecting, definitions);
	-- of calls, from so many samples; waiting for room; processor time of threads that are not the
	-- program's, and of the drain. View `overhead` has the sums that the summary tells.
	record_cost_ns REAL, overhead_ns REAL, calls_cost_ns REAL, calls_cost_variance REAL,
	cost_samples INTEGER, waiting_ns REAL, beside_ns REAL, drain_ns REAL, telemetry INTEGER,
	-- of a parallel job: its size, and how this clock was made the job's where `aligned`
	ranks INTEGER, merged_ranks INTEGER, mpi TEXT, thread_level INTEGER, aligned INTEGER,
	job_offset INTEGER, job_error_ns REAL, job_measured INTEGER, job_measured_error_ns REAL,
	-- of lost_records: refused by the file system; without an end (how_ended null): known up to `seen`,
	-- and whether it was still being recorded, its file unchanged for `quiet_ns`
	unwritten_records INTEGER, seen INTEGER, recording INTEGER, quiet_ns INTEGER,
	-- of a rank: its MPI_COMM_WORLD, numbered as they began (one that ranks spawn is another)
	world INTEGER,
	-- commands never seen to finish beyond those in unfinished_work
	unlisted INTEGER,
	-- options that left something out: -b, -i, -x, -k, --device, --range, --during, --rank
	filters TEXT,
	-- of lost_records: there was no memory for them; of ranks counted together: rows of tallies for which
	-- their job's table had no room
	no_memory_records INTEGER, left_out_rows INTEGER,
	-- its file: 0 was read, 1 is missing, 2 cannot be read; then all that the process recorded is lost,
	-- and the rest of the row is what the manifest says
	file_state INTEGER,
	-- of a rank: 1 it has been in MPI_Init, 2 it has called MPI_Finalize; 0 not known
	rank_stage INTEGER,
	-- what the loading of Kymo took; of ranks counted together, how long their threads were there (below 0:
	-- of a rank that is in such a row as well, to be taken out of the time of its own threads)
	loading_ns REAL, thread_time_ns REAL,
	-- of lost_records: the runtime that they are of dropped them
	dropped_records INTEGER,
	-- of a rank: who says so (MPI, NCCL, torchrun, Slurm ...); of a process that is no rank and belongs to
	-- one, as a worker that it has started: that rank
	rank_by TEXT, of_rank INTEGER,
	-- on processors, in the program and in the system for it; memory resident at most; `usage`: 0 they are
	-- unknown, 1 known, 2 at least so much (it was killed)
	user_ns INTEGER, system_ns INTEGER, resident_bytes INTEGER, usage INTEGER,
	-- that the main thread was ready to run and had no processor, at least; 0: unknown
	delay_ns INTEGER);
CREATE TABLE thread(id INTEGER PRIMARY KEY, process INTEGER, number INTEGER, tid INTEGER,
	name INTEGER REFERENCES string, start INTEGER, end INTEGER, records INTEGER, lost INTEGER,
	main INTEGER, own INTEGER,
	processor_ns INTEGER); -- on a processor; 0: unknown
CREATE TABLE clock(id INTEGER PRIMARY KEY, process INTEGER, name TEXT, error_ns REAL,
	syncs INTEGER);
CREATE TABLE agent(id INTEGER PRIMARY KEY, process INTEGER, parent INTEGER, clock INTEGER,
	type TEXT, name TEXT, vendor TEXT, driver TEXT, domain TEXT, platform TEXT,
	properties TEXT, handle INTEGER, uuid TEXT,
	given TEXT, -- what a user called it
	label TEXT); -- name, number among those of the name, node, given name: a device of several processes has one
CREATE TABLE device_context(id INTEGER PRIMARY KEY, process INTEGER, handle INTEGER, domain TEXT,
	name TEXT);
CREATE TABLE queue(id INTEGER PRIMARY KEY, process INTEGER, agent INTEGER, context INTEGER,
	flags INTEGER, handle INTEGER, properties INTEGER, domain TEXT, name TEXT, number INTEGER,
	label TEXT);
CREATE TABLE blob(id INTEGER PRIMARY KEY, process INTEGER, what TEXT, stored INTEGER,
	total INTEGER, data TEXT);
CREATE TABLE program(id INTEGER PRIMARY KEY, process INTEGER, context INTEGER, source INTEGER,
	handle INTEGER, domain TEXT, kind TEXT, name TEXT);
CREATE TABLE kernel(id INTEGER PRIMARY KEY, process INTEGER, program INTEGER, handle INTEGER,
	domain TEXT, name INTEGER REFERENCES string, -- what the user calls it
	-- of a kernel that a framework (OCCA) generated: its name in the runtime, the framework, the user's file,
	-- the framework's device
	symbol TEXT, framework TEXT, source TEXT, device TEXT);
CREATE TABLE module(id INTEGER PRIMARY KEY, process INTEGER, start INTEGER, end INTEGER,
	bias INTEGER, path TEXT, build_id TEXT);
CREATE TABLE site(id INTEGER PRIMARY KEY, process INTEGER, address INTEGER, module INTEGER,
	function INTEGER REFERENCES string, file INTEGER REFERENCES string, line INTEGER,
	caller INTEGER); -- the site of the function that this one was inlined into; its line is that of the call
-- `end`: why it has no more frames; null where nobody told. Its frames: inlined functions, too.
CREATE TABLE stack(id INTEGER PRIMARY KEY, process INTEGER, end TEXT);
CREATE TABLE stack_frame(id INTEGER PRIMARY KEY, stack INTEGER, process INTEGER, depth INTEGER,
	site INTEGER);
-- what markers, their domains and categories are called; `total`: bytes before it was cut
CREATE TABLE marker_name(id INTEGER PRIMARY KEY, text TEXT, length INTEGER, total INTEGER);
-- Instructions of kernels: `function` is the symbol they lie in, `module` the checksum of its binary
CREATE TABLE device_code(id INTEGER PRIMARY KEY, process INTEGER, function INTEGER REFERENCES string,
	file INTEGER REFERENCES string, line INTEGER, module INTEGER, offset INTEGER);
-- Parts of kernels that were instrumented: blocks (`block` 0, `kind` says of what), and what each execution of one does so
-- many `times`: `what` is an access (load, store, rw, atomic; `kind` its memory, `bytes` of one) or work (flop_single, branch ...);
-- no `file`: the program's source
CREATE TABLE kernel_place(id INTEGER PRIMARY KEY, process INTEGER, program INTEGER,
	function INTEGER REFERENCES string, what INTEGER REFERENCES string, kind INTEGER REFERENCES string,
	block INTEGER, times INTEGER, bytes INTEGER, file INTEGER REFERENCES string, line INTEGER, col INTEGER);
CREATE TABLE counter(id INTEGER PRIMARY KEY, process INTEGER, agent INTEGER, flags INTEGER,
	name TEXT, unit TEXT, description TEXT, provider TEXT, dimensions TEXT);
-- Groups of processes: kind 0 a communicator, 1 an intercommunicator, 2 a window's, 3 a file's; each process
-- has its own row, `key` is the same in all members; members are ranks of the world: first, first + stride, ...;
-- first 4294967295: of another world; `remote`: the other side of an intercommunicator.
CREATE TABLE communicator(id INTEGER PRIMARY KEY, process INTEGER, kind INTEGER, number INTEGER,
	name TEXT, size INTEGER, remote_size INTEGER, parent INTEGER, key INTEGER, handle INTEGER);
CREATE TABLE communicator_ranks(id INTEGER PRIMARY KEY, communicator INTEGER, remote INTEGER,
	first INTEGER, count INTEGER, stride INTEGER);
CREATE TABLE note(id INTEGER PRIMARY KEY, process INTEGER, severity INTEGER, part TEXT, text TEXT,
	time INTEGER, count INTEGER);

-- of a process with `merged_ranks` ranks, whose tallies were added up in their job: how they share one thing, or
-- (`whole`) all of a kind; kind: 0 calls, 1 other, 2 dispatches, 3 copies, 5 waits, 6 messages, 7 ranges; keys
-- are those of the kind's tally table, after the process
CREATE TABLE rank_load(id INTEGER PRIMARY KEY, process INTEGER, kind INTEGER, whole INTEGER,
	key1 INTEGER, key2 INTEGER, key3 INTEGER, key4 INTEGER, key5 INTEGER, domain TEXT,
	sum INTEGER, min INTEGER, max INTEGER, min_rank INTEGER, max_rank INTEGER, ranks INTEGER);

-- records -------------------------------------------------------------------------------------
CREATE TABLE call(id INTEGER PRIMARY KEY, thread INTEGER, op INTEGER, start INTEGER,
	duration INTEGER, site INTEGER, status INTEGER);
-- arguments of calls, compressed: decoded by kymo_arg(call id, 'name') and kymo_args(call id)
CREATE TABLE call_args(id INTEGER PRIMARY KEY, data BLOB);
-- what few calls have: the call around them, the scope and external id, a stack
CREATE TABLE call_extra(id INTEGER PRIMARY KEY, parent INTEGER, scope INTEGER, external INTEGER,
	stack INTEGER, unwound INTEGER);
-- @records
CREATE TABLE activity(id INTEGER PRIMARY KEY, thread INTEGER, op INTEGER, start INTEGER,
	duration INTEGER, status INTEGER, args BLOB);
CREATE TABLE loss(id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER, count INTEGER,
	after INTEGER, before INTEGER);
CREATE TABLE open_call(id INTEGER PRIMARY KEY, thread INTEGER, op INTEGER, depth INTEGER,
	correlation INTEGER, start INTEGER);
-- Device work that was submitted and not seen to finish before its process ended, or was flushed last;
-- view `unfinished` has it with names.
CREATE TABLE unfinished_work(id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER, op INTEGER,
	agent INTEGER, queue INTEGER, kernel INTEGER, correlation INTEGER, bytes INTEGER,
	submit INTEGER);
-- Calls that were not recorded because the mode leaves them out; view `not_recorded`.
CREATE TABLE left_out(id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER, op INTEGER,
	calls INTEGER);

-- When a process recorded nothing though it was there: --start-paused, --delay, --duration, pauses.
CREATE TABLE pause(id INTEGER PRIMARY KEY, process INTEGER, start INTEGER, end INTEGER);

-- Durations in `low` to `low + width - 1`; `kind` is the name of a tally table, `row` its row.
CREATE TABLE histogram(id INTEGER PRIMARY KEY, kind TEXT, row INTEGER, bucket INTEGER,
	low INTEGER, width INTEGER, count INTEGER);

-- views -----------------------------------------------------------------------------------------
-- New columns come last. What a number means stands beside it: `status` and `status_name`,
-- `kind` and `kind_name`. docs/store.md is the manual.
CREATE VIEW processes AS SELECT p.id, 0 AS nid, p.hostname, p.ppid, p.pid, p.rank,
	p.start AS init, p.end AS fini, p.start, p.end, p.argv AS command, p.exe, p.name,
	p.how_ended, p.exit_status, CASE p.how_ended WHEN 0 THEN 'ended' WHEN 1 THEN 'ended without finalisation'
	WHEN 2 THEN 'killed by a signal' WHEN 3 THEN 'replaced by exec' WHEN 4 THEN 'was still running'
	ELSE 'not recorded' END AS how_ended_name, p.lost_records, p.world, x.lived, max(x.lived - x.paused, 0) AS recorded, x.pauses, p.filters,
	p.rank_by, p.of_rank, CASE WHEN p.usage > 0 THEN p.user_ns END AS user,
	CASE WHEN p.usage > 0 THEN p.system_ns END AS system,
	nullif(p.resident_bytes, 0) AS resident, p.usage, nullif(p.delay_ns, 0) AS delay
	FROM process p JOIN (SELECT p.id, max(ifnull(nullif(p.end, 0), ifnull(nullif(p.seen, 0), CAST(m.value AS INTEGER)))
	- p.start, 0) AS lived, (SELECT ifnull(sum(s.end - s.start), 0) FROM pause s WHERE s.process = p.id) AS paused,
	(SELECT count(*) FROM pause s WHERE s.process = p.id) AS pauses FROM process p
	LEFT JOIN metadata m ON m.tag = 'duration') x ON x.id = p.id;

CREATE VIEW threads AS SELECT t.id, 0 AS nid, p.hostname, p.ppid, p.pid, t.tid, t.start, t.end,
	s.text AS name, t.records, t.lost, t.own, nullif(t.processor_ns, 0) AS processor
	FROM thread t LEFT JOIN process p ON p.id = t.process LEFT JOIN string s ON s.id = t.name;

CREATE VIEW regions AS SELECT c.id, d.name AS category, o.name, 0 AS nid, p.pid, t.tid, c.start,
	c.start + c.duration AS end, c.duration, c.id AS event_id,
	c.id & 0xffffffffff AS stack_id, ifnull(x.parent, 0) AS parent_stack_id,
	ifnull(x.external, 0) AS corr_id, NULL AS extdata, x.stack AS call_stack,
	fn.text AS line_info, c.status, c.status <> o.status_ok AS failed, x.scope,
	fn.text AS function, fl.text AS file, s.line, c.op,
	(SELECT e.name FROM enum_value e WHERE e.enum_set = o.status_set
	AND e.value = c.status ORDER BY e.id LIMIT 1) AS status_name
	FROM call c LEFT JOIN thread t ON t.id = c.thread LEFT JOIN process p ON p.id = t.process
	LEFT JOIN op o ON o.id = c.op LEFT JOIN domain d ON d.id = o.domain
	LEFT JOIN call_extra x ON x.id = c.id LEFT JOIN site s ON s.id = c.site
	LEFT JOIN string fn ON fn.id = s.function LEFT JOIN string fl ON fl.id = s.file
	WHERE ifnull(t.own, 0) = 0;

CREATE VIEW samples AS SELECT a.id, d.name AS category, o.name, 0 AS nid, p.pid, t.tid,
	a.start AS timestamp, a.id AS event_id, 0 AS stack_id, 0 AS parent_stack_id,
	0 AS corr_id, NULL AS extdata, a.op, a.args
	FROM activity a LEFT JOIN thread t ON t.id = a.thread LEFT JOIN process p ON p.id = t.process
	LEFT JOIN op o ON o.id = a.op LEFT JOIN domain d ON d.id = o.domain
	WHERE a.duration = 0
	UNION ALL SELECT s.id, 'sample', 'pc', 0, p.pid, t.tid, s.time, s.id, ifnull(s.stack, 0),
	ifnull(s.call, 0) & 0xffffffffff, 0, NULL, NULL, NULL
	FROM sample s LEFT JOIN thread t ON t.id = s.thread LEFT JOIN process p ON p.id = s.process;

-- Samples with the innermost function; self time of functions: GROUP BY function.
CREATE VIEW sample_functions AS SELECT s.id, p.pid, t.tid, s.time, s.weight, s.cpu, s.kernel,
	s.stack, fn.text AS function, fl.text AS file, i.line, m.path AS module
	FROM sample s LEFT JOIN thread t ON t.id = s.thread LEFT JOIN process p ON p.id = s.process
	LEFT JOIN stack_frame f ON f.stack = s.stack AND f.depth = 0
	LEFT JOIN site i ON i.id = f.site LEFT JOIN module m ON m.id = i.module
	LEFT JOIN string fn ON fn.id = i.function LEFT JOIN string fl ON fl.id = i.file;

-- Samples of kernels with the line they lie in; hot lines: GROUP BY function, file, line.
CREATE VIEW device_samples AS SELECT s.id, p.pid, a.label AS agent_name, fn.text AS function,
	fl.text AS file, c.line, c.offset, printf('%x', c.module) AS module, r.text AS reason,
	s.samples, s.idle, s.cycles, s.time, s.duration, s.call AS call_id
	FROM device_sample s LEFT JOIN process p ON p.id = s.process LEFT JOIN agent a ON a.id = s.agent
	LEFT JOIN device_code c ON c.id = s.code LEFT JOIN string fn ON fn.id = c.function
	LEFT JOIN string fl ON fl.id = c.file LEFT JOIN marker_name r ON r.id = s.reason;

-- What instructions of kernels did, launch by launch, with the line they lie in. Sectors are of 32 bytes of global memory, rounds
-- of local memory: what accesses need, and what they take.
CREATE VIEW kernel_instructions AS SELECT p.pid, c.call AS call_id, kn.text AS kernel_name, a.label AS agent_name,
	fn.text AS function, printf('%x', x.module) AS module, x.offset, fl.text AS file, x.line, c.warps, c.items,
	CASE c.access WHEN 1 THEN 'load' WHEN 2 THEN 'store' WHEN 3 THEN 'atomic' END AS what,
	CASE c.space WHEN 1 THEN 'global' WHEN 2 THEN 'local' WHEN 3 THEN 'private' END AS kind, c.bytes, c.accesses,
	c.sectors_needed, c.sectors_used, c.rounds_needed, c.rounds_used, c.uniform, c.divergent, c.warp, c.time, c.instead
	FROM kernel_instruction c LEFT JOIN process p ON p.id = c.process LEFT JOIN agent a ON a.id = c.agent
	LEFT JOIN kernel k ON k.id = c.kernel LEFT JOIN string kn ON kn.id = k.name
	LEFT JOIN device_code x ON x.id = c.code LEFT JOIN string fn ON fn.id = x.function
	LEFT JOIN string fl ON fl.id = x.file;

-- What launches of instrumented kernels did, part by part; `bytes`: all that an access moved.
CREATE VIEW kernel_parts AS SELECT p.pid, c.call AS call_id, kn.text AS kernel_name, a.label AS agent_name,
	k.program, fn.text AS function, wh.text AS what, ki.text AS kind, fl.text AS file, x.line, x.col,
	x.times, c.count * x.times AS executed,
	c.count * x.times * x.bytes * (CASE wh.text WHEN 'rw' THEN 2 WHEN 'atomic' THEN 2 ELSE 1 END) AS bytes,
	c.time, c.instead
	FROM kernel_count c JOIN (SELECT *, CASE WHEN block THEN block ELSE id END AS part_of FROM kernel_place) x
	ON x.part_of = c.place LEFT JOIN process p ON p.id = c.process LEFT JOIN agent a ON a.id = c.agent
	LEFT JOIN kernel k ON k.id = c.kernel LEFT JOIN string kn ON kn.id = k.name
	LEFT JOIN string fn ON fn.id = x.function LEFT JOIN string wh ON wh.id = x.what
	LEFT JOIN string ki ON ki.id = x.kind LEFT JOIN string fl ON fl.id = x.file
	UNION ALL SELECT pid, call_id, kernel_name, agent_name, NULL, function, 'instruction', NULL, file, line, offset,
	1, items, NULL, time, instead FROM kernel_instructions
	UNION ALL SELECT pid, call_id, kernel_name, agent_name, NULL, function, what, kind, file, line, offset,
	1, accesses, accesses * bytes * (CASE what WHEN 'atomic' THEN 2 ELSE 1 END), time, instead
	FROM kernel_instructions WHERE what IS NOT NULL;

-- What a device that runs `warp` work items in lockstep makes of their accesses, place by place; `used` less `needed`: of global
-- memory `unit`s too many (lines of 128 bytes; sectors of 32, which the device counted), of local memory bank conflicts.
CREATE VIEW kernel_accesses AS SELECT p.pid, c.call AS call_id, kn.text AS kernel_name, a.label AS agent_name,
	k.program, fn.text AS function, wh.text AS what, ki.text AS kind, x.bytes, fl.text AS file, x.line, x.col,
	c.accesses, c.warps, c.lanes, c.needed, c.used, c.misaligned, c.warp, c.time,
	CASE ki.text WHEN 'local' THEN 'round' ELSE 'line' END AS unit
	FROM kernel_access c JOIN kernel_place x ON x.id = c.place LEFT JOIN process p ON p.id = c.process
	LEFT JOIN agent a ON a.id = c.agent LEFT JOIN kernel k ON k.id = c.kernel
	LEFT JOIN string kn ON kn.id = k.name LEFT JOIN string fn ON fn.id = x.function
	LEFT JOIN string wh ON wh.id = x.what LEFT JOIN string ki ON ki.id = x.kind
	LEFT JOIN string fl ON fl.id = x.file
	UNION ALL SELECT pid, call_id, kernel_name, agent_name, NULL, function, what, kind, bytes, file, line, offset,
	accesses, warps, warps * warp, CASE kind WHEN 'local' THEN rounds_needed ELSE sectors_needed END,
	CASE kind WHEN 'local' THEN rounds_used ELSE sectors_used END, NULL, warp, time,
	CASE kind WHEN 'local' THEN 'round' ELSE 'sector' END FROM kernel_instructions WHERE what IS NOT NULL;

-- Rows of tables that handlers reported of launches; `cells` is a JSON array, a cell for each of `columns`; `launch`: which one of its
-- kernel's reported ones it was, in its process; `what`: of the place, load, store, rw, atomic, begin, end or the kind of a block.
-- Each blob is read a fixed number of times, whatever rows it has: LIMIT -1 keeps SQLite from asking anew for each row.
CREATE VIEW kernel_reports AS WITH parts AS (SELECT c.id, c.process, c.call, c.agent, c.time, c.report,
	dense_rank() OVER (PARTITION BY c.process, k.name ORDER BY c.call) AS launch, k.name,
	json_extract(b.data, '$.handler') AS handler, json_extract(b.data, '$.table') AS table_name,
	json_extract(b.data, '$.columns') AS columns
	FROM kernel_report c JOIN blob b ON b.id = c.report LEFT JOIN kernel k ON k.id = c.kernel),
	places AS (SELECT b.id AS report, x.key + 1 AS number, json_extract(x.value, '$[0]') AS function,
	json_extract(x.value, '$[1]') AS line, json_extract(x.value, '$[2]') AS col,
	json_extract(x.value, '$[3]') AS file, json_extract(x.value, '$[4]') AS what
	FROM (SELECT DISTINCT report FROM kernel_report) c CROSS JOIN blob b ON b.id = c.report
	CROSS JOIN json_each(b.data, '$.places') x LIMIT -1)
	SELECT c.id, p.pid, p.rank, c.call AS call_id, c.launch, kn.text AS kernel_name, a.label AS agent_name,
	c.handler, c.table_name AS name, x.function, x.line, x.col, x.file, c.columns,
	json_remove(r.value, '$[0]') AS cells, r.id AS part_row, c.time, x.what
	FROM parts c CROSS JOIN blob b ON b.id = c.report CROSS JOIN json_each(b.data, '$.rows') r
	LEFT JOIN places x ON x.report = c.report AND x.number = json_extract(r.value, '$[0]')
	LEFT JOIN process p ON p.id = c.process LEFT JOIN agent a ON a.id = c.agent
	LEFT JOIN string kn ON kn.id = c.name;

CREATE VIEW counters AS SELECT v.id, o.name AS kind, p.pid, t.tid, n.name, n.unit, n.provider,
	v.value, v.instance, n.dimensions, a.label AS agent_name, co.name AS region_name,
	v.call AS call_id, v.time, v.duration, kn.text AS kernel_name
	FROM counter_value v LEFT JOIN counter n ON n.id = v.counter
	LEFT JOIN kernel k ON k.id = v.kernel AND v.kernel LEFT JOIN string kn ON kn.id = k.name
	LEFT JOIN op o ON o.id = v.op LEFT JOIN op co ON co.id = v.call_op
	LEFT JOIN thread t ON t.id = v.thread LEFT JOIN process p ON p.id = v.process
	LEFT JOIN agent a ON a.id = v.agent;

-- Counters of kernels, with which launch of the kernels of its name each was, in its process: what several
-- runs of a program are joined by.
CREATE VIEW kernel_counters AS WITH launches AS (SELECT d.call, d.process, d.duration,
	ifnull(d.global_x, 0) || 'x' || ifnull(d.global_y, 1) || 'x' || ifnull(d.global_z, 1) AS grid,
	row_number() OVER (PARTITION BY d.process, k.name ORDER BY d.submit, d.id) AS launch
	FROM dispatch d JOIN kernel k ON k.id = d.kernel)
	SELECT v.id, v.process, p.pid, p.rank, kn.text AS kernel_name, l.launch, l.grid, n.name, n.unit, v.instance,
	v.value, v.duration, l.duration AS kernel_duration, v.call AS call_id
	FROM counter_value v JOIN op o ON o.id = v.op AND o.name = 'dispatch'
	JOIN counter n ON n.id = v.counter JOIN process p ON p.id = v.process
	LEFT JOIN kernel k ON k.id = v.kernel LEFT JOIN string kn ON kn.id = k.name
	LEFT JOIN launches l ON l.call = v.call AND l.process = v.process;

CREATE VIEW sample_regions AS SELECT id, category, name, nid, pid, tid, timestamp AS start,
	timestamp AS end, 0 AS duration, event_id, stack_id, parent_stack_id, corr_id FROM samples;

CREATE VIEW regions_and_samples AS SELECT id, category, name, nid, pid, tid, start, end, duration,
	event_id, stack_id, parent_stack_id, corr_id FROM regions
	UNION ALL SELECT * FROM sample_regions;

CREATE VIEW activities AS SELECT a.id, d.name AS category, o.name, p.pid, t.tid, a.start,
	a.start + a.duration AS end, a.duration, a.status, a.op, a.args,
	(SELECT e.name FROM enum_value e WHERE e.enum_set = o.status_set
	AND e.value = a.status ORDER BY e.id LIMIT 1) AS status_name
	FROM activity a LEFT JOIN thread t ON t.id = a.thread LEFT JOIN process p ON p.id = t.process
	LEFT JOIN op o ON o.id = a.op LEFT JOIN domain d ON d.id = o.domain;

CREATE VIEW kernels AS SELECT k.id, t.tid, 'KERNEL_DISPATCH' AS category, o.name AS region,
	n.text AS name, 0 AS nid, p.pid, k.agent AS agent_abs_index, k.agent AS agent_log_index,
	k.agent AS agent_type_index, upper(a.type) AS agent_type, a.label AS agent_name,
	kd.program AS code_object_id, k.kernel AS kernel_id, k.id AS dispatch_id,
	k.queue AS stream_id, k.queue AS queue_id, 'Queue ' || q.number AS queue,
	CASE WHEN q.name <> '' THEN q.name ELSE 'Queue ' || q.number END AS stream,
	k.start, k.start + k.duration AS end, k.duration,
	k.global_x AS grid_x, k.global_y AS grid_y, k.global_z AS grid_z,
	k.local_x AS workgroup_x, k.local_y AS workgroup_y, k.local_z AS workgroup_z,
	k.call & 0xffffffffff AS stack_id, k.call & 0xffffffffff AS parent_stack_id,
	ifnull(x.external, 0) AS corr_id, k.queued, k.submitted, k.submit, k.status, k.untimed,
	k.early, k.call AS call_id, x.scope, l.registers, l.static_shared, l.dynamic_shared,
	l.local_memory, l.cluster_x, l.cluster_y, l.cluster_z, l.graph, l.graph_node,
	(SELECT e.name FROM enum_value e WHERE e.enum_set = o.status_set
	AND e.value = k.status ORDER BY e.id LIMIT 1) AS status_name,
	(SELECT e.name FROM enum_value e WHERE e.set_name = 'untimed_reason'
	AND e.value = k.untimed ORDER BY e.id LIMIT 1) AS untimed_name
	FROM dispatch k LEFT JOIN launch l ON l.id = k.id LEFT JOIN kernel kd ON kd.id = k.kernel LEFT JOIN string n ON n.id = kd.name
	LEFT JOIN agent a ON a.id = k.agent LEFT JOIN queue q ON q.id = k.queue
	LEFT JOIN process p ON p.id = k.process LEFT JOIN call c ON c.id = k.call
	LEFT JOIN call_extra x ON x.id = k.call LEFT JOIN op o ON o.id = c.op
	LEFT JOIN thread t ON t.id = c.thread;

CREATE VIEW memory_copies AS SELECT m.id, 'MEMORY_COPY' AS category, 0 AS nid, p.pid, t.tid,
	m.start, m.start + m.duration AS end, m.duration,
	'MEMORY_COPY_' || CASE mo.name WHEN 'read' THEN 'DEVICE_TO_HOST'
	WHEN 'write' THEN 'HOST_TO_DEVICE' WHEN 'copy' THEN 'DEVICE_TO_DEVICE'
	ELSE upper(mo.name) END AS name, o.name AS region_name, m.queue AS stream_id,
	m.queue AS queue_id, 'Queue ' || q.number AS stream_name, 'Queue ' || q.number AS queue_name,
	m.bytes AS size, da.label AS dst_device, m.destination_agent AS dst_agent_abs_index,
	upper(ifnull(da.type, 'cpu')) AS dst_agent_type, sa.label AS src_device,
	m.source_agent AS src_agent_abs_index, upper(ifnull(sa.type, 'cpu')) AS src_agent_type,
	m.call & 0xffffffffff AS stack_id, m.call & 0xffffffffff AS parent_stack_id,
	ifnull(x.external, 0) AS corr_id, mo.name AS operation, m.source_kind, m.destination_kind,
	m.blocking, m.queued, m.submitted, m.submit, m.status, m.untimed, m.early,
	m.call AS call_id, x.scope,
	(SELECT e.name FROM enum_value e WHERE e.set_name = 'memory_kind'
	AND e.value = m.source_kind ORDER BY e.id LIMIT 1) AS source_kind_name,
	(SELECT e.name FROM enum_value e WHERE e.set_name = 'memory_kind'
	AND e.value = m.destination_kind ORDER BY e.id LIMIT 1) AS destination_kind_name,
	(SELECT e.name FROM enum_value e WHERE e.enum_set = o.status_set
	AND e.value = m.status ORDER BY e.id LIMIT 1) AS status_name,
	(SELECT e.name FROM enum_value e WHERE e.set_name = 'untimed_reason'
	AND e.value = m.untimed ORDER BY e.id LIMIT 1) AS untimed_name
	FROM copy m LEFT JOIN op mo ON mo.id = m.op LEFT JOIN queue q ON q.id = m.queue
	LEFT JOIN agent da ON da.id = m.destination_agent LEFT JOIN agent sa ON sa.id = m.source_agent
	LEFT JOIN process p ON p.id = m.process LEFT JOIN call c ON c.id = m.call
	LEFT JOIN call_extra x ON x.id = m.call LEFT JOIN op o ON o.id = c.op
	LEFT JOIN thread t ON t.id = c.thread;

-- Submitted, never seen to finish: `age` is how long before the end of its process, or of the recording.
CREATE VIEW unfinished AS SELECT u.id, p.pid, t.tid, o.name AS operation, n.text AS name,
	a.name AS agent_name, u.agent AS agent_id, u.queue AS queue_id, 'Queue ' || q.number AS queue,
	u.bytes AS size, u.submit,
	ifnull(p.end, (SELECT value FROM metadata WHERE tag = 'duration')) - u.submit AS age,
	u.process - 1 << 40 | nullif(u.correlation, 0) AS call_id, co.name AS region_name
	FROM unfinished_work u LEFT JOIN process p ON p.id = u.process
	LEFT JOIN thread t ON t.id = u.thread LEFT JOIN op o ON o.id = u.op
	LEFT JOIN kernel k ON k.id = u.kernel AND u.kernel LEFT JOIN string n ON n.id = k.name
	LEFT JOIN agent a ON a.id = u.agent LEFT JOIN queue q ON q.id = u.queue
	LEFT JOIN call c ON c.id = (u.process - 1 << 40 | nullif(u.correlation, 0))
	LEFT JOIN op co ON co.id = c.op;

-- What recording cost, by process, ns, as far as it was measured: in the program's threads
-- (`variance_ns2`: of that, from samples; markers are in it at process.record_cost_ns each), waiting
-- for room, and of processors beside it. The sum over processes is the summary's number.
CREATE VIEW overhead AS SELECT pid, calls_cost_ns + overhead_ns + loading_ns + record_cost_ns *
	(SELECT ifnull(sum(m.calls), 0) FROM tally_marker m WHERE m.process = process.id) AS measured_ns,
	calls_cost_variance AS variance_ns2, waiting_ns, beside_ns + drain_ns AS beside_ns, cost_samples, loading_ns
	FROM process WHERE id > 0;

-- How often what the mode leaves out was called.
CREATE VIEW not_recorded AS SELECT p.pid, t.tid, d.name AS category, o.name, l.calls
	FROM left_out l LEFT JOIN process p ON p.id = l.process LEFT JOIN thread t ON t.id = l.thread
	LEFT JOIN op o ON o.id = l.op LEFT JOIN domain d ON d.id = o.domain;

CREATE VIEW memory_allocations AS SELECT l.id, 'MEMORY_ALLOCATION' AS category, 0 AS nid, p.pid,
	t.tid, l.time AS start, l.time AS end, 0 AS duration,
	CASE o.number WHEN 0 THEN 'ALLOC' ELSE 'FREE' END AS type, 'REAL' AS level,
	a.label AS agent_name, l.agent AS agent_abs_index, upper(a.type) AS agent_type, l.address,
	l.bytes AS size, l.call & 0xffffffffff AS stack_id, l.call & 0xffffffffff AS parent_stack_id,
	0 AS corr_id, co.name AS region_name, l.kind, l.what, l.allocation, l.parent,
	l.call AS call_id,
	(SELECT e.name FROM enum_value e WHERE e.set_name = 'memory_kind'
	AND e.value = l.kind ORDER BY e.id LIMIT 1) AS kind_name,
	(SELECT e.name FROM enum_value e WHERE e.set_name = 'allocation_what'
	AND e.value = l.what ORDER BY e.id LIMIT 1) AS what_name, l.context AS context_id,
	x.name AS context_name, x.handle AS context_handle
	FROM allocation l LEFT JOIN device_context x ON x.id = l.context LEFT JOIN thread t ON t.id = l.thread LEFT JOIN process p ON p.id = t.process
	LEFT JOIN op o ON o.id = l.op LEFT JOIN agent a ON a.id = l.agent
	LEFT JOIN call c ON c.id = l.call LEFT JOIN op co ON co.id = c.op;

CREATE VIEW syncs AS SELECT s.id, p.pid, t.tid, o.name, s.start, s.start + s.duration AS end,
	s.duration, s.events, s.event, s.queue AS queue_id, co.name AS region_name, s.call AS call_id,
	'Queue ' || q.number AS queue_name, a.label AS agent_name
	FROM sync s LEFT JOIN queue q ON q.id = s.queue LEFT JOIN agent a ON a.id = q.agent LEFT JOIN thread t ON t.id = s.thread LEFT JOIN process p ON p.id = t.process
	LEFT JOIN op o ON o.id = s.op LEFT JOIN call c ON c.id = s.call
	LEFT JOIN op co ON co.id = c.op;

-- `rank` exchanged with `peer`, both of the world; NULL: with all, or nobody in particular.
CREATE VIEW messages AS SELECT m.id, o.name AS kind, p.pid, t.tid, p.rank, m.peer, m.tag, m.sent,
	m.received, y.text AS datatype, g.name AS communicator, g.size AS communicator_size,
	m.communicator AS communicator_id, m.request,
	CASE m.state WHEN 0 THEN 'complete' WHEN 1 THEN 'cancelled' WHEN 2 THEN 'freed'
	ELSE 'never completed' END AS state, m.start, m.start + m.duration AS end, m.duration,
	co.name AS region_name, m.call AS call_id, m.completed_by, p.world, m.match, m.probe,
	m.partitions
	FROM comm m LEFT JOIN op o ON o.id = m.op LEFT JOIN process p ON p.id = m.process
	LEFT JOIN thread t ON t.id = m.thread LEFT JOIN communicator g ON g.id = m.communicator
	LEFT JOIN marker_name y ON y.id = m.datatype LEFT JOIN call c ON c.id = m.call
	LEFT JOIN op co ON co.id = c.op;

CREATE VIEW markers AS SELECT m.id, o.name AS kind, p.pid, t.tid,
	ifnull(json_extract(CAST(m.extra AS TEXT), '$.text'), n.text) AS name, d.text AS domain, c.text AS category, m.color,
	m.start, m.start + m.duration AS end, m.duration, m.scope, m.parent, st.tid AS starter_tid,
	m.left_open, json_extract(CAST(m.extra AS TEXT), '$.payload') AS payload, m.process
	FROM marker m LEFT JOIN op o ON o.id = m.op LEFT JOIN process p ON p.id = m.process
	LEFT JOIN thread t ON t.id = m.thread LEFT JOIN marker_name n ON n.id = m.name
	LEFT JOIN marker_name d ON d.id = m.domain LEFT JOIN marker_name c ON c.id = m.category
	LEFT JOIN thread st ON st.id = m.starter;

-- The tree of scopes: a row an execution of a range. Records carry `scope` with their process.
CREATE VIEW scopes AS SELECT process, pid, tid, scope, parent, name, start, end, duration
	FROM markers WHERE scope IS NOT NULL;

CREATE VIEW code_objects AS SELECT g.id, p.pid, g.domain, g.kind, g.name, b.data AS source,
	b.stored AS size FROM program g LEFT JOIN process p ON p.id = g.process
	LEFT JOIN blob b ON b.id = g.source;

CREATE VIEW kernel_symbols AS SELECT k.id, p.pid, k.program AS code_object_id,
	ifnull(nullif(k.symbol, ''), n.text) AS kernel_name, n.text AS display_name, k.id AS kernel_id,
	nullif(k.framework, '') AS framework, nullif(k.source, '') AS source_file,
	nullif(k.device, '') AS framework_device
	FROM kernel k LEFT JOIN process p ON p.id = k.process LEFT JOIN string n ON n.id = k.name;

-- Summaries, from the tallies. Times in nanoseconds, but `top` and `top_kernels` in microseconds.
CREATE VIEW region_summary AS SELECT d.name AS category, o.name, sum(t.calls) AS calls,
	sum(t.total) AS total, sum(t.total) * 1.0 / sum(t.calls) AS average, min(t.min) AS min,
	max(t.max) AS max, sum(t.errors) AS errors, sum(t.self) AS self
	FROM tally_call t LEFT JOIN op o ON o.id = t.op LEFT JOIN domain d ON d.id = o.domain
	GROUP BY o.id ORDER BY total DESC;

CREATE VIEW marker_summary AS SELECT o.name AS kind, n.text AS name, d.text AS domain,
	c.text AS category, sum(t.calls) AS calls, sum(t.total) AS total,
	sum(t.total) * 1.0 / sum(t.calls) AS average, min(t.min) AS min, max(t.max) AS max,
	sum(t.self) AS self, sum(t.left_open) AS left_open
	FROM tally_marker t LEFT JOIN op o ON o.id = t.op LEFT JOIN marker_name n ON n.id = t.name
	LEFT JOIN marker_name d ON d.id = t.domain LEFT JOIN marker_name c ON c.id = t.category
	GROUP BY t.op, t.name, t.domain, t.category ORDER BY total DESC;

CREATE VIEW kernel_summary AS SELECT n.text AS name, sum(t.calls) AS calls, sum(t.total) AS total,
	sum(t.total) * 1.0 / nullif(sum(t.calls - t.untimed), 0) AS average,
	sum(t.total) * 100.0 / nullif(sum(sum(t.total)) OVER (), 0) AS percentage,
	min(t.min) AS min, max(t.max) AS max, sum(t.untimed) AS untimed
	FROM tally_dispatch t LEFT JOIN kernel k ON k.id = t.kernel LEFT JOIN string n ON n.id = k.name
	GROUP BY n.text ORDER BY total DESC;

CREATE VIEW memory_copy_summary AS SELECT o.name, sum(t.calls) AS calls, sum(t.total) AS total,
	sum(t.total) * 1.0 / nullif(sum(t.calls - t.untimed), 0) AS average,
	sum(t.total) * 100.0 / nullif(sum(sum(t.total)) OVER (), 0) AS percentage,
	min(t.min) AS min, max(t.max) AS max, sum(t.bytes) AS bytes, sum(t.untimed) AS untimed
	FROM tally_copy t LEFT JOIN op o ON o.id = t.op GROUP BY t.op ORDER BY total DESC;

CREATE VIEW memory_allocation_summary AS SELECT a.label AS agent_name, t.kind, t.what,
	sum(t.calls) AS calls, sum(t.frees) AS frees, sum(t.bytes) AS bytes, sum(t.freed) AS freed,
	(SELECT e.name FROM enum_value e WHERE e.set_name = 'memory_kind'
	AND e.value = t.kind ORDER BY e.id LIMIT 1) AS kind_name,
	(SELECT e.name FROM enum_value e WHERE e.set_name = 'allocation_what'
	AND e.value = t.what ORDER BY e.id LIMIT 1) AS what_name
	FROM tally_allocation t LEFT JOIN agent a ON a.id = t.agent GROUP BY t.agent, t.kind, t.what;

CREATE VIEW top_kernels AS SELECT name, calls AS total_calls, total / 1000.0 AS total_duration,
	average / 1000.0 AS average, percentage FROM kernel_summary;

CREATE VIEW top AS SELECT name, calls AS total_calls, total / 1000.0 AS total_duration,
	average / 1000.0 AS average, total * 100.0 / nullif(sum(total) OVER (), 0) AS percentage
	FROM (SELECT name, calls, total, average FROM kernel_summary
	UNION ALL SELECT 'copy ' || name, calls, total, average FROM memory_copy_summary
	UNION ALL SELECT name, calls, total, average FROM region_summary) ORDER BY total DESC;

CREATE VIEW busy AS SELECT a.id AS agent_id, upper(a.type) AS type,
	w.device AS GpuTime, m.value AS WallTime, w.device * 1.0 / m.value AS Busy, a.label AS name
	FROM (SELECT agent, sum(device) AS device FROM
	(SELECT agent, total AS device FROM tally_dispatch UNION ALL
	SELECT ifnull(nullif(destination_agent, 0), source_agent), total FROM tally_copy)
	GROUP BY agent) w JOIN agent a ON a.id = w.agent
	JOIN (SELECT CAST(value AS INTEGER) AS value FROM metadata WHERE tag = 'duration') m;
