/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a format offers. A format is a folder src/formats/<name>/ and one line in formats.list; the
 * registry (format_table) is generated from that list.
 */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include "stream/stream.h"

/* A selection, pushed down into readers; NULL: all. stream/filter.h. */
struct stream_filter;

struct format_options {
	const char *output; /* file or directory; NULL: standard output where it makes sense */
	const char
		*named; /* what that will be called where it is written beside its place, or NULL */
	const char *variant; /* what follows ':' behind the format's name, or NULL */
	bool force;          /* overwrite */
	bool entry_exit;     /* text: calls as entry and exit lines instead of intervals */
	bool device_only;    /* leave host calls out */
	bool by_device;      /* timelines: the work of all queues of a device is one row */
	bool no_args;        /* leave out the arguments of calls and the like */
	/* Several files in a folder, each of so much time or about so many bytes; both 0: one. */
	uint64_t split_ns, split_bytes;
	/* What an analysis is of; NULL: everything. Writers and read() below do not look at it. */
	const struct stream_filter *filter;
	uint32_t depth; /* of paths of scopes, for an analysis; 0: all */
	struct stream_log *log;
	/* Of readers that free their trace: it is left here instead, for trace_free(); NULL: it is not. */
	struct trace **keep;
	/* Progress in [0,1]; may be NULL. */
	void (*progress)(void *data, double done);
	void *progress_data;
};

/* How much of a kind of record a writer's output has. */
enum format_keeps {
	FORMAT_LEAVES,     /* nothing */
	FORMAT_KEEPS_PART, /* that there was one, but not all of its values */
	FORMAT_KEEPS_ALL
};

/*
 * What a writer does with a kind of record: a domain of the record model, or "call". Where it keeps less than all,
 * it tells at the end how many it left out (stream/unplaced.h): `told` has the words, separated by "; "; NULL: the
 * kind's name. `why` is for people: what of the format forbids more, with the section of its description.
 */
struct format_kind {
	const char *kind; /* "*": all that are not there */
	enum format_keeps keeps;
	const char *told, *why;
};

#define FORMAT_KEEPS_EVERYTHING                                                                    \
	((const struct format_kind[]){{"*", FORMAT_KEEPS_ALL, NULL, NULL},                         \
				      {NULL, FORMAT_LEAVES, NULL, NULL}})

struct format {
	const char *name;    /* "perfetto" */
	const char *summary; /* one line for `kymo list formats` */
	const char *suffix;  /* of the file it writes by default, ".pftrace"; "" for directories */
	bool needs_order;    /* the writer wants records sorted by start */
	/* Of writers that have variants: which, for people, and whether this is one, and makes a folder. */
	const char *variants;
	bool (*variant)(const char *variant, bool *folder);
	const struct format_kind *kinds; /* of writers, up to one whose kind is NULL */
	const char *variant_suffix; /* of a variant that is one file, where others make a folder */
	bool has_rows;              /* of writers: they heed by_device */
	bool splits;                /* of writers: they heed split_ns and split_bytes */
	bool leaves_args;           /* of writers: they heed no_args */
	/* True when `path` looks like this format. NULL: cannot be read. */
	bool (*probe)(const char *path);
	/* Reads `path` into `sink`. NULL: cannot be read. */
	kymo_status_t (*read)(const char *path, const struct stream_filter *filter, bool ordered,
			      struct stream_sink *sink, const struct format_options *o);
	bool reads_ordered; /* read() heeds `filter` and `ordered`: commands that pass records on need no trace */
	/*
	 * Makes a writer; *sink is freed by sink_free(), which comes after the reader has freed the trace: what it
	 * needs of that, as lengths of lists, the sink keeps itself. NULL: cannot be written.
	 */
	kymo_status_t (*write)(const struct format_options *o, struct stream_sink **sink);
	void (*sink_free)(struct stream_sink *sink);
};

/* NULL-terminated, in order of formats.list. */
extern const struct format *const format_table[];

const struct format *format_find(const char *name);

/* What the writer does with a kind of record; never NULL. */
const struct format_kind *format_kind(const struct format *f, const char *kind);
/* The kinds in the order of the record model; NULL at the end. */
const char *const *format_kinds(void);

#endif
