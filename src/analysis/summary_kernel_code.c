/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary's table of samples of threads in kernels that the processor runs (PoCL): instructions, the hottest first. Their
 * text is of the object that PoCL has left in its cache, if it is there still.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/summary_parts.h"
#include "base/library.h"
#include "base/text.h"
#include "base/vec.h"
#include "stream/symbol.h"
#ifdef KYMO_HAVE_FUNCTIONS
#include "functions/decode.h"
#endif

#define INSTRUCTIONS_SHOWN 25u

struct kernel_instruction {
	struct symbols *symbols; /* of its trace */
	const char *path;        /* of the object */
	uint64_t address;        /* in the object */
	uint64_t samples;
	uint32_t site; /* one that is there */
};

struct kernel_code {
	struct kernel_instruction *list;
	uint32_t count, room;
	struct symbols **symbols; /* by trace; NULL: none needed */
	uint64_t samples;
	struct decoder *decoder; /* NULL: there is none */
	char why[LIBRARY_WHY];
	bool failed;
};

/* ---- samples ----------------------------------------------------------------------------------- */

static struct kernel_instruction *instruction_at(struct kernel_code *k, const char *path,
						 uint64_t address)
{
	for (uint32_t i = 0; i < k->count; i++)
		if (k->list[i].address == address && strcmp(k->list[i].path, path) == 0)
			return &k->list[i];
	if (!vec_reserve(&k->list, &k->room, k->count, 1)) {
		k->failed = true;
		return NULL;
	}
	k->list[k->count] = (struct kernel_instruction){.path = path, .address = address};
	return &k->list[k->count++];
}

/* Sites are behind the instruction. */
static void add_row(struct kernel_code *k, const struct trace *t, struct symbols *symbols,
		    const bool *objects, const struct tally *row)
{
	const uint32_t site = summary_kernel_site(t, row->key[KEY_SAMPLE_STACK], objects);
	const struct symbol *y = site ? symbols_site(symbols, site) : NULL;
	struct kernel_instruction *x;

	if (!y)
		return;
	x = instruction_at(k, t->modules[t->sites[site].module].path, y->offset - 1);
	if (!x)
		return;
	x->symbols = symbols;
	x->site = site;
	x->samples += row->count;
	k->samples += row->count;
}

static void add_trace(struct kernel_code *k, const struct summary *s, struct symbols **symbols)
{
	const struct tally_set *set = &s->tallies->set[TALLY_SAMPLE];
	bool *objects = set->count ? summary_kernel_objects(s->trace, &k->failed) : NULL;

	if (!objects)
		return;
	*symbols = symbols_new(s->trace, NULL);
	for (uint32_t i = 0; *symbols && i < set->count && !k->failed; i++)
		add_row(k, s->trace, *symbols, objects, set->rows[i]);
	k->failed |= !*symbols;
	free(objects);
}

static int hottest_first(const void *a, const void *b)
{
	const struct kernel_instruction *x = a, *y = b;
	const int order = strcmp(x->path, y->path);

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return order ? order : (x->address > y->address) - (x->address < y->address);
}

/* ---- text -------------------------------------------------------------------------------------- */

#ifdef KYMO_HAVE_FUNCTIONS
/* Decodes from the beginning of the function, as instructions have no fixed length. False: what is there is none. */
static bool decode_at(struct decoder *d, const struct symbol_code *c, char *out, size_t size)
{
	uint64_t done = 0;
	struct decoded i;

	while (done < c->size &&
	       decode(d, c->bytes + done, c->size - done, c->address + done, &i)) {
		done += i.length;
		if (c->address + done > c->at) {
			decoded_text(d, out, size);
			return true;
		}
	}
	return false;
}

static void open_decoder(struct kernel_code *k)
{
	k->decoder = decoder_new(k->why, sizeof(k->why));
}

static void close_decoder(struct kernel_code *k)
{
	decoder_free(k->decoder);
}
#else
static bool decode_at(struct decoder *d, const struct symbol_code *c, char *out, size_t size)
{
	return false;
}

