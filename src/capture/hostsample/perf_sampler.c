/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Method "perf". The kernel samples each thread by its time on a processor. Each thread that is there
 * when sampling begins has a ring a processor; new threads inherit events and rings from those that
 * start them: begun with the program, it takes one ring a processor. A thread of Kymo's reads the
 * rings now and then. It opens the events for the others from outside, so that it has none itself.
 * The program finds nothing in its table of descriptors that it did not open: the thread has one of its own, or closes them at once,
 * as the mappings keep the events alive.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/hostsample/code.h"
#include "capture/hostsample/hostsample.h"
#include "capture/hostsample/jit.h"
#include "capture/hostsample/perf_ring.h"
#include "capture/hostsample/perf_stack.h"
#include "capture/hostsample/switches.h"
#include "capture/hostsample/waiting.h"
#include "base/perf_event.h"
#include "base/perf_named.h"

#define PAGES         32u /* of a ring; fewer where the system locks less */
#define PAGES_OFF_CPU 64u /* where threads may come and go a million times a second */
#define PAGES_COPIES                                                                               \
	128u /* where each sample has a part of the stack: what an ordinary user may lock */
#define PAGES_ALL     4096u     /* of these rings together, unless each has no more than PAGES */
#define PAGES_LATE    8u        /* of the rings of all threads but the first */
#define HELD          8u        /* samples with stacks that a ring has room for, ... */
#define HELD_NS       40000000u /* ... and as many as come in this time */
#define HELD_EVENTS   64u       /* by events, which may come fast */
#define PAGES_WHOLE   512u      /* where so much may be locked, for more of each stack */
#define THREADS       4096u
#define RINGS         16384u /* processors times threads that were there before */
#define ROUNDS        4      /* of looking for threads that began meanwhile */
#define PERIOD_MIN_NS 5000000u
#define PERIOD_MAX_NS 100000000u
#define LATE_NS       1000000u /* after its time a record is in its ring */
#define LINE_ERROR_NS 1000u    /* of times as ticks */
#define LEAVING_HELD  32u /* stacks of threads that leave a processor: a ring has room for, ... */
#define LEAVING_ROUND                                                                              \
	32u /* ... and are followed in a round, of all processors; more cost more than they tell */

#define LAYOUT (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

struct sample { /* as LAYOUT says */
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t rest
		[]; /* the kernel's chain: a count, and addresses; or what perf_stack_take() reads */
};

struct lost {
	struct perf_event_header header;
	uint64_t id, count;
};

