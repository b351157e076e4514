/* SPDX-License-Identifier: Apache-2.0 */
/* Services that count kernels one by one, and the passes of a launch; see kernel.h. */
#include "core/counter/kernel.h"
#include "core/counter/counter.h"
#include "core/counter/lines.h"
#include "core/process/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAMES            256u
#define REASONS          32u
#define PATIENCE_NS      1000000000ull /* of whoever waits for a kernel that is counted */
#define LONG_PATIENCE_NS (60 * PATIENCE_NS)

_Atomic uint32_t cap_counting_kernels;

/* Held by the launch that is counted (write), and by other enqueues (read). */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Atomic uint32_t disturbed; /* how often somebody lost patience */
static _Atomic bool
	instrumented; /* the launch that is counted is: it may take long, and puts memory back */

/* What the note of the end says. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
static struct reason {
	const char *text;
	uint64_t launches;
} reasons[REASONS];
static uint64_t launches_alone, passes_run, bytes_saved;

/* Launches of kernels by name; never freed. */
static struct name {
	struct name *next;
	char *text;
	uint64_t launches;
} * names[NAMES];

/* ---- notes ---- */

void cap_launch_not_counted(const char *text)
{
	uint32_t i = 0;

	pthread_mutex_lock(&telling);
	while (i < REASONS - 1 && reasons[i].text && strcmp(reasons[i].text, text) != 0)
		i++;
	reasons[i].text = text;
	reasons[i].launches++;
	pthread_mutex_unlock(&telling);
}

void cap_launch_saved(uint64_t bytes)
{
	pthread_mutex_lock(&telling);
	bytes_saved += bytes;
	pthread_mutex_unlock(&telling);
}

/* What was since the last such notes. */
static void tell(struct counter_kernels *k)
{
	static const char *const how[] = {
		[KYMO_REPLAY_KERNEL] = "kernel replay",
		[KYMO_REPLAY_ROTATE] = "each launch in one of them, by turns",
		[KYMO_REPLAY_ONE] = "each launch in one of them alone",
	};

	const uint64_t alone = atomic_exchange(&k->alone, 0), ran = atomic_exchange(&k->ran, 0);
	const uint32_t passes =
		k->desc.replay == KYMO_REPLAY_KERNEL ? atomic_exchange(&k->most, 0) : k->passes;

	if (alone)
		cap_note(1, "counter",
			 "%llu launches of kernels ran alone to be counted, %llu times in all; "
			 "passes: %u%s%s; the device's library puts back what they write",
			 (unsigned long long)alone, (unsigned long long)ran, passes,
			 passes == 1 ? "" : ", ", passes == 1 ? "" : how[k->desc.replay]);
	pthread_mutex_lock(&telling);
	if (launches_alone)
		cap_note(1, "counter",
			 "%llu launches of kernels ran alone to be counted, %llu times in all; "
			 "passes: %u%s%s; bytes put aside to be put back: %llu",
			 (unsigned long long)launches_alone, (unsigned long long)passes_run,
			 k->passes, k->passes == 1 ? "" : ", ",
			 k->passes == 1 ? "" : how[k->desc.replay],
			 (unsigned long long)bytes_saved);
	for (uint32_t i = 0; i < REASONS && reasons[i].text; i++)
		cap_note(2, "counter", "%llu launches of kernels have no values, or not all: %s",
			 (unsigned long long)reasons[i].launches, reasons[i].text);
	memset(reasons, 0, sizeof(reasons));
	launches_alone = passes_run = bytes_saved = 0;
	pthread_mutex_unlock(&telling);
}

/* ---- services ---- */

static void kernels_free(struct counter_kernels *k)
{
	for (uint32_t i = 0; k && i < k->passes; i++) {
		counter_set_put(k->pass[i].set);
		free(k->pass[i].from);
	}
	free(k);
}

static bool pass_make(struct counter_kernel_pass *p, const struct counter_set *set,
		      uint64_t choices)
{
	uint32_t inputs;

	p->choices = choices;
	p->set = counter_set_part(set, choices);
	if (!p->set)
		return false;
	inputs = p->set->inputs;
	p->from = calloc(3u * inputs + p->set->outputs + set->outputs, sizeof(double));
	if (!p->from)
		return false;
	p->to = p->from + inputs;
	p->scratch = p->to + inputs;
	p->values = p->scratch + inputs;
	p->out = p->values + p->set->outputs;
	return true;
}

