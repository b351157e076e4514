/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that stand in OCCA's place. All of them have at most six arguments, each of which is a word, and so
 * is what they return; so one function does for all, and says by the table below what a call is about.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/knob.h"
#include "base/text.h"
#include "base/variables.h"
#include "capture/occa/ask.h"
#include "core/activity/activity.h"

#define ARGUMENTS 6

typedef uintptr_t function(uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4,
			   uintptr_t a5);
typedef double time_function(uintptr_t device, uintptr_t from, uintptr_t to);

static void *const *real;

/* ---- what a call is about ---- */

enum shape {
	INNER,        /* OCCA's own doing */
	OF_DEVICE,    /* this */
	SETS_UP,      /* this */
	GIVES_STREAM, /* result, this */
	SETS_STREAM,  /* this, stream */
	TAGS,         /* result, this */
	BUILDS,       /* result, this, file or text, name */
	GIVES_MEMORY, /* result, this */
	GIVES_POOL,   /* result, this */
	OF_POOL,      /* this */
	RESERVES,     /* result, this */
	RUNS,         /* this */
	RUNS_MODE,    /* the mode's kernel */
	OF_KERNEL,    /* this */
	COPIES,       /* this, other, count, ..., properties in `last` */
	COPIES_ALL,   /* this, other, properties */
	OF_MEMORY,    /* this */
	OF_STREAM,    /* this */
	OTHER         /* has a function of its own */
};