struct task {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct stamp { /* the end of all records but samples, as LAYOUT says */
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

static kymo_sample_desc_t config;
static struct perf_ring *rings;
static uint32_t ring_count, cpu_count;
static uint32_t own_pid, own_tid;
static uint32_t starter; /* waits until it is ready */
static uint64_t lost;
static bool throttled;
static bool own_table; /* of descriptors */
/* Of the ring that is read: its descriptor tells what the kernel has dropped; a record says that it has. */
static bool told, dropped;
static bool leaving; /* the kernel tells the stacks with which threads leave their processors */
static uint32_t leaving_left; /* of a ring in this round */
static uint32_t *inherited;   /* threads that the kernel said it has begun to sample */
static uint32_t inherited_count, inherited_room;
static struct map births; /* of threads, by tid: when */
static struct {
	uint32_t tid;
	uint64_t time;
} * ends; /* of this round: the ring with the birth may not have been read yet */
static uint32_t end_count, end_room;

static struct tick_line line; /* of this round */

static pthread_t thread;
static struct helper helper;

/* ---- what the kernel writes ---- */

static bool copies_stacks(const kymo_sample_desc_t *d)
{
	return perf_stack_works() && d->depth > 1 && d->off_cpu != KYMO_OFF_CPU_ALONE;
}

/* By frame pointers, as the kernel has followed them. */
static uint32_t kernel_chain(const struct sample *s, uint64_t words, uint64_t *out)
{
	uint32_t n = 0;

	for (uint64_t i = 0; words && i < s->rest[0] && i < words - 1 && n < config.depth; i++)
		if (s->rest[1 + i] < (uint64_t)PERF_CONTEXT_MAX) /* no mark of a context */
			out[n++] = s->rest[1 + i];
	if (!n && (s->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		out[n++] = s->ip;
	return n;
}

/* When a sample was taken, or a little earlier: the line is that exact. */
static uint64_t tick_of(const struct sample *s)
{
	return tick_line_tick(&line, s->time - LINE_ERROR_NS);
}

static void take_sample(const struct sample *s)
{
	uint64_t addresses[KYMO_SAMPLE_DEPTH];
	enum stack_end end = STACK_UNKNOWN;
	struct cap_sample out = {
		.tid = s->tid,
		.cpu = s->cpu,
		.time = s->time,
		.weight = config.event ? 0 : config.interval_ns,
		.addresses = addresses,
		.kernel = (s->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER,
	};
	size_t rest = s->header.size - sizeof(*s);
	uint32_t n;

	if (s->header.size < sizeof(*s) || s->pid != own_pid)
		return;
	n = copies_stacks(&config)
		    ? perf_stack_take(s->rest, rest, tick_of(s), addresses, config.depth, &end)
		    : kernel_chain(s, rest / 8, addresses);
	out.count = code_chain(addresses, n);
	out.pc = addresses[0];
	code_name(addresses, out.count, s->time);
	out.end = out.count < n ? STACK_NO_OBJECT : end;
	cap_sample(&out);
}

/* That some are lost does no harm: the time is told without a stack then. */
static void take_leaving(const struct perf_event_header *h)
{
	const struct sample *s = (const struct sample *)h;
	uint64_t addresses[KYMO_SAMPLE_DEPTH];
	enum stack_end end = STACK_UNKNOWN;
	uint32_t n, kept, stack;

	if (h->type != PERF_RECORD_SAMPLE || h->size < sizeof(*s) || s->pid != own_pid ||
	    s->tid == own_tid || !leaving_left)
		return;
	leaving_left--;
	n = perf_stack_take(s->rest, h->size - sizeof(*s), tick_of(s), addresses, KYMO_SAMPLE_DEPTH,
			    &end);
	if (!n)
		return;
	kept = code_chain(addresses, n);
	code_name(addresses, kept, s->time);
	stack = sample_stack(addresses, kept, kept < n ? STACK_NO_OBJECT : end);
	if (stack)
		switches_stack(s->tid, s->time, stack, kept == n && end == STACK_OUTERMOST);
}

static void note_inherited(uint32_t tid)
{
	if (vec_reserve(&inherited, &inherited_room, inherited_count, 1))
		inherited[inherited_count++] = tid;
}

static void take_switch(const struct perf_event_header *h, enum switch_kind kind)
{
	const struct stamp *s = (const struct stamp *)((const char *)h + h->size) - 1;

	if (h->size >= sizeof(*h) + sizeof(*s) && s->pid == own_pid && s->tid != own_tid)
		switches_note(kind, s->tid, s->time, s->cpu);
}

static enum switch_kind kind_of(uint16_t misc)
{
	if (!(misc & PERF_RECORD_MISC_SWITCH_OUT))
		return SWITCH_IN;
	return misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? SWITCH_OUT_PREEMPTED : SWITCH_OUT_WAITS;
}

static void take_birth(const struct task *t)
{
	if (inherited_room) /* while threads are being looked for */
		note_inherited(t->tid);
	if (t->pid == own_pid)
		map_set(&births, t->tid, t->time);
}

static void take_exit(const struct task *t)
{
	if (t->pid != own_pid)
		return;
	if (vec_reserve(&ends, &end_room, end_count, 1)) {
		ends[end_count].tid = t->tid;
		ends[end_count++].time = t->time;
	}
	if (config.off_cpu)
		take_switch(&t->header, SWITCH_THREAD_ENDED);
	else
		cap_sample_thread_ended(t->tid);
}

static void take_name(const struct comm *c)
{
	char name[16];
	size_t n = c->header.size - sizeof(*c);

	if (c->header.size < sizeof(*c) || c->pid != own_pid)
		return;
	n = n < sizeof(name) - 1 ? n : sizeof(name) - 1;
	memcpy(name, c->name, n);
	name[n] = '\0';
	cap_sample_thread_named(c->tid, name);
}

static void take(const struct perf_event_header *h)
{
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		take_sample((const struct sample *)h);
		break;
	case PERF_RECORD_LOST:
		dropped = true;
		lost += told ? 0 : ((const struct lost *)h)->count;
		switches_lost();
		break;
	case PERF_RECORD_SWITCH:
		take_switch(h, kind_of(h->misc));
		break;
	case PERF_RECORD_COMM:
		take_name((const struct comm *)h);
		break;
	case PERF_RECORD_FORK:
		take_birth((const struct task *)h);
		break;
	case PERF_RECORD_EXIT:
		take_exit((const struct task *)h);
		break;
	case PERF_RECORD_THROTTLE:
		if (!throttled)
			cap_note(2, "sample",
				 "the kernel takes fewer samples than requested: "
				 "kernel.perf_event_max_sample_rate or "
				 "perf_cpu_time_max_percent is too low");
		throttled = true;
		break;
	default:
		break;
	}
}

/* Asking interrupts threads: where some may have been dropped, and where nothing may be left over (`flush`). */
static void read_ring(struct perf_ring *r, bool flush)
{
	bool full;

	leaving_left = LEAVING_ROUND > cpu_count ? LEAVING_ROUND / cpu_count : 1;
	told = r->fd >= 0;
	dropped = false;
	full = perf_ring_read(r, r->of_leaving ? take_leaving : take);
	if (told && (full || dropped || flush))
		lost += perf_ring_dropped(r);
}

/* Which threads were gone before their first sample was due. */
static void look_at_ends(void)
{
	for (uint32_t i = 0; i < end_count; i++) {
		const uint64_t born = map_remove(&births, ends[i].tid);

		if (born && !config.event && config.off_cpu != KYMO_OFF_CPU_ALONE &&
		    ends[i].time - born < config.interval_ns)
			cap_sample_thread_short(ends[i].tid);
	}
	end_count = 0;
}

static void drain(bool flush)
{
	uint64_t begun = clock_ns(CLOCK_MONOTONIC_RAW);

	cap_sample_begin();
	unwind_look();
	line = tick_line_now();
	for (uint32_t i = 0; i < ring_count; i++)
		read_ring(&rings[i], flush);
	if (config.off_cpu && flush)
		switches_flush();
	else if (config.off_cpu)
		switches_round(begun - LATE_NS);
	cap_sample_lost(lost);
	lost = 0;
	look_at_ends();
	cap_sample_end(flush, config.interval_ns);
}

/* ---- opening ---- */

/* Samples with stacks that a ring must hold until somebody reads it. */
static uint64_t held(const kymo_sample_desc_t *d)
{
	uint64_t n = HELD_NS / d->interval_ns;

	if (d->event)
		return HELD_EVENTS;
	return n > HELD ? n : HELD;
}

/* `ring`: its bytes; some of them are for records of switches. */
static struct perf_event_attr attr_of(const kymo_sample_desc_t *d, size_t ring)
{
	const struct perf_named *e = d->event ? perf_named_find(d->event) : NULL;
	bool samples = d->off_cpu != KYMO_OFF_CPU_ALONE;

	struct perf_event_attr attr = {
		.type = e ? e->type : PERF_TYPE_SOFTWARE,
		.config = e         ? e->config
			  : samples ? PERF_COUNT_SW_CPU_CLOCK
				    : PERF_COUNT_SW_DUMMY,
		.sample_period = e         ? d->event_period
				 : samples ? d->interval_ns
					   : 0,
		.context_switch = d->off_cpu != KYMO_OFF_CPU_NONE,
		.sample_id_all = d->off_cpu != KYMO_OFF_CPU_NONE,
		.sample_type = LAYOUT,
		.exclude_callchain_kernel = 1,
		.inherit = 1,
		.inherit_thread = 1,
		.task = 1,
		.comm = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
		.exclude_hv = 1,
		.read_format = own_table ? PERF_RING_DROPPED : 0,
	};

	if (copies_stacks(d))
		perf_stack_ask(&attr, perf_stack_bytes(d->off_cpu ? ring / 2 : ring, held(d)));
	else
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	return attr;
}

/* Each time that a thread leaves its processor; by the kernel alone, in which that happens. */
static struct perf_event_attr attr_of_leaving(size_t ring)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period = 1,
		.sample_type = LAYOUT,
		.inherit = 1,
		.inherit_thread = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
		.exclude_hv = 1,
	};

	perf_stack_ask(&attr, perf_stack_bytes(ring, LEAVING_HELD));
	return attr;
}

/* Linux before 6.0 does not tell what it dropped, before 5.13 it lets child processes inherit too: their samples are passed over. */
static int open_any(const struct perf_event_attr *wanted, pid_t tid, int cpu, bool *user_only)
{
	enum { ALL, BEFORE_6_0, BEFORE_5_13 };
	int fd = -EINVAL;

	for (int as = ALL; as <= BEFORE_5_13 && (fd == -EINVAL || fd == -E2BIG); as++) {
		struct perf_event_attr attr = *wanted;

		if (as >= BEFORE_6_0)
			attr.read_format = 0;
		if (as >= BEFORE_5_13)
			attr.inherit_thread = 0;
		fd = perf_open(&attr, tid, cpu, -1, user_only);
	}
	return fd;
}

static int open_event(const kymo_sample_desc_t *d, size_t ring, pid_t tid, int cpu)
{
	struct perf_event_attr attr = attr_of(d, ring);

	return open_any(&attr, tid, cpu, NULL);
}

static int open_leaving(size_t ring, pid_t tid, int cpu)
{
	struct perf_event_attr attr = attr_of_leaving(ring);
	bool user_only;
	int fd = open_any(&attr, tid, cpu, &user_only);

	if (fd < 0 || !user_only)
		return fd;
	close(fd);
	return -EACCES;
}

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes over `fd`. */
static int map_ring(int fd, size_t bytes, bool of_leaving)
{
	void *p = mmap(NULL, bytes + page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const int error = errno;

	if (p == MAP_FAILED) {
		close(fd);
		return -error;
	}
	rings[ring_count] = (struct perf_ring){.page = p, .bytes = bytes, .of_leaving = of_leaving};
	perf_ring_keep(&rings[ring_count++], fd, own_table && !of_leaving);
	return 0;
}

/* As large as the system allows; -ENODEV: the processor is switched off. */
static int make_ring(pid_t tid, int cpu, size_t pages, bool of_leaving)
{
	int error = 0;

	for (; pages; pages /= 2) {
		size_t bytes = pages * page_bytes();
		int fd = of_leaving ? open_leaving(bytes, tid, cpu)
				    : open_event(&config, bytes, tid, cpu);

		if (fd < 0)
			return fd;
		error = map_ring(fd, bytes, of_leaving);
		if (!error)
			return 0;
	}
	return error;
}

static size_t first_pages(void)
{
	size_t pages = copies_stacks(&config) ? PAGES_COPIES
		       : config.off_cpu       ? PAGES_OFF_CPU
					      : PAGES;

	while (copies_stacks(&config) && pages < PAGES_WHOLE &&
	       perf_stack_bytes(pages * page_bytes(), held(&config)) < PERF_STACK_MOST)
		pages *= 2;
	while (pages > PAGES && pages * cpu_count > PAGES_ALL)
		pages /= 2;
	return pages;
}

/* Where it is not permitted, or no memory may be locked for it, it is left. */
static void open_thread_leaving(pid_t tid, bool first)
{
	for (uint32_t c = 0; leaving && c < cpu_count; c++) {
		int error = ring_count < RINGS ? make_ring(tid, (int)c,
							   first ? PAGES_COPIES : PAGES_LATE, true)
					       : -EMLINK;

		leaving = !error || error == -ENODEV || error == -ESRCH;
	}
}

static int open_thread(pid_t tid)
{
	const bool first = !ring_count;
	size_t pages = first ? first_pages() : PAGES_LATE;

	for (uint32_t c = 0; c < cpu_count; c++) {
		int error = ring_count < RINGS ? make_ring(tid, (int)c, pages, false) : -EMLINK;

		if (error == -ESRCH) /* the thread has ended */
			return 0;
		if (error && error != -ENODEV)
			return error;
	}
	open_thread_leaving(tid, first);
	return 0;
}

static bool is_inherited(uint32_t tid)
{
	for (uint32_t i = 0; i < inherited_count; i++)
		if (inherited[i] == tid)
			return true;
	return false;
}

static bool contains(const pid_t *list, unsigned count, pid_t tid)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i] == tid)
			return true;
	return false;
}

