/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OCCA backend. What a program calls of OCCA is one call, whatever OCCA calls of itself below it: the outermost
 * of its functions counts, and devices, kernels and memory that it makes for itself (an inner Serial device runs the
 * launchers of device modes) are nobody's. What modes are built on (OpenCL, CUDA, HIP) has backends of its own, whose
 * calls lie inside OCCA's; kernels, copies and memory of the modes Serial and OpenMP are recorded here.
 *
 * Invariants. Objects are known by their mode objects (modeDevice_t ...), whose addresses are used again: the latest
 * counts. What is known of an object is never freed, so it may be used without a lock. No lock of ours is held while
 * core or OCCA is called.
 */
#ifndef CAPTURE_OCCA_OCCA_H
#define CAPTURE_OCCA_OCCA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/occa/functions.h"
#include "core/capture.h"

/* ---- ops (describe.c) ---- */

/* id, name, fields, flags */
#define OCCA_OPS(X)                                                                                \
	X(SETUP, "device::setup", SETUP, KYMO_OP_MINIMAL)                                          \
	X(DEVICE_FREE, "device::free", DEVICE, KYMO_OP_MINIMAL)                                    \
	X(FINISH, "device::finish", DEVICE, KYMO_OP_WAITS | KYMO_OP_MINIMAL)                       \
	X(FINISH_ALL, "device::finishAll", DEVICE, KYMO_OP_WAITS | KYMO_OP_MINIMAL)                \
	X(CREATE_STREAM, "device::createStream", STREAM, 0)                                        \
	X(WRAP_STREAM, "device::wrapStream", STREAM, 0)                                            \
	X(SET_STREAM, "device::setStream", STREAM, 0)                                              \
	X(TAG_STREAM, "device::tagStream", STREAM, KYMO_OP_SUBMITS)                                \
	X(WAIT_FOR, "device::waitFor", DEVICE, KYMO_OP_WAITS)                                      \
	X(TIME_BETWEEN, "device::timeBetween", TIME, KYMO_OP_WAITS)                                \
	X(BUILD, "device::buildKernel", BUILD, KYMO_OP_MINIMAL)                                    \
	X(BUILD_STRING, "device::buildKernelFromString", BUILD, KYMO_OP_MINIMAL)                   \
	X(BUILD_BINARY, "device::buildKernelFromBinary", BUILD, KYMO_OP_MINIMAL)                   \
	X(MALLOC, "device::malloc", MEMORY, KYMO_OP_ALLOCATES)                                     \
	X(WRAP_MEMORY, "device::wrapMemory", MEMORY, 0)                                            \
	X(CREATE_POOL, "device::createMemoryPool", POOL, 0)                                        \
	X(RUN, "kernel::run", RUN, KYMO_OP_SUBMITS | KYMO_OP_MINIMAL)                              \
	X(KERNEL_FREE, "kernel::free", BUILD, 0)                                                   \
	X(COPY_FROM, "memory::copyFrom", COPY, KYMO_OP_SUBMITS)                                    \
	X(COPY_TO, "memory::copyTo", COPY, KYMO_OP_SUBMITS)                                        \
	X(MEMORY_FREE, "memory::free", MEMORY, 0)                                                  \
	X(MEMORY_DETACH, "memory::detach", MEMORY, 0)                                              \
	X(POOL_RESERVE, "memoryPool::reserve", RESERVE, KYMO_OP_ALLOCATES)                         \
	X(POOL_RESIZE, "memoryPool::resize", POOL, KYMO_OP_ALLOCATES)                              \
	X(POOL_SHRINK, "memoryPool::shrinkToFit", POOL, KYMO_OP_ALLOCATES)                         \
	X(POOL_ALIGN, "memoryPool::setAlignment", POOL, 0)                                         \
	X(POOL_FREE, "memoryPool::free", POOL, 0)                                                  \
	X(STREAM_FINISH, "stream::finish", STREAM, KYMO_OP_WAITS | KYMO_OP_MINIMAL)                \
	X(STREAM_FREE, "stream::free", STREAM, 0)                                                  \
	X(BUFFER_BORN, "buffer::allocate", BUFFER, KYMO_OP_ALLOCATES)                              \
	X(BUFFER_DIES, "buffer::free", BUFFER, 0)

enum occa_op {
#define OCCA_OP(id, name, fields, flags) OCCA_OP_##id,
	OCCA_OPS(OCCA_OP)
#undef OCCA_OP
		OCCA_OP_COUNT,
	OCCA_OP_NONE = OCCA_OP_COUNT /* OCCA's own doing: whatever it calls is nobody's */
};

/* Fields begin with the device. */
enum { OCCA_DEVICE, OCCA_SECOND, OCCA_THIRD, OCCA_FOURTH, OCCA_FIFTH, OCCA_SIXTH, OCCA_FIELDS };

bool occa_describe(void);
const kymo_op_desc_t *occa_op(unsigned op, struct cap_op **cap);

/* ---- objects (objects.c) ---- */

struct occa_stream {
	struct occa_device *device;
	uint32_t name;  /* id of a string */
	uint32_t queue; /* of modes on the host, else 0 */
};

struct occa_device {
	const char *text;    /* its name */
	uint32_t name, mode; /* ids of strings */
	bool host;           /* runs kernels on the host: Serial, OpenMP */
	uint32_t agent;      /* then */
	_Atomic uint32_t streams;
	struct occa_stream first; /* OCCA makes it with the device */
	struct occa_stream *_Atomic current;
};

struct occa_kernel {
	uint32_t name, source; /* ids of strings */
	struct occa_device *device;
	uint32_t id; /* of modes on the host, else 0 */
	struct cap_kernel_origin origin;
};

