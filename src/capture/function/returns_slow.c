/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs out of the ordinary: a thread's first call, calls that end with another one, calls that longjmp or an exception has left,
 * coroutines. All registers are saved.
 */
#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/careful.h"
#include "capture/function/returns.h"
#include "core/unwind/unwind.h"

#define BLOCK     32u  /* stubs that a thread gets at once */
#define LOOKED_AT 256u /* in doubt, for one that is free ... */
#define RESTS     64u  /* ... and how often it is not looked for, after none was */
#define KEPT                                                                                       \
	(FUNCTION_FRAMES + BLOCK) /* that it keeps: deeper calls come and go slowly all the same */

_Thread_local struct function_thread function_thread;
struct function_return function_return_table[FUNCTION_RETURNS];
uint64_t function_return_since[FUNCTION_RETURNS];

/*
 * Stubs that no thread has. There is no lock: a thread that has it but no processor would make others miss calls.
 * Of those in a pile: the first of them, and above how often that has changed.
 */
static _Atomic uint32_t fresh = 1; /* never used from here on */
static _Atomic uint64_t returned;  /* free */
static _Atomic uint64_t doubtful; /* in doubt, which their threads had more of than they may keep */
static _Atomic uint32_t following[FUNCTION_RETURNS]; /* the next one of a pile */
static pthread_key_t end_key;
static bool keyed;

/* ---- stubs of threads ---- */

static uint32_t take_from(_Atomic uint64_t *pile)
{
	uint64_t seen = atomic_load(pile), then;

	do {
		if (!(uint32_t)seen)
			return 0;
		then = ((seen >> 32) + 1) << 32 | atomic_load(&following[(uint32_t)seen]);
	} while (!atomic_compare_exchange_weak(pile, &seen, then));
	return (uint32_t)seen;
}

static void put_on(_Atomic uint64_t *pile, uint32_t at)
{
	uint64_t seen = atomic_load(pile), then;

	do {
		atomic_store(&following[at], (uint32_t)seen);
		then = ((seen >> 32) + 1) << 32 | at;
	} while (!atomic_compare_exchange_weak(pile, &seen, then));
}

static void give_back(uint32_t at)
{
	put_on(&returned, at);
}

static uint32_t take_fresh(void)
{
	uint32_t at = atomic_load(&fresh);

	while (at < FUNCTION_RETURNS && !atomic_compare_exchange_weak(&fresh, &at, at + 1))
		;
	return at < FUNCTION_RETURNS ? at : 0;
}

/* Nobody will return through it: the place on the stack has something else, or is no memory any more. */
static bool is_settled(const struct function_return *r, uint32_t at)
{
	const void *const *slot = __atomic_load_n(&r->slot, __ATOMIC_ACQUIRE);
	const void *there;

	return !slot || careful_copy(&there, slot, sizeof(there)) != sizeof(there) ||
	       there != function_return_stub(at);
}

/* Of those that are looked at the others are in doubt as before. */
static uint32_t take_doubtful(void)
{
	static _Atomic bool vain;
	static _Atomic uint32_t turn;
	uint32_t kept = 0, found = 0, at;

	if (atomic_load(&vain) && atomic_fetch_add(&turn, 1) % RESTS != RESTS - 1)
		return 0;
	for (unsigned i = 0; i < LOOKED_AT && !found && (at = take_from(&doubtful)) != 0; i++)
		if (is_settled(&function_return_table[at], at)) {
			found = at;
		} else {
			function_return_table[at].call.next = kept;
			kept = at;
		}
	while (kept) {
		at = kept;
		kept = function_return_table[at].call.next;
		put_on(&doubtful, at);
	}
	atomic_store(&vain, !found);
	return found;
}

static uint32_t take_one(void)
{
	uint32_t at = take_from(&returned);

	at = at ? at : take_fresh();
	return at ? at : take_doubtful();
}

/* Those in doubt whose place on the stack has something else by now are free. */
static void settle(struct function_thread *s)
{
	uint32_t at = s->doubt, next;

	s->doubt = 0;
	for (; at; at = next) {
		struct function_return *r = &function_return_table[at];

		next = r->call.next;
		if (r->slot && function_is_return(*r->slot) && function_return_of(*r->slot) == at) {
			r->call.next = s->doubt;
			s->doubt = at;
		} else {
			function_give(s, at);
		}
	}
}

