/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that was submitted and for which CUPTI has delivered no record: what a kernel that hangs
 * leaves behind. A call that submitted something writes 32 bytes, which its record marks as over.
 * The thread that asks CUPTI for records every 100 ms looks at what is new, and gives what is left
 * a line in the memory that outlives the process (core/ring/live.c); so does a flush.
 *
 * CUPTI holds back what is in a buffer, and in later ones of that thread, until all work in it is
 * done: behind a kernel that hangs there are others that are over. What the host has waited for
 * successfully is over, what comes before delivered work of its stream is, and when CUPTI holds no
 * buffer everything is. So are copies of nothing, which never have a record. What is put into a
 * stream that is captured is not submitted.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/vec.h"
#include "capture/cuda/backend.h"

#define ENTRIES   (1u << 18) /* as many as submissions; 8 MiB of address space, touched as needed */
#define BEYOND    1024u      /* the newest number may be that of a thread that came late */
#define MARKS     4096u      /* queues and contexts of which it is known how far they are */
#define CACHED    256u
#define SETTLE_NS 20000

/* Of the key of an entry, whose low half is the correlation number. */
#define OVER (1ull << 32)
#define INCOMPLETE                                                                                 \
	(1ull << 33)       /* had a record, but no end: it ran when CUPTI was asked for all        \
			    */
#define TAKEN (1ull << 34) /* is in the list below */

/* Of `what`: an op of domain copy; else the id of a kernel. */
#define COPY_BIT       0x80000000u
#define GRAPH_LAUNCHED 0x7fffffffu

struct entry {
	_Atomic uint64_t key;
	_Atomic uint64_t what; /* << 32 | queue */
	_Atomic uint64_t bytes;
	_Atomic uint64_t by; /* thread << 32 | ticks from its start to its return */
};

struct waiting {
	struct cuda_submission submission;
	uint64_t returned, bytes; /* the tick at which the call returned */
	uint32_t correlation, what, queue, thread, place;
};

/* How work of an op is known. */
struct way {
	uint8_t what;                               /* enum kind_of_work */
	uint8_t op;                                 /* of domain copy */
	uint8_t stream, function, direction, bytes; /* number of a field, plus one */
	uint8_t unit;
	bool per_thread;
	bool plain; /* a launch whose stream and function lie there: */
	uint16_t stream_at, function_at;
};
enum kind_of_work { NO_WORK, KERNEL, GRAPH, COPY };

struct work {
	uint64_t handle, bytes; /* of its stream */
	uint32_t what;
};

static struct entry *entries;
static struct way *ways[CUDA_APIS];
static _Atomic uint32_t newest, gathered;
static _Atomic uint64_t known_kernels[CACHED], known_queues[CACHED]; /* hash << 32 | id */
static _Atomic uint64_t kernel_age, queue_age; /* what is cached for an older one is not valid */
static _Atomic uint64_t queue_marks[MARKS],
	context_marks[MARKS];               /* ticks: what returned before is over */
static _Atomic uint32_t contexts_of[MARKS]; /* by queue */
static _Atomic uint64_t forgotten;          /* likewise, of all */
static _Thread_local unsigned capturing __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned captured_at
	__attribute__((tls_model("initial-exec"))); /* ... in that use of CUPTI */
static _Atomic unsigned uses;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *list;
static uint32_t count, room;

/* ---- what calls submit ---- */

