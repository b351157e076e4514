/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling service of devices: who wants samples, and their records; see kymo/sample.h. */
#include "core/sample/device.h"

#include <errno.h>
#include <pthread.h>

#include "core/context/context.h"
#include "core/tool/tool.h"

#define SERVICES    16u
#define SAMPLERS    4u
#define PERIOD_LOG2 18u /* of no other wish */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* services */
static struct service {
	bool used;
	kymo_context_t context;
	kymo_device_sample_desc_t desc;
} services[SERVICES];

static const struct cap_device_sampler *_Atomic samplers[SAMPLERS];
static bool started[SAMPLERS]; /* of whoever follows */
/* Who gets records, by op: those who still are to get what was taken before they stopped, too. */
static _Atomic uint64_t buffers[DEVICE_SAMPLE_OPS];
static _Atomic uint32_t changes; /* not followed yet */

/* ---- records ---- */

static struct cap_op ops[DEVICE_SAMPLE_OPS];

CAP_KNOWN_DOMAIN(device_sample, packed_describe(RECORD_PACKED, RECORD_DOMAIN_device_sample));

/* Only contexts that sample get samples, whoever else wants records of the domain. */
static void buffers_look(uint64_t contexts)
{
	for (unsigned i = 0; i < DEVICE_SAMPLE_OPS; i++)
		atomic_store(&buffers[i], atomic_load(&ops[i].buffers) & contexts);
}

static struct cap_op op_of(unsigned number)
{
	struct cap_op own = {.wire = ops[number].wire,
			     .number = ops[number].number,
			     .domain = ops[number].domain};

	atomic_store(&own.buffers, atomic_load(&buffers[number]));
	return own;
}

void cap_device_sample(const struct cap_device_sample *s)
{
	struct cap_op op = op_of(DEVICE_SAMPLE_OP_PC);
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &op, NULL, s->start, s->end, DEVICE_SAMPLE_FIELDS))
		return;
	wire_unsigned(&e, DEVICE_SAMPLE_CORRELATION, s->correlation);
	wire_unsigned(&e, DEVICE_SAMPLE_AGENT, s->agent);
	wire_unsigned(&e, DEVICE_SAMPLE_CODE, s->code);
	wire_unsigned(&e, DEVICE_SAMPLE_REASON, s->reason);
	wire_unsigned(&e, DEVICE_SAMPLE_SAMPLES, s->samples);
	wire_unsigned(&e, DEVICE_SAMPLE_IDLE, s->idle);
	wire_unsigned(&e, DEVICE_SAMPLE_CYCLES, s->cycles);
	cap_activity_commit(&f, &e);
}

void cap_device_sample_lost(uint32_t agent, uint64_t count, uint64_t full)
{
	struct cap_op op = op_of(DEVICE_SAMPLE_OP_LOST);
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if ((!count && !full) ||
	    !cap_activity_begin(&f, &e, &op, NULL, now, now, DEVICE_LOST_FIELDS))
		return;
	wire_unsigned(&e, DEVICE_LOST_AGENT, agent);
	wire_unsigned(&e, DEVICE_LOST_COUNT, count);
	wire_unsigned(&e, DEVICE_LOST_FULL, full);
	cap_activity_commit(&f, &e);
}

/* ---- following contexts ---- */

/* False: the context is gone, and its service with it. */
static bool is_active(struct service *s, kymo_context_t context, bool *active)
{
	if (kymo_context_is_active(context, active) == KYMO_OK)
		return true;
	pthread_mutex_lock(&lock);
	s->used = false;
	pthread_mutex_unlock(&lock);
	return false;
}

/* Contexts that are started, with the description that they share. */
static uint64_t active_services(kymo_device_sample_desc_t *with)
{
	uint64_t wanted = 0;

	for (uint32_t i = 0; i < SERVICES; i++) {
		struct service s;
		bool active;

		pthread_mutex_lock(&lock);
		s = services[i];
		pthread_mutex_unlock(&lock);
		if (!s.used || !is_active(&services[i], s.context, &active) || !active)
			continue;
		wanted |= core_context_buffer_bit(s.context);
		*with = s.desc;
	}
	return wanted;
}

