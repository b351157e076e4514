/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of instructions; see fake_profile.h. Sizes of CUPTI's are facts of its headers. As CUPTI 13.0 on an H200: they are asked
 * for once for each device, nothing is patched where no kernels are recorded, and nothing counted where they
 * are recorded side by side.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_profile.h"

enum {
	OK = 0,
	INVALID_PARAMETER = 1,
	INVALID_OPERATION = 7,
	OUT_OF_MEMORY = 8,
	NOT_INITIALIZED = 15,
	KIND_KERNEL = 3,
	KIND_CONCURRENT = 10
};

enum { DEVICES = 8 };

enum name {
	WARPS,
	ITEMS,
	OTHER,
	GLOBAL_ITEMS,
	LOCAL_ITEMS,
	SECTORS,
	SECTORS_IDEAL,
	ROUNDS,
	ROUNDS_IDEAL,
	UNIFORM,
	DIVERGENT,
	GLOBAL_LOAD,
	GLOBAL_STORE,
	GLOBAL_ATOMIC,
	LOCAL_LOAD,
	BYTES_4,
	BYTES_8,
	NAMES
};

static const char *const names[NAMES] = {
	[WARPS] = "smsp__sass_inst_executed",
	[ITEMS] = "smsp__sass_thread_inst_executed",
	[OTHER] = "smsp__sass_inst_executed_op_texture",
	[GLOBAL_ITEMS] = "smsp__sass_thread_inst_executed_op_global_pred_on",
	[LOCAL_ITEMS] = "smsp__sass_thread_inst_executed_op_shared_pred_on",
	[SECTORS] = "smsp__sass_sectors_mem_global",
	[SECTORS_IDEAL] = "smsp__sass_sectors_mem_global_ideal",
	[ROUNDS] = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
	[ROUNDS_IDEAL] = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
	[UNIFORM] = "smsp__sass_branch_targets_threads_uniform",
	[DIVERGENT] = "smsp__sass_branch_targets_threads_divergent",
	[GLOBAL_LOAD] = "smsp__sass_inst_executed_op_global_ld",
	[GLOBAL_STORE] = "smsp__sass_inst_executed_op_global_st",
	[GLOBAL_ATOMIC] = "smsp__sass_inst_executed_op_global_atom",
	[LOCAL_LOAD] = "smsp__sass_inst_executed_op_shared_ld",
	[BYTES_4] = "smsp__sass_inst_executed_op_memory_32b",
	[BYTES_8] = "smsp__sass_inst_executed_op_memory_64b"};

/* What an instruction does for each warp; the branch parts in one warp alone. */
struct instruction {
	uint32_t offset;
	uint64_t each[NAMES];
};

static const struct instruction hot[] = {{0x00, {[WARPS] = 1, [ITEMS] = 32}},
					 {0x20,
					  {[WARPS] = 1,
					   [ITEMS] = 32,
					   [GLOBAL_ITEMS] = 16,
					   [GLOBAL_LOAD] = 1,
					   [BYTES_4] = 1,
					   [SECTORS] = 16,
					   [SECTORS_IDEAL] = 2}},
					 {0x28, {[WARPS] = 1, [ITEMS] = 24}},
					 {0x40, {[WARPS] = 1, [ITEMS] = 32, [UNIFORM] = 1}},
					 {0x50,
					  {[WARPS] = 2,
					   [ITEMS] = 64,
					   [LOCAL_ITEMS] = 64,
					   [LOCAL_LOAD] = 2,
					   [BYTES_4] = 2,
					   [ROUNDS] = 64,
					   [ROUNDS_IDEAL] = 2}},
					 {0x60,
					  {[WARPS] = 1,
					   [ITEMS] = 32,
					   [GLOBAL_ITEMS] = 32,
					   [GLOBAL_STORE] = 1,
					   [BYTES_8] = 1,
					   [SECTORS] = 8,
					   [SECTORS_IDEAL] = 8}}};
static const struct instruction cold[] = {{0x00, {[WARPS] = 1, [ITEMS] = 32}},
					  {0x10,
					   {[WARPS] = 1,
					    [ITEMS] = 32,
					    [GLOBAL_ITEMS] = 32,
					    [GLOBAL_ATOMIC] = 1,
					    [BYTES_4] = 1,
					    [SECTORS] = 1,
					    [SECTORS_IDEAL] = 1}}};

struct value {
	uint64_t metric, value;
};

struct data {
	size_t size;
	void *reserved;
	uint32_t crc, index;
	char *function;
	uint32_t offset;
	struct value *values;
};

static struct device {
	bool set, spent;
	bool chosen[NAMES];
} devices[DEVICES];

static struct {
	void *context; /* NULL: off */
	uint64_t crc, warps;
	const char *function;
	const struct instruction *code;
	size_t count;
	unsigned patched;
} now;

/* Numbers of metrics are no positions. */
static uint64_t id_of(int name)
{
	return 0x9000000000000007ull + 13u * (unsigned)name;
}

static bool has(int name)
{
	const char *missing = getenv("FAKE_SASS_MISSING");

	return !missing || !strstr(names[name], missing);
}

int cuptiGetDeviceId(void *context, uint32_t *id);

static const struct device *device_of(void *context)
{
	uint32_t id = 0;

	cuptiGetDeviceId(context, &id);
	return &devices[id];
}