/*
 * Every thread, those included that begin meanwhile: a thread that was not there before either was
 * started by one that has its events (then the kernel has said so) or needs its own.
 */
static int open_all(void)
{
	pid_t *tids = malloc(2 * THREADS * sizeof(*tids)), *done = tids + THREADS;
	unsigned done_count = 0, fresh = 1;
	int error = tids ? 0 : -ENOMEM;

	for (int round = 0; round < ROUNDS && fresh && !error; round++) {
		unsigned n = perf_threads(tids, THREADS);

		fresh = 0;
		line = tick_line_now();
		for (uint32_t i = 0; i < ring_count; i++)
			read_ring(&rings[i], false);
		for (unsigned i = 0; i < n && i < THREADS && !error; i++) {
			if ((uint32_t)tids[i] == own_tid || done_count == THREADS ||
			    contains(done, done_count, tids[i]) || is_inherited((uint32_t)tids[i]))
				continue;
			error = open_thread(tids[i]);
			done[done_count++] = tids[i];
			fresh++;
		}
	}
	free(tids);
	return error;
}

/* Threads that wait now may wait all the while: the kernel would tell nothing of them. */
static void note_waiting(void)
{
	static struct waiting w; /* large */
	pid_t *tids = malloc(THREADS * sizeof(*tids));
	unsigned n = tids ? perf_threads(tids, THREADS) : 0;

	for (unsigned i = 0; i < n && i < THREADS; i++) {
		const uint32_t tid = (uint32_t)tids[i];
		const uint64_t now =
			clock_ns(CLOCK_MONOTONIC_RAW); /* what it does later, the kernel tells */

		if (tid != own_tid && tid != starter && waiting_look(tid, &w))
			switches_note(SWITCH_OUT_WAITS, tid, now, waiting_cpu(tid));
	}
	free(tids);
}

