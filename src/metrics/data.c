/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and their counters out of a store; see data.h. */
#include "metrics/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/summary.h"
#include "base/bulk.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "formats/store/store.h"

const char *const kernel_columns[KERNEL_COLUMNS] = {
	"start",     "end",           "duration",       "grid_x",      "grid_y",       "grid_z",
	"group_x",   "group_y",       "group_z",        "items",       "group_size",   "groups",
	"registers", "static_shared", "dynamic_shared", "local_bytes", "private_bytes"};

/* A dispatch while it is read. */
struct dispatch {
	uint32_t group, at; /* of the data, and of the group's rows */
	int64_t process, call, kernel;
};

struct reading {
	struct kernel_data *d;
	struct stream_log *log;
	sqlite3 *db;
	struct dispatch *dispatches;
	uint32_t count, room;
	struct map of_call;  /* by process and call: index + 1 */
	struct map of_group; /* by name and device: index + 1 */
	bool failed;         /* memory ran out */
};

bool kernel_is_column(const char *name)
{
	for (unsigned i = 0; i < KERNEL_COLUMNS; i++)
		if (strcmp(kernel_columns[i], name) == 0)
			return true;
	return false;
}

/* ---- statements ------------------------------------------------------------------------------------ */

static const char *text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? text : "";
}

static double number_of(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN
							     : sqlite3_column_double(s, column);
}

/* Each row of a query; false: the log says why. */
static bool each_row(struct reading *r, const char *sql,
		     void (*row)(struct reading *r, sqlite3_stmt *s))
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(r->db, sql, -1, &s, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc == SQLITE_ROW)
			row(r, s);
		if (r->failed)
			break;
	}
	if (r->failed)
		stream_error(r->log, "not enough memory for the kernels of the trace");
	else if (rc != SQLITE_DONE)
		stream_error(r->log, "the store cannot be read: %s", sqlite3_errmsg(r->db));
	sqlite3_finalize(s);
	return rc == SQLITE_DONE && !r->failed;
}

/* ---- devices and groups ----------------------------------------------------------------------------- */

static bool says(const char *text, const char *word)
{
	return strcasestr(text, word) != NULL;
}

static enum device_class class_of(const char *type, const char *vendor, const char *name)
{
	if (says(type, "cpu"))
		return DEVICE_CPU;
	if (says(vendor, "nvidia") || says(name, "nvidia"))
		return DEVICE_NVIDIA;
	if (says(vendor, "amd") || says(vendor, "advanced micro") || strncmp(name, "gfx", 3) == 0 ||
	    says(name, "instinct"))
		return DEVICE_AMD;
	return DEVICE_ANY;
}

/* Columns: agent, label, type, vendor, name, properties, domain. One of several processes is one. */
static const struct kernel_device *device_of(struct reading *r, sqlite3_stmt *s, int at)
{
	struct kernel_data *d = r->d;
	struct kernel_device *v;

	for (uint32_t i = 0; i < d->device_count; i++)
		if (strcmp(d->devices[i]->label, text_of(s, at + 1)) == 0)
			return d->devices[i];
	v = calloc(1, sizeof(*v));
	if (!v || !vec_reserve(&d->devices, &d->device_room, d->device_count, 1)) {
		free(v);
		r->failed = true;
		return NULL;
	}
	d->devices[d->device_count++] = v;
	v->agent = sqlite3_column_int64(s, at);
	v->label = strdup(*text_of(s, at + 1) ? text_of(s, at + 1) : "device");
	v->properties = strdup(text_of(s, at + 5));
	v->class = class_of(text_of(s, at + 2), text_of(s, at + 3), text_of(s, at + 4));
	if (v->class == DEVICE_ANY && strcmp(text_of(s, at + 6), "cuda") == 0)
		v->class = DEVICE_NVIDIA;
	r->failed |= !v->label || !v->properties;
	return r->failed ? NULL : v;
}

