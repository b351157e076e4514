/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each instruction of a kernel does, by CUPTI's SASS metrics: CUPTI patches the machine's code of a chosen launch, which
 * runs once, so, and counts exactly; binaries that nobody has the source of, too. All metrics of one device are asked
 * for together, once: CUPTI 13 has no memory for a second choice.
 *
 * What CUPTI 13.0 was seen to do on an H200: it patches nothing of launches where no kernels are recorded but the first of
 * a module, and counts nothing where they are recorded side by side (CUPTI_CONCURRENT_KERNEL) or samples are taken; so
 * kernels are recorded one after the other (CUPTI_KERNEL) in such a run.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "capture/cuda/profile.h"
#include "core/counter/accesses.h"
#include "core/counter/lines.h"

#define DEVICES 32u
#define WARP    32u

/* What is asked for. X(enumerator, name behind "smsp__sass_") */
#define METRICS(X)                                                                                 \
	X(WARPS, "inst_executed")                                                                  \
	X(ITEMS, "thread_inst_executed")                                                           \
	X(GLOBAL_ITEMS, "thread_inst_executed_op_global_pred_on")                                  \
	X(LOCAL_ITEMS, "thread_inst_executed_op_shared_pred_on")                                   \
	X(COPY_ITEMS, "thread_inst_executed_op_ldgsts_pred_on")                                    \
	X(SECTORS, "sectors_mem_global")                                                           \
	X(SECTORS_IDEAL, "sectors_mem_global_ideal")                                               \
	X(SECTORS_PRIVATE, "sectors_mem_local")                                                    \
	X(ROUNDS, "l1tex_pipe_lsu_wavefronts_mem_shared")                                          \
	X(ROUNDS_IDEAL, "l1tex_pipe_lsu_wavefronts_mem_shared_ideal")                              \
	X(UNIFORM, "branch_targets_threads_uniform")                                               \
	X(DIVERGENT, "branch_targets_threads_divergent")                                           \
	X(GLOBAL_LOAD, "inst_executed_op_global_ld")                                               \
	X(GLOBAL_STORE, "inst_executed_op_global_st")                                              \
	X(GLOBAL_ATOMIC, "inst_executed_op_global_atom")                                           \
	X(GLOBAL_REDUCTION, "inst_executed_op_global_red")                                         \
	X(GLOBAL_COPY, "inst_executed_op_ldgsts")                                                  \
	X(LOCAL_LOAD, "inst_executed_op_shared_ld")                                                \
	X(LOCAL_STORE, "inst_executed_op_shared_st")                                               \
	X(LOCAL_ATOMIC, "inst_executed_op_shared_atom")                                            \
	X(PRIVATE_LOAD, "inst_executed_op_local_ld")                                               \
	X(PRIVATE_STORE, "inst_executed_op_local_st")                                              \
	X(BYTES_1, "inst_executed_op_memory_8b")                                                   \
	X(BYTES_2, "inst_executed_op_memory_16b")                                                  \
	X(BYTES_4, "inst_executed_op_memory_32b")                                                  \
	X(BYTES_8, "inst_executed_op_memory_64b")                                                  \
	X(BYTES_16, "inst_executed_op_memory_128b")

enum metric {
#define METRIC(name, text) name,
	METRICS(METRIC)
#undef METRIC
		METRIC_COUNT
};

static const char prefix[] = "smsp__sass_";
static const char *const names[] = {
#define METRIC(name, text) text,
	METRICS(METRIC)
#undef METRIC
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the devices */
static struct device {
	bool asked, counts;
	uint64_t ids[METRIC_COUNT]; /* 0: the chip does not have it */
} devices[DEVICES];
static _Atomic int in_use; /* 1: it is; -1: it cannot be; 0: nobody wants it */

/* ---- notes ---- */

#define TOLD 16u

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const char *why;
	uint64_t launches;
} told[TOLD];
static uint64_t counted, without;

void cuda_sass_left_out(const char *why)
{
	uint32_t i = 0;

	if (!cuda_sass_in_use())
		return;
	pthread_mutex_lock(&telling);
	while (i < TOLD - 1 && told[i].why && told[i].why != why)
		i++;
	told[i].why = why;
	told[i].launches++;
	pthread_mutex_unlock(&telling);
}

