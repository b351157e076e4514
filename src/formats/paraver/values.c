/* SPDX-License-Identifier: Apache-2.0 */
/* What records hold besides their times and names: events with a value each, of types of their own. */
#include "base/hash.h"
#include "base/vec.h"
#include "formats/paraver/paraver.h"

#include <string.h>

bool values_put(struct paraver *w, const struct object *object, int64_t time, enum paraver_value v,
		uint64_t value)
{
	if (!object->task)
		return true;
	w->values_used[v] = 1;
	lines_until(w, time);
	return lines_event(w, object, time, TYPE_VALUES + v, value);
}

bool values_some(struct paraver *w, const struct object *object, int64_t time, enum paraver_value v,
		 uint64_t value)
{
	return !value || values_put(w, object, time, v, value);
}

bool values_three(struct paraver *w, const struct object *object, int64_t time,
		  enum paraver_value first, const uint64_t v[3])
{
	return values_some(w, object, time, first, v[0]) &&
	       values_some(w, object, time, first + 1, v[1]) &&
	       values_some(w, object, time, first + 2, v[2]);
}

/* Number of an argument's name, from 1; 0: no memory. */
static uint64_t argument(struct paraver *w, const char *name)
{
	uint64_t hash = hash_string(name), i;

	map_each(&w->arguments, hash, i)
		if (strcmp(w->argument_names[i - 1], name) == 0)
			return i;
	if (!vec_reserve(&w->argument_names, &w->argument_room, w->argument_count, 1) ||
	    !map_add(&w->arguments, hash, (uint64_t)w->argument_count + 1))
		return 0;
	w->argument_names[w->argument_count] = name;
	return ++w->argument_count;
}

static bool whole(const struct t_field *f, const struct wire_value *v, uint64_t *out)
{
	*out = v->u;
	switch (f->kind) {
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_ENUM:
		*out = (uint64_t)v->i;
		return v->i >= 0;
	case KYMO_KIND_STRING:
	case KYMO_KIND_BYTES:
	case KYMO_KIND_ARRAY:
	case KYMO_KIND_FLOAT:
		return false;
	default:
		return v->u <= INT64_MAX;
	}
}

static bool put_argument(struct paraver *w, const struct object *object, int64_t time,
			 const struct t_field *f, const struct wire_value *v)
{
	uint64_t value, name;

	if (!whole(f, v, &value)) {
		unplaced_add(&w->unplaced, "arguments that are no whole numbers from 0 up", 1);
		return true;
	}
	name = argument(w, f->name);
	return name && lines_event(w, object, time, (uint32_t)(TYPE_ARGUMENTS + name), value);
}

bool values_arguments(struct paraver *w, const struct object *object, const struct rec *r)
{
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;

	if (!r->wire || r->wire->no_fields || !object->task)
		return true;
	rec_fields_init(&fields, w->t, r);
	while (rec_fields_next(&fields, &f, &v))
		if (v.present && !put_argument(w, object, r->start, f, &v))
			return false;
	return true;
}

void values_legend(const struct paraver *w, struct output *o)
{
	static const struct {
		const char *name, *unit;
	} all[VALUES] = {
#define PARAVER_VALUE(K, name, unit) [VALUE_##K] = {name, unit},
		PARAVER_VALUES(PARAVER_VALUE)
#undef PARAVER_VALUE
	};

	for (uint32_t i = 0; i < VALUES; i++)
		if (w->values_used[i])
			legend_type(o, TYPE_VALUES + i, all[i].name, all[i].unit);
	for (uint32_t i = 0; i < w->argument_count; i++)
		legend_type(o, TYPE_ARGUMENTS + i + 1, w->argument_names[i], "");
}