static uint32_t group_new(struct reading *r, const char *name, const struct kernel_device *v,
			  uint64_t key)
{
	struct kernel_data *d = r->d;
	char *copy = strdup(name);

	if (!copy || !vec_reserve(&d->groups, &d->group_room, d->group_count, 1) ||
	    !map_add(&r->of_group, key, d->group_count + 1u)) {
		free(copy);
		r->failed = true;
		return 0;
	}
	d->groups[d->group_count] = (struct kernel_group){.name = copy, .device = v};
	return d->group_count++;
}

static uint32_t group_of(struct reading *r, const char *name, const struct kernel_device *v)
{
	uint64_t key = hash_mix((uint64_t)(uintptr_t)v, hash_string(name)), i;

	map_each(&r->of_group, key, i)
		if (r->d->groups[i - 1].device == v && strcmp(r->d->groups[i - 1].name, name) == 0)
			return (uint32_t)(i - 1);
	return group_new(r, name, v, key);
}

/* ---- dispatches --------------------------------------------------------------------------------------- */

/* Columns of the query from there on. */
enum {
	Q_KERNEL = 4,
	Q_UNTIMED = 12,
	Q_NUMBERS = 13,
	Q_SIZES = 15,
	Q_LAUNCH = 21,
	Q_QUEUE = 25,
	Q_PROGRAM,
	Q_SOURCE
};

static const char dispatch_query[] =
	"SELECT d.id, d.process, d.call, d.kernel, n.text, a.id, a.label, a.type, a.vendor, "
	"a.name, "
	"a.properties, a.domain, CASE WHEN d.untimed THEN (SELECT e.name FROM enum_value e WHERE "
	"e.set_name = 'untimed_reason' AND e.value = d.untimed ORDER BY e.id LIMIT 1) END, "
	"d.start, "
	"d.duration, d.global_x, d.global_y, d.global_z, d.local_x, d.local_y, d.local_z, "
	"nullif(l.registers, 0), l.static_shared, l.dynamic_shared, l.local_memory, d.queue, "
	"k.program, (SELECT p.source FROM program p WHERE p.id = k.program) "
	"FROM dispatch d LEFT JOIN launch l ON l.id = d.id LEFT JOIN kernel k ON k.id = d.kernel "
	"LEFT JOIN string n ON n.id = k.name LEFT JOIN agent a ON a.id = d.agent "
	"ORDER BY d.start, d.id";

/* Likewise, of counted kernels of which there is no other record: all but the counters is unknown. */
static const char counted_query[] =
	"SELECT NULL, v.process, v.call, v.kernel, n.text, a.id, a.label, a.type, a.vendor, "
	"a.name, "
	"a.properties, a.domain, 'not reported', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
	"NULL, "
	"NULL, NULL, NULL, NULL, k.program, NULL FROM (SELECT DISTINCT c.process, c.call, "
	"c.kernel, "
	"c.agent FROM "
	"counter_value c JOIN op o ON o.id = c.op AND o.name = 'dispatch' JOIN domain m ON m.id = "
	"o.domain AND m.name = 'counter' WHERE c.kernel > 0 AND c.call IS NOT NULL) v "
	"LEFT JOIN kernel k ON k.id = v.kernel LEFT JOIN string n ON n.id = k.name "
	"LEFT JOIN agent a ON a.id = v.agent ORDER BY v.process, v.call";

static bool grow_columns(struct kernel_group *g)
{
	size_t room = g->count ? (size_t)g->count * 2 : 8;
	struct kernel_place *places;

	if (g->count && (g->count < 8 || (g->count & (g->count - 1))))
		return true; /* there is room to the next power of two */
	for (unsigned c = 0; c < KERNEL_COLUMNS; c++) {
		double *more = realloc(g->columns[c], room * sizeof(*more));

		if (!more)
			return false;
		g->columns[c] = more;
	}
	places = realloc(g->places, room * sizeof(*places));
	g->places = places ? places : g->places;
	return places != NULL;
}

