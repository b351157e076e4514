/* SPDX-License-Identifier: Apache-2.0 */
/* Tables in OCCA's words: its kernels with their source files, its devices, and the buffers that lines got. */
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/occa_use.h"
#include "analysis/summary_parts.h"

static struct occa_use *use_of(const struct summary *s)
{
	return s->timeline ? s->timeline->occa : NULL;
}

/* ---- kernels ---- */

/*
 * The row of a kernel that was built of a text: where its build was not seen inside, its definition says the name of
 * the file alone, which OCCA puts into a folder of its own.
 */
static struct occa_kernel_use *row_of(struct occa_use *o, const struct t_kernel *k)
{
	size_t n = strlen(k->source);

	for (uint32_t i = 0; *k->source && !strchr(k->source, '/') && i < o->kernels_count; i++) {
		struct occa_kernel_use *u = &o->kernels[i];
		size_t length = strlen(u->source);

		if (length > n && u->source[length - n - 1] == '/' &&
		    strcmp(u->source + length - n, k->source) == 0 &&
		    strcmp(u->kernel, k->name) == 0 && strcmp(u->device, k->device) == 0)
			return u;
	}
	return occa_use_kernel(o, k->device, k->name, k->source);
}

/* Device times of kernels are in the tallies, whoever dispatched them. */
static bool add_dispatches(const struct summary *s, struct occa_use *o)
{
	const struct tally_set *set = &s->tallies->set[TALLY_DISPATCH];

	for (uint32_t i = 0; i < o->kernels_count; i++)
		o->kernels[i].dispatches = o->kernels[i].untimed = o->kernels[i].device_ns = 0;
	for (uint32_t i = 0; i < set->count; i++) {
		const struct tally *row = set->rows[i];
		const struct t_kernel *k = &s->trace->kernels[row->key[KEY_DISPATCH_KERNEL]];
		struct occa_kernel_use *u;

		if (strcmp(k->framework, "occa") != 0)
			continue;
		u = row_of(o, k);
		if (!u)
			return false;
		u->dispatches += row->count;
		u->untimed += row->untimed;
		u->device_ns += row->total;
	}
	return true;
}

static int longest(const void *a, const void *b)
{
	const struct occa_kernel_use *x = *(const struct occa_kernel_use *const *)a,
				     *y = *(const struct occa_kernel_use *const *)b;

	if (x->device_ns != y->device_ns)
		return x->device_ns > y->device_ns ? -1 : 1;
	if (x->host_ns != y->host_ns)
		return x->host_ns > y->host_ns ? -1 : 1;
	return strcmp(x->kernel, y->kernel);
}

static void kernel_row(struct table *t, const struct summary *s, const struct occa_kernel_use *k)
{
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, s->path);
	cell_text(t, c++, *k->kernel ? k->kernel : "(not known)");
	cell_text(t, c++, k->source);
	cell_text(t, c++, k->device);
	cell_number(c++, k->launches);
	cell_number(c++, k->host_ns);
	cell_number(c++, k->dispatches);
	if (k->dispatches > k->untimed) {
		cell_number(c, k->device_ns);
		cell_number(c + 1, k->device_ns / (k->dispatches - k->untimed));
	}
}

static bool kernel_rows(struct table *t, const struct summary *s)
{
	struct occa_use *o = use_of(s);
	struct occa_kernel_use **order;

	if (!o || !add_dispatches(s, o))
		return !o;
	order = calloc(o->kernels_count + 1u, sizeof(struct occa_kernel_use *));
	if (!order)
		return false;
	for (uint32_t i = 0; i < o->kernels_count; i++)
		order[i] = &o->kernels[i];
	qsort(order, o->kernels_count, sizeof(struct occa_kernel_use *), longest);
	for (uint32_t i = 0; i < o->kernels_count; i++)
		kernel_row(t, s, order[i]);
	free(order);
	return true;
}

static bool kernels(struct report *r, const struct summary *s, unsigned count)
{
	struct table *t = report_table(r, "occa_kernels", "OCCA kernels");
	bool ok = t != NULL;

	if (!ok)
		return false;
	t->ranked = count == 1;
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column(t, "source", "source file", CELL_TEXT);
	table_column(t, "device", "on", CELL_TEXT);
	table_column(t, "launches", "launches", CELL_COUNT);
	table_column(t, "host_ns", "host time", CELL_TIME);
	table_column(t, "dispatches", "dispatches", CELL_COUNT);
	table_column(t, "device_ns", "device time", CELL_TIME);
	table_column_optional(t, 1, "average_ns", "average", CELL_TIME);
	for (unsigned i = 0; ok && i < count; i++)
		ok = kernel_rows(t, &s[i]);
	report_drop_empty(r);
	return ok;
}

