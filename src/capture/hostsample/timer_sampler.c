/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Method "timer": where perf events are forbidden. Every thread gets a timer that sends it a
 * real-time signal; the handler takes the stack (core/unwind) and leaves what it finds in a ring of the
 * thread's own, which a thread of Kymo's empties. That thread also looks for new threads, and gives
 * the signal to the program when that wants it for itself.
 *
 * The handler touches nothing but its ring and its own stack: how far that stack reaches, the thread
 * of Kymo's has looked up; before it has, stacks are read with care.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/hostsample/code.h"
#include "capture/hostsample/hostsample.h"
#include "capture/hostsample/jit.h"
#include "capture/hostsample/python.h"
#include "base/perf_event.h"
#include "core/process/life.h"
#include "core/unwind/unwind.h"

#define THREADS 1024u
#define RING    256u /* samples of a thread between two looks */
#define LOOK_NS 20000000u
#define LOOKS   50u /* between two at whether an interpreter was loaded */
/* Samples a second of all threads together, where time also passes for those that wait: for each processor, and at most. */
#define SIGNALS      2500u
#define SIGNALS_MOST 20000u
#define TOLD         16u /* of threads that block the signal so many are named */
/* So long a thread has no samples before it is looked why, and twice as long each time. */
#define PATIENCE_NS      100000000u
#define PATIENCE_MOST_NS 10000000000u
#define CPU_CLOCK(tid)                                                                             \
	((clockid_t)(~(uint32_t)(tid) << 3 | 6)) /* of a thread, as the kernel has it */

struct sample {
	uint64_t time, correlation;
	uint64_t weight; /* ns that it stands for: timers tick no finer than the kernel's clock */
	int64_t scope;
	uint32_t cpu, count;
	enum stack_end end;
	uint64_t addresses[KYMO_SAMPLE_DEPTH];
	struct python_stack python;
};

/* Of a thread; found by the handler through the value of its timer. Never unmapped while stopped. */
struct slot {
	_Atomic uint32_t tid; /* 0: free */
	timer_t timer;
	_Atomic uint64_t interval_ns;
	_Atomic uint64_t stack_end; /* 0: not known yet */
	_Atomic uint64_t last_sp;
	_Atomic uint32_t head, tail;
	_Atomic uint64_t lost;
	uint64_t heard,
		patience;    /* ns: when it had the last sample, or was looked at; until it is */
	struct sample *ring; /* RING of them, since it was first used */
};

static struct slot *slots;  /* kept for ever: a signal may be on its way */
static uint32_t slots_used; /* those behind were never used: each is a page that needs no look */
static _Atomic bool taking;
static _Atomic bool ours, left; /* the signal; by the program */
static _Atomic uint32_t ended;  /* calls of the system, by signals */
static kymo_sample_desc_t config;
static int signal_number;
static pthread_t thread;
static struct helper helper;
static uint32_t blocking_told; /* of threads that block the signal */
static uint64_t interval_ns;   /* of each timer: config's, or more where there are many */
static uint32_t armed;         /* timers */

/* ---- in the program's threads: only what signal handlers may do ---- */

static bool registers(const ucontext_t *u, struct unwind_registers *r)
{
#if defined(__x86_64__)
	r->pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
	r->sp = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
	r->fp = (uint64_t)u->uc_mcontext.gregs[REG_RBP];
	r->bx = (uint64_t)u->uc_mcontext.gregs[REG_RBX];
	return true;
#elif defined(__aarch64__)
	r->pc = u->uc_mcontext.pc;
	r->sp = u->uc_mcontext.sp;
	r->fp = u->uc_mcontext.regs[29];
	return true;
#else
	return false;
#endif
}

static void innermost_call(struct sample *s)
{
	const struct cap_thread *t = cap_thread_current;

	s->correlation = 0;
	s->scope = 0;
	if (!t || t->magic != CAP_THREAD_MAGIC)
		return;
	s->scope = t->scope;
	if (t->depth && t->depth <= CAP_FRAMES)
		s->correlation = t->frames[t->depth - 1].id;
}

