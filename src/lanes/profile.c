/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are known: what their warps, lines and banks are like. */
#include "lanes/lanes.h"

static const kymo_lanes_profile_t profiles[] = {
	{32, 128, 4, 32, {32, 16, 8}},
	{64, 128, 4, 32, {32, 16, 8}},
};

const kymo_lanes_profile_t *lanes_profile_of(uint32_t warp)
{
	for (uint32_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
		if (profiles[i].warp == warp)
			return &profiles[i];
	return NULL;
}