struct occa_buffer {
	struct occa_device *device;
	uint64_t bytes, id;
	uint32_t what; /* id of a string */
	bool recorded; /* as an allocation */
};

uint32_t occa_string(const char *text); /* id, 0: none */

struct occa_device *occa_device_find(const void *handle);
/* By the numbers that OCCA knows it by, -1: it has none. */
struct occa_device *occa_device_new(const void *handle, const char *mode, int platform, int number);
void occa_device_gone(const void *handle);
struct occa_stream *occa_stream_find(const void *handle);
struct occa_stream *occa_stream_new(const void *handle, struct occa_device *device);
void occa_stream_gone(const void *handle);
struct occa_kernel *occa_kernel_find(const void *handle);
struct occa_kernel *occa_kernel_new(const void *handle, const char *name, const char *source,
				    struct occa_device *device);
void occa_kernel_gone(const void *handle);
/* It is being built: what runtimes make meanwhile, and later, under names made of its own is its. */
void occa_kernel_name(const char *name, const char *source, const struct occa_device *device);
/* Of a buffer; false: no memory. */
bool occa_buffer_put(const void *handle, const struct occa_buffer *b);
bool occa_buffer_get(const void *handle, struct occa_buffer *out, bool take);
bool occa_kernel_origin(const char *symbol, size_t length, struct cap_kernel_origin *out);
/* What the thread works with just now, as OCCA calls it; NULL: it is in none of OCCA's functions. */
const char *occa_device_now(void);
void occa_objects_fork_child(void);

/* ---- calls (call.c) ---- */

/* A call that is under way; `values` in the order of the op's fields. */
struct occa_call {
	struct cap_frame *frame; /* NULL: nobody wants it */
	unsigned op;
	const void *kernel; /* that is launched: the mode's */
	uint64_t values[OCCA_FIELDS];
};

/* What a thread is in: the outermost of OCCA's functions. */
struct occa_inside {
	/*
	 * Where on the stack its return address is, and that. longjmp leaves without a word, and whatever is called
	 * next puts another there. NULL: it is in none.
	 */
	const void *const *place;
	const void *caller;
	/* The same of a noted function around it; NULL: there is none. */
	const void *const *noted_place;
	const void *noted;
	const void *by; /* the program's code that has called */
	unsigned op;
	bool ran;               /* the kernel, on the host */
	struct occa_call *call; /* of the wrapper, which waits for libocca */
	struct cap_frame *frame;
	uint64_t id; /* of the frame */
	const struct occa_kernel *kernel;
	struct occa_device *device;
	struct cap_kernel_origin builds; /* the kernel that it builds; no name: none */
};

enum { OCCA_LATELY = 16, OCCA_ARGUMENTS = 32 };

struct occa_thread {
	struct occa_note noted; /* first; until a call of the program's has taken it */
	struct occa_inside in;
	const void *inner
		[4]; /* places that are not libocca's and were found to call OCCA inside of a call */
	/* Kernels that it has looked up last, as long as none came or went since. */
	struct {
		uint32_t as_of;
		const void *handles[OCCA_LATELY];
		struct occa_kernel *kernels[OCCA_LATELY];
	} lately;
	/* Memory that the program has set as arguments of a kernel: they hold until others are set. */
	struct {
		const void *kernel;
		unsigned count;
		uint64_t memory[OCCA_ARGUMENTS];
	} arguments;
};
_Static_assert(sizeof(struct occa_thread) <= OCCA_THREAD_BYTES, "the door has as much");

extern void *(*occa_thread_room)(void);
static inline struct occa_thread *occa_thread(void)
{
	return occa_thread_room();
}

/* The thread is in one of OCCA's functions, which has called what has `sp` as cap_sp(). */
bool occa_inside(const void *sp);
/* False: OCCA calls itself, nothing was done. `op` OCCA_OP_NONE: what it calls is its own doing. */
bool occa_begin(struct occa_call *c, unsigned op, const void *caller, const void *sp);
void occa_end(struct occa_call *c);
/* An exception takes away the frame of occa_guarded(): the call ends, with what is known of it. */
void occa_left(void);
/* Something inside of a call (or of none, then by `caller`) that is recorded as well, and takes no time. */
void occa_point(struct occa_call *c, const void *caller, const void *sp);

/* ---- whose code calls (site.c) ---- */

/* The code of libocca, whose calls are not the program's. */
void occa_library(const void *function, uintptr_t *begin, uintptr_t *bytes);
bool occa_of_library(const void *address);
/* The program's own code that has led to the call that returns to `caller`; if none is found, `caller`. */
const void *occa_site(const void *caller);
void occa_site_fork_child(void);

/* ---- calls of libocca (left.c) ---- */

/* Calls `function` with the six words of `a`; occa_left() where an exception leaves it. */
uintptr_t occa_guarded(const uintptr_t *a, const void *function)
	__attribute__((visibility("hidden")));
extern const char occa_guarded_end[] __attribute__((visibility("hidden")));
double occa_guarded_double(const uintptr_t *a, const void *function);

/* ---- what the host does as a device (work.c) ---- */

struct occa_span {
	uint64_t tick, ns; /* the begin; ns of the device's clock */
};

struct occa_span occa_span_begin(void);
void occa_host_ran(const struct occa_kernel *k, const struct occa_span *s);
enum occa_copy { OCCA_COPY_WRITE, OCCA_COPY_READ, OCCA_COPY_WITHIN };
void occa_host_copied(enum occa_copy which, uint64_t bytes, const struct occa_span *s);
uint32_t occa_host_agent(const char *name);
void occa_flush(uint64_t deadline);

#endif
