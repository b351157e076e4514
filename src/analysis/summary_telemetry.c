/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the summary that say what the node and its devices did meanwhile: levels with their
 * extremes and average, sums of what is counted, and the energy of devices by the kernels they ran.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device_match.h"
#include "analysis/formula.h"
#include "analysis/labels.h"
#include "analysis/summary_parts.h"
#include "base/units.h"

#define GAUGE 1u /* KYMO_COUNTER_GAUGE */

static bool is_telemetry(const struct trace *t, const struct tally *row)
{
	return t->processes[row->key[KEY_PROCESS]].telemetry &&
	       row->key[KEY_COUNTER_COUNTER] < t->counters_count;
}

/* ---- values -------------------------------------------------------------------------------- */

struct told {
	const struct summary *s;
	const struct tally *row;
};

static const struct t_counter *counter_of(const struct told *v)
{
	return &v->s->trace->counters[v->row->key[KEY_COUNTER_COUNTER]];
}

/* By trace, host, and in the order in which sources told of them; processes by number. */
static int in_order(const void *x, const void *y)
{
	const struct told *a = x, *b = y;

	if (a->s != b->s)
		return a->s < b->s ? -1 : 1;
	if (a->row->key[KEY_PROCESS] != b->row->key[KEY_PROCESS])
		return a->row->key[KEY_PROCESS] < b->row->key[KEY_PROCESS] ? -1 : 1;
	if (counter_of(a)->agent != counter_of(b)->agent)
		return counter_of(a)->agent < counter_of(b)->agent ? -1 : 1;
	if (a->row->key[KEY_COUNTER_COUNTER] != b->row->key[KEY_COUNTER_COUNTER])
		return a->row->key[KEY_COUNTER_COUNTER] < b->row->key[KEY_COUNTER_COUNTER] ? -1 : 1;
	return (a->row->key[KEY_COUNTER_INSTANCE] > b->row->key[KEY_COUNTER_INSTANCE]) -
	       (a->row->key[KEY_COUNTER_INSTANCE] < b->row->key[KEY_COUNTER_INSTANCE]);
}

static struct told *gather_series(const struct summary *s, unsigned count, uint32_t *found,
				  uint32_t *zero)
{
	struct told *list = NULL;
	uint32_t room = 0;

	*found = *zero = 0;
	for (unsigned i = 0; i < count; i++)
		room += s[i].tallies->set[TALLY_COUNTER].count;
	list = calloc(room + 1u, sizeof(*list));
	for (unsigned i = 0; list && i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[TALLY_COUNTER];

		for (uint32_t k = 0; k < set->count; k++) {
			if (!is_telemetry(s[i].trace, set->rows[k]))
				continue;
			if (set->rows[k]->low != 0 || set->rows[k]->high != 0)
				list[(*found)++] = (struct told){&s[i], set->rows[k]};
			else
				(*zero)++;
		}
	}
	if (list)
		qsort(list, *found, sizeof(*list), in_order);
	return list;
}

/* Bytes come to numbers that nobody reads: they are told in MiB. */
static double scale_of(const struct t_counter *k, const char **unit)
{
	bool rate = strcmp(k->unit, "bytes/s") == 0;

	*unit = k->unit;
	if (!rate && strcmp(k->unit, "bytes") != 0)
		return 1;
	*unit = rate ? "MiB/s" : "MiB";
	return 1.0 / (1 << 20);
}

/* Up to the source; returns the cell behind. */
static struct cell *name_cells(struct table *t, const struct told *v, struct text *label,
			       const char *name, const char *unit, const char *source)
{
	const struct trace *trace = v->s->trace;
	const struct t_counter *k = counter_of(v);
	struct cell *c = table_row(t);

	if (!c)
		return NULL;
	cell_text(t, c++, trace->processes[v->row->key[KEY_PROCESS]].hostname);
	label->length = 0;
	if (k->agent)
		label_agent(label, trace, k->agent);
	else
		text_add(label, "node");
	cell_text(t, c++, label->s ? label->s : "");
	cell_text(t, c++, name);
	cell_text(t, c++, unit);
	if (*k->dimensions)
		cell_number(c, v->row->key[KEY_COUNTER_INSTANCE]);
	cell_text(t, ++c, source);
	return c + 1;
}