static uint8_t field_named(const kymo_op_desc_t *d, const char *names)
{
	for (uint32_t i = 0; i < d->field_count; i++) {
		const char *at = strstr(names, d->fields[i].name);
		size_t n = strlen(d->fields[i].name);

		if (at && (at == names || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return (uint8_t)(i + 1);
	}
	return 0;
}

static uint8_t field_typed(const kymo_op_desc_t *d, const char *type, const char *other)
{
	for (uint32_t i = 0; i < d->field_count; i++)
		if (strcmp(d->fields[i].type, type) == 0 || strcmp(d->fields[i].type, other) == 0)
			return (uint8_t)(i + 1);
	return 0;
}

static uint8_t copy_op(const char *name)
{
	return strstr(name, "Memset")                                               ? COPY_OP_FILL
	       : strstr(name, "HtoD") || strstr(name, "HtoA") || strstr(name, "To") ? COPY_OP_WRITE
	       : strstr(name, "DtoH") || strstr(name, "AtoH") || strstr(name, "From")
		       ? COPY_OP_READ
		       : COPY_OP_COPY;
}

static bool lies_there(const struct cuda_place *p, uint16_t *at)
{
	*at = p->in.at;
	return p->how == CUDA_PLAIN && p->in.size == 8;
}

static void way_find(struct way *w, const kymo_op_desc_t *d, const struct cuda_place *places,
		     bool launch)
{
	if (launch)
		w->what = KERNEL;
	else if (strstr(d->name, "GraphLaunch"))
		w->what = GRAPH;
	else if (strstr(d->name, "Memcpy") || strstr(d->name, "Memset"))
		w->what = COPY;
	else
		return; /* prefetches, functions of the host: CUPTI has no record that could end
			   them */
	w->op = copy_op(d->name);
	w->stream = field_typed(d, "CUstream", "cudaStream_t");
	w->direction = field_typed(d, "cudaMemcpyKind", "cudaMemcpyKind");
	w->function = field_named(d, "f func");
	w->bytes = strstr(d->name, "Batch") ? 0 : field_named(d, "ByteCount count sizeBytes N");
	w->unit = strstr(d->name, "D16") ? 2 : strstr(d->name, "D32") ? 4 : 1;
	w->per_thread = strstr(d->name, "_ptsz") || strstr(d->name, "_ptds");
	w->plain = launch && !w->per_thread && w->stream && w->function &&
		   lies_there(&places[w->stream - 1], &w->stream_at) &&
		   lies_there(&places[w->function - 1], &w->function_at);
}

bool cuda_flights_init(void)
{
	void *p;

	for (int api = 0; api < CUDA_APIS; api++) {
		const struct cuda_model *m = &cuda_models[api];

		ways[api] = calloc(m->desc->op_count, sizeof(struct way));
		for (uint32_t op = 0; ways[api] && op < m->desc->op_count; op++)
			if (m->desc->ops[op].flags & KYMO_OP_SUBMITS)
				way_find(&ways[api][op], &m->desc->ops[op], cuda_places(m, op),
					 m->roles[op].role == CUDA_ROLE_LAUNCH);
	}
	p = mmap(NULL, ENTRIES * sizeof(*entries), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || !ways[CUDA_DRIVER] || !ways[CUDA_RUNTIME])
		return false;
	entries = p;
	return true;
}

static inline uint64_t hash(uint64_t a, uint64_t b, uint64_t age)
{
	return (a ^ b << 20 ^ age << 56) * 0x9e3779b97f4a7c15ull;
}

/* Forty bits of the hash tell who it is. 0: nobody knows. */
static inline uint32_t lookup_id(_Atomic uint64_t *table, uint64_t h)
{
	const uint64_t word = atomic_load_explicit(&table[h >> 56], memory_order_relaxed);

	return cap_likely(word >> 32 == (uint32_t)(h >> 24)) ? (uint32_t)word : 0;
}

static void store_id(_Atomic uint64_t *table, uint64_t h, uint32_t id)
{
	atomic_store_explicit(&table[h >> 56], (h >> 24) << 32 | id, memory_order_relaxed);
}

static __attribute__((noinline, cold)) uint32_t kernel_learn(const char *name, uint64_t h)
{
	const uint32_t id = cuda_kernel(name);

	store_id(known_kernels, h, id);
	return id;
}

/* A function is known by its handle and its name's address, as long as no code is unloaded. */
static inline uint32_t kernel_of(const struct cupti_callback *d, uint64_t function)
{
	const uint64_t h = hash((uintptr_t)d->symbol, function,
				atomic_load_explicit(&kernel_age, memory_order_relaxed));
	const uint32_t id = lookup_id(known_kernels, h);

	return cap_likely(id) ? id : kernel_learn(d->symbol, h);
}

static __attribute__((noinline, cold)) uint32_t queue_learn(const struct cupti_callback *d,
							    uint64_t handle, uint64_t h)
{
	const uint32_t id = cuda_queue_of(d->context, d->context_id, (void *)(uintptr_t)handle);

	atomic_store(&contexts_of[id % MARKS], d->context_id);
	store_id(known_queues, h, id);
	return id;
}

static inline uint32_t queue_of(const struct cupti_callback *d, uint64_t handle)
{
	const uint64_t own = handle == 2 ? (uintptr_t)&capturing : 0; /* the stream per thread */
	const uint64_t h = hash(handle ^ own << 8, d->context_id,
				atomic_load_explicit(&queue_age, memory_order_relaxed));
	const uint32_t id = lookup_id(known_queues, h);

	return cap_likely(id) ? id : queue_learn(d, handle, h);
}

static uint64_t value(const struct cuda_place *places, const struct cupti_callback *d,
		      uint8_t field)
{
	uint64_t v;

	return field && d->params && cuda_argument(d->params, &places[field - 1], &v) ? v : 0;
}

static inline uint64_t word_at(const void *params, uint16_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)params + offset, sizeof(v));
	return v;
}

/* What takes more than a look at two arguments. */
static __attribute__((noinline)) bool describe_subject(const struct way *w,
						       const struct cuda_place *places,
						       const struct cupti_callback *d,
						       struct work *work)
{
	static const uint8_t directions[] = {0, COPY_OP_WRITE, COPY_OP_READ};
	const uint64_t direction = value(places, d, w->direction);

