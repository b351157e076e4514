/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target without a fuzzer: the files it is given, and the same mutations of each every time. What a
 * fuzzer found is repeated by naming its file alone.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory_file.h"

#ifndef FUZZ_ROUNDS
#define FUZZ_ROUNDS 1500
#endif

enum { ROUNDS = FUZZ_ROUNDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed = 0x2545f4914f6cdd1dull;

static uint32_t roll(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

/* Characters that mean something, and digits: a time becomes another one, a phase as well. */
static void mutate_byte(uint8_t *data, uint32_t size)
{
	static const char values[] = "{}[]:,\"\\-.0123456789eEXBEbenisCM \x00\x80\xff";

	data[roll(size)] = (uint8_t)values[roll(sizeof(values) - 1)];
}

static void mutate_stretch(uint8_t *data, uint32_t size)
{
	uint32_t n = 1 + roll(size < 200 ? size - 1 : 200), from = roll(size - n + 1),
		 to = roll(size - n + 1);

	memmove(data + to, data + from, n);
}

static void run_mutations(const uint8_t *original, size_t size)
{
	uint8_t *data = malloc(size);

	for (uint32_t i = 0; data && i < ROUNDS; i++) {
		memcpy(data, original, size);
		for (uint32_t k = 1 + roll(8); k; k--)
			mutate_byte(data, (uint32_t)size);
		if (roll(3) == 0)
			mutate_stretch(data, (uint32_t)size);
		LLVMFuzzerTestOneInput(data, roll(8) ? size : roll((uint32_t)size));
	}
	free(data);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t size;
		uint8_t *data = memory_file_load(argv[i], &size);

		if (!data || size < 2) {
			perror(argv[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput(data, size);
		run_mutations(data, size);
		free(data);
	}
	return argc > 1 ? 0 : 1;
}