static void take_sample(struct slot *slot, const ucontext_t *u, uint32_t overrun)
{
	uint32_t head = atomic_load(&slot->head);
	struct sample *s = &slot->ring[head % RING];
	struct unwind_registers r;
	unsigned cpu = 0;

	if (head - atomic_load(&slot->tail) == RING) {
		atomic_fetch_add(&slot->lost, 1);
		return;
	}
	if (!registers(u, &r))
		return;
	atomic_store(&slot->last_sp, r.sp);
	s->weight = atomic_load(&slot->interval_ns) * (1u + overrun);
	s->time = clock_ns(CLOCK_MONOTONIC_RAW);
	s->count = unwind_stack(&r, atomic_load(&slot->stack_end), s->addresses, config.depth,
				&s->end);
	python_take(&s->python);
	syscall(SYS_getcpu, &cpu, NULL, NULL);
	s->cpu = cpu;
	innermost_call(s);
	atomic_store(&slot->head, head + 1);
}

/* The signal has ended a call of the system that is not begun again: a sleep, poll(). */
static bool ended_call(const ucontext_t *u)
{
#if defined(__x86_64__)
	/* The processor leaves in rcx where a call of the system returns to. */
	return u->uc_mcontext.gregs[REG_RAX] == -EINTR &&
	       u->uc_mcontext.gregs[REG_RCX] == u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return u->uc_mcontext.regs[0] == (uint64_t)-EINTR &&
	       u->uc_mcontext.regs[8] < 1024; /* a call's number */
#else
	return false;
#endif
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct slot *slot = info->si_value.sival_ptr;
	int saved = errno;

	if (info->si_code == SI_TIMER && slots && slot >= slots && slot < slots + THREADS &&
	    atomic_load(&taking) && atomic_load(&slot->tid) == (uint32_t)syscall(SYS_gettid)) {
		take_sample(slot, context, (uint32_t)info->si_overrun);
		if (ended_call(context))
			atomic_fetch_add(&ended, 1);
	}
	errno = saved;
}

/* ---- in the thread of Kymo's ---- */

static bool wants_stack(const struct slot *s)
{
	const uint64_t sp = atomic_load(&s->last_sp);

	return atomic_load(&s->tid) && sp && atomic_load(&s->stack_end) <= sp;
}

/*
 * The ends of the mappings in which threads were seen to have their stacks: of all of them at once, for of thousands of
 * threads there are as many lines.
 */
static void find_stacks(void)
{
	static struct slot *wanting[THREADS];
	unsigned long start, end;
	uint32_t n = 0;
	char line[512];
	FILE *f;

	for (uint32_t i = 0; i < slots_used; i++)
		if (wants_stack(&slots[i]))
			wanting[n++] = &slots[i];
	f = n ? fopen("/proc/self/maps", "re") : NULL;
	while (f && n && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		for (uint32_t i = 0; i < n;) {
			const uint64_t sp = atomic_load(&wanting[i]->last_sp);

			if (sp >= start && sp < end) {
				atomic_store(&wanting[i]->stack_end, end);
				wanting[i] = wanting[--n];
			} else {
				i++;
			}
		}
	}
	if (f)
		fclose(f);
}

static void hand_over(struct slot *s)
{
	uint32_t tail = atomic_load(&s->tail);
	uint64_t lost = atomic_exchange(&s->lost, 0);

	if (tail != atomic_load(&s->head)) {
		s->heard = clock_ns(CLOCK_MONOTONIC);
		s->patience = PATIENCE_NS;
	}
	for (; tail != atomic_load(&s->head); atomic_store(&s->tail, ++tail)) {
		struct sample *from = &s->ring[tail % RING];
		struct cap_sample out = {
			.tid = atomic_load(&s->tid),
			.cpu = from->cpu,
			.time = from->time,
			.weight = from->weight,
			.correlation = from->correlation,
			.scope = from->scope,
			.addresses = from->addresses,
			.pc = from->addresses[0],
			.count = code_chain(from->addresses, from->count),
		};

		out.end = out.count < from->count ? STACK_NO_OBJECT : from->end;
		code_name(from->addresses, out.count, from->time);
		out.count = python_merge(&from->python, from->addresses, out.count, config.depth,
					 out.end);
		cap_sample(&out);
	}
	cap_sample_lost(lost);
}

