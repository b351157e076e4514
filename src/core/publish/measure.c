/* SPDX-License-Identifier: Apache-2.0 */
/* Values of counters and samples that publishers took themselves. */
#include <kymo/counter.h>

#include "core/counter/counter.h"
#include "core/process/process.h"
#include "core/publish/publish.h"
#include "core/sample/host.h"
#include "core/tool/tool.h"

/* The highest id that kymo_counter_publish() gave: the definition's kind has others, too. */
static _Atomic uint32_t last_counter;

/* Of two that publish at once the later id may come first. */
static void know_counter(uint32_t id)
{
	uint32_t last = atomic_load(&last_counter);

	while (last < id && !atomic_compare_exchange_weak(&last_counter, &last, id))
		;
}

kymo_status_t kymo_counter_publish(const kymo_counter_publication_t *counter, uint32_t *id)
{
	kymo_status_t status = core_changeable();
	struct wire_def d;
	uint32_t made;

	if (!counter || !id)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (counter->size < sizeof(*counter) || !core_size_known(counter, sizeof(*counter)))
		return core_refuse_size();
	if (!counter->name || !counter->publisher)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	made = cap_new_id(DEF_COUNTER);
	wire_def_init(&d, DEF_COUNTER);
	wire_def_u64(&d, made);
	wire_def_string(&d, counter->name);
	wire_def_string(&d, counter->unit);
	wire_def_string(&d, counter->description);
	wire_def_string(&d, counter->publisher);
	wire_def_u64(&d, counter->agent);
	wire_def_u64(&d, counter->gauge ? KYMO_COUNTER_GAUGE : 0);
	wire_def_string(&d, "");
	cap_define(&d);
	know_counter(made);
	*id = made;
	return KYMO_OK;
}

/* Begins the record of a published op, placed as `p` says. */
struct placed {
	struct cap_submission submission;
	struct cap_frame f;
	struct wire_enc e;
};

static kymo_status_t place_check(const kymo_publication_t *p, uint32_t *track)
{
	if (!publish_clock_known(p->clock) || !publish_track(p->track, track))
		return KYMO_ERROR_NOT_FOUND;
	return p->end < p->start ? KYMO_ERROR_INVALID_ARGUMENT : KYMO_OK;
}

/* False: nobody wants it, or it was dropped. */
static bool place_begin(struct placed *x, struct cap_op *op, unsigned fields)
{
	uint64_t now = tick_now();

	if (!cap_submission_take(&x->submission, NULL, op, NULL))
		return false;
	if (cap_activity_begin(&x->f, &x->e, op, &x->submission, now, now, fields + TIMED_FIELDS))
		return true;
	cap_submission_end(&x->submission);
	return false;
}

static void place_end(struct placed *x, unsigned fields, const kymo_publication_t *p,
		      uint32_t track)
{
	bool outermost = core_publishing_begin(x->f.id);

	core_timed_put(&x->e, fields, p, track);
	cap_activity_commit(&x->f, &x->e);
	if (outermost)
		core_publishing_end();
	cap_submission_end(&x->submission);
}

kymo_status_t kymo_count_publish(const kymo_count_publication_t *count)
{
	kymo_status_t status = core_changeable();
	kymo_publication_t p;
	struct cap_op *op;
	struct placed x;
	uint32_t track;

	if (!count)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (count->size < sizeof(*count) || !core_size_known(count, sizeof(*count)))
		return core_refuse_size();
	if (count->counter == 0 || count->counter > atomic_load(&last_counter))
		return KYMO_ERROR_NOT_FOUND;
	p = (kymo_publication_t){.clock = count->clock,
				 .start = count->start,
				 .end = count->end,
				 .track = count->track,
				 .parent = count->correlation};
	status = status == KYMO_OK ? place_check(&p, &track) : status;
	if (status != KYMO_OK)
		return status;
	op = counter_published_op();
	if (!op)
		return KYMO_ERROR_UNSUPPORTED;
	if (!place_begin(&x, op, COUNTER_FIELDS))
		return KYMO_OK;
	wire_unsigned(&x.e, COUNTER_CORRELATION, count->correlation);
	wire_unsigned(&x.e, COUNTER_COUNTER, count->counter);
	wire_double(&x.e, COUNTER_VALUE, count->value);
	wire_unsigned(&x.e, COUNTER_AGENT, count->agent);
	wire_unsigned(&x.e, COUNTER_DURATION,
		      publish_clock_ns(p.clock, p.end) - publish_clock_ns(p.clock, p.start));
	place_end(&x, COUNTER_FIELDS, &p, track);
	return KYMO_OK;
}

kymo_status_t kymo_sample_publish(const kymo_sample_publication_t *sample)
{
	kymo_status_t status = core_changeable();
	kymo_publication_t p;
	struct cap_op *op;
	struct placed x;
	uint32_t track, stack;

	if (!sample)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (sample->size < sizeof(*sample) || !core_size_known(sample, sizeof(*sample)))
		return core_refuse_size();
	if (!sample->addresses || !sample->count)
		return KYMO_ERROR_INVALID_ARGUMENT;
	p = (kymo_publication_t){.clock = sample->clock,
				 .start = sample->time,
				 .end = sample->time,
				 .track = sample->track,
				 .parent = sample->correlation};
	status = status == KYMO_OK ? place_check(&p, &track) : status;
	if (status != KYMO_OK)
		return status;
	op = sample_published_op();
	if (!op)
		return KYMO_ERROR_UNSUPPORTED;
	if (!atomic_load(&op->buffers) && !atomic_load(&op->callbacks))
		return KYMO_OK;
	stack = sample_stack(sample->addresses, sample->count, STACK_UNKNOWN);
	if (!place_begin(&x, op, SAMPLE_PUBLISHED_FIELDS))
		return KYMO_OK;
	wire_unsigned(&x.e, SAMPLE_PUBLISHED_CORRELATION, sample->correlation);
	wire_pointer(&x.e, SAMPLE_PUBLISHED_PC, (const void *)(uintptr_t)sample->addresses[0]);
	wire_unsigned(&x.e, SAMPLE_PUBLISHED_STACK, stack);
	wire_unsigned(&x.e, SAMPLE_PUBLISHED_WEIGHT, sample->weight_ns);
	place_end(&x, SAMPLE_PUBLISHED_FIELDS, &p, track);
	return KYMO_OK;
}
