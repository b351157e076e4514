/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of devices that are the processor itself: nanoseconds of CLOCK_MONOTONIC_RAW. */
#include "core/capture.h"

void cap_host_clock_sync(uint32_t clock)
{
	struct tick_sync s;
	struct wire_def d;

	tick_sync_take(&s);
	wire_def_init(&d, DEF_CLOCK_SYNC);
	wire_def_u64(&d, clock);
	wire_def_u64(&d, s.before);
	wire_def_u64(&d, s.after);
	wire_def_u64(&d, s.monotonic_raw);
	wire_def_u64(&d, 1); /* the clock was sampled */
	cap_define(&d);
}

uint32_t cap_host_clock_define(const char *name)
{
	uint32_t id = cap_new_id(DEF_CLOCK);
	struct wire_def d;

	wire_def_init(&d, DEF_CLOCK);
	wire_def_u64(&d, id);
	wire_def_string(&d, name);
	wire_def_string(&d, "device");
	wire_def_u64(&d, 1000);
	cap_define(&d);
	cap_host_clock_sync(id);
	return id;
}
