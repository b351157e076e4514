/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the scripted driver's parts, and by the program's generated one. */
#ifndef TESTS_ZE_DRIVER_H
#define TESTS_ZE_DRIVER_H

#include <stdint.h>
#include <string.h>

/* As ze_group_size_t and ze_event_counter_based_desc_t, which older headers lack. */
struct sizes {
	uint32_t x, y, z;
};

struct counter_based {
	uint32_t stype;
	const void *next;
	uint32_t flags, signal, wait;
};

/* Calls each function once that the driver does not script; returns how many. */
unsigned call_all(void);

#endif