static void value_row(struct table *t, const struct told *v, struct text *label)
{
	const struct t_counter *k = counter_of(v);
	const char *unit;
	double scale = scale_of(k, &unit);
	struct cell *c = name_cells(t, v, label, k->name, unit, k->provider);

	if (!c)
		return;
	cell_number(c++, v->row->count);
	if (k->flags & GAUGE) {
		cell_real(c, scale * v->row->low);
		cell_real(c + 1, scale * v->row->sum / (double)v->row->count);
		cell_real(c + 2, scale * v->row->high);
		cell_real(c + 3, scale * v->row->last);
	} else {
		cell_real(c + 4, scale * v->row->sum);
	}
}

/* Values of one device, or processor, in one file. */
static bool of_one(const struct told *a, const struct told *b)
{
	return a->s == b->s && a->row->key[KEY_PROCESS] == b->row->key[KEY_PROCESS] &&
	       counter_of(a)->agent == counter_of(b)->agent &&
	       a->row->key[KEY_COUNTER_INSTANCE] == b->row->key[KEY_COUNTER_INSTANCE];
}

/* "uncore_imc/cas_count_read/" of the device uncore_imc_0. */
static bool is_pmu_event(const struct told *v, const char *name)
{
	const struct t_counter *k = counter_of(v);
	const char *slash = strchr(name, '/'), *device = v->s->trace->agents[k->agent].name;
	size_t n = slash ? (size_t)(slash - name) : 0, event = strlen(k->name);

	return n && strncmp(device, name, n) == 0 && (!device[n] || device[n] == '_') &&
	       strncmp(slash + 1, k->name, event) == 0 && strcmp(slash + 1 + event, "/") == 0;
}

static int position(const struct formula *f, const struct told *v)
{
	int at = formula_counter(f, counter_of(v)->provider, counter_of(v)->name);

	for (unsigned i = 0; at < 0 && counter_of(v)->agent && i < f->name_count; i++)
		if (is_pmu_event(v, f->names[i]))
			at = (int)i;
	return at;
}

/* Of sums and averages over the run; what has no value has no number. */
static bool formula_row(struct table *t, const struct told *list, uint32_t count,
			const struct told *first, const struct formula *f, struct text *label)
{
	double values[FORMULA_NAMES], value;
	unsigned found = 0;
	bool levels = false;
	struct cell *c;

	for (uint32_t i = 0; i < count; i++) {
		int n = of_one(&list[i], first) ? position(f, &list[i]) : -1;
		const struct tally *row = list[i].row;

		if (n < 0 || (found & 1u << n))
			continue;
		found |= 1u << n;
		levels |= (counter_of(&list[i])->flags & GAUGE) != 0;
		values[n] = counter_of(&list[i])->flags & GAUGE ? row->sum / (double)row->count
								: row->sum;
	}
	if (found + 1 != 1u << f->name_count)
		return false;
	c = name_cells(t, first, label, f->name, f->unit, "formula");
	if (c)
		cell_number(c, first->row->count);
	if (c && formula_value(f, values, &value))
		cell_real(c + (levels || formula_is_ratio(f, values) ? 2 : 5), value);
	return true;
}

static void formula_rows(struct table *t, const struct told *list, uint32_t count,
			 struct text *label)
{
	unsigned formulas;
	struct formula *f = formulas_of(count ? list[0].s->trace->formulas : "", &formulas);

	for (unsigned k = 0; k < formulas; k++) {
		bool some = false, row = false;

		for (uint32_t i = 0; i < count; i++) {
			int at = position(&f[k], &list[i]);

			some |= at >= 0;
			row |= at == 0 && formula_row(t, list, count, &list[i], &f[k], label);
		}
		if (some && !row)
			table_note(
				t,
				"%s has no row: its counters are not of one device and processor, "
				"or were 0 throughout",
				f[k].name);
		formula_release(&f[k]);
	}
	free(f);
}

static bool several_hosts(const struct told *list, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (list[i].s != list[0].s ||
		    list[i].row->key[KEY_PROCESS] != list[0].row->key[KEY_PROCESS])
			return true;
	return false;
}

