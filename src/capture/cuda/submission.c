/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call submitted a piece of device work, and what was captured then. CUPTI numbers calls with
 * 32 bits, going round; the newest calls that submit work are kept in a table that is written and
 * read without locks. Device work whose call has been overwritten meanwhile is recorded without it,
 * and counted.
 *
 * Where tools have more to keep (callbacks, filters, external ids, retirement), the slot has an entry
 * on the side, under a lock. A launch makes one record, which takes the entry; other calls may make
 * several, of graphs and batches: their entries end a while after the last record, when their slot
 * is used again, or with the process.
 *
 * CUPTI may give all calls of a thread one number (docs/cuda.md). Work of a number that a second call
 * used before another number took its slot may be of either: it is recorded without its call, too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "capture/cuda/backend.h"
#include "core/activity/ordinary.h"

#define ORIGINS (1u << 18) /* submissions under way; 16 MiB of address space, touched as needed */

/* Of the key of a slot, whose low half is the correlation number. 0: being written, or never was. */
#define USED   (1ull << 32)
#define SHARED (1ull << 33) /* several calls used it: it tells no call */

/* Captured at submission, of which nobody can say what kind of work will come of it. */
struct kept {
	struct kept *next, **link; /* all entries, the oldest first */
	uint32_t correlation;
	bool single;
	uint64_t call, start;
	uint64_t seen; /* tick of the latest record; 0: none yet */
	struct cap_submission submissions[CUDA_WORKS];
};

struct slot {
	_Atomic uint64_t key;
	_Atomic uint64_t call;
	_Atomic uint64_t start;
	_Atomic int64_t scope;
	_Atomic uint64_t launch_buffers, copy_buffers;
	_Atomic uint64_t epoch;
	struct kept *_Atomic kept; /* changed under the lock; then it has what the rest lacks */
};

static struct slot *slots;
static _Atomic uint64_t missed, shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *oldest, **newest = &oldest;