/* ---- devices ---- */

static void device_row(struct table *t, const struct summary *s, const struct occa_device_use *d)
{
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, s->path);
	cell_text(t, c++, *d->device ? d->device : "(not known)");
	cell_text(t, c++, d->mode);
	cell_number(c++, d->builds);
	cell_number(c++, d->build_ns);
	cell_number(c++, d->launches);
	cell_number(c++, d->launch_ns);
	cell_number(c++, d->copies);
	cell_number(c++, d->to_device);
	cell_number(c++, d->from_device);
	cell_number(c++, d->allocated);
	cell_number(c++, d->peak);
	cell_number(c, d->allocated - d->freed);
}

static bool devices(struct report *r, const struct summary *s, unsigned count)
{
	struct table *t = report_table(r, "occa_devices", "OCCA devices");

	if (!t)
		return false;
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "mode", "mode", CELL_TEXT);
	table_column(t, "builds", "builds", CELL_COUNT);
	table_column_optional(t, 1, "build_ns", "build time", CELL_TIME);
	table_column(t, "launches", "launches", CELL_COUNT);
	table_column(t, "launch_ns", "host time", CELL_TIME);
	table_column(t, "copies", "copies", CELL_COUNT);
	table_column(t, "to_bytes", "to it", CELL_BYTES);
	table_column(t, "from_bytes", "from it", CELL_BYTES);
	table_column(t, "allocated_bytes", "allocated", CELL_BYTES);
	table_column(t, "peak_bytes", "peak", CELL_BYTES);
	table_column(t, "left_bytes", "at end", CELL_BYTES);
	for (unsigned i = 0; i < count; i++) {
		const struct occa_use *o = use_of(&s[i]);

		for (uint32_t k = 0; o && k < o->devices_count; k++)
			device_row(t, &s[i], &o->devices[k]);
	}
	report_drop_empty(r);
	return true;
}

/* ---- memory ---- */

static int largest(const void *a, const void *b)
{
	const struct occa_memory_use *x = *(const struct occa_memory_use *const *)a,
				     *y = *(const struct occa_memory_use *const *)b;
	uint64_t n = x->bytes * x->buffers, m = y->bytes * y->buffers;

	if (n != m)
		return n > m ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

static void memory_row(struct table *t, const struct summary *s, const struct occa_memory_use *m)
{
	struct cell *c = table_row(t);
	char text[600];

	if (!c)
		return;
	cell_text(t, c++, s->path);
	cell_text(t, c++, m->what);
	cell_text(t, c++, *m->device ? m->device : "(not known)");
	cell_number(c++, m->bytes);
	cell_number(c++, m->buffers);
	cell_number(c++, m->freed);
	cell_number(c++, (m->buffers - m->freed) * m->bytes);
	cell_text(t, c,
		  m->site && s->symbols ? symbols_text(s->symbols, m->site, text, sizeof(text))
					: "(not known)");
}

static bool memory_rows(struct table *t, const struct summary *s)
{
	struct occa_use *o = use_of(s);
	struct occa_memory_use **order;

	if (!o)
		return true;
	order = calloc(o->memory_count + 1u, sizeof(struct occa_memory_use *));
	if (!order)
		return false;
	for (uint32_t i = 0; i < o->memory_count; i++)
		order[i] = &o->memory[i];
	qsort(order, o->memory_count, sizeof(struct occa_memory_use *), largest);
	for (uint32_t i = 0; i < o->memory_count; i++)
		memory_row(t, s, order[i]);
	free(order);
	return true;
}

static bool memory(struct report *r, const struct summary *s, unsigned count)
{
	struct table *t = report_table(r, "occa_memory", "OCCA memory");
	bool ok = t != NULL;

	if (!ok)
		return false;
	t->ranked = count == 1;
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column(t, "what", "what", CELL_TEXT);
	table_column(t, "device", "on", CELL_TEXT);
	table_column(t, "bytes", "bytes", CELL_BYTES);
	table_column(t, "buffers", "buffers", CELL_COUNT);
	table_column(t, "freed", "freed", CELL_COUNT);
	table_column(t, "left_bytes", "at end", CELL_BYTES);
	table_column(t, "site", "by", CELL_TEXT);
	for (unsigned i = 0; ok && i < count; i++)
		ok = memory_rows(t, &s[i]);
	report_drop_empty(r);
	return ok;
}

bool summary_occa(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	return by != BY_OP || (kernels(r, s, count) && devices(r, s, count) && memory(r, s, count));
}