	work->handle = value(places, d, w->stream);
	if (w->per_thread && work->handle == 0)
		work->handle = 2;
	if (w->what == KERNEL)
		work->what = kernel_of(d, value(places, d, w->function));
	else if (w->what == GRAPH)
		work->what = GRAPH_LAUNCHED;
	else
		work->what = COPY_BIT |
			     (direction == 1 || direction == 2 ? directions[direction] : w->op);
	work->bytes = value(places, d, w->bytes) * w->unit;
	return work->bytes || !w->bytes; /* of a copy of nothing there is never a record */
}

static __attribute__((noinline, cold)) void came_late(uint32_t correlation);

static __attribute__((noinline, cold)) bool is_capturing(void)
{
	return captured_at == atomic_load(&uses);
}

void cuda_flight_put(enum cuda_api api, uint32_t op, const struct cap_frame *f,
		     const struct cupti_callback *d)
{
	struct entry *e = &entries[d->correlation % ENTRIES];
	const struct way *w = &ways[api][op];
	const uint64_t took = f->end - f->start;
	struct work work = {0};

	/* The driver's call inside the runtime's has the same number; and some are over already. */
	if ((uint32_t)atomic_load_explicit(&e->key, memory_order_relaxed) == d->correlation ||
	    w->what == NO_WORK || cap_unlikely(capturing && is_capturing()) ||
	    cap_unlikely(!atomic_load_explicit(&cap_lines->buffer, memory_order_relaxed)))
		return;
	if (cap_likely(w->plain && d->params)) {
		work.handle = word_at(d->params, w->stream_at);
		work.what = kernel_of(d, word_at(d->params, w->function_at));
	} else if (!describe_subject(w, cuda_places(&cuda_models[api], op), d, &work)) {
		return;
	}
	atomic_store_explicit(&e->what, (uint64_t)work.what << 32 | queue_of(d, work.handle),
			      memory_order_relaxed);
	atomic_store_explicit(&e->bytes, work.bytes, memory_order_relaxed);
	atomic_store_explicit(&e->by,
			      (uint64_t)cap_thread_current->index << 32 |
				      (took < UINT32_MAX ? took : UINT32_MAX),
			      memory_order_relaxed);
	atomic_store_explicit(&e->key, d->correlation, memory_order_release);
	atomic_store_explicit(&newest, d->correlation, memory_order_relaxed);
	if (cap_unlikely((int32_t)(d->correlation -
				   atomic_load_explicit(&gathered, memory_order_relaxed)) <= 0))
		came_late(d->correlation);
}

void cuda_flight_capturing(bool on)
{
	const unsigned use = atomic_load(&uses);

	if (captured_at != use)
		capturing = 0;
	captured_at = use;
	if (on)
		capturing++;
	else if (capturing)
		capturing--;
}

/* ---- what is over ---- */

static void raise_to(_Atomic uint64_t *mark, uint64_t tick)
{
	uint64_t was = atomic_load_explicit(mark, memory_order_relaxed);

	while (was < tick && !atomic_compare_exchange_weak(mark, &was, tick))
		;
}

void cuda_flight_queue_waited(uint32_t queue, uint64_t tick)
{
	if (queue)
		raise_to(&queue_marks[queue % MARKS], tick);
}

void cuda_flight_context_waited(uint32_t context, uint64_t tick)
{
	raise_to(&context_marks[context % MARKS], tick);
}

void cuda_flights_forget(void)
{
	atomic_store(&forgotten, tick_now());
	atomic_fetch_add(&uses, 1);
	atomic_fetch_add(&kernel_age, 1);
	atomic_fetch_add(&queue_age, 1);
	pthread_mutex_lock(&lock);
	atomic_store(&newest, 0);
	atomic_store(&gathered, 0);
	madvise(entries, ENTRIES * sizeof(*entries), MADV_DONTNEED);
	pthread_mutex_unlock(&lock);
}

void cuda_flight_code_unloaded(void)
{
	atomic_fetch_add(&kernel_age, 1);
}

void cuda_flight_queue_ended(void)
{
	atomic_fetch_add(&queue_age, 1);
}

/* The entry is another's by now: it was long ago. */
static __attribute__((noinline, cold)) void over_late(uint32_t correlation)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++)
		if (list[i].correlation == correlation)
			list[i].returned = 0;
	pthread_mutex_unlock(&lock);
}

