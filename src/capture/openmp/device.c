/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP's devices as agents, and the records of what is done on them. A runtime that puts work on the
 * processor does it while the callbacks' begin and end bracket it, so these are its times. For any
 * other device they are not: its records say that OpenMP reported no time, and the vendor's own
 * backend has it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "capture/openmp/openmp.h"
#include "core/activity/activity.h"
#include "core/activity/lifetime.h"
#include "core/tally/count.h"

#define DEVICES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device {
	_Atomic uint32_t agent; /* 0: not defined */
	bool processor;
} devices[DEVICES];
static uint32_t clock_id;

/* ---- the clock of work on the processor: nanoseconds of CLOCK_MONOTONIC_RAW ---- */

bool omp_device_any(void)
{
	for (unsigned i = 0; i < DEVICES; i++)
		if (atomic_load(&devices[i].agent))
			return true;
	return false;
}

void omp_device_flush(void)
{
	if (clock_id)
		cap_host_clock_sync(clock_id);
}

/* Ticks to that clock: from the moment to now is short, so a rough rate does. */
static uint64_t clock_at(uint64_t tick)
{
	uint64_t now = tick_now();

	return clock_ns(CLOCK_MONOTONIC_RAW) - omp_ns(now - tick);
}

/* ---- agents ---- */

static bool is_processor(const char *type)
{
	return type &&
	       (strstr(type, "x86_64") || strstr(type, "aarch64") || strstr(type, "ppc64") ||
		strstr(type, "s390x") || strstr(type, "host") || strstr(type, "generic-64"));
}

static void define_device(struct device *x, int number, const char *type)
{
	uint32_t id = cap_new_id(DEF_AGENT);
	struct wire_def d;
	char name[96];

	x->processor = is_processor(type);
	if (x->processor && !clock_id)
		clock_id = cap_host_clock_define("OpenMP on the processor");
	snprintf(name, sizeof(name), "OpenMP device %d%s%.64s", number, type ? ", " : "",
		 type ? type : "");
	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, id);
	wire_def_string(&d, x->processor ? "cpu" : "accelerator");
	wire_def_string(&d, name);
	wire_def_string(&d, "");
	wire_def_string(&d, "");
	wire_def_string(&d, "openmp");
	wire_def_u64(&d, (uint64_t)(int64_t)number);
	wire_def_u64(&d, 0);
	wire_def_string(&d, "{}");
	wire_def_u64(&d, x->processor ? clock_id : 0);
	wire_def_bytes(&d, "", 0);
	wire_def_string(&d, "OpenMP");
	cap_define(&d);
	atomic_store(&x->agent, id);
}

/* NULL: not one that was initialized, so the host. */
static struct device *device_of(int number)
{
	struct device *x = number >= 0 && number < DEVICES ? &devices[number] : NULL;

	return x && atomic_load(&x->agent) ? x : NULL;
}

void omp_device_define(int number, const char *type, const char *documentation)
{
	if (number < 0 || number >= DEVICES)
		return;
	pthread_mutex_lock(&lock);
	if (!atomic_load(&devices[number].agent))
		define_device(&devices[number], number, type);
	pthread_mutex_unlock(&lock);
}

static uint32_t agent_of(const struct device *x)
{
	return x ? atomic_load(&x->agent) : 0;
}

/* ---- kernels ---- */

#define KERNELS 1024u
static struct {
	const void *_Atomic code;
	_Atomic uint32_t id;
} kernels[KERNELS];

/* OMPT names no kernels: one is told from another by where its region is in the program. */
static uint32_t kernel_define(const void *code)
{
	uint32_t id = cap_new_id(DEF_KERNEL);
	struct wire_def d;
	char name[192];
	Dl_info info;

	if (code && dladdr(code, &info) && info.dli_fname) {
		const char *base = info.dli_sname ? info.dli_saddr : info.dli_fbase;
		const char *of = info.dli_sname ? info.dli_sname : strrchr(info.dli_fname, '/');

		of = !of ? info.dli_fname : of + (*of == '/');
		snprintf(name, sizeof(name), "target@%.128s+0x%zx", of,
			 (size_t)((const char *)code - base));
	} else {
		snprintf(name, sizeof(name), "target@%p", code);
	}
	wire_def_init(&d, DEF_KERNEL);
	wire_def_u64(&d, id);
	wire_def_string(&d, "openmp");
	wire_def_string(&d, name);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, (uint64_t)(uintptr_t)code);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
	return id;
}

