/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters inside core: providers and their counters (provider.c), sets (set.c), how they share passes
 * (plan.c), services (service.c, window.c, kernel.c) and the records they write (record.c).
 *
 * One lock, `counters_lock`, guards the tables; no function of a provider and no callback is called
 * under it, and it is taken before no lock of core's but that of the threads.
 */
#ifndef CORE_COUNTER_H
#define CORE_COUNTER_H

#include <pthread.h>

#include <kymo/counter.h>

#include "core/capture.h"
#include "record/fields.h"

#define COUNTER_PROVIDERS 16u
#define COUNTER_SERVICES  32u
#define COUNTER_DEVICES   ":device=" /* and numbers, in lists of counters */
#define COUNTER_PARTS     8u         /* of a set: groups of one provider and agent */
#define COUNTER_REASON    256u

struct counter {
	const kymo_counter_provider_t *provider;
	kymo_counter_info_t info;
	uint32_t instances;
};

struct choice {
	const struct counter *counter;
	uint32_t definition; /* DEF_COUNTER, 0: not yet */
	kymo_reduce_t reduce;
	uint32_t keep;
	bool selects;
	uint32_t select[KYMO_COUNTER_DIMENSIONS];
	uint32_t part, first;  /* where its counter's instances begin in the part's values */
	uint32_t outputs, out; /* how many values come out, and where */
	char name[96];
};

/* Counters of one provider and agent, which are opened together. */
struct part {
	const kymo_counter_provider_t *provider;
	uint32_t agent, count, instances;
	uint64_t handles[KYMO_COUNTER_CHOICES];
	const struct counter *counters[KYMO_COUNTER_CHOICES];
};

struct counter_set {
	uint32_t references; /* under the lock */
	char name[64];
	uint32_t choice_count, part_count;
	uint32_t modes;  /* that all of them have */
	uint32_t inputs; /* values of all parts */
	uint32_t outputs;
	struct choice choices[KYMO_COUNTER_CHOICES];
	struct part parts[COUNTER_PARTS];
};

/* The open sessions of a set, one for each part. */
struct sessions {
	uint32_t generation; /* of the process that opened it; 0: not open */
	void *session[COUNTER_PARTS];
};

struct counter_kernel_pass;

/* Where a provider delivers kernels to. */
struct dispatched {
	struct core_counter_service *service;
	struct counter_kernel_pass *pass;
	uint32_t part; /* of the pass's set */
};

/* What is counted together of kernels. */
struct counter_kernel_pass {
	struct counter_set *set;
	uint64_t choices; /* of the service's set */
	struct sessions sessions;
	double *from, *to, *scratch, *values, *out;  /* `out` as the service's set has it */
	struct dispatched dispatched[COUNTER_PARTS]; /* of devices */
};

/* A service that counts kernels one by one. */
struct counter_kernels {
	kymo_counter_kernel_desc_t desc;
	uint32_t passes;
	bool left; /* its context ended while a kernel was counted: never freed */
	/* Of devices, since it was last told: launches that ran alone, how often, and the most of one. */
	_Atomic uint64_t alone, ran;
	_Atomic uint32_t most;
	struct counter_kernel_pass pass[];
};

/* Which pass each choice of a set is counted in. */
struct counter_plan {
	uint32_t passes;
	uint8_t pass_of[KYMO_COUNTER_CHOICES];
};

struct core_counter_service {
	bool used;
	_Atomic bool active; /* its context is started */
	/*
	 * Who gets its records, by op, as of when the context was last seen started: what there is
	 * when it stops still goes to them.
	 */
	_Atomic uint64_t buffers[COUNTER_OPS];
	uint32_t mode;   /* KYMO_COUNTER_THREAD, ... */
	uint32_t number; /* tells it from others that had the slot */
	kymo_context_t context;
	struct counter_set *set;
	kymo_counter_values_fn callback;
	void *data;
	struct sessions sessions; /* of windows */
	struct counter_window *window;
	struct counter_kernels *kernels; /* of services that count kernels one by one, else NULL */
	uint64_t interval_ns;
};

extern pthread_mutex_t counters_lock;
extern struct core_counter_service core_counter_services[COUNTER_SERVICES];

/* counter.c */
void counter_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
const struct counter *counter_of(kymo_counter_t h);
/* Agents that have counters, the host left out; returns how many, `most` at most. */
uint32_t counter_agents(uint32_t *out, uint32_t most);