/* Of dimensions that a kernel does not have there is one item. */
static double in_dimension(sqlite3_stmt *s, int column)
{
	double v = number_of(s, column);

	return isnan(v) ? 1 : v;
}

static void set_sizes(double **c, uint32_t at, sqlite3_stmt *s)
{
	/* Where nothing is told of the first dimension, nothing is of the others. */
	double items = sqlite3_column_type(s, Q_SIZES) == SQLITE_NULL ? NAN : 1;
	double size = items, groups = items;

	for (int i = 0; i < 3; i++) {
		double grid = isnan(items) ? NAN : in_dimension(s, Q_SIZES + i);
		double group = isnan(items) ? NAN : in_dimension(s, Q_SIZES + 3 + i);

		/* 0: it is left to the runtime. */
		group = group > 0 ? group : NAN;
		c[KERNEL_GRID_X + i][at] = grid;
		c[KERNEL_GROUP_X + i][at] = group;
		items *= grid;
		size *= group;
		groups *= ceil(grid / group);
	}
	c[KERNEL_ITEMS][at] = items;
	c[KERNEL_GROUP_SIZE][at] = size;
	c[KERNEL_GROUPS][at] = groups;
	/* A launch of nothing says nothing of how large others are. */
	for (int i = KERNEL_GRID_X; items == 0 && i <= KERNEL_GROUPS; i++)
		c[i][at] = NAN;
}

static void set_times(struct kernel_group *g, uint32_t at, sqlite3_stmt *s)
{
	bool untimed = sqlite3_column_type(s, Q_UNTIMED) != SQLITE_NULL;
	double start = untimed ? NAN : number_of(s, Q_NUMBERS);
	double duration = untimed ? NAN : number_of(s, Q_NUMBERS + 1);

	g->columns[KERNEL_START][at] = start;
	g->columns[KERNEL_END][at] = start + duration;
	g->columns[KERNEL_DURATION][at] = duration;
	if (untimed && !g->untimed)
		g->untimed = strdup(text_of(s, Q_UNTIMED));
}

static void add_dispatch(struct reading *r, sqlite3_stmt *s)
{
	static const uint8_t launch[] = {KERNEL_REGISTERS, KERNEL_STATIC_SHARED,
					 KERNEL_DYNAMIC_SHARED, KERNEL_LOCAL_BYTES};
	const struct kernel_device *v = device_of(r, s, Q_KERNEL + 1);
	struct dispatch x = {.process = sqlite3_column_int64(s, 1),
			     .call = sqlite3_column_int64(s, 2),
			     .kernel = sqlite3_column_int64(s, 3)};
	struct kernel_group *g;

	x.group =
		v ? group_of(r, *text_of(s, Q_KERNEL) ? text_of(s, Q_KERNEL) : "(no name)", v) : 0;
	if (r->failed)
		return;
	g = &r->d->groups[x.group];
	x.at = g->count;
	if (!grow_columns(g) || !bulk_reserve(&r->dispatches, &r->room, r->count, 1)) {
		r->failed = true;
		return;
	}
	g->places[x.at] = (struct kernel_place){.process = x.process,
						.queue = sqlite3_column_int64(s, Q_QUEUE),
						.program = sqlite3_column_int64(s, Q_PROGRAM),
						.source = sqlite3_column_int64(s, Q_SOURCE)};
	g->programs |= x.process == g->places[0].process &&
		       g->places[x.at].program != g->places[0].program &&
		       g->places[x.at].source != g->places[0].source;
	set_times(g, x.at, s);
	set_sizes(g->columns, x.at, s);
	for (int i = 0; i < 4; i++)
		g->columns[launch[i]][x.at] = number_of(s, Q_LAUNCH + i);
	/* What lies outside registers is memory of a work item alone: CUDA's local, OpenCL's private. */
	g->columns[KERNEL_PRIVATE_BYTES][x.at] = number_of(s, Q_LAUNCH + 3);
	g->columns[KERNEL_LOCAL_BYTES][x.at] =
		number_of(s, Q_LAUNCH + 1) + number_of(s, Q_LAUNCH + 2);
	g->count++;
	r->dispatches[r->count++] = x;
	if (x.call &&
	    !bulk_map_add(&r->of_call, hash_mix((uint64_t)x.process, (uint64_t)x.call), r->count))
		r->failed = true;
}

