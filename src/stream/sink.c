/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of sinks, and the log through which readers and writers talk to the user. */
#include <stdarg.h>

#include "base/plain.h"
#include "stream/stream.h"

static kymo_status_t ignore_trace(struct stream_sink *s, const struct trace *t)
{
	return KYMO_OK;
}

static kymo_status_t ignore_rec(struct stream_sink *s, const struct rec *r)
{
	return KYMO_OK;
}

static kymo_status_t ignore_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	return KYMO_OK;
}

static kymo_status_t ignore_copy(struct stream_sink *s, const struct rec_copy *r)
{
	return KYMO_OK;
}

static kymo_status_t ignore_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	return KYMO_OK;
}

static kymo_status_t ignore_sync(struct stream_sink *s, const struct rec_sync *r)
{
	return KYMO_OK;
}

static kymo_status_t marker_as_other(struct stream_sink *s, const struct rec_marker *r)
{
	return s->other(s, &r->base);
}

static kymo_status_t counter_as_other(struct stream_sink *s, const struct rec_counter *r)
{
	return s->other(s, &r->base);
}

static kymo_status_t sample_as_other(struct stream_sink *s, const struct rec_sample *r)
{
	return s->other(s, &r->base);
}

static kymo_status_t device_sample_as_other(struct stream_sink *s,
					    const struct rec_device_sample *r)
{
	return s->other(s, &r->base);
}

static kymo_status_t comm_as_other(struct stream_sink *s, const struct rec_comm *r)
{
	return s->other(s, &r->base);
}

static kymo_status_t ignore_loss(struct stream_sink *s, const struct rec_loss *r)
{
	return KYMO_OK;
}

void stream_sink_complete(struct stream_sink *s)
{
	s->begin = s->begin ? s->begin : ignore_trace;
	s->call = s->call ? s->call : ignore_rec;
	s->dispatch = s->dispatch ? s->dispatch : ignore_dispatch;
	s->copy = s->copy ? s->copy : ignore_copy;
	s->allocation = s->allocation ? s->allocation : ignore_allocation;
	s->sync = s->sync ? s->sync : ignore_sync;
	s->other = s->other ? s->other : ignore_rec;
	s->comm = s->comm ? s->comm : comm_as_other;
	s->marker = s->marker ? s->marker : marker_as_other;
	s->counter = s->counter ? s->counter : counter_as_other;
	s->sample = s->sample ? s->sample : sample_as_other;
	s->device_sample = s->device_sample ? s->device_sample : device_sample_as_other;
	s->loss = s->loss ? s->loss : ignore_loss;
	s->end = s->end ? s->end : ignore_trace;
}

static void say(struct stream_log *l, int severity, const char *format, va_list args)
{
	struct text text = {0};

	if (!l || !l->message)
		return;
	plain_vaddf(&text, format, args);
	l->message(l, severity, text.s && !text.failed ? text.s : "out of memory");
	text_release(&text);
}

void stream_error(struct stream_log *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(l, 3, format, args);
	va_end(args);
}

void stream_warn(struct stream_log *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(l, 2, format, args);
	va_end(args);
}
