/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose lines are counted (core/counter/lines.h): a twin of the program, of its source rewritten so that it counts,
 * runs beside it. The program's own objects are never touched.
 */
#ifndef CAPTURE_OPENCL_INSTRUMENT_H
#define CAPTURE_OPENCL_INSTRUMENT_H

#include "capture/opencl/launched.h"
#include "capture/opencl/rewritten.h"
#include "core/counter/lines.h"

/*
 * How a group's counts reach the context: its work items run one after the other, so that nobody else writes into a slot of its own
 * (OWN; MAYBE: if there is one for each, which shows when the kernel runs); else they are added atomically.
 */
enum ocl_twin_slots { OCL_SLOTS_SHARED, OCL_SLOTS_OWN, OCL_SLOTS_MAYBE, OCL_TWINS };

/* A program that was rewritten and built for one device; lives for ever, its OpenCL objects as long as their context. */
struct ocl_twin {
	struct ocl_twin *next;
	unsigned users; /* launches that have it */
	bool let_go;    /* it goes with the last of them */
	cl_context context;
	cl_device_id device;
	char *source, *options;        /* the program's */
	cl_program program[OCL_TWINS]; /* built when first needed */
	const char *why;               /* no kernel of it is instrumented */
	const char *changes; /* why its kernels may not run twice, a literal; NULL: they may */
	struct ocl_rewritten rewritten;
	bool branches;    /* it is counted where they are decided */
	uint32_t *blocks; /* ids of their places; of functions that nothing ran of yet 0 */
};

/*
 * The twin of the kernel's program, made if need be, with what the launch needs of it, which takes long: not to be called where
 * others wait. To be put back. NULL: `*why`, which lives for ever, says why there is none.
 */
struct ocl_twin *ocl_twin_get(const struct ocl_launch *l, const char **why);
void ocl_twin_put(struct ocl_twin *t);
/* The context is about to end: what would keep it is let go. */
void ocl_twins_release(const void *context);
void ocl_twins_fork_child(void);
/* Those that a launch counts in, and how many. */
enum ocl_twin_slots ocl_twin_slots_for(const struct ocl_twin *t, const struct ocl_launch *l,
				       size_t *count);
/* Its program with such slots. NULL: `*why`, likewise. */
cl_program ocl_twin_program(struct ocl_twin *t, enum ocl_twin_slots slots, const char **why);

/*
 * Runs the instrumented kernel in the place of the launch (`as_program`) or beside it, and writes what it counted. Nothing else
 * runs. False: it did not run, `*why` says why.
 */
bool ocl_twin_run(struct ocl_twin *t, const struct cap_launch *launch, const struct ocl_launch *l,
		  bool as_program, const char **why);

/* A launch that is not instrumented. `why` lives for ever. */
void ocl_not_instrumented(cl_kernel kernel, const char *why);

/* Notes of what was since the last such notes. */
void ocl_instrument_tell(void);
void ocl_instrument_fork_child(void);

/* One text for all that are equal; lives for ever. */
const char *ocl_text_for_ever(const char *text);

#endif
