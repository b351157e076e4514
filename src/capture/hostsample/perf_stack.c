/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks copied by the kernel; see perf_stack.h. */
#include "capture/hostsample/perf_stack.h"

#include <string.h>

#define COPY_MIN 256u
#define REST     160u /* of a sample: all but the copy, and some more */

#if defined(__x86_64__)
#include <asm/perf_regs.h>

#define BIT(reg) (1ull << PERF_REG_X86_##reg)
#define WANTED   (BIT(BX) | BIT(BP) | BIT(SP) | BIT(IP))

struct registers { /* those that are wanted, in the kernel's order */
	uint64_t abi, bx, bp, sp, ip;
};

bool perf_stack_works(void)
{
	return true;
}
#else
#define WANTED 0

struct registers {
	uint64_t abi, bx, bp, sp, ip;
};

bool perf_stack_works(void)
{
	return false;
}
#endif

uint32_t perf_stack_bytes(size_t ring, uint64_t samples)
{
	uint64_t room = ring / samples, bytes = room > REST + COPY_MIN ? room - REST : COPY_MIN;

	return (uint32_t)(bytes < PERF_STACK_MOST ? bytes : PERF_STACK_MOST) / 8 * 8;
}

void perf_stack_ask(struct perf_event_attr *attr, uint32_t bytes)
{
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = WANTED;
	attr->sample_stack_user = bytes;
}

/* The stack follows the registers: its size, as many bytes, and how many of them were there to be copied. */
static struct unwind_copy copy_of(const uint8_t *at, size_t left)
{
	struct unwind_copy c = {0};
	uint64_t size, used;

	if (left < 8)
		return c;
	memcpy(&size, at, 8);
	if (!size || size > left - 8 || left - 8 - size < 8)
		return c;
	memcpy(&used, at + 8 + size, 8);
	c.bytes = at + 8;
	c.size = used < size ? used : size;
	c.more = used >= size;
	return c;
}

uint32_t perf_stack_take(const void *data, size_t size, uint64_t tick, uint64_t *out, uint32_t most,
			 enum stack_end *end)
{
	const uint8_t *at = data;
	struct unwind_registers r;
	struct registers regs;
	struct unwind_copy c;

	if (size < sizeof(regs))
		return 0;
	memcpy(&regs, at, sizeof(regs));
	if (regs.abi != PERF_SAMPLE_REGS_ABI_64)
		return 0;
	r = (struct unwind_registers){regs.ip, regs.sp, regs.bp, regs.bx};
	c = copy_of(at + sizeof(regs), size - sizeof(regs));
	c.tick = tick;
	return unwind_copied(&r, &c, out, most, end);
}
