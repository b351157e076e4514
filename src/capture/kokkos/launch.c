/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of Kokkos Tools (launch/launch.h). */
#include "launch/launch.h"

const struct kymo_launch kymo_launch_kokkos = {
	.domains = (const char *const[]){"kokkos", NULL},
	.tool = {"KOKKOS_TOOLS_LIBS", 0},
	.annotation = "Kokkos",
	.annotation_told = 40,
};