/* Touched where it is used; NULL: there is none. */
static void *map_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool set_timer(struct slot *s)
{
	struct timespec t = {(time_t)(interval_ns / 1000000000u),
			     (long)(interval_ns % 1000000000u)};
	struct itimerspec every = {t, t};

	atomic_store(&s->interval_ns, interval_ns);
	return timer_settime(s->timer, 0, &every, NULL) == 0;
}

static bool arm(struct slot *s, uint32_t tid)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = signal_number,
				 .sigev_value.sival_ptr = s};

	if (!s->ring)
		s->ring = map_memory(RING * sizeof(*s->ring));
	if (!s->ring)
		return false;
	event._sigev_un._tid = (pid_t)tid;
	atomic_store(&s->head, 0);
	atomic_store(&s->tail, 0);
	atomic_store(&s->last_sp, 0);
	atomic_store(&s->stack_end, 0);
	s->heard = clock_ns(CLOCK_MONOTONIC);
	s->patience = PATIENCE_NS;
	atomic_store(&s->tid, tid);
	if (timer_create(config.clock == KYMO_SAMPLE_WALL ? CLOCK_MONOTONIC : CPU_CLOCK(tid),
			 &event, &s->timer) == 0) {
		if (set_timer(s)) {
			armed++;
			return true;
		}
		timer_delete(s->timer);
	}
	atomic_store(&s->tid, 0);
	return false;
}

/* The thread goes on, and is sent no more signals. */
static void let_go(struct slot *s)
{
	timer_delete(s->timer);
	armed--;
	hand_over(s);
	atomic_store(&s->tid, 0);
}

static void disarm(struct slot *s)
{
	uint32_t tid = atomic_load(&s->tid);

	let_go(s);
	cap_sample_thread_ended(tid);
}

static struct slot *slot_of(uint32_t tid)
{
	struct slot *empty = NULL;

	for (uint32_t i = 0; i < slots_used; i++) {
		uint32_t has = atomic_load(&slots[i].tid);

		if (has == tid)
			return &slots[i];
		if (!has && !empty)
			empty = &slots[i];
	}
	if (!empty && slots_used < THREADS)
		empty = &slots[slots_used++];
	return empty;
}

/* Signals disturb: threads that are not chosen get none. */
static void look_at(uint32_t tid)
{
	const bool wanted = cap_sample_wants(tid);
	struct slot *s = slot_of(tid);

	if (!s || wanted == (atomic_load(&s->tid) != 0))
		return;
	if (wanted)
		arm(s, tid);
	else
		let_go(s);
}

static void look_for_threads(void)
{
	static pid_t tids[THREADS];
	unsigned n = perf_threads(tids, THREADS);

	for (unsigned i = 0; i < n && i < THREADS; i++)
		if (!core_life_own((uint32_t)tids[i])) /* Kymo's own let no signal come */
			look_at((uint32_t)tids[i]);
}

/* A sample wakes a thread that waits: many more than processors can take in their stride leave the program no time. */
static uint32_t signals(void)
{
	static uint32_t most;
	const long processors = most ? 0 : sysconf(_SC_NPROCESSORS_ONLN);

	if (!most)
		most = processors > 0 && processors < SIGNALS_MOST / SIGNALS
			       ? (uint32_t)processors * SIGNALS
			       : SIGNALS_MOST;
	return most;
}

static uint64_t interval_for(uint64_t timers)
{
	uint64_t interval = config.interval_ns;

	while (config.clock == KYMO_SAMPLE_WALL && interval * signals() < timers * 1000000000u)
		interval *= 2;
	return interval;
}

/*
 * A thread that waits is woken by each signal: many threads together would do nothing else, and never get to their work. The
 * interval is shortened again when half of the threads, or fewer, would make it longer.
 */
static void keep_pace(bool *told)
{
	const uint64_t wanted = interval_for(armed);

	if (wanted == interval_ns ||
	    (wanted < interval_ns && interval_for(2ull * armed) >= interval_ns))
		return;
	interval_ns = wanted;
	for (uint32_t i = 0; i < slots_used; i++)
		if (atomic_load(&slots[i].tid))
			set_timer(&slots[i]);
	if (*told || wanted == config.interval_ns)
		return;
	*told = true;
	cap_note(1, "sample",
		 "%u threads or more: each was sampled every %.1f ms, or less often, not every "
		 "%.1f, as all together take "
		 "no more than %u samples a second",
		 armed, (double)wanted / 1e6, (double)config.interval_ns / 1e6, signals());
}

