/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for pprof (profile.proto), compressed with gzip as it expects them. A message is the
 * concatenation of its parts: each sample, location, function and text is packed as a profile of its own.
 */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/format.h"
#include "formats/pprof/profile.pb-c.h"
#include "stream/names.h"
#include "stream/profile.h"

enum { FRAMES = 64 }; /* of a location */

struct pprof {
	struct profile_writer w; /* first */
	struct map strings;      /* number of a text by its hash, plus one */
	char **texts;
	uint32_t text_count, text_room;
	uint8_t *located; /* by site: its location is written */
	struct map functions;
	uint64_t function_count, location_count;
	struct text packed;
	bool failed;
};

/* ---- parts ----------------------------------------------------------------------------------- */

static void put(struct pprof *w, const KymoPprof__Profile *p)
{
	size_t n = kymo_pprof__profile__get_packed_size(p);
	uint8_t *bytes = malloc(n + 1);

	if (bytes) {
		kymo_pprof__profile__pack(p, bytes);
		text_add_bytes(&w->packed, (const char *)bytes, n);
	}
	w->failed |= !bytes || w->packed.failed;
	free(bytes);
}

static int64_t string(struct pprof *w, const char *s)
{
	KymoPprof__Profile p = KYMO_PPROF__PROFILE__INIT;
	uint64_t hash = hash_string(s), i;
	char *copy;

	map_each(&w->strings, hash, i)
		if (strcmp(w->texts[i - 1], s) == 0)
			return (int64_t)i - 1;
	copy = strdup(s);
	if (!copy || !vec_reserve(&w->texts, &w->text_room, w->text_count, 1) ||
	    !map_add(&w->strings, hash, (uint64_t)w->text_count + 1)) {
		free(copy);
		w->failed = true;
		return 0;
	}
	w->texts[w->text_count] = copy;
	p.n_string_table = 1;
	p.string_table = &copy;
	put(w, &p);
	return w->text_count++;
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint64_t function(struct pprof *w, const char *name, const char *file)
{
	KymoPprof__Function f = KYMO_PPROF__FUNCTION__INIT, *one = &f;
	KymoPprof__Profile p = KYMO_PPROF__PROFILE__INIT;
	int64_t name_at = string(w, name), file_at = string(w, file ? file : "");
	uint64_t key = (uint64_t)name_at << 32 | (uint64_t)file_at;
	uint64_t known = map_get(&w->functions, key);

	if (known)
		return known;
	f.id = ++w->function_count;
	f.name = f.system_name = name_at;
	f.filename = file_at;
	p.n_function = 1;
	p.function = &one;
	put(w, &p);
	w->failed |= !map_set(&w->functions, key, f.id);
	return f.id;
}

/* Lines of a location are of inlined functions, but the last one. `y`: NULL, or what is there. */
static void put_location(struct pprof *w, uint64_t id, uint64_t module, uint64_t address,
			 const struct symbol *y)
{
	KymoPprof__Line line[FRAMES], *lines[FRAMES];
	KymoPprof__Location x = KYMO_PPROF__LOCATION__INIT, *one = &x;
	KymoPprof__Profile p = KYMO_PPROF__PROFILE__INIT;

	x.id = id;
	x.mapping_id = module;
	x.address = address;
	x.line = lines;
	for (; y && y->function && x.n_line < FRAMES; y = y->caller) {
		kymo_pprof__line__init(&line[x.n_line]);
		line[x.n_line].function_id = function(w, y->function, y->file);
		line[x.n_line].line = y->line;
		lines[x.n_line] = &line[x.n_line];
		x.n_line++;
	}
	p.n_location = 1;
	p.location = &one;
	put(w, &p);
}

/* Locations are numbered as sites are; addresses alone come behind them. */
static uint64_t site_location(struct pprof *w, uint32_t site)
{
	const struct symbol *y = symbols_site(w->w.names, site);
	const struct t_site *x = &w->w.t->sites[site];

	if (!w->located[site])
		put_location(w, site, x->module, x->address, y);
	w->located[site] = 1;
	return site;
}

static void put_mapping(struct pprof *w, uint32_t module)
{
	KymoPprof__Mapping m = KYMO_PPROF__MAPPING__INIT, *one = &m;
	KymoPprof__Profile p = KYMO_PPROF__PROFILE__INIT;
	const struct t_module *x = &w->w.t->modules[module];
	struct text id = {0};

	for (uint32_t i = 0; i < x->build_id_length; i++)
		text_addf(&id, "%02x", x->build_id[i]);
	m.id = module;
	m.memory_start = x->start;
	m.memory_limit = x->end;
	m.filename = string(w, x->path);
	m.build_id = string(w, id.s ? id.s : "");
	m.has_functions = m.has_filenames = m.has_line_numbers = 1;
	p.n_mapping = 1;
	p.mapping = &one;
	put(w, &p);
	text_release(&id);
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint32_t locations_of(struct pprof *w, const struct profile_row *r, uint64_t *out)
{
	uint32_t count;
	const uint32_t *sites = profile_frames(w->w.names, w->w.of, r, &count);

	for (uint32_t i = 0; i < count; i++)
		out[i] = site_location(w, sites[i]);
	if (count)
		return count;
	out[0] = w->w.t->sites_count + ++w->location_count;
	put_location(w, out[0], 0, r->pc, NULL);
	return 1;
}

enum { VALUES = 4 };

static unsigned values_of(const struct pprof *w, const struct profile_row *r, int64_t out[VALUES])
{
	if (w->w.of == PROFILE_SAMPLES) {
		out[0] = (int64_t)r->samples;
		out[1] = r->weight;
		return 2;
	}
	out[0] = (int64_t)(r->objects + 0.5);
	out[1] = (int64_t)r->bytes;
	out[2] = (int64_t)(r->left_objects + 0.5);
	out[3] = (int64_t)r->left_bytes;
	return VALUES;
}

static void put_sample(struct pprof *w, const struct profile_row *r)
{
	const struct t_thread *th = &w->w.t->threads[r->thread];
	KymoPprof__Label labels[3] = {KYMO_PPROF__LABEL__INIT, KYMO_PPROF__LABEL__INIT,
				      KYMO_PPROF__LABEL__INIT};
	KymoPprof__Label *list[] = {&labels[0], &labels[1], &labels[2]};
	int64_t values[VALUES];
	KymoPprof__Sample x = KYMO_PPROF__SAMPLE__INIT, *one = &x;
	KymoPprof__Profile p = KYMO_PPROF__PROFILE__INIT;
	uint32_t frames;
	char name[32];

	profile_frames(w->w.names, w->w.of, r, &frames);
	x.location_id = calloc(frames + 1u, sizeof(*x.location_id));
	if (!x.location_id) {
		w->failed = true;
		return;
	}
	x.n_location_id = locations_of(w, r, x.location_id);
	x.n_value = values_of(w, r, values);
	x.value = values;
	labels[0].key = string(w, "process");
	labels[0].num = w->w.t->processes[th->process].pid;
	labels[1].key = string(w, "thread");
	labels[1].str = string(w, name_thread(th, name, sizeof(name)));
	labels[2].key = string(w, "tid");
	labels[2].num = th->tid;
	x.n_label = 3;
	x.label = list;
	p.n_sample = 1;
	p.sample = &one;
	put(w, &p);
	free(x.location_id);
}

static void put_head(struct pprof *w)
{
	static const char *const names[][2] = {
		{"samples", "count"},     {"cpu", "nanoseconds"},     {"alloc_objects", "count"},
		{"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}};
	const bool heap = w->w.of != PROFILE_SAMPLES;
	KymoPprof__ValueType types[VALUES] = {KYMO_PPROF__VALUE_TYPE__INIT}, *list[VALUES];
	KymoPprof__Profile p = KYMO_PPROF__PROFILE__INIT;

	string(w, ""); /* the first one */
	p.n_sample_type = heap ? VALUES : 2;
	for (unsigned i = 0; i < p.n_sample_type; i++) {
		types[i] = (KymoPprof__ValueType)KYMO_PPROF__VALUE_TYPE__INIT;
		types[i].type = string(w, names[i + 2 * heap][0]);
		types[i].unit = string(w, names[i + 2 * heap][1]);
		list[i] = &types[i];
	}
	p.sample_type = list;
	p.default_sample_type = types[w->w.of == PROFILE_HEAP_LEFT ? 3 : 1].type;
	p.time_nanos = w->w.t->started * 1000000000;
	p.duration_nanos = w->w.t->end - w->w.t->origin;
	put(w, &p);
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool deflate_into(struct pprof *w)
{
	enum { GZIP = 15 + 16, MEMORY = 8 };
	z_stream z = {.next_in = (Bytef *)(uintptr_t)w->packed.s,
		      .avail_in = (uInt)w->packed.length};
	bool ok = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, MEMORY,
			       Z_DEFAULT_STRATEGY) == Z_OK;
	int got = Z_OK;

	while (ok && got == Z_OK) {
		unsigned char block[1 << 14];

		z.next_out = block;
		z.avail_out = sizeof(block);
		got = deflate(&z, Z_FINISH);
		output_put(&w->w.out, (const char *)block, sizeof(block) - z.avail_out);
	}
	if (ok)
		deflateEnd(&z);
	return ok && got == Z_STREAM_END;
}

static kymo_status_t put_profile(struct profile_writer *p)
{
	struct pprof *w = (struct pprof *)(void *)p;

	w->located = calloc(p->t->sites_count, 1);
	if (!w->located)
		return KYMO_ERROR_NO_MEMORY;
	put_head(w);
	for (uint32_t i = 1; i < p->t->modules_count; i++)
		put_mapping(w, i);
	for (uint32_t i = 0; i < p->rows.count; i++)
		put_sample(w, &p->rows.at[i]);
	return w->failed || !deflate_into(w) ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}

static kymo_status_t pprof_write(const struct format_options *o, struct stream_sink **sink)
{
	struct pprof *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->w.put = put_profile;
	status = profile_begin(&w->w, "pprof", o->variant, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		free(w);
		return status;
	}
	*sink = &w->w.sink;
	return KYMO_OK;
}

static void pprof_free(struct stream_sink *s)
{
	struct pprof *w = (struct pprof *)(void *)s;

	for (uint32_t i = 0; i < w->text_count; i++)
		free(w->texts[i]);
	free(w->texts);
	free(w->located);
	map_release(&w->strings);
	map_release(&w->functions);
	text_release(&w->packed);
	profile_release(&w->w);
	free(w);
}

static const struct format_kind kinds[] = {
	{"call", FORMAT_LEAVES, "calls", "it is a profile of samples"},
	{"sample", FORMAT_KEEPS_PART, "times and processors of samples; samples that were lost",
	 "profile.proto: a Sample has locations, values and labels, no time"},
	{"*", FORMAT_LEAVES, NULL, "it is a profile of samples"},
	{0}};

extern const struct format format_pprof;
const struct format format_pprof = {
	.name = "pprof",
	.summary = "call stacks of samples, or of malloc(), for pprof (profile.proto, gzip)",
	.suffix = ".pb.gz",
	.kinds = kinds,
	.variants = PROFILE_VARIANTS,
	.variant = profile_variant,
	.write = pprof_write,
	.sink_free = pprof_free,
};
