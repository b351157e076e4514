/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See handler.h. The system does not say whether a thread is in a handler. But a handler returns to a function of the C
 * library whose address lies on the stack above it, in front of the state of what was interrupted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "core/context/context.h"
#include "core/process/handler.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/unwind/unwind.h"

/* Of the kernel's size, for small stacks. The C library's own two stay: whoever changes the user waits for all threads. */
void core_signals_block(uint64_t *before)
{
	const uint64_t all = ~(3ull << 31);

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, sizeof(all));
}

void core_signals_restore(const uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, sizeof(*before));
}

static uintptr_t restorer; /* 0: not known */

#ifdef __x86_64__
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void handle(int signal)
{
}

static uintptr_t find_restorer(int signal)
{
	struct sigaction own = {.sa_handler = handle}, before;
	struct kernel_action seen;

	memset(&seen, 0, sizeof(seen));
	if (sigaction(signal, &own, &before) != 0)
		return 0;
	if (syscall(SYS_rt_sigaction, signal, NULL, &seen, sizeof(seen.mask)) != 0)
		seen.restorer = NULL;
	sigaction(signal, &before, NULL);
	return (uintptr_t)seen.restorer;
}

static void init(void)
{
	const int signal = SIGRTMAX - 1;
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, signal);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	restorer = find_restorer(signal);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Of a signal's frame, from the slot that it begins with on: uc_mcontext's stack pointer, uc_sigmask. */
enum { SP_AT = 168, MASK_AT = 304, FRAME_WORDS = MASK_AT / 8 + 1, SIGNALS = 64 };

/*
 * Some signal has a handler that blocks nothing, not even its own signal. Which one a frame is of it says only where the
 * handler asked for that (SA_SIGINFO).
 */
static bool some_block_nothing(void)
{
	struct kernel_action seen;

	for (int signal = 1; signal <= SIGNALS; signal++) {
		memset(&seen, 0, sizeof(seen));
		if (syscall(SYS_rt_sigaction, signal, NULL, &seen, sizeof(seen.mask)) == 0 &&
		    seen.flags & SA_NODEFER)
			return true;
	}
	return false;
}

/*
 * The slot at `at` begins a signal's frame: behind the address that the handler returns to the system keeps the state of what
 * was interrupted, at its end the signals that were blocked. Frames of handlers that have returned lie about; but while one
 * runs more is blocked than before, unless the program said otherwise (SA_NODEFER): then each that may be live is taken for it,
 * and a call of such a program may be counted that could have been recorded.
 */
static bool is_live(const char *at)
{
	uint64_t frame[FRAME_WORDS] = {0}, now = 0, before;
	const struct iovec here = {frame, sizeof(frame)},
			   there = {(void *)(uintptr_t)at, sizeof(frame)};

	if (syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) != sizeof(frame) ||
	    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, sizeof(now)) != 0)
		return false;
	before = frame[MASK_AT / 8];
	return (now & ~before) != 0 || (frame[SP_AT / 8] > (uintptr_t)at && some_block_nothing());
}

enum { WORDS = 256, LOOKED_AT = 16384, FAR = 1 << 20, PAGE = 4096 /* at least */ };

static bool is_between(const char *at, const char *end)
{
	uintptr_t words[WORDS] = {0};

	while (at < end) {
		/* The stack may end with any page, and what reaches beyond it is not read at all. */
		size_t left = PAGE - (uintptr_t)at % PAGE, most = sizeof(words);
		const struct iovec here = {words, left < most ? left : most},
				   there = {(void *)(uintptr_t)at, here.iov_len};

		if (syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) !=
		    (long)here.iov_len)
			return false;
		for (size_t k = 0; k < here.iov_len / sizeof(*words); k++)
			if (unwind_original(words[k]) == restorer &&
			    is_live(at + k * sizeof(*words)))
				return true;
		at += here.iov_len;
	}
	return false;
}
/* Of a handler that does not return by way of the C library nobody knows where it runs. */
static bool some_return_elsewhere(void)
{
	struct kernel_action seen;

	for (int signal = 1; signal <= SIGNALS; signal++) {
		memset(&seen, 0, sizeof(seen));
		if (syscall(SYS_rt_sigaction, signal, NULL, &seen, sizeof(seen.mask)) == 0 &&
		    seen.handler != SIG_DFL && seen.handler != SIG_IGN &&
		    (uintptr_t)seen.restorer != restorer)
			return true;
	}
	return false;
}

