/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of libraries of plain functions (launch/launch.h). */
#include "launch/launch.h"

/* They are entered by their names, whichever of them a program will turn out to have. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (launch_wants(e, self))
		launch_preload(e, LAUNCH_LIBRARY, "libkymo-exports.so");
	return true;
}

const struct kymo_launch kymo_launch_exports = {
	.domains = (const char *const[]){"nccl", "cublas", "cublaslt", "cufft", "cudnn", "nvrtc",
					 "hiprtc", NULL},
	.doors = doors,
	.own = (const char *const[]){"/libkymo-exports.so", NULL},
};
