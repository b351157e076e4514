/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling service: who wants samples, who takes them, and their records; see kymo/sample.h. */
#include "core/context/context.h"
#include "core/define/define.h"
#include "core/process/handler.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/process/refusal.h"
#include "core/publish/publish.h"
#include "core/sample/helper.h"
#include "core/sample/host.h"
#include "core/sample/sample.h"
#include "core/sample/signal.h"
#include "core/tool/tool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SERVICES    16u
#define SAMPLERS    4u
#define REASON      256u
#define THREADS_MAX 1024u
#define EVENT_MAX   32u
#define MINIMUM_NS  100000u
#define MAXIMUM_NS  10000000000ull
#define ORDINARY_NS 10000000u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* services */
static struct service {
	bool used;
	kymo_context_t context;
	kymo_sample_desc_t desc;
	char threads[THREADS_MAX], event[EVENT_MAX]; /* what it refers to */
} services[SERVICES];

static const struct cap_sampler *samplers[SAMPLERS];
static const struct cap_sampler *_Atomic running;
/* Who gets records, by op: those who still are to get what was taken before they stopped, too. */
static _Atomic uint64_t buffers[SAMPLE_OPS];
static _Atomic uint32_t changes; /* not followed yet */
static _Atomic bool resting, reviving;

void cap_sampler_register(const struct cap_sampler *s)
{
	for (uint32_t i = 0; i < SAMPLERS; i++) {
		if (!samplers[i]) {
			samplers[i] = s;
			return;
		}
	}
}

const char *kymo_sample_error(void)
{
	return core_refusal(REFUSAL_OF_SAMPLE);
}

/* ---- records ---- */

static struct cap_op ops[SAMPLE_OPS];

CAP_KNOWN_DOMAIN(sample, packed_describe(RECORD_PACKED, RECORD_DOMAIN_sample));

/* Only contexts that sample get samples, whoever else wants records of the domain. */
static void buffers_look(uint64_t contexts)
{
	for (unsigned i = 0; i < SAMPLE_OPS; i++)
		atomic_store(&buffers[i], atomic_load(&ops[i].buffers) & contexts);
	sample_off_cpu_look(contexts);
}

static struct cap_op op_of(unsigned number)
{
	struct cap_op own = {.wire = ops[number].wire,
			     .number = ops[number].number,
			     .domain = ops[number].domain};

	atomic_store(&own.buffers, atomic_load(&buffers[number]));
	return own;
}

void cap_sample_begin(void)
{
	core_define_modules(); /* before the stacks that lie in them */
	sample_threads_look();
}

void cap_sample(const struct cap_sample *s)
{
	struct cap_op op = op_of(SAMPLE_OP_PC);
	uint32_t thread = sample_thread_index(s->tid);
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;
	uint32_t stack;

	if (!thread || !s->count || !atomic_load(&op.buffers))
		return;
	stack = sample_stack(s->addresses, s->count, s->end);
	if (!cap_activity_begin(&f, &e, &op, NULL, now, now, SAMPLE_FIELDS))
		return;
	wire_unsigned(&e, SAMPLE_CORRELATION, s->correlation);
	wire_unsigned(&e, SAMPLE_THREAD, thread);
	wire_unsigned(&e, SAMPLE_TID, s->tid);
	wire_unsigned(&e, SAMPLE_TIME, s->time);
	wire_unsigned(&e, SAMPLE_CPU, s->cpu);
	wire_pointer(&e, SAMPLE_PC, (const void *)(uintptr_t)(s->pc ? s->pc : s->addresses[0]));
	wire_unsigned(&e, SAMPLE_STACK, stack);
	wire_unsigned(&e, SAMPLE_WEIGHT, s->weight);
	wire_unsigned(&e, SAMPLE_KERNEL, s->kernel);
	wire_signed(&e, SAMPLE_SCOPE, s->scope, 8);
	cap_activity_commit(&f, &e);
}

void cap_sample_lost(uint64_t count)
{
	struct cap_op op = op_of(SAMPLE_OP_LOST);
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!count || !cap_activity_begin(&f, &e, &op, NULL, now, now, SAMPLE_LOST_FIELDS))
		return;
	wire_unsigned(&e, SAMPLE_LOST_COUNT, count);
	cap_activity_commit(&f, &e);
}

void cap_sample_thread_named(uint32_t tid, const char *name)
{
	sample_thread_named(tid, name);
}

void cap_sample_thread_ended(uint32_t tid)
{
	sample_thread_end(tid);
}

void cap_sample_thread_short(uint32_t tid)
{
	sample_thread_short(tid);
}

