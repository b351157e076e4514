/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of ITT (launch/launch.h). */
#include "launch/launch.h"

const struct kymo_launch kymo_launch_itt = {
	.domains = (const char *const[]){"itt", NULL},
	.tool = {"INTEL_LIBITTNOTIFY64", 0},
	.annotation = "ITT",
	.annotation_told = 20,
};
