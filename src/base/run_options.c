/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of run_options.h. */
#include "base/run_options.h"

struct run_options run_options_values;

/* "opencl|...", from the list of backends. */
static const char backend_names[] =
#define BACKEND(name, what) "|" name
#include "backends.inc"
#undef BACKEND
	;

#define AT(member) offsetof(struct run_options, member)

static const struct knob rows[] = {
	{"output", 'o', KNOB_STRING, 0, AT(output), "DIR", NULL, NULL, NULL, "Trace",
	 "Trace directory to make (default ./NAME-TIME.kymo, ./NAME-JOB.kymo in a parallel job); "
	 "keys in it get their values: %host%, %program%, %date%, %env{NAME}% ..., see kymo list "
	 "keys"},
	{"force", 'f', KNOB_FLAG, 0, AT(force), NULL, NULL, NULL, NULL, "Trace",
	 "Replace an existing trace of that name"},
	{"no-summary", 0, KNOB_FLAG, 0, AT(no_summary), NULL, NULL, NULL, NULL, "Trace",
	 "Print no summary when the program has ended"},
	{"strict", 0, KNOB_FLAG, 0, AT(strict), NULL, NULL, NULL, NULL, "Trace",
	 "Exit with status 1 if the program's own status is 0 and anything was lost: records, "
	 "samples, "
	 "definitions, processes, rows of tallies (in a parallel job, rank 0 does this for all)"},
	{"no-compress", 0, KNOB_FLAG, KNOB_HANDED_ON, AT(no_compress), NULL, NULL, NULL, NULL,
	 "Trace", "Leave the raw files as they were written (`kymo compress` does it later)"},
	{"node-local", 0, KNOB_STRING, KNOB_HANDED_ON, AT(node_local), "DIR", NULL, NULL, NULL,
	 "Trace",
	 "Record into a folder of DIR, a disk of the node, and bring the files into the trace at "
	 "the "
	 "end"},

	{"backends", 'b', KNOB_LIST, KNOB_HANDED_ON, AT(backends), "LIST", "all", backend_names + 1,
	 NULL, "What is recorded",
	 "Runtimes to record, comma separated; see kymo list backends. all,-mpi is all but one"},
	{"mode", 'm', KNOB_ENUM, KNOB_HANDED_ON, AT(mode), "MODE", "default",
	 "summary|minimal|default|full", NULL, "What is recorded",
	 "How much: default leaves out the chattiest queries"},
	{"args", 'a', KNOB_ENUM, KNOB_HANDED_ON, AT(args), "LEVEL", "full", "none|scalars|full",
	 NULL, "What is recorded", "Arguments of calls"},
	{"include", 'i', KNOB_REGEX, KNOB_HANDED_ON, AT(include), "REGEX", NULL, NULL, NULL,
	 "What is recorded",
	 "Record only the operations whose name matches; @FILE has an expression a line, here and "
	 "wherever a REGEX is taken"},
	{"exclude", 'x', KNOB_REGEX, KNOB_HANDED_ON, AT(exclude), "REGEX", NULL, NULL, NULL,
	 "What is recorded",
	 "Leave out the operations whose name matches, and the messages they start"},
	{"kernel", 'k', KNOB_KERNELS, KNOB_HANDED_ON, AT(kernel), "REGEX", NULL, NULL, NULL,
	 "What is recorded",
	 "Of what devices do, record only executions of the kernels whose name matches, or of "
	 "these the first, NAME#1, or NAME#10-20; calls are recorded as ever"},
	{"exclude-kernel", 0, KNOB_KERNELS, KNOB_HANDED_ON, AT(exclude_kernel), "REGEX", NULL, NULL,
	 NULL, "What is recorded",
	 "Leave out executions of the kernels whose name matches, likewise"},
	{"device", 0, KNOB_STRING, KNOB_HANDED_ON, AT(device), "DEVICE", NULL, NULL, NULL,
	 "What is recorded",
	 "Record only what these devices do: numbers, as each process counts its devices of one "
	 "name (0,2-3), else a regular expression over names"},
	{"annotations", 0, KNOB_REGEX, KNOB_HANDED_ON, AT(annotations), "REGEX", NULL, NULL, NULL,
	 "What is recorded",
	 "Of ranges and marks, record only those of the annotation domains whose name matches: "
	 "those "
	 "that NVTX and ITT name; nvtx, itt, roctx, kokkos without one"},
	{"exclude-annotations", 0, KNOB_REGEX, KNOB_HANDED_ON, AT(exclude_annotations), "REGEX",
	 NULL, NULL, NULL, "What is recorded",
	 "Leave out ranges and marks of the annotation domains whose name matches"},
	{"stacks", 0, KNOB_REGEX, KNOB_OPTIONAL | KNOB_HANDED_ON, AT(stacks), "REGEX", NULL, NULL,
	 ".", "What is recorded", "Keep the whole call stack of the operations whose name matches"},
	{"threads", 0, KNOB_FLAG, KNOB_HANDED_ON, AT(threads), NULL, NULL, NULL, NULL,
	 "What is recorded",
	 "Record all threads and processes, also those that use nothing else that is recorded"},

	{"counters", 0, KNOB_STRING, KNOB_HANDED_ON, AT(counters), "LIST", NULL, NULL, NULL,
	 "What is recorded",
	 "Count these for every call and thread, comma separated, of devices NAME:device=0,2-3 on "
	 "these alone; NAME:kernel for kernels on processors, each of which runs alone then; "
	 "NAME:cpu=0,2-3 and PMU/EVENT/ of whole processors, over time; formulas "
	 "NAME=EXPRESSION; see kymo list counters"},
	{"count-kernel", 0, KNOB_KERNELS, KNOB_HANDED_ON, AT(count_kernel), "REGEX", NULL, NULL,
	 NULL, "What is recorded",
	 "With --counters NAME:kernel, those of devices, and --metrics: count only the kernels "
	 "whose name matches, or of their "
	 "launches the first, NAME#1, or NAME#1-3,10; the others run as ever"},
	{"replay", 0, KNOB_ENUM, KNOB_HANDED_ON, AT(replay), "HOW", "kernel",
	 "kernel|application|rotate|off", NULL, "What is recorded",
	 "With --counters NAME:kernel, those of devices, and --metrics, where not all fit into one "
	 "pass: repeat each kernel, "
	 "putting back what it wrote; or the whole program, a trace for each pass; or count each "
	 "launch in another pass; or leave out what does not fit into the first"},
	{"replay-pass", 0, KNOB_INTEGER, 0, AT(replay_pass), "N", "0", NULL, NULL,
	 "What is recorded",
	 "With --replay application: run the program for pass N alone, from 1, as for jobs that "
	 "others start; 0: once for each"},
	{"instrument-kernels", 0, KNOB_KERNELS, KNOB_OPTIONAL | KNOB_HANDED_ON,
	 AT(instrument_kernels), "REGEX", NULL, NULL, ".", "What is recorded",
	 "Count how often each line of kernels is executed, what it loads and stores (OpenCL "
	 "programs made from source; CUDA: each instruction): launches of the kernels whose name "
	 "matches, or of these the first, NAME#1, or NAME#1-3,10, run alone with what counts, or "
	 "once more; see kymo kernels"},
	{"lanes", 0, KNOB_STRING, KNOB_HANDED_ON, AT(lanes), "DEVICE", "off", NULL, NULL,
	 "What is recorded",
	 "Of instrumented kernels (all, or those of --instrument-kernels) record the address "
	 "of each access too, and count what a device that runs work items in lockstep makes "
	 "of them (lines of memory, bank conflicts, lanes that take no part): 32 or 64 of "
	 "them, or as a file says (kymo list lanes)"},
	{"handlers", 0, KNOB_STRING, KNOB_HANDED_ON, AT(handlers), "NAME[:KEY=VALUE],...", NULL,
	 NULL, NULL, "What is recorded",
	 "Have these look at what instrumented kernels access and run, record by record (kymo list "
	 "handlers; libraries by name or path), of all kernels or those of --instrument-kernels; "
	 "kymo kernels --handler NAME shows what they report"},
	{"formulas", 0, KNOB_STRING, 0, AT(formulas), "FILE", NULL, NULL, NULL, "What is recorded",
	 "With --counters: formulas that it may name, a line NAME{UNIT} = EXPRESSION each"},
	{"metrics", 0, KNOB_STRING, 0, AT(metrics), "LIST", NULL, NULL, NULL, "What is recorded",
	 "Count what these panels (2), tables (12.1) or metrics (2.1.1) of kymo kernels need, for "
	 "the "
	 "devices of this machine; nvidia:2 for another's; see kymo list metrics"},
	{"metrics-file", 0, KNOB_STRING, 0, AT(metrics_file), "FILE", NULL, NULL, NULL,
	 "What is recorded", "With --metrics: a file that has more of them (docs/metrics.md)"},
	{"sample", 0, KNOB_INTEGER, KNOB_OPTIONAL | KNOB_HANDED_ON, AT(sample_hz), "HZ", "0", NULL,
	 "100", "What is recorded",
	 "Sample where the threads are, so often a second of processor time; 0: never"},
	{"sample-clock", 0, KNOB_ENUM, KNOB_HANDED_ON, AT(sample_clock), "CLOCK", "cpu", "cpu|wall",
	 NULL, "What is recorded",
	 "Which time --sample goes by: that of a processor, or all time, also while threads wait. "
	 "For the latter each is sent a signal: calls that wait may return EINTR"},
	{"sample-event", 0, KNOB_STRING, KNOB_HANDED_ON, AT(sample_event), "EVENT:N", NULL, NULL,
	 NULL, "What is recorded",
	 "Instead of by time: a sample each time that a thread has met N of these events, as in "
	 "page-faults:100 or instructions:1000000; the events of provider perf in kymo list "
	 "counters"},
	{"sample-threads", 0, KNOB_STRING, KNOB_HANDED_ON, AT(sample_threads), "LIST", NULL, NULL,
	 NULL, "What is recorded",
	 "Sample only these threads, comma separated: names, numbers of the system, main"},
	{"off-cpu", 0, KNOB_FLAG, KNOB_HANDED_ON, AT(off_cpu), NULL, NULL, NULL, NULL,
	 "What is recorded",
	 "Record the times in which threads have no processor, and what they wait for then"},
	{"heap-interval", 0, KNOB_SIZE, KNOB_HANDED_ON, AT(heap_interval), "SIZE", "512K", NULL,
	 NULL, "What is recorded",
	 "With --backends heap: the mean of the bytes that are allocated between two samples; 1: "
	 "every allocation"},
	{"functions", 0, KNOB_REGEX, KNOB_REPEAT, AT(functions), "REGEX[@MODULE]", NULL, NULL, NULL,
	 "Functions",
	 "Record executions of the program's functions whose name matches, by patching them in "
	 "memory; of a library with @MODULE, an expression over file names, or a path; may be "
	 "given "
	 "several times"},
	{"functions-exclude", 0, KNOB_REGEX, KNOB_REPEAT, AT(functions_exclude), "REGEX[@MODULE]",
	 NULL, NULL, NULL, "Functions", "Of these, leave out the functions whose name matches"},
	{"functions-min-instructions", 0, KNOB_INTEGER, 0, AT(functions_min_instructions), "N",
	 "200", NULL, NULL, "Functions",
	 "Leave out functions without a loop that have fewer instructions, unless an expression "
	 "is just their name"},
	{"functions-min-loop", 0, KNOB_INTEGER, 0, AT(functions_min_loop), "N", "0", NULL, NULL,
	 "Functions", "The same for functions with a loop"},
	{"functions-min", 0, KNOB_DURATION, 0, AT(functions_min_ns), "TIME", "0", NULL, NULL,
	 "Functions", "Leave out executions that took less time"},
	{"functions-list", 0, KNOB_ENUM, 0, AT(functions_list), "LIST", "none",
	 "none|available|chosen|refused", NULL, "Functions",
	 "Run nothing; list which functions match and can be patched, are chosen, or cannot be "
	 "patched and why"},
	{"functions-format", 0, KNOB_ENUM, 0, AT(functions_format), "FORMAT", "text",
	 "text|md|csv|json|html|tsv", NULL, "Functions", "Form of --functions-list"},
	{"pc-sampling", 0, KNOB_INTEGER, KNOB_OPTIONAL | KNOB_HANDED_ON, AT(pc_sampling), "N", "0",
	 NULL, "18", "What is recorded",
	 "Sample where kernels are on the GPU and why they wait, every 2^N cycles, N 5 to 31; 0: "
	 "never"},
	{"pc-serialize", 0, KNOB_FLAG, KNOB_HANDED_ON, AT(pc_serialize), NULL, NULL, NULL, NULL,
	 "What is recorded",
	 "With --pc-sampling: kernels run one at a time, samples carry their launch"},
	{"telemetry", 0, KNOB_INTEGER, KNOB_OPTIONAL, AT(telemetry_ms), "MS", "0", NULL, "100",
	 "What is recorded",
	 "Read power, clocks, memory, load of the node and its devices every MS "
	 "milliseconds, outside of the program; 0: never"},
	{"telemetry-delay", 0, KNOB_DURATION, 0, AT(telemetry_delay_ns), "TIME", "0", NULL, NULL,
	 "What is recorded", "With --telemetry: begin to read this long after the program"},
	{"telemetry-duration", 0, KNOB_DURATION, 0, AT(telemetry_duration_ns), "TIME", "0", NULL,
	 NULL, "What is recorded", "With --telemetry: read for this long; 0: until the end"},
	{"telemetry-only", 0, KNOB_STRING, 0, AT(telemetry_only), "LIST", NULL, NULL, NULL,
	 "What is recorded",
	 "With --telemetry: read only these sources and values, comma separated, as in "
	 "nvml:device=0,2-3, cpu:cpu=0-3, net:interface=eth0 or amd_smi:value=power; see kymo list "
	 "telemetry"},

	{"rank", 0, KNOB_LIST, KNOB_HANDED_ON, AT(ranks), "LIST", NULL, NULL, NULL,
	 "What is recorded",
	 "Record only these ranks of a parallel job, as in 0-3,7; the others run as they are"},
	{"rank-variable", 0, KNOB_STRING, KNOB_HANDED_ON, AT(rank_variable), "NAME[:SIZE_NAME]",
	 NULL, NULL, NULL, "What is recorded",
	 "Take a process's rank out of this variable of the environment, and the number of ranks "
	 "out of SIZE_NAME, whatever the job's launcher says"},

	{"start-paused", 0, KNOB_FLAG, KNOB_HANDED_ON, AT(start_paused), NULL, NULL, NULL, NULL,
	 "When",
	 "Record nothing until the program resumes it, with the annotations it uses or "
	 "cudaProfilerStart"},
	{"pauses", 0, KNOB_ENUM, KNOB_HANDED_ON, AT(pauses), "MODE", "last", "last|count|ignore",
	 NULL, "When",
	 "What pauses and resumes of the program do (kymo_pause, cudaProfilerStop, ...): the last "
	 "one holds; they nest, and as many resumes as pauses count; nothing"},
	{"delay", 0, KNOB_DURATION, KNOB_HANDED_ON, AT(delay_ns), "TIME", "0", NULL, NULL, "When",
	 "Begin to record this long after each process started"},
	{"duration", 0, KNOB_DURATION, KNOB_HANDED_ON, AT(duration_ns), "TIME", "0", NULL, NULL,
	 "When", "Stop recording after this long; 0: no limit"},
	{"after", 0, KNOB_DURATION, KNOB_HANDED_ON, AT(after_ns), "TIME", "0", NULL, NULL, "When",
	 "Record nothing before this long after the run began, whenever a process started"},
	{"before", 0, KNOB_DURATION, KNOB_HANDED_ON, AT(before_ns), "TIME", "0", NULL, NULL, "When",
	 "Record nothing from this long after the run began; 0: no limit"},
	{"period", 0, KNOB_PERIOD, KNOB_HANDED_ON, AT(period), "DELAY:DURATION[:REPEAT]", NULL,
	 NULL, NULL, "When",
	 "Record nothing for DELAY, then for DURATION, and again, REPEAT times in all; without "
	 "REPEAT, or with 0, until the end. Counts from when the run began, in all processes and "
	 "ranks alike; 0: always"},

	{"kill", 0, KNOB_STRING, KNOB_OPTIONAL, AT(kill), "SIGNAL", NULL, NULL, "TERM", "When",
	 "Send the program and all processes below it this signal when recording ends: by "
	 "--duration, --before or the last window of --period; else the program runs on"},

	{"range", 0, KNOB_STRING, KNOB_HANDED_ON, AT(range), "RANGE", NULL, NULL, NULL, "When",
	 "Record only what a thread does in this range of the program's annotations, or in these "
	 "executions of it, as in step#100-110, and what devices do for it; see kymo help "
	 "selection"},
	{"during", 0, KNOB_STRING, KNOB_HANDED_ON, AT(during), "RANGE", NULL, NULL, NULL, "When",
	 "Record each process only while one of its threads is in this range"},

	{"on-full", 0, KNOB_ENUM, KNOB_HANDED_ON, AT(on_full), "POLICY", "block",
	 "block|drop|overwrite", NULL, "Buffers",
	 "What a thread does that finds no room: wait (at most block-time), then drop, "
	 "or drop at once, or overwrite the oldest records: a flight recorder, of which the "
	 "end remains; what is dropped or overwritten is counted"},
	{"block-time", 0, KNOB_DURATION, KNOB_HANDED_ON, AT(block_ns), "TIME", "10ms", NULL, NULL,
	 "Buffers", "Longest wait of one call for room"},
	{"buffer-size", 0, KNOB_SIZE, KNOB_HANDED_ON, AT(buffer_size), "SIZE", "32M", NULL, NULL,
	 "Buffers",
	 "Memory of each traced process for records on their way out, at most; where threads "
	 "hold half of it, each more adds 32 KiB"},

	{"tool", 0, KNOB_STRING, KNOB_REPEAT | KNOB_HANDED_ON, AT(tools), "LIB", NULL, NULL, NULL,
	 "Running",
	 "Load this tool into the program, beside the recorder; may be given several times"},
	{"config", 'c', KNOB_STRING, KNOB_NO_FILE, AT(config), "FILE", NULL, NULL, NULL, "Running",
	 "Read options from a file; kymo list options --config writes one"},
	{"config-job", 0, KNOB_STRING, 0, AT(config_job), "NAME", NULL, NULL, NULL, "Running",
	 "Run this one of the jobs of the configuration file, its sections [job NAME]; without it "
	 "the program is run once for each"},
	{"preset", 0, KNOB_STRING, KNOB_NO_PRESET, AT(preset), "NAME|FILE", NULL, NULL, NULL,
	 "Running",
	 "Begin with the options of a preset; kymo list presets explains them. What the command "
	 "line, the environment and --config say counts more, in this order"},
	{"dry-run", 'n', KNOB_FLAG, 0, AT(dry_run), NULL, NULL, NULL, NULL, "Running",
	 "Print the environment and the command, run nothing"},
	{"untraced", 0, KNOB_FLAG, 0, AT(untraced), NULL, NULL, NULL, NULL, "Running",
	 "Run even a program that cannot be traced"},
};

