/* SPDX-License-Identifier: Apache-2.0 */
/* See plan.h. docs/roofline.md says why sizes are what they are. */
#include "roofs/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <kymo/agent.h>

enum {
	CPU_GROUPS = 4, /* for each unit, so that one that is late costs a quarter */
	GPU_ITEMS = 256,
	GPU_GROUPS = 32, /* of GPU_ITEMS, for each unit */
	CPU_CHAINS = 12, /* of the 16 registers that vectors have */
	GPU_CHAINS = 8,
	SHARE = 4,             /* a quarter of a cache: what else is in there stays */
	LOCAL_MOST = 32 << 10, /* bytes of local memory: every device has as much */
	GPU_LINE = 16          /* bytes that a work item of a GPU moves at a time */
};
#define MIB (UINT64_C(1) << 20)

static bool is_cpu(const struct runner *r)
{
	return strcmp(r->device.type, "cpu") == 0;
}

/* Of a group. */
static uint64_t items_of(const struct runner *r)
{
	if (is_cpu(r))
		return 1;
	return r->group_most && r->group_most < GPU_ITEMS ? r->group_most : GPU_ITEMS;
}

/* ---- caches of processors ------------------------------------------------------------------------ */

/* One agent is enough: packages of a machine are alike. Of the last level all that there are count. */
static kymo_status_t take_caches(const kymo_agent_t *a, void *data)
{
	struct roof_device *d = data;

	if (a->type != KYMO_AGENT_CPU)
		return KYMO_OK;
	for (size_t i = 0; a->caches[i]; i++) {
		const kymo_agent_cache_t *c = a->caches[i];

		if (c->type == KYMO_AGENT_CACHE_INSTRUCTION || c->level < 1 || c->level > 3)
			continue;
		if (c->level == 3)
			d->cache[2] = c->bytes * (c->count ? c->count : 1);
		else
			d->cache[c->level - 1] = c->bytes;
	}
	return KYMO_ERROR_NOT_FOUND; /* no more agents */
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static struct row *add(struct plan *p, const char *name, enum roof_kind kind)
{
	struct row *row = &p->rows[p->count < ROOFS_MOST ? p->count++ : ROOFS_MOST - 1];

	*row = (struct row){
		.roof = {.kind = (uint8_t)kind, .value = NAN, .interval = NAN, .peak = NAN}};
	snprintf(row->roof.name, sizeof(row->roof.name), "%s", name);
	snprintf(row->roof.type, sizeof(row->roof.type), "%.7s", name);
	return row;
}

static void about(struct row *row, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void about(struct row *row, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(row->roof.about, sizeof(row->roof.about), format, args);
	va_end(args);
}

static const char *size_text(uint64_t bytes, char out[32])
{
	bool small = bytes < MIB;

	snprintf(out, 32, "%.4g %s", (double)bytes / (small ? 1024.0 : (double)MIB),
		 small ? "KiB" : "MiB");
	return out;
}

static void not_told(struct row *row)
{
	snprintf(row->roof.why, sizeof(row->roof.why), "the device does not tell how large it is");
}

/* Of doubles, where the device has them, but what reads. */
static struct kernel_shape moving(const struct runner *r, enum kernel_kind kind)
{
	/* What reads also adds, and many GPUs add few doubles. */
	bool adds = kind == KERNEL_READ || kind == KERNEL_READ_OTHERS;
	enum runner_type type = r->has[RUNNER_FP64] && !adds ? RUNNER_FP64 : RUNNER_FP32;
	unsigned native = r->native[type] ? r->native[type] : 1;

	return (struct kernel_shape){
		.kind = (uint8_t)kind,
		.type = (uint8_t)type,
		.width = (uint8_t)(is_cpu(r) ? native : GPU_LINE / kernel_element_bytes(type))};
}

static unsigned vector_bytes(const struct kernel_shape *s)
{
	return s->width * kernel_element_bytes(s->type);
}

static const char *elements(const struct kernel_shape *s)
{
	return s->type == RUNNER_FP64 ? "doubles" : "floats";
}

/* Both arrays of a group together take `bytes`. */
static void copying(struct row *row, const struct runner *r, uint64_t bytes, uint64_t groups,
		    bool each)
{
	char size[32];

	row->shape = moving(r, KERNEL_COPY);
	row->launch.groups = groups;
	row->launch.items = 1;
	row->launch.n = bytes / 2 / vector_bytes(&row->shape);
	row->roof.bytes = row->launch.n * 2 * vector_bytes(&row->shape) * (each ? 1 : groups);
	about(row, "copy of %s, %s%s", elements(&row->shape), size_text(row->roof.bytes, size),
	      each ? " for each unit" : "");
}

static void plan_cpu_cache(struct plan *p, const struct runner *r, unsigned level)
{
	static const char *const names[] = {"l1", "l2", "l3"};
	struct row *row = add(p, names[level], ROOF_BANDWIDTH);
	uint64_t bytes = r->device.cache[level] / SHARE, units = r->device.units;

	if (!bytes)
		not_told(row);
	else if (level < 2)
		copying(row, r, bytes, units * CPU_GROUPS, true);
	else if (bytes / units <= r->device.cache[1])
		snprintf(row->roof.why, sizeof(row->roof.why),
			 "a quarter of it fits into the caches of level 2");
	else
		copying(row, r, bytes / units, units, false);
}

static void plan_gpu_cache(struct plan *p, const struct runner *r, const char *name, uint64_t bytes,
			   enum kernel_kind kind)
{
	struct row *row = add(p, name, ROOF_BANDWIDTH);
	uint64_t groups = (uint64_t)r->device.units * SHARE;
	char size[32];

	if (!bytes) {
		not_told(row);
		return;
	}
	row->shape = moving(r, kind);
	row->launch.items = items_of(r);
	row->launch.groups = groups;
	row->launch.n = KERNEL_FOUR * items_of(r);
	if (kind == KERNEL_READ_OTHERS)
		row->launch.n *=
			fmax(1, floor((double)bytes / SHARE / (double)groups /
				      (vector_bytes(&row->shape) * KERNEL_FOUR * items_of(r))));
	row->roof.bytes =
		row->launch.n * vector_bytes(&row->shape) * (kind == KERNEL_READ ? SHARE : groups);
	about(row, "reading %s, %s%s", elements(&row->shape), size_text(row->roof.bytes, size),
	      kind == KERNEL_READ ? " for each unit" : "");
}

/* Four times the last cache, in two arrays; no more than an eighth of the memory. */
static uint64_t memory_bytes(const struct runner *r, bool quick)
{
	uint64_t last = 0, wanted, most = r->device.memory_bytes / 16;

	for (unsigned i = 0; i < 3; i++)
		last = r->device.cache[i] > last ? r->device.cache[i] : last;
	wanted = is_cpu(r) ? 16 * MIB : quick ? 512 * MIB : 2048 * MIB;
	wanted = 2 * last > wanted ? 2 * last : wanted;
	most = r->buffer_most && r->buffer_most < most ? r->buffer_most : most;
	return wanted < most ? wanted : most;
}

static void plan_memory(struct plan *p, const struct runner *r, bool quick)
{
	struct row *row = add(p, "memory", ROOF_BANDWIDTH);
	uint64_t bytes = memory_bytes(r, quick), block;
	char size[32];

	row->one_pass = true;
	row->roof.peak = r->memory_peak ? r->memory_peak : NAN;
	if (is_cpu(r)) {
		copying(row, r, bytes * 2 / ((uint64_t)r->device.units * CPU_GROUPS),
			(uint64_t)r->device.units * CPU_GROUPS, false);
		return;
	}
	row->shape = moving(r, KERNEL_STREAM);
	row->launch.items = items_of(r);
	row->launch.n = 2 * KERNEL_FOUR * items_of(r);
	block = row->launch.n * vector_bytes(&row->shape);
	row->launch.groups = bytes / block;
	row->roof.bytes = row->launch.groups * block * 2;
	about(row, "copy of %s, %s", elements(&row->shape), size_text(row->roof.bytes, size));
}

static void plan_local(struct plan *p, const struct runner *r)
{
	struct row *row = add(p, "local", ROOF_BANDWIDTH);
	uint64_t bytes = r->local_bytes < LOCAL_MOST ? r->local_bytes : LOCAL_MOST;
	char size[32];

	if (r->device.local_is_cached && r->device.cache[0] && r->device.cache[0] / SHARE < bytes)
		bytes = r->device.cache[0] / SHARE;
	row->shape = moving(r, KERNEL_LOCAL);
	row->launch.items = items_of(r);
	row->launch.n =
		bytes / 2 / vector_bytes(&row->shape) / row->launch.items * row->launch.items;
	row->shape.elements = (uint32_t)row->launch.n;
	row->launch.groups = (uint64_t)r->device.units * CPU_GROUPS;
	row->roof.bytes = row->launch.n * 2 * vector_bytes(&row->shape);
	if (!row->launch.n)
		not_told(row);
	about(row, "copy of %s, %s for each group%s", elements(&row->shape),
	      size_text(row->roof.bytes, size),
	      r->device.local_is_cached ? "; here it is cached memory" : "");
}

static void plan_fma(struct plan *p, const struct runner *r, enum runner_type type, unsigned width)
{
	unsigned native = r->native[type] ? r->native[type] : 1;
	unsigned chains = is_cpu(r) ? CPU_CHAINS : GPU_CHAINS;
	char name[24];
	struct row *row;

	snprintf(name, sizeof(name), "%sx%u", kernel_type_name(type), width);
	row = add(p, name, ROOF_COMPUTE);
	snprintf(row->roof.type, sizeof(row->roof.type), "%s", kernel_type_name(type));
	while (width > native && chains > 4 && chains * (width / native) > CPU_CHAINS)
		chains /= 2;
	row->shape = (struct kernel_shape){.kind = KERNEL_FMA,
					   .type = (uint8_t)type,
					   .width = (uint8_t)width,
					   .chains = (uint8_t)chains};
	row->launch.items = items_of(r);
	row->launch.groups = (uint64_t)r->device.units * (is_cpu(r) ? CPU_GROUPS : GPU_GROUPS);
	if (r->ops_per_clock[type] && r->device.clock_mhz)
		row->roof.peak = (double)r->ops_per_clock[type] * r->device.clock_mhz * 1e6;
	about(row, "%s, %u chains of %u element%s",
	      type == RUNNER_INT32 ? "multiply and add" : "FMA", chains, width,
	      width == 1 ? "" : "s");
	if (!r->has[type])
		snprintf(row->roof.why, sizeof(row->roof.why), "the device has no such type");
}

/* One element, the vector that the device likes, and twice that, of fractions; CUDA computes with single elements, halves in pairs. */
static void plan_type(struct plan *p, const struct runner *r, enum runner_type type)
{
	unsigned native = r->native[type] > 1 ? r->native[type] : 4;

	if (r->language == RUNNER_CUDA) {
		plan_fma(p, r, type, type == RUNNER_FP16 ? 2 : 1);
		return;
	}
	plan_fma(p, r, type, 1);
	if (!r->has[type])
		return;
	plan_fma(p, r, type, native);
	if (is_cpu(r) && type != RUNNER_INT32 && 2 * native <= 16)
		plan_fma(p, r, type, 2 * native);
}

static void plan_transfers(struct plan *p, const struct runner *r, bool quick)
{
	const uint64_t bytes = (is_cpu(r) || quick ? 16 : 64) * MIB;
	char size[32];

	for (unsigned i = 0; i < 4; i++) {
		bool to = i < 2, pinned = i % 2;
		struct row *row = add(p,
				      to ? (pinned ? "h2d_pinned" : "h2d_pageable")
					 : (pinned ? "d2h_pinned" : "d2h_pageable"),
				      ROOF_TRANSFER);

		row->what = ROW_TRANSFER;
		row->to_device = to;
		row->pinned = pinned;
		row->roof.bytes = row->buffer = bytes;
		about(row, "%s, %s memory, %s", to ? "host to device" : "device to host",
		      pinned ? "pinned" : "pageable", size_text(bytes, size));
	}
}

static void plan_launches(struct plan *p)
{
	struct row *one = add(p, "launch", ROOF_LATENCY), *many;

	one->what = ROW_LAUNCH;
	about(one, "an empty kernel, launched and waited for");
	many = add(p, "launch_in_a_row", ROOF_LATENCY);
	many->what = ROW_LAUNCHES;
	about(many, "each of %u empty kernels in a row", PLAN_IN_A_ROW);
	one->shape.kind = many->shape.kind = KERNEL_EMPTY;
	one->shape.type = many->shape.type = RUNNER_FP32;
	one->shape.width = many->shape.width = 1;
	one->one_pass = many->one_pass = true;
	one->launch.groups = many->launch.groups = 1;
	one->launch.items = many->launch.items = 1;
}

/* What the row's kernel takes of each buffer: its arrays, or what its work items write. */
static void size_buffers(struct plan *p)
{
	for (unsigned i = 0; i < p->count; i++) {
		struct row *row = &p->rows[i];
		uint64_t in = row->launch.groups * row->launch.n * vector_bytes(&row->shape);
		uint64_t out = kernel_results(&row->shape, &row->launch) *
			       kernel_element_bytes(row->shape.type);

		if (*row->roof.why)
			continue;
		if (row->shape.kind == KERNEL_FMA || row->shape.kind == KERNEL_LOCAL)
			in = 4096;
		if (row->what != ROW_TRANSFER)
			row->buffer = in > out ? in : out;
		p->buffer = row->buffer > p->buffer ? row->buffer : p->buffer;
	}
}

void plan_make(struct plan *p, struct runner *r, bool quick)
{
	memset(p, 0, sizeof(*p));
	if (is_cpu(r))
		kymo_agents(take_caches, &r->device);
	plan_memory(p, r, quick);
	for (int level = 2; is_cpu(r) && level >= 0; level--)
		plan_cpu_cache(p, r, (unsigned)level);
	if (r->language == RUNNER_CUDA) {
		plan_gpu_cache(p, r, "l2", r->device.cache[1], KERNEL_READ_OTHERS);
		plan_gpu_cache(p, r, "l1", r->device.cache[0], KERNEL_READ);
	} else if (!is_cpu(r)) {
		plan_gpu_cache(p, r, "cache", r->device.cache[2], KERNEL_READ_OTHERS);
	}
	plan_local(p, r);
	for (unsigned i = 0; i < RUNNER_TYPES; i++)
		plan_type(p, r, i);
	plan_transfers(p, r, quick);
	plan_launches(p);
	size_buffers(p);
}