/* Told when there are as many again as were told before, and at the end: a process that is killed has told of half of them. */
void cap_sample_end(bool last, uint64_t interval_ns)
{
	static uint64_t untold, told;
	char text[96];

	untold += sample_threads_short(last);
	if (!untold || (!last && untold < told))
		return;
	snprintf(text, sizeof(text), "lived less than one interval (%.4g ms) and had no samples",
		 (double)interval_ns / 1e6);
	cap_note_count(1, "short-lived threads", text, untold);
	told += untold;
	untold = 0;
}

/* Children of vfork() have their parent's memory, and handlers of their own. */
__attribute__((visibility("default"))) bool kymo_sample_signal(int number, bool sets)
{
	const struct cap_sampler *s = atomic_load(&running);
	const int saved = errno;
	const bool yes = s && s->uses_signal && core_generation == (uint32_t)getpid() &&
			 !core_life_here() && s->uses_signal(number, sets);

	errno = saved;
	return yes;
}

/* ---- following contexts ---- */

static const struct cap_sampler *sampler_for(const kymo_sample_desc_t *d)
{
	const struct cap_sampler *found = NULL;

	for (uint32_t i = 0; i < SAMPLERS && samplers[i]; i++) {
		const struct cap_sampler *s = samplers[i];

		if (d->method == KYMO_SAMPLE_QUIET) {
			if (s->method == KYMO_SAMPLE_PERF || (s->is_better && s->is_better(d)))
				found = s;
		} else if (s->method == d->method) {
			found = s;
		}
	}
	return found;
}

/* Contexts that are started, with the description of one of them. */
static uint64_t active_services(kymo_sample_desc_t *with)
{
	uint64_t wanted = 0;

	for (uint32_t i = 0; i < SERVICES; i++) {
		kymo_context_t context;
		bool used, active = false;

		pthread_mutex_lock(&lock);
		used = services[i].used;
		context = services[i].context;
		pthread_mutex_unlock(&lock);
		if (!used)
			continue;
		if (kymo_context_is_active(context, &active) != KYMO_OK) {
			pthread_mutex_lock(&lock);
			services[i].used = false;
			pthread_mutex_unlock(&lock);
			continue;
		}
		if (active) {
			wanted |= core_context_buffer_bit(context);
			*with = services[i].desc;
		}
	}
	return wanted;
}

static void switch_sampler(const struct cap_sampler *to, const kymo_sample_desc_t *d)
{
	const struct cap_sampler *from = atomic_load(&running);
	char reason[REASON] = "";

	if (from == to)
		return;
	if (from)
		from->stop();
	atomic_store(&running, NULL);
	if (!to)
		return;
	sample_threads_choose(d->threads);
	if (to->start(d, reason, sizeof(reason)) == KYMO_OK)
		atomic_store(&running, to);
	else
		cap_note(2, "sample", "no samples: %s", reason);
}

static void flush(uint64_t deadline)
{
	const struct cap_sampler *s = atomic_load(&running);

	if (s)
		s->flush();
}

void core_sample_ending(void)
{
	helper_hurry();
	flush(0);
}

static void samplers_update(uint32_t activities)
{
	static uint64_t last; /* contexts; of whoever follows */
	uint32_t seen = 1;
	int saved = errno;

	if (atomic_fetch_add(&changes, 1) != 0)
		return;
	do {
		kymo_sample_desc_t d = {0};
		uint64_t wanted = active_services(&d);

		if (last & ~wanted) /* fewer: they still get what was taken for them */
			flush(0);
		const bool samples = wanted && !atomic_load(&resting) && !atomic_load(&reviving);

		if (!samples)
			switch_sampler(NULL, NULL);
		buffers_look(wanted);
		if (samples)
			switch_sampler(sampler_for(&d), &d);
		last = wanted;
	} while (!atomic_compare_exchange_strong(&changes, &seen, 0));
	errno = saved;
}

static void rest(bool rests)
{
	atomic_store(&resting, rests);
	samplers_update(0);
}

/* Of the parent, as long as the child is not in order. */
static bool follows(void)
{
	return atomic_load(&running) != NULL;
}

static void fork_child(void)
{
	const struct cap_sampler *s = atomic_load(&running);

	pthread_mutex_init(&lock, NULL);
	atomic_store(&changes, 0);
	atomic_store(&resting, false);
	atomic_store(&running, NULL);
	sample_threads_fork_child();
	if (s)
		s->fork_child();
	atomic_store(&reviving, true);
}

void core_sample_revived(void)
{
	if (atomic_exchange(&reviving, false))
		samplers_update(0);
}

static const struct cap_domain_info info = {
	RECORD_DESCRIPTION(sample), .ops = ops,   .wanted = samplers_update, .flush = flush,
	.fork_child = fork_child,   .rest = rest, .follows = follows,
};

/* Not before somebody samples: a program that is not sampled needs no buffer for it. */
static kymo_status_t domain_ready(void)
{
	static _Atomic bool ready;

	cap_handlers_init(); /* children are brought in order outside of them */
	return core_domain_ready(&info, &ready);
}

