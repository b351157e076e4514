/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels that a framework generated for its user: the runtime below knows a generated name alone.
 * They are put right where the runtime's backend defines the kernel, so that records, tallies, filters and
 * tools all have the user's, and no record is written for it.
 */
#include "core/define/define.h"

static cap_kernel_origin_fn *_Atomic asked;

void cap_kernel_origins(cap_kernel_origin_fn *ask)
{
	atomic_store(&asked, ask);
}

static cap_framework_device_fn *_Atomic device;

void cap_framework_devices(cap_framework_device_fn *ask)
{
	atomic_store(&device, ask);
}

const char *core_framework_device(void)
{
	cap_framework_device_fn *ask = atomic_load_explicit(&device, memory_order_relaxed);

	return ask ? ask() : NULL;
}

const struct wire_def *core_kernel_named(const struct wire_def *d, struct wire_def *room)
{
	cap_kernel_origin_fn *ask = atomic_load_explicit(&asked, memory_order_relaxed);
	struct cap_kernel_origin origin;
	const char *symbol;
	size_t length;

	if (d->kind != DEF_KERNEL || !ask || d->count > DEF_KERNEL_SYMBOL)
		return d;
	symbol = wire_def_text(d, DEF_KERNEL_NAME, &length);
	if (!ask(symbol, length, &origin))
		return d;
	wire_def_init(room, DEF_KERNEL);
	wire_def_u64(room, wire_def_get(d, DEF_KERNEL_ID));
	room->v[room->count++] = d->v[DEF_KERNEL_DOMAIN];
	wire_def_string(room, origin.name);
	for (unsigned i = DEF_KERNEL_PROGRAM; i <= DEF_KERNEL_TICK; i++)
		wire_def_u64(room, wire_def_get(d, i));
	wire_def_bytes(room, symbol, length);
	wire_def_string(room, origin.framework);
	wire_def_string(room, origin.source);
	wire_def_string(room, origin.device);
	return room;
}
