/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the heat example share: the options, the OpenCL objects, and one function for
 * each part of the program. Read main.c first.
 */
#ifndef HEAT_H
#define HEAT_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

/* Frames in flight: while one is computed, the one before it travels to the host. */
enum { SLOTS = 2 };

enum schedule {
	SCHEDULE_GAPS,    /* the host waits for each command before it sends the next */
	SCHEDULE_SERIAL,  /* one queue: never idle, but a transfer holds up the kernels behind it */
	SCHEDULE_OVERLAP, /* a queue each for kernels, transfers and measuring */
};

struct options {
	enum schedule schedule;
	int size;           /* cells along one side of the plate */
	int frames;         /* pictures of the plate sent to the host */
	int steps;          /* time steps from one frame to the next */
	float rate;         /* conductivity x time step / cell size^2; stable up to 0.25 */
	const char *device; /* part of a device's name, or NULL for the first device */
};

/* What the host knows about a frame. */
struct frame_facts {
	double sum;
	float hottest;
};

struct solver {
	struct options options;
	cl_context context;
	cl_device_id device;
	cl_program program;
	cl_kernel init, advance, border, measure;
	cl_command_queue compute, transfer, measuring; /* the same queue, unless overlapping */
	cl_mem plate[2];                               /* the state before and after a step */
	int current;                                   /* which of the two is the state now */

	/* One set for each frame in flight. The host's side is filled when its event completes. */
	cl_mem frame[SLOTS], rows[SLOTS];
	float *host_frame[SLOTS];
	cl_float2 *host_rows[SLOTS];
	cl_event frame_read[SLOTS], rows_read[SLOTS];
};

/* options.c: exits on --help and on anything that it does not understand. */
struct options parse_options(int argc, char **argv);
const char *schedule_name(enum schedule schedule);

/* device.c: makes and releases everything in a solver; all of it exits on errors. */
void solver_init(struct solver *s, const struct options *options);
void solver_release(struct solver *s);
void print_device(const struct solver *s);
void check(cl_int error, const char *what);

/*
 * schedule.c: computes all frames. `facts` receives what the device measured on each frame. False
 * if that does not agree with what the host finds in the frame it received.
 */
bool run_schedule(struct solver *s, struct frame_facts *facts);

/* host.c: the same computation without OpenCL. */
float heater_at(int step);
struct frame_facts frame_facts(const float *cells, int n);
float *host_solution(const struct options *options); /* to be freed by the caller */
float largest_difference(const float *a, const float *b, int n);
float allowed_difference(const struct options *options);

#endif
