/* SPDX-License-Identifier: Apache-2.0 */
/* Which role the region of an operation has, and what kind of task it submits. */
#ifndef FORMATS_OTF2_ROLES_H
#define FORMATS_OTF2_ROLES_H

#include <stdbool.h>
#include <stdint.h>

enum task_kind { TASK_OTHER, TASK_KERNEL, TASK_COPY, TASK_FILL, TASK_GRAPH, TASK_HOST };

struct role {
	const char *domains; /* "cuda|cuda_runtime" */
	const char *pattern; /* of names: "*Memcpy*|*memcpy*" as of the shell */
	uint8_t role;        /* OTF2_RegionRole */
	bool device;         /* it runs on a device, not on the host */
	uint8_t task;        /* enum task_kind, of what it submits */
};

/* By domain and name of the operation; NULL: nobody has said what it is. */
const struct role *role_of(const char *domain, const char *name);

/* "WRAPPER", ... */
const char *role_name(uint8_t role);

#endif
