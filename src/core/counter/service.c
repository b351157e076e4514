/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services that count: adding them to contexts, who may share an agent with whom, and following
 * their contexts as these are started, stopped and destroyed.
 */
#include "base/locks.h"
#include "core/counter/counter.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct core_counter_service core_counter_services[COUNTER_SERVICES];
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER; /* one service at a time */
static _Atomic uint32_t changes;                           /* that services have not followed yet */

/* ---- who may share an agent ---- */

struct together {
	uint64_t handles[COUNTER_SERVICES * KYMO_COUNTER_CHOICES];
	uint32_t count;
	const char *holder; /* another set on that agent */
	uint32_t mode;
};

static void together_add(struct together *t, const struct part *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		bool there = false;

		for (uint32_t k = 0; k < t->count && !there; k++)
			there = t->handles[k] == p->handles[i];
		if (!there)
			t->handles[t->count++] = p->handles[i];
	}
}

/* Everything that services, and `p` besides, want of the agent. Caller holds `counters_lock`. */
static void together_make(struct together *t, const struct part *p)
{
	kymo_assert_held(&counters_lock);
	*t = (struct together){.count = 0};
	together_add(t, p);
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++) {
		const struct core_counter_service *s = &core_counter_services[i];
		const struct counter_set *set = s->set;

		/* What kernels are counted with is open while they run, pass by pass. */
		for (uint32_t k = 0; s->used && !s->kernels && k < set->part_count; k++) {
			if (set->parts[k].provider != p->provider ||
			    set->parts[k].agent != p->agent)
				continue;
			t->holder = set->name;
			together_add(t, &set->parts[k]);
		}
	}
}

kymo_status_t counter_ask(const struct part *p, uint32_t mode, bool once, const uint64_t *handles,
			  uint32_t count, char *reason, size_t size)
{
	kymo_counter_request_t request = {
		.size = sizeof(request),
		.mode = mode,
		.agent = p->agent,
		.counters = handles,
		.count = count,
		.reason = reason,
		.reason_size = size,
		.once = once,
	};

	return p->provider->admit ? p->provider->admit(&request, p->provider->data) : KYMO_OK;
}

/* ERROR_BUSY only where the set would fit alone. */
static kymo_status_t admit_part(const struct counter_set *set, const struct part *p, uint32_t mode)
{
	static struct together t; /* under `adding` */
	char reason[COUNTER_REASON] = "", holder[64];
	kymo_status_t status;

	pthread_mutex_lock(&counters_lock);
	together_make(&t, p);
	strncpy(holder, t.holder ? t.holder : "", sizeof(holder) - 1);
	holder[sizeof(holder) - 1] = '\0';
	pthread_mutex_unlock(&counters_lock);
	status = counter_ask(p, mode, false, p->handles, p->count, reason, sizeof(reason));
	if (status != KYMO_OK) {
		counter_refuse("%s cannot count the set \"%s\" on agent %u: %s", p->provider->name,
			       set->name, p->agent, reason[0] ? reason : kymo_status_text(status));
		return status;
	}
	if (!holder[0])
		return KYMO_OK;
	status = counter_ask(p, mode, false, t.handles, t.count, reason, sizeof(reason));
	if (status != KYMO_OK) {
		counter_refuse("agent %u of %s is held by the set \"%s\", and \"%s\" does not fit "
			       "beside it: %s",
			       p->agent, p->provider->name, holder, set->name,
			       reason[0] ? reason : kymo_status_text(status));
		return KYMO_ERROR_BUSY;
	}
	return KYMO_OK;
}

kymo_status_t counter_admit(const struct counter_set *set, uint32_t mode)
{
	kymo_status_t status = KYMO_OK;

	if (!(set->modes & mode)) {
		counter_refuse("the counters of the set \"%s\" cannot all be counted by %s",
			       set->name,
			       mode == KYMO_COUNTER_THREAD  ? "thread"
			       : mode == KYMO_COUNTER_AGENT ? "agent"
							    : "kernel");
		return KYMO_ERROR_UNSUPPORTED;
	}
	for (uint32_t i = 0; i < set->part_count && status == KYMO_OK; i++)
		status = admit_part(set, &set->parts[i], mode);
	return status;
}

/* Opens and closes once, so that a refusal comes now and not in the middle of the program. */
static kymo_status_t try_open(const struct counter_set *set, struct core_counter_service *s)
{
	struct sessions sessions;
	kymo_status_t status = sessions_open(&sessions, set, s->mode, NULL);

	if (status == KYMO_OK)
		sessions_close(&sessions, set);
	return status;
}

/* ---- adding ---- */

static struct core_counter_service *free_slot(void)
{
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++)
		if (!core_counter_services[i].used)
			return &core_counter_services[i];
	return NULL;
}

static void fill(struct core_counter_service *s, struct core_counter_service *with)
{
	static uint32_t numbers;

	with->number = ++numbers;
	*s = *with;
	s->used = true;
}

static kymo_status_t add(struct core_counter_service *with, struct core_counter_service **out)
{
	kymo_status_t status =
		with->kernels ? counter_kernels_admit(with) : counter_admit(with->set, with->mode);
	struct core_counter_service *s;

	if (status != KYMO_OK)
		return status;
	pthread_mutex_lock(&counters_lock);
	s = free_slot();
	if (s)
		fill(s, with);
	pthread_mutex_unlock(&counters_lock);
	if (!s)
		return KYMO_ERROR_LIMIT;
	counter_set_define(with->set);
	status = with->kernels ? counter_kernels_try(s) : try_open(with->set, s);
	if (status != KYMO_OK) {
		pthread_mutex_lock(&counters_lock);
		s->used = false;
		pthread_mutex_unlock(&counters_lock);
	}
	*out = s;
	return status;
}