static const struct {
	uint8_t op, shape, last;
} rows[OCCA_FIRST_NOTED] = {
	[OCCA_SETUP] = {OCCA_OP_SETUP, SETS_UP, 0},
	[OCCA_SETUP_STRING] = {OCCA_OP_SETUP, SETS_UP, 0},
	[OCCA_HOST] = {OCCA_OP_NONE, INNER, 0},
	[OCCA_DEFAULT_DEVICE] = {OCCA_OP_NONE, INNER, 0},
	[OCCA_DEVICE_FREE] = {OCCA_OP_DEVICE_FREE, OF_DEVICE, 0},
	[OCCA_DEVICE_FINISH] = {OCCA_OP_FINISH, OF_DEVICE, 0},
	[OCCA_DEVICE_FINISH_ALL] = {OCCA_OP_FINISH_ALL, OF_DEVICE, 0},
	[OCCA_CREATE_STREAM] = {OCCA_OP_CREATE_STREAM, GIVES_STREAM, 0},
	[OCCA_WRAP_STREAM] = {OCCA_OP_WRAP_STREAM, GIVES_STREAM, 0},
	[OCCA_SET_STREAM] = {OCCA_OP_SET_STREAM, SETS_STREAM, 0},
	[OCCA_TAG_STREAM] = {OCCA_OP_TAG_STREAM, TAGS, 0},
	[OCCA_WAIT_FOR] = {OCCA_OP_WAIT_FOR, OF_DEVICE, 0},
	[OCCA_TIME_BETWEEN] = {OCCA_OP_TIME_BETWEEN, OTHER, 0},
	[OCCA_BUILD] = {OCCA_OP_BUILD, BUILDS, 0},
	[OCCA_BUILD_STRING] = {OCCA_OP_BUILD_STRING, BUILDS, 0},
	[OCCA_BUILD_BINARY] = {OCCA_OP_BUILD_BINARY, BUILDS, 0},
	[OCCA_MALLOC] = {OCCA_OP_MALLOC, GIVES_MEMORY, 0},
	[OCCA_MALLOC_LIKE] = {OCCA_OP_MALLOC, GIVES_MEMORY, 0},
	[OCCA_MALLOC_EMPTY] = {OCCA_OP_MALLOC, GIVES_MEMORY, 0},
	[OCCA_MALLOC_BYTES] = {OCCA_OP_MALLOC, GIVES_MEMORY, 0},
	[OCCA_MALLOC_BYTES_LIKE] = {OCCA_OP_MALLOC, GIVES_MEMORY, 0},
	[OCCA_MALLOC_BYTES_EMPTY] = {OCCA_OP_MALLOC, GIVES_MEMORY, 0},
	[OCCA_WRAP_MEMORY] = {OCCA_OP_WRAP_MEMORY, GIVES_MEMORY, 0},
	[OCCA_WRAP_MEMORY_BYTES] = {OCCA_OP_WRAP_MEMORY, GIVES_MEMORY, 0},
	[OCCA_CREATE_POOL] = {OCCA_OP_CREATE_POOL, GIVES_POOL, 0},
	[OCCA_RUN] = {OCCA_OP_RUN, RUNS, 0},
	[OCCA_RUN_HOST_LEAF] = {OCCA_OP_RUN, OTHER, 0},
	[OCCA_RUN_DEVICE_LEAF] = {OCCA_OP_RUN, RUNS_MODE, 0},
	[OCCA_KERNEL_FREE] = {OCCA_OP_KERNEL_FREE, OF_KERNEL, 0},
	[OCCA_COPY_FROM] = {OCCA_OP_COPY_FROM, COPIES, 4},
	[OCCA_COPY_FROM_ALL] = {OCCA_OP_COPY_FROM, COPIES_ALL, 2},
	[OCCA_COPY_FROM_MEMORY] = {OCCA_OP_COPY_FROM, COPIES, 5},
	[OCCA_COPY_FROM_MEMORY_ALL] = {OCCA_OP_COPY_FROM, COPIES_ALL, 2},
	[OCCA_COPY_TO] = {OCCA_OP_COPY_TO, COPIES, 4},
	[OCCA_COPY_TO_ALL] = {OCCA_OP_COPY_TO, COPIES_ALL, 2},
	[OCCA_COPY_TO_MEMORY] = {OCCA_OP_COPY_TO, COPIES, 5},
	[OCCA_COPY_TO_MEMORY_ALL] = {OCCA_OP_COPY_TO, COPIES_ALL, 2},
	[OCCA_MEMORY_FREE] = {OCCA_OP_MEMORY_FREE, OF_MEMORY, 0},
	[OCCA_MEMORY_DETACH] = {OCCA_OP_MEMORY_DETACH, OF_MEMORY, 0},
	[OCCA_POOL_RESERVE] = {OCCA_OP_POOL_RESERVE, RESERVES, 0},
	[OCCA_POOL_RESERVE_BYTES] = {OCCA_OP_POOL_RESERVE, RESERVES, 0},
	[OCCA_POOL_RESIZE] = {OCCA_OP_POOL_RESIZE, OF_POOL, 0},
	[OCCA_POOL_SHRINK] = {OCCA_OP_POOL_SHRINK, OF_POOL, 0},
	[OCCA_POOL_ALIGN] = {OCCA_OP_POOL_ALIGN, OF_POOL, 0},
	[OCCA_POOL_FREE] = {OCCA_OP_POOL_FREE, OF_POOL, 0},
	[OCCA_STREAM_FINISH] = {OCCA_OP_STREAM_FINISH, OF_STREAM, 0},
	[OCCA_STREAM_FREE] = {OCCA_OP_STREAM_FREE, OF_STREAM, 0},
	[OCCA_BUFFER_BORN] = {OCCA_OP_BUFFER_BORN, OTHER, 0},
	[OCCA_BUFFER_DIES] = {OCCA_OP_BUFFER_DIES, OTHER, 0},
	[OCCA_BUFFER_SERIAL] = {OCCA_OP_BUFFER_BORN, OTHER, 0},
	[OCCA_BUFFER_OPENCL] = {OCCA_OP_BUFFER_BORN, OTHER, 0},
	[OCCA_BUFFER_CUDA] = {OCCA_OP_BUFFER_BORN, OTHER, 0},
	[OCCA_BUFFER_HIP] = {OCCA_OP_BUFFER_BORN, OTHER, 0},
	[OCCA_BUFFER_DPCPP] = {OCCA_OP_BUFFER_BORN, OTHER, 0},
	[OCCA_HOST_COPY_FROM] = {OCCA_OP_COPY_FROM, OTHER, 0},
	[OCCA_HOST_COPY] = {OCCA_OP_COPY_FROM, OTHER, 0},
	[OCCA_HOST_COPY_TO] = {OCCA_OP_COPY_TO, OTHER, 0},
	[OCCA_SET_ARGUMENTS] = {OCCA_OP_NONE, OTHER, 0},
	[OCCA_PUSH_ARGUMENT] = {OCCA_OP_NONE, OTHER, 0},
	[OCCA_CLEAR_ARGUMENTS] = {OCCA_OP_NONE, OTHER, 0},
};

/* Objects of OCCA's come as words. */
static const void *at(uintptr_t word)
{
	return (const void *)word; /* NOLINT(performance-no-int-to-ptr) */
}

