/* SPDX-License-Identifier: Apache-2.0 */
/* One archive; see archive.h. */
#include "formats/otf2/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/plain.h"
#include "base/text.h"
#include "base/vec.h"

#define STREAMS    8u
#define DEFS_CHUNK (4u << 20)

/* ---- callbacks of the library -------------------------------------------------------------- */

static OTF2_FlushType pre_flush(void *data, OTF2_FileType type, OTF2_LocationRef location,
				void *caller, bool final)
{
	(void)data, (void)type, (void)location, (void)caller, (void) final;
	return OTF2_FLUSH;
}

/* No more memory: the library then writes what it has. Few locations may, because that leaves each file
 * open. */
static bool streams(struct archive *a, OTF2_LocationRef location, const struct chunk *list)
{
	struct archive_location *l = location < a->location_count ? &a->locations[location] : NULL;

	if (!l || !list || !list->next)
		return false;
	if (!l->streams && a->streams < STREAMS) {
		l->streams = true;
		a->streams++;
	}
	return l->streams;
}

/*
 * Definitions are flushed as they fill their one chunk, which is larger: they take plain memory. The library clears
 * it, so that of one location is used again for the next: with thousands of locations new pages take most of the time.
 */
static void *get_memory(void *data, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
			uint64_t bytes)
{
	struct archive *a = data;

	if (type == OTF2_FILETYPE_EVENTS && bytes == CHUNK_BYTES) {
		if (streams(a, location, *buffer))
			return NULL;
		return chunks_get(&a->chunks, (struct chunk **)buffer);
	}
	if (*buffer)
		return NULL;
	*buffer = bytes == DEFS_CHUNK && a->spare ? a->spare : malloc(bytes);
	if (*buffer == a->spare)
		a->spare = NULL;
	return *buffer;
}

static void free_memory(void *data, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
			bool final)
{
	struct archive *a = data;

	(void)location, (void) final;
	if (type == OTF2_FILETYPE_EVENTS) {
		chunks_put(&a->chunks, (struct chunk **)buffer);
		return;
	}
	if (type == OTF2_FILETYPE_LOCAL_DEFS && !a->spare)
		a->spare = *buffer;
	else
		free(*buffer);
	*buffer = NULL;
}

/* The library prints by itself otherwise; the caller is told by the code. */
static OTF2_ErrorCode be_quiet(void *data, const char *file, uint64_t line, const char *function,
			       OTF2_ErrorCode code, const char *format, va_list values)
{
	(void)data, (void)file, (void)line, (void)function, (void)format, (void)values;
	return code;
}

/* ---- life ---------------------------------------------------------------------------------- */

kymo_status_t archive_open(struct archive *a, const char *directory, const char *name)
{
	static const OTF2_FlushCallbacks flush = {pre_flush, NULL};
	static const OTF2_MemoryCallbacks memory = {get_memory, free_memory};

	memset(a, 0, sizeof(*a));
	OTF2_Error_RegisterCallback(be_quiet, NULL);
	if (!chunks_init(&a->chunks, directory))
		return KYMO_ERROR_SYSTEM;
	a->file = OTF2_Archive_Open(directory, name, OTF2_FILEMODE_WRITE, CHUNK_BYTES, DEFS_CHUNK,
				    OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!a->file)
		return KYMO_ERROR_SYSTEM;
	archive_check(a, OTF2_Archive_SetSerialCollectiveCallbacks(a->file));
	archive_check(a, OTF2_Archive_SetFlushCallbacks(a->file, &flush, NULL));
	archive_check(a, OTF2_Archive_SetMemoryCallbacks(a->file, &memory, a));
	archive_check(a, OTF2_Archive_OpenEvtFiles(a->file));
	a->defs = OTF2_Archive_GetGlobalDefWriter(a->file);
	if (!a->defs || archive_failed(a))
		return KYMO_ERROR_SYSTEM;
	archive_string(a, "");
	return KYMO_OK;
}

static uint64_t close_events(struct archive *a, struct archive_location *l)
{
	uint64_t events = 0;

	if (!l->writer)
		return 0;
	archive_check(a, OTF2_EvtWriter_GetNumberOfEvents(l->writer, &events));
	archive_check(a, OTF2_Archive_CloseEvtWriter(a->file, l->writer));
	l->writer = NULL;
	return events;
}

/* Readers want a file of definitions of each location, though ours are all global. */
static void close_definitions(struct archive *a)
{
	archive_check(a, OTF2_Archive_OpenDefFiles(a->file));
	for (uint32_t i = 0; i < a->location_count; i++) {
		OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(a->file, i);

		if (!writer)
			archive_check(a, OTF2_ERROR_FILE_CAN_NOT_OPEN);
		else
			archive_check(a, OTF2_Archive_CloseDefWriter(a->file, writer));
	}
	archive_check(a, OTF2_Archive_CloseDefFiles(a->file));
}

void archive_close_events(struct archive *a)
{
	for (uint32_t i = 0; i < a->location_count; i++) {
		struct archive_location *l = &a->locations[i];
		uint64_t events;

		archive_events(a, i);
		events = close_events(a, l);
		archive_check(a, OTF2_GlobalDefWriter_WriteLocation(a->defs, i, l->name, l->type,
								    events, l->group));
	}
	archive_check(a, OTF2_Archive_CloseEvtFiles(a->file));
}

void archive_close(struct archive *a)
{
	close_definitions(a);
	archive_check(a, OTF2_Archive_CloseGlobalDefWriter(a->file, a->defs));
	archive_check(a, OTF2_Archive_Close(a->file));
	a->file = NULL;
}

