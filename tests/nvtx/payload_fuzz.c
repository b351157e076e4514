/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts and payloads at random, but from a fixed seed: whatever a program registers and passes,
 * nothing is read outside of its payload and nothing written outside of ours. Meant for the
 * sanitizers; without them it finds crashes only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/nvtx/nvtx.h"

enum { ROUNDS = 20000, ENTRIES = 12, LAYOUTS = 16 };

static uint64_t state = 88172645463325252ull;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t ids[LAYOUTS], sum;

static uint64_t any_type(void)
{
	static const uint64_t types[] = {1,  5,  12, 15, 18, 19, 20,  21,   32,   33, 42,   50,
					 68, 69, 75, 77, 78, 80, 100, 1022, 1023, 0,  99999};

	return any() % 4 == 0 ? ids[any() % LAYOUTS]
			      : types[any() % (sizeof(types) / sizeof(*types))];
}

static void any_schema(unsigned which)
{
	struct nvtx_entry e[ENTRIES];
	struct nvtx_schema s = {.mask = NVTX_SCHEMA_NAME | NVTX_SCHEMA_TYPE | NVTX_SCHEMA_ENTRIES |
					NVTX_SCHEMA_COUNT | NVTX_SCHEMA_SIZE,
				.name = "layout",
				.entries = e,
				.count = any() % (ENTRIES + 1),
				.type = any() % 5,
				.static_size = any() % 200};

	memset(e, 0, sizeof(e));
	for (unsigned i = 0; i < ENTRIES; i++) {
		e[i].type = any_type();
		e[i].name = any() % 3 ? "entry" : NULL;
		e[i].flags = any() % 3 ? 0 : any() & 0xfff;
		e[i].detail = any() % 5 == 0 ? any() : any() % 20;
		e[i].offset = any() % 5 == 0 ? any() : any() % 100;
	}
	ids[which] = nvtx_schema_register(NULL, &s);
}

static void any_enum(unsigned which)
{
	struct nvtx_enum_value values[] = {{"one", 1, 0}, {"two", 2, 1}, {"four", 4, 1}};
	struct nvtx_enum e = {.mask = NVTX_ENUM_VALUES | NVTX_ENUM_COUNT | NVTX_ENUM_SIZE,
			      .values = values,
			      .count = 3,
			      .size = any() % 12};

	ids[which] = nvtx_enum_register(NULL, &e);
}

/* Bytes of its own, so that a sanitizer sees where they end. Strings among them are pointers to it. */
static void any_payload(void)
{
	size_t size = any() % 160;
	uint8_t *data = malloc(size ? size : 1);
	struct nvtx_blob b = {any() % 3 ? ids[any() % LAYOUTS] : any_type(), size, data};
	static struct nvtx_values values;

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(any() % 3 ? any() % 8 : any());
	nvtx_values_init(&values, nvtx_domain(NULL));
	nvtx_values_add(&values, &b, 1);
	if (values.count > NVTX_VALUES || values.used > NVTX_BYTES)
		abort();
	for (uint32_t i = 0; i < values.count; i++) {
		const kymo_payload_t *p = &values.values[i];

		for (size_t k = 0; p->type >= KYMO_PAYLOAD_STRING && k < p->length; k++)
			sum += ((const uint8_t *)p->value.p)[k];
	}
	free(data);
}

int main(void)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (round % 50 == 0)
			any() % 4 ? any_schema((unsigned)(any() % LAYOUTS))
				  : any_enum((unsigned)(any() % LAYOUTS));
		any_payload();
	}
	printf("%d payloads, %llu\n", ROUNDS, (unsigned long long)sum);
	return 0;
}