static uint32_t kernel_of(const void *code)
{
	unsigned first = (unsigned)(((uintptr_t)code * 0x9e3779b97f4a7c15ull) >> 54) % KERNELS;
	uint32_t id = 0;

	for (unsigned n = 0; n < KERNELS && !id; n++) {
		unsigned i = (first + n) % KERNELS;

		id = atomic_load(&kernels[i].code) == code ? atomic_load(&kernels[i].id) : 0;
		if (id || atomic_load(&kernels[i].id))
			continue;
		pthread_mutex_lock(&lock);
		if (!atomic_load(&kernels[i].id)) {
			atomic_store(&kernels[i].code, code);
			atomic_store(&kernels[i].id, kernel_define(code));
		}
		id = atomic_load(&kernels[i].code) == code ? atomic_load(&kernels[i].id) : 0;
		pthread_mutex_unlock(&lock);
	}
	return id;
}

/* ---- records ---- */

static bool count_dispatch(const struct cap_submission *o, const struct device *x, uint32_t kernel,
			   bool timed, uint64_t duration)
{
	const struct cap_counted c =
		cap_counted_kernel(agent_of(x), 0, kernel, duration, 0, !timed);

	return cap_count(o, &core_dispatch_ops[DISPATCH_OP_KERNEL], &c);
}

static bool count_copy(const struct cap_submission *o, unsigned op, const struct device *source,
		       const struct device *destination, bool timed, uint64_t bytes,
		       uint64_t duration)
{
	const struct cap_counted c = {
		.kind = WIRE_TALLY_COPY,
		.untimed = !timed,
		.key = {[WIRE_KEY_COPY_SOURCE_AGENT] = agent_of(source),
			[WIRE_KEY_COPY_DESTINATION_AGENT] = agent_of(destination),
			[WIRE_KEY_COPY_KINDS] = cap_counted_kinds(
				source ? MEMORY_DEVICE : MEMORY_HOST_PAGEABLE,
				destination ? MEMORY_DEVICE : MEMORY_HOST_PAGEABLE)},
		.bytes = bytes,
		.duration = duration};

	return cap_count(o, &core_copy_ops[op], &c);
}

void omp_device_dispatch(int number, uint64_t correlation, const void *code, uint64_t teams,
			 uint64_t begin, uint64_t end)
{
	const struct device *x = device_of(number);
	bool timed = x && x->processor;
	uint32_t kernel = cap_wants(CAP_ACTIVITY_DISPATCH) ? kernel_of(code) : 0;
	uint64_t start = timed ? clock_at(begin) : 0, duration = timed ? omp_ns(end - begin) : 0;
	struct cap_submission o;
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_submission_take(&o, NULL, &core_dispatch_ops[DISPATCH_OP_KERNEL], NULL))
		return;
	if (!timed)
		cap_count_untimed();
	if (cap_counts(&o) && count_dispatch(&o, x, kernel, start != 0, duration))
		return;
	if (!cap_activity_begin(&f, &e, &core_dispatch_ops[DISPATCH_OP_KERNEL], &o, end, end,
				DISPATCH_FIELDS)) {
		cap_submission_end(&o);
		return;
	}
	wire_unsigned(&e, DISPATCH_CORRELATION, correlation);
	wire_unsigned(&e, DISPATCH_AGENT, agent_of(x));
	wire_unsigned(&e, DISPATCH_KERNEL, kernel);
	wire_unsigned(&e, DISPATCH_START, start);
	wire_unsigned(&e, DISPATCH_DURATION, duration);
	wire_unsigned(&e, DISPATCH_DIMS, 1);
	wire_unsigned(&e, DISPATCH_GLOBAL_X, teams);
	wire_unsigned(&e, DISPATCH_LOCAL_X, teams ? 1 : 0);
	wire_unsigned(&e, DISPATCH_UNTIMED, timed ? UNTIMED_NO : UNTIMED_NOT_REPORTED);
	wire_unsigned(&e, DISPATCH_SUBMIT_TICK, begin);
	cap_activity_commit(&f, &e);
	cap_submission_end(&o);
}

