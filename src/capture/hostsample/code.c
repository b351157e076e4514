/* SPDX-License-Identifier: Apache-2.0 */
/* Executable mappings of the process; see code.h. */
#include "capture/hostsample/code.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "capture/hostsample/jit.h"
#include "core/unwind/unwind.h"

#define RANGES   4096u
#define AGAIN_NS 100000000u /* mappings are looked at this often at most */

static struct range {
	uint64_t start, end;
} ranges[RANGES];
static uint32_t range_count;
static uint64_t looked;

static void look(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], mode[8];
	unsigned long start, end;

	looked = clock_ns(CLOCK_MONOTONIC);
	if (!f)
		return;
	range_count = 0;
	while (range_count < RANGES && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 && mode[2] == 'x')
			ranges[range_count++] = (struct range){start, end};
	fclose(f);
}

/* Mappings are listed in order. */
static bool inside(uint64_t a)
{
	uint32_t low = 0, high = range_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (a < ranges[middle].start)
			high = middle;
		else if (a >= ranges[middle].end)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

/* Of an object that the loader has, or mapped otherwise. */
static bool is_code(uint64_t a)
{
	struct cfi_tables t;

	if (inside(a) || unwind_object(a, &t))
		return true;
	if (looked && clock_ns(CLOCK_MONOTONIC) - looked < AGAIN_NS)
		return false;
	look();
	return inside(a);
}

uint32_t code_chain(const uint64_t *addresses, uint32_t count)
{
	uint32_t n = count ? 1 : 0;

	while (n < count && is_code(addresses[n]))
		n++;
	return n;
}

void code_name(uint64_t *addresses, uint32_t count, uint64_t time)
{
	struct cfi_tables t;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t pc = addresses[i] - (i > 0), place;

		if (unwind_object(pc, &t))
			continue;
		place = jit_place(pc, time);
		if (place)
			addresses[i] = i ? place : place - 1; /* as the innermost entry is told */
	}
}