static void close_all(void)
{
	for (uint32_t i = 0; i < ring_count; i++) {
		munmap(rings[i].page, rings[i].bytes + page_bytes());
		if (rings[i].fd >= 0)
			close(rings[i].fd);
	}
	free(rings);
	rings = NULL;
	ring_count = 0;
}

static void explain(int error, char *reason, size_t size)
{
	struct perf_event_attr attr = attr_of(&config, page_bytes());

	if (error == EPERM || error == ENOMEM)
		snprintf(reason, size,
			 "no memory for samples may be locked: see "
			 "kernel.perf_event_mlock_kb and ulimit -l");
	else if (error == EMLINK)
		snprintf(reason, size,
			 "the process has too many threads to begin now; begin when "
			 "it starts");
	else
		perf_reason(error, &attr, "sampling", reason, size);
}

static bool set_up(char *reason, size_t size)
{
	int error;

	cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	leaving = config.off_cpu && perf_stack_works();
	rings = calloc(RINGS, sizeof(*rings));
	note_inherited(0);
	error = rings ? open_all() : -ENOMEM;
	free(inherited); /* from here on it is of no interest who inherits */
	inherited = NULL;
	inherited_count = inherited_room = 0;
	if (!error && config.off_cpu)
		note_waiting();
	if (!error)
		return true;
	close_all();
	explain(-error, reason, size);
	return false;
}