static struct occa_device *device_is(struct occa_call *c, struct occa_device *d)
{
	occa_thread()->in.device = d;
	c->values[OCCA_DEVICE] = d ? d->name : 0;
	return d;
}

static void stream_is(struct occa_call *c, const struct occa_stream *s)
{
	c->values[OCCA_SECOND] = s ? s->name : 0;
}

static void kernel_is(struct occa_call *c, const struct occa_kernel *k)
{
	struct occa_device *d = device_is(c, k ? k->device : NULL);

	occa_thread()->in.kernel = k;
	c->values[OCCA_SECOND] = k ? k->name : 0;
	c->values[OCCA_THIRD] = k ? k->source : 0;
	c->values[OCCA_FOURTH] = d ? d->mode : 0;
	c->values[OCCA_FIFTH] = d ? atomic_load(&d->current)->name : 0;
}

static void before_build(struct occa_call *c, unsigned op, const uintptr_t *a)
{
	struct occa_device *d = device_is(c, occa_ask_device(at(a[1])));
	const char *name = occa_text(at(a[3]));
	char *file = op == OCCA_OP_BUILD_STRING ? NULL : realpath(occa_text(at(a[2])), NULL);

	c->values[OCCA_SECOND] = occa_string(name);
	c->values[OCCA_FOURTH] = d ? d->mode : 0;
	occa_kernel_name(name,
			 op == OCCA_OP_BUILD_STRING ? "string_source.cpp"
			 : file                     ? file
						    : occa_text(at(a[2])),
			 d);
	free(file);
}

static void before_copy(struct occa_call *c, const uintptr_t *a, int64_t count, unsigned last)
{
	device_is(c, occa_ask_memory_device(at(a[0])));
	c->values[OCCA_SECOND] = (uintptr_t)occa_ask_handle(OCCA_ASK_MEMORY, at(a[0]));
	c->values[OCCA_THIRD] = occa_ask_entries(at(a[0]), count);
	c->values[OCCA_FOURTH] = a[1];
	c->values[OCCA_FIFTH] = occa_ask_async(at(a[last]));
}

static void before_stream(struct occa_call *c, const uintptr_t *a)
{
	struct occa_stream *s = occa_stream_find(occa_ask_handle(OCCA_ASK_STREAM, at(a[0])));

	device_is(c, s ? s->device : NULL);
	stream_is(c, s);
}

static void before_pool(struct occa_call *c, const void *pool)
{
	const void *handle = occa_ask_handle(OCCA_ASK_POOL, pool);

	device_is(c, handle ? occa_device_find(occa_ask_handle(OCCA_ASK_POOL_DEVICE, pool)) : NULL);
	c->values[OCCA_SECOND] = (uintptr_t)handle;
}

static void before_memory(struct occa_call *c, const void *memory)
{
	device_is(c, occa_ask_memory_device(memory));
	c->values[OCCA_SECOND] = (uintptr_t)occa_ask_handle(OCCA_ASK_MEMORY, memory);
	c->values[OCCA_THIRD] = occa_ask_entries(memory, -1);
}

static void before_setting(struct occa_call *c, const uintptr_t *a)
{
	struct occa_device *d = device_is(c, occa_ask_device(at(a[0])));
	struct occa_stream *s = occa_stream_find(occa_ask_handle(OCCA_ASK_STREAM, at(a[1])));

	s = s || !d ? s : &d->first;
	stream_is(c, s);
	if (d && s->device == d)
		atomic_store(&d->current, s);
}

static void before_tag(struct occa_call *c, const uintptr_t *a)
{
	struct occa_device *d = device_is(c, occa_ask_device(at(a[1])));

	stream_is(c, d ? atomic_load(&d->current) : NULL);
}

