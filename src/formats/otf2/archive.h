/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One OTF2 archive being written through libotf2: its files and memory, its strings, regions and
 * locations. What fails stays failed (archive_failed) and is told once.
 *
 * libotf2 holds at most STREAMS event files open, each with a buffer of 4 MiB: those of the locations
 * that were the first to have many events. The events of others wait in chunks of one temporary file
 * that is mapped (chunks.h), and go to the location's own file when the archive is closed, one
 * location after another.
 */
#ifndef FORMATS_OTF2_ARCHIVE_H
#define FORMATS_OTF2_ARCHIVE_H

#include <otf2/otf2.h>

#include "base/map.h"
#include "formats/otf2/chunks.h"
#include "stream/stream.h"

#define NO_STRING OTF2_UNDEFINED_STRING

struct archive_location {
	OTF2_EvtWriter *writer; /* NULL: it has no events so far */
	uint32_t name, group;
	uint8_t type; /* OTF2_LocationType */
	bool streams; /* its file is open: chunks go there when there are two */
};

struct archive_region {
	uint32_t name;
	uint8_t role, paradigm;
};

struct archive {
	OTF2_Archive *file;
	OTF2_GlobalDefWriter *defs;
	OTF2_ErrorCode error;
	struct chunks chunks;
	struct map strings; /* by hash: number + 1 */
	char **texts;
	uint32_t text_count, text_room;
	struct map regions; /* likewise */
	struct archive_region *region_list;
	uint32_t region_count, region_room;
	struct map contexts; /* by what the caller calls them: number + 1 */
	uint32_t context_count;
	struct map lines; /* of source: file and line: number + 1 */
	uint32_t line_count;
	struct archive_location *locations;
	uint32_t location_count, location_room;
	uint32_t streams; /* locations whose files are open */
	void *spare;      /* memory of the definitions of a location that is closed */
};

/* Makes archive `name` in `directory`, which may be there. */
kymo_status_t archive_open(struct archive *a, const char *directory, const char *name);

/* Writes the events of all locations and the definitions of these; what refers to locations comes then. */
void archive_close_events(struct archive *a);

/* Closes everything. */
void archive_close(struct archive *a);

/* Frees memory and, if it was not closed, what was open. */
void archive_release(struct archive *a);

static inline void archive_check(struct archive *a, OTF2_ErrorCode code)
{
	if (code != OTF2_SUCCESS && a->error == OTF2_SUCCESS)
		a->error = code;
}

static inline bool archive_failed(const struct archive *a)
{
	return a->error != OTF2_SUCCESS;
}

/* The number of a string, written when it is new. */
uint32_t archive_string(struct archive *a, const char *text);

bool archive_has_string(const struct archive *a, const char *text);

/*
 * The number of the region of this name, role and paradigm, written when it is new. OTF2 has no flag for where it
 * runs: its description says that.
 */
#define ON_HOST   "host"
#define ON_DEVICE "device"
uint32_t archive_region(struct archive *a, const char *name, const char *canonical,
			OTF2_RegionRole role, OTF2_Paradigm paradigm, const char *where);

/* Calling contexts by a key that tells site and parent; undefined: there is none so far. */
uint32_t archive_find_context(const struct archive *a, uint64_t key);
uint32_t archive_context(struct archive *a, uint64_t key, uint32_t region, uint32_t source_line,
			 uint32_t parent);
uint32_t archive_source_line(struct archive *a, const char *file, uint32_t line);

/* A new location; its definition is written at the end. */
uint32_t archive_location(struct archive *a, const char *name, OTF2_LocationType type,
			  uint32_t group);

OTF2_EvtWriter *archive_open_events(struct archive *a, uint32_t location);

static inline OTF2_EvtWriter *archive_events(struct archive *a, uint32_t location)
{
	OTF2_EvtWriter *writer = a->locations[location].writer;

	return __builtin_expect(writer != NULL, 1) ? writer : archive_open_events(a, location);
}

#endif