struct cap_op *sample_published_op(void)
{
	return domain_ready() == KYMO_OK ? &ops[SAMPLE_OP_PUBLISHED] : NULL;
}

/* ---- services ---- */

static kymo_status_t check(const kymo_sample_desc_t *d)
{
	const struct cap_sampler *s = sampler_for(d);
	char reason[REASON] = "";
	kymo_status_t status;

	if (!s) {
		core_refusal_set(REFUSAL_OF_SAMPLE, "there is no such method of sampling");
		return KYMO_ERROR_UNSUPPORTED;
	}
	status = s->check(d, reason, sizeof(reason));
	if (status != KYMO_OK)
		core_refusal_set(REFUSAL_OF_SAMPLE, "%s: %s", s->name, reason);
	return status;
}

kymo_status_t kymo_sample_check(kymo_sample_method_t method)
{
	kymo_sample_desc_t d = {.size = sizeof(d),
				.interval_ns = ORDINARY_NS,
				.method = method,
				.depth = KYMO_SAMPLE_DEPTH};

	return check(&d);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same(const kymo_sample_desc_t *a, const kymo_sample_desc_t *b)
{
	return a->interval_ns == b->interval_ns && a->clock == b->clock &&
	       sampler_for(a) == sampler_for(b) && a->depth == b->depth &&
	       same_text(a->threads, b->threads) && same_text(a->event, b->event) &&
	       a->event_period == b->event_period && a->off_cpu == b->off_cpu;
}

static const char *copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
	return from ? to : NULL;
}

static void fill(struct service *s, kymo_context_t context, const kymo_sample_desc_t *d)
{
	*s = (struct service){.used = true, .context = context, .desc = *d};
	s->desc.threads = copy(s->threads, sizeof(s->threads), d->threads);
	s->desc.event = copy(s->event, sizeof(s->event), d->event);
}

static kymo_status_t add(kymo_context_t context, const kymo_sample_desc_t *d)
{
	struct service *slot = NULL;
	kymo_status_t status = KYMO_OK;

	pthread_mutex_lock(&lock);
	for (uint32_t i = SERVICES; i-- > 0;) {
		if (!services[i].used)
			slot = &services[i];
		else if (services[i].context.handle == context.handle)
			status = KYMO_ERROR_EXISTS;
		else if (!same(&services[i].desc, d))
			status = KYMO_ERROR_BUSY;
	}
	if (status == KYMO_OK && slot)
		fill(slot, context, d);
	pthread_mutex_unlock(&lock);
	if (status == KYMO_ERROR_BUSY)
		core_refusal_set(
			REFUSAL_OF_SAMPLE,
			"another context samples already, with another interval, clock, method, "
			"depth, event, other threads or other times");
	return status == KYMO_OK && !slot ? KYMO_ERROR_LIMIT : status;
}

kymo_status_t kymo_sample_service(kymo_context_t context, const kymo_sample_desc_t *from)
{
	kymo_sample_desc_t d;
	kymo_status_t status;
	bool active;

	if (!from || (unsigned)from->clock > KYMO_SAMPLE_WALL)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_size_fits(from, offsetof(kymo_sample_desc_t, threads)) ||
	    !core_size_known(from, sizeof(*from)))
		return core_refuse_size();
	core_take(&d, sizeof(d), from);
	if ((unsigned)d.off_cpu > KYMO_OFF_CPU_ALONE)
		return KYMO_ERROR_INVALID_ARGUMENT;
	d.interval_ns = d.interval_ns ? d.interval_ns : ORDINARY_NS;
	d.depth = d.depth ? d.depth : KYMO_SAMPLE_DEPTH;
	if (d.interval_ns < MINIMUM_NS || d.interval_ns > MAXIMUM_NS ||
	    d.depth > KYMO_SAMPLE_DEPTH) {
		core_refusal_set(
			REFUSAL_OF_SAMPLE,
			"the interval must lie between 100 us and 10 s, the depth below 65");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	if ((d.threads && strlen(d.threads) >= THREADS_MAX) ||
	    (d.event && (strlen(d.event) >= EVENT_MAX || !d.event_period))) {
		core_refusal_set(
			REFUSAL_OF_SAMPLE,
			"the list of threads must be shorter than 1 KiB, an event needs a name "
			"and a "
			"period");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	status = kymo_context_is_active(context, &active);
	if (status != KYMO_OK)
		return status;
	status = check(&d);
	if (status != KYMO_OK)
		cap_note(2, "sample", "not sampled: %s", kymo_sample_error());
	else
		status = domain_ready();
	if (status == KYMO_OK && d.off_cpu)
		status = sample_off_cpu_ready();
	if (status != KYMO_OK)
		return status;
	samplers_update(0); /* services of contexts that are gone let go */
	status = add(context, &d);
	if (status == KYMO_OK)
		samplers_update(0);
	return status;
}
