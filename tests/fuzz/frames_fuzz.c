/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as tables of call frame information, in a block of memory that ends where they do; and as registers and the
 * copy of a stack. Input: where the header lies, which address is looked for (relative to it), then the tables.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cfi.h"
#include "core/unwind/unwind.h"

#define DEEP 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void run_tables(const uint8_t *data, size_t size)
{
	struct cfi_rule rule;
	struct cfi_tables t;
	uint8_t *block;
	int32_t at[2];

	if (size < sizeof(at))
		return;
	memcpy(at, data, sizeof(at));
	size -= sizeof(at);
	block = malloc(size ? size : 1);
	must(block != NULL);
	memcpy(block, data + sizeof(at), size);
	t = (struct cfi_tables){.start = (uint64_t)(uintptr_t)block, .stays = true};
	t.end = t.start + size;
	t.header = t.start + (uint64_t)(int64_t)at[0];
	if (!cfi_find(&t, t.header + (uint64_t)(int64_t)at[1], &rule))
		must(rule.cfa == CFI_NONE);
	must(rule.cfa <= CFI_OUTERMOST && rule.rbp <= CFI_LOST && rule.rbx <= CFI_LOST);
	free(block);
}

static void run_stack(const uint8_t *data, size_t size)
{
	struct unwind_registers r;
	struct unwind_copy copy = {.more = size & 1};
	uint64_t out[DEEP];
	enum stack_end end = STACK_UNKNOWN;
	uint8_t *block;
	uint32_t n;

	if (size < sizeof(r))
		return;
	memcpy(&r, data, sizeof(r));
	size -= sizeof(r);
	block = malloc(size ? size : 1);
	must(block != NULL);
	memcpy(block, data + sizeof(r), size);
	copy.bytes = block;
	copy.size = size;
	n = unwind_copied(&r, &copy, out, DEEP, &end);
	must(n >= 1 && n <= DEEP && out[0] == r.pc && end > STACK_UNKNOWN && end <= STACK_REPLACED);
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_tables(data, size);
	run_stack(data, size);
	return 0;
}