/* How many dispatches the values of a call are of, and one of them. */
static unsigned dispatches_of(const struct reading *r, int64_t process, int64_t call,
			      int64_t kernel, const struct dispatch **found)
{
	unsigned times = 0;
	uint64_t i;

	map_each(&r->of_call, hash_mix((uint64_t)process, (uint64_t)call), i) {
		const struct dispatch *x = &r->dispatches[i - 1];

		if (x->process != process || x->call != call || (kernel && x->kernel != kernel))
			continue;
		*found = x;
		times++;
	}
	return times;
}

static void add_counted(struct reading *r, sqlite3_stmt *s)
{
	const struct dispatch *found;

	if (!dispatches_of(r, sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2),
			   sqlite3_column_int64(s, 3), &found))
		add_dispatch(r, s);
}

/* ---- counters ------------------------------------------------------------------------------------------ */

/* Instances of one counter are added up: NAME is of all of them. */
static const char counter_query[] =
	"SELECT v.process, v.call, v.kernel, c.name, c.provider, sum(v.value) FROM counter_value v "
	"JOIN op o ON o.id = v.op AND o.name = 'dispatch' JOIN domain m ON m.id = o.domain AND "
	"m.name = 'counter' JOIN counter c ON c.id = v.counter "
	"GROUP BY v.process, v.call, v.kernel, c.name, c.provider";

static struct kernel_counter *counter_of(struct reading *r, struct kernel_group *g,
					 const char *name, const char *provider)
{
	struct kernel_counter *c;

	for (uint32_t i = 0; i < g->counter_count; i++)
		if (strcmp(g->counters[i].name, name) == 0 &&
		    strcmp(g->counters[i].provider, provider) == 0)
			return &g->counters[i];
	if (!vec_reserve(&g->counters, &g->counter_room, g->counter_count, 1)) {
		r->failed = true;
		return NULL;
	}
	c = &g->counters[g->counter_count++];
	*c = (struct kernel_counter){.name = strdup(name),
				     .provider = strdup(provider),
				     .values = malloc(g->count * sizeof(*c->values))};
	r->failed |= !c->name || !c->provider || !c->values;
	for (uint32_t i = 0; c->values && i < g->count; i++)
		c->values[i] = NAN;
	return r->failed ? NULL : c;
}

static void add_value(struct reading *r, sqlite3_stmt *s)
{
	int64_t process = sqlite3_column_int64(s, 0), call = sqlite3_column_int64(s, 1),
		kernel = sqlite3_column_int64(s, 2);
	const struct dispatch *found = NULL;
	struct kernel_counter *c;
	unsigned times = dispatches_of(r, process, call, kernel, &found);

	if (times > 1) /* whose it is, is not told: of none rather than of a wrong one */
		r->d->ambiguous++;
	if (times != 1)
		return;
	c = counter_of(r, &r->d->groups[found->group], text_of(s, 3), text_of(s, 4));
	if (c)
		c->values[found->at] = number_of(s, 5);
}

/* Of a kernel that CUPTI counts the runtime gives no times (docs/counters.md). */
static bool add_times(struct kernel_group *g)
{
	const double *counted = kernel_values_of(g, "gpu__time_duration.sum");

	g->times = malloc((g->count + 1u) * sizeof(*g->times));
	for (uint32_t i = 0; g->times && i < g->count; i++) {
		g->times[i] = g->columns[KERNEL_DURATION][i];
		if (isnan(g->times[i]) && counted) {
			g->times[i] = counted[i];
			g->counted |= !isnan(counted[i]);
		}
		g->total += isnan(g->times[i]) ? 0 : g->times[i];
	}
	return g->times != NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct kernel_group *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	return strcmp(x->device->label, y->device->label);
}