/* What a device's provider repeats kernels for is one pass here, however often they run. */
static kymo_status_t plan(const struct counter_set *set, uint32_t mode, kymo_replay_t replay,
			  struct counter_plan *out)
{
	if (mode == KYMO_COUNTER_AGENT || replay != KYMO_REPLAY_KERNEL)
		return counter_plan_make(set, mode, out);
	counter_plan_one(set, mode, out);
	return KYMO_OK;
}

static kymo_status_t kernels_new(const struct counter_set *set, uint32_t mode,
				 const kymo_counter_kernel_desc_t *desc,
				 struct counter_kernels **out)
{
	struct counter_plan p;
	kymo_status_t status = plan(set, mode, desc->replay, &p);
	struct counter_kernels *k;

	if (status != KYMO_OK)
		return status;
	if (desc->replay == KYMO_REPLAY_ONE && desc->pass >= p.passes) {
		counter_refuse("the counters of the set \"%s\" need %u passes: there is no pass %u",
			       set->name, p.passes, desc->pass);
		return KYMO_ERROR_LIMIT;
	}
	k = calloc(1, sizeof(*k) + p.passes * sizeof(k->pass[0]));
	if (!k)
		return KYMO_ERROR_NO_MEMORY;
	k->desc = *desc;
	k->passes = p.passes;
	for (uint32_t pass = 0; pass < p.passes && status == KYMO_OK; pass++) {
		uint64_t choices = 0;

		for (uint32_t i = 0; i < set->choice_count; i++)
			choices |= (uint64_t)(p.pass_of[i] == pass) << i;
		if (!pass_make(&k->pass[pass], set, choices))
			status = KYMO_ERROR_NO_MEMORY;
	}
	if (status == KYMO_OK)
		*out = k;
	else
		kernels_free(k);
	return status;
}

/* Names of the choices that are in `out` and not in `in`; false: there are none. */
static bool list_choices(const struct counter_set *set, uint64_t out, uint64_t in, char list[400])
{
	size_t n = 0;

	for (uint32_t i = 0; i < set->choice_count && n < 400; i++)
		if ((out & ~in) >> i & 1)
			n += (size_t)snprintf(list + n, 400 - n, "%s%s", n ? ", " : "",
					      set->choices[i].name);
	return n != 0;
}

/* Of what was asked for it is said, where it will not be counted. */
static void tell_left_out(const struct counter_set *set, const struct counter_kernels *k)
{
	char list[400] = "";
	uint64_t planned = 0;

	for (uint32_t i = 0; i < k->passes; i++)
		planned |= k->pass[i].choices;
	if (list_choices(set, UINT64_MAX, planned, list))
		cap_note(2, "counter", "not counted, as %s: %s",
			 k->desc.replay == KYMO_REPLAY_KERNEL
				 ? "the device's library takes them only without the others (a "
				   "run of their own counts them)"
				 : "each needs several passes by itself, which --replay kernel "
				   "gives it",
			 list);
	if (k->desc.replay != KYMO_REPLAY_ONE || k->passes == 1 ||
	    !list_choices(set, planned, k->pass[k->desc.pass].choices, list))
		return;
	cap_note(2, "counter",
		 "kernels are counted in pass %u of %u alone, without: %s; --replay kernel, rotate "
		 "or "
		 "application counts them",
		 k->desc.pass + 1, k->passes, list);
}

static kymo_status_t service_of(kymo_context_t context, kymo_counter_set_t handle, uint32_t mode,
				struct counter_set *set, const kymo_counter_kernel_desc_t *desc)
{
	struct core_counter_service with = {.mode = mode,
					    .context = context,
					    .callback = desc->callback,
					    .data = desc->data},
				    *s;
	kymo_status_t status;

	counter_set_define(set); /* the passes call their values alike */
	status = kernels_new(set, mode, desc, &with.kernels);
	if (status == KYMO_ERROR_UNSUPPORTED)
		cap_note(2, "counter", "not counted: %s", kymo_counter_error());
	if (status != KYMO_OK)
		return status;
	status = counter_service_add(&with, handle, &s);
	if (status == KYMO_OK)
		tell_left_out(set, with.kernels);
	else
		kernels_free(with.kernels);
	return status;
}