/* Nothing below `end` was interrupted for what runs at `at`. */
static bool none_between(const char *at, const char *end)
{
	return restorer && end - at < FAR && !is_between(at, end) && !some_return_elsewhere();
}
#else
static void init(void)
{
}

static bool is_between(const char *at, const char *end)
{
	return false;
}

static bool none_between(const char *at, const char *end)
{
	return false;
}
#endif

void cap_handlers_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
}

static bool on_alternate_stack(void)
{
	stack_t alternate;

	return sigaltstack(NULL, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK);
}

static const char *word_at(const void *sp)
{
	return (const char *)((uintptr_t)sp & ~(uintptr_t)7);
}

bool cap_in_handler(const void *sp)
{
	int saved = errno;
	bool in = on_alternate_stack() ||
		  (restorer && is_between(word_at(sp), word_at(sp) + LOOKED_AT));

	errno = saved;
	return in;
}

/* ---- what handlers have left ---- */

/*
 * A function whose stack ends at `end` is not there any more. It has called nothing that is traced (but tools, see `guard`):
 * whoever calls is above it, or in a handler. The C library is asked where the stack lies: in a handler only if that is known.
 */
static bool is_left(const void *sp, const void *end)
{
	if ((const char *)sp < (const char *)end && !none_between(word_at(sp), end))
		return false;
	return !on_alternate_stack() && (core_stack_known() || !cap_in_handler(sp)) &&
	       cap_same_stack(sp, end);
}

static const void *section_of(uint64_t busy)
{
	return (const void *)(uintptr_t)(busy & ~(uint64_t)CAP_SECTIONS);
}

uint64_t cap_read_inside(struct cap_thread *t, const void *sp)
{
	const uint64_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);
	int saved = errno;

	if (cap_unlikely((const char *)sp >= (const char *)section_of(busy)) &&
	    is_left(sp, section_of(busy))) {
		errno = saved;
		return (uint64_t)(uintptr_t)sp;
	}
	kymo_assert((busy & CAP_SECTIONS) < CAP_SECTIONS);
	return busy;
}

static _Atomic uint64_t alone[CORE_DOMAINS / 64]; /* by domain */

void cap_records_alone(const struct cap_op *op)
{
	atomic_fetch_or(&alone[op->domain / 64], 1ull << op->domain % 64);
}

/* The call that was being recorded. Of others' runtimes calls may come while that is done. */
static bool frame_is_left(const struct cap_frame *f, const void *sp)
{
	return atomic_load(&alone[f->op->domain / 64]) >> f->op->domain % 64 & 1 &&
	       is_left(sp, f->sp);
}

bool cap_recording_left(struct cap_thread *t, const void *sp)
{
	const uint64_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);
	int saved = errno;
	bool left = !t->guard && (!(busy & CAP_SECTIONS) || is_left(sp, section_of(busy)));

	if (left)
		atomic_store_explicit(&t->busy, 0, memory_order_release);
	if (left && cap_is_recording(t, sp)) {
		left = frame_is_left(&t->frames[t->depth - 1], sp);
		if (left)
			core_frame_left(t);
	}
	errno = saved;
	return left;
}

/* ---- calls ---- */

/* All that the call needs is there: nothing will be locked or allocated for it. A ring takes a new chunk without. */
static bool is_ready(const struct cap_thread *t, const struct cap_op *op, const void *caller)
{
	const uint32_t plan = atomic_load_explicit(&op->plan, memory_order_relaxed);

	return t && t->gate == CAP_GATE_OPEN && !(plan & CAP_PLAN_LOOK) &&
	       t->sites[cap_site_slot((uintptr_t)caller)].address == (uintptr_t)caller &&
	       (!(plan & CAP_PLAN_TALLY) || (t->tallies && t->tallies[op->wire]));
}

/* Nobody wants it; what counts it comes later. */
static bool is_unwanted(const struct cap_op *op)
{
	return atomic_load_explicit(&op->plan, memory_order_relaxed) <= CAP_PLAN_LEFT_OUT &&
	       !atomic_load_explicit(&op->keep, memory_order_relaxed);
}

bool cap_may_enter(struct cap_op *op, const void *caller, const void *sp)
{
	struct cap_thread *t = cap_thread_current;

	if (cap_unlikely(t && t->magic == CAP_THREAD_MAGIC && cap_is_recording(t, sp)) &&
	    !cap_recording_left(t, sp))
		return false;
	return cap_likely(is_ready(t, op, caller)) || is_unwanted(op) || !cap_in_handler(sp);
}