/* The folder of threads is no proof: while some end, others may be missing in it. */
static void look_for_ended(void)
{
	for (uint32_t i = 0; i < slots_used; i++) {
		uint32_t tid = atomic_load(&slots[i].tid);

		if (tid && syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH)
			disarm(&slots[i]);
	}
}

/* What /proc says in a line of a thread's status that begins with `key`; false: the thread is gone. */
static bool status_of(uint32_t tid, const char *key, char *out, size_t size)
{
	const size_t n = strlen(key);
	char path[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%u/status", tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		found = strncmp(line, key, n) == 0;
		if (found)
			snprintf(out, size, "%.*s", (int)strcspn(line + n, "\n"), line + n);
	}
	if (f)
		fclose(f);
	return found;
}

/* A thread without samples: it waits, where its processor's time is taken, or lets no signal come. */
static void look_why_not(struct slot *s)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const uint32_t tid = atomic_load(&s->tid);
	char blocked[32], name[32];

	if (blocking_told == TOLD || now - s->heard < s->patience ||
	    now - s->heard < 4 * interval_ns)
		return;
	s->heard = now;
	s->patience = s->patience * 2 < PATIENCE_MOST_NS ? s->patience * 2 : PATIENCE_MOST_NS;
	if (!status_of(tid, "SigBlk:\t", blocked, sizeof(blocked)) ||
	    !(strtoull(blocked, NULL, 16) >> (signal_number - 1) & 1) ||
	    !status_of(tid, "Name:\t", name, sizeof(name)))
		return;
	cap_note(1, "sample", "thread %u (%s) has no samples while it blocks signal %d, as it does",
		 tid, name, signal_number);
	s->patience = UINT64_MAX; /* once, unless it has samples again */
	blocking_told++;
}

static void drain(void)
{
	cap_sample_begin();
	for (uint32_t i = 0; i < slots_used; i++) {
		if (!atomic_load(&slots[i].tid))
			continue;
		hand_over(&slots[i]);
		look_why_not(&slots[i]);
	}
	find_stacks();
}

static void disarm_all(void)
{
	cap_sample_begin();
	for (uint32_t i = 0; i < slots_used; i++)
		if (atomic_load(&slots[i].tid))
			disarm(&slots[i]);
}

static bool still_ours(void)
{
	struct sigaction now;

	return sigaction(signal_number, NULL, &now) == 0 && now.sa_sigaction == on_signal;
}

static bool take_signal(void);

/*
 * The program is about to handle the signal itself. No timer sends it any more; while it is ignored, the system takes back what
 * has been sent and not come yet. Then it is as if nobody had used it.
 */
static void leave_signal(void)
{
	struct sigaction action = {.sa_handler = SIG_IGN};
	const int number = signal_number;
	bool another;

	disarm_all();
	sigaction(number, &action, NULL);
	another = take_signal();
	action.sa_handler = SIG_DFL;
	sigaction(number, &action, NULL);
	atomic_store(&ours, another);
	atomic_store(&left, false);
	if (another)
		cap_note(1, "sample",
			 "the program uses signal %d itself: samples are taken by signal %d from "
			 "then on",
			 number, signal_number);
	else
		cap_note(2, "sample",
			 "no more samples: the program uses signal %d itself, and all the others",
			 number);
}

/* It went past what stands before sigaction(). */
static void lose_signal(void)
{
	atomic_store(&ours, false);
	disarm_all();
	cap_note(2, "sample", "no more samples: the program uses signal %d itself", signal_number);
}

/* Once: how often is not known before the end, which may be too late to say anything. */
static void tell_ended(bool *told)
{
	if (*told || !atomic_load(&ended))
		return;
	*told = true;
	cap_note(1, "sample",
		 "the signals of --sample-clock wall ended sleep(), poll() or other calls early, "
		 "where the program waits: times of waits are not those of a run without it; "
		 "--off-cpu tells where threads wait, without signals");
}

