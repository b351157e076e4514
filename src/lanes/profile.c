/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are known: what their warps, lines and banks are like. */
#include "lanes/lanes.h"

#include <string.h>

static const struct lanes_profile profiles[] = {
	{"warp32", 32, 128, 4, 32, {32, 16, 8}},
	{"wave64", 64, 128, 4, 32, {32, 16, 8}},
};

const char *lanes_profile_name(uint32_t i)
{
	return i < sizeof(profiles) / sizeof(profiles[0]) ? profiles[i].name : NULL;
}

const struct lanes_profile *lanes_profile_named(const char *name)
{
	for (uint32_t i = 0; lanes_profile_name(i); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}