static void flush(uint64_t deadline)
{
	for (uint32_t i = 0; i < SAMPLERS; i++) {
		const struct cap_device_sampler *s = atomic_load(&samplers[i]);

		if (s)
			s->flush();
	}
}

static void switch_samplers(bool on, const kymo_device_sample_desc_t *d)
{
	for (uint32_t i = 0; i < SAMPLERS; i++) {
		const struct cap_device_sampler *s = atomic_load(&samplers[i]);

		if (!s || started[i] == on)
			continue;
		started[i] = on;
		if (on)
			s->start(d);
		else
			s->stop();
	}
}

/* Whoever leaves still gets what was taken for him. */
static void samplers_update(uint32_t activities)
{
	static uint64_t last; /* contexts; of whoever follows */
	uint32_t seen = 1;
	int saved = errno;

	if (atomic_fetch_add(&changes, 1) != 0)
		return;
	do {
		kymo_device_sample_desc_t d = {0};
		uint64_t wanted = active_services(&d);

		if (!wanted)
			switch_samplers(false, NULL);
		else if (last & ~wanted)
			flush(0);
		last = wanted;
		buffers_look(wanted);
		if (wanted)
			switch_samplers(true, &d);
	} while (!atomic_compare_exchange_strong(&changes, &seen, 0));
	errno = saved;
}

void cap_device_sampler_register(const struct cap_device_sampler *s)
{
	const struct cap_device_sampler *none = NULL;
	uint32_t i = 0;

	while (i < SAMPLERS && !atomic_compare_exchange_strong(&samplers[i], &none, s)) {
		none = NULL;
		i++;
	}
	samplers_update(0);
}

/* A runtime does not work in the child of a process that has used it. */
static void fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	for (uint32_t i = 0; i < SAMPLERS; i++) {
		atomic_store(&samplers[i], NULL);
		started[i] = false;
	}
	atomic_store(&changes, 0);
	samplers_update(0);
}

static const struct cap_domain_info info = {
	RECORD_DESCRIPTION(device_sample), .ops = ops, .wanted = samplers_update, .flush = flush,
	.fork_child = fork_child,
};

/* Not before somebody samples: a program that is not sampled needs no buffer for it. */
static kymo_status_t domain_ready(void)
{
	static _Atomic bool ready;

	return core_domain_ready(&info, &ready);
}

/* ---- services ---- */

static kymo_status_t add(kymo_context_t context, const kymo_device_sample_desc_t *d)
{
	struct service *slot = NULL;
	kymo_status_t status = KYMO_OK;

	pthread_mutex_lock(&lock);
	for (uint32_t i = SERVICES; i-- > 0;) {
		const kymo_device_sample_desc_t *other = &services[i].desc;

		if (!services[i].used)
			slot = &services[i];
		else if (services[i].context.handle == context.handle)
			status = KYMO_ERROR_EXISTS;
		else if (other->mode != d->mode || other->period_log2 != d->period_log2)
			status = KYMO_ERROR_BUSY;
	}
	if (status == KYMO_OK && slot)
		*slot = (struct service){true, context, *d};
	pthread_mutex_unlock(&lock);
	return status == KYMO_OK && !slot ? KYMO_ERROR_LIMIT : status;
}

kymo_status_t kymo_device_sample_service(kymo_context_t context,
					 const kymo_device_sample_desc_t *from)
{
	kymo_device_sample_desc_t d;
	kymo_status_t status;
	bool active;

	if (!from || (unsigned)from->mode > KYMO_DEVICE_SAMPLE_SERIALIZED)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (from->size < sizeof(*from) || !core_size_known(from, sizeof(*from)))
		return core_refuse_size();
	d = *from;
	d.period_log2 = d.period_log2 ? d.period_log2 : PERIOD_LOG2;
	if (d.period_log2 < 5 || d.period_log2 > 31)
		return KYMO_ERROR_INVALID_ARGUMENT;
	status = kymo_context_is_active(context, &active);
	if (status == KYMO_OK)
		status = domain_ready();
	if (status != KYMO_OK)
		return status;
	samplers_update(0); /* services of contexts that are gone let go */
	status = add(context, &d);
	if (status == KYMO_OK)
		samplers_update(0);
	return status;
}