/* What the instances are; NULL: there are none. */
static const char *instances_are(const struct told *list, uint32_t count)
{
	bool processes = false, processors = false;

	for (uint32_t i = 0; i < count; i++) {
		const char *d = counter_of(&list[i])->dimensions;

		processes |= strncmp(d, "pid:", 4) == 0;
		processors |= strncmp(d, "cpu:", 4) == 0;
	}
	if (processes && processors)
		return "process, processor";
	return processes ? "process" : processors ? "processor" : NULL;
}

static void value_table(struct report *r, const struct told *list, uint32_t count, uint32_t zero)
{
	struct table *t = report_table(r, "telemetry", "Telemetry");
	const char *instances = instances_are(list, count);
	struct text label = {0};

	if (!t)
		return;
	table_column_if(t, several_hosts(list, count), "host", "host", CELL_TEXT);
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "counter", "counter", CELL_TEXT);
	table_column(t, "unit", "unit", CELL_TEXT);
	table_column_if(t, instances != NULL, "instance", instances ? instances : "", CELL_ID);
	table_column_if(t, false, "source", "source", CELL_TEXT);
	table_column_if(t, false, "samples", "samples", CELL_COUNT);
	table_column(t, "min", "min", CELL_NUMBER);
	table_column(t, "average", "average", CELL_NUMBER);
	table_column(t, "max", "max", CELL_NUMBER);
	table_column(t, "last", "last", CELL_NUMBER);
	table_column(t, "total", "total", CELL_NUMBER);
	for (uint32_t i = 0; i < count; i++)
		value_row(t, &list[i], &label);
	formula_rows(t, list, count, &label);
	if (zero)
		table_note(t, "%s that were 0 throughout are left out", UNITS_COUNT(zero));
	text_release(&label);
}

/* ---- energy -------------------------------------------------------------------------------- */

struct used {
	const struct summary *s;
	uint32_t agent;    /* of the telemetry */
	double joules, ns; /* and the time in which they were used */
};

/* A device's own count goes before what sensors say. */
static unsigned rank_of(const struct t_counter *k)
{
	if (strcmp(k->unit, "J") != 0 || !k->agent)
		return 0;
	return strcmp(k->name, "energy") == 0 ? 2 : strncmp(k->name, "energy.", 7) == 0 ? 1 : 0;
}

static double span_of(const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process];
	int64_t end = p->end ? p->end : t->end;

	return end > p->start ? (double)(end - p->start) : 0;
}

/* Energy of a device in one trace: the best that there is, the first of equals. */
static bool energy_of(const struct summary *s, uint32_t agent, struct used *out)
{
	const struct tally_set *set = &s->tallies->set[TALLY_COUNTER];
	unsigned best = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		const struct tally *row = set->rows[i];
		const struct t_counter *k = &s->trace->counters[row->key[KEY_COUNTER_COUNTER]];

		if (!is_telemetry(s->trace, row) || k->agent != agent || rank_of(k) <= best)
			continue;
		best = rank_of(k);
		*out = (struct used){s, agent, row->sum, span_of(s->trace, row->key[KEY_PROCESS])};
	}
	return best && out->joules > 0 && out->ns > 0;
}

/* The first agent that is the device stands for all that are: its name is shown. */
static bool matches_earlier(const struct trace *t, uint32_t agent, uint32_t kernel_agent)
{
	for (uint32_t i = 1; i < agent; i++)
		if (t->processes[t->agents[i].process].telemetry &&
		    device_match(t, i, kernel_agent))
			return true;
	return false;
}

static bool runs_on(const struct trace *t, const struct tally *row, uint32_t agent)
{
	return row->key[KEY_DISPATCH_AGENT] && row->key[KEY_DISPATCH_AGENT] < t->agents_count &&
	       device_match(t, agent, row->key[KEY_DISPATCH_AGENT]);
}

/* Kernels of one name are one row, whichever process and queue they came from. */
struct kernel_use {
	const char *name;
	double ns;
};

static uint32_t add_kernel(struct kernel_use *list, uint32_t count, const char *name, double ns)
{
	uint32_t i = 0;

	while (i < count && strcmp(list[i].name, name) != 0)
		i++;
	if (i == count)
		list[i] = (struct kernel_use){name, 0};
	list[i].ns += ns;
	return i == count ? count + 1 : count;
}