static void run(void)
{
	bool told = false, pace_told = false;
	uint32_t round = 0;

	look_for_threads();
	keep_pace(&pace_told);
	helper_ready(&helper, true);
	while (config.clock == KYMO_SAMPLE_CPU ? helper_wait_run(&helper, LOOK_NS)
					       : helper_wait(&helper, LOOK_NS)) {
		if (atomic_load(&left))
			leave_signal();
		else if (atomic_load(&ours) && !still_ours())
			lose_signal();
		unwind_look();
		if (++round % LOOKS == 0)
			python_look();
		if (atomic_load(&ours)) {
			look_for_threads();
			drain();
			look_for_ended();
			keep_pace(&pace_told);
		}
		tell_ended(&told);
		helper_done(&helper);
	}
	disarm_all();
	tell_ended(&told);
}

/* ---- starting and stopping ---- */

/* The highest real-time signal that nobody handles; programs begin with the lowest. */
static int free_signal(void)
{
	struct sigaction now;

	for (int s = SIGRTMAX; s >= SIGRTMIN; s--)
		if (sigaction(s, NULL, &now) == 0 &&
		    (now.sa_handler == SIG_DFL || now.sa_sigaction == on_signal))
			return s;
	return 0;
}

static kymo_status_t check(const kymo_sample_desc_t *d, char *reason, size_t size)
{
	ucontext_t none = {0};
	struct unwind_registers r;

	if (!registers(&none, &r)) {
		snprintf(reason, size, "it supports no registers of this processor");
		return KYMO_ERROR_UNSUPPORTED;
	}
	if (d->event || d->off_cpu) {
		snprintf(reason, size, "it samples by time alone");
		return KYMO_ERROR_UNSUPPORTED;
	}
	if (!free_signal()) {
		snprintf(reason, size, "the program uses every real-time signal");
		return KYMO_ERROR_UNSUPPORTED;
	}
	return KYMO_OK;
}

/*
 * The handler stays when sampling stops: a signal that is on its way would end the program.
 */
static bool take_signal(void)
{
	struct sigaction action = {.sa_sigaction = on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	signal_number = free_signal();
	sigfillset(&action.sa_mask);
	return signal_number && sigaction(signal_number, &action, NULL) == 0;
}

static kymo_status_t start(const kymo_sample_desc_t *d, char *reason, size_t size)
{
	config = *d;
	interval_ns = config.interval_ns;
	if (!slots)
		slots = map_memory(THREADS * sizeof(*slots));
	if (!slots || !take_signal()) {
		snprintf(reason, size, "no memory or no signal for it");
		return KYMO_ERROR_SYSTEM;
	}
	atomic_store(&taking, true);
	atomic_store(&left, false);
	atomic_store(&ours, true);
	/* Who starts it may be in dlopen(): nothing that the thread does before it is ready may need the loader. */
	unwind_look();
	python_look();
	if (helper_start(&helper, "sample", &thread, run))
		return KYMO_OK;
	snprintf(reason, size, "%s", helper.reason);
	return KYMO_ERROR_SYSTEM;
}

static void stop(void)
{
	helper_stop(&helper, thread);
	atomic_store(&ours, false);
	atomic_store(&taking, false);
}

static bool uses_signal(int number, bool leave)
{
	if (!atomic_load(&ours) || number != signal_number)
		return false;
	if (!leave)
		return true;
	atomic_store(&left, true);
	helper_ask(&helper);
	return false;
}

static void flush(void)
{
	helper_ask(&helper);
}

/* A child has none of its parent's timers. */
static void fork_child(void)
{
	for (uint32_t i = 0; i < slots_used; i++)
		atomic_store(&slots[i].tid, 0);
	armed = 0;
	atomic_store(&ours, false);
	atomic_store(&taking, false);
	blocking_told = 0;
	jit_fork_child();
}

/* Frames of an interpreter are read in the thread that it runs in, return addresses that were replaced while they are. */
static bool is_better(const kymo_sample_desc_t *d)
{
	return !d->event && !d->off_cpu && d->depth > 1 && (unwind_has_stubs() || python_look());
}

const struct cap_sampler timer_sampler = {
	.name = "timer",
	.method = KYMO_SAMPLE_TIMER,
	.check = check,
	.start = start,
	.stop = stop,
	.flush = flush,
	.fork_child = fork_child,
	.uses_signal = uses_signal,
	.is_better = is_better,
};