/* What is known before the call. */
static void before(struct occa_call *c, enum occa_function id, const uintptr_t *a)
{
	switch (rows[id].shape) {
	case OF_DEVICE:
		device_is(c, occa_ask_device(at(a[0])));
		break;
	case GIVES_STREAM:
	case GIVES_MEMORY:
	case GIVES_POOL:
		device_is(c, occa_ask_device(at(a[1])));
		break;
	case SETS_STREAM:
		before_setting(c, a);
		break;
	case TAGS:
		before_tag(c, a);
		break;
	case BUILDS:
		before_build(c, rows[id].op, a);
		break;
	case OF_POOL:
		before_pool(c, at(a[0]));
		break;
	case RESERVES:
		before_pool(c, at(a[1]));
		break;
	case RUNS:
		c->kernel = occa_ask_handle(OCCA_ASK_KERNEL, at(a[0]));
		kernel_is(c, occa_ask_kernel(at(a[0])));
		break;
	case OF_KERNEL:
		kernel_is(c, occa_ask_kernel(at(a[0])));
		break;
	case RUNS_MODE:
		c->kernel = at(a[0]);
		kernel_is(c, occa_kernel_find(at(a[0])));
		break;
	case COPIES:
		before_copy(c, a, (int64_t)a[2], rows[id].last);
		break;
	case COPIES_ALL:
		before_copy(c, a, -1, rows[id].last);
		break;
	case OF_MEMORY:
		before_memory(c, at(a[0]));
		break;
	case OF_STREAM:
		before_stream(c, a);
		break;
	default:
		break;
	}
}

static void after_setup(struct occa_call *c, const uintptr_t *a)
{
	struct occa_device *d = device_is(c, occa_ask_new_device(at(a[0])));

	c->values[OCCA_SECOND] = d ? d->mode : 0;
}

static void after_build(struct occa_call *c, const uintptr_t *a)
{
	struct occa_kernel *k = occa_ask_built(at(a[0]), occa_thread()->in.device);

	if (!k)
		return;
	c->values[OCCA_SECOND] = k->name;
	c->values[OCCA_THIRD] = k->source;
}

/* What is known when it is over. */
static void after(struct occa_call *c, enum occa_function id, const uintptr_t *a)
{
	switch (rows[id].shape) {
	case SETS_UP:
		after_setup(c, a);
		break;
	case GIVES_STREAM:
		stream_is(c, occa_stream_new(occa_ask_handle(OCCA_ASK_STREAM, at(a[0])),
					     occa_thread()->in.device));
		break;
	case BUILDS:
		after_build(c, a);
		break;
	case GIVES_MEMORY:
		c->values[OCCA_SECOND] = (uintptr_t)occa_ask_handle(OCCA_ASK_MEMORY, at(a[0]));
		c->values[OCCA_THIRD] = occa_ask_entries(at(a[0]), -1);
		break;
	case GIVES_POOL:
		c->values[OCCA_SECOND] = (uintptr_t)occa_ask_handle(OCCA_ASK_POOL, at(a[0]));
		break;
	case OF_POOL:
		if (rows[id].op != OCCA_OP_POOL_FREE)
			c->values[OCCA_THIRD] = occa_ask_bytes(OCCA_ASK_POOL_BYTES, at(a[0]));
		break;
	case RESERVES:
		c->values[OCCA_FOURTH] = (uintptr_t)occa_ask_handle(OCCA_ASK_MEMORY, at(a[0]));
		c->values[OCCA_THIRD] = occa_ask_entries(at(a[0]), -1);
		break;
	default:
		break;
	}
}

/* What will be gone when it is over, by what it was before. */
static const void *ending(unsigned op, const uintptr_t *a)
{
	switch (op) {
	case OCCA_OP_DEVICE_FREE:
		return occa_ask_handle(OCCA_ASK_DEVICE, at(a[0]));
	case OCCA_OP_KERNEL_FREE:
		return occa_ask_handle(OCCA_ASK_KERNEL, at(a[0]));
	case OCCA_OP_STREAM_FREE:
		return occa_ask_handle(OCCA_ASK_STREAM, at(a[0]));
	default:
		return NULL;
	}
}

static void gone(unsigned op, const void *handle)
{
	if (!handle)
		return;
	if (op == OCCA_OP_DEVICE_FREE)
		occa_device_gone(handle);
	else if (op == OCCA_OP_KERNEL_FREE)
		occa_kernel_gone(handle);
	else
		occa_stream_gone(handle);
}