kymo_status_t kymo_counter_kernel_service(kymo_context_t context, kymo_counter_set_t handle,
					  const kymo_counter_kernel_desc_t *desc)
{
	struct counter_set *set;
	kymo_status_t status;

	if (!desc || desc->size < sizeof(*desc) || (unsigned)desc->replay > KYMO_REPLAY_ONE)
		return KYMO_ERROR_INVALID_ARGUMENT;
	set = counter_set_get(handle);
	if (!set)
		return KYMO_ERROR_NOT_FOUND;
	status = service_of(context, handle, counter_kernel_mode(set), set, desc);
	counter_set_put(set);
	return status;
}

kymo_status_t kymo_counter_dispatch_service(kymo_context_t context, kymo_counter_set_t handle,
					    kymo_counter_values_fn callback, void *data)
{
	const kymo_counter_kernel_desc_t desc = {
		.size = sizeof(desc), .callback = callback, .data = data};
	struct counter_set *set = counter_set_get(handle);
	kymo_status_t status;

	if (!set)
		return KYMO_ERROR_NOT_FOUND;
	status = service_of(context, handle, KYMO_COUNTER_DISPATCH, set, &desc);
	counter_set_put(set);
	return status;
}

kymo_status_t counter_kernels_admit(const struct core_counter_service *s)
{
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 0; i < s->kernels->passes && status == KYMO_OK; i++)
		status = counter_admit(s->kernels->pass[i].set, s->mode);
	return status;
}

static kymo_status_t pass_open(struct counter_kernel_pass *p, uint32_t mode)
{
	return p->sessions.generation ? KYMO_OK
				      : sessions_open(&p->sessions, p->set, mode, p->dispatched);
}

kymo_status_t counter_kernels_try(struct core_counter_service *s)
{
	struct counter_kernels *k = s->kernels;
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 0; i < k->passes && status == KYMO_OK; i++) {
		for (uint32_t part = 0; part < COUNTER_PARTS; part++)
			k->pass[i].dispatched[part] = (struct dispatched){s, &k->pass[i], part};
		status = pass_open(&k->pass[i], s->mode);
		if (status == KYMO_OK)
			sessions_close(&k->pass[i].sessions, k->pass[i].set);
	}
	return status;
}

/* Waits no longer than a program can stand, and says what it waited. */
static bool gate_lock(bool write)
{
	struct cap_timed waiting;
	struct timespec until;
	bool locked;

	if ((write ? pthread_rwlock_trywrlock(&gate) : pthread_rwlock_tryrdlock(&gate)) == 0)
		return true;
	cap_timed_begin(&waiting);

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (atomic_load(&instrumented) ? LONG_PATIENCE_NS : PATIENCE_NS) / 1000000000u;
	locked = (write ? pthread_rwlock_timedwrlock(&gate, &until)
			: pthread_rwlock_timedrdlock(&gate, &until)) == 0;
	cap_timed_end(&waiting, UINT64_MAX);
	return locked;
}

static void open_all(struct core_counter_service *s)
{
	struct counter_kernels *k = s->kernels;

	for (uint32_t i = 0; i < k->passes; i++)
		if ((k->desc.replay != KYMO_REPLAY_ONE || i == k->desc.pass) &&
		    pass_open(&k->pass[i], s->mode) != KYMO_OK)
			cap_note(2, "counter", "%s", kymo_counter_error());
}

void counter_kernels_start(struct core_counter_service *s)
{
	if (s->mode == KYMO_COUNTER_DISPATCH)
		open_all(s);
	else
		atomic_fetch_add(&cap_counting_kernels, 1);
}

/* The provider's lock keeps launches that are under way apart from this. */
static void close_all(struct counter_kernels *k)
{
	for (uint32_t i = 0; i < k->passes; i++)
		sessions_close(&k->pass[i].sessions, k->pass[i].set);
	tell(k);
}

void counter_kernels_stop(struct core_counter_service *s)
{
	struct counter_kernels *k = s->kernels;

	if (s->mode == KYMO_COUNTER_DISPATCH) {
		close_all(k);
		return;
	}
	atomic_fetch_sub(&cap_counting_kernels, 1);
	if (gate_lock(true)) {
		for (uint32_t i = 0; i < k->passes; i++)
			sessions_close(&k->pass[i].sessions, k->pass[i].set);
		pthread_rwlock_unlock(&gate);
	} else {
		k->left =
			true; /* a launch is in there: this thread's, whose callback stops us, or one
				   that does not end */
	}
	tell(k);
}