bool cuda_submissions_init(void)
{
	void *p = mmap(NULL, ORIGINS * sizeof(*slots), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	slots = p;
	return true;
}

static struct cap_op *op_of(enum cuda_work work)
{
	switch (work) {
	case CUDA_WORK_LAUNCH:
		return &core_dispatch_ops[DISPATCH_OP_LAUNCH];
	case CUDA_WORK_READ:
		return &core_copy_ops[COPY_OP_READ];
	case CUDA_WORK_WRITE:
		return &core_copy_ops[COPY_OP_WRITE];
	case CUDA_WORK_COPY:
		return &core_copy_ops[COPY_OP_COPY];
	case CUDA_WORK_FILL:
	case CUDA_WORKS:
		break;
	}
	return &core_copy_ops[COPY_OP_FILL];
}

/* ---- entries on the side ---- */

/* Caller holds the lock. The entry is the caller's then. */
static struct kept *take_out(struct slot *s)
{
	struct kept *k = atomic_load(&s->kept);

	if (!k)
		return NULL;
	atomic_store(&s->kept, NULL);
	*k->link = k->next;
	if (k->next)
		k->next->link = k->link;
	else
		newest = k->link;
	return k;
}

static void end(struct kept *k)
{
	for (unsigned i = 0; k && i < CUDA_WORKS; i++)
		cap_submission_end(&k->submissions[i]);
	free(k);
}

static void keep(struct slot *s, struct kept *k)
{
	struct kept *old;

	pthread_mutex_lock(&lock);
	old = take_out(s);
	k->next = NULL;
	k->link = newest;
	*newest = k;
	newest = &k->next;
	atomic_store(&s->kept, k);
	pthread_mutex_unlock(&lock);
	end(old);
}

static void drop(struct slot *s, uint32_t correlation)
{
	struct kept *k;

	pthread_mutex_lock(&lock);
	k = atomic_load(&s->kept);
	k = k && k->correlation == correlation ? take_out(s) : NULL;
	pthread_mutex_unlock(&lock);
	end(k);
}

/* Inside a call of the runtime comes one of the driver with the same number: the outer one counts. */
static bool kept_by(struct slot *s, uint32_t correlation, uint64_t call)
{
	struct kept *k;
	bool is;

	if (!atomic_load_explicit(&s->kept, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&lock);
	k = atomic_load(&s->kept);
	is = k && k->correlation == correlation && k->call == call;
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- submission ---- */

/* True: it fits in a slot. */
static bool plain(const struct cap_submission *o, unsigned works)
{
	for (unsigned i = 0; i < works; i++)
		if (o[i].more || (i > CUDA_WORK_READ && o[i].buffers != o[CUDA_WORK_READ].buffers))
			return false;
	return true;
}

static void write_slot(struct slot *s, uint32_t correlation, uint64_t start,
		       const struct cap_submission *o, uint64_t copy_buffers)
{
	atomic_store_explicit(&s->key, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&s->call, o->call, memory_order_relaxed);
	atomic_store_explicit(&s->start, start, memory_order_relaxed);
	atomic_store_explicit(&s->scope, o->scope, memory_order_relaxed);
	atomic_store_explicit(&s->launch_buffers, o[CUDA_WORK_LAUNCH].buffers,
			      memory_order_relaxed);
	atomic_store_explicit(&s->copy_buffers, copy_buffers, memory_order_relaxed);
	atomic_store_explicit(&s->epoch, o->epoch, memory_order_relaxed);
	atomic_store_explicit(&s->key, USED | correlation, memory_order_release);
}

static __attribute__((noinline, cold)) void put_more(struct slot *s, uint32_t correlation,
						     uint64_t start, unsigned works,
						     struct cap_submission *o)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (!k) { /* without what tools have to do with it */
		for (unsigned i = 0; i < works; i++)
			cap_submission_end(&o[i]);
		return;
	}
	k->correlation = correlation;
	k->single = works == 1;
	k->call = o->call;
	k->start = start;
	for (unsigned i = 0; i < works; i++)
		k->submissions[i] = o[i];
	keep(s, k);
}

void cuda_submission_expect(uint32_t correlation)
{
	__builtin_prefetch(&slots[correlation % ORIGINS], 1);
}

/* Buffers that want copies of each kind; false: they differ, or tools have more to do with them. */
static bool copies_alike(uint64_t *buffers)
{
	static const uint8_t others[] = {COPY_OP_WRITE, COPY_OP_COPY, COPY_OP_FILL};
	const struct cap_op *op = &core_copy_ops[COPY_OP_READ];
	uint64_t differ = 0;
	bool asked = atomic_load_explicit(&op->callbacks, memory_order_relaxed);

	*buffers = atomic_load_explicit(&op->buffers, memory_order_acquire);
	for (unsigned i = 0; i < sizeof(others); i++) {
		op = &core_copy_ops[others[i]];
		differ |= *buffers ^ atomic_load_explicit(&op->buffers, memory_order_acquire);
		asked |= atomic_load_explicit(&op->callbacks, memory_order_relaxed) != NULL;
	}
	return !differ && !asked;
}

/* What all that a call may submit has in common is taken once. False: nothing was done. */
static inline __attribute__((always_inline)) bool
put_ordinary(struct slot *s, uint32_t correlation, const struct cap_frame *call, bool launch)
{
	struct cap_submission o;
	uint64_t copies = 0;

	if (cap_unlikely(atomic_load_explicit(&s->kept, memory_order_relaxed) != NULL) ||
	    cap_unlikely(
		    !cap_submission_ordinary(&o, call, &core_dispatch_ops[DISPATCH_OP_LAUNCH])) ||
	    (!launch && cap_unlikely(!copies_alike(&copies) || copies != o.buffers)))
		return false;
	write_slot(s, correlation, call->start, &o, copies);
	return true;
}

/* Calls inside each other have one number; all but the innermost are where this thread is. */
static bool open_here(const struct slot *s)
{
	const uint64_t id = atomic_load_explicit(&s->call, memory_order_relaxed);
	const uint64_t start = atomic_load_explicit(&s->start, memory_order_relaxed);
	const struct cap_thread *t = cap_thread_current;

	if (!start) /* cuda_submission_none() */
		return cuda_call_passed(
			(uint32_t)atomic_load_explicit(&s->key, memory_order_relaxed));
	for (uint32_t i = t ? atomic_load_explicit(&t->depth, memory_order_relaxed) : 0; i-- > 0;)
		if (t->frames[i].start == start && (id == 0 || t->frames[i].id == id))
			return true;
	return false;
}

static inline bool is_number_of(const struct slot *s, uint32_t correlation)
{
	return (uint32_t)atomic_load_explicit(&s->key, memory_order_relaxed) == correlation;
}

/* The number is that of a call already, which this one is not part of. */
static __attribute__((noinline)) bool used_by_another(struct slot *s, uint32_t correlation)
{
	const uint64_t key = atomic_load_explicit(&s->key, memory_order_relaxed);
	struct kept *old;

	if (!key || (!(key & SHARED) && open_here(s)))
		return false;
	atomic_store_explicit(&s->key, USED | SHARED | correlation, memory_order_release);
	pthread_mutex_lock(&lock);
	old = take_out(s);
	pthread_mutex_unlock(&lock);
	end(old);
	return true;
}

/* Filters decide of single pieces of work: what several calls submitted they are asked of when it is complete. */
static uint64_t unfiltered(const struct cap_op *op, const struct cap_thread *t)
{
	if (!t || atomic_load_explicit(&op->callbacks, memory_order_relaxed))
		return 0;
	return atomic_load_explicit(&op->buffers, memory_order_acquire) &
	       ~atomic_load_explicit(&t->paused, memory_order_relaxed);
}

/* Work of a number is recorded where one of its calls was, though it may have been submitted by one that was not. */
static void record_shared(struct slot *s, bool launch)
{
	atomic_fetch_or(&s->launch_buffers,
			unfiltered(op_of(CUDA_WORK_LAUNCH), cap_thread_current));
	if (!launch)
		atomic_fetch_or(&s->copy_buffers,
				unfiltered(op_of(CUDA_WORK_READ), cap_thread_current));
}

static __attribute__((noinline)) void put_slow(struct slot *s, uint32_t correlation,
					       const struct cap_frame *call, bool launch,
					       const struct cap_subject *subject)
{
	const unsigned works = launch ? CUDA_WORK_LAUNCH + 1 : CUDA_WORKS;
	struct cap_submission o[CUDA_WORKS];
	struct kept *old = NULL;

	if (is_number_of(s, correlation) && used_by_another(s, correlation)) {
		record_shared(s, launch);
		return;
	}
	if (put_ordinary(s, correlation, call, launch) || kept_by(s, correlation, call->id))
		return;
	for (unsigned i = 0; i < works; i++)
		cap_submission_take(&o[i], call, op_of((enum cuda_work)i), subject);
	if (cap_unlikely(atomic_load_explicit(&s->kept, memory_order_relaxed) != NULL)) {
		pthread_mutex_lock(&lock);
		old = take_out(s);
		pthread_mutex_unlock(&lock);
		end(old);
	}
	if (cap_unlikely(!plain(o, works)))
		put_more(s, correlation, call->start, works, o);
	write_slot(s, correlation, call->start, o, launch ? 0 : o[CUDA_WORK_READ].buffers);
}

void cuda_submission_put(uint32_t correlation, const struct cap_frame *call, bool launch,
			 const struct cap_subject *subject)
{
	struct slot *s = &slots[correlation % ORIGINS];

	if (cap_unlikely(is_number_of(s, correlation)) ||
	    !cap_likely(put_ordinary(s, correlation, call, launch)))
		put_slow(s, correlation, call, launch, subject);
}

void cuda_submission_none(uint32_t correlation)
{
	const struct cap_submission none[CUDA_WORKS] = {{.call = 0}};
	struct slot *s = &slots[correlation % ORIGINS];
	const uint64_t key = atomic_load_explicit(&s->key, memory_order_relaxed);

	if (key && cap_unlikely(is_number_of(s, correlation))) {
		if ((key & SHARED) || atomic_load_explicit(&s->start, memory_order_relaxed))
			used_by_another(s, correlation);
		return;
	}
	write_slot(s, correlation, 0, none, 0);
}

void cuda_submission_failed(uint32_t correlation)
{
	struct slot *s = &slots[correlation % ORIGINS];

	if (atomic_load_explicit(&s->kept, memory_order_relaxed))
		drop(s, correlation);
}

/* ---- records ---- */

/* False: there is no entry on the side. */
static __attribute__((noinline, cold)) bool get_more(struct slot *s, uint32_t correlation,
						     enum cuda_work work, struct cuda_submission *o)
{
	struct kept *k, *over = NULL;
	bool found;

	pthread_mutex_lock(&lock);
	k = atomic_load(&s->kept);
	found = k && k->correlation == correlation;
	if (found) {
		o->start = k->start;
		o->submission = cap_submission_share(&k->submissions[work]);
		k->seen = tick_now();
		if (k->single)
			over = take_out(s);
	}
	pthread_mutex_unlock(&lock);
	end(over);
	return found;
}

/* False: it was overwritten meanwhile. */
static bool read_slot(struct slot *s, uint64_t key, enum cuda_work work, struct cuda_submission *o)
{
	if (atomic_load_explicit(&s->key, memory_order_acquire) != key)
		return false;
	o->start = atomic_load_explicit(&s->start, memory_order_relaxed);
	o->submission.call = atomic_load_explicit(&s->call, memory_order_relaxed);
	o->submission.scope = atomic_load_explicit(&s->scope, memory_order_relaxed);
	o->submission.buffers = atomic_load_explicit(work == CUDA_WORK_LAUNCH ? &s->launch_buffers
									      : &s->copy_buffers,
						     memory_order_relaxed);
	o->submission.epoch = (uint32_t)atomic_load_explicit(&s->epoch, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&s->key, memory_order_relaxed) == key;
}

/* The slot has nothing that tells the call. */
static __attribute__((noinline, cold)) bool get_none(const struct slot *s, uint32_t correlation,
						     enum cuda_work work, struct cuda_submission *o)
{
	const bool several = atomic_load_explicit(&s->key, memory_order_relaxed) ==
			     (USED | SHARED | correlation);

	*o = (struct cuda_submission){0};
	cap_submission_take(&o->submission, NULL, op_of(work), NULL);
	if (several && !atomic_load(&op_of(work)->callbacks))
		o->submission.buffers |= atomic_load(work == CUDA_WORK_LAUNCH ? &s->launch_buffers
									      : &s->copy_buffers);
	/* In a pause it may have been submitted before it. */
	if (o->submission.buffers || o->submission.more ||
	    (!several && atomic_load(&op_of(work)->paused)))
		atomic_fetch_add_explicit(several ? &shared : &missed, 1, memory_order_relaxed);
	return several;
}

bool cuda_submission_get(uint32_t correlation, enum cuda_work work, struct cuda_submission *o)
{
	struct slot *s = &slots[correlation % ORIGINS];

	*o = (struct cuda_submission){0};
	if (cap_unlikely(atomic_load_explicit(&s->kept, memory_order_relaxed) != NULL) &&
	    get_more(s, correlation, work, o))
		return true;
	return (read_slot(s, USED | correlation, work, o) &&
		!cap_submission_over(&o->submission)) ||
	       get_none(s, correlation, work, o);
}

bool cuda_submission_peek(uint32_t correlation, bool launch, struct cuda_submission *o)
{
	*o = (struct cuda_submission){0};
	return read_slot(&slots[correlation % ORIGINS], USED | correlation,
			 launch ? CUDA_WORK_LAUNCH : CUDA_WORK_COPY, o);
}

uint64_t cuda_submission_call(uint32_t correlation)
{
	struct cuda_submission o;

	return correlation && read_slot(&slots[correlation % ORIGINS], USED | correlation,
					CUDA_WORK_LAUNCH, &o)
		       ? o.submission.call
		       : 0;
}

void cuda_submissions_age(uint64_t before)
{
	struct kept *over = NULL, *k, *next;

	if (!__atomic_load_n(&oldest, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	for (k = oldest; k; k = next) {
		next = k->next;
		if (before != UINT64_MAX && (k->seen == 0 || k->seen >= before))
			continue;
		take_out(&slots[k->correlation % ORIGINS]);
		k->next = over;
		over = k;
	}
	pthread_mutex_unlock(&lock);
	for (; over; over = next) {
		next = over->next;
		end(over);
	}
}

void cuda_submissions_forget(void)
{
	cuda_submissions_age(UINT64_MAX);
	madvise(slots, ORIGINS * sizeof(*slots), MADV_DONTNEED);
}

uint64_t cuda_submissions_missed(void)
{
	return atomic_load(&missed);
}

uint64_t cuda_submissions_shared(void)
{
	return atomic_load(&shared);
}

/* What the parent submitted is nothing to a child; whoever held the lock is not there. */
void cuda_submissions_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	for (struct kept *k = oldest; k; k = k->next)
		atomic_store(&slots[k->correlation % ORIGINS].kept, NULL);
	oldest = NULL;
	newest = &oldest;
}
