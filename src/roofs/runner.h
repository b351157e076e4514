/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device through its runtime, as far as microkernels need one: OpenCL or CUDA, both found with dlopen().
 *
 * Every kernel is called "roof" and takes (double *a, double *b, unsigned long n, unsigned passes); kernels.h writes
 * them. Functions return false with the reason in `why`; a runner is good for other kernels afterwards, unless `dead`.
 */
#ifndef ROOFS_RUNNER_H
#define ROOFS_RUNNER_H

#include "roofs/roofs.h"

enum runner_language { RUNNER_OPENCL, RUNNER_CUDA };
enum runner_type { RUNNER_FP64, RUNNER_FP32, RUNNER_FP16, RUNNER_INT32, RUNNER_TYPES };
enum runner_buffer { RUNNER_A, RUNNER_B, RUNNER_BUFFERS };

struct runner;

struct runner_launch {
	void *kernel;           /* of build() */
	uint64_t groups, items; /* work items of a group */
	uint64_t n;
	uint32_t passes;
};

struct runner_functions {
	bool (*open)(struct runner *r, char why[ROOF_WHY]);
	/* Everything that open() and those below made. */
	void (*close)(struct runner *r);
	/* NULL: it does not build. */
	void *(*build)(struct runner *r, const char *source, char why[ROOF_WHY]);
	void (*forget)(struct runner *r, void *kernel);
	/* Both buffers of that many bytes, in place of those before. */
	bool (*reserve)(struct runner *r, uint64_t bytes, char why[ROOF_WHY]);
	bool (*put)(struct runner *r, enum runner_buffer to, uint64_t at, const void *from,
		    uint64_t bytes, char why[ROOF_WHY]);
	bool (*get)(struct runner *r, enum runner_buffer from, uint64_t at, void *to,
		    uint64_t bytes, char why[ROOF_WHY]);
	/* Runs it to its end; `seconds` that the device took, and that all took the host. */
	bool (*launch)(struct runner *r, const struct runner_launch *l, double *seconds,
		       double *host, char why[ROOF_WHY]);
	/* `count` of them one after the other, then waits once. */
	bool (*launch_many)(struct runner *r, const struct runner_launch *l, unsigned count,
			    double *host, char why[ROOF_WHY]);
	/* Memory of the host: `pinned` as the runtime gives it out. NULL: there is none. */
	void *(*host_new)(struct runner *r, bool pinned, uint64_t bytes, char why[ROOF_WHY]);
	void (*host_free)(struct runner *r, bool pinned, void *memory);
	bool (*transfer)(struct runner *r, bool to_device, bool pinned, void *memory,
			 uint64_t bytes, double *seconds, char why[ROOF_WHY]);
};

struct runner {
	const struct runner_functions *f;
	struct roof_device device;
	uint8_t language;             /* enum runner_language */
	bool has[RUNNER_TYPES];       /* it computes with these */
	uint8_t native[RUNNER_TYPES]; /* elements of a vector that it likes best */
	uint32_t group_most;          /* work items of a group */
	uint64_t local_bytes, buffer_most;
	/* Operations a clock of all units together, of one type; 0: not known. Bytes a second of memory; 0: not known. */
	uint32_t ops_per_clock[RUNNER_TYPES];
	double memory_peak;
	uint32_t
		doubtful; /* times of the device that the host's contradict: the host's are taken */
	bool dead;
	void *own; /* the runtime's part */
};

/* The devices of a runtime, more after *count of them. `why`: what hinders, where there are none. */
enum { RUNNERS_MOST = 64 };
void opencl_runners(struct runner *list, unsigned *count, char why[ROOF_WHY]);
void cuda_runners(struct runner *list, unsigned *count, char why[ROOF_WHY]);

/* Seconds that a device tells, if they fit into those of the host around them; else these, which counts as doubtful. */
double runner_seconds(struct runner *r, double told, double host);

#endif
