/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary's table of samples of threads in kernels that the processor runs (PoCL): lines of their source, the hottest first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/summary_parts.h"
#include "base/text.h"
#include "base/vec.h"
#include "stream/symbol.h"

#define LINES_SHOWN 25u

struct kernel_line {
	char *kernel, *file, *source; /* file: "" of no line; source: of the line, or NULL */
	uint32_t line;
	uint64_t samples;
};

struct kernel_lines {
	struct kernel_line *list;
	uint32_t count, room;
	uint64_t samples, placed;
	bool failed;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* NULL: the text has no such line. */
static const char *line_in(const struct t_blob *b, uint32_t line, size_t *length)
{
	const char *at = b->data, *end = b->data + b->stored, *next;

	while (at < end && line > 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		at = next ? next + 1 : end;
		line--;
	}
	next = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	*length = (size_t)((next ? next : end) - at);
	for (; *length && (*at == ' ' || *at == '\t'); (*length)--)
		at++;
	return *length ? at : NULL;
}

static const struct t_blob *source_of(const struct trace *t, const struct t_kernel *k)
{
	const uint32_t source =
		k->program && k->program < t->programs_count ? t->programs[k->program].source : 0;

	return source && source < t->blobs_count ? &t->blobs[source] : NULL;
}

/*
 * What the line says, a copy. Which of several programs with kernels of one name a sample was in is not known: NULL, if theirs
 * differ.
 */
static char *source_line(const struct trace *t, uint32_t process, const char *kernel, uint32_t line)
{
	const char *found = NULL;
	size_t length = 0;

	for (uint32_t i = 1; i < t->kernels_count; i++) {
		const struct t_kernel *k = &t->kernels[i];
		const struct t_blob *b = k->process == process && strcmp(k->name, kernel) == 0
						 ? source_of(t, k)
						 : NULL;
		size_t n = 0;
		const char *text = b ? line_in(b, line, &n) : NULL;

		if (b && found && (n != length || !text || memcmp(text, found, n) != 0))
			return NULL;
		if (text) {
			found = text;
			length = n;
		}
	}
	return found ? strndup(found, length) : NULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The object of a kernel is called after it. */
static bool is_kernel_object(const struct trace *t, const struct t_module *m)
{
	const char *file = base_name(m->path);
	const size_t length = strlen(file);

	if (length < 4 || strcmp(file + length - 3, ".so") != 0)
		return false;
	for (uint32_t i = 1; i < t->kernels_count; i++) {
		const struct t_kernel *k = &t->kernels[i];

		if (k->process == m->process && strlen(k->name) == length - 3 &&
		    strncmp(k->name, file, length - 3) == 0)
			return true;
	}
	return false;
}

bool *summary_kernel_objects(const struct trace *t, bool *failed)
{
	bool *is = calloc(t->modules_count, sizeof(*is)), any = false;

	for (uint32_t i = 1; is && i < t->modules_count; i++)
		any |= is[i] = is_kernel_object(t, &t->modules[i]);
	*failed |= !is;
	if (any)
		return is;
	free(is);
	return NULL;
}

uint32_t summary_kernel_site(const struct trace *t, uint32_t stack, const bool *objects)
{
	const struct t_stack *k = &t->stacks[stack < t->stacks_count ? stack : 0];

	for (uint32_t i = 0; i < k->count; i++)
		if (objects[t->sites[k->sites[i]].module])
			return k->sites[i];
	return 0;
}

static struct kernel_line *line_at(struct kernel_lines *l, const struct trace *t, uint32_t process,
				   const struct symbol *y)
{
	const char *file = y->line ? base_name(y->file ? y->file : "") : "";
	const size_t length = strlen(y->function);
	struct kernel_line *x;

	for (uint32_t i = 0; i < l->count; i++) {
		x = &l->list[i];
		if (x->line == y->line && strcmp(x->kernel, y->function) == 0 &&
		    strcmp(x->file, file) == 0)
			return x;
	}
	if (!vec_reserve(&l->list, &l->room, l->count, 1))
		return NULL;
	x = &l->list[l->count++];
	*x = (struct kernel_line){
		.kernel = strdup(y->function), .file = strdup(file), .line = y->line};
	if (strncmp(file, y->function, length) == 0 && strcmp(file + length, ".cl") == 0)
		x->source = source_line(t, process, y->function, y->line);
	return x->kernel && x->file ? x : NULL;
}

static void add_row(struct kernel_lines *l, const struct trace *t, struct symbols *symbols,
		    const bool *objects, const struct tally *row)
{
	const uint32_t site = summary_kernel_site(t, row->key[KEY_SAMPLE_STACK], objects);
	const struct symbol *y = site ? symbols_site(symbols, site) : NULL;
	struct kernel_line *x;

	if (!y || !y->function)
		return;
	x = line_at(l, t, t->sites[site].process, y);
	l->failed |= !x;
	if (x)
		x->samples += row->count;
	l->samples += row->count;
	l->placed += y->line ? row->count : 0;
}

static void add_trace(struct kernel_lines *l, const struct summary *s)
{
	const struct tally_set *set = &s->tallies->set[TALLY_SAMPLE];
	bool *objects = set->count ? summary_kernel_objects(s->trace, &l->failed) : NULL;
	struct symbols *symbols = objects ? symbols_new(s->trace, NULL) : NULL;

	for (uint32_t i = 0; symbols && i < set->count && !l->failed; i++)
		add_row(l, s->trace, symbols, objects, set->rows[i]);
	l->failed |= objects && !symbols;
	symbols_free(symbols);
	free(objects);
}

/* ---- the table ------------------------------------------------------------------------------- */

static int hottest_first(const void *a, const void *b)
{
	const struct kernel_line *x = a, *y = b;
	int order = strcmp(x->kernel, y->kernel);

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void line_row(struct table *t, const struct kernel_lines *l, const struct kernel_line *x)
{
	struct cell *c = table_row(t);
	struct text place = {0};

	if (!c)
		return;
	if (x->line)
		text_addf(&place, "%s:%" PRIu32, x->file, x->line);
	cell_text(t, c++, x->kernel);
	if (place.s)
		cell_text(t, c, place.s);
	c++;
	cell_number(c++, x->samples);
	cell_real(c++, 100.0 * (double)x->samples / (double)l->samples);
	if (x->source)
		cell_text(t, c, x->source);
	text_release(&place);
}

static void make_table(struct report *r, struct kernel_lines *l)
{
	struct table *t = report_table(r, "kernel_lines", "Lines of kernels (samples of threads)");
	const uint32_t shown = l->count < LINES_SHOWN ? l->count : LINES_SHOWN;

	if (!t)
		return;
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column(t, "line", "line", CELL_TEXT);
	table_column(t, "samples", "samples", CELL_COUNT);
	table_column(t, "percent", "%", CELL_PERCENT);
	table_column(t, "source", "source", CELL_TEXT);
	qsort(l->list, l->count, sizeof(*l->list), hottest_first);
	for (uint32_t i = 0; i < shown; i++)
		line_row(t, l, &l->list[i]);
	if (shown < l->count)
		table_note(t, "%" PRIu32 " more lines; kymo query, view sample_functions",
			   l->count - shown);
	if (l->placed < l->samples)
		table_note(t,
			   "%" PRIu64 " sample%s no line: run with "
			   "POCL_EXTRA_BUILD_FLAGS=\"-g -cl-opt-disable\" and an empty "
			   "POCL_CACHE_DIR (PoCL 3.1 has no lines of optimised kernels)",
			   l->samples - l->placed, l->samples - l->placed == 1 ? " has" : "s have");
}

bool summary_kernel_lines(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct kernel_lines l = {0};

	for (unsigned i = 0; i < count; i++)
		add_trace(&l, &s[i]);
	if (l.samples && !l.failed)
		make_table(r, &l);
	for (uint32_t i = 0; i < l.count; i++) {
		free(l.list[i].kernel);
		free(l.list[i].file);
		free(l.list[i].source);
	}
	free(l.list);
	return !l.failed;
}
