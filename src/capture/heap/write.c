/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "heap", and the thread that writes its records and how much is in use. */
#include <kymo/publish.h>

#include "base/clock.h"
#include "base/futex.h"
#include "capture/heap/heap.h"
#include "core/capture.h"
#include "core/sample/helper.h"
#include "core/sample/sample.h"
#include "core/unwind/unwind.h"
#include "record/fields.h"

#define LOOK_NS   50000000u
#define SHOW_NS   1000000u /* the least time between two values of the counter */
#define SHOW_PART 64u      /* that it has changed by, at least, before that is over */

static struct cap_op ops[HEAP_OPS];
static struct helper helper;
static pthread_t thread;
static bool threaded;

CAP_KNOWN_DOMAIN(heap, packed_describe(RECORD_PACKED, RECORD_DOMAIN_heap));

/* ---- how much is in use, as a counter: what samples stand for ---- */

static struct {
	uint32_t counter;
	bool refused;
	uint64_t bytes, shown, time;
} in_use;

static bool counter_ready(void)
{
	const kymo_counter_publication_t p = {.size = sizeof(p),
					      .name = "heap in use",
					      .publisher = "heap",
					      .unit = "bytes",
					      .description = "memory of malloc(), estimated",
					      .gauge = true};

	if (!in_use.counter && !in_use.refused)
		in_use.refused = kymo_counter_publish(&p, &in_use.counter) != KYMO_OK;
	return in_use.counter != 0;
}

static void show(uint64_t time)
{
	const kymo_count_publication_t p = {.size = sizeof(p),
					    .counter = in_use.counter,
					    .value = (double)in_use.bytes,
					    .start = time,
					    .end = time};

	in_use.shown = in_use.bytes;
	in_use.time = time;
	kymo_count_publish(&p);
}

/* Not each: a value where it has changed by much, or some time is over. */
static void change_in_use(const struct heap_sample *s, const struct heap_event *e)
{
	uint64_t change;

	in_use.bytes += e->kind == HEAP_EVENT_FREE ? -s->bytes : s->bytes;
	change = in_use.bytes > in_use.shown ? in_use.bytes - in_use.shown
					     : in_use.shown - in_use.bytes;
	if ((change >= in_use.shown / SHOW_PART || e->time - in_use.time >= SHOW_NS) &&
	    counter_ready())
		show(e->time);
}

/* ---- records ---- */

static bool is_wanted(unsigned op)
{
	return atomic_load_explicit(&ops[op].buffers, memory_order_relaxed) != 0;
}

static void write_event(const struct heap_event *e, const struct heap_sample *s)
{
	const unsigned op = e->kind == HEAP_EVENT_FREE ? HEAP_OP_FREE : HEAP_OP_ALLOCATE;
	const uint32_t index = sample_thread_number(e->tid);
	const uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc enc;

	if (!index || !cap_activity_begin(&f, &enc, &ops[op], NULL, now, now, HEAP_FIELDS))
		return;
	wire_unsigned(&enc, HEAP_CORRELATION, e->correlation);
	wire_unsigned(&enc, HEAP_THREAD, index);
	wire_unsigned(&enc, HEAP_TID, e->tid);
	wire_unsigned(&enc, HEAP_TIME, e->time);
	wire_pointer(&enc, HEAP_ADDRESS, (const void *)(uintptr_t)s->address);
	wire_unsigned(&enc, HEAP_ALLOCATION, s->id);
	wire_unsigned(&enc, HEAP_SIZE, s->size);
	wire_double(&enc, HEAP_OBJECTS, s->objects);
	wire_unsigned(&enc, HEAP_BYTES, s->bytes);
	wire_unsigned(&enc, HEAP_STACK, s->stack);
	cap_activity_commit(&f, &enc);
}

static void write_lost(void)
{
	const uint64_t count = heap_live_lost(), now = tick_now();
	struct cap_frame f;
	struct wire_enc enc;

	if (!count ||
	    !cap_activity_begin(&f, &enc, &ops[HEAP_OP_LOST], NULL, now, now, HEAP_LOST_FIELDS))
		return;
	wire_unsigned(&enc, HEAP_LOST_COUNT, count);
	cap_activity_commit(&f, &enc);
}

static void drain(void)
{
	const struct heap_event *e;

	cap_sample_begin();
	while ((e = heap_live_next()) != NULL) {
		struct heap_sample *s = heap_live_sample(e->sample);

		if (e->kind == HEAP_EVENT_ALLOCATE)
			s->stack = sample_stack(e->addresses, e->count, e->end);
		if (is_wanted(HEAP_OP_ALLOCATE)) {
			write_event(e, s);
			change_in_use(s, e);
		}
		if (e->kind == HEAP_EVENT_FREE)
			heap_live_release(e->sample);
		heap_live_done(e);
	}
	if (in_use.counter && in_use.bytes != in_use.shown)
		show(clock_ns(CLOCK_MONOTONIC_RAW));
	write_lost();
}

/* ---- the thread ---- */

static void run(void)
{
	helper_ready(&helper, true);
	while (helper_wait(&helper, LOOK_NS)) {
		unwind_look();
		drain();
		helper_done(&helper);
	}
}

void heap_write_hurry(void)
{
	atomic_fetch_add(&helper.wake, 1);
	futex_wake(&helper.wake, 1);
}

/* Who starts it may be in dlopen(): nothing that the thread does before it is ready may need the loader. */
static void start_thread(void)
{
	unwind_look();
	threaded = helper_start(&helper, "heap", &thread, run);
	if (!threaded)
		cap_note(2, "heap", "what is allocated is not recorded: %s", helper.reason);
}

static void flush(uint64_t deadline)
{
	helper_ask(&helper);
}

static void fork_child(void)
{
	in_use.counter = 0;
	in_use.bytes = in_use.shown = in_use.time = 0;
	sample_threads_fork_child();
	heap_call_fork_child();
	start_thread();
}

static void rest(bool rests)
{
	if (!threaded)
		return;
	if (rests)
		helper_stop(&helper, thread);
	else
		start_thread();
}

static const struct cap_domain_info info = {RECORD_DESCRIPTION(heap), .ops = ops, .flush = flush,
					    .fork_child = fork_child, .rest = rest};

bool heap_write_start(void)
{
	struct cap_domain *domain;

	if (cap_domain_register(&info, &domain) != KYMO_OK)
		return false;
	start_thread();
	return true;
}
