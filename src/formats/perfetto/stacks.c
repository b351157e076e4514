/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of call stacks; see stacks.h. Stacks, frames and names keep the numbers that the trace has for
 * them: stacks those of its stacks, frames and functions those of its sites, files those of its modules.
 * A place in inlined functions has a frame for each.
 */
#include "formats/perfetto/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 65536, MODE_KERNEL = 1, MODE_USER = 2, NAME_SIZE = 512 };

#define INLINED (1ull << 40) /* numbers of frames from here on are of inlined functions */

static bool test_and_set(uint8_t *bits, uint64_t n)
{
	bool was = bits[n / 8] >> (n % 8) & 1;

	bits[n / 8] |= (uint8_t)(1u << n % 8);
	return was;
}

struct symbols *stacks_symbols(struct perfetto *p)
{
	struct stacks *s = &p->stacks;

	if (!s->symbols)
		s->symbols = symbols_new(p->trace, p->log);
	return s->symbols;
}

/* In a further part of the output nothing is written yet. */
static bool begin(struct perfetto *p)
{
	struct stacks *s = &p->stacks;
	const struct trace *t = p->trace;

	if (s->part == p->parts.now + 1)
		return true;
	free(s->stacks);
	free(s->sites);
	free(s->modules);
	s->stacks = calloc(1, t->stacks_count / 8 + 1);
	s->sites = calloc(1, t->sites_count / 8 + 1);
	s->modules = calloc(1, t->modules_count / 8 + 1);
	map_release(&s->places);
	s->place_count = 0;
	s->part = p->parts.now + 1;
	return stacks_symbols(p) && s->stacks && s->sites && s->modules;
}

static void write_interned(struct perfetto *p, Pf__InternedData *data)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = p->sample.id;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = 2; /* needs what came before */
	packet.interned_data = data;
	packet_write(&p->file, &packet);
}

static Pf__InternedString interned(uint64_t iid, const char *text, size_t length)
{
	Pf__InternedString s = PF__INTERNED_STRING__INIT;

	s.has_iid = s.has_str = 1;
	s.iid = iid;
	s.str.data = (uint8_t *)(uintptr_t)text;
	s.str.len = length;
	return s;
}

/* The file that a site lies in, 1 for none that is known. Perfetto wants one for each frame. */
static void write_module(struct perfetto *p, uint32_t module)
{
	const struct t_module *m = &p->trace->modules[module];
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__Mapping mapping = PF__MAPPING__INIT, *mappings = &mapping;
	Pf__InternedString path, id, *paths = &path, *ids = &id;
	const char *text = module && m->path ? m->path : "[unknown]";
	uint64_t iid = module + 1u;
	size_t n = module ? m->build_id_length : 0;

	if (test_and_set(p->stacks.modules, module))
		return;
	path = interned(iid, text, strlen(text));
	id = interned(iid, n ? (const char *)m->build_id : "", n);
	mapping.has_iid = mapping.has_build_id = 1;
	mapping.iid = mapping.build_id = iid;
	mapping.path_string_ids = &iid;
	mapping.n_path_string_ids = 1;
	if (module) {
		mapping.has_start = mapping.has_end = 1;
		mapping.start = m->start;
		mapping.end = m->end;
	}
	data.mapping_paths = &paths;
	data.build_ids = &ids;
	data.mappings = &mappings;
	data.n_mapping_paths = data.n_build_ids = data.n_mappings = 1;
	write_interned(p, &data);
}

static void write_frame(struct perfetto *p, uint64_t iid, const char *name, uint32_t module,
			uint64_t rel_pc, const struct symbol *where)
{
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__Frame frame = PF__FRAME__INIT, *frames = &frame;
	Pf__InternedString function = interned(iid, name, strlen(name)), *functions = &function;
	Pf__InternedString file, *files = &file;

	write_module(p, module);
	frame.has_iid = frame.has_function_name_id = frame.has_mapping_id = frame.has_rel_pc = 1;
	frame.iid = frame.function_name_id = iid;
	frame.mapping_id = module + 1u;
	frame.rel_pc = rel_pc;
	if (where && where->file) {
		file = interned(iid, where->file, strlen(where->file));
		frame.has_source_path_iid = 1;
		frame.source_path_iid = iid;
		frame.has_line_number = where->line != 0;
		frame.line_number = where->line;
		data.source_paths = &files;
		data.n_source_paths = 1;
	}
	data.function_names = &functions;
	data.frames = &frames;
	data.n_function_names = data.n_frames = 1;
	write_interned(p, &data);
}

/* Behind those of places: what was inlined has no number in the trace. */
static uint64_t frame_iid(const struct perfetto *p, const struct symbol *y)
{
	return y->number < p->trace->sites_count ? y->number : INLINED + y->number;
}