static void tell_all(void)
{
	static const char as[] =
		"launches of kernels ran instrumented and not as they are, so that their times are "
		"not the kernels'; the program's other kernels ran one after the other";
	char text[160];

	pthread_mutex_lock(&telling);
	if (counted)
		cap_note_count(2, "instrument", as, counted);
	if (without)
		cap_note_count(2, "instrument",
			       "launches of kernels have no counts: CUPTI gave none", without);
	for (uint32_t i = 0; i < TOLD && told[i].why; i++) {
		snprintf(text, sizeof(text), "launches of kernels were not instrumented: %s",
			 told[i].why);
		cap_note_count(2, "instrument", text, told[i].launches);
	}
	memset(told, 0, sizeof(told));
	counted = without = 0;
	pthread_mutex_unlock(&telling);
}

/* ---- the end ---- */

/* CUPTI has the devices as before: whoever uses it next chooses anew. */
static void let_go(void)
{
	struct cupti_sass_unset unset = {.size = CUPTI_SIZE(cupti_sass_unset, device)};

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < DEVICES; i++) {
		unset.device = i;
		if (devices[i].counts)
			cupti_sass.SassMetricsUnsetConfig(&unset);
		devices[i].counts = false;
	}
	pthread_mutex_unlock(&lock);
}

void cuda_sass_last(void)
{
	let_go();
	tell_all();
}

/* ---- whether ---- */

static const char *reason_now(uint64_t kinds, char *why, size_t size)
{
	if (kinds >> CUPTI_CONCURRENT_KERNEL & 1)
		return "kernels were being recorded before lines were wanted, side by side, where "
		       "CUPTI counts nothing of instructions";
	return cuda_profiler_take(CUDA_PROFILER_INSTRUCTIONS, why, size) ? NULL : why;
}

/* Launches are counted from here on, if CUPTI can; accesses with their addresses are not CUPTI's to count. */
static void begin_use(uint64_t kinds)
{
	char text[200];
	const char *why = reason_now(kinds, text, sizeof(text));

	atomic_store(&in_use, why ? -1 : 1);
	if (why) {
		cap_note(2, "instrument", "kernels are not instrumented by CUPTI: %s", why);
		return;
	}
	atomic_fetch_add(&cuda_range_active, 1);
	cuda_modules_wanted(true);
}

/* CUPTI keeps the profiler of this process: it takes no second choice of metrics. */
static void end_use(void)
{
	if (atomic_exchange(&in_use, 0) != 1)
		return;
	atomic_fetch_sub(&cuda_range_active, 1);
	cuda_modules_wanted(false);
}

void cuda_sass_update(uint64_t kinds)
{
	const bool wanted = cap_lines_wanted() && !cap_accesses_wanted();

	if (wanted && !atomic_load(&in_use))
		begin_use(kinds);
	else if (!wanted)
		end_use();
}

bool cuda_sass_in_use(void)
{
	return atomic_load_explicit(&in_use, memory_order_relaxed) == 1;
}

/* ---- metrics of a device; the caller holds its lock ---- */

static cupti_result list_metrics(uint32_t device, struct cupti_sass_list *list)
{
	struct cupti_profiler_init init = {CUPTI_SIZE(cupti_profiler_init, reserved), NULL};
	struct cupti_chip_name chip = {.size = CUPTI_SIZE(cupti_chip_name, name), .device = device};
	struct cupti_sass_count n = {.size = CUPTI_SIZE(cupti_sass_count, count)};
	cupti_result r = cupti_sass.ProfilerInitialize(&init);

	if (r == CUPTI_OK)
		r = cupti_sass.DeviceGetChipName(&chip);
	n.chip = chip.name;
	if (r == CUPTI_OK)
		r = cupti_sass.SassMetricsGetNumOfMetrics(&n);
	if (r != CUPTI_OK)
		return r;
	*list = (struct cupti_sass_list){.size = CUPTI_SIZE(cupti_sass_list, metrics),
					 .chip = chip.name,
					 .count = n.count,
					 .metrics = calloc(n.count + 1, sizeof(*list->metrics))};
	return list->metrics ? cupti_sass.SassMetricsGetMetrics(list) : CUPTI_OUT_OF_MEMORY;
}