static int by_time(const void *x, const void *y)
{
	const struct kernel_use *a = x, *b = y;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void energy_row(struct table *t, const char *device, const char *kernel, double ns,
		       double joules, double share)
{
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, device);
	cell_text(t, c++, kernel);
	cell_number(c++, (uint64_t)ns);
	cell_real(c++, joules);
	cell_real(c, 100 * share);
}

static bool energy_rows(struct table *t, const struct used *u)
{
	const struct trace *trace = u->s->trace;
	const struct tally_set *set = &u->s->tallies->set[TALLY_DISPATCH];
	struct kernel_use *list = calloc(set->count + 1u, sizeof(*list));
	struct text device = {0};
	double busy = 0, whole;
	uint32_t count = 0;

	for (uint32_t i = 0; list && i < set->count; i++) {
		const struct tally *row = set->rows[i];
		uint32_t k = row->key[KEY_DISPATCH_KERNEL] < trace->kernels_count
				     ? row->key[KEY_DISPATCH_KERNEL]
				     : 0;

		if (!runs_on(trace, row, u->agent))
			continue;
		count = add_kernel(list, count,
				   k && *trace->kernels[k].name ? trace->kernels[k].name
								: "(unknown kernel)",
				   (double)row->total);
		busy += (double)row->total;
	}
	whole = busy > u->ns ? busy : u->ns;
	label_agent(&device, trace, u->agent);
	if (list)
		qsort(list, count, sizeof(*list), by_time);
	for (uint32_t i = 0; i < count; i++)
		energy_row(t, device.s ? device.s : "", list[i].name, list[i].ns,
			   u->joules * list[i].ns / whole, list[i].ns / whole);
	if (count && whole > busy)
		energy_row(t, device.s ? device.s : "", "(no kernel)", whole - busy,
			   u->joules * (whole - busy) / whole, (whole - busy) / whole);
	text_release(&device);
	free(list);
	return list != NULL;
}

/* A CPU is all packages of its host: their energy is one. */
static void add_packages(struct used *u)
{
	const struct trace *t = u->s->trace;
	struct used other;

	if (strcmp(t->agents[u->agent].type, "cpu") != 0)
		return;
	for (uint32_t i = u->agent + 1; i < t->agents_count; i++)
		if (t->agents[i].process == t->agents[u->agent].process &&
		    strcmp(t->agents[i].type, "cpu") == 0 && energy_of(u->s, i, &other))
			u->joules += other.joules;
}

static bool energy_of_trace(struct table *t, const struct summary *s)
{
	const struct trace *trace = s->trace;
	bool ok = true;

	for (uint32_t a = 1; ok && a < trace->agents_count; a++) {
		const struct tally_set *set = &s->tallies->set[TALLY_DISPATCH];
		struct used u;
		bool first = false;

		if (!trace->processes[trace->agents[a].process].telemetry || !energy_of(s, a, &u))
			continue;
		for (uint32_t i = 0; i < set->count && !first; i++)
			first = runs_on(trace, set->rows[i], a) &&
				!matches_earlier(trace, a, set->rows[i]->key[KEY_DISPATCH_AGENT]);
		if (!first)
			continue;
		add_packages(&u);
		ok = energy_rows(t, &u);
	}
	return ok;
}

static bool energy_table(struct report *r, const struct summary *s, unsigned count)
{
	struct table *t = report_table(r, "kernel_energy", "Energy by kernel (an estimate)");
	bool ok = t != NULL;

	if (!t)
		return false;
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column(t, "time_ns", "device time", CELL_TIME);
	table_column(t, "joules", "energy, J", CELL_NUMBER);
	table_column(t, "share_percent", "%", CELL_PERCENT);
	for (unsigned i = 0; ok && i < count; i++)
		ok = energy_of_trace(t, &s[i]);
	table_note(
		t,
		"the device's measured energy, divided as its time was: as if its power had been "
		"the same throughout");
	report_drop_empty(r);
	return ok;
}

bool summary_telemetry(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	uint32_t found, zero;
	struct told *list;

	if (by != BY_OP)
		return true;
	list = gather_series(s, count, &found, &zero);
	if (!list)
		return false;
	if (found)
		value_table(r, list, found, zero);
	free(list);
	return !found || energy_table(r, s, count);
}
