/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-heap.so: preloaded where the domain "heap" is named. It stands before malloc() and its kin, of the C library or of
 * an allocator that the program was linked with or the user has preloaded. What is not sampled costs a subtraction where
 * it is allocated and a look at a bit where it is freed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/heap/heap.h"
#include "core/capture.h"
#include "core/intercept/doors.h"

#define EXPORT  __attribute__((visibility("default")))
#define OWN_TLS _Thread_local __attribute__((tls_model("initial-exec")))
#define CALLER  __builtin_return_address(0)

/* X(name) of every function; FUNCTION_name is its number. */
/* clang-format off */
#define HEAP_FUNCTIONS(X) \
	X(malloc) X(free) X(calloc) X(realloc) X(memalign) X(posix_memalign) X(aligned_alloc) X(valloc) X(pvalloc)
/* clang-format on */

enum heap_function {
#define FUNCTION(name) FUNCTION_##name,
	HEAP_FUNCTIONS(FUNCTION)
#undef FUNCTION
		FUNCTIONS
};

static const char names[FUNCTIONS][16] = {
#define FUNCTION(name) #name,
	HEAP_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

typedef void heap_fn(void);
static heap_fn *_Atomic next_of[FUNCTIONS];

/* NULL: there is none, or it is being looked for by this very thread. */
#define NEXT(name) ((__typeof__(&(name)))next_function(FUNCTION_##name))

/* ---- memory for the loader, which may allocate while it looks for the functions ---- */

#define EARLY_SIZE  (64u << 10)
#define EARLY_ALIGN 16u
static _Alignas(EARLY_ALIGN) char early[EARLY_SIZE];
static _Atomic size_t early_used;
/* Volatile: compilers believe that dlsym() calls nothing of this file, and it does, to give back the text of an error before. */
static OWN_TLS volatile bool finding;

static bool is_early(const void *address)
{
	return (uintptr_t)address - (uintptr_t)early < EARLY_SIZE;
}

/* Its size is before it. It is all zero, and never used again. */
static void *early_get(size_t size)
{
	const size_t room = (size + 2 * EARLY_ALIGN - 1) / EARLY_ALIGN * EARLY_ALIGN;
	size_t at;

	if (size > EARLY_SIZE)
		return NULL;
	at = atomic_fetch_add(&early_used, room);
	if (at + room > EARLY_SIZE)
		return NULL;
	memcpy(&early[at], &size, sizeof(size));
	return &early[at + EARLY_ALIGN];
}

static size_t early_size(const void *address)
{
	size_t size;

	memcpy(&size, (const char *)address - EARLY_ALIGN, sizeof(size));
	return size;
}

static heap_fn *find(enum heap_function f)
{
	int saved = errno;
	heap_fn *next = NULL;
	void *symbol;

	if (finding)
		return NULL;
	finding = true;
	symbol = dlsym(RTLD_NEXT, names[f]);
	finding = false;
	memcpy(&next, &symbol, sizeof(next));
	atomic_store_explicit(&next_of[f], next, memory_order_relaxed);
	errno = saved;
	return next;
}

static inline heap_fn *next_function(enum heap_function f)
{
	heap_fn *next = atomic_load_explicit(&next_of[f], memory_order_relaxed);

	return cap_likely(next != NULL) ? next : find(f);
}

void kymo_door_find_heap(void)
{
	for (unsigned f = 0; f < FUNCTIONS; f++)
		find((enum heap_function)f);
}

static void *none(void)
{
	errno = ENOMEM;
	return NULL;
}

/* ---- what is told ---- */

#define UNKNOWN_YET                                                                                \
	(64 << 10) /* bytes after which a thread looks again whether anything is recorded */

static _Atomic uint8_t
	no_filter[HEAP_LISTS / 8]; /* not constant, which would be so much of the file */
static const _Atomic uint8_t *_Atomic filter = no_filter;
static _Atomic bool started;
static OWN_TLS struct heap_thread own;

static __attribute__((noinline, cold)) void used_up(const void *address, size_t size,
						    const void *caller)
{
	/* A part of an allocation that is being made, or a handler that has interrupted it. */
	if (own.inside && (const char *)cap_sp() < (const char *)own.inside)
		return;
	if (!atomic_load_explicit(&started, memory_order_acquire))
		own.left = UNKNOWN_YET;
	else
		kymo_heap_took(&own, address, size, caller);
}

static inline void took(const void *address, size_t size, const void *caller)
{
	const int64_t left = own.left - (int64_t)size - (size == 0);

	if (cap_unlikely(!address))
		return;
	own.left = left;
	if (cap_unlikely(left <= 0))
		used_up(address, size, caller);
}

static inline bool may_be_sample(const void *address)
{
	return heap_may_have(atomic_load_explicit(&filter, memory_order_relaxed), address);
}

static __attribute__((noinline, cold)) void gives(const void *address)
{
	const uint32_t sample = kymo_heap_drop(address);

	if (sample)
		kymo_heap_freed(&own, sample);
}

/* ---- the functions ---- */

EXPORT void *malloc(size_t size)
{
	__typeof__(&malloc) next = NEXT(malloc);
	void *p;

	if (cap_unlikely(!next))
		return finding ? early_get(size) : none();
	p = next(size);
	took(p, size, CALLER);
	return p;
}

EXPORT void free(void *p)
{
	__typeof__(&free) next = NEXT(free);

	if (cap_unlikely(may_be_sample(p)))
		gives(p);
	if (cap_likely(next && !is_early(p)))
		next(p);
}

EXPORT void *calloc(size_t count, size_t size)
{
	__typeof__(&calloc) next = NEXT(calloc);
	void *p;

	if (cap_unlikely(!next)) {
		if (!finding || __builtin_mul_overflow(count, size, &size))
			return none();
		return early_get(size);
	}
	p = next(count, size);
	took(p, count * size, CALLER); /* it did not overflow, if there is any */
	return p;
}

static void *early_move(const void *from, size_t size)
{
	const size_t before = early_size(from);
	void *p = malloc(size);

	if (p)
		memcpy(p, from, before < size ? before : size);
	return p;
}

/* What was there is freed, and something is allocated: unless it fails. */
static __attribute__((noinline, cold)) void *move_sample(void *from, size_t size)
{
	const uint32_t sample = kymo_heap_drop(from);
	void *p = NEXT(realloc)(from, size);

	if (sample && (p || !size))
		kymo_heap_freed(&own, sample);
	else if (sample)
		kymo_heap_keep(sample);
	return p;
}

static inline void *reallocate(void *from, size_t size, const void *caller)
{
	__typeof__(&realloc) next = NEXT(realloc);
	void *p;

	if (cap_unlikely(from && is_early(from)))
		return early_move(from, size);
	if (cap_unlikely(!next))
		return finding && !from ? early_get(size) : none();
	p = cap_unlikely(may_be_sample(from)) ? move_sample(from, size) : next(from, size);
	took(p, size, caller);
	return p;
}

EXPORT void *realloc(void *from, size_t size)
{
	return reallocate(from, size, CALLER);
}

EXPORT void *reallocarray(void *from, size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? none()
							   : reallocate(from, bytes, CALLER);
}

/* Allocators may make one of these of another: it is one allocation. */
#define DEFINE_ALIGNED(name, parameters, arguments)                                                \
	EXPORT void *name parameters                                                               \
	{                                                                                          \
		__typeof__(&(name)) next = NEXT(name);                                             \
		const void *outer = own.inside;                                                    \
		void *p;                                                                           \
                                                                                                   \
		if (!next)                                                                         \
			return none();                                                             \
		own.inside = cap_sp();                                                             \
		p = next arguments;                                                                \
		own.inside = outer;                                                                \
		took(p, size, CALLER);                                                             \
		return p;                                                                          \
	}

DEFINE_ALIGNED(memalign, (size_t alignment, size_t size), (alignment, size))
DEFINE_ALIGNED(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
DEFINE_ALIGNED(valloc, (size_t size), (size))
DEFINE_ALIGNED(pvalloc, (size_t size), (size))

EXPORT int posix_memalign(void **p, size_t alignment, size_t size)
{
	__typeof__(&posix_memalign) next = NEXT(posix_memalign);
	const void *outer = own.inside;
	int error;

	if (!next)
		return ENOMEM;
	own.inside = cap_sp();
	error = next(p, alignment, size);
	own.inside = outer;
	if (!error)
		took(*p, size, CALLER);
	return error;
}

static void forked(void)
{
	own.tid = 0;
	kymo_heap_forked();
}

__attribute__((constructor)) static void loaded(void)
{
	const _Atomic uint8_t *samples;
	int saved = errno;

	kymo_door_find_heap(); /* now, and not first in a signal's handler */
	samples = kymo_heap_start(early);
	if (samples) {
		atomic_store(&filter, samples);
		own.left = 0;
		atomic_store(&started, true);
		pthread_atfork(NULL, NULL, forked); /* behind core's own */
	}
	errno = saved;
}
