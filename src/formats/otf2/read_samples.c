/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples, and the call paths that they and calls name. Kymo has samples in an archive of their own beside the
 * other, samples.otf2: a reader of its own, whose locations are those of the other archive.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "formats/otf2/reader.h"

enum { PATH_MAX_ = 512, FRAMES_MAX = 1 << 24 /* of all stacks */ };

/* ---- call paths ------------------------------------------------------------------------------ */

/* Kymo writes behind a name that the function was inlined, which is no part of the name. */
static size_t name_length(const struct reader *r, const char *name)
{
	static const char mark[] = " (inlined)";
	size_t n = strlen(name), m = sizeof(mark) - 1;

	return r->kymo && n > m && strcmp(name + n - m, mark) == 0 ? n - m : n;
}

/* Its region, and the line where the archive has it; 0: Kymo did not know it. */
static uint32_t site_of(struct reader *r, uint32_t process, const struct context_in *c)
{
	const struct region *x = c->region ? &r->regions[c->region - 1] : NULL;
	const struct source_in *s = c->source ? &r->sources[c->source - 1] : NULL;
	struct keyed *k = &r->main->keyed;
	const char *file = s ? s->file : x ? x->file : "";
	struct keyed_place at = {.line = s ? s->line : 0};

	if (!x || (r->kymo && strcmp(x->name, "(unknown)") == 0))
		return 0;
	at.function = keyed_text(k, x->name, name_length(r, x->name));
	at.file = keyed_text(k, file, strlen(file));
	return keyed_site(k, process, &at);
}

struct path otf2r_path(struct reader *r, uint32_t process, uint32_t context)
{
	uint64_t key = hash_mix(hash_u64(process), context), known = map_get(&r->paths, key);
	uint32_t sites[PATH_MAX_], n = 0, i = otf2r_at(&r->contexts_at, context);
	struct path path = {0};

	if (known)
		return (struct path){(uint32_t)(known >> 32), (uint32_t)known - 1};
	for (unsigned depth = 0; i && depth < PATH_MAX_; depth++) {
		const struct context_in *c = &r->contexts[i - 1];
		uint32_t site = site_of(r, process, c);

		if (site)
			sites[n++] = site;
		i = otf2r_at(&r->contexts_at, c->parent);
	}
	if (i)
		unplaced_add(&r->unplaced, "outer frames of call paths beyond 512", 1);
	r->main->frames += n;
	if (r->main->frames > FRAMES_MAX) {
		unplaced_add(&r->unplaced, "call paths beyond 16,777,216 frames of all", 1);
		return path;
	}
	path.site = n ? sites[0] : 0;
	path.stack = keyed_stack(&r->main->keyed, process, sites, n);
	if (!map_set(&r->paths, key, (uint64_t)path.site << 32 | (path.stack + UINT64_C(1))))
		r->emptied = true;
	return path;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void sample(struct reader *r, const struct place *p, uint32_t context, uint32_t generator)
{
	struct rec_sample s = {.base = otf2r_base(r, p, r->now)};
	struct path path = otf2r_path(r, p->process, context);
	uint32_t g = otf2r_at(&r->generators_at, generator);

	s.correlation = s.base.parent;
	s.base.parent = 0;
	s.base.stack = path.stack;
	s.base.site = path.site;
	s.pc = r->t->sites[path.site].address;
	s.weight = g ? r->generators[g - 1].period : 0;
	s.base.op = make_activity(&r->main->model, RECORD_DOMAIN_sample, SAMPLE_OP_PC);
	OTF2R_EMIT(r, sample, &s);
}

/* Of the function, the line, the offset of the instruction. */
static uint32_t code_of(struct reader *r, uint32_t process, uint32_t context, uint64_t offset)
{
	uint64_t key = hash_mix(hash_mix(hash_u64(process), context), offset);
	uint32_t known = (uint32_t)map_get(&r->codes, key), i = otf2r_at(&r->contexts_at, context);
	const struct context_in *c = i ? &r->contexts[i - 1] : NULL;
	struct t_code x = {.process = process, .function = "", .file = "", .offset = offset};

	if (known || r->sink || !c)
		return known;
	if (c->region && strcmp(r->regions[c->region - 1].name, "(unknown kernel)") != 0)
		x.function = r->regions[c->region - 1].name;
	if (c->source) {
		x.file = r->sources[c->source - 1].file;
		x.line = r->sources[c->source - 1].line;
	}
	*trace_add(r->t, codes) = x;
	known = r->t->codes_count - 1;
	if (!map_set(&r->codes, key, known))
		r->emptied = true;
	return known;
}

static void device_sample(struct reader *r, const struct place *p, uint32_t context,
			  const struct said *said)
{
	const char *reason = said_has(said, ATTRIBUTE_STALL_REASON)
				     ? otf2r_text(r, (uint32_t)said->of[ATTRIBUTE_STALL_REASON])
				     : "";
	struct rec_device_sample d = {.base = otf2r_base(r, p, r->now),
				      .correlation = said_of(said, ATTRIBUTE_CORRELATION_ID),
				      .agent = p->agent,
				      .samples = 1,
				      .idle = said_of(said, ATTRIBUTE_IDLE_SAMPLES),
				      .cycles = said_of(said, ATTRIBUTE_CYCLES)};

	if (said_has(said, ATTRIBUTE_SAMPLES))
		d.samples = said->of[ATTRIBUTE_SAMPLES];
	d.base.parent = 0;
	d.code = code_of(r, p->process, context, said_of(said, ATTRIBUTE_INSTRUCTION));
	d.reason = keyed_text(&r->main->keyed, reason, strlen(reason));
	d.base.op =
		make_activity(&r->main->model, RECORD_DOMAIN_device_sample, DEVICE_SAMPLE_OP_PC);
	OTF2R_EMIT(r, device_sample, &d);
}

static OTF2_CallbackCode on_sample(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				   OTF2_AttributeList *a, OTF2_CallingContextRef context,
				   uint32_t unwind, OTF2_InterruptGeneratorRef generator)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	struct said said = {0};

