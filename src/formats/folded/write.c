/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, as flame graph tools read them: a line for each stack, its frames from the outermost in,
 * separated by ';', a blank, and a number: nanoseconds of processor time, or bytes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/format.h"
#include "stream/profile.h"

/* ';' separates frames and a line ends one. */
static void put_frame(struct text *line, const char *name)
{
	for (; *name; name++) {
		const char c = *name == ';' ? ',' : (unsigned char)*name < ' ' ? '_' : *name;

		text_add_bytes(line, &c, 1);
	}
}

static void put_thread(struct text *line, const struct trace *t, uint32_t thread)
{
	struct text process = {0}, name = {0};

	profile_add_process(&process, t, t->threads[thread].process);
	profile_add_thread(&name, t, thread);
	put_frame(line, process.s ? process.s : "");
	text_add(line, ";");
	put_frame(line, name.s ? name.s : "");
	line->failed |= process.failed || name.failed;
	text_release(&process);
	text_release(&name);
}

/* Outermost first. */
static void put_frames(struct text *line, const struct symbol *y)
{
	char name[1024];

	if (y->caller)
		put_frames(line, y->caller);
	text_add(line, ";");
	put_frame(line, symbol_frame(y, name, sizeof(name)));
}

/* What the row's line says before the number. */
static void put_stack(const struct profile_writer *w, const struct profile_row *r,
		      struct text *line)
{
	uint32_t count;
	const uint32_t *sites = profile_frames(w->names, w->of, r, &count);

	line->length = 0;
	put_thread(line, w->t, r->thread);
	for (uint32_t i = count; i-- > 0;)
		put_frames(line, symbols_site(w->names, sites[i]));
	if (!count)
		text_addf(line, ";0x%" PRIx64, r->pc);
	if (r->kernel)
		text_add(line, ";[kernel]");
}

/* Two lines, of which one is written anew for each comparison: all of them can be more than memory holds. */
struct lines {
	struct text line, other;
	struct map first; /* by the line's hash: its first row, plus one */
};

/* The row whose line says the same as `l->line`, plus one; 0: it is the first. */
static uint64_t find_same(const struct profile_writer *w, struct lines *l, uint64_t hash)
{
	uint64_t i;

	map_each(&l->first, hash, i) {
		put_stack(w, &w->rows.at[i - 1], &l->other);
		if (l->other.length == l->line.length &&
		    memcmp(l->other.s, l->line.s, l->line.length) == 0)
			return i;
	}
	return 0;
}

/*
 * Rows are told apart by return addresses, of which a function has many: of those whose lines say the same one
 * is kept, with the weights of all.
 */
static bool merge_rows(struct profile_writer *w, struct lines *l)
{
	struct profile_row *at = w->rows.at;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->rows.count; i++) {
		uint64_t hash, same;

		put_stack(w, &at[i], &l->line);
		hash = hash_bytes(l->line.s, l->line.length);
		same = find_same(w, l, hash);
		at[i].weight = (int64_t)profile_weight(&at[i]);
		if (same) {
			at[same - 1].weight += at[i].weight;
			continue;
		}
		at[kept++] = at[i];
		if (!map_add(&l->first, hash, kept) || l->line.failed || l->other.failed)
			return false;
	}
	w->rows.count = kept;
	profile_sort(&w->rows);
	return true;
}

static void put_row(struct profile_writer *w, const struct profile_row *r, struct lines *l)
{
	put_stack(w, r, &l->line);
	output_put(&w->out, l->line.s, l->line.length);
	output_char(&w->out, ' ');
	output_unsigned(&w->out, profile_weight(r));
	output_char(&w->out, '\n');
}

static kymo_status_t put_rows(struct profile_writer *w)
{
	struct lines l = {0};
	bool ok = merge_rows(w, &l);

	for (uint32_t i = 0; ok && i < w->rows.count; i++)
		put_row(w, &w->rows.at[i], &l);
	ok = ok && !l.line.failed;
	text_release(&l.line);
	text_release(&l.other);
	map_release(&l.first);
	return ok ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t folded_write(const struct format_options *o, struct stream_sink **sink)
{
	struct profile_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->put = put_rows;
	status = profile_begin(w, "folded", o->variant, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		free(w);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

static void folded_free(struct stream_sink *s)
{
	struct profile_writer *w = (struct profile_writer *)(void *)s;

	profile_release(w);
	free(w);
}

static const struct format_kind kinds[] = {
	{"call", FORMAT_LEAVES, "calls", "it is a profile of samples"},
	{"sample", FORMAT_KEEPS_PART, "times and processors of samples; samples that were lost",
	 "flamegraph.pl: a line has a stack and one number"},
	{"*", FORMAT_LEAVES, NULL, "it is a profile of samples"},
	{0}};

extern const struct format format_folded;
const struct format format_folded = {
	.name = "folded",
	.summary = "call stacks of samples, or of malloc(), one a line, for flame graphs "
		   "(flamegraph.pl, inferno)",
	.suffix = ".folded",
	.kinds = kinds,
	.variants = PROFILE_VARIANTS,
	.variant = profile_variant,
	.write = folded_write,
	.sink_free = folded_free,
};
