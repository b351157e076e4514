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

#define AS_OTHER(K, name, type)                                                                    \
	static kymo_status_t name##_as_other(struct stream_sink *s, const struct type *r)          \
	{                                                                                          \
		return s->other(s, &r->base);                                                      \
	}
RECORD_KINDS(AS_OTHER)

static kymo_status_t ignore_loss(struct stream_sink *s, const struct rec_loss *r)
{
	return KYMO_OK;
}

static kymo_status_t ignore_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	return KYMO_OK;
}

static kymo_status_t ignore_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	return KYMO_OK;
}

void stream_sink_complete(struct stream_sink *s)
{
	s->begin = s->begin ? s->begin : ignore_trace;
	s->call = s->call ? s->call : ignore_rec;
	s->other = s->other ? s->other : ignore_rec;
#define COMPLETE(K, name, type) s->name = s->name ? s->name : name##_as_other;
	RECORD_KINDS(COMPLETE)
	s->loss = s->loss ? s->loss : ignore_loss;
	s->open_call = s->open_call ? s->open_call : ignore_open_call;
	s->unfinished = s->unfinished ? s->unfinished : ignore_unfinished;
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