static void write_site(struct perfetto *p, uint32_t index)
{
	const struct t_site *site = &p->trace->sites[index];
	uint32_t module = site->module < p->trace->modules_count ? site->module : 0;
	char name[NAME_SIZE];

	if (test_and_set(p->stacks.sites, index))
		return;
	for (const struct symbol *y = symbols_site(p->stacks.symbols, index); y; y = y->caller) {
		symbol_frame(y, name, sizeof(name));
		write_frame(p, frame_iid(p, y), name, module, y->offset ? y->offset : site->address,
			    y);
	}
}

/* From the innermost function out; `out`: NULL, or where their numbers go, from the last one back. How many. */
static size_t site_frames(struct perfetto *p, uint32_t site, uint64_t *out)
{
	size_t n = 0;

	for (const struct symbol *y = symbols_site(p->stacks.symbols, site); y; y = y->caller) {
		n++;
		if (out)
			*--out = frame_iid(p, y);
	}
	return n;
}

static void write_callstack(struct perfetto *p, uint64_t iid, uint64_t *frames, size_t count)
{
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__Callstack stack = PF__CALLSTACK__INIT, *stacks = &stack;

	stack.has_iid = 1;
	stack.iid = iid;
	stack.frame_ids = frames;
	stack.n_frame_ids = count;
	data.callstacks = &stacks;
	data.n_callstacks = 1;
	write_interned(p, &data);
}

/* Number of the written stack; 0: it cannot be. */
static uint64_t stack_of(struct perfetto *p, uint32_t index)
{
	uint32_t places;
	const uint32_t *sites = symbols_stack(p->stacks.symbols, index, SYMBOLS_TIME, &places);
	size_t count = 0, left;
	uint64_t *frames;

	if (test_and_set(p->stacks.stacks, index))
		return index;
	for (uint32_t i = 0; i < places; i++)
		count += site_frames(p, sites[i], NULL);
	frames = malloc((count + 1) * sizeof(*frames));
	left = count;
	for (uint32_t i = 0; frames && i < places; i++) {
		write_site(p, sites[i]);
		left -= site_frames(p, sites[i], frames + left);
	}
	if (frames)
		write_callstack(p, index, frames, count);
	free(frames);
	return frames ? index : 0;
}

static uint32_t module_at(const struct trace *t, uint32_t process, uint64_t pc)
{
	for (uint32_t i = 1; i < t->modules_count; i++)
		if (t->modules[i].process == process && t->modules[i].start <= pc &&
		    pc < t->modules[i].end)
			return i;
	return 0;
}

/* Of a sample of which only the place is known: a stack of one frame. */
static uint64_t stack_at(struct perfetto *p, uint32_t process, uint64_t pc)
{
	struct stacks *s = &p->stacks;
	uint64_t key = pc ^ (uint64_t)process << 48, known = map_get(&s->places, key), frame, iid;
	uint32_t module;
	char name[64];

	if (known || !pc || s->place_count == PLACES_MAX)
		return known ? p->trace->stacks_count + known - 1 : 0;
	if (!map_set(&s->places, key, s->place_count + 1u))
		return 0;
	module = module_at(p->trace, process, pc);
	frame = (uint64_t)p->trace->sites_count + s->place_count;
	iid = (uint64_t)p->trace->stacks_count + s->place_count;
	snprintf(name, sizeof(name), "0x%llx", (unsigned long long)pc);
	write_frame(p, frame, name, module, module ? pc - p->trace->modules[module].bias : pc,
		    NULL);
	write_callstack(p, iid, &frame, 1);
	s->place_count++;
	return iid;
}

kymo_status_t stacks_sample(struct perfetto *p, const struct rec_sample *r)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;
	Pf__PerfSample sample = PF__PERF_SAMPLE__INIT;
	const struct trace *t = p->trace;
	uint32_t process = r->base.process;
	uint64_t stack;

	unplaced_add(&p->unplaced, "weights of samples", r->weight != 0);
	timeline_reach(p, &p->host, r->base.start);
	parts_use(p, &p->sample);
	if (!begin(p))
		return KYMO_ERROR_NO_MEMORY;
	if (r->base.stack && r->base.stack < t->stacks_count)
		stack = stack_of(p, r->base.stack);
	else
		stack = stack_at(p, process, r->pc);
	sample.has_cpu = sample.has_pid = sample.has_tid = sample.has_cpu_mode = 1;
	sample.cpu = r->cpu;
	sample.pid = (uint32_t)p->pids[process];
	sample.tid = track_tid(p, r->base.thread);
	sample.cpu_mode = r->kernel ? MODE_KERNEL : MODE_USER;
	sample.has_callstack_iid = stack != 0;
	sample.callstack_iid = stack;
	packet_stamp(&packet, &p->sample, r->base.start < 0 ? 0 : r->base.start);
	packet.perf_sample = &sample;
	packet_write(&p->file, &packet);
	return p->file.status;
}

void stacks_release(struct stacks *s)
{
	symbols_free(s->symbols);
	free(s->stacks);
	free(s->sites);
	free(s->modules);
	map_release(&s->places);
}
