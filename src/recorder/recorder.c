/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder; see recorder.h. */
#include "recorder/parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define KYMO_MARKER_LINKED /* its types alone */
#include <kymo/marker.h>

#define FLUSH_NS 5000000000u

/* Once more where there was no memory: some may be free by now, and everything depends on it. */
#define TWICE(call)                                                                                \
	((status = (call)) == KYMO_ERROR_NO_MEMORY || status == KYMO_ERROR_LIMIT                   \
		 ? (status = (call))                                                               \
		 : status)

static struct recorder_options options;
static struct patterns include, exclude, stacks;
static kymo_context_t context;
static kymo_context_t control; /* hears resume while the other is stopped */

static bool is_activity(const char *name)
{
	static const char *const activities[] = {
		"dispatch", "copy",   "allocation",    "sync",        "code_object", "marker",
		"counter",  "sample", "device_sample", "kernel_line", "comm",        NULL};

	for (unsigned i = 0; activities[i]; i++)
		if (strcmp(name, activities[i]) == 0)
			return true;
	return false;
}

/* What threads wait for is no runtime's: an option of its own asks for it, whatever calls are chosen. */
static bool is_state(const char *name)
{
	return strcmp(name, "off_cpu") == 0;
}

/* What is done on devices is always wanted; a runtime's calls when its name is in the list, or "-" before another's. */
static bool domain_wanted(const char *name)
{
	const char *p = options.backends;
	size_t n = strlen(name);
	bool yes = false;

	if (is_activity(name) || is_state(name) || !p || !*p)
		return true;
	for (; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (*p == '-' && strncmp(p + 1, name, n) == 0 && (p[n + 1] == ',' || !p[n + 1]))
			return false;
		yes |= *p == '-' || (strncmp(p, "all", 3) == 0 && (p[3] == ',' || !p[3])) ||
		       (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n]));
	}
	return yes;
}

/*
 * Chatty calls come back in mode default when the user names them with --include. Activities are
 * not filtered by op name: the filters speak of calls, and of the messages of those left out.
 */
static bool select_op(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	const kymo_op_desc_t *d = &domain->ops[op];

	if (is_state(domain->name))
		return true;
	if ((d->flags & KYMO_OP_OBJECT) || !domain_wanted(domain->name) ||
	    work_is_chosen(&options, domain))
		return false;
	/* What others publish in domains of their own is calls to the user. */
	if ((d->flags & KYMO_OP_ACTIVITY) &&
	    (!(d->flags & KYMO_OP_TIMED) || is_activity(domain->name)))
		return true;
	if (options.exclude.count && patterns_match(&exclude, d->name))
		return false;
	if (options.include.count)
		return patterns_match(&include, d->name);
	if (options.mode == RECORDER_MINIMAL)
		return (d->flags & KYMO_OP_MINIMAL) != 0;
	/* Where a runtime calls back, a call that is only counted costs nearly what one costs that is recorded. */
	return options.mode == RECORDER_FULL || !(d->flags & KYMO_OP_CHATTY);
}

/* What the mode leaves out, not the user. */
static bool select_left_out(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	const kymo_op_desc_t *d = &domain->ops[op];

	return !(d->flags & (KYMO_OP_OBJECT | KYMO_OP_ACTIVITY)) && domain_wanted(domain->name) &&
	       !options.include.count &&
	       !(options.exclude.count && patterns_match(&exclude, d->name)) &&
	       !select_op(domain, op, NULL);
}

static bool select_counted(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return !(domain->ops[op].flags & KYMO_OP_ACTIVITY) && select_op(domain, op, data);
}

/* Who names a call with --exclude wants to be rid of what it costs, and messages cost most of it. */
static bool select_excluded(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return !(domain->ops[op].flags & KYMO_OP_ACTIVITY) &&
	       patterns_match(&exclude, domain->ops[op].name);
}

static bool select_stack(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return !(domain->ops[op].flags & KYMO_OP_ACTIVITY) &&
	       patterns_match(&stacks, domain->ops[op].name);
}

/* ---- recording from then to then ---- */

static void wait_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (nanosleep(&t, &t) != 0)
		;
}

static _Atomic bool steered; /* the user has said since what is to be: no window holds any more */
/* Else it is recorded in the window, unless the program itself has stopped that. Under `window_lock`. */
static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;
static bool window_open, stopped;
/* Of the process, likewise, and of a thread: pauses that are not ended; resumes ahead of their pauses are below 0. */
static int64_t pauses;
static _Thread_local int64_t thread_pauses RECORDER_TLS;

