/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat: how heat spreads over a plate, computed with OpenCL.
 *
 * A small application that is built like large ones are: several kernels, several queues, and
 * results that travel to the host in double-buffered frames while the device computes on. The
 * same work can be scheduled badly or well (--schedule), which is what a profile of it shows.
 *
 * The program checks itself: the last frame is compared with a computation on the host, and every
 * frame that arrives with what the device measured on it. It exits with 1 if they differ.
 */
#include "heat.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_times(const struct options *o, double elapsed)
{
	double cells = (double)o->size * o->size * o->frames * o->steps;

	printf("schedule    %s: %d x %d cells, %d frames of %d steps\n", schedule_name(o->schedule),
	       o->size, o->size, o->frames, o->steps);
	printf("time        %.3f s, %.0f million cells a second\n", elapsed,
	       1e-6 * cells / elapsed);
}

/* Compares the last frame with the host's solution and says how far apart they are. */
static bool last_frame_is_right(const struct solver *s)
{
	const struct options *o = &s->options;
	const float *last = s->host_frame[(o->frames - 1) % SLOTS];
	float *expected = host_solution(o);
	float difference = largest_difference(last, expected, o->size);
	bool right = difference <= allowed_difference(o);

	printf("difference  %.2g from the host's solution, %.2g allowed: %s\n", difference,
	       allowed_difference(o), right ? "correct" : "WRONG");
	free(expected);
	return right;
}

int main(int argc, char **argv)
{
	struct options options = parse_options(argc, argv);
	struct frame_facts *facts = calloc((size_t)options.frames, sizeof(*facts));
	struct solver solver;
	bool right;

	if (!facts) {
		fprintf(stderr, "heat: out of memory\n");
		return EXIT_FAILURE;
	}
	solver_init(&solver, &options);
	print_device(&solver);

	double start = seconds();

	right = run_schedule(&solver, facts);
	print_times(&options, seconds() - start);
	printf("plate       %.4f on average, %.4f at its hottest\n",
	       facts[options.frames - 1].sum / ((double)options.size * options.size),
	       facts[options.frames - 1].hottest);

	right = last_frame_is_right(&solver) && right;
	solver_release(&solver);
	free(facts);
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
