/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads OTF2 archives, in parts:
 *
 *   read.c           the reader as a whole, and which paths are archives
 *   read_archive.c   libotf2: opening, definitions, events in order of time; a trial in a process of its own
 *   read_define.c    definitions as they stand in the archive
 *   read_model.c     what they become in the trace: processes, threads, devices, queues, ranks
 *   read_calls.c     operations and their arguments, attributes
 *   read_events.c    events of programs: regions, parameters, pauses
 *   read_frames.c    records of regions
 *   read_transfers.c transfers of memory, by RMA events
 *   read_mpi.c       messages, communicators
 *   read_metrics.c   metrics
 *   read_samples.c   samples, call paths; the archive of samples that Kymo writes beside the other
 *   read_notes.c     markers, as notes
 *   read_others.c    events that are counted alone
 *
 * Events are read twice. The first time the same functions run without handing on anything, and note what
 * records will refer to: definitions must be complete before the first record. The global reader of libotf2
 * gives events in order of time, so that memory holds what is open alone, and the calls that work may be of.
 */
#ifndef FORMATS_OTF2_READER_H
#define FORMATS_OTF2_READER_H

#include <otf2/otf2.h>

#include "base/map.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/otf2/otf2.h"
#include "record/fields.h"
#include "stream/keyed.h"
#include "stream/make.h"
#include "stream/unplaced.h"

enum {
	ARGUMENTS_MAX = 24, /* of an operation */
	CROSSING_MAX = 256  /* frames looked at for one that is left before those in it */
};

/* Behind Kymo's own attributes those of Score-P. */
enum {
#define X(name, text, type, description) +1
	KNOWN_CUDA_STREAM = 0 OTF2_ATTRIBUTES(X),
#undef X
	KNOWN_ATTRIBUTES
};

/* ---- what the archive defines ---------------------------------------------------------------- */

struct region {
	const char *name, *file;
	uint32_t text;   /* of ranges: the name as a string of the trace */
	uint32_t callee; /* place + 1; 0: no call of it was met */
	OTF2_RegionRole role;
	OTF2_Paradigm paradigm;
};

struct callee_field {
	uint64_t key; /* of the attribute or parameter */
	const char *name;
	uint8_t kind;
};

struct callee { /* an operation; regions of one name and paradigm are one */
	const char *domain, *name;
	uint32_t op, flags, field_count;
	struct callee_field *fields;
};

struct node { /* of the system tree */
	const char *name, *class;
	uint32_t parent; /* as the archive calls it */
	bool device;
	const char *type, *title, *vendor, *driver, *properties;
	uint8_t uuid[16];
	bool has_uuid;
};

struct group_of_locations {
	uint32_t ref, node, creator;
	const char *name;
	uint8_t type;
	uint32_t process, agent, context; /* of the trace */
	uint64_t pid, lost, twin;         /* twin: of samples: that of the other archive + 1 */
	uint32_t threads;
};

struct argument {
	uint32_t field;
	uint64_t value;
	const char *text;
	const char *name; /* of ranges, which have no fields */
	uint8_t kind;
};

/* What attributes of an event say that have a meaning of their own. */
struct said {
	uint64_t has;
	uint64_t of[KNOWN_ATTRIBUTES];
};

enum frame_kind {
	FRAME_SKIP,
	FRAME_CALL,
	FRAME_RANGE,
	FRAME_MARK,
	FRAME_WAIT,
	FRAME_KERNEL,
	FRAME_COPY,
	FRAME_BARRIER
};

/* A region that is open on a location. */
struct frame {
	uint32_t region; /* place */
	uint8_t kind;
	bool transfer;
	bool put;
	int64_t start, scope;
	uint64_t id, bytes, site; /* id: of calls; site: hash of the call path, of Score-P */
	uint32_t remote;          /* location + 1 of a transfer */
	uint32_t first_argument;
	uint32_t sizes[6]; /* of a kernel: blocks of the grid, threads of a block */
	struct rec_launch launch;
	struct said said;
};

