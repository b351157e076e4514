/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that samples met: each gets an id and, where its code has lines (-lineinfo), file and
 * line. CUPTI tells these from the module's binary, which is kept while the process runs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/cuda/profile.h"
#include "core/sample/device.h"

#define MODULES_BYTES (256u << 20) /* of all modules with lines */

struct module {
	struct module *next;
	uint64_t crc;
	bool told; /* it is in the trace; of the thread that hands samples over */
	size_t bytes;
	uint8_t cubin[];
};

/* Never freed, and new ones come first: a reader needs no lock. */
static struct module *_Atomic modules;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static size_t kept;

struct place {
	uint64_t crc, offset, function; /* a hash of its name */
	uint32_t id;
};
static struct place *list;
static uint32_t count, room;
static struct map places; /* by hash: in the list, plus 1 */

/* ---- modules ---- */

static bool has_lines(const void *cubin, size_t bytes)
{
	static const char section[] = ".debug_line";

	return memmem(cubin, bytes, section, sizeof(section)) != NULL;
}

static struct module *module_of(uint64_t crc)
{
	struct module *m = atomic_load(&modules);

	while (m && m->crc != crc)
		m = m->next;
	return m;
}

/* Caller holds the lock. */
static void add_module(uint64_t crc, const void *cubin, size_t bytes)
{
	struct module *m;

	if (module_of(crc))
		return;
	m = kept + bytes <= MODULES_BYTES ? malloc(sizeof(*m) + bytes) : NULL;
	if (!m) {
		cap_note(1, "cuda",
			 "samples in a module of %zu bytes have no lines: %u MiB of code "
			 "are kept at most",
			 bytes, MODULES_BYTES >> 20);
		return;
	}
	kept += bytes;
	m->crc = crc;
	m->told = false;
	m->bytes = bytes;
	memcpy(m->cubin, cubin, bytes);
	m->next = atomic_load(&modules);
	atomic_store(&modules, m);
}

void cuda_pc_module(const void *cubin, size_t bytes)
{
	struct cupti_crc c = {CUPTI_SIZE(cupti_crc, crc), bytes, cubin, 0};

	if (!cubin || !bytes || !has_lines(cubin, bytes) || cupti_pc.GetCubinCrc(&c) != CUPTI_OK)
		return;
	pthread_mutex_lock(&adding);
	add_module(c.crc, cubin, bytes);
	pthread_mutex_unlock(&adding);
}

/* ---- instructions ---- */

/* "folder/file"; to be freed. */
static char *path_of(const struct cupti_source *s)
{
	const bool whole = !s->folder || !*s->folder || s->file[0] == '/';
	size_t n = whole ? 0 : strlen(s->folder) + 1;
	char *path = malloc(n + strlen(s->file) + 1);

	if (!path)
		return NULL;
	if (!whole) {
		memcpy(path, s->folder, n - 1);
		path[n - 1] = '/';
	}
	strcpy(path + n, s->file);
	return path;
}

/* In the trace, for who wants to see its instructions. */
static void keep_module(struct module *m)
{
	char name[32];

	if (m->told)
		return;
	m->told = true;
	snprintf(name, sizeof(name), "cubin %llx", (unsigned long long)m->crc);
	cap_define_blob(name, m->cubin, m->bytes);
}

/* The line of an instruction, with its file in *path, to be freed. 0: not known. */
static uint32_t line_of(const struct cupti_pc *pc, char **path)
{
	struct module *m = module_of(pc->crc);
	struct cupti_source s = {.size = CUPTI_SIZE(cupti_source, folder),
				 .function = pc->function,
				 .offset = pc->offset};
	uint32_t line = 0;

	if (!m)
		return 0;
	keep_module(m);
	s.cubin = m->cubin;
	s.bytes = m->bytes;
	if (cupti_pc.GetSassToSourceCorrelation(&s) == CUPTI_OK && s.file && s.line) {
		*path = path_of(&s);
		line = *path ? s.line : 0;
	}
	free(s.file);
	free(s.folder);
	return line;
}

static uint32_t define_code(const struct cupti_pc *pc)
{
	char *path = NULL;
	kymo_device_code_t code = {.size = sizeof(code),
				   .function = pc->function,
				   .module = pc->crc,
				   .offset = pc->offset};
	uint32_t id;

	code.line = line_of(pc, &path);
	code.file = code.line ? path : "";
	id = cap_device_code(&code);
	free(path);
	return id;
}

uint32_t cuda_pc_code(const struct cupti_pc *pc)
{
	struct place key = {
		.crc = pc->crc, .offset = pc->offset, .function = hash_string(pc->function)};
	uint64_t hash = hash_mix(hash_mix(hash_u64(key.crc), key.function), key.offset), i;

	map_each(&places, hash, i) {
		const struct place *p = &list[i - 1];

		if (p->crc == key.crc && p->offset == key.offset && p->function == key.function)
			return p->id;
	}
	if (!vec_reserve(&list, &room, count, 1))
		return 0;
	key.id = define_code(pc);
	if (!key.id || !map_add(&places, hash, count + 1))
		return key.id;
	list[count++] = key;
	return key.id;
}