/* Those of the list that are asked for. Returns how many. */
static uint32_t choose(struct device *d, const struct cupti_sass_list *list,
		       struct cupti_sass_choice *out)
{
	const size_t skip = sizeof(prefix) - 1;
	uint32_t n = 0;

	for (size_t i = 0; i < list->count; i++) {
		const char *name = list->metrics[i].name;

		for (int m = 0; m < METRIC_COUNT; m++)
			if (strncmp(name, prefix, skip) == 0 &&
			    strcmp(name + skip, names[m]) == 0) {
				d->ids[m] = list->metrics[i].id;
				out[n++] = (struct cupti_sass_choice){.id = d->ids[m]};
			}
	}
	return n;
}

static void tell_missing(const struct device *d, uint32_t device)
{
	char text[600];
	size_t n = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		if (!d->ids[m] && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s", n ? ", " : "",
					      prefix, names[m]);
	if (n)
		cap_note(1, "instrument", "device %u has no %s: what follows from that is 0",
			 device, text);
}

static cupti_result configure(struct device *d, uint32_t device)
{
	struct cupti_sass_choice choices[METRIC_COUNT];
	struct cupti_sass_config config = {.size = CUPTI_SIZE(cupti_sass_config, device),
					   .choices = choices,
					   .device = device};
	struct cupti_sass_list list = {.metrics = NULL};
	cupti_result r = list_metrics(device, &list);

	if (r == CUPTI_OK) {
		config.count = choose(d, &list, choices);
		r = d->ids[WARPS] ? cupti_sass.SassMetricsSetConfig(&config) : CUPTI_NOT_SUPPORTED;
	}
	free(list.metrics);
	return r;
}

/* Once. */
static void give_up(struct device *d, uint32_t device, cupti_result r)
{
	char text[160];

	d->counts = false;
	cap_note(2, "instrument", "kernels of device %u are not instrumented by CUPTI: %s", device,
		 cuda_profiler_refusal(r, text, sizeof(text)));
}

static void ask(struct device *d, uint32_t device)
{
	cupti_result r;

	d->asked = true;
	cap_guard_enter();
	r = configure(d, device);
	d->counts = r == CUPTI_OK;
	if (d->counts)
		tell_missing(d, device);
	else
		give_up(d, device, r);
	cap_guard_leave();
}

bool cuda_sass_counts(uint32_t device)
{
	bool counts;

	if (!cuda_sass_in_use() || device >= DEVICES)
		return false;
	pthread_mutex_lock(&lock);
	if (!devices[device].asked)
		ask(&devices[device], device);
	counts = devices[device].counts;
	pthread_mutex_unlock(&lock);
	return counts;
}

/* ---- what was counted of a launch ---- */

