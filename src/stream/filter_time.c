/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as users name them: since the beginning (1.5s), before the end (end-2s), a share of the run
 * (30%), of the wall clock (14:03:05), when a range or mark is (@step#100).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/knob.h"
#include "stream/filter_parts.h"
#include "stream/trace.h"

#define NS_A_DAY INT64_C(86400000000000)

static kymo_status_t refuse(const char *what, const char *text, struct stream_log *log)
{
	stream_error(log,
		     "%s \"%s\" is no time: 1.5s or 20ms since the beginning, end-2s, 30%% of the "
		     "run, 14:03:05 or 2026-11-23T14:03:05 by the clock, @NAME or @NAME#3 where a "
		     "range or mark of that name begins, @NAME:end where it ends",
		     what, text);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

static bool parse_duration(const char *s, int64_t *out)
{
	uint64_t ns;

	if (!knob_duration(&ns, s) || ns > INT64_MAX / 2)
		return false;
	*out = (int64_t)ns;
	return true;
}

static bool parse_share(const char *s, double *out)
{
	char *end;

	if (!((*s >= '0' && *s <= '9') || *s == '.'))
		return false;
	*out = strtod(s, &end) / 100;
	while (*end == ' ')
		end++;
	return strcmp(end, "%") == 0 && *out >= 0 && *out <= 1;
}

/* "HH:MM:SS.frac" and what follows it. */
static bool parse_day_time(const char *s, int64_t *ns, const char **rest)
{
	unsigned hour, minute;
	double second;
	char *end;
	int n = 0;

	if (sscanf(s, "%2u:%2u:%n", &hour, &minute, &n) < 2 || !n || hour > 23 || minute > 59 ||
	    s[n] < '0' || s[n] > '9')
		return false;
	second = strtod(s + n, &end);
	if (!(second >= 0 && second < 61))
		return false;
	*rest = end;
	*ns = ((int64_t)hour * 3600 + minute * 60) * 1000000000 + (int64_t)(second * 1e9 + 0.5);
	return true;
}

/* mktime() would make March 2nd of February 30th. */
static bool is_date(int year, int month, int day)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month >= 1 && month <= 12 && day >= 1 &&
	       day <= days[month - 1] + (leap && month == 2);
}

/* Local time, or that of the meridian with a Z. */
static bool parse_clock(struct time_spec *s, const char *text)
{
	struct tm tm = {.tm_isdst = -1};
	const char *rest;
	int n = 0;

	s->kind = TIME_CLOCK;
	s->day = true;
	if (parse_day_time(text, &s->ns, &rest))
		return *rest == '\0';
	s->day = false;
	if (sscanf(text, "%4d-%2d-%2d%*1[T ]%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &n) != 3 ||
	    !n || !parse_day_time(text + n, &s->ns, &rest) || tm.tm_year < 1971 ||
	    tm.tm_year > 2200 || !is_date(tm.tm_year, tm.tm_mon, tm.tm_mday))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	tm.tm_hour = (int)(s->ns / 3600000000000);
	tm.tm_min = (int)(s->ns / 60000000000 % 60);
	s->ns = s->ns % 60000000000 +
		(int64_t)(strcmp(rest, "Z") == 0 ? timegm(&tm) : mktime(&tm)) * 1000000000;
	return *rest == '\0' || strcmp(rest, "Z") == 0;
}

static kymo_status_t parse_moment(struct time_spec *s, const char *text, const char *what,
				  struct stream_log *log)
{
	size_t n = strlen(text);
	kymo_status_t status;
	char *name;

	s->kind = TIME_RANGE;
	s->range.end = n > 4 && strcmp(text + n - 4, ":end") == 0;
	name = strndup(text, s->range.end ? n - 4 : n);
	status = name ? range_parse(&s->range, name, what, log) : KYMO_ERROR_NO_MEMORY;
	free(name);
	return status;
}

kymo_status_t time_parse(struct time_spec *s, const char *text, const char *what,
			 struct stream_log *log)
{
	const char *before = strncmp(text, "end-", 4) == 0 ? text + 4
			     : *text == '-'                ? text + 1
							   : NULL;

	*s = (struct time_spec){0};
	if (*text == '@')
		return parse_moment(s, text + 1, what, log);
	if (before ? parse_duration(before, &s->ns) : strcmp(text, "end") == 0) {
		s->kind = TIME_BEFORE_END;
		return KYMO_OK;
	}
	s->kind = TIME_SINCE;
	if (!before && parse_duration(text, &s->ns))
		return KYMO_OK;
	s->kind = TIME_SHARE;
	if (parse_share(text, &s->share) || parse_clock(s, text))
		return KYMO_OK;
	return refuse(what, text, log);
}

/* ---- in a trace ---------------------------------------------------------------------------- */

/* A trace of which no process knows the wall clock's time may know when it was begun. */
static int64_t to_realtime(const struct trace *t)
{
	int64_t offset = trace_to_realtime(t);

	return offset ? offset : t->started * 1000000000 - t->origin;
}

/* Midnight before the trace began, where the user is. */
static int64_t midnight(int64_t realtime)
{
	time_t seconds = (time_t)(realtime / 1000000000);
	struct tm tm;

	localtime_r(&seconds, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm) * 1000000000;
}

static int64_t clock_time(const struct time_spec *s, const struct trace *t)
{
	int64_t offset = to_realtime(t), began = t->origin + offset, at = s->ns;

	if (!s->day)
		return at - offset;
	at += midnight(began);
	/* The run went on past midnight. */
	if (at < began && at + NS_A_DAY <= t->end + offset)
		at += NS_A_DAY;
	return at - offset;
}

int64_t time_resolve(const struct time_spec *s, const struct trace *t)
{
	switch (s->kind) {
	case TIME_SINCE:
		return t->origin + s->ns;
	case TIME_BEFORE_END:
		return t->end - s->ns;
	case TIME_SHARE:
		return t->origin + (int64_t)((double)(t->end - t->origin) * s->share);
	case TIME_CLOCK:
		return clock_time(s, t);
	default:
		return t->origin;
	}
}

static kymo_status_t refuse_window(struct filter_binding *b, enum choice c, const char *why)
{
	const struct trace *t = b->trace;
	char text[160];
	struct names_list none = {0};

	snprintf(text, sizeof(text),
		 "%s: the trace lasts %.6f s, what is asked for lies from %.6f s "
		 "to %.6f s",
		 why, (double)(t->end - t->origin) / 1e9,
		 (double)((b->from == INT64_MIN ? t->origin : b->from) - t->origin) / 1e9,
		 (double)((b->to == INT64_MAX ? t->end : b->to + 1) - t->origin) / 1e9);
	return filter_choose(b, c, false, text, &none);
}

kymo_status_t filter_check_window(struct filter_binding *b)
{
	const struct stream_filter *f = b->filter;

	if (f->after.kind != TIME_NONE && f->before.kind != TIME_NONE && b->from > b->to)
		return refuse_window(b, CHOICE_BEFORE,
				     "no moment is --after one time and --before another that is "
				     "not later");
	if (f->after.kind != TIME_NONE && b->from > b->trace->end)
		return refuse_window(b, CHOICE_AFTER, "nothing is --after its end");
	if (f->before.kind != TIME_NONE && b->to < b->trace->origin)
		return refuse_window(b, CHOICE_BEFORE, "nothing is --before its beginning");
	if (f->after.kind != TIME_NONE)
		filter_choose(b, CHOICE_AFTER, true, NULL, NULL);
	if (f->before.kind != TIME_NONE)
		filter_choose(b, CHOICE_BEFORE, true, NULL, NULL);
	return KYMO_OK;
}

/* Reversed whatever the trace: said before one is read. */
static bool later(const struct time_spec *a, const struct time_spec *b)
{
	return a->kind == b->kind && ((a->kind == TIME_SINCE && a->ns >= b->ns) ||
				      (a->kind == TIME_BEFORE_END && a->ns <= b->ns) ||
				      (a->kind == TIME_SHARE && a->share >= b->share));
}

kymo_status_t filter_bind_time(struct filter_binding *b)
{
	const struct stream_filter *f = b->filter;

	if (f->spec.has_from)
		b->from = b->trace->origin + f->spec.from;
	if (f->spec.has_to)
		b->to = b->trace->origin + f->spec.to;
	if (f->after.kind != TIME_NONE && f->after.kind != TIME_RANGE)
		b->from = time_resolve(&f->after, b->trace);
	if (f->before.kind != TIME_NONE && f->before.kind != TIME_RANGE)
		b->to = time_resolve(&f->before, b->trace) - 1; /* what starts then is not before */
	if (f->after.kind == TIME_RANGE || f->before.kind == TIME_RANGE)
		return KYMO_OK; /* once these are found */
	return filter_check_window(b);
}

bool time_reversed(const struct time_spec *after, const struct time_spec *before)
{
	return after->kind != TIME_NONE && before->kind != TIME_NONE && later(after, before);
}
