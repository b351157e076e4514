/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of allocations, in the thread that allocates. It may hold any lock, the loader's or one of Kymo's too, and be
 * in a signal's handler: so nothing is recorded here, no memory is asked for, and no lock is taken but that of live.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own_code.h"
#include "base/variables.h"
#include "capture/heap/heap.h"
#include "core/capture.h"
#include "core/process/life.h"
#include "core/unwind/unwind.h"

#define ORDINARY_INTERVAL (512u << 10)
#define OWN_FRAMES        6u /* of the door and of this file, at most */

static bool started;
static _Atomic uint32_t
	process; /* that has the samples: no child of vfork(), nor one of fork() before it is in order */
static uint64_t interval = ORDINARY_INTERVAL;

/* ---- the C library, whose functions allocate for who calls them ---- */

static struct {
	uintptr_t start, end;
} c_library[2];

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	const uintptr_t in[2] = {(uintptr_t)&fopen, (uintptr_t)getauxval(AT_BASE)};

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		for (unsigned k = 0; k < 2; k++) {
			if (in[k] - start < p->p_memsz || (k == 1 && info->dlpi_addr == in[k])) {
				c_library[k].start = start;
				c_library[k].end = start + p->p_memsz;
			}
		}
	}
	return 0;
}

static bool in_c_library(uint64_t address)
{
	for (unsigned k = 0; k < 2; k++)
		if (address - c_library[k].start < c_library[k].end - c_library[k].start)
			return true;
	return false;
}

/* Who called the C library is Kymo. */
static bool is_own(const uint64_t *addresses, uint32_t count)
{
	uint32_t i = 0;

	while (i < count && in_c_library(addresses[i]))
		i++;
	return i < count && own_code_has((const void *)(uintptr_t)addresses[i]);
}

/* ---- samples ---- */

static bool is_wanted(const void *caller)
{
	const struct cap_thread *t = cap_thread_current;

	return atomic_load_explicit(&process, memory_order_relaxed) == (uint32_t)getpid() &&
	       !own_code_has(caller) && !core_life_here() &&
	       !(t && t->magic == CAP_THREAD_MAGIC && t->guard);
}

static uint64_t innermost_call(void)
{
	const struct cap_thread *t = cap_thread_current;

	return t && t->magic == CAP_THREAD_MAGIC ? t->current : 0;
}

static uint32_t thread_of(struct heap_thread *t)
{
	if (!t->tid)
		t->tid = (uint32_t)syscall(SYS_gettid);
	return t->tid;
}

static void seed(struct heap_thread *t)
{
	t->random = clock_ns(CLOCK_MONOTONIC_RAW) * 0x9e3779b97f4a7c15ull ^ (uint64_t)(uintptr_t)t ^
		    (uint64_t)syscall(SYS_gettid) << 32;
	t->random |= 1;
}

/* The stack from who called the door on. */
static uint32_t stack_of(const void *caller, uint64_t *addresses, struct heap_event *e)
{
	struct unwind_registers here = {0};
	enum stack_end end = STACK_UNKNOWN;
	uint32_t count, skip = 0;

#if defined(__x86_64__)
	UNWIND_HERE(here);
#else
	here.fp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	here.sp = here.fp;
	here.pc = (uint64_t)(uintptr_t) && place;
place:
#endif
	count = unwind_stack(&here, 0, addresses, HEAP_DEPTH, &end);
	while (skip < count && skip < OWN_FRAMES && addresses[skip] != (uintptr_t)caller)
		skip++;
	if (skip == count || skip == OWN_FRAMES) { /* not found: the caller alone */
		addresses[0] = (uintptr_t)caller;
		count = 1;
		skip = 0;
		end = STACK_NO_RULE;
	}
	memmove(addresses, addresses + skip, (count - skip) * sizeof(*addresses));
	addresses[0]--; /* as samples have the place itself */
	e->count = (uint16_t)(count - skip);
	e->end = (uint8_t)end;
	return e->count;
}