kymo_status_t counter_service_add(struct core_counter_service *with, kymo_counter_set_t set,
				  struct core_counter_service **out)
{
	kymo_status_t status;
	bool active;

	status = kymo_context_is_active(with->context, &active);
	if (status == KYMO_OK)
		status = counter_domain_ready();
	if (status != KYMO_OK)
		return status;
	with->set = counter_set_get(set);
	if (!with->set)
		return KYMO_ERROR_NOT_FOUND;
	counters_follow(0); /* services of contexts that are gone let go */
	pthread_mutex_lock(&adding);
	status = add(with, out);
	pthread_mutex_unlock(&adding);
	if (status != KYMO_OK) {
		cap_note(2, "counter", "not counted: %s", kymo_counter_error());
		counter_set_put(with->set);
	} else {
		counters_follow(0);
	}
	return status;
}

kymo_status_t kymo_counter_service(kymo_context_t context, const kymo_selection_t *selection,
				   kymo_counter_set_t set, kymo_counter_values_fn callback,
				   void *data)
{
	struct core_counter_service with = {.mode = KYMO_COUNTER_THREAD,
					    .context = context,
					    .callback = callback,
					    .data = data},
				    *s;
	kymo_status_t status = counter_service_add(&with, set, &s);

	if (status != KYMO_OK)
		return status;
	status = kymo_callback_service(context, selection, counter_thread_call, s);
	if (status != KYMO_OK) {
		pthread_mutex_lock(&counters_lock);
		s->used = false;
		pthread_mutex_unlock(&counters_lock);
		counter_set_put(s->set);
	}
	return status;
}

kymo_status_t kymo_counter_window_service(kymo_context_t context, kymo_counter_set_t set,
					  uint64_t interval_ns, kymo_counter_values_fn callback,
					  void *data)
{
	struct core_counter_service with = {.mode = KYMO_COUNTER_AGENT,
					    .context = context,
					    .callback = callback,
					    .data = data,
					    .interval_ns = interval_ns},
				    *s;

	if (interval_ns && interval_ns < 1000000)
		return KYMO_ERROR_INVALID_ARGUMENT;
	return counter_service_add(&with, set, &s);
}

kymo_status_t kymo_counter_sample(kymo_context_t context)
{
	kymo_status_t status = KYMO_ERROR_STATE;

	for (uint32_t i = 0; i < COUNTER_SERVICES; i++) {
		struct core_counter_service *s = &core_counter_services[i];

		if (s->used && s->mode == KYMO_COUNTER_AGENT &&
		    s->context.handle == context.handle && counter_window_end(s))
			status = KYMO_OK;
	}
	return status;
}

/* ---- following contexts ---- */

static void switch_service(struct core_counter_service *s, bool active)
{
	if (atomic_exchange(&s->active, active) == active)
		return;
	if (s->kernels)
		active ? counter_kernels_start(s) : counter_kernels_stop(s);
	else if (s->mode != KYMO_COUNTER_THREAD)
		active ? counter_window_start(s) : counter_window_stop(s);
	else if (!active) /* threads open at their next selected call */
		counter_threads_stop(s);
}

static void service_update(struct core_counter_service *s)
{
	bool active = false, gone;

	gone = kymo_context_is_active(s->context, &active) != KYMO_OK;
	if (!gone && active)
		counter_buffers_look(s);
	switch_service(s, !gone && active);
	if (!gone)
		return;
	pthread_mutex_lock(&counters_lock);
	s->used = false;
	pthread_mutex_unlock(&counters_lock);
	counter_kernels_free(s);
	counter_set_put(s->set);
}

/*
 * A callback on a thread of ours may change contexts while that thread is being waited for: whoever
 * follows already does another round for it, and nobody waits.
 */
void counters_follow(uint32_t activities)
{
	int saved = errno;
	uint32_t seen = 1;

	if (atomic_fetch_add(&changes, 1) != 0)
		return;
	do {
		for (uint32_t i = 0; i < COUNTER_SERVICES; i++)
			if (core_counter_services[i].used)
				service_update(&core_counter_services[i]);
	} while (!atomic_compare_exchange_strong(&changes, &seen, 0));
	errno = saved;
}

void counters_flush(uint64_t deadline)
{
	counter_threads_flush();
	counter_kernels_flush();
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++)
		if (core_counter_services[i].used &&
		    core_counter_services[i].mode == KYMO_COUNTER_AGENT)
			counter_window_end(&core_counter_services[i]);
}

/* Locks may have been held by threads that the child does not have. */
void counters_fork_child(void)
{
	pthread_mutex_init(&counters_lock, NULL);
	pthread_mutex_init(&adding, NULL);
	atomic_store(&changes, 0);
	counter_threads_fork_child();
	counter_kernels_fork_child();
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++) {
		struct core_counter_service *s = &core_counter_services[i];

		if (!s->used)
			continue;
		sessions_close(&s->sessions, s->set); /* the parent's, as the child sees them */
		s->window = NULL;
		atomic_store(&s->active, false);
	}
	counters_follow(0);
}