static uintptr_t call(enum occa_function id, const uintptr_t *a)
{
	return ((function *)real[id])(a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* What is asked of OCCA changes nothing that the program sees, errno included. */
static void told_before(struct occa_call *c, enum occa_function id, const uintptr_t *a)
{
	int saved = errno;

	before(c, id, a);
	errno = saved;
}

static void told_after(struct occa_call *c, enum occa_function id, const uintptr_t *a,
		       const void *end)
{
	int saved = errno;

	after(c, id, a);
	gone(c->op, end);
	errno = saved;
}

/* buildKernelFromString() writes a file, and builds that. */
static void inner_build(const uintptr_t *a)
{
	int saved = errno;

	if (occa_thread()->in.op == OCCA_OP_BUILD_STRING)
		occa_kernel_name(occa_text(at(a[3])), occa_text(at(a[2])),
				 occa_thread()->in.device);
	errno = saved;
}

static uintptr_t through(enum occa_function id, const uintptr_t *a, const void *caller,
			 const void *sp)
{
	struct occa_call c = {0};
	const void *end;
	uintptr_t result;

	if (!occa_begin(&c, rows[id].op, caller, sp)) {
		if (id == OCCA_BUILD)
			inner_build(a);
		return call(id, a);
	}
	told_before(&c, id, a);
	end = ending(c.op, a);
	result = occa_guarded(a, real[id]);
	told_after(&c, id, a, end);
	occa_end(&c);
	return result;
}

/* ---- kernels of the host's modes ---- */

static uintptr_t run_leaf(const uintptr_t *a, bool outermost)
{
	return outermost ? occa_guarded(a, real[OCCA_RUN_HOST_LEAF]) : call(OCCA_RUN_HOST_LEAF, a);
}

static uintptr_t run_timed(const uintptr_t *a, bool outermost)
{
	struct occa_span s = occa_span_begin();
	uintptr_t result = run_leaf(a, outermost);

	occa_host_ran(occa_thread()->in.kernel, &s);
	return result;
}

/* The kernel of the call that the thread is in; the launchers of device modes come here, too. */
static bool runs_here(uintptr_t kernel)
{
	struct occa_inside *t = &occa_thread()->in;

	if (t->op != OCCA_OP_RUN || t->ran || !t->kernel || !t->device || !t->device->host ||
	    t->kernel != occa_kernel_find(at(kernel)))
		return false;
	t->ran = true;
	return true;
}

static uintptr_t run_host(const uintptr_t *a, const void *caller, const void *sp)
{
	struct occa_call c = {0};
	const bool outermost = occa_begin(&c, OCCA_OP_RUN, caller, sp);
	uintptr_t result;

	if (outermost) {
		c.kernel = at(a[0]);
		kernel_is(&c, occa_kernel_find(at(a[0])));
	}
	result = runs_here(a[0]) ? run_timed(a, outermost) : run_leaf(a, outermost);
	if (outermost)
		occa_end(&c);
	return result;
}

/* ---- copies of the host's modes ---- */

static uintptr_t host_copy(enum occa_function id, const uintptr_t *a, const void *sp)
{
	const struct occa_inside *t = &occa_thread()->in;
	struct occa_span s;
	uintptr_t result;

	if (!occa_inside(sp) || t->op == OCCA_OP_NONE || !t->device || !t->device->host)
		return call(id, a);
	s = occa_span_begin();
	result = call(id, a);
	occa_host_copied(id == OCCA_HOST_COPY        ? OCCA_COPY_WITHIN
			 : id == OCCA_HOST_COPY_FROM ? OCCA_COPY_WRITE
						     : OCCA_COPY_READ,
			 a[2], &s);
	return result;
}

/* ---- memory ---- */

/* The call is one by which the program gets memory. */
static bool gets_memory(void)
{
	switch (occa_thread()->in.op) {
	case OCCA_OP_MALLOC:
	case OCCA_OP_WRAP_MEMORY:
	case OCCA_OP_CREATE_POOL:
	case OCCA_OP_POOL_RESERVE:
	case OCCA_OP_POOL_RESIZE:
	case OCCA_OP_POOL_SHRINK:
	case OCCA_OP_POOL_ALIGN:
		return true;
	default:
		return false;
	}
}

static void allocation(const struct occa_call *c, unsigned op, const void *handle,
		       const struct occa_buffer *b)
{
	const struct cap_allocation a = {.address = (uintptr_t)handle,
					 .bytes = b->bytes,
					 .id = b->id,
					 .agent = b->device->agent,
					 .kind = MEMORY_HOST_PAGEABLE,
					 .what = ALLOCATION_BUFFER};
	const struct cap_frame *f = occa_thread()->in.place ? occa_thread()->in.frame : c->frame;

	cap_allocation_record(f, 0, op, &a);
}

static void point_of(struct occa_call *c, unsigned op, const void *handle,
		     const struct occa_buffer *b)
{
	*c = (struct occa_call){.op = op,
				.values = {b->device ? b->device->name : 0, (uintptr_t)handle,
					   b->bytes, b->what, b->id}};
}

static void buffer_begins(const void *handle, uint64_t bytes, const char *what, const void *sp)
{
	struct occa_device *d = occa_thread()->in.device;
	const bool wrapped = occa_thread()->in.op == OCCA_OP_WRAP_MEMORY;
	struct occa_buffer b = {.device = d,
				.bytes = bytes,
				.id = cap_new_allocation(),
				.what = occa_string(wrapped ? "wrapped" : what),
				.recorded = d && d->host && !wrapped};
	struct occa_call c;

	if (!occa_buffer_put(handle, &b))
		return;
	point_of(&c, OCCA_OP_BUFFER_BORN, handle, &b);
	occa_point(&c, NULL, sp);
	if (b.recorded)
		allocation(&c, ALLOCATION_OP_ALLOCATE, handle, &b);
}

/* Of memory with its bytes; a pool, and what it has, get theirs later. */
static uintptr_t buffer_born(const uintptr_t *a, const void *sp)
{
	int saved = errno;

	if (a[2] && occa_inside(sp) && gets_memory())
		buffer_begins(at(a[0]), a[2], "memory", sp);
	errno = saved;
	return call(OCCA_BUFFER_BORN, a);
}

static uintptr_t buffer_filled(enum occa_function id, const uintptr_t *a, const void *sp)
{
	uintptr_t result = call(id, a);
	struct occa_buffer b;
	int saved = errno;

	if (a[1] && occa_inside(sp) && gets_memory() && !occa_buffer_get(at(a[0]), &b, false))
		buffer_begins(at(a[0]), a[1], "pool", sp);
	errno = saved;
	return result;
}

static uintptr_t buffer_dies(const uintptr_t *a, const void *caller, const void *sp)
{
	struct occa_buffer b;
	struct occa_call c;
	int saved = errno;

	if (occa_buffer_get(at(a[0]), &b, true)) {
		point_of(&c, OCCA_OP_BUFFER_DIES, at(a[0]), &b);
		occa_point(&c, caller, sp);
		if (b.recorded)
			allocation(&c, ALLOCATION_OP_FREE, at(a[0]), &b);
	}
	errno = saved;
	return call(OCCA_BUFFER_DIES, a);
}

/* ---- arguments of kernels ---- */

static void arguments_begin(const void *kernel)
{
	struct occa_thread *t = occa_thread();

	t->arguments.kernel = kernel;
	t->arguments.count = 0;
}

/* What OCCA sets of itself, for its launchers, is nobody's. */
static uintptr_t set_arguments(enum occa_function id, const uintptr_t *a, const void *sp)
{
	struct occa_thread *t = occa_thread();
	int saved = errno;

	if (occa_inside(sp))
		return call(id, a);
	if (id == OCCA_SET_ARGUMENTS)
		arguments_begin(at(a[0]));
	else if (id == OCCA_CLEAR_ARGUMENTS)
		arguments_begin(occa_ask_handle(OCCA_ASK_KERNEL, at(a[0])));
	else if (t->arguments.kernel != at(a[0]))
		arguments_begin(at(a[0]));
	if (id == OCCA_PUSH_ARGUMENT)
		t->arguments.count +=
			occa_ask_memories(at(a[1]), t->arguments.memory + t->arguments.count,
					  OCCA_ARGUMENTS - t->arguments.count);
	errno = saved;
	return call(id, a);
}

/* ---- by function ---- */

static uintptr_t other(enum occa_function id, const uintptr_t *a, const void *caller,
		       const void *sp)
{
	switch (id) {
	case OCCA_RUN_HOST_LEAF:
		return run_host(a, caller, sp);
	case OCCA_BUFFER_BORN:
		return buffer_born(a, sp);
	case OCCA_BUFFER_DIES:
		return buffer_dies(a, caller, sp);
	case OCCA_SET_ARGUMENTS:
	case OCCA_PUSH_ARGUMENT:
	case OCCA_CLEAR_ARGUMENTS:
		return set_arguments(id, a, sp);
	case OCCA_HOST_COPY_FROM:
	case OCCA_HOST_COPY:
	case OCCA_HOST_COPY_TO:
		return host_copy(id, a, sp);
	default:
		return buffer_filled(id, a, sp);
	}
}

#define WRAP(id, symbol)                                                                           \
	static uintptr_t wrap_##id(uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3,         \
				   uintptr_t a4, uintptr_t a5)                                     \
	{                                                                                          \
		const uintptr_t a[ARGUMENTS] = {a0, a1, a2, a3, a4, a5};                           \
                                                                                                   \
		if (rows[OCCA_##id].shape == OTHER)                                                \
			return other(OCCA_##id, a, __builtin_return_address(0), cap_sp());         \
		return through(OCCA_##id, a, __builtin_return_address(0), cap_sp());               \
	}
OCCA_WRAPPED(WRAP)
#undef WRAP

static double time_between(uintptr_t device, uintptr_t from, uintptr_t to)
{
	const void *next = real[OCCA_TIME_BETWEEN];
	const uintptr_t a[ARGUMENTS] = {device, from, to};
	struct occa_call c = {0};
	double seconds;

	if (!occa_begin(&c, OCCA_OP_TIME_BETWEEN, __builtin_return_address(0), cap_sp()))
		return ((time_function *)next)(device, from, to);
	device_is(&c, occa_ask_device(at(device)));
	seconds = occa_guarded_double(a, next);
	c.values[OCCA_SECOND] = seconds > 0 ? (uint64_t)(seconds * 1e9) : 0;
	occa_end(&c);
	return seconds;
}

/* ---- opening ---- */

#define SYMBOL(id, symbol) symbol "\0"
static const char wrapped[] = OCCA_WRAPPED(SYMBOL);
static const char noted[] = OCCA_NOTED(SYMBOL);
static const char asked[] = OCCA_ASKED(SYMBOL);
#undef SYMBOL

enum { NOTE_LENGTH = 300 /* of names in a note: longer ones are cut */ };

static void tell_names(struct text *names, const char *what)
{
	if (names->length)
		cap_note(2, "occa", "this libocca lacks functions of OCCA that Kymo knows: %s: %s",
			 what, names->s);
	text_release(names);
	*names = (struct text){0};
}

/* Of another version of OCCA, or another C++ library, some have other names. */
static void tell_missing_of(const char *list, size_t size, unsigned first, const char *what)
{
	struct text names = {0};
	unsigned i = first;

	for (const char *p = list; p < list + size - 1; p += strlen(p) + 1, i++) {
		if (real[i] || OCCA_OPTIONAL(i))
			continue;
		if (names.length + strlen(p) > NOTE_LENGTH)
			tell_names(&names, what);
		text_addf(&names, "%s%s", names.length ? ", " : "", p);
	}
	tell_names(&names, what);
}

static void tell_missing(void)
{
	tell_missing_of(wrapped, sizeof(wrapped), 0, "what they do is not recorded");
	tell_missing_of(noted, sizeof(noted), OCCA_FIRST_NOTED,
			"calls that they make are told as libocca's");
	tell_missing_of(asked, sizeof(asked), OCCA_THUNKS, "what they tell is not known");
}

static void put(void *_Atomic *entries, enum occa_function id, void *wrapper)
{
	if (real[id])
		atomic_store(&entries[id], wrapper);
}

/* Statements, not a table of pointers, which would be relocated in every process. */
static void fill(void *_Atomic *entries)
{
#define PUT(id, symbol) put(entries, OCCA_##id, (void *)(uintptr_t)wrap_##id);
	OCCA_WRAPPED(PUT)
#undef PUT
	put(entries, OCCA_TIME_BETWEEN, (void *)(uintptr_t)time_between);
}

static bool prepare(const struct occa_door *door)
{
	for (unsigned i = 0; i < OCCA_FIRST_NOTED; i++)
		if (real[i]) {
			occa_library(real[i], door->code_begin, door->code_bytes);
			break;
		}
	occa_ask_prepare(real);
	if (!occa_describe())
		return false;
	cap_kernel_origins(occa_kernel_origin);
	cap_framework_devices(occa_device_now);
	tell_missing();
	return true;
}

__attribute__((visibility("default"))) bool kymo_occa_open(const struct occa_door *door)
{
	int saved = errno;
	bool ok;

	/* The door is there also where the program changed what is to be recorded. */
	if (!knob_list_has(variable("KYMO_BACKENDS"), "occa"))
		return false;
	cap_load();
	real = door->real;
	occa_thread_room = door->thread;
	cap_guard_enter();
	ok = prepare(door);
	cap_guard_leave();
	if (ok)
		fill(door->entries);
	errno = saved;
	return ok;
}