/* Which records there are to be may be known too late. */
static const struct knob_variable afterwards[] = {
	{"site",
	 "which function calls is found out after the run: record all, then kymo summary --site"},
	{"memory",
	 "objects get their numbers and addresses in the run: record all, then kymo summary "
	 "--memory"},
	{"queue",
	 "queues get their numbers in the run: record all, then kymo summary --queue; kymo run has "
	 "--device"},
	{"process", "processes get their ids in the run: record all, then kymo summary --process"},
	{"thread",
	 "threads get their ids in the run: record all, then kymo summary --thread; --range is "
	 "what one thread does"},
	{"node", "record all, then kymo summary --node; kymo run has --rank"},
	{"min-duration",
	 "how long a call takes is known when it has cost what a record costs: record all, then "
	 "kymo summary --min-duration; --mode summary counts calls instead"},
	{"domain", "kymo run has --backends, and --include and --exclude for operations"},
	{NULL, NULL},
};

struct knob_table run_options_table = {
	.command = "",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.stop_at_operand = true,
	.refused = afterwards,
	.values = &run_options_values,
};

const struct knob_variable run_other_variables[] = {
	{"KYMO_TRACE", "set by kymo run: the trace directory"},
	{"KYMO_DRAIN", "set by kymo run: the socket of the process that writes the trace"},
	{"KYMO_HANDLER_PATH",
	 "Folders in which libkymo-handler-NAME.so is looked for (--handlers NAME), with colons"},
	{"KYMO_BIN",
	 "set by kymo run: the program kymo, which processes start where nothing writes the trace"},
	{"KYMO_FUNCTIONS_PLAN",
	 "set by kymo run for --functions: the file that says what is patched"},
	{"KYMO_PASS_COUNTERS",
	 "set by kymo run for --replay application: what the run of a pass counts"},
	{"KYMO_BEGAN", "set by kymo run for --after, --before and --period: when it began, "
		       "nanoseconds of the system's "
		       "clock"},
	{"KYMO_JOB", "id of a parallel job, where its launcher sets none: ranks share a trace"},
	{"KYMO_CLOCK",
	 "clock of the records: tsc or monotonic; default: the one that can be trusted"},
	{"KYMO_PAGER",
	 "program that shows what commands print on a terminal; default: PAGER, else less; cat: "
	 "none"},
	{"KYMO_READ_MEMORY",
	 "memory for what is noted of the records of files without an order of time (kymo import), "
	 "and for what writers keep of each record: more of it lies in temporary files; default: "
	 "256M"},
	{"KYMO_TELEMETRY_ROOT", "put before /proc and /sys where telemetry is read; for tests"},
	{NULL, NULL},
};
