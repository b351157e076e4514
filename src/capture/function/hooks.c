/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs built with -finstrument-functions: the compiler calls a hook where a function begins and one where it returns. Calls
 * that are open are kept for each thread, so that those which longjmp has left are told from those that return.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "capture/function/function.h"

#define OPEN                                                                                       \
	16384u /* calls of a thread that are open at one time; deeper ones are not traced, which is counted */

struct open_call {
	struct function_call call;
	const void *site;
	const void *sp;       /* of the hook */
	const void *frame_sp; /* what its frame has for it */
};

struct hooks {
	uint32_t depth, beyond; /* `beyond`: open ones that there is no room for */
	struct open_call at[OPEN];
};

static _Thread_local struct hooks *hooks __attribute__((tls_model("initial-exec")));
static pthread_key_t end_key;
static bool keyed;

static void thread_ends(void *data)
{
	hooks = NULL;
	munmap(data, sizeof(struct hooks));
}

static __attribute__((constructor)) void begin(void)
{
	keyed = pthread_key_create(&end_key, thread_ends) == 0;
}

static __attribute__((noinline, cold)) struct hooks *attach(void)
{
	int saved = errno;
	struct hooks *h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (h == MAP_FAILED)
		h = NULL;
	else if (keyed)
		pthread_setspecific(end_key, h);
	hooks = h;
	errno = saved;
	return h;
}

static bool comparable(const void *a, const void *b)
{
	return cap_same_stack(a, a) == cap_same_stack(b, b);
}

/* Frames nest strictly, those of inlined functions as well. */
static const void *below(const struct open_call *around, const void *sp)
{
	const char *most = (const char *)around->frame_sp - 1;

	return comparable(around->sp, sp) && most < (const char *)sp ? most : sp;
}

/*
 * The innermost open call is one that longjmp or an exception has left. A function that was inlined has the stack pointer and the
 * return address of the one around it; one that is entered anew where it was left has them too, but is the same function.
 */
static bool was_left(const struct open_call *o, const struct cap_op *op, const void *site,
		     const void *sp)
{
	if (o->sp == sp)
		return o->site != site || o->call.op == op;
	return (const char *)o->sp < (const char *)sp && cap_same_stack(o->sp, sp);
}

static void begin_open(struct open_call *o, struct cap_op *op, const void *site, const void *sp,
		       const void *frame_sp)
{
	o->site = site;
	o->call.op = op;
	o->sp = sp;
	o->frame_sp = frame_sp;
}

void kymo_function_enter(const void *function, const void *site, const void *sp)
{
	struct cap_op *op = function_find((uintptr_t)function);
	struct hooks *h = hooks;
	const void *frame_sp;
	struct open_call *o;

	if (!op || (!h && !(h = attach())))
		return;
	while (cap_unlikely(h->depth && was_left(&h->at[h->depth - 1], op, site, sp))) {
		h->depth--;
		h->beyond = 0;
	}
	if (cap_unlikely(h->depth == OPEN)) {
		h->beyond++;
		cap_count_untraced("function", "functions nested deeper than 16384");
		return;
	}
	o = &h->at[h->depth];
	frame_sp = h->depth ? below(&o[-1], sp) : sp;
	begin_open(o, op, site, sp, frame_sp);
	atomic_signal_fence(memory_order_seq_cst);
	h->depth++;
	atomic_signal_fence(memory_order_seq_cst);
	/* Until now calls of a signal's handler had the same place. */
	begin_open(o, op, site, sp, frame_sp);
	function_begin(&o->call, op, site, frame_sp);
}

/*
 * Which of the open calls returns. The hook is called from its frame, as when it was entered, or with a few words more on the stack;
 * then it is the innermost one of the function which was not entered below that. Or the hook is what the function ends with:
 * then it is the outermost one below.
 */
static uint32_t which(const struct hooks *h, const struct cap_op *op, const void *sp, bool tail)
{
	uint32_t found = OPEN;

	for (uint32_t i = h->depth; !tail && i-- > 0;)
		if (h->at[i].call.op == op && h->at[i].sp == sp)
			return i;
	for (uint32_t i = h->depth; i-- > 0;) {
		const struct open_call *o = &h->at[i];
		bool below = (const char *)o->sp < (const char *)sp;

		if (o->call.op != op || !comparable(o->sp, sp))
			continue;
		if (tail && !below)
			break;
		found = i;
		if (!tail && !below)
			break;
	}
	return found;
}

/* The call is over, and what was entered below it on its stack. Those of other stacks go on. */
static void remove_call(struct hooks *h, uint32_t at)
{
	const void *sp = h->at[at].sp;
	uint32_t to = at;

	for (uint32_t i = at + 1; i < h->depth; i++)
		if (!cap_same_stack(h->at[i].sp, sp))
			h->at[to++] = h->at[i];
	h->depth = to;
}

void kymo_function_leave(const void *function, const void *site, const void *sp, const void *by)
{
	struct cap_op *op = function_find((uintptr_t)function);
	struct hooks *h = hooks;
	uint32_t at;

	if (!op || !h)
		return;
	if (cap_unlikely(h->beyond)) {
		h->beyond--;
		return;
	}
	at = h->depth - 1;
	if (cap_unlikely(!h->depth || h->at[at].call.op != op || h->at[at].sp != sp))
		at = which(h, op, sp, by == site);
	if (at == OPEN)
		return; /* it was entered before its thread was traced */
	function_end(&h->at[at].call, at ? &h->at[at - 1].call : NULL);
	if (cap_likely(at == h->depth - 1))
		h->depth = at;
	else
		remove_call(h, at);
}
