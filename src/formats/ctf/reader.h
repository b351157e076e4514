/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of CTF 1.8: libbabeltrace2 reads the streams (source.ctf.fs) and puts them in order
 * (filter.utils.muxer), once for what is to be defined and once for records, so that memory does not grow with
 * the trace.
 *
 *	find.c     the folders of traces, and whether libbabeltrace2 can read them at all
 *	messages.c the graph, and event classes as the readers of events want them
 *	own.c      traces that Kymo wrote
 *	foreign.c  those of LTTng and THAPI
 *	read.c     the whole
 */
#ifndef FORMATS_CTF_READER_H
#define FORMATS_CTF_READER_H

#include <limits.h>

#include <babeltrace2/babeltrace.h>

#include "base/map.h"
#include "formats/ctf/tables.h"
#include "formats/format.h"
#include "stream/keyed.h"
#include "stream/unplaced.h"

enum { CTF_FOLDERS = 4096, CTF_FIELDS = 128 };

struct ctf_folders {
	char **paths;
	uint32_t count, room;
	uint32_t clocked; /* the first so many have a clock */
	uint32_t looked;  /* at entries */
};

/* What is known of an event class, once for each pass. */
struct ctf_class {
	const bt_event_class *class;
	const char *name;
	const struct ctf_table *table; /* of definitions; NULL: another one */
	int list;                      /* of `table`: which list, or -1 */
	enum ctf_kind kind;
	bool record;
	struct {
		const struct ctf_member *member; /* NULL: of none */
		uint8_t part;                    /* enum ctf_part */
	} fields[CTF_FIELDS];
	uint32_t count;
	int arguments, definition;                             /* which field; -1: none */
	uint16_t argument_at[KYMO_FIELDS_MAX], argument_count; /* members that are arguments */
	uint32_t role, op;                                     /* foreign.c's */
	uint32_t name_text;
};

enum ctf_part { CTF_PART_BASE, CTF_PART_DEVICE, CTF_PART_KIND };

struct ctf_sets {
	struct t_enum_set *all;
	uint32_t count, room;
	uint32_t *rooms; /* of their values */
};

struct ctf_foreign;

struct ctf_reader {
	const struct format_options *o;
	const char *path;
	struct trace *t;
	struct stream_sink *sink;
	struct ctf_folders folders;
	char place
		[PATH_MAX]; /* of links to files, where others beside them are left out; "": there is none */
	int hold;
	uint64_t cut;       /* files that were left out */
	struct map classes; /* bt_event_class -> struct ctf_class */
	struct ctf_sets sets;
	struct make_fields arguments;
	struct unplaced unplaced;
	struct ctf_foreign *foreign;
	uint8_t *scratch;
	size_t scratch_room;
	kymo_status_t status;
	struct ctf_end end;
	uint32_t graphs;    /* so far: classes of one are gone in the next */
	uint64_t records;   /* so far */
	bool own, defining; /* of Kymo; the first pass */
	bool complete;      /* all definitions were there */
	bool done;          /* no more messages are wanted */
	const char *damage;
};

typedef void (*ctf_take)(struct ctf_reader *r, const bt_message *m);

/* ---- find.c -------------------------------------------------------------------------------- */

/* Folders in `path` that are traces, in order of their names. False: no memory. */
bool ctf_find(const char *path, struct ctf_folders *out);
void ctf_folders_release(struct ctf_folders *f);

/* ---- cut.c --------------------------------------------------------------------------------- */

/* Leaves a file of a trace out from now on. False: it cannot. */
bool ctf_leave_file(struct ctf_reader *r, const char *file);
void ctf_release_place(struct ctf_reader *r);

/* ---- messages.c ---------------------------------------------------------------------------- */

/* Hands all messages to `take`, until r->done. */
kymo_status_t ctf_messages(struct ctf_reader *r, ctf_take take);
/*
 * The same in a process of its own, which takes nothing: the library ends a program where a check in
 * it fails, and takes what memory a damaged trace asks for.
 */
kymo_status_t ctf_try(struct ctf_reader *r);
struct ctf_class *ctf_class_get(struct ctf_reader *r, const bt_event_class *class, bool *fresh);

/* A whole number, whatever its field class is. False: it is none. */
bool ctf_number(const bt_field *f, uint64_t *out);
bool ctf_real(const bt_field *f, double *out);
const char *ctf_text(const bt_field *f); /* NULL: it is none */
const bt_field *ctf_member(const bt_field *structure, const char *name);

/* ---- own.c, foreign.c ---------------------------------------------------------------------- */

kymo_status_t ctf_read_own(struct ctf_reader *r);
kymo_status_t ctf_read_foreign(struct ctf_reader *r);

#endif