	if (!p)
		return OTF2_CALLBACK_SUCCESS;
	otf2r_attributes(r, NULL, a, &said);
	if (p->type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM)
		device_sample(r, p, context, &said);
	else
		sample(r, p, context, generator);
	return r->status == KYMO_OK && !r->emptied ? OTF2_CALLBACK_SUCCESS
						   : OTF2_CALLBACK_INTERRUPT;
}

void otf2r_listen_samples(OTF2_GlobalEvtReaderCallbacks *c)
{
	OTF2_GlobalEvtReaderCallbacks_SetCallingContextSampleCallback(c, on_sample);
}

/* ---- the archive beside ---------------------------------------------------------------------- */

/* Its locations and devices are those of the archive it lies beside, which it names. */
static void link_place(struct reader *r, struct place *p)
{
	const struct group_of_locations *g = p->group ? &r->groups[p->group - 1] : NULL;
	uint32_t group = g && g->twin ? otf2r_at(&r->main->groups_at, g->twin - 1) : 0;
	uint32_t at = p->twin ? otf2r_at(&r->main->places_at, p->twin - 1) : 0;

	p->process = group ? r->main->groups[group - 1].process : 1;
	p->agent = group ? r->main->groups[group - 1].agent : 0;
	if (at && r->main->places[at - 1].process == p->process)
		p->thread = r->main->places[at - 1].thread;
	else if (p->type == OTF2_LOCATION_TYPE_CPU_THREAD)
		unplaced_add(&r->unplaced, "threads of samples that the other archive has not", 1);
}

/* What was measured of the time of the one is that of the other. */
static void share_time(struct reader *to, const struct reader *from)
{
	to->any = from->any;
	to->first = from->first;
	to->begin = from->begin;
}

static struct reader *beside(struct reader *r)
{
	size_t n = strlen(r->anchor), own = strlen("traces.otf2");
	struct text name = {0};
	struct reader *s = NULL;

	if (!r->kymo || n < own || strcmp(r->anchor + n - own, "traces.otf2") != 0)
		return NULL;
	text_add_bytes(&name, r->anchor, n - own);
	text_add(&name, "samples.otf2");
	if (name.s && otf2r_is_anchor(name.s))
		s = calloc(1, sizeof(*s));
	if (!s) {
		text_release(&name);
		return NULL;
	}
	s->anchor = name.s;
	s->path = s->anchor;
	s->o = r->o;
	s->t = r->t;
	s->main = r;
	return s;
}

static OTF2_GlobalEvtReaderCallbacks *listen(void)
{
	OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();

	if (c) {
		otf2r_listen_samples(c);
		otf2r_listen_others(c);
	}
	return c;
}

/* One time; false: there is not enough memory. */
static bool read_once(struct reader *s, OTF2_GlobalDefReaderCallbacks *definitions)
{
	OTF2_GlobalEvtReaderCallbacks *events = listen();

	if (events && otf2r_open(s, definitions)) {
		for (uint32_t i = 0; definitions && i < s->places_count; i++)
			link_place(s, &s->places[i]);
		if (definitions)
			s->defined = s->unplaced;
		s->total = 0; /* progress is told of the other */
		otf2r_events(s, events);
	}
	otf2r_close(s);
	OTF2_GlobalEvtReaderCallbacks_Delete(events);
	return events && !s->emptied && s->status != KYMO_ERROR_NO_MEMORY;
}

kymo_status_t otf2r_collect_samples(struct reader *r)
{
	OTF2_GlobalDefReaderCallbacks *definitions;
	struct reader *s = r->samples = beside(r);
	bool done;

	if (!s)
		return KYMO_OK;
	if (!otf2r_try(s))
		return KYMO_ERROR_INVALID_ARGUMENT;
	definitions = otf2r_define();
	if (!definitions)
		return KYMO_ERROR_NO_MEMORY;
	share_time(s, r);
	s->now = r->begin;
	done = read_once(s, definitions);
	OTF2_GlobalDefReaderCallbacks_Delete(definitions);
	if (!r->any)
		share_time(r, s);
	r->end = s->end > r->end ? s->end : r->end;
	return done ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

void otf2r_hand_on_samples(struct reader *r)
{
	struct reader *s = r->samples;

	if (!s || r->status != KYMO_OK)
		return;
	s->sink = r->sink;
	s->code = OTF2_SUCCESS;
	s->now = r->begin;
	s->unplaced = s->defined;
	if (!read_once(s, NULL))
		s->status = KYMO_ERROR_NO_MEMORY;
	r->status = s->status;
}
