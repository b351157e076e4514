/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of NVTX (launch/launch.h). */
#include "launch/launch.h"

const struct kymo_launch kymo_launch_nvtx = {
	.domains = (const char *const[]){"nvtx", NULL},
	.tool = {"NVTX_INJECTION64_PATH", 0},
	.annotation = "NVTX",
	.annotation_told = 10,
};