void omp_device_copy(int from, int to, uint64_t bytes, bool waited, uint64_t correlation,
		     uint64_t begin, uint64_t end)
{
	const struct device *source = device_of(from), *destination = device_of(to);
	const struct device *x = destination ? destination : source;
	unsigned op = !source && destination   ? COPY_OP_WRITE
		      : source && !destination ? COPY_OP_READ
					       : COPY_OP_COPY;
	bool timed = x && x->processor;
	uint64_t start = timed ? clock_at(begin) : 0, duration = timed ? omp_ns(end - begin) : 0;
	struct cap_submission o;
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_submission_take(&o, NULL, &core_copy_ops[op], NULL))
		return;
	if (!timed)
		cap_count_untimed();
	if (cap_counts(&o) && count_copy(&o, op, source, destination, start != 0, bytes, duration))
		return;
	if (!cap_activity_begin(&f, &e, &core_copy_ops[op], &o, end, end, COPY_FIELDS)) {
		cap_submission_end(&o);
		return;
	}
	wire_unsigned(&e, COPY_CORRELATION, correlation);
	wire_unsigned(&e, COPY_SOURCE_AGENT, agent_of(source));
	wire_unsigned(&e, COPY_DESTINATION_AGENT, agent_of(destination));
	wire_unsigned(&e, COPY_BYTES, bytes);
	wire_unsigned(&e, COPY_SOURCE_KIND, source ? MEMORY_DEVICE : MEMORY_HOST_PAGEABLE);
	wire_unsigned(&e, COPY_DESTINATION_KIND,
		      destination ? MEMORY_DEVICE : MEMORY_HOST_PAGEABLE);
	wire_unsigned(&e, COPY_START, start);
	wire_unsigned(&e, COPY_DURATION, duration);
	wire_unsigned(&e, COPY_BLOCKING, waited);
	wire_unsigned(&e, COPY_UNTIMED, timed ? UNTIMED_NO : UNTIMED_NOT_REPORTED);
	wire_unsigned(&e, COPY_SUBMIT_TICK, begin);
	cap_activity_commit(&f, &e);
	cap_submission_end(&o);
}

/* For frees: OpenMP does not tell how much it frees. By address and device. */
static struct cap_lifetimes blocks = CAP_LIFETIMES;

static uint64_t key_of_block(int device, const void *address)
{
	return (uintptr_t)address ^ (uint64_t)(unsigned)device << 56;
}

/* Its begin is known when the call is over. */
static uint64_t block_begins(uint64_t key, uint64_t bytes)
{
	const struct cap_memory m = {
		.bytes = bytes, .id = cap_new_allocation(), .born = tick_now()};

	cap_lifetime_begin(&blocks, key, &m);
	return m.id;
}

void omp_device_memory(bool allocated, int device, const void *address, uint64_t bytes,
		       uint64_t correlation, uint64_t begin)
{
	const struct device *x = device_of(device);
	const uint64_t key = key_of_block(device, address);
	unsigned op = allocated ? ALLOCATION_OP_ALLOCATE : ALLOCATION_OP_FREE;
	struct cap_allocation a = {.address = (uintptr_t)address,
				   .bytes = bytes,
				   .agent = agent_of(x),
				   .kind = MEMORY_DEVICE,
				   .what = ALLOCATION_BUFFER};
	struct cap_memory m;

	if (!cap_wants(CAP_ACTIVITY_ALLOCATION) || !address)
		return;
	if (allocated) {
		a.id = block_begins(key, bytes);
	} else if (cap_lifetime_end(&blocks, key, begin, &m)) { /* else: nobody saw it begin */
		a.id = m.id;
		a.bytes = m.bytes;
	}
	cap_allocation_record(NULL, correlation, op, &a);
}

void omp_device_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	cap_lifetimes_drop(&blocks);
}
