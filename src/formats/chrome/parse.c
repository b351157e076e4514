/* SPDX-License-Identifier: Apache-2.0 */
/* The members of an event; see reader.h. */
#include "formats/chrome/reader.h"

static void take_id(struct event *e, struct span value)
{
	struct span inner;

	if (span_find(value, "local", &inner) || span_find(value, "global", &inner))
		e->id = inner;
	else
		e->id = value;
}

static void take_member(struct event *e, struct span key, struct span value)
{
	if (span_is(key, "ph"))
		e->phase = span_is_string(value) && value.n == 3 ? value.s[1] : 0;
	else if (span_is(key, "name"))
		e->name = value;
	else if (span_is(key, "cat"))
		e->category = value;
	else if (span_is(key, "pid"))
		e->pid = value;
	else if (span_is(key, "tid"))
		e->tid = value;
	else if (span_is(key, "ts"))
		e->has_time = span_time(value, &e->time);
	else if (span_is(key, "dur"))
		e->has_duration = span_time(value, &e->duration);
	else if (span_is(key, "id") || span_is(key, "id2"))
		take_id(e, value);
	else if (span_is(key, "scope"))
		e->scope = value;
	else if (span_is(key, "args"))
		e->args = value;
	else if (span_is(key, "stack"))
		e->stack = value;
}

bool event_parse(struct span value, struct event *e)
{
	const struct span none = {"", 0};
	struct span_walk w;
	struct span key, member;

	*e = (struct event){.name = none,
			    .category = none,
			    .pid = none,
			    .tid = none,
			    .id = none,
			    .scope = none,
			    .args = none,
			    .stack = none};
	if (!span_object(value, &w))
		return false;
	while (span_member(&w, &key, &member))
		take_member(e, key, member);
	return !w.broken && e->phase;
}

bool event_arg(const struct event *e, const char *name, struct span *value)
{
	return e->args.n && span_find(e->args, name, value);
}
