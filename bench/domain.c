/* SPDX-License-Identifier: Apache-2.0 */
/* The made-up runtime; see domain.h. */
#include "core/tally/job.h"
#include "domain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kymo/kymo.h>

#include "base/clock.h"
#include "base/futex.h"
#include "capture/opencl/encode.h"
#include "capture/opencl/thunk.h"
#include "core/activity/activity.h"
#include "core/capture.h"
#include "core/marker/marker.h"
#include "inject/connect.h"
#include "wire/shm.h"

static const kymo_field_t fields[] = {
	{"handle", "handle", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"index", "uint32_t", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0},
	{"size", "size_t", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	{"value", "const void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
};
static const kymo_op_desc_t descs[] = {{"call", fields, 4, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "bench", "Bench", 1, 1, descs};
static struct cap_op ops[1];

/* What callbacks are shown, as in the generated headers. */
struct bench_args {
	size_t struct_size;
	void *handle;
	uint32_t index;
	size_t size;
	const void *value;
	int result;
};

static int wrapper(void *handle, uint32_t index, size_t size, const void *value);

/* Named as the thunks expect it: a library holds the thunks of one backend, or these. */
extern struct cap_slot ocl_slots[1] __attribute__((visibility("hidden")));
struct cap_slot ocl_slots[1] = {{(void *)bench_plain, (void *)wrapper, (void *)bench_plain, 0}};

OCL_THUNK(bench_thunk, 0);

bench_fn bench_traced(void)
{
	return (bench_fn)(uintptr_t)bench_thunk;
}

__attribute__((noinline)) int bench_plain(void *handle, uint32_t index, size_t size,
					  const void *value)
{
	__asm__ volatile("" ::"r"(handle), "r"(index), "r"(size), "r"(value) : "memory");
	return 0;
}

/* A small kernel on the second of two queues. */
static uint64_t activity[DISPATCH_FIELDS] = {
	[DISPATCH_CORRELATION] = 1234567,
	[DISPATCH_AGENT] = 1,
	[DISPATCH_QUEUE] = 2,
	[DISPATCH_KERNEL] = 3,
	[DISPATCH_START] = 1234567890123456789,
	[DISPATCH_DURATION] = 10000,
	[DISPATCH_QUEUED_BEFORE] = 5000,
	[DISPATCH_SUBMITTED_BEFORE] = 3000,
	[DISPATCH_DIMS] = 2,
	[DISPATCH_GLOBAL_X] = 1024,
	[DISPATCH_GLOBAL_Y] = 1024,
	[DISPATCH_GLOBAL_Z] = 1,
	[DISPATCH_LOCAL_X] = 64,
	[DISPATCH_LOCAL_Y] = 4,
	[DISPATCH_LOCAL_Z] = 1,
	[DISPATCH_SUBMIT_TICK] = 123456789012345,
};

static int other(bench_fn next, const void *site, const void *sp, void *handle, uint32_t index,
		 size_t size, const void *value);

/* As those of OpenCL, which are generated: once with the straight path alone, once with all. */
static inline __attribute__((always_inline)) int trace(bench_fn next, const void *site,
						       const void *sp, const bool straight,
						       void *handle, uint32_t index, size_t size,
						       const void *value)
{
	struct bench_args a;
	struct cap_frame *f = ocl_enter(&ops[0], site, sp, straight);
	struct cap_thread *t;
	struct wire_enc e;
	int result;

	if (cap_unlikely(!f && straight && !cap_passes(&ops[0])))
		return other(next, site, sp, handle, index, size, value);
	if (cap_unlikely(!f))
		return next(handle, index, size, value);
	if (!straight && cap_unlikely(f->callbacks)) {
		a = (struct bench_args){sizeof(a), handle, index, size, value, 0};
		cap_callbacks(f, &a, CAP_ENTER);
	}
	result = next(handle, index, size, value);
	t = ocl_leave(f, straight);
	cap_status(f, result, 0);
	if (!straight && cap_unlikely(f->callbacks)) {
		a.result = result;
		cap_callbacks(f, &a, CAP_EXIT);
	}
	if (ocl_begin(t, f, &e, 4, straight)) {
		wire_pointer(&e, 0, handle);
		wire_unsigned(&e, 1, index);
		wire_unsigned(&e, 2, size);
		wire_pointer(&e, 3, value);
		ocl_commit(t, f, &e, straight);
	}
	ocl_done(t, f, straight);
	return result;
}

static __attribute__((noinline)) int other(bench_fn next, const void *site, const void *sp,
					   void *handle, uint32_t index, size_t size,
					   const void *value)
{
	return trace(next, site, sp, false, handle, index, size, value);
}

static int wrapper(void *handle, uint32_t index, size_t size, const void *value)
{
	return trace((bench_fn)ocl_slots[0].next, __builtin_return_address(0), cap_sp(), true,
		     handle, index, size, value);
}

int bench_range(void *handle, uint32_t index, size_t size, const void *value)
{
	marker_push("step");
	return marker_pop(0);
}

int bench_activity(void *handle, uint32_t index, size_t size, const void *value)
{
	uint64_t now = tick_now();
	struct cap_submission o;
	struct cap_frame f;
	struct wire_enc e;

	__asm__ volatile("" ::"r"(activity) : "memory"); /* values are not known to the compiler */
	if (!cap_submission_take(&o, NULL, &core_dispatch_ops[0], NULL))
		return -1;
	if (!cap_activity_begin(&f, &e, &core_dispatch_ops[0], &o, now, now, DISPATCH_FIELDS))
		return -1;
#pragma GCC unroll 32 /* field numbers are constants in backends */
	for (unsigned i = 0; i < DISPATCH_FIELDS; i++)
		wire_unsigned(&e, i, activity[i]);
	cap_activity_commit(&f, &e);
	cap_submission_end(&o);
	return 0;
}

/* ---- a reader that throws away ---- */

static void discard_pass(struct shm_header *h)
{
	struct shm_chunk_ctl *ctl = (struct shm_chunk_ctl *)((uint8_t *)h + h->ctl_offset);
	uint32_t count = atomic_load(&h->chunk_count);

	for (uint32_t i = 0; i < count; i++) {
		if (atomic_load_explicit(&ctl[i].state, memory_order_acquire) != SHM_FULL)
			continue;
		atomic_store(&ctl[i].state, SHM_FREE);
		shm_push(h, ctl, i, ctl[i].list);
		atomic_fetch_add(&h->freed, 1);
	}
}

enum { LOOK_NS = 50000000 };

static void *discard(void *arg)
{
	struct shm_header *h = arg;

	for (;;) {
		uint32_t bell = atomic_load(&h->bell), flush = atomic_load(&h->flush);

		atomic_store(&h->drain_beat, clock_ns(CLOCK_MONOTONIC) / 1000000000u);
		discard_pass(h);
		atomic_store(&h->flushed, flush);
		futex_wake(&h->flushed, FUTEX_ALL);
		futex_wait(&h->bell, bell, LOOK_NS);
	}
	return NULL;
}

static kymo_status_t share_with_nobody(int memfd, uint64_t bytes, void *data)
{
	return KYMO_OK;
}

static kymo_status_t share_discard(int memfd, uint64_t bytes, void *data)
{
	void *h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	pthread_t thread;

	if (h == MAP_FAILED || pthread_create(&thread, NULL, discard, h) != 0)
		return KYMO_ERROR_SYSTEM;
	return KYMO_OK;
}

/* ---- recording ---- */

static const struct cap_domain_info info = {
	.desc = &desc, .ops = ops, .slots = ocl_slots, .slot_count = 1};
static kymo_context_t contexts[8];
static int context_count;
static kymo_buffer_t buffer;
static uint64_t delivered; /* by one thread at a time */

static void deliver(kymo_buffer_t from, const kymo_record_t *r, void *data)
{
	delivered += r->correlation != 0;
}

static void deliver_batch(kymo_buffer_t from, const kymo_batch_t *b, void *data)
{
	for (size_t i = 0; i < b->count; i++)
		delivered += b->records[i].correlation != 0;
}

uint64_t bench_delivered(void)
{
	return delivered;
}

static kymo_status_t (*const readers[])(int, uint64_t, void *) = {
	[BENCH_DISCARD] = share_discard,
	[BENCH_DRAIN] = connect_share,
	[BENCH_NOBODY] = share_with_nobody,
};

/* What a mode leaves out is counted. */
static bool counted(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return domain == &desc;
}

/* All but that. */
static bool others(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return domain != &desc && !(domain->ops[op].flags & KYMO_OP_OBJECT);
}

/* What the recorder records. */
static bool recorded(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return !(domain->ops[op].flags & KYMO_OP_OBJECT);
}

static kymo_status_t make_context(const struct bench_recording *r, kymo_context_t *context)
{
	kymo_selection_t all = {.size = sizeof(all), .select = r->left_out ? others : recorded};
	kymo_selection_t left_out = {.size = sizeof(left_out), .select = counted};
	kymo_buffer_desc_t d = {
		.size = sizeof(d),
		.bytes = r->bytes,
		.tally = r->tally,
		.arguments = r->tally ? KYMO_ARGUMENTS_NONE : KYMO_ARGUMENTS_FULL,
		.share = r->reader < BENCH_PRIVATE ? readers[r->reader] : NULL,
		.deliver = r->reader == BENCH_PRIVATE ? deliver : NULL,
		.deliver_batch = r->reader == BENCH_BATCH ? deliver_batch : NULL,
	};
	kymo_status_t status = kymo_context_create(context);

	if (status == KYMO_OK)
		status = kymo_buffer_create(*context, &d, &buffer);
	if (status == KYMO_OK)
		status = kymo_buffer_service(*context, &all, buffer);
	if (status == KYMO_OK && r->left_out)
		status = kymo_count_service(*context, &left_out);
	return status;
}

static void nothing(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
}

static void read_all(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	const struct bench_args *a = r->args;

	__asm__ volatile("" ::"r"(a->handle), "r"(a->index), "r"(a->size), "r"(a->value),
			 "r"(a->result));
}

bool bench_tools(unsigned tools, bool reads, bool exits)
{
	kymo_selection_t s = {
		.size = sizeof(s), .domain = desc.name, .phases = exits ? KYMO_PHASE_EXIT : 0};
	struct cap_domain *domain;

	if (cap_domain_register(&info, &domain) != KYMO_OK || tools > 8)
		return false;
	for (; context_count < (int)tools; context_count++)
		if (kymo_context_create(&contexts[context_count]) != KYMO_OK ||
		    kymo_callback_service(contexts[context_count], &s, reads ? read_all : nothing,
					  NULL) != KYMO_OK ||
		    kymo_context_start(contexts[context_count]) != KYMO_OK)
			return false;
	return true;
}

int bench_external(void *handle, uint32_t index, size_t size, const void *value)
{
	kymo_external_push(contexts[0], index);
	return kymo_external_pop(contexts[0], NULL);
}

int bench_make(const struct bench_recording *r)
{
	struct cap_domain *domain;

	if (context_count == 0 && cap_domain_register(&info, &domain) != KYMO_OK)
		return -1;
	if (context_count == 8 || make_context(r, &contexts[context_count]) != KYMO_OK)
		return -1;
	return context_count++;
}

bool bench_start(int i)
{
	return kymo_context_start(contexts[i]) == KYMO_OK;
}

bool bench_stop(int i)
{
	return kymo_context_stop(contexts[i]) == KYMO_OK &&
	       kymo_drain(contexts[i], 10000000000u) == KYMO_OK;
}

bool bench_record(const struct bench_recording *r)
{
	int i = bench_make(r);

	if (i < 0 || !bench_start(i))
		return false;
	if (r->work)
		cap_tally_work();
	return !r->stopped || kymo_context_stop(contexts[i]) == KYMO_OK;
}

uint64_t bench_lost(void)
{
	uint64_t lost = 0;

	kymo_buffer_lost(buffer, &lost);
	return lost;
}