static bool has_window(void)
{
	return options.delay_ns || options.duration_ns || options.after_ns || options.before_ns ||
	       options.period.duration_ns;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_until(uint64_t moment)
{
	uint64_t now = now_ns();

	if (moment > now)
		wait_ns(moment - now);
}

static void window_set(bool open)
{
	pthread_mutex_lock(&window_lock);
	window_open = open;
	if (atomic_load(&steered) || stopped) {
		pthread_mutex_unlock(&window_lock);
		return;
	}
	if (open)
		kymo_context_start(context);
	else
		kymo_context_stop(context);
	pthread_mutex_unlock(&window_lock);
}

/* Whether `now` lies in a window. *left: how long that holds; UINT64_MAX: until the end. */
static bool period_at(uint64_t now, uint64_t *left)
{
	const struct recorder_period *p = &options.period;
	uint64_t since = now - p->began;
	uint64_t cycle = p->delay_ns + p->duration_ns, in = since % cycle;
	bool last = p->repeat && since / cycle + 1 >= p->repeat;

	*left = UINT64_MAX;
	if (p->repeat && since / cycle >= p->repeat)
		return false;
	if (in < p->delay_ns) {
		*left = p->delay_ns - in;
		return false;
	}
	if (p->delay_ns || last)
		*left = cycle - in;
	else if (p->repeat &&
		 p->repeat < INT64_MAX / cycle) /* without a pause they are one window */
		*left = p->repeat * cycle - since;
	return true;
}

/* Who wakes late goes on with what is due then: windows of all processes stay in step. */
static void apply_period(void)
{
	uint64_t left = 0, now = now_ns();
	bool open;

	while (left != UINT64_MAX && !atomic_load(&steered)) {
		open = period_at(now, &left);
		window_set(open);
		if (left != UINT64_MAX)
			wait_until(now + left);
		now = now_ns();
	}
}

static bool is_open(void)
{
	uint64_t now = now_ns(), left;

	if (options.period.duration_ns)
		return period_at(now, &left);
	return !options.delay_ns && options.after_ns <= now &&
	       (!options.before_ns || now < options.before_ns);
}

static void apply_window(void *data)
{
	uint64_t end = options.before_ns ? options.before_ns : UINT64_MAX, begun;

	if (options.period.duration_ns) {
		apply_period();
		return;
	}
	wait_ns(options.delay_ns);
	wait_until(options.after_ns);
	begun = now_ns();
	if (atomic_load(&steered) || begun >= end)
		return;
	window_set(true);
	if (options.duration_ns && options.duration_ns < end - begun)
		end = begun + options.duration_ns;
	if (end == UINT64_MAX)
		return;
	wait_until(end);
	window_set(false);
}

/* A thread of its own only when the user asked for a window. What is open at once waits for no thread. */
static kymo_status_t start_window(void)
{
	if (is_open())
		window_set(true);
	return kymo_thread_start("window", apply_window, NULL);
}

/* ---- the program's own pauses ---- */

static bool select_control(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return strcmp(domain->ops[op].name, "pause") == 0 ||
	       strcmp(domain->ops[op].name, "resume") == 0;
}

static void count_pause(int64_t *count, bool pause)
{
	if (options.pauses == RECORDER_PAUSES_COUNT)
		*count += pause ? 1 : -1;
	else
		*count = pause;
}

static void on_control(kymo_context_t from, const kymo_callback_record_t *r, void *data)
{
	const kymo_marker_args_t *args = r->args;
	bool pause = strcmp(r->domain->ops[r->op].name, "pause") == 0;

	if (!args->all) {
		count_pause(&thread_pauses, pause);
		kymo_context_pause_thread(context, thread_pauses > 0);
		return;
	}
	pthread_mutex_lock(&window_lock);
	count_pause(&pauses, pause);
	if (options.pauses == RECORDER_PAUSES_COUNT && stopped == (pauses > 0)) {
		pthread_mutex_unlock(&window_lock);
		return;
	}
	stopped = pauses > 0;
	if (stopped)
		kymo_context_stop(context);
	else if (window_open || atomic_load(&steered))
		kymo_context_start(context);
	pthread_mutex_unlock(&window_lock);
}

static kymo_status_t obey_program(void)
{
	kymo_selection_t ops = {.size = sizeof(ops), .domain = "marker", .select = select_control};
	kymo_status_t status = KYMO_OK;

	if (options.pauses != RECORDER_PAUSES_IGNORE)
		TWICE(kymo_callback_service(control, &ops, on_control, NULL));
	if (status == KYMO_OK)
		status = work_count(control);
	if (status == KYMO_OK)
		status = ranges_follow(control, context, &options);
	return status == KYMO_OK ? kymo_context_start(control) : status;
}

/* ---- `kymo ctl` ---- */

static void steer(kymo_steer_t what, void *data)
{
	switch (what) {
	case KYMO_STEER_FLUSH:
		kymo_drain(context, FLUSH_NS);
		break;
	case KYMO_STEER_PAUSE:
		pthread_mutex_lock(&window_lock); /* no window begins between the two */
		atomic_store(&steered, true);
		kymo_context_stop(context);
		pthread_mutex_unlock(&window_lock);
		break;
	case KYMO_STEER_RESUME:
		pthread_mutex_lock(&window_lock);
		atomic_store(&steered, true);
		kymo_context_start(context);
		pthread_mutex_unlock(&window_lock);
		break;
	case KYMO_STEER_LEAVE:
		if (options.leave)
			options.leave();
		break;
	}
}

/* ---- the tool ---- */

static kymo_status_t make_context(void)
{
	kymo_selection_t ops = {.size = sizeof(ops), .select = select_op};
	kymo_selection_t left_out = {.size = sizeof(left_out), .select = select_left_out};
	kymo_selection_t stack_ops = {.size = sizeof(stack_ops), .select = select_stack};
	kymo_selection_t excluded = {.size = sizeof(excluded), .select = select_excluded};
	kymo_buffer_desc_t desc = {
		.size = sizeof(desc),
		.bytes = options.buffer_bytes,
		.policy = options.policy,
		.block_ns = options.block_ns,
		.arguments = options.arguments,
		.tally = options.mode == RECORDER_SUMMARY,
		.share = options.share,
		.steer = steer,
		.share_early = options.share_early,
		.unshared = options.unshared,
		.threads_paused = options.range.text != NULL,
	};
	kymo_buffer_t buffer;
	kymo_status_t status;

	TWICE(kymo_context_create(&context));

	if (desc.tally)
		desc.arguments = KYMO_ARGUMENTS_NONE;

	if (status == KYMO_OK)
		status = kymo_buffer_create(context, &desc, &buffer);
	if (status == KYMO_OK)
		TWICE(kymo_buffer_service(context, &ops, buffer));
	if (status == KYMO_OK)
		TWICE(work_choose(context, buffer, &options));
	if (status == KYMO_OK && !options.range.text) /* outside of it nothing is asked for */
		TWICE(kymo_count_service(context, &left_out));
	if (status == KYMO_OK && options.exclude.count)
		TWICE(kymo_exclusion_service(context, &excluded));
	if (status == KYMO_OK && options.stacks.count)
		status = kymo_stack_service(context, &stack_ops);
	if (status == KYMO_OK)
		recorder_measure(context, &options, select_counted);
	return status;
}

static kymo_status_t initialize(void *data)
{
	kymo_status_t status = patterns_compile(&include, &options.include);

	if (status == KYMO_OK)
		status = patterns_compile(&exclude, &options.exclude);
	if (status == KYMO_OK)
		status = patterns_compile(&stacks, &options.stacks);
	if (status == KYMO_OK) /* before the other: it counts work before that is chosen from */
		TWICE(kymo_context_create(&control));
	if (status == KYMO_OK)
		status = make_context();
	if (status == KYMO_OK)
		status = obey_program();
	atomic_store(&steered, options.stands != 0);
	window_open = !has_window() || options.paused;
	stopped = options.paused;
	pauses = stopped;
	if (status == KYMO_OK && options.stands == KYMO_STEER_RESUME)
		return kymo_context_start(context);
	if (status != KYMO_OK || options.stands || options.paused)
		return status;
	return has_window() ? start_window() : kymo_context_start(context);
}

/* The window's thread stays in the parent: a child records from the start of its own delay. */
static void fork_child(void *data)
{
	pthread_mutex_init(&window_lock, NULL);
	patterns_fork_child();
	ranges_fork_child();
	work_fork_child();
	if (has_window() && !atomic_load(&steered))
		start_window();
}

static const kymo_tool_t tool = {
	.size = sizeof(kymo_tool_t),
	.name = "recorder",
	.initialize = initialize,
	.fork_child = fork_child,
};

static const kymo_tool_t *configure(uint32_t version, const char *library_version,
				    uint32_t priority)
{
	return version == KYMO_TOOL_VERSION ? &tool : NULL;
}

kymo_status_t recorder_start(const struct recorder_options *o)
{
	kymo_status_t status;

	options = *o;
	return TWICE(kymo_force_configure(configure));
}

void recorder_stop(void)
{
	pthread_mutex_lock(&window_lock); /* no window begins any more */
	atomic_store(&steered, true);
	kymo_context_stop(context);
	pthread_mutex_unlock(&window_lock);
	kymo_drain(context, FLUSH_NS);
	kymo_tool_detach(&tool);
}
