/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target without a fuzzer: the same inputs every time, each a mixture of any bytes and of
 * those that mean something to JSON and UTF-8.
 */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed = 0x2545f4914f6cdd1dull;

static uint32_t roll(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

static uint8_t any_byte(uint32_t flavour)
{
	static const uint8_t values[] = {0,    '"',  '\\', '\n', 0x1f, 0x7f, 0x80,
					 0xbf, 0xc2, 0xe2, 0x80, 0xae, 0xed, 0xa0,
					 0xf0, 0x9f, 0x98, 0xf4, 0x90, 0xff};

	if (flavour == 0)
		return (uint8_t)roll(256);
	if (flavour == 1)
		return values[roll(sizeof(values))];
	return (uint8_t)roll(12);
}

int main(void)
{
	static uint8_t data[3000];

	for (uint32_t round = 0; round < 4000; round++) {
		uint32_t size = roll(round % 8 ? 200 : sizeof(data)), flavour = roll(4);

		for (uint32_t i = 0; i < size; i++)
			data[i] = any_byte(flavour < 3 ? flavour : roll(3));
		LLVMFuzzerTestOneInput(data, size);
	}
	return 0;
}