void cuda_flight_over(uint32_t correlation, uint64_t start, bool complete)
{
	struct entry *e = &entries[correlation % ENTRIES];
	uint64_t key = atomic_load_explicit(&e->key, memory_order_acquire);
	uint64_t then;

	do {
		if (key && (int32_t)(correlation - (uint32_t)key) < 0) {
			if (complete)
				over_late(correlation);
			return;
		}
		then = (uint32_t)key == correlation ? key : correlation;
		if (!(then & INCOMPLETE))
			then |= complete ? OVER : INCOMPLETE;
	} while (then != key && !atomic_compare_exchange_weak(&e->key, &key, then));
	if (complete && (uint32_t)key == correlation && start)
		cuda_flight_queue_waited((uint32_t)atomic_load(&e->what), start);
}

/* ---- what is not ---- */

/* Caller holds the lock. */
static void take(uint32_t correlation)
{
	struct entry *e = &entries[correlation % ENTRIES];
	uint64_t key = correlation;
	struct waiting *w;

	if (atomic_load_explicit(&e->key, memory_order_acquire) != key)
		return;
	if (!vec_reserve(&list, &room, count, 1))
		return;
	w = &list[count];
	w->what = (uint32_t)(atomic_load(&e->what) >> 32);
	w->queue = (uint32_t)atomic_load(&e->what);
	w->bytes = atomic_load(&e->bytes);
	w->thread = (uint32_t)(atomic_load(&e->by) >> 32);
	w->place = 0;
	w->correlation = correlation;
	if (!cuda_submission_peek(correlation, !(w->what & COPY_BIT), &w->submission))
		return;
	w->returned = w->submission.start + (uint32_t)atomic_load(&e->by);
	if (atomic_compare_exchange_strong(&e->key, &key, key | TAKEN))
		count++;
}

/* A call that took so long that its number has been passed. */
static __attribute__((noinline, cold)) void came_late(uint32_t correlation)
{
	pthread_mutex_lock(&lock);
	take(correlation);
	pthread_mutex_unlock(&lock);
}

uint32_t cuda_flights_gather(void)
{
	const struct timespec settle = {0, SETTLE_NS};
	uint32_t from, to, n;

	if (!entries)
		return 0;
	from = atomic_load(&gathered);
	to = atomic_load(&newest);
	if ((int32_t)(to - from) < 0)
		to = from;
	if (to !=
	    from) { /* who wrote an entry before it saw this has written it by the time we look */
		atomic_store(&gathered, to);
		nanosleep(&settle, NULL);
	}
	pthread_mutex_lock(&lock);
	if (to - from > ENTRIES)
		from = to - ENTRIES;
	for (uint32_t c = from + 1; c != to + BEYOND; c++)
		take(c);
	n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

static bool is_over(const struct waiting *w, bool last)
{
	const uint64_t key = atomic_load(&entries[w->correlation % ENTRIES].key);
	const bool mine = (uint32_t)key == w->correlation;
	const uint64_t of_queue = atomic_load(&queue_marks[w->queue % MARKS]);
	const uint32_t context = atomic_load(&contexts_of[w->queue % MARKS]);

	if (last && mine)
		return !(key & INCOMPLETE);
	return (mine && (key & OVER)) || (w->queue && w->returned <= of_queue) ||
	       (!mine && w->submission.start <= of_queue) ||
	       (w->queue && w->returned <= atomic_load(&context_marks[context % MARKS])) ||
	       w->returned <= atomic_load(&forgotten);
}

static uint32_t kernel_named(uint32_t what)
{
	return what == GRAPH_LAUNCHED ? cuda_kernel("(CUDA graph)") : what;
}

/* Caller holds the lock. */
static void show(struct waiting *w)
{
	const bool copy = w->what & COPY_BIT;
	const struct cap_subject subject = {
		.queue = w->queue, .bytes = w->bytes, .kernel = copy ? 0 : kernel_named(w->what)};

	w->place = cap_flight_new();
	cap_flight_begin_by(&w->place,
			    copy ? &core_copy_ops[w->what & ~COPY_BIT]
				 : &core_dispatch_ops[DISPATCH_OP_LAUNCH],
			    &w->submission.submission, w->submission.start, &subject, w->thread);
}

uint32_t cuda_flights_tell(uint32_t done, enum cuda_tell when)
{
	const uint64_t young = when == CUDA_TELL_OLD ? tick_now() - tick_rate() / 20 : UINT64_MAX;
	uint32_t kept = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++) {
		struct waiting w = list[i];

		if (i < done || when == CUDA_TELL_NOTHING || is_over(&w, when == CUDA_TELL_LAST)) {
			cap_flight_free(&w.place);
			continue;
		}
		if (!w.place && w.submission.start < young)
			show(&w);
		list[kept++] = w;
	}
	count = kept;
	pthread_mutex_unlock(&lock);
	return kept;
}

/* What the parent submitted is nothing to a child. */
void cuda_flights_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	count = 0;
	capturing = 0;
}
