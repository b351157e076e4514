/* SPDX-License-Identifier: Apache-2.0 */
/* What types and values of events mean: the .pcf file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/paraver/paraver.h"

uint64_t legend_name(struct paraver *w, const char *text, size_t length)
{
	uint64_t hash = hash_bytes(text, length), i;
	char *copy;

	map_each(&w->texts, hash, i)
		if (strlen(w->names[i - 1]) == length && memcmp(w->names[i - 1], text, length) == 0)
			return i;
	copy = strndup(text, length);
	if (!copy || !vec_reserve(&w->names, &w->name_room, w->name_count, 1) ||
	    !map_add(&w->texts, hash, (uint64_t)w->name_count + 1)) {
		free(copy);
		return 0;
	}
	w->names[w->name_count] = copy;
	return ++w->name_count;
}

void legend_type(struct output *o, uint32_t type, const char *name, const char *unit)
{
	output_text(o, "\nEVENT_TYPE\n0 ");
	output_unsigned(o, type);
	output_char(o, ' ');
	put_name(o, name);
	if (*unit) {
		output_text(o, " [");
		put_name(o, unit);
		output_char(o, ']');
	}
	output_char(o, '\n');
}

static void put_value(struct output *o, uint64_t value, const char *name)
{
	output_unsigned(o, value);
	output_char(o, ' ');
	put_name(o, name);
	output_char(o, '\n');
}

static void begin_values(struct output *o)
{
	output_text(o, "VALUES\n0 End\n");
}

static void put_calls(const struct paraver *w, struct output *o, uint32_t domain)
{
	const struct trace *t = w->t;

	legend_type(o, TYPE_CALLS + domain, t->domains[domain].title, "");
	begin_values(o);
	for (uint32_t i = 1; i < t->ops_count; i++)
		if (t->ops[i].domain == domain)
			put_value(o, t->ops[i].number + 1u, t->ops[i].name);
}

static void put_copies(const struct paraver *w, struct output *o)
{
	const struct trace *t = w->t;

	legend_type(o, TYPE_COPY, "Copies of devices", "");
	begin_values(o);
	for (uint32_t i = 1; i < t->ops_count; i++)
		if (strcmp(t->domains[t->ops[i].domain].name, "copy") == 0)
			put_value(o, t->ops[i].number + 1u, t->ops[i].name);
	legend_type(o, TYPE_COPY_BYTES, "Size of copies", "bytes");
}

static void put_states(struct output *o)
{
	output_text(o,
		    "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n"
		    "LOOK_BACK           100\nSPEED               1\nFLAG_ICONS          ENABLED\n"
		    "NUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\nSTATES\n");
	put_value(o, STATE_IDLE, "Idle");
	put_value(o, STATE_RUNNING, "Running");
	put_value(o, STATE_NOT_CREATED, "Not created");
	put_value(o, STATE_TRANSFER, "Memory transfer");
}

static void put_names(const struct paraver *w, struct output *o, uint32_t type, const char *name)
{
	legend_type(o, type, name, "");
	begin_values(o);
	for (uint32_t i = 0; i < w->name_count; i++)
		put_value(o, i + 1, w->names[i]);
}

/* Function, file and line of an instruction. */
static void put_line(struct output *o, const struct t_code *code, uint32_t value)
{
	char text[512];

	snprintf(text, sizeof(text), "%.200s+%llu %.200s:%u", code->function,
		 (unsigned long long)code->offset, code->file, code->line);
	put_value(o, value, text);
}

kymo_status_t legend_write(const struct paraver *w)
{
	const struct trace *t = w->t;
	struct output o;
	kymo_status_t status = open_part(w, &o, "pcf");

	if (status != KYMO_OK)
		return status;
	put_states(&o);
	for (uint32_t i = 1; i < t->domains_count; i++)
		if (w->domains_used[i])
			put_calls(w, &o, i);
	legend_type(&o, TYPE_KERNEL, "Kernels", "");
	begin_values(&o);
	for (uint32_t i = 1; i < t->kernels_count; i++)
		put_value(&o, i, t->kernels[i].name);
	put_copies(w, &o);
	legend_type(&o, TYPE_ALLOCATED, "Allocations", "bytes");
	legend_type(&o, TYPE_FREED, "Frees", "bytes");
	put_names(w, &o, TYPE_RANGE, "Ranges");
	put_names(w, &o, TYPE_MARK, "Marks");
	if (w->samples_used)
		legend_type(&o, TYPE_SAMPLE, "Samples: address", "");
	if (w->lines_used) {
		legend_type(&o, TYPE_LINE, "Samples of kernels: line", "");
		begin_values(&o);
		for (uint32_t i = 1; i < t->codes_count; i++)
			put_line(&o, &t->codes[i], i);
		put_names(w, &o, TYPE_REASON, "Samples of kernels: why they waited");
	}
	values_legend(w, &o);
	for (uint32_t i = 1; i < t->counters_count; i++)
		if (w->counters_used[i])
			legend_type(&o, TYPE_COUNTERS + i, t->counters[i].name,
				    t->counters[i].unit);
	return output_close(&o, w->o.log);
}
