/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the OpenCL backend share: the next layer, agents, contexts, clocks. Hooks are
 * declared in the generated opencl_hooks.h and live beside what they are about.
 */
#ifndef CAPTURE_OPENCL_BACKEND_H
#define CAPTURE_OPENCL_BACKEND_H

#include "capture/opencl/cl.h"
#include "capture/opencl/objects.h"
#include "core/activity/activity.h"
#include "core/capture.h"

#define OCL_DEVICE_WORK (CAP_ACTIVITY_DISPATCH | CAP_ACTIVITY_COPY)

/* Ticks of 10 ms, set with the door. */
extern uint64_t ocl_ticks_10ms;

/* The table of the layer below ours; entries it lacks are NULL. Set before the first call. */
extern cl_icd_dispatch ocl_next;

/* Set when the program is past its end: the runtime below may be gone and is not asked any more. */
extern _Atomic bool ocl_ended;

/* ---- door.c ---- */

/* The backend's domain; NULL until it is registered. */
struct cap_domain *ocl_domain(void);

/* The wrapper of an op is needed from now on, because something is masked from the program. */
void ocl_mask(unsigned op);

/* ---- agent.c ---- */

/* The agent of a device, defined at first sight; NULL: no memory or no device. */
struct ocl_device *ocl_device_get(cl_device_id device);
/* The same of a context. */
struct ocl_context *ocl_context_get(cl_context context);

/* ---- clock.c ---- */

/* The clock of a root device. Thread-safe. */
struct ocl_clock *ocl_clock_new(cl_device_id device, const char *name);
uint32_t ocl_clock_id(const struct ocl_clock *clock);
/* Time of commands of which the tightest bound is told: as often as one may be published. */
#define OCL_BOUND_TICKS (25 * ocl_ticks_10ms)
/*
 * The clock read `value` (0: not known) at some moment between two ticks; of several such bounds that
 * were looked at together the tightest, up to the tick `last`. `now`: the present.
 */
void ocl_clock_bound(struct ocl_clock *clock, uint64_t before, uint64_t after, uint64_t value,
		     uint64_t last, uint64_t now);
/* Publishes what is held back; with `last` also takes a last sample where the device offers it. */
void ocl_clocks_flush(bool last);
void ocl_clocks_fork_child(void);

#endif
