/* SPDX-License-Identifier: Apache-2.0 */
/* Between the preloaded libkymo-libfabric.so and libkymo, which knows how to record. */
#ifndef CAPTURE_LIBFABRIC_DOOR_H
#define CAPTURE_LIBFABRIC_DOOR_H

#include <stdbool.h>

#include <rdma/fabric.h>

/* Calls `real` for `caller` and has what it opens traced. */
int kymo_libfabric_opened(__typeof__(fi_fabric) *real, struct fi_fabric_attr *attr,
			  struct fid_fabric **fabric, void *context, const void *caller);

#endif