struct sent { /* a message that is sent until its call returns */
	uint32_t depth;
	struct rec_comm record;
};

struct place {              /* a location */
	uint64_t ref, twin; /* twin: as of groups */
	const char *name;
	uint8_t type;
	uint32_t group; /* place + 1 */
	uint32_t process, thread, queue, agent;
	const char *domain;
	struct frame *frames;
	uint32_t depth, frame_room;
	struct argument *arguments;
	uint32_t argument_count, argument_room;
	struct sent *sends;
	uint32_t send_count, send_room;
	int64_t off;        /* recording is off since; 0: on */
	int64_t collective; /* when the collective under way began; 0: none */
	uint64_t site;      /* of the region to be entered */
};

struct members { /* a group */
	const uint64_t *list;
	uint32_t count;
	uint8_t type, paradigm;
	struct map ranks; /* process: place in the group + 1 */
	bool ranked;
	const struct t_ranks *runs;
	uint32_t run_count;
};

struct comm {
	const char *name;
	uint32_t group, remote, parent; /* places + 1 */
	uint32_t parent_ref;
	bool inter;
};

struct metric_member {
	const char *name, *description, *unit;
	uint8_t mode, type;
	double factor;
};

struct metric_of {               /* class, or instance of one */
	const uint32_t *members; /* places + 1 */
	uint8_t count;
	uint32_t of; /* instance: its class as the archive calls it */
	bool instance;
	uint8_t scope_kind;
	uint64_t scope;
};

struct named { /* attribute, parameter */
	const char *name;
	uint8_t known; /* + 1 */
};

/* ---- what is under way ----------------------------------------------------------------------- */

/* Found again by a key: the oldest first. */
struct waiting {
	struct map heads; /* key: place + 1 */
	struct begun *items;
	uint32_t count, room, unused; /* unused: place + 1 */
};

struct begun {
	uint64_t key;
	uint32_t next, last; /* + 1; last: of the first alone */
	int64_t start, scope;
	uint64_t call, sent, received, request;
	uint32_t process, thread, place; /* place: location */
	uint32_t communicator, remote;   /* remote: location + 1 */
	int32_t peer, tag;
	uint8_t op;
	bool put;
};

struct submitted { /* a call that work may be of */
	uint64_t id;
	uint32_t process, thread, region;
	int64_t start, scope;
};

#define TABLE(type, name)                                                                          \
	struct type *name;                                                                         \
	uint32_t name##_count, name##_room;                                                        \
	struct map name##_at
struct reader {
	const struct format_options *o;
	struct stream_sink *sink; /* NULL: the first time */
	kymo_status_t status;
	const char *path;
	char *anchor;
	struct trace *t;
	struct keyed keyed;
	struct make_activities model;
	struct make_fields fields;
	struct unplaced unplaced, defined; /* defined: of definitions alone */
	struct reader *main;               /* whose trace it is: itself, unless it reads samples */
	struct reader *samples;            /* that lie beside it, or NULL */
	OTF2_Reader *archive;
	bool kymo;    /* Kymo wrote it */
	bool emptied; /* out of memory */
	char fault[200];
	OTF2_ErrorCode code;

