/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target without a fuzzer: the same mutations of the demo trace every time. With file
 * names as arguments it runs those (to repeat what a fuzzer found).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory_file.h"
#include "support/synth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed = 0x2545f4914f6cdd1dull;

static uint32_t roll(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

static void mutate_byte(uint8_t *data, uint32_t size)
{
	static const uint8_t values[] = {0, 1, 2, 3, 4, 8, 0x7f, 0x80, 0xfe, 0xff};
	uint32_t at = sizeof(struct raw_header) + roll(size - sizeof(struct raw_header));

	switch (roll(4)) {
	case 0:
		data[at] ^= (uint8_t)(1u << roll(8));
		break;
	case 1:
		data[at] = values[roll(sizeof(values))];
		break;
	case 2:
		data[at] = (uint8_t)roll(256);
		break;
	default:
		memset(data + at, values[roll(sizeof(values))],
		       roll(size - at < 16 ? size - at : 16));
		break;
	}
}

/* Also moves stretches over one another, so that definitions and records change places. */
static void mutate_stretch(uint8_t *data, uint32_t size)
{
	uint32_t n = 1 + roll(200), from = roll(size - n), to = roll(size - n);

	memmove(data + to, data + from, n);
}

static void run_mutations(const uint8_t *original, size_t size, uint32_t rounds)
{
	uint8_t *data = malloc(size);

	for (uint32_t i = 0; data && i < rounds; i++) {
		memcpy(data, original, size);
		for (uint32_t k = 1 + roll(6); k; k--)
			mutate_byte(data, (uint32_t)size);
		if (roll(4) == 0)
			mutate_stretch(data, (uint32_t)size);
		LLVMFuzzerTestOneInput(data, roll(8) ? size : roll((uint32_t)size));
	}
	free(data);
}

static int run_files(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t size;
		uint8_t *data = memory_file_load(argv[i], &size);

		if (!data) {
			perror(argv[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *const files[] = {"node1-4242-0", "node1-5151-0"};
	char work[] = "/tmp/raw-fuzz-XXXXXX", path[128], command[64];

	if (argc > 1)
		return run_files(argc, argv);
	if (!mkdtemp(work))
		return 1;
	synth_demo(work, false);
	for (int i = 0; i < 2; i++) {
		size_t size;
		uint8_t *data;

		snprintf(path, sizeof(path), "%s/raw/%s.kyr", work, files[i]);
		data = memory_file_load(path, &size);
		if (!data)
			return 1;
		LLVMFuzzerTestOneInput(data, size);
		run_mutations(data, size, 1500);
		free(data);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", work);
	return system(command);
}
