/* SPDX-License-Identifier: Apache-2.0 */
/* See occupancy.h. */
#include "formats/xspace/occupancy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAJOR_FIRST = 5, /* capabilities whose way of handing out is known */
	MAJOR_LAST = 12,
	MAJOR_RESERVES = 8, /* from here on the system takes shared memory of each block */
	RESERVED_BYTES = 1024,
	REGISTERS_UNIT = 256,
	REGISTERS_MAX = 255, /* of a thread */
};

/* ---- the device ------------------------------------------------------------------------------ */

uint64_t limits_told(const struct t_agent *a, const char *name)
{
	const char *p = strstr(a->properties, name);

	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

bool limits_capability(const struct t_agent *a, unsigned *major, unsigned *minor)
{
	const char *p = strstr(a->properties, "\"compute_capability\":\"");

	return p && sscanf(p, "\"compute_capability\":\"%u.%u\"", major, minor) == 2;
}

/* Kineto's files have all but this: CUDA C++ programming guide, "Compute Capabilities". 0: it is not known. */
static uint64_t blocks_of_capability(unsigned major, unsigned minor)
{
	if (major == 8 && minor)
		return minor == 9 ? 24 : 16;
	if (major == 7 && minor == 5)
		return 16;
	return major >= MAJOR_FIRST && major <= 10 ? 32 : 0;
}

void limits_read(struct limits *l, const struct t_agent *a)
{
	*l = (struct limits){
		.multiprocessors = limits_told(a, "\"multiprocessors\":"),
		.warp = limits_told(a, "\"warp\":"),
		.warps = limits_told(a, "\"warps_per_multiprocessor\":"),
		.blocks = limits_told(a, "\"blocks_per_multiprocessor\":"),
		.shared = limits_told(a, "\"shared_bytes_per_multiprocessor\":"),
		.registers = limits_told(a, "\"registers_per_multiprocessor\":"),
		.threads = limits_told(a, "\"threads_per_block\":"),
	};
	if (!limits_capability(a, &l->major, &l->minor))
		l->major = 0;
	if (!l->blocks)
		l->blocks = blocks_of_capability(l->major, l->minor);
}

/* Numbers of a device that there could be: nothing below overflows. */
static bool is_known(const struct limits *l)
{
	return l->major >= MAJOR_FIRST && l->major <= MAJOR_LAST && l->multiprocessors &&
	       l->multiprocessors < 1u << 16 && l->warp == 32 && l->warps && l->warps < 1u << 16 &&
	       l->blocks && l->blocks < 1u << 16 && l->shared && l->shared < 1u << 30 &&
	       l->registers >= REGISTERS_UNIT && l->registers < 1u << 30 && l->threads &&
	       l->threads < 1u << 16;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t whole(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Each part of a multiprocessor has its registers, and gives them to whole warps. */
static uint64_t warps_by_registers(const struct limits *l, uint64_t registers)
{
	unsigned parts = l->major == 6 && l->minor == 0 ? 2 : 4;

	return l->registers / parts / whole(registers * l->warp, REGISTERS_UNIT) * parts;
}

static uint64_t blocks_held(const struct limits *l, uint64_t threads, uint64_t registers,
			    uint64_t shared)
{
	bool reserves = l->major >= MAJOR_RESERVES;
	uint64_t warps = whole(threads, l->warp) / l->warp;
	uint64_t bytes = whole(shared + (reserves ? RESERVED_BYTES : 0), reserves ? 128 : 256);
	uint64_t n = least(l->blocks, l->warps / warps);

	n = least(n, warps_by_registers(l, registers) / warps);
	return bytes ? least(n, l->shared / bytes) : n;
}

static void suggest(const struct limits *l, uint64_t registers, uint64_t shared,
		    struct occupancy *out)
{
	uint64_t most = 0;

	for (uint64_t threads = whole(l->threads, l->warp); threads; threads -= l->warp) {
		uint64_t size = least(threads, l->threads);
		uint64_t n = blocks_held(l, size, registers, shared);

		if (n * size <= most)
			continue;
		most = n * size;
		out->block = (int64_t)size;
		out->blocks = (int64_t)(n * l->multiprocessors);
	}
}

static uint64_t threads_of(const struct rec_dispatch *r)
{
	uint64_t threads = 1;

	for (unsigned i = 0; i < 3 && i < r->dims; i++)
		threads = threads < 1u << 16 ? threads * r->local[i] : threads;
	return threads;
}

bool occupancy_of(struct occupancy_memo *memo, const struct limits *l, const struct rec_dispatch *r,
		  struct occupancy *out)
{
	uint64_t threads = threads_of(r), registers = r->launch.registers;
	uint64_t shared = r->launch.static_shared, n;

	if (!is_known(l) || !threads || threads > l->threads || !registers ||
	    registers > REGISTERS_MAX || shared > l->shared || r->launch.dynamic_shared > l->shared)
		return false;
	shared += r->launch.dynamic_shared;
	if (memo->limits != l || memo->threads != threads || memo->registers != registers ||
	    memo->shared != shared) {
		*memo = (struct occupancy_memo){
			.limits = l, .threads = threads, .registers = registers, .shared = shared};
		n = blocks_held(l, threads, registers, shared);
		memo->last.percent = 100.0 * (double)(n * threads) / (double)(l->warps * l->warp);
		suggest(l, registers, shared, &memo->last);
	}
	*out = memo->last;
	return out->percent > 0;
}