static __attribute__((noinline)) void sample(struct heap_thread *t, const void *address,
					     uint64_t size, const void *caller)
{
	const double p = heap_probability(size, interval);
	struct heap_sample s = {.address = (uintptr_t)address, .size = size, .objects = 1 / p};
	struct heap_event e = {.kind = HEAP_EVENT_ALLOCATE, .tid = thread_of(t)};
	uint64_t addresses[HEAP_DEPTH];

	s.bytes = (uint64_t)((double)size / p + 0.5);
	e.correlation = innermost_call();
	if (!is_own(addresses, stack_of(caller, addresses, &e)))
		heap_live_add(&s, &e, addresses);
}

void kymo_heap_took(struct heap_thread *t, const void *address, uint64_t size, const void *caller)
{
	const int saved = errno;
	struct cap_timed cost;

	if (!t->random) {
		seed(t);
		t->left += heap_gap(&t->random, interval);
		if (t->left > 0)
			return;
	}
	t->left = heap_gap(&t->random, interval);
	if (is_wanted(caller)) {
		cap_timed_begin(&cost);
		sample(t, address, size, caller);
		cap_timed_end(&cost, UINT64_MAX);
	}
	errno = saved;
}

uint32_t kymo_heap_drop(const void *address)
{
	const int saved = errno;
	struct cap_timed cost;
	uint32_t found = 0;

	cap_timed_begin(&cost);
	if (atomic_load_explicit(&process, memory_order_relaxed) == (uint32_t)getpid())
		found = heap_live_remove((uintptr_t)address);
	cap_timed_end(&cost, UINT64_MAX);
	errno = saved;
	return found;
}

void kymo_heap_freed(struct heap_thread *t, uint32_t sample)
{
	const int saved = errno;
	struct cap_timed cost;

	cap_timed_begin(&cost);
	heap_live_end(sample, thread_of(t), innermost_call());
	cap_timed_end(&cost, UINT64_MAX);
	errno = saved;
}

void kymo_heap_keep(uint32_t sample)
{
	const int saved = errno;

	heap_live_restore(sample);
	errno = saved;
}

void kymo_heap_forked(void)
{
	const int saved = errno;

	if (started)
		cap_thread_attach();
	errno = saved;
}

/* ---- start ---- */

static const char *library_of(const void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) && info.dli_fname ? info.dli_fname : NULL;
}

/* Programs may have allocators of their own, which the door does not stand before. */
static void tell_others(const void *door)
{
	const char *first = library_of(dlsym(RTLD_DEFAULT, "malloc")), *own = library_of(door);
	const char *library = library_of(dlsym(RTLD_DEFAULT, "_Znwm"));

	/* One that ran already calls the door by its tables, which the linker's search does not know of. */
	if (first && own && strcmp(first, own) != 0 && !variable("KYMO_ATTACHED_BY"))
		cap_note(2, "heap", "what is allocated is not seen: %s has a malloc() of its own",
			 first);
	if (library && !strstr(library, "/libstdc++") && !strstr(library, "/libc++"))
		cap_note(1, "heap",
			 "what C++ allocates may not be seen: %s has an operator new of its own, "
			 "which need not "
			 "call malloc()",
			 library);
}

/* As the launcher has checked it: the table of options has no place in programs for this alone. */
static void read_interval(void)
{
	const char *text = variable("KYMO_HEAP_INTERVAL");
	char *end;
	uint64_t bytes = text ? strtoull(text, &end, 10) : 0;

	if (!bytes)
		return;
	if (*end == 'K' || *end == 'k')
		bytes <<= 10;
	else if (*end == 'M' || *end == 'm')
		bytes <<= 20;
	else if (*end == 'G' || *end == 'g')
		bytes <<= 30;
	interval = bytes;
}

static void start(void)
{
	cap_load();
	own_code_find();
	dl_iterate_phdr(find_library, NULL);
	read_interval();
	started = heap_live_init() && heap_write_start();
	atomic_store(&process, started ? (uint32_t)getpid() : 0);
}

void heap_call_fork_child(void)
{
	heap_live_fork_child();
	atomic_store(&process, started ? (uint32_t)getpid() : 0);
}

const _Atomic uint8_t *kymo_heap_start(const void *door)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const int saved = errno;

	if (cap_futex_works())
		pthread_once(&once, start);
	if (started)
		tell_others(door);
	errno = saved;
	return started ? heap_live_filter() : NULL;
}