static void open_decoder(struct kernel_code *k)
{
	snprintf(k->why, sizeof(k->why),
		 "this kymo was built without Capstone, or is not for x86-64");
}

static void close_decoder(struct kernel_code *k)
{
}
#endif

/* ---- the table --------------------------------------------------------------------------------- */

/* As its dispatches have it; an object that is gone was called after it. */
static void put_kernel(struct table *t, struct cell *c, const struct symbol *y)
{
	struct text name = {0};

	if (y->function)
		text_add(&name, y->function);
	else
		text_add_bytes(&name, y->module, strlen(y->module) - strlen(".so"));
	cell_text(t, c, name.s ? name.s : "");
	text_release(&name);
}

static void put_line(struct table *t, struct cell *c, const struct symbol *y)
{
	const char *slash = y->file ? strrchr(y->file, '/') : NULL;
	struct text line = {0};

	if (!y->line)
		return;
	text_addf(&line, "%s:%" PRIu32, slash ? slash + 1 : y->file ? y->file : "", y->line);
	cell_text(t, c, line.s ? line.s : "");
	text_release(&line);
}

/* False: its text is not known. */
static bool instruction_row(struct table *t, const struct kernel_code *k,
			    const struct kernel_instruction *x)
{
	const struct symbol *y = symbols_site(x->symbols, x->site);
	struct cell *c = table_row(t);
	char address[24], text[240];
	struct symbol_code code;

	if (!c)
		return true;
	snprintf(address, sizeof(address), "0x%" PRIx64, x->address);
	put_kernel(t, c++, y);
	put_line(t, c++, y);
	cell_text(t, c++, address);
	cell_number(c++, x->samples);
	cell_real(c++, 100.0 * (double)x->samples / (double)k->samples);
	if (!k->decoder || !symbols_code(x->symbols, x->site, &code) ||
	    !decode_at(k->decoder, &code, text, sizeof(text)))
		return false;
	cell_text(t, c, text);
	return true;
}

static void make_table(struct report *r, struct kernel_code *k)
{
	struct table *t = report_table(r, "kernel_instructions",
				       "Instructions of kernels (samples of threads)");
	const uint32_t shown = k->count < INSTRUCTIONS_SHOWN ? k->count : INSTRUCTIONS_SHOWN;
	uint32_t unknown = 0;

	if (!t)
		return;
	t->hidden = !r->chosen;
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column(t, "line", "line", CELL_TEXT);
	table_column(t, "address", "address", CELL_TEXT);
	table_column(t, "samples", "samples", CELL_COUNT);
	table_column(t, "percent", "%", CELL_PERCENT);
	table_column(t, "instruction", "instruction", CELL_TEXT);
	qsort(k->list, k->count, sizeof(*k->list), hottest_first);
	for (uint32_t i = 0; i < shown; i++)
		unknown += !instruction_row(t, k, &k->list[i]);
	if (shown < k->count)
		table_note(t, "%" PRIu32 " more instructions", k->count - shown);
	if (!k->decoder)
		table_note(t, "text of instructions N/A: %s", k->why);
	else if (unknown)
		table_note(
			t,
			"text of %" PRIu32
			" instructions N/A: PoCL's cache does not have the kernel's object as it "
			"was when it was sampled, or this is another machine",
			unknown);
}

bool summary_kernel_code(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct kernel_code k = {.symbols = calloc(count, sizeof(struct symbols *))};

	k.failed = !k.symbols;
	for (unsigned i = 0; i < count && !k.failed; i++)
		add_trace(&k, &s[i], &k.symbols[i]);
	if (k.samples && !k.failed) {
		open_decoder(&k);
		make_table(r, &k);
		close_decoder(&k);
	}
	for (unsigned i = 0; i < count && k.symbols; i++)
		symbols_free(k.symbols[i]);
	free(k.symbols);
	free(k.list);
	return !k.failed;
}
