/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device clocks: what readers need to place device times on the host's time line. Where the device
 * offers clGetDeviceAndHostTimer, its clock is sampled between two ticks; elsewhere the time at
 * which the runtime says that a command was queued lies between the begin and the end of the call
 * that queued it. Of the latter the tightest of each interval is published, and each that is much
 * tighter than what is known at once: whatever ends the process next, readers have it.
 */
#include "capture/opencl/backend.h"

#include <pthread.h>
#include <stdlib.h>

struct bound {
	uint64_t before, after, value; /* after 0: none */
};

struct ocl_clock {
	struct ocl_clock *next;
	cl_device_id device;
	uint32_t id;
	bool sampled;           /* the device offers the timer; constant */
	_Atomic uint64_t due;   /* tick of the next sample or publication */
	_Atomic uint64_t width; /* of `best`, UINT64_MAX if there is none */
	_Atomic uint64_t known; /* width of the tightest that was published; 0: none */
	pthread_mutex_t lock;
	struct bound best; /* since the last publication */
};

static struct ocl_clock *_Atomic clocks;

enum { METHOD_SAMPLE = 1, METHOD_BOUNDS = 2 };

static void sync_define(const struct ocl_clock *c, const struct bound *b, unsigned method)
{
	struct wire_def d;

	wire_def_init(&d, DEF_CLOCK_SYNC);
	wire_def_u64(&d, c->id);
	wire_def_u64(&d, b->before);
	wire_def_u64(&d, b->after);
	wire_def_u64(&d, b->value);
	wire_def_u64(&d, method);
	cap_define(&d);
}

/* The tightest of a few readings. */
static bool sample(cl_device_id device, struct bound *out)
{
	*out = (struct bound){0, 0, 0};
	for (int i = 0; i < 3; i++) {
		cl_ulong on_device = 0, on_host = 0;
		uint64_t before = tick_now(), after;

		if (!ocl_next.clGetDeviceAndHostTimer ||
		    ocl_next.clGetDeviceAndHostTimer(device, &on_device, &on_host) != CL_SUCCESS ||
		    on_device == 0)
			return false;
		after = tick_now();
		if (!out->after || after - before < out->after - out->before)
			*out = (struct bound){before, after, on_device};
	}
	return true;
}

static void clock_define(const struct ocl_clock *c, const char *name)
{
	struct wire_def d;

	wire_def_init(&d, DEF_CLOCK);
	wire_def_u64(&d, c->id);
	wire_def_string(&d, name);
	wire_def_string(&d, "device");
	wire_def_u64(&d, 1000); /* OpenCL counts nanoseconds */
	cap_define(&d);
}

struct ocl_clock *ocl_clock_new(cl_device_id device, const char *name)
{
	struct ocl_clock *c = calloc(1, sizeof(*c));
	struct bound b;

	if (!c)
		return NULL;
	c->id = cap_new_id(DEF_CLOCK);
	c->device = device;
	c->width = UINT64_MAX;
	pthread_mutex_init(&c->lock, NULL);
	clock_define(c, name);
	c->sampled = sample(device, &b);
	if (c->sampled) {
		sync_define(c, &b, METHOD_SAMPLE);
		c->due = b.after + 100 * ocl_ticks_10ms;
	}
	c->next = atomic_load(&clocks);
	while (!atomic_compare_exchange_weak(&clocks, &c->next, c))
		;
	return c;
}

uint32_t ocl_clock_id(const struct ocl_clock *clock)
{
	return clock ? clock->id : 0;
}

/* One thread is let through each time `interval` ticks have passed. */
static bool due(struct ocl_clock *c, uint64_t now, uint64_t interval)
{
	uint64_t at = atomic_load_explicit(&c->due, memory_order_relaxed);

	return now >= at && atomic_compare_exchange_strong(&c->due, &at, now + interval);
}

static void publish_clock(struct ocl_clock *c)
{
	struct bound b;

	pthread_mutex_lock(&c->lock);
	b = c->best;
	c->best = (struct bound){0, 0, 0};
	atomic_store_explicit(&c->width, UINT64_MAX, memory_order_relaxed);
	pthread_mutex_unlock(&c->lock);
	if (b.after)
		sync_define(c, &b, METHOD_BOUNDS);
}

/* One thread is let through for each width. */
static bool much_tighter(struct ocl_clock *c, uint64_t width)
{
	uint64_t known = atomic_load_explicit(&c->known, memory_order_relaxed);

	return (!known || width < known / 2) &&
	       atomic_compare_exchange_strong(&c->known, &known, width ? width : 1);
}

OCL_HOT void ocl_clock_bound(struct ocl_clock *c, uint64_t before, uint64_t after, uint64_t value,
			     uint64_t last, uint64_t now)
{
	uint64_t width = after - before;

	if (c->sampled) {
		struct bound b;

		if (due(c, now, 100 * ocl_ticks_10ms) && sample(c->device, &b))
			sync_define(c, &b, METHOD_SAMPLE);
		return;
	}
	if (value && width < atomic_load_explicit(&c->width, memory_order_relaxed)) {
		pthread_mutex_lock(&c->lock);
		c->best = (struct bound){before, after, value};
		atomic_store_explicit(&c->width, width, memory_order_relaxed);
		pthread_mutex_unlock(&c->lock);
	}
	/* At most four a second; besides, each halves what is known, so they are few. */
	if (due(c, last, OCL_BOUND_TICKS) || (value && much_tighter(c, width)))
		publish_clock(c);
}

void ocl_clocks_flush(bool last)
{
	for (struct ocl_clock *c = atomic_load(&clocks); c; c = c->next) {
		struct bound b;

		if (!c->sampled)
			publish_clock(c);
		else if (last && sample(c->device, &b))
			sync_define(c, &b, METHOD_SAMPLE);
	}
}

void ocl_clocks_fork_child(void)
{
	atomic_store(&clocks, NULL);
}
