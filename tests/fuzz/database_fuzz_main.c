/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target without a fuzzer: the files that are named, and the same mutations of each every time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef FUZZ_ROUNDS
#define FUZZ_ROUNDS 1500
#endif

static uint64_t seed = 0x2545f4914f6cdd1dull;

static uint32_t roll(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

/* Mostly where something is: pages are half empty. */
static uint32_t choose_place(const uint8_t *data, uint32_t size)
{
	uint32_t at = roll(size);

	for (unsigned i = 0; i < 8 && !data[at]; i++)
		at = roll(size);
	return at;
}

static void mutate(uint8_t *data, uint32_t size)
{
	static const uint8_t values[] = {0, 1, 2, 5, 13, 0x7f, 0x80, 0xfe, 0xff};
	uint32_t at = choose_place(data, size), n = 1 + roll(64), to = roll(size);

	switch (roll(4)) {
	case 0:
		data[at] ^= (uint8_t)(1u << roll(8));
		break;
	case 1:
		data[at] = values[roll(sizeof(values))];
		break;
	case 2:
		memset(data + at, values[roll(sizeof(values))], size - at < 8 ? size - at : 8);
		break;
	default:
		n = n < size - at ? n : size - at;
		n = n < size - to ? n : size - to;
		memmove(data + to, data + at, n);
	}
}

static void run_mutations(const uint8_t *original, size_t size)
{
	uint8_t *data = malloc(size);

	for (uint32_t i = 0; data && i < FUZZ_ROUNDS; i++) {
		uint32_t cut = roll(8) ? 0 : roll((uint32_t)size);

		memcpy(data, original, size);
		for (uint32_t k = 1 + roll(6); k; k--)
			mutate(data, (uint32_t)size);
		LLVMFuzzerTestOneInput(data, size - cut);
	}
	free(data);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t size;
		char *data = file_read(argv[i], &size);

		if (!data || !size) {
			fprintf(stderr, "%s: cannot be read\n", argv[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput((const uint8_t *)data, size);
		run_mutations((const uint8_t *)data, size);
		free(data);
	}
	printf("%d files and %d mutations of each\n", argc - 1, FUZZ_ROUNDS);
	return argc < 2;
}
