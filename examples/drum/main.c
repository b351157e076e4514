/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a drum vibrates, on everything that a node has. The membrane is cut into strips, one for each
 * MPI rank; of a strip the upper part is computed by an OpenCL device and the lower part, meanwhile,
 * by the host's threads with OpenMP. After each step parts and ranks swap the rows at their edges.
 * Ranges (kymo/marker.h) say what is going on. At the end the result is compared with the formula
 * of the vibration.
 *
 *   mpirun -n 2 kymo run drum        (size and steps may follow)
 */
#include "drum.h"

#include <float.h>
#include <kymo/marker.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LISTEN_EVERY = 50 };

struct drum {
	int rank, ranks;
	int size, steps;          /* points along a side, rim not counted */
	int first;                /* row of the membrane that is this strip's first */
	struct part device, host; /* the upper and the lower part */
	float *above;             /* the row above the strip */
};

static kymo_string_t step_name = KYMO_STRING("step");

/* Cosine of the vibration's phase: the scheme turns by the same angle in each step. */
static double amplitude(const struct drum *d, int step)
{
	double s = sin(acos(-1) / (d->size + 1) / 2);

	return cos(step * 2 * asin(s * sqrt(2.0 * (double)RATE)));
}

static float *make_points(const struct drum *d, const struct part *p, int first, int step)
{
	float *points = calloc((size_t)(p->rows + 2) * (size_t)p->width, sizeof(*points));
	const double angle = acos(-1) / (d->size + 1);

	if (!points) {
		fprintf(stderr, "drum: out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (int y = 0; y <= p->rows + 1; y++)
		for (int x = 1; x <= d->size; x++)
			row(points, p, y)[x] = (float)(amplitude(d, step) * sin(angle * x) *
						       sin(angle * (first + y - 1)));
	return points;
}

static void make_part(const struct drum *d, struct part *p, int first, int rows)
{
	p->width = d->size + 2;
	p->rows = rows;
	p->now = make_points(d, p, first, 0);
	p->next = make_points(d, p, first, -1);
}

static void setup(struct drum *d)
{
	int rows = d->size / d->ranks + (d->rank < d->size % d->ranks);
	int before = d->size / d->ranks * d->rank;

	before += d->rank < d->size % d->ranks ? d->rank : d->size % d->ranks;
	kymo_range_push("setup");
	d->first = before + 1;
	make_part(d, &d->device, d->first, rows * 3 / 4);
	make_part(d, &d->host, d->first + d->device.rows, rows - d->device.rows);
	d->above = calloc((size_t)d->device.width, sizeof(*d->above));
	if (!d->above)
		MPI_Abort(MPI_COMM_WORLD, 1);
	device_setup(&d->device, d->rank);
	kymo_range_pop();
}

/* The edges of the strip, with the ranks above and below; nobody is beyond the membrane. */
static void exchange(struct drum *d)
{
	const int up = d->rank > 0 ? d->rank - 1 : MPI_PROC_NULL;
	const int down = d->rank < d->ranks - 1 ? d->rank + 1 : MPI_PROC_NULL;
	const int n = d->host.width, rows = d->host.rows;
	MPI_Request r[4];

	kymo_range_push("exchange");
	MPI_Irecv(d->above, n, MPI_FLOAT, up, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(row(d->host.next, &d->host, rows + 1), n, MPI_FLOAT, down, 1, MPI_COMM_WORLD,
		  &r[1]);
	MPI_Isend(row(d->device.next, &d->device, 1), n, MPI_FLOAT, up, 1, MPI_COMM_WORLD, &r[2]);
	MPI_Isend(row(d->host.next, &d->host, rows), n, MPI_FLOAT, down, 0, MPI_COMM_WORLD, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	kymo_range_pop();
}

static void swap(struct part *p)
{
	float *now = p->now;

	p->now = p->next;
	p->next = now;
}

static void step(struct drum *d, int number)
{
	kymo_payload_t payload = kymo_int64("number", number);
	kymo_marker_t m = {
		.size = sizeof(m), .string = &step_name, .payload = &payload, .payload_count = 1};

	kymo_range_push_full(&m);
	device_vibrate(&d->device, row(d->host.next, &d->host, 0));
	host_vibrate(&d->host);
	device_wait();
	exchange(d);
	device_surround(&d->device, d->above, row(d->host.next, &d->host, 1));
	swap(&d->device);
	swap(&d->host);
	kymo_range_pop();
}

/* A drum that is louder than it was struck has gone wrong: no need to go on. */
static void listen(struct drum *d)
{
	double mine, largest;

	kymo_range_push("listen");
	mine = host_largest(&d->host);
	MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (!(largest < 1.5)) {
		fprintf(stderr, "drum: displaced by %g, struck by 1\n", largest);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	kymo_range_pop();
}

/*
 * A step rounds seven times, values are about 1, and an error once made grows at most linearly with
 * the steps that follow it.
 */
static double allowed_error(const struct drum *d)
{
	return 7.0 * (double)FLT_EPSILON * d->steps * d->steps / 2;
}

static int result_is_right(struct drum *d)
{
	const double now = amplitude(d, d->steps);
	double mine, error, on_device;

	kymo_range_push("check");
	device_read(&d->device);
	on_device = host_error(&d->device, d->first, d->size, now);
	mine = host_error(&d->host, d->first + d->device.rows, d->size, now);
	mine = on_device > mine ? on_device : mine;
	MPI_Allreduce(&mine, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	kymo_range_pop();
	if (d->rank == 0)
		printf("error       %.1e from the formula, %.1e allowed: %s\n", error,
		       allowed_error(d), error <= allowed_error(d) ? "correct" : "WRONG");
	return error <= allowed_error(d);
}

static void release(struct drum *d)
{
	device_release();
	free(d->device.now);
	free(d->device.next);
	free(d->host.now);
	free(d->host.next);
	free(d->above);
}

static void read_arguments(struct drum *d, int argc, char **argv)
{
	d->size = argc > 1 ? atoi(argv[1]) : 510;
	d->steps = argc > 2 ? atoi(argv[2]) : 200;
	if (d->size >= 4 * d->ranks && d->size <= 16384 && d->steps > 0)
		return;
	if (d->rank == 0)
		fprintf(stderr,
			"usage: drum [SIZE [STEPS]]: 4 rows a rank at least, 16384 at most\n");
	MPI_Finalize();
	exit(2);
}

int main(int argc, char **argv)
{
	struct drum d = {0};
	double start;
	int level, right;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &d.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &d.ranks);
	read_arguments(&d, argc, argv);
	setup(&d);
	start = MPI_Wtime();
	for (int i = 1; i <= d.steps; i++) {
		step(&d, i);
		if (i % LISTEN_EVERY == 0)
			listen(&d);
	}
	if (d.rank == 0) {
		printf("drum        %d x %d points, %d steps; %d ranks of %d threads\n", d.size,
		       d.size, d.steps, d.ranks, host_threads());
		printf("device      %s\n", device_name());
		printf("time        %.3f s\n", MPI_Wtime() - start);
	}
	right = result_is_right(&d);
	release(&d);
	MPI_Finalize();
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
