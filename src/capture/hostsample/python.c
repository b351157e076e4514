/* SPDX-License-Identifier: Apache-2.0 */
/* See python.h. Places in structures: CPython's own headers of each version (internal/pycore_frame.h, cpython/code.h). */
#include "capture/hostsample/python.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/careful.h"
#include "base/elf.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/sample/sample.h"

#define HEAD 256u /* bytes of a structure that are looked at */

/* Places of fields in one version's structures. */
struct layout {
	uint32_t version; /* major * 256 + minor */
	uint16_t
		frame; /* in the thread's state; with `by_cframe` of a structure that has it at `cframe` */
	uint16_t cframe;
	bool by_cframe;
	uint16_t thread_id; /* the system's */
	uint16_t code, previous, instruction;
	uint16_t owner;  /* or, before 3.12, is_entry */
	uint8_t entry;   /* value of it in the outermost frame of a loop */
	bool is_a_frame; /* that one is a function's, too */
	uint16_t file, name, first_line, lines, bytecode; /* in code objects */
	uint16_t text, wide; /* where texts begin: of ASCII, of others */
};

static const struct layout layouts[] = {
	{0x30b, 56, 8, true, 160, 32, 48, 56, 68, 1, true, 112, 128, 72, 136, 184, 48, 72},
	{0x30c, 56, 0, true, 144, 0, 8, 56, 70, 3, false, 112, 128, 68, 136, 192, 40, 56},
	{0x30d, 72, 0, false, 160, 0, 8, 56, 70, 3, false, 112, 128, 68, 136, 200, 40, 56},
};

static struct python {
	const struct layout *layout;
	void *(*thread_state)(void);
	uint64_t code_type;
	uint64_t loop, loop_end; /* code of the evaluation loop */
} found;
static struct python *_Atomic python;
static _Atomic uint32_t wrong; /* threads whose states are not as they should be */

/* ---- finding it -------------------------------------------------------------------------------- */

static const struct layout *layout_of(uint32_t version)
{
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].version == version >> 16)
			return &layouts[i];
	return NULL;
}

/* By tables of objects: a thread that waits for the sampler's may hold the lock of the loader that dlsym() takes. */
static void *find(const char *name, uint64_t *size)
{
	void *at = NULL;

	return elf_symbol(name, &at, size) ? at : NULL;
}

static bool find_loop(struct python *p)
{
	uint64_t size = 0;

	p->loop = (uint64_t)(uintptr_t)find("_PyEval_EvalFrameDefault", &size);
	p->loop_end = p->loop + size;
	return p->loop && size;
}