	TABLE(text_in, texts);
	TABLE(region, regions);
	TABLE(node, nodes);
	TABLE(group_of_locations, groups);
	TABLE(place, places);
	TABLE(members, lists);
	TABLE(comm, comms);
	TABLE(comm, windows); /* group: of its communicator, parent: that + 1 */
	TABLE(named, attributes);
	TABLE(named, parameters);
	TABLE(metric_member, members);
	TABLE(metric_of, metrics);
	TABLE(context_in, contexts);
	TABLE(source_in, sources);
	TABLE(generator, generators);
	TABLE(note_in, notes);
	TABLE(callee, callees);     /* by hash of domain and name */
	struct callee no_callee;    /* where there is no memory */
	uint32_t locations_of[256]; /* by paradigm: list of locations + 1 */
	const char *paradigms[256];
	struct map communicators; /* process and communicator: index */
	struct map last_values;   /* of metrics that add up: bits of the value + 1 */
	struct map paths;         /* process and calling context: site, stack + 1 */
	struct map codes;         /* process, calling context, offset: index */
	uint64_t frames;          /* of stacks */
	struct text payload;
	struct map lanes; /* group and name: place + 1, of Kymo's */

	uint64_t resolution, offset, length, realtime;
	uint64_t first; /* ticks */
	bool any, described;
	int64_t now, begin, end;
	uint64_t events, total;

	struct waiting transfers, requests, launches;
	struct submitted *calls;
	uint32_t call_count, call_room;
	struct map call_at; /* process and id: place + 1 */
	uint64_t *largest;  /* by process: number of a call */
	uint64_t *next;
	int64_t *scopes; /* by process: of ranges */
	struct map live; /* process and address: allocation */
	uint64_t allocations;
	uint32_t opens, unfinished; /* met so far */
};

struct text_in {
	const char *s;
};

struct context_in {      /* a calling context */
	uint32_t region; /* place + 1 */
	uint32_t parent; /* as the archive calls it */
	uint32_t source; /* place + 1 */
};

struct source_in {
	const char *file;
	uint32_t line;
};

struct generator {
	int64_t period; /* ns; 0: it counts events */
};

struct note_in { /* a kind of markers */
	const char *part;
	uint32_t severity;
};

/* ---- read_archive.c -------------------------------------------------------------------------- */

/* libotf2 survives reading it; else an error was told. */
bool otf2r_try(struct reader *r);
/* Opens the archive and reads its definitions; `callbacks` NULL: as they are known already. */
bool otf2r_open(struct reader *r, OTF2_GlobalDefReaderCallbacks *callbacks);
void otf2r_events(struct reader *r, OTF2_GlobalEvtReaderCallbacks *callbacks);
void otf2r_close(struct reader *r);

/* ---- read_define.c --------------------------------------------------------------------------- */

OTF2_GlobalDefReaderCallbacks *otf2r_define(void);
const char *otf2r_text(const struct reader *r, uint32_t ref);
/* Place + 1 of what the archive calls so; 0: it does not define it. */
static inline uint32_t otf2r_at(const struct map *at, uint64_t ref)
{
	return (uint32_t)map_get(at, ref);
}
void otf2r_release_definitions(struct reader *r);

/* ---- read_model.c ---------------------------------------------------------------------------- */

bool otf2r_model(struct reader *r);
bool otf2r_complete(struct reader *r);
const char *otf2r_domain(const struct reader *r, OTF2_Paradigm paradigm, const char *name);
/* Location + 1 of a rank in a group of the communicator; 0: there is none. */
uint32_t otf2r_rank(const struct reader *r, uint32_t list, uint32_t rank, uint32_t self);

/* ---- read_calls.c ---------------------------------------------------------------------------- */

struct callee *otf2r_callee(struct reader *r, uint32_t region); /* region: place */
bool otf2r_define_ops(struct reader *r);
void otf2r_argument(struct reader *r, struct place *p, uint64_t key, const char *name, uint8_t kind,
		    uint64_t value, const char *text);
void otf2r_attributes(struct reader *r, struct place *p, OTF2_AttributeList *list,
		      struct said *said);
const struct wire_record *otf2r_arguments(struct reader *r, const struct place *p,
					  const struct frame *f);
void otf2r_payload(struct reader *r, const struct place *p, const struct frame *f,
		   struct rec_marker *m);
static inline bool said_has(const struct said *s, unsigned attribute)
{
	return s->has >> attribute & 1;
}
static inline uint64_t said_of(const struct said *s, unsigned attribute)
{
	return said_has(s, attribute) ? s->of[attribute] : 0;
}