/* The records of an instruction follow each other. */
static int by_place(const void *a, const void *b)
{
	const struct cupti_sass_data *x = a, *y = b;
	int names_differ;

	if (x->crc != y->crc)
		return x->crc < y->crc ? -1 : 1;
	names_differ = strcmp(x->function, y->function);
	if (names_differ)
		return names_differ;
	return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

static void add_values(const struct device *d, const struct cupti_sass_data *x, size_t instances,
		       uint64_t *to)
{
	for (size_t i = 0; i < instances; i++)
		for (int m = 0; m < METRIC_COUNT; m++)
			if (d->ids[m] && d->ids[m] == x->values[i].metric)
				to[m] += x->values[i].value;
}

/* The kind of most of its executions: of a generic address it is not always the same. */
static void classify(const uint64_t *v, struct cap_line_instruction *to)
{
	static const struct {
		enum metric metric, items;
		enum cap_instruction_access access;
		enum cap_instruction_space space;
	} kinds[] = {{GLOBAL_LOAD, GLOBAL_ITEMS, CAP_INSTRUCTION_LOAD, CAP_SPACE_GLOBAL},
		     {GLOBAL_STORE, GLOBAL_ITEMS, CAP_INSTRUCTION_STORE, CAP_SPACE_GLOBAL},
		     {GLOBAL_ATOMIC, GLOBAL_ITEMS, CAP_INSTRUCTION_ATOMIC, CAP_SPACE_GLOBAL},
		     {GLOBAL_REDUCTION, GLOBAL_ITEMS, CAP_INSTRUCTION_ATOMIC, CAP_SPACE_GLOBAL},
		     {GLOBAL_COPY, COPY_ITEMS, CAP_INSTRUCTION_LOAD, CAP_SPACE_GLOBAL},
		     {LOCAL_LOAD, LOCAL_ITEMS, CAP_INSTRUCTION_LOAD, CAP_SPACE_LOCAL},
		     {LOCAL_STORE, LOCAL_ITEMS, CAP_INSTRUCTION_STORE, CAP_SPACE_LOCAL},
		     {LOCAL_ATOMIC, LOCAL_ITEMS, CAP_INSTRUCTION_ATOMIC, CAP_SPACE_LOCAL},
		     {PRIVATE_LOAD, ITEMS, CAP_INSTRUCTION_LOAD, CAP_SPACE_PRIVATE},
		     {PRIVATE_STORE, ITEMS, CAP_INSTRUCTION_STORE, CAP_SPACE_PRIVATE}};
	uint64_t most = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (v[kinds[i].metric] > most) {
			most = v[kinds[i].metric];
			to->access = kinds[i].access;
			to->space = kinds[i].space;
			to->accesses = v[kinds[i].items];
		}
	for (int m = BYTES_1; m <= BYTES_16; m++)
		if (v[m])
			to->bytes = 1ull << (m - BYTES_1);
}

static struct cap_line_instruction instruction_of(const uint64_t *v)
{
	struct cap_line_instruction i = {.warps = v[WARPS],
					 .items = v[ITEMS],
					 .sectors_needed = v[SECTORS_IDEAL],
					 .sectors_used = v[SECTORS],
					 .rounds_needed = v[ROUNDS_IDEAL],
					 .rounds_used = v[ROUNDS],
					 .uniform = v[UNIFORM],
					 .divergent = v[DIVERGENT]};

	classify(v, &i);
	return i;
}

static void add_access(const struct cap_line_instruction *i, double *totals)
{
	static const int spaces[] = {[CAP_SPACE_GLOBAL] = CAP_LINE_GLOBAL_LOADS,
				     [CAP_SPACE_LOCAL] = CAP_LINE_LOCAL_LOADS,
				     [CAP_SPACE_PRIVATE] = CAP_LINE_PRIVATE_LOADS};
	const int first =
		spaces[i->space] +
		2 * ((int)i->access - CAP_INSTRUCTION_LOAD); /* loads, their bytes, stores ... */

	totals[first] += (double)i->accesses;
	totals[first + 1] += (double)(i->accesses * i->bytes);
}

static void add_totals(const struct cap_line_instruction *i, double *totals)
{
	if (i->access != CAP_INSTRUCTION_NONE)
		add_access(i, totals);
	totals[CAP_LINE_WARP_INSTRUCTIONS] += (double)i->warps;
	totals[CAP_LINE_ITEM_INSTRUCTIONS] += (double)i->items;
	totals[CAP_LINE_BRANCH_UNIFORM] += (double)i->uniform;
	totals[CAP_LINE_BRANCH_DIVERGENT] += (double)i->divergent;
	totals[CAP_LINE_SECTORS_NEEDED] += (double)i->sectors_needed;
	totals[CAP_LINE_SECTORS_USED] += (double)i->sectors_used;
	totals[CAP_LINE_ROUNDS_NEEDED] += (double)i->rounds_needed;
	totals[CAP_LINE_ROUNDS_USED] += (double)i->rounds_used;
}

/* What no metric says: operations by their kind, and memory that is not told apart. */
static void begin_totals(double *totals)
{
	static const int unknown[] = {CAP_LINE_FLOP_HALF,   CAP_LINE_FLOP_SINGLE,
				      CAP_LINE_FLOP_DOUBLE, CAP_LINE_INT,
				      CAP_LINE_BRANCH,      CAP_LINE_BARRIER};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		totals[unknown[i]] = __builtin_nan("");
	for (int i = CAP_LINE_CONSTANT_LOADS; i <= CAP_LINE_CONSTANT_ATOMIC_BYTES; i++)
		totals[i] = __builtin_nan("");
	for (int i = CAP_LINE_GENERIC_LOADS; i <= CAP_LINE_IMAGE_ATOMIC_BYTES; i++)
		totals[i] = __builtin_nan("");
}

static void write_all(const struct device *d, struct cupti_sass_data *data, size_t count,
		      size_t instances, struct cap_line_counts *out)
{
	size_t i = 0;

	begin_totals(out->totals);
	qsort(data, count, sizeof(*data), by_place);
	while (i < count) {
		const struct cupti_sass_data *at = &data[i];
		const struct cupti_pc pc = {
			.crc = at->crc, .offset = at->offset, .function = at->function};
		uint64_t values[METRIC_COUNT] = {0};
		struct cap_line_instruction x;

		for (; i < count && by_place(at, &data[i]) == 0; i++)
			add_values(d, &data[i], instances, values);
		x = instruction_of(values);
		x.code = cuda_pc_code(&pc);
		cap_lines_write_instruction(out->launch, &x, WARP, true);
		add_totals(&x, out->totals);
	}
	out->instead = true;
	cap_lines_write(out);
}

/* What CUPTI has, in memory of ours. Returns how many records. */
static cupti_result fetch(struct cupti_sass_flush *f, struct cupti_sass_value **values)
{
	*values = calloc(f->records * f->instances + 1, sizeof(**values));
	f->data = calloc(f->records + 1, sizeof(*f->data));
	if (!*values || !f->data)
		return CUPTI_OUT_OF_MEMORY;
	for (size_t i = 0; i < f->records; i++)
		f->data[i] = (struct cupti_sass_data){.size = sizeof(*f->data),
						      .values = *values + i * f->instances};
	return cupti_sass.SassMetricsFlushData(f);
}

static cupti_result collect(void *context, const struct device *d, struct cap_line_counts *out)
{
	struct cupti_sass_properties p = {.size = CUPTI_SIZE(cupti_sass_properties, instances),
					  .context = context};
	struct cupti_sass_flush f = {.size = CUPTI_SIZE(cupti_sass_flush, instances),
				     .context = context};
	struct cupti_sass_value *values = NULL;
	cupti_result r = cupti_sass.SassMetricsGetDataProperties(&p);

	f.records = p.records;
	f.instances = p.instances;
	if (r == CUPTI_OK && p.records && p.instances)
		r = fetch(&f, &values);
	if (r == CUPTI_OK && f.data)
		write_all(d, f.data, f.records, f.instances, out);
	pthread_mutex_lock(&telling);
	counted += r == CUPTI_OK && f.data;
	without += r == CUPTI_OK && !f.data;
	pthread_mutex_unlock(&telling);
	for (size_t i = 0; f.data && i < f.records; i++)
		free((char *)(uintptr_t)f.data[i].function);
	free(f.data);
	free(values);
	return r;
}

/* ---- launches, of which one is counted at a time ---- */

static uint64_t started;

bool cuda_sass_begin(void *context, uint32_t device)
{
	struct cupti_sass_enable on = {
		.size = CUPTI_SIZE(cupti_sass_enable, lazy), .context = context, .lazy = 1};
	cupti_result r;

	if (!cuda_sass_counts(device))
		return false;
	r = cupti_sass.SassMetricsEnable(&on);
	started = clock_ns(CLOCK_MONOTONIC_RAW);
	if (r != CUPTI_OK)
		give_up(&devices[device], device, r);
	return r == CUPTI_OK;
}

void cuda_sass_end(void *context, uint32_t device, const struct cupti_callback *data, bool failed)
{
	struct cupti_sass_disable off = {.size = CUPTI_SIZE(cupti_sass_disable, dropped),
					 .context = context};
	const struct cap_launch launch = {.agent = cuda_agent(device),
					  .kernel = cuda_kernel(data->symbol),
					  .correlation = cuda_submission_call(data->correlation)};
	struct cap_line_counts out = {.launch = &launch, .start = started};
	cupti_result r = CUPTI_OK, disabled;

	if (!failed) {
		out.end = clock_ns(CLOCK_MONOTONIC_RAW);
		r = collect(context, &devices[device], &out);
	}
	disabled = cupti_sass.SassMetricsDisable(&off);
	if (r == CUPTI_OK)
		r = disabled;
	if (r != CUPTI_OK)
		give_up(&devices[device], device, r);
}

/* The child cannot use CUDA: nothing is asked of it. */
void cuda_sass_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&telling, NULL);
	memset(told, 0, sizeof(told));
	counted = without = 0;
	atomic_store(&in_use, 0);
}