static bool stock(struct function_thread *s)
{
	if (s->free)
		return true;
	settle(s);
	if (s->free)
		return true;
	for (uint32_t i = 0; i < BLOCK; i++) {
		uint32_t at = take_one();

		if (!at)
			break;
		function_give(s, at);
		s->count++;
	}
	if (keyed && s->free)
		pthread_setspecific(end_key, s);
	return s->free != 0;
}

/* After a deep recursion. What a signal's handler has interrupted may be about to take the first one, and knows the second. */
static void keep_few(struct function_thread *s)
{
	const uint32_t second = function_return_table[s->free].call.next,
		       third = function_return_table[second].call.next;

	if (cap_likely(s->count <= KEPT) || !s->free || !second || !third)
		return;
	function_return_table[second].call.next = function_return_table[third].call.next;
	s->count--;
	give_back(third);
}

static void give_back_all(uint32_t at)
{
	for (uint32_t next; at; at = next) {
		next = function_return_table[at].call.next;
		give_back(at);
	}
}

static const void **change_slot(struct function_return *r, const void **slot)
{
	return __atomic_exchange_n(&r->slot, slot, __ATOMIC_ACQ_REL);
}

/*
 * Of the calls that are open, pthread_exit() has left those on the thread's own stack below, and those whose places have something
 * else in them by now. Contexts on other stacks may go on in other threads.
 */
static bool is_over(const struct function_return *r, uint32_t at, const void *sp)
{
	if (!r->slot || !cap_same_stack(r->slot, sp))
		return !r->slot;
	return (const void *)r->slot < sp || *r->slot != function_return_stub(at);
}

static void give_back_open(uint32_t at, const void *sp)
{
	for (uint32_t next; at; at = next) {
		struct function_return *r = &function_return_table[at];

		next = r->call.next;
		if (is_over(r, at, sp) || !change_slot(r, FUNCTION_NOBODYS))
			give_back(at);
	}
}

static void thread_ends(void *data)
{
	struct function_thread *s = data;

	s->busy++;
	s->busy_slot = (const void **)cap_sp();
	give_back_all(s->free);
	give_back_all(s->doubt);
	give_back_open(s->open, cap_sp());
	s->free = s->doubt = s->open = s->count = 0;
	s->busy--;
}

static __attribute__((constructor)) void begin(void)
{
	keyed = pthread_key_create(&end_key, thread_ends) == 0;
}

static void work_begins(struct function_thread *s, const void **slot)
{
	if (!s->busy)
		s->busy_slot = slot;
	atomic_signal_fence(memory_order_seq_cst);
	s->busy++;
}

/* ---- calls that were left ---- */

/* They lie below the stack pointer of this stack, or another thread has seen them return. */
static bool was_left(const struct function_return *r, const void **slot)
{
	return !r->slot || (r->slot <= slot && cap_same_stack(r->slot, slot));
}

static void drop_left(struct function_thread *s, const void **slot)
{
	while (s->open && was_left(&function_return_table[s->open], slot)) {
		struct function_return *r = &function_return_table[s->open];
		uint32_t at = s->open;

		s->open = r->call.next;
		if (!r->call.frame) /* too deep for a record, which somebody else would end */
			function_end(&r->call, NULL);
		if (s->count > KEPT) {
			s->count--;
			put_on(&doubtful, at);
		} else {
			r->call.next = s->doubt;
			s->doubt = at;
		}
	}
}

/* ---- entering ---- */

/* A function that ends with a call of another one is over when that one begins. */
static void end_before(struct function_thread *s, const void **slot)
{
	uint32_t at = function_return_of(*slot);
	struct function_return *r = &function_return_table[at];

	if (s->open != at || r->slot != slot)
		return;
	function_end(&r->call, function_around(r));
	*slot = r->original;
	function_close(s, at);
}