void counter_kernels_flush(void)
{
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++)
		if (core_counter_services[i].used && core_counter_services[i].kernels)
			tell(core_counter_services[i].kernels);
}

void counter_kernels_free(struct core_counter_service *s)
{
	if (s->kernels && !s->kernels->left)
		kernels_free(s->kernels);
	s->kernels = NULL;
}

void counter_kernels_fork_child(void)
{
	gate = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	pthread_mutex_init(&telling, NULL);
	atomic_store(&cap_counting_kernels, 0);
	atomic_store(&instrumented, false);
	memset(reasons, 0, sizeof(reasons));
	launches_alone = passes_run = bytes_saved = 0;
	for (uint32_t i = 0; i < NAMES; i++)
		for (struct name *n = names[i]; n; n = n->next)
			n->launches = 0; /* each process counts its own */
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++) {
		struct counter_kernels *k =
			core_counter_services[i].used ? core_counter_services[i].kernels : NULL;

		for (uint32_t p = 0; k && p < k->passes; p++)
			sessions_close(&k->pass[p].sessions, k->pass[p].set);
	}
}

/* ---- the gate ---- */

bool cap_gate_enter(void)
{
	if (gate_lock(false))
		return true;
	atomic_fetch_add(&disturbed, 1);
	return false;
}

void cap_gate_leave(bool entered)
{
	if (entered)
		pthread_rwlock_unlock(&gate);
}

/* ---- launches ---- */

static struct name *name_find(const char *text)
{
	uint32_t h = 5381;
	struct name *n;

	for (const char *c = text; *c; c++)
		h = h * 33 + (unsigned char)*c;
	for (n = names[h % NAMES]; n; n = n->next)
		if (strcmp(n->text, text) == 0)
			return n;
	n = calloc(1, sizeof(*n));
	if (n)
		n->text = strdup(text);
	if (!n || !n->text) {
		free(n);
		return NULL;
	}
	n->next = names[h % NAMES];
	names[h % NAMES] = n;
	return n;
}

/* Which launch of its kernel it is, from 1; 0: no memory. */
static uint64_t number_of(const char *name)
{
	uint64_t number = 0;
	struct name *n;

	pthread_mutex_lock(&telling);
	n = name_find(name);
	if (n)
		number = ++n->launches;
	pthread_mutex_unlock(&telling);
	return number;
}

bool counter_kernel_in_pass(const struct counter_kernels *k, uint32_t pass, uint64_t number)
{
	return k->desc.replay == KYMO_REPLAY_KERNEL ||
	       pass == (k->desc.replay == KYMO_REPLAY_ONE ? k->desc.pass
							  : (number - 1) % k->passes);
}

static void add_passes(struct cap_counted_launch *c, struct core_counter_service *s,
		       uint64_t number)
{
	struct counter_kernels *k = s->kernels;

	for (uint32_t i = 0; i < k->passes && c->passes < CAP_LAUNCH_PASSES; i++)
		if (counter_kernel_in_pass(k, i, number))
			c->pass[c->passes++] = (struct cap_launch_pass){s, &k->pass[i]};
}

bool counter_kernel_chosen(const struct core_counter_service *s, const kymo_counter_launch_t *l)
{
	bool yes;

	if (!s->used || !s->kernels || !atomic_load(&s->active))
		return false;
	if (!s->kernels->desc.filter)
		return true;
	cap_guard_enter();
	yes = s->kernels->desc.filter(l, s->kernels->desc.data);
	cap_guard_leave();
	return yes;
}

void cap_launch_describe(const struct cap_launch *launch, kymo_counter_launch_t *out)
{
	*out = (kymo_counter_launch_t){.size = sizeof(*out),
				       .agent = launch->agent,
				       .queue = launch->queue,
				       .kernel = launch->kernel,
				       .name = launch->name ? launch->name : ""};
	if (!launch->name)
		kymo_ref_name("kernel", launch->kernel, &out->name);
	out->number = launch->number ? launch->number : number_of(out->name);
}

void cap_launch_passed(const struct cap_launch *launch)
{
	kymo_counter_launch_t l;

	cap_launch_describe(launch, &l);
}

/* A service that counts kernels of processors. */
static bool counts(const struct core_counter_service *s)
{
	return s->used && s->kernels && s->mode == KYMO_COUNTER_AGENT && atomic_load(&s->active);
}

