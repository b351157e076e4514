/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose lines are counted (core/counter/lines.h): a twin of the program, of its source rewritten so that it counts,
 * runs beside it. The program's own objects are never touched.
 */
#ifndef CAPTURE_OPENCL_INSTRUMENT_H
#define CAPTURE_OPENCL_INSTRUMENT_H

#include "capture/opencl/launched.h"
#include "capture/opencl/replay.h"
#include "core/counter/parts.h"

/*
 * How a group's counts reach the context: its work items run one after the other, so that nobody else writes into a slot of its own
 * (OWN; MAYBE: if there is one for each, which shows when the kernel runs); else they are added atomically.
 */
enum ocl_twin_slots { OCL_SLOTS_SHARED, OCL_SLOTS_OWN, OCL_SLOTS_MAYBE, OCL_TWINS };

/* Built for launches with groups of one size: others have more work items than the compiler leaves registers for. */
struct ocl_twin_sized {
	struct ocl_twin_sized *next;
	enum ocl_twin_slots slots;
	size_t group[3];
	cl_program program; /* NULL: it was not built, `why` */
	const char *why;
};

/* A program that was rewritten and built for one device; lives for ever, its OpenCL objects as long as their context. */
struct ocl_twin {
	struct ocl_twin *next;
	unsigned users; /* launches that have it */
	bool let_go;    /* it goes with the last of them */
	cl_context context;
	cl_device_id device;
	uint32_t records;              /* it makes them too: KYMO_HANDLER_... */
	char *source, *options;        /* the program's */
	cl_program program[OCL_TWINS]; /* built when first needed */
	struct ocl_twin_sized *sized;  /* likewise */
	const char *why;               /* no kernel of it is instrumented */
	const char *changes; /* why its kernels may not run twice, a literal; NULL: they may */
	struct cap_parts counted;
};

/*
 * The twin of the kernel's program, made if need be, with what the launch needs of it, which takes long: not to be called where
 * others wait. To be put back. NULL: `*why`, which lives for ever, says why there is none.
 */
struct ocl_twin *ocl_twin_get(const struct ocl_launch *l, uint32_t records, const char **why);
void ocl_twin_put(struct ocl_twin *t);
/* The context is about to end: what would keep it is let go. */
void ocl_twins_release(const void *context);
void ocl_twins_fork_child(void);
/* Those that a launch counts in, and how many. */
enum ocl_twin_slots ocl_twin_slots_for(const struct ocl_twin *t, const struct ocl_launch *l,
				       size_t *count);
/* Its program with such slots, for groups of all sizes (NULL) or of `group` alone. NULL: `*why`, likewise. */
cl_program ocl_twin_program(struct ocl_twin *t, enum ocl_twin_slots slots, const size_t *group,
			    const char **why);

/*
 * Runs the instrumented kernel in the place of the launch (`as_program`) or beside it, and writes what it counted. Nothing else
 * runs. `*accesses`: how many it would have recorded. False: it did not run, `*why` says why.
 */
bool ocl_twin_run(struct ocl_twin *t, const struct cap_launch *launch, const struct ocl_launch *l,
		  bool as_program, uint64_t *accesses, const char **why);

/* What an instrumented kernel writes: counts of blocks in slots, and records of accesses, where it makes them. */
struct ocl_counts {
	cl_mem buffer;
	uint64_t *words; /* what lies before the records */
	size_t slots, blocks;
	size_t records; /* it has room for so many; 0: it makes none */
	bool own_slots;
};

/* Groups whose accesses are recorded; count 0: all. */
struct ocl_groups {
	uint32_t first, count;
};

/*
 * The instrumented kernel with the arguments of the launch, and with `c`, of which `records` is given, as the last; both are to
 * be released, also with `*why`, which says why it cannot run.
 */
cl_kernel ocl_twin_kernel(struct ocl_twin *t, const struct ocl_launch *l, struct ocl_counts *c,
			  const char **why);
/* Runs it; NULL: it has run. `*taken`: it is in the queue, and no more to be put there. */
const char *ocl_twin_enqueue(cl_kernel twin, const struct ocl_launch *l, bool as_program,
			     bool *taken);

/* Before each run. */
bool ocl_counts_clear(struct ocl_counts *c, cl_command_queue queue, struct ocl_groups groups);
/* How many accesses there were, also beyond the room for them; UINT64_MAX: it cannot be read. */
uint64_t ocl_counts_recorded(struct ocl_counts *c, cl_command_queue queue);
/* The first of the records. */
bool ocl_counts_records(const struct ocl_counts *c, cl_command_queue queue, kymo_access_t *out,
			size_t count);
void ocl_counts_release(struct ocl_counts *c);

/* Groups of the launch, and work items of one; 0: the runtime chooses their size. */
size_t ocl_launch_groups(const struct ocl_launch *l);
size_t ocl_launch_group(const struct ocl_launch *l);

/*
 * Runs a twin that records accesses, of which there are so many, as often as its records need, and gives them to the handlers. It has run, so that its places are defined. What the kernel may write is put back before each run, not after the
 * last. NULL: done; else why not, which lives for ever.
 */
const char *ocl_accesses_run(struct ocl_twin *t, const struct cap_launch *launch,
			     const struct ocl_launch *l, const struct ocl_kept *kept,
			     uint64_t accesses);

/* Work items of a group run one after the other on one thread of the host: nobody else writes into the group's slot. */
bool ocl_one_by_one(cl_device_id device);
/* Kernels can read a clock of the device's (cl_khr_kernel_clock). */
bool ocl_device_has_clock(cl_device_id device);
/* Its clocks are ticks of the host's processor. */
bool ocl_twin_ticks(const struct ocl_twin *t);

/* A launch that is not instrumented. `why` lives for ever. */
void ocl_not_instrumented(cl_kernel kernel, const char *why);
/* One whose accesses are not recorded, though its lines may be counted. */
void ocl_accesses_not_recorded(cl_kernel kernel, const char *why);
/* One that has copied as a group. */
void ocl_copies_not_recorded(cl_kernel kernel);

/* Notes of what was since the last such notes. */
void ocl_instrument_tell(void);
void ocl_instrument_fork_child(void);

#endif