static void enter(struct function_thread *s, struct cap_op *op, const void **slot)
{
	struct function_return *r;
	uint32_t at;

	if (function_is_return(*slot))
		end_before(s, slot);
	if (s->open && function_return_table[s->open].slot <= slot)
		drop_left(s, slot);
	if (!stock(s)) {
		cap_count_untraced("function", "functions where too many calls are open");
		return;
	}
	at = s->free;
	function_take(s, at);
	r = &function_return_table[at];
	function_begin(&r->call, op, function_original(*slot), slot + 1);
	if (r->call.frame || r->call.start)
		function_open(s, at, slot, r->call.frame ? r->call.frame->start : r->call.start);
	else
		function_give(s, at);
}

/* The slow path was at work when a signal came, unless the handler has left it by siglongjmp(), or Kymo calls what is traced. */
static bool passes(struct function_thread *s, const void **slot)
{
	if (cap_likely(!s->busy))
		return false;
	if (slot >= s->busy_slot && cap_same_stack(slot, s->busy_slot)) {
		s->busy = 0;
		return false;
	}
	if (s->busy++ == 1 && cap_in_handler(slot))
		function_passed();
	s->busy--;
	return true;
}

void function_enter_slow(struct cap_op *op, const void **slot)
{
	struct function_thread *s = &function_thread;
	int saved = errno;

	if (passes(s, slot))
		return;
	work_begins(s, slot);
	enter(s, op, slot);
	s->busy--;
	errno = saved;
}

void function_hook_slow(uintptr_t address, const void **slot)
{
	struct cap_op *op = function_find(address);

	if (op)
		function_enter_slow(op, slot);
}

/* ---- leaving ---- */

static bool unlink_open(struct function_thread *s, uint32_t at)
{
	uint32_t *link = &s->open;

	while (*link && *link != at)
		link = &function_return_table[*link].call.next;
	if (!*link)
		return false;
	*link = function_return_table[at].call.next;
	return true;
}

/* It was entered by another thread, or its thread believed it to be left: whoever has it, if somebody has, will see that it is over. */
static void leave_elsewhere(struct function_return *r, uint32_t at)
{
	if (change_slot(r, NULL) == FUNCTION_NOBODYS)
		give_back(at);
}

static void leave(struct function_thread *s, uint32_t at, const void **slot)
{
	struct function_return *r = &function_return_table[at];

	if (s->open != at)
		drop_left(s, slot - 1);
	if (s->open == at) {
		function_end(&r->call, function_around(r));
		function_close(s, at);
	} else if (unlink_open(s, at)) {
		function_end(&r->call, NULL);
		function_give(s, at);
	} else {
		leave_elsewhere(r, at);
	}
}

const void *function_leave_slow(const void **slot)
{
	struct function_thread *s = &function_thread;
	uint32_t at = function_return_of(*slot);
	const void *original = function_return_table[at].original;
	int saved = errno;

	work_begins(s, slot);
	leave(s, at, slot);
	keep_few(s);
	s->busy--;
	errno = saved;
	return original;
}

/* ---- for others ---- */

bool kymo_function_stub(const void *address)
{
	return function_is_return(address);
}

bool function_returns_on;

/* The kernel tells of each thread; the first one's program has made the choice for all. */
static bool shadow_stack(void)
{
	char text[512];
	FILE *f = fopen("/proc/self/status", "re");
	bool on = false;

	while (f && fgets(text, sizeof(text), f))
		on |= strncmp(text, "x86_Thread_features:", 20) == 0 && strstr(text, "shstk");
	if (f)
		fclose(f);
	return on;
}

bool function_returns_usable(const char **why)
{
	unsigned a, b, c = 0, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		*why = "this processor has no instruction to save all registers";
	else if (shadow_stack())
		*why = "the program has a shadow stack, which return addresses must not differ "
		       "from";
	else
		function_returns_on = true;
	if (function_returns_on)
		unwind_stubs(&(struct unwind_stubs){
			.start = (uintptr_t)function_returns,
			.bytes = (uint64_t)((uintptr_t)function_returns_end -
					    (uintptr_t)function_returns),
			.stride = sizeof(function_return_table[0]),
			.originals = &function_return_table[0].original,
			.since = function_return_since,
		});
	return function_returns_on;
}

const void *function_original(const void *address)
{
	while (function_is_return(address))
		address = function_return_table[function_return_of(address)].original;
	return address;
}
