/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heart of the heat example: which commands a frame consists of, and when the host waits.
 *
 * The three schedules send the same commands. They differ in two things only: whether kernels and
 * transfers go to one queue or to several (device.c made the queues), and how long the host waits
 * before it sends more.
 */
#include "heat.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* A profiler sees the host idle here, and the device idle from here to the next command. */
static void after_command(const struct solver *s)
{
	if (s->options.schedule == SCHEDULE_GAPS)
		check(clFinish(s->compute), "clFinish");
}

static void set_arg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	check(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
}

static void start_kernel(const struct solver *s, cl_command_queue queue, cl_kernel kernel,
			 cl_uint dimensions, cl_event wait_for, cl_event *done)
{
	const size_t global[2] = {(size_t)s->options.size, (size_t)s->options.size};

	check(clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, NULL,
				     wait_for ? 1 : 0, wait_for ? &wait_for : NULL, done),
	      "clEnqueueNDRangeKernel");
	after_command(s);
}

static void start_init(const struct solver *s)
{
	set_arg(s->init, 0, sizeof(cl_mem), &s->plate[s->current]);
	set_arg(s->init, 1, sizeof(cl_int), &s->options.size);
	start_kernel(s, s->compute, s->init, 2, NULL, NULL);
}

static void start_step(struct solver *s, int step)
{
	cl_mem from = s->plate[s->current];
	cl_mem to = s->plate[!s->current];
	float heater = heater_at(step);

	set_arg(s->advance, 0, sizeof(cl_mem), &from);
	set_arg(s->advance, 1, sizeof(cl_mem), &to);
	set_arg(s->advance, 2, sizeof(cl_int), &s->options.size);
	set_arg(s->advance, 3, sizeof(cl_float), &s->options.rate);
	start_kernel(s, s->compute, s->advance, 2, NULL, NULL);

	set_arg(s->border, 0, sizeof(cl_mem), &to);
	set_arg(s->border, 1, sizeof(cl_int), &s->options.size);
	set_arg(s->border, 2, sizeof(cl_float), &heater);
	start_kernel(s, s->compute, s->border, 1, NULL, NULL);

	s->current = !s->current;
}

/* Sets the state aside, so that the next steps may change it while the frame is still in use. */
static cl_event start_snapshot(const struct solver *s, int slot)
{
	size_t size = sizeof(cl_float) * (size_t)s->options.size * (size_t)s->options.size;
	cl_event done;

	check(clEnqueueCopyBuffer(s->compute, s->plate[s->current], s->frame[slot], 0, 0, size, 0,
				  NULL, &done),
	      "clEnqueueCopyBuffer");
	after_command(s);
	return done;
}

static void start_measuring(struct solver *s, int slot, cl_event snapshot)
{
	size_t size = sizeof(cl_float2) * (size_t)s->options.size;

	set_arg(s->measure, 0, sizeof(cl_mem), &s->frame[slot]);
	set_arg(s->measure, 1, sizeof(cl_int), &s->options.size);
	set_arg(s->measure, 2, sizeof(cl_mem), &s->rows[slot]);
	start_kernel(s, s->measuring, s->measure, 1, snapshot, NULL);
	check(clEnqueueReadBuffer(s->measuring, s->rows[slot], CL_FALSE, 0, size,
				  s->host_rows[slot], 0, NULL, &s->rows_read[slot]),
	      "clEnqueueReadBuffer");
	after_command(s);
}

static void start_transfer(struct solver *s, int slot, cl_event snapshot)
{
	size_t size = sizeof(cl_float) * (size_t)s->options.size * (size_t)s->options.size;

	check(clEnqueueReadBuffer(s->transfer, s->frame[slot], CL_FALSE, 0, size,
				  s->host_frame[slot], 1, &snapshot, &s->frame_read[slot]),
	      "clEnqueueReadBuffer");
	after_command(s);
}

/* Sends everything that frame number `frame` needs. Its slot must not be in use any more. */
static void start_frame(struct solver *s, int frame)
{
	int slot = frame % SLOTS;
	cl_event snapshot;

	for (int i = 0; i < s->options.steps; i++)
		start_step(s, frame * s->options.steps + i);
	snapshot = start_snapshot(s, slot);
	check(clFlush(s->compute), "clFlush");
	start_transfer(s, slot, snapshot);
	start_measuring(s, slot, snapshot);
	check(clFlush(s->transfer), "clFlush");
	check(clFlush(s->measuring), "clFlush");
	clReleaseEvent(snapshot);
}

static struct frame_facts sum_up(const cl_float2 *rows, int n)
{
	struct frame_facts facts = {.sum = 0.0, .hottest = -FLT_MAX};

	for (int i = 0; i < n; i++) {
		facts.sum += rows[i].s[0];
		facts.hottest = fmaxf(facts.hottest, rows[i].s[1]);
	}
	return facts;
}

/*
 * The device adds up each row in single precision: n additions of numbers that are not negative,
 * each off by at most half an ulp of the row's sum. Finding the maximum rounds nothing.
 */
static bool facts_agree(struct frame_facts device, struct frame_facts host, int n)
{
	return fabs(device.sum - host.sum) <= n * (FLT_EPSILON / 2) * host.sum &&
	       device.hottest == host.hottest;
}

/* Waits for a frame and looks at it: the host's share of the work. */
static bool finish_frame(struct solver *s, int frame, struct frame_facts *measured)
{
	int slot = frame % SLOTS;
	cl_event events[2] = {s->frame_read[slot], s->rows_read[slot]};
	int n = s->options.size;

	check(clWaitForEvents(2, events), "clWaitForEvents");
	clReleaseEvent(events[0]);
	clReleaseEvent(events[1]);
	*measured = sum_up(s->host_rows[slot], n);
	if (facts_agree(*measured, frame_facts(s->host_frame[slot], n), n))
		return true;
	fprintf(stderr, "heat: frame %d is not what the device measured\n", frame);
	return false;
}

bool run_schedule(struct solver *s, struct frame_facts *facts)
{
	int ahead = s->options.schedule == SCHEDULE_GAPS ? 0 : SLOTS - 1;
	int frames = s->options.frames;
	bool right = true;

	start_init(s);
	for (int i = 0; i < frames + ahead; i++) {
		if (i < frames)
			start_frame(s, i);
		if (i >= ahead)
			right &= finish_frame(s, i - ahead, &facts[i - ahead]);
	}
	return right;
}