/* What is called in signal handlers must not be unloaded. Once, and only where there is an interpreter. */
static void keep_loaded(void *function)
{
	Dl_info info;

	if (dladdr(function, &info) && info.dli_fname && info.dli_fname[0] == '/')
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

bool python_look(void)
{
	const unsigned long *version;
	uint64_t size;
	void *state;

	if (atomic_load(&python))
		return true;
	version = find("Py_Version", &size);
	state = find("PyGILState_GetThisThreadState", &size);
	found.layout = version ? layout_of((uint32_t)*version) : NULL;
	found.code_type = (uint64_t)(uintptr_t)find("PyCode_Type", &size);
	if (!found.layout || !state || !found.code_type || !find_loop(&found))
		return false;
	keep_loaded(state);
	memcpy(&found.thread_state, &state, sizeof(state));
	atomic_store(&python, &found);
	return true;
}

/* ---- in the program's threads: only what signal handlers may do -------------------------------- */

static bool word_at(uint64_t at, uint64_t *out)
{
	return at && careful_copy(out, (const void *)(uintptr_t)at, 8) == 8;
}

static uint64_t word_in(const uint8_t *bytes, uint16_t at)
{
	uint64_t v;

	memcpy(&v, bytes + at, sizeof(v));
	return v;
}

static uint64_t first_frame(const struct layout *l, uint64_t state)
{
	uint64_t own = 0, at = 0;

	if (!word_at(state + l->thread_id, &own) || own != (uint64_t)syscall(SYS_gettid)) {
		atomic_fetch_add(&wrong, 1);
		return 0;
	}
	if (!word_at(state + l->frame, &at))
		return 0;
	if (l->by_cframe && !word_at(at + l->cframe, &at))
		return 0;
	return at;
}

void python_take(struct python_stack *out)
{
	const struct python *p = atomic_load(&python);
	const struct layout *l = p ? p->layout : NULL;
	uint64_t state = p ? (uint64_t)(uintptr_t)p->thread_state() : 0;
	uint64_t at = state ? first_frame(l, state) : 0;
	uint8_t frame[72];

	out->count = 0;
	out->whole = true;
	while (at && out->count < PYTHON_FRAMES &&
	       careful_copy(frame, (const void *)(uintptr_t)at, sizeof(frame)) == sizeof(frame)) {
		bool entry = frame[l->owner] == l->entry;

		if (!entry || l->is_a_frame)
			out->frames[out->count++] = (struct python_frame){
				word_in(frame, l->code) & ~1ull, word_in(frame, l->instruction)};
		if (entry && out->count)
			out->frames[out->count - 1].code |= 1;
		at = word_in(frame, l->previous);
	}
	out->whole = !at;
}

/* ---- names: by the sampler's thread ------------------------------------------------------------ */

struct code {
	uint64_t file_object, name_object, lines_object; /* another code object has others */
	uint32_t first_line, line_bytes;
	char *name, *file;
	uint8_t *lines;
};

static struct map known; /* by address of the code object: place plus 1 */
static struct code *codes;
static uint32_t code_count, code_room;

static void put_utf8(char *out, uint32_t size, uint32_t *n, uint32_t c)
{
	char bytes[4];
	uint32_t k = 0;

	if (c < 0x80) {
		bytes[k++] = (char)c;
	} else if (c < 0x800) {
		bytes[k++] = (char)(0xc0 | c >> 6);
		bytes[k++] = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		bytes[k++] = (char)(0xe0 | c >> 12);
		bytes[k++] = (char)(0x80 | (c >> 6 & 63));
		bytes[k++] = (char)(0x80 | (c & 63));
	} else {
		bytes[k++] = (char)(0xf0 | (c >> 18 & 7));
		bytes[k++] = (char)(0x80 | (c >> 12 & 63));
		bytes[k++] = (char)(0x80 | (c >> 6 & 63));
		bytes[k++] = (char)(0x80 | (c & 63));
	}
	if (*n + k < size)
		memcpy(out + *n, bytes, k);
	*n += k;
}

enum { TEXT = 240 /* characters of a name that are read */ };

/* A compact str object's text behind `prefix`, to be freed. NULL: it is none. */
static char *text_of(const struct layout *l, uint64_t object, const char *prefix)
{
	uint8_t head[40], data[TEXT * 4];
	char out[TEXT * 4 + 16];
	uint32_t n = (uint32_t)strlen(prefix), kind, state;
	uint64_t length;

	if (!object ||
	    careful_copy(head, (const void *)(uintptr_t)object, sizeof(head)) != sizeof(head))
		return NULL;
	length = word_in(head, 16);
	memcpy(&state, head + 32, sizeof(state));
	kind = state >> 2 & 7;
	if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4) || !length ||
	    length > 100000)
		return NULL;
	length = length < TEXT ? length : TEXT;
	object += state >> 6 & 1 ? l->text : l->wide;
	if (careful_copy(data, (const void *)(uintptr_t)object, length * kind) != length * kind)
		return NULL;
	memcpy(out, prefix, n);
	for (uint64_t i = 0; i < length; i++) {
		uint32_t c = 0;

		memcpy(&c, data + i * kind, kind); /* of little end, as all that have a layout */
		put_utf8(out, sizeof(out), &n, c ? c : '?');
	}
	return strndup(out, n < sizeof(out) ? n : sizeof(out) - 1);
}

static uint8_t *bytes_of(uint64_t object, uint32_t *size)
{
	uint64_t length;
	uint8_t *out;

	*size = 0;
	if (!word_at(object + 16, &length) || !length || length > 1u << 20)
		return NULL;
	out = malloc(length);
	if (out && careful_copy(out, (const void *)(uintptr_t)(object + 32), length) == length) {
		*size = (uint32_t)length;
		return out;
	}
	free(out);
	return NULL;
}

static bool is_this(const struct code *c, const struct layout *l, const uint8_t *head)
{
	return c->file_object == word_in(head, l->file) &&
	       c->name_object == word_in(head, l->name) &&
	       c->lines_object == word_in(head, l->lines);
}

static void fill(struct code *c, const struct layout *l, const uint8_t *head)
{
	free(c->name);
	free(c->file);
	free(c->lines);
	*c = (struct code){.file_object = word_in(head, l->file),
			   .name_object = word_in(head, l->name),
			   .lines_object = word_in(head, l->lines)};
	memcpy(&c->first_line, head + l->first_line, sizeof(c->first_line));
	c->name = text_of(l, c->name_object, "py::");
	c->file = text_of(l, c->file_object, "");
	c->lines = bytes_of(c->lines_object, &c->line_bytes);
}