/* set.c */
/* The set with one more reference, or NULL. */
struct counter_set *counter_set_get(kymo_counter_set_t h);
void counter_set_put(struct counter_set *s);
/* A set of its own of the choices whose bits are set; NULL: no memory. One reference. */
struct counter_set *counter_set_part(const struct counter_set *s, uint64_t choices);
/* Publishes what the values of the set are called. */
void counter_set_define(struct counter_set *s);
/* `inputs` values as providers gave them to `outputs` values as the choices want them. */
void counter_set_reduce(const struct counter_set *s, const double *in, double *out);
/* Like it, of the difference between two readings; gauges give the later one. */
void counter_set_difference(const struct counter_set *s, const double *from, const double *to,
			    double *scratch, double *out);

/* session.c */
/* `to`: of mode DISPATCH, for each part; else NULL. */
kymo_status_t sessions_open(struct sessions *s, const struct counter_set *set, uint32_t mode,
			    struct dispatched *to);
bool sessions_read(struct sessions *s, const struct counter_set *set, double *values);
void sessions_close(struct sessions *s, const struct counter_set *set);

/* record.c */
/* Registers the domain once. */
kymo_status_t counter_domain_ready(void);
/* Learns who gets the records of a service whose context is started. */
void counter_buffers_look(struct core_counter_service *s);
struct counter_event {
	kymo_counter_op_t op;
	uint32_t thread, agent, kernel;
	uint16_t call_op; /* on the wire */
	uint64_t correlation;
	int64_t scope;
	uint64_t start, end; /* ns */
	uint64_t choices;    /* bit n: choice n was counted; 0: all */
};
void counter_deliver(const struct core_counter_service *s, const struct counter_event *e,
		     const double *out);

/* One value, into the buffers of these bits. */
void counter_write(const struct counter_event *e, uint64_t buffers, uint32_t definition,
		   double value);

/* plan.c */
/* For kernels of processors (mode AGENT) or devices (mode DISPATCH). */
kymo_status_t counter_plan_make(const struct counter_set *set, uint32_t mode,
				struct counter_plan *out);
/* One pass with as much of the set as providers count at once, however often they repeat kernels for it. */
void counter_plan_one(const struct counter_set *set, uint32_t mode, struct counter_plan *out);
/* Which of them kernels of the set are counted in. */
uint32_t counter_kernel_mode(const struct counter_set *set);

/* service.c */
/*
 * Whether the provider can count `count` counters of the part's agent at once (`once`: in one pass of
 * kernels); `reason`: why not.
 */
kymo_status_t counter_ask(const struct part *p, uint32_t mode, bool once, const uint64_t *handles,
			  uint32_t count, char *reason, size_t size);
/* Whether the set fits beside what others count. */
kymo_status_t counter_admit(const struct counter_set *set, uint32_t mode);
/* Adds the service, of which `with` says the rest; the set gets one more reference. */
kymo_status_t counter_service_add(struct core_counter_service *with, kymo_counter_set_t set,
				  struct core_counter_service **out);
/* Contexts were started, stopped or destroyed: services follow. */
void counters_follow(uint32_t activities);
void counters_flush(uint64_t deadline);
void counters_fork_child(void);

/* thread.c: calls and threads */
void counter_thread_call(kymo_context_t context, const kymo_callback_record_t *r, void *service);
void counter_threads_flush(void);
/* The calling thread ends: its last records. */
void counter_thread_end(void);
void counter_threads_stop(struct core_counter_service *s);
void counter_threads_fork_child(void);

/* window.c: windows, which open and close with their context */
void counter_window_start(struct core_counter_service *s);
void counter_window_stop(struct core_counter_service *s);
/* Ends a window now. False: nothing could be read. */
bool counter_window_end(struct core_counter_service *s);

/* dispatch.c: kernels of devices, which their providers count and deliver; `to` is a `dispatched` */
void counter_dispatched(void *to, const kymo_counter_dispatch_t *d);
bool counter_dispatch_chosen(void *to, const kymo_counter_launch_t *launch);

/* kernel.c: kernels that run alone; see kernel.h */
kymo_status_t counter_kernels_admit(const struct core_counter_service *s);
/* Opens and closes each pass, so that a refusal comes now. */
kymo_status_t counter_kernels_try(struct core_counter_service *s);
/* Whether the service counts this launch, whatever its pass. */
bool counter_kernel_chosen(const struct core_counter_service *s, const kymo_counter_launch_t *l);
/* Whether launch `number` of the kernels of a name is counted in the pass. */
bool counter_kernel_in_pass(const struct counter_kernels *k, uint32_t pass, uint64_t number);
/* The values of the pass among those of the whole set, `out`. */
void counter_kernel_spread(const struct counter_set *set, const struct counter_kernel_pass *p,
			   const double *values, double *out);
void counter_kernels_start(struct core_counter_service *s);
void counter_kernels_stop(struct core_counter_service *s);
void counter_kernels_flush(void);
void counter_kernels_free(struct core_counter_service *s);
void counter_kernels_fork_child(void);

#endif