/* ---- read_events.c --------------------------------------------------------------------------- */

OTF2_GlobalEvtReaderCallbacks *otf2r_listen(void);
/* The location and the time of an event; NULL: it cannot be taken. */
struct place *otf2r_event(struct reader *r, uint64_t location, uint64_t ticks);
int64_t otf2r_time(const struct reader *r, uint64_t ticks);
void otf2r_finish(struct reader *r);
void otf2r_start_over(struct reader *r);

/* ---- read_frames.c --------------------------------------------------------------------------- */

void otf2r_enter(struct reader *r, struct place *p, uint32_t region, OTF2_AttributeList *list);
void otf2r_leave(struct reader *r, struct place *p, uint32_t region, OTF2_AttributeList *list);
void otf2r_left_open(struct reader *r, struct place *p);
/* The innermost call, and the scope of the innermost range, that are open. */
struct frame *otf2r_call(const struct place *p);
int64_t otf2r_scope(const struct place *p);
struct rec otf2r_base(const struct reader *r, const struct place *p, int64_t start);
/* What becomes of a record; `function` is of the sink. */
#define OTF2R_EMIT(r, function, record)                                                            \
	do {                                                                                       \
		if ((r)->sink && (r)->status == KYMO_OK)                                           \
			(r)->status = (r)->sink->function((r)->sink, (record));                    \
	} while (0)
void otf2r_device(struct reader *r, const struct place *p, const struct frame *f, struct rec *base,
		  struct rec_device *d);

/* ---- read_transfers.c ------------------------------------------------------------------------ */

void otf2r_listen_transfers(OTF2_GlobalEvtReaderCallbacks *c);
void otf2r_copy(struct reader *r, struct place *p, const struct frame *f);
struct begun *otf2r_wait(struct reader *r, struct waiting *w, uint64_t key);
/* The oldest one; it stays valid until the next is added. NULL: none. */
struct begun *otf2r_take(struct waiting *w, uint64_t key);
void otf2r_release_waiting(struct waiting *w);

/* ---- read_mpi.c ------------------------------------------------------------------------------ */

void otf2r_listen_mpi(OTF2_GlobalEvtReaderCallbacks *c);
void otf2r_one_sided(struct reader *r, const struct begun *x);
uint32_t otf2r_communicator(struct reader *r, uint32_t process, uint32_t comm, uint32_t window);
int32_t otf2r_peer(const struct reader *r, uint32_t location);
void otf2r_left_messages(struct reader *r);
/* Hands on what was sent in the innermost region, which is left. */
void otf2r_sent(struct reader *r, struct place *p);

/* ---- read_metrics.c -------------------------------------------------------------------------- */

void otf2r_listen_metrics(OTF2_GlobalEvtReaderCallbacks *c);

/* ---- read_samples.c -------------------------------------------------------------------------- */

struct path {
	uint32_t site, stack; /* site: the innermost */
};
struct path otf2r_path(struct reader *r, uint32_t process, uint32_t context);
void otf2r_listen_samples(OTF2_GlobalEvtReaderCallbacks *c);
/* Those in the archive beside it, if there is one. */
kymo_status_t otf2r_collect_samples(struct reader *r);
void otf2r_hand_on_samples(struct reader *r);

/* ---- read_notes.c, read_others.c ------------------------------------------------------------- */

void otf2r_markers(struct reader *r);
void otf2r_listen_others(OTF2_GlobalEvtReaderCallbacks *c);

/* ---- read.c ---------------------------------------------------------------------------------- */

bool otf2r_is_anchor(const char *path);
bool otf2_probe(const char *path);
kymo_status_t otf2_read(const char *path, const struct stream_filter *filter, bool ordered,
			struct stream_sink *sink, const struct format_options *o);

#endif
