/* SPDX-License-Identifier: Apache-2.0 */
/* The target on the files that are named, whole, cut and damaged; the same damage each time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory_file.h"

enum { ROUNDS = 2000, CUTS = 200, DAMAGED = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Headers are a small part of a file, and most of what can mislead. */
static size_t place(size_t size)
{
	size_t head = size < 1024 ? size : 1024;

	return (size_t)rand() % (rand() % 2 ? head : size);
}

static void damage(uint8_t *data, size_t size)
{
	uint8_t old[DAMAGED];
	size_t at[DAMAGED];

	for (unsigned i = 0; i < DAMAGED; i++) {
		at[i] = place(size);
		old[i] = data[at[i]];
		data[at[i]] = (uint8_t)(rand() % 2 ? rand() : old[i] ^ 1 << rand() % 8);
	}
	LLVMFuzzerTestOneInput(data, size);
	for (unsigned i = DAMAGED; i-- > 0;)
		data[at[i]] = old[i];
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t size;
		uint8_t *data = memory_file_load(argv[i], &size);

		if (!data || !size) {
			perror(argv[i]);
			return 1;
		}
		srand(1);
		LLVMFuzzerTestOneInput(data, size);
		for (unsigned k = 0; k < ROUNDS; k++)
			damage(data, size);
		for (unsigned k = 0; k < CUTS; k++)
			LLVMFuzzerTestOneInput(data, size * k / CUTS);
		free(data);
	}
	return argc < 2;
}