/* The code object at an address, as it is now; NULL: there is none. `head`: room for its bytes. */
static const struct code *code_at(const struct python *p, uint64_t at, uint8_t head[HEAD])
{
	uint64_t place = map_get(&known, at);

	if (careful_copy(head, (const void *)(uintptr_t)at, HEAD) < p->layout->bytecode ||
	    word_in(head, 8) != p->code_type)
		return NULL;
	if (!place) {
		if (!vec_reserve(&codes, &code_room, code_count, 1) ||
		    !map_set(&known, at, code_count + 1u))
			return NULL;
		codes[code_count] = (struct code){.name = NULL};
		place = ++code_count;
	}
	if (!is_this(&codes[place - 1], p->layout, head) || !codes[place - 1].name)
		fill(&codes[place - 1], p->layout, head);
	return codes[place - 1].name ? &codes[place - 1] : NULL;
}

static uint32_t varint(const struct code *c, uint32_t *at)
{
	uint32_t v = 0, shift = 0, byte = 64;

	while (byte & 64 && *at < c->line_bytes && shift < 32) {
		byte = c->lines[(*at)++];
		v |= (byte & 63) << shift;
		shift += 6;
	}
	return v;
}

/* By the table of locations (Objects/locations.md of CPython). `unit`: number of the code unit, from 0. */
static uint32_t line_of(const struct code *c, int64_t unit)
{
	int64_t line = c->first_line, done = 0;

	for (uint32_t at = 0; at < c->line_bytes;) {
		uint8_t first = c->lines[at++];
		uint32_t kind = first >> 3 & 15, v;
		bool has_line = kind != 15;

		if (kind >= 13 && kind <= 14) {
			v = varint(c, &at);
			line += v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
			for (int i = 0; kind == 14 && i < 3; i++)
				varint(c, &at);
		} else if (kind >= 10 && kind <= 12) {
			line += kind - 10;
			at += 2;
		} else if (kind < 10) {
			at++;
		}
		done += (first & 7) + 1;
		if (unit < done)
			return has_line && line > 0 ? (uint32_t)line : c->first_line;
	}
	return c->first_line;
}

/* 0: it is no frame of a function. */
static uint64_t place_of(const struct python *p, const struct python_frame *f)
{
	uint64_t at = f->code & ~1ull;
	const struct code *c;
	uint8_t head[HEAD];
	int64_t unit;

	c = code_at(p, at, head);
	if (!c)
		return 0;
	unit = (int64_t)(f->instruction - at - p->layout->bytecode) / 2;
	return cap_sample_place(c->name, c->file ? c->file : "", line_of(c, unit));
}

/* ---- merging ----------------------------------------------------------------------------------- */

static bool in_loop(const struct python *p, const uint64_t *addresses, uint32_t i)
{
	uint64_t pc = addresses[i] - (i > 0);

	return pc >= p->loop && pc < p->loop_end;
}

/* Frames that the loop at hand runs; `from` moves on to those of the next one. How many were put out. */
static uint32_t put_loop(const struct python *p, const struct python_stack *s, uint32_t *from,
			 uint64_t *out, uint32_t most)
{
	uint32_t n = 0;
	bool last = false;

	while (*from < s->count && !last) {
		const struct python_frame *f = &s->frames[(*from)++];
		uint64_t place = n < most ? place_of(p, f) : 0;

		last = f->code & 1;
		if (place)
			out[n++] = place;
	}
	return n;
}

static uint32_t loops(const struct python *p, const uint64_t *addresses, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		n += in_loop(p, addresses, i);
	return n;
}

static void tell_wrong(void)
{
	static bool told;

	if (!told && atomic_load(&wrong) > 10) {
		told = true;
		cap_note(2, "sample",
			 "no frames of Python: its threads are not as those of its version should "
			 "be");
	}
}

uint32_t python_merge(const struct python_stack *s, uint64_t *addresses, uint32_t count,
		      uint32_t most, enum stack_end end)
{
	const struct python *p = atomic_load(&python);
	uint64_t merged[KYMO_SAMPLE_DEPTH];
	uint32_t n = 0, from = 0, runs = 0, all, left_out;

	tell_wrong();
	if (!p || !s->count)
		return count;
	for (uint32_t i = 0; i < s->count; i++)
		runs += s->frames[i].code & 1;
	/* Both are known to their ends: then the innermost loop may have begun, and have no frame yet. */
	all = loops(p, addresses, count);
	left_out = s->whole && end == STACK_OUTERMOST && all > runs ? all - runs : 0;
	for (uint32_t i = 0; i < count && n < most; i++) {
		uint32_t put = 0;

		if (in_loop(p, addresses, i)) {
			if (left_out)
				left_out--;
			else
				put = put_loop(p, s, &from, merged + n, most - n);
		}
		if (!put)
			merged[n] = addresses[i];
		else if (!n)
			merged[0]--; /* as the innermost entry is told */
		n += put ? put : 1;
	}
	memcpy(addresses, merged, n * sizeof(*addresses));
	return n;
}