bool cap_launch_chosen(struct cap_counted_launch *c, const struct cap_launch *launch)
{
	kymo_counter_launch_t l;

	cap_launch_describe(launch, &l);
	*c = (struct cap_counted_launch){.launch = *launch, .number = l.number};
	if (!l.number)
		return false;
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++)
		c->wanted |= (uint32_t)(counts(&core_counter_services[i]) &&
					counter_kernel_chosen(&core_counter_services[i], &l))
			     << i;
	if (c->wanted && !launch->processor) {
		cap_launch_not_counted("their device is no processor of the host");
		c->wanted = 0;
	}
	c->lines = cap_lines_chosen(&l);
	return c->wanted || c->lines;
}

void cap_launch_end(struct cap_counted_launch *c)
{
	atomic_store(&instrumented, false);
	pthread_rwlock_unlock(&gate);
	cap_timed_end(&c->cost, UINT64_MAX);
}

bool cap_launch_hold(struct cap_counted_launch *c)
{
	if (!gate_lock(true)) {
		cap_launch_not_counted(
			"other kernels or copies were being enqueued, or counted, by "
			"other threads all the time");
		return false;
	}
	cap_timed_begin(&c->cost);
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++)
		if (c->wanted >> i & 1 && counts(&core_counter_services[i]))
			add_passes(c, &core_counter_services[i], c->number);
	atomic_store(&instrumented, c->lines);
	if (c->passes || c->lines)
		return true;
	cap_launch_end(c);
	return false;
}

void cap_pass_begin(struct cap_counted_launch *c)
{
	struct counter_kernel_pass *p = c->pass[c->at].pass;

	c->disturbed = atomic_load(&disturbed);
	c->good = pass_open(p, KYMO_COUNTER_AGENT) == KYMO_OK &&
		  sessions_read(&p->sessions, p->set, p->from);
	c->start = clock_ns(CLOCK_MONOTONIC_RAW);
}

void counter_kernel_spread(const struct counter_set *set, const struct counter_kernel_pass *p,
			   const double *values, double *out)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < set->choice_count; i++) {
		const struct choice *c = &set->choices[i];

		for (uint32_t k = 0; k < c->outputs; k++)
			out[c->out + k] = p->choices >> i & 1 ? values[from++] : __builtin_nan("");
	}
}

static void deliver(const struct cap_counted_launch *c, const struct core_counter_service *s,
		    struct counter_kernel_pass *p, uint64_t end)
{
	const struct counter_event e = {.op = KYMO_COUNTER_OP_DISPATCH,
					.agent = c->launch.agent,
					.kernel = c->launch.kernel,
					.correlation = c->launch.correlation,
					.start = c->start,
					.end = end,
					.choices = p->choices};

	counter_set_difference(p->set, p->from, p->to, p->scratch, p->values);
	counter_kernel_spread(s->set, p, p->values, p->out);
	counter_deliver(s, &e, p->out);
}

void cap_pass_end(struct cap_counted_launch *c, bool ran)
{
	struct core_counter_service *s = c->pass[c->at].service;
	struct counter_kernel_pass *p = c->pass[c->at++].pass;
	uint64_t end = clock_ns(CLOCK_MONOTONIC_RAW);
	bool read = c->good && sessions_read(&p->sessions, p->set, p->to);

	if (s->kernels->passes > 1) /* each needs what the processor has */
		sessions_close(&p->sessions, p->set);
	pthread_mutex_lock(&telling);
	launches_alone += c->at == 1;
	passes_run++;
	pthread_mutex_unlock(&telling);
	if (!ran)
		cap_launch_not_counted("the kernel failed");
	else if (!read)
		cap_launch_not_counted("their counters could not be read");
	else if (atomic_load(&disturbed) != c->disturbed)
		cap_launch_not_counted("other threads enqueued work meanwhile");
	else
		deliver(c, s, p, end);
}

void cap_launch_first_only(struct cap_counted_launch *c, const char *reason)
{
	if (c->passes > 1)
		cap_launch_not_counted(reason);
	c->passes = 1;
}

void cap_launch_refuse(struct cap_counted_launch *c, const char *reason)
{
	if (c->at < c->passes || c->lines)
		cap_launch_not_counted(reason);
	c->passes = c->at;
}