bool kernel_data_read(struct kernel_data *d, struct store *s, struct stream_log *log)
{
	struct reading r = {.d = d, .log = log, .db = store_database(s)};
	bool good = each_row(&r, dispatch_query, add_dispatch) &&
		    each_row(&r, counted_query, add_counted) &&
		    each_row(&r, counter_query, add_value);

	bulk_free(r.dispatches);
	bulk_map_release(&r.of_call);
	map_release(&r.of_group);
	for (uint32_t i = 0; i < d->group_count; i++)
		good = add_times(&d->groups[i]) && good;
	for (uint32_t i = 0; i < d->group_count; i++)
		d->groups[i].all = d;
	if (d->group_count)
		qsort(d->groups, d->group_count, sizeof(*d->groups), by_time);
	return good;
}

bool kernel_counters_in(const struct summary *s)
{
	const struct tally_set *set = &s->tallies->set[TALLY_COUNTER];
	const struct trace *t = s->trace;

	for (uint32_t i = 0; i < set->count; i++) {
		uint32_t op = set->rows[i]->key[KEY_OP];

		if (op < t->ops_count && strcmp(t->ops[op].name, "dispatch") == 0)
			return true;
	}
	return false;
}

void kernel_data_release(struct kernel_data *d)
{
	for (uint32_t i = 0; i < d->group_count; i++) {
		struct kernel_group *g = &d->groups[i];

		for (unsigned c = 0; c < KERNEL_COLUMNS; c++)
			free(g->columns[c]);
		for (uint32_t c = 0; c < g->counter_count; c++) {
			free(g->counters[c].name);
			free(g->counters[c].provider);
			free(g->counters[c].values);
		}
		free(g->counters);
		free(g->times);
		free(g->places);
		free(g->untimed);
		free(g->name);
	}
	for (uint32_t i = 0; i < d->device_count; i++) {
		free(d->devices[i]->label);
		free(d->devices[i]->properties);
		free(d->devices[i]);
	}
	free(d->groups);
	free(d->devices);
	*d = (struct kernel_data){0};
}

/* ---- what there is --------------------------------------------------------------------------------------- */

static bool is_counter(const struct kernel_counter *c, const char *name)
{
	size_t n = strlen(c->provider);

	return strcmp(c->name, name) == 0 || (strncmp(name, c->provider, n) == 0 &&
					      name[n] == ':' && strcmp(name + n + 1, c->name) == 0);
}

const double *kernel_values_of(const struct kernel_group *g, const char *name)
{
	for (unsigned i = 0; i < KERNEL_COLUMNS; i++)
		if (strcmp(kernel_columns[i], name) == 0)
			return g->columns[i];
	for (uint32_t i = 0; i < g->counter_count; i++)
		if (is_counter(&g->counters[i], name))
			return g->counters[i].values;
	return NULL;
}

uint32_t kernel_values_count(const struct kernel_group *g, const char *name)
{
	const double *values = kernel_values_of(g, name);
	uint32_t count = 0;

	for (uint32_t i = 0; values && i < g->count; i++)
		count += !isnan(values[i]);
	return count;
}

/* Numbers may stand in quotes: "compute_capability":"9.0". */
double kernel_device_property(const struct kernel_device *d, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = d->properties; (p = strchr(p, '"')) != NULL;) {
		char *end;
		double v;

		p++;
		if (strncmp(p, name, n) != 0 || p[n] != '"' || p[n + 1] != ':')
			continue;
		p += n + 2;
		p += *p == '"';
		v = strtod(p, &end);
		return end != p && isfinite(v) ? v : NAN;
	}
	return NAN;
}