/* One flush gives what ran since the last one. */
void fake_sass(void *context, uint64_t crc, const char *function, uint64_t warps)
{
	if (now.context != context || !(fake_kind(KIND_KERNEL) || fake_kind(KIND_CONCURRENT)))
		return;
	now.patched++;
	now.code = strstr(function, "hot") ? hot : cold;
	now.count = now.code == hot ? sizeof(hot) / sizeof(hot[0]) : sizeof(cold) / sizeof(cold[0]);
	now.function = function;
	now.crc = crc;
	now.warps = fake_kind(KIND_CONCURRENT) ? 0 : warps;
}

unsigned fake_sass_patched(void)
{
	return now.patched;
}

static uint64_t value_of(const struct instruction *i, int name)
{
	const uint64_t v = i->each[name] * now.warps;

	if (i->offset == 0x40 && now.warps && name == UNIFORM)
		return v - 1;
	return i->offset == 0x40 && now.warps && name == DIVERGENT ? 1 : v;
}

static bool applies(const struct instruction *i, int name)
{
	return i->each[name] || (i->each[UNIFORM] && name == DIVERGENT);
}

/* ---- what CUPTI has ---- */

struct count {
	size_t size;
	void *reserved;
	const char *chip;
	size_t count;
};

int cuptiSassMetricsGetNumOfMetrics(struct count *p)
{
	if (p->size != sizeof(*p) || !p->chip || strcmp(p->chip, "STAND100") != 0)
		return INVALID_PARAMETER;
	if (!fake_profiler_ready())
		return NOT_INITIALIZED;
	p->count = 0;
	for (int i = 0; i < NAMES; i++)
		p->count += has(i);
	return OK;
}

struct metric {
	uint64_t id;
	const char *name, *description;
};

struct list {
	size_t size;
	void *reserved;
	const char *chip;
	size_t count;
	struct metric *metrics;
};

int cuptiSassMetricsGetMetrics(struct list *p)
{
	size_t n = 0;

	if (p->size != sizeof(*p) || strcmp(p->chip, "STAND100") != 0)
		return INVALID_PARAMETER;
	for (int i = NAMES - 1; i >= 0; i--)
		if (has(i) && n < p->count)
			p->metrics[n++] = (struct metric){id_of(i), names[i], "# of them"};
	return OK;
}

struct choice {
	uint64_t id;
	uint8_t granularity;
};

struct config {
	size_t size;
	void *reserved;
	size_t count;
	struct choice *choices;
	uint32_t device;
};

int cuptiSassMetricsSetConfig(struct config *p)
{
	const char *refuse = getenv("FAKE_REFUSE_PROFILE");
	struct device *d = &devices[p->device];

	if (p->size != offsetof(struct config, device) + 4 || p->device >= DEVICES || !p->count)
		return INVALID_PARAMETER;
	if (refuse)
		return atoi(refuse);
	if (d->set || d->spent)
		return d->set ? INVALID_OPERATION : OUT_OF_MEMORY;
	d->set = d->spent = true;
	for (size_t k = 0; k < p->count; k++)
		for (int i = 0; i < NAMES; i++)
			if (p->choices[k].id == id_of(i) && p->choices[k].granularity == 0)
				d->chosen[i] = true;
	return OK;
}

struct unset {
	size_t size;
	void *reserved;
	uint32_t device;
};

int cuptiSassMetricsUnsetConfig(struct unset *p)
{
	if (p->size != offsetof(struct unset, device) + 4 || !devices[p->device].set)
		return INVALID_OPERATION;
	devices[p->device].set = false;
	if (getenv("FAKE_SASS_TOLD"))
		printf("device %u let go\n", p->device);
	return OK;
}

struct enable {
	size_t size;
	void *reserved, *context;
	uint8_t lazy;
};

int cuptiSassMetricsEnable(struct enable *p)
{
	if (p->size != offsetof(struct enable, lazy) + 1 || !p->lazy)
		return INVALID_PARAMETER;
	if (now.context || !device_of(p->context)->set)
		return INVALID_OPERATION;
	now.context = p->context;
	return OK;
}

struct disable {
	size_t size;
	void *reserved, *context;
	size_t dropped;
};

int cuptiSassMetricsDisable(struct disable *p)
{
	if (p->size != sizeof(*p) || now.context != p->context)
		return INVALID_OPERATION;
	now.context = NULL;
	now.code = NULL;
	return OK;
}

struct properties {
	size_t size;
	void *reserved, *context;
	size_t records, instances;
};

/* A record for each metric at each instruction that it applies to. */
static size_t each(struct data *out)
{
	const struct device *d = device_of(now.context);
	size_t n = 0;

	for (int m = 0; m < NAMES && now.code; m++)
		for (size_t i = 0; i < now.count; i++) {
			if (!d->chosen[m] || !applies(&now.code[i], m))
				continue;
			if (out) {
				out[n].crc = (uint32_t)now.crc;
				out[n].function = strdup(now.function);
				out[n].offset = now.code[i].offset;
				out[n].values[0] =
					(struct value){id_of(m), value_of(&now.code[i], m)};
			}
			n++;
		}
	return n;
}

int cuptiSassMetricsGetDataProperties(struct properties *p)
{
	if (p->size != sizeof(*p) || now.context != p->context)
		return INVALID_OPERATION;
	p->records = each(NULL);
	p->instances = p->records != 0;
	return OK;
}

struct flush {
	size_t size;
	void *reserved, *context;
	size_t records, instances;
	struct data *data;
};

int cuptiSassMetricsFlushData(struct flush *p)
{
	if (p->size != offsetof(struct flush, data) || now.context != p->context)
		return INVALID_OPERATION;
	if (p->records != each(NULL) || p->instances != 1 || p->data[0].size != sizeof(struct data))
		return INVALID_PARAMETER;
	each(p->data);
	now.code = NULL;
	return OK;
}