/* ---- the thread ---- */

/* Half the time in which a ring may be full. */
static uint64_t period(void)
{
	size_t record = sizeof(struct sample) + 8u * (config.depth + 3u);
	uint64_t samples = copies_stacks(&config) ? held(&config) : PAGES * 4096u / record;
	uint64_t half = samples / 2 * config.interval_ns;

	return half < PERIOD_MIN_NS ? PERIOD_MIN_NS : half > PERIOD_MAX_NS ? PERIOD_MAX_NS : half;
}

/* And not only as the process runs. */
static bool comes_fast(void)
{
	return config.event || config.off_cpu;
}

static void run(void)
{
	own_tid = (uint32_t)syscall(SYS_gettid);
	own_pid = (uint32_t)getpid();
	throttled = false;
	own_table = perf_ring_own_table();
	if (!set_up(helper.reason, sizeof(helper.reason))) {
		helper_ready(&helper, false);
		return;
	}
	helper_ready(&helper, true);
	while (comes_fast() ? helper_wait(&helper, PERIOD_MIN_NS)
			    : helper_wait_run(&helper, period())) {
		drain(helper_is_asked(&helper));
		helper_done(&helper);
	}
	drain(true);
	switches_end();
	close_all();
}

static kymo_status_t check(const kymo_sample_desc_t *d, char *reason, size_t size)
{
	struct perf_event_attr attr = attr_of(d, page_bytes());
	int fd;

	if (d->clock != KYMO_SAMPLE_CPU) {
		snprintf(reason, size, "it samples by time on a processor alone");
		return KYMO_ERROR_UNSUPPORTED;
	}
	if (d->event && !perf_named_find(d->event)) {
		snprintf(reason, size, "there is no event \"%.32s\"", d->event);
		return KYMO_ERROR_UNSUPPORTED;
	}
	if (d->event && !perf_named_try(perf_named_find(d->event), d->event_period, reason, size))
		return KYMO_ERROR_UNSUPPORTED;
	fd = open_event(d, page_bytes(), 0, -1);
	if (fd < 0) {
		perf_reason(-fd, &attr, "sampling", reason, size);
		return KYMO_ERROR_UNSUPPORTED;
	}
	close(fd);
	return KYMO_OK;
}

static kymo_status_t start(const kymo_sample_desc_t *d, char *reason, size_t size)
{
	config = *d;
	starter = (uint32_t)syscall(SYS_gettid);
	if (helper_start(&helper, "sample", &thread, run))
		return KYMO_OK;
	snprintf(reason, size, "%s", helper.reason);
	return KYMO_ERROR_SYSTEM;
}

static void stop(void)
{
	helper_stop(&helper, thread);
}

static void flush(void)
{
	helper_ask(&helper);
}

/* The rings are not copied into a child. */
static void fork_child(void)
{
	free(rings);
	rings = NULL;
	ring_count = 0;
	end_count = 0;
	map_clear(&births);
	jit_fork_child();
	switches_fork_child();
}

const struct cap_sampler perf_sampler = {
	.name = "perf",
	.method = KYMO_SAMPLE_PERF,
	.check = check,
	.start = start,
	.stop = stop,
	.flush = flush,
	.fork_child = fork_child,
};