void archive_release(struct archive *a)
{
	if (a->file)
		OTF2_Archive_Close(a->file);
	for (uint32_t i = 0; i < a->text_count; i++)
		free(a->texts[i]);
	free(a->texts);
	free(a->region_list);
	free(a->locations);
	free(a->spare);
	map_release(&a->strings);
	map_release(&a->regions);
	map_release(&a->contexts);
	map_release(&a->lines);
	chunks_release(&a->chunks);
	memset(a, 0, sizeof(*a));
	a->chunks.fd = -1;
}

/* ---- definitions --------------------------------------------------------------------------- */

/* Strings of OTF2 are UTF-8, and readers fail at others: of bytes that are none their number is shown. */
static uint32_t sound_string(struct archive *a, const char *text)
{
	struct text sound = {0};
	uint32_t number = 0, code;
	char escape[PLAIN_ESCAPE_MAX];

	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = plain_next(text, left, &code);
		if (code & PLAIN_BAD)
			text_add_bytes(&sound, escape, plain_escape(code, escape));
		else
			text_add_bytes(&sound, text, n);
	}
	if (sound.failed)
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
	else
		number = archive_string(a, sound.s);
	text_release(&sound);
	return number;
}

static bool sound_text(const char *text)
{
	size_t left = strlen(text), n;
	uint32_t code = 0;

	if (plain_ascii(text, left))
		return true;
	for (; left; text += n, left -= n) {
		n = plain_next(text, left, &code);
		if (code & PLAIN_BAD)
			return false;
	}
	return true;
}

uint32_t archive_string(struct archive *a, const char *text)
{
	uint64_t hash = hash_string(text), i;

	map_each(&a->strings, hash, i)
		if (strcmp(a->texts[i - 1], text) == 0)
			return (uint32_t)(i - 1);
	if (!sound_text(text))
		return sound_string(a, text);
	if (!vec_reserve(&a->texts, &a->text_room, a->text_count, 1) ||
	    !(a->texts[a->text_count] = strdup(text)) ||
	    !map_add(&a->strings, hash, a->text_count + 1u)) {
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return 0;
	}
	archive_check(a, OTF2_GlobalDefWriter_WriteString(a->defs, a->text_count, text));
	return a->text_count++;
}

bool archive_has_string(const struct archive *a, const char *text)
{
	uint64_t hash = hash_string(text), i;

	map_each(&a->strings, hash, i)
		if (strcmp(a->texts[i - 1], text) == 0)
			return true;
	return false;
}

uint32_t archive_find_context(const struct archive *a, uint64_t key)
{
	uint64_t place = map_get(&a->contexts, key);

	return place ? (uint32_t)(place - 1) : OTF2_UNDEFINED_CALLING_CONTEXT;
}

uint32_t archive_context(struct archive *a, uint64_t key, uint32_t region, uint32_t source_line,
			 uint32_t parent)
{
	archive_check(a, OTF2_GlobalDefWriter_WriteCallingContext(a->defs, a->context_count, region,
								  source_line, parent));
	if (!map_set(&a->contexts, key, a->context_count + 1u))
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
	return a->context_count++;
}

uint32_t archive_source_line(struct archive *a, const char *file, uint32_t line)
{
	uint32_t string = archive_string(a, file);
	uint64_t key = (uint64_t)string << 32 | line, place = map_get(&a->lines, key + 1);

	if (place)
		return (uint32_t)(place - 1);
	archive_check(a, OTF2_GlobalDefWriter_WriteSourceCodeLocation(a->defs, a->line_count,
								      string, line));
	if (!map_set(&a->lines, key + 1, a->line_count + 1u))
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
	return a->line_count++;
}

uint32_t archive_region(struct archive *a, const char *name, const char *canonical,
			OTF2_RegionRole role, OTF2_Paradigm paradigm, const char *where)
{
	struct archive_region r = {archive_string(a, name), role, paradigm};
	uint64_t hash = hash_u64((uint64_t)r.name << 16 | (uint64_t)role << 8 | paradigm), i;

	map_each(&a->regions, hash, i) {
		const struct archive_region *o = &a->region_list[i - 1];

		if (o->name == r.name && o->role == r.role && o->paradigm == r.paradigm)
			return (uint32_t)(i - 1);
	}
	if (!vec_reserve(&a->region_list, &a->region_room, a->region_count, 1) ||
	    !map_add(&a->regions, hash, a->region_count + 1u)) {
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return 0;
	}
	a->region_list[a->region_count] = r;
	archive_check(a, OTF2_GlobalDefWriter_WriteRegion(a->defs, a->region_count, r.name,
							  canonical ? archive_string(a, canonical)
								    : r.name,
							  archive_string(a, where), role, paradigm,
							  OTF2_REGION_FLAG_NONE, NO_STRING, 0, 0));
	return a->region_count++;
}

uint32_t archive_location(struct archive *a, const char *name, OTF2_LocationType type,
			  uint32_t group)
{
	if (!vec_reserve(&a->locations, &a->location_room, a->location_count, 1)) {
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return 0;
	}
	a->locations[a->location_count] = (struct archive_location){
		.name = archive_string(a, name), .group = group, .type = type};
	return a->location_count++;
}

OTF2_EvtWriter *archive_open_events(struct archive *a, uint32_t location)
{
	OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(a->file, location);

	if (!writer)
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
	a->locations[location].writer = writer;
	return writer;
}
