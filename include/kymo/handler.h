/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: plug-ins that look at what instrumented kernels did, access by access and block by block, and report tables.
 *
 * A handler is a shared library that exports kymo_handler(). `kymo run --handlers NAME` finds it as libkymo-handler-NAME.so in the
 * folders of KYMO_HANDLER_PATH and beside libkymo.so.1; --handlers PATH.so names it. docs/handlers.md has an example.
 *
 * Threads: all functions of a handler are called on the thread of the program that launches, between the runs of the instrumented
 * kernel: one launch at a time, never two functions at once. The program waits for them, and so do launches of other threads.
 * Kymo may be on a small stack of the program's.
 * Ownership: what a handler is given is Kymo's and valid during the call, but for the launch and its arrays, which live from
 * init() to finish(). What it makes it frees in finish().
 * Units: bytes; ticks of the device's clock where a record says a clock.
 * Errors: a handler that refuses is left out of this launch, a note of the trace names it, and all else goes on. It must not print, not exit,
 * not throw, not call the traced runtime, and leave errno and signals alone.
 * What is in an array never grows within a version. Since 0.1.
 */
#ifndef KYMO_HANDLER_H
#define KYMO_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_HANDLER_VERSION 1u
#define KYMO_HANDLER_COLUMNS 24u /* of a table, at most */
#define KYMO_HANDLER_TEXT    96u /* bytes that are kept of a text in a row */

/* What a site is. */
typedef enum kymo_site_kind {
	KYMO_SITE_NONE, /* nothing is recorded of it */
	KYMO_SITE_LOAD,
	KYMO_SITE_STORE,
	KYMO_SITE_LOAD_STORE, /* one access that does both */
	KYMO_SITE_ATOMIC,
	KYMO_SITE_BLOCK,        /* a block of the source begins */
	KYMO_SITE_REGION_BEGIN, /* KYMO_REGION_BEGIN() of kymo/kernel.h */
	KYMO_SITE_REGION_END,
	KYMO_SITE_END /* the work item's last: it leaves the kernel */
} kymo_site_kind_t;

typedef enum kymo_space {
	KYMO_SPACE_OTHER,
	KYMO_SPACE_GLOBAL,
	KYMO_SPACE_CONSTANT,
	KYMO_SPACE_LOCAL,
	KYMO_SPACE_PRIVATE,
	KYMO_SPACE_GENERIC, /* which one it is shows at run time alone */
	KYMO_SPACE_IMAGE    /* its accesses have no address: 0 */
} kymo_space_t;

/* A place in the source of the kernel, or of what it calls, of which there are records. */
typedef struct kymo_handler_site {
	uint32_t place; /* its id in the trace; 0: it has none, or did not run */
	uint32_t kind;  /* kymo_site_kind_t */
	uint32_t space; /* kymo_space_t; of accesses */
	uint32_t bytes; /* of one access of a work item */
	uint32_t block; /* the block that it is part of: index among `sites`; UINT32_MAX: none */
	uint32_t line, column;
	const char *function;
	const char *what; /* "load"; of blocks "loop"; of regions their name */
	const char *file; /* "": the program's own text */
} kymo_handler_site_t;

/* What a work item did. */
typedef struct kymo_access {
	uint32_t site;       /* index among `sites` */
	uint32_t group;      /* linear id */
	uint32_t item;       /* linear id in its group */
	uint32_t occurrence; /* how often the item was at the site before */
	uint64_t address;    /* of accesses: bytes; any origin that is the same for all */
	uint64_t clock;      /* of blocks, regions and ends: ticks; 0: not told */
} kymo_access_t;

/* Memory that the kernel can reach. */
typedef struct kymo_handler_buffer {
	uint64_t base; /* address of its first byte, as in records; 0: it is not known */
	uint64_t bytes;
	uint64_t id;       /* of the allocation in the trace; 0: unknown */
	uint32_t argument; /* of the kernel, from 0; UINT32_MAX: none */
	const char *name;  /* of the argument or variable; "": unknown */
} kymo_handler_buffer_t;

/* A device in lockstep as whose accesses are to be looked at. */
typedef struct kymo_lanes_profile {
	uint32_t warp; /* lanes, at most 64 */
	uint32_t line; /* bytes of global memory that come at once */
	uint32_t bank; /* bytes of a bank of local memory */
	uint32_t banks;
	/* Lanes whose local accesses of up to 4, up to 8, and of more bytes are made at once. */
	uint32_t together[3];
} kymo_lanes_profile_t;

typedef struct kymo_handler_launch {
	size_t size; /* sizeof(kymo_handler_launch_t) */
	uint64_t correlation;
	const char *kernel;
	uint32_t agent;
	uint32_t group;           /* work items of a group */
	uint64_t groups;          /* 0: not known */
	double ticks_per_second;  /* of clocks; 0: not known */
	const char *no_clock;     /* why clocks are 0; NULL: they are told */
	const char *not_recorded; /* what has no records, and why; NULL: nothing */
	const kymo_handler_site_t *sites;
	uint32_t site_count;
	uint32_t buffer_count;
	const kymo_handler_buffer_t *buffers;
	kymo_lanes_profile_t profile; /* what the user asked for, or one of warps of 32 */
} kymo_handler_launch_t;

/* What the user gave behind the handler's name: NAME:key=value:key=value. */
typedef struct kymo_handler_options {
	size_t size; /* sizeof(kymo_handler_options_t) */
	uint32_t count;
	const char *const *keys;
	const char *const *values; /* "": it had none */
} kymo_handler_options_t;

typedef enum kymo_cell_kind { KYMO_CELL_UNSIGNED, KYMO_CELL_REAL, KYMO_CELL_TEXT } kymo_cell_kind_t;

typedef struct kymo_handler_cell {
	uint32_t kind; /* kymo_cell_kind_t */
	union {
		uint64_t number;
		double real;      /* what is no number is told as not known */
		const char *text; /* UTF-8; NULL: not known */
	} value;
} kymo_handler_cell_t;

/* Takes what a handler reports. */
typedef struct kymo_handler_writer kymo_handler_writer_t;
struct kymo_handler_writer {
	size_t size; /* sizeof(kymo_handler_writer_t) */
	/*
	 * Begins a table. Names are a-z, 0-9 and '_'; units are part of names of columns: `line_bytes`, `time_ns`, `hits_percent`.
	 * ERROR_INVALID_ARGUMENT: they are not, two columns have one name, one has that of a column which each table begins with
	 * (`pid`, `device`, `kernel`, `launch`), or there are too many.
	 */
	kymo_status_t (*table)(kymo_handler_writer_t *w, const char *name,
			       const char *const *columns, uint32_t count);
	/* A row of it, of the place of a site or of the whole launch (0). ERROR_INVALID_ARGUMENT: it has not as many cells as the table columns. */
	kymo_status_t (*row)(kymo_handler_writer_t *w, uint32_t place,
			     const kymo_handler_cell_t *cells, uint32_t count);
	/* So many things were left out on purpose, which the user is told: "records behind the first 1000". */
	kymo_status_t (*left_out)(kymo_handler_writer_t *w, const char *what, uint64_t count);
};

/* What a handler looks at. */
#define KYMO_HANDLER_ACCESSES 1u
#define KYMO_HANDLER_BLOCKS   2u /* and regions and ends */

typedef struct kymo_handler {
	size_t size;      /* sizeof(kymo_handler_t) */
	uint32_t version; /* KYMO_HANDLER_VERSION */
	uint32_t wants;   /* KYMO_HANDLER_ACCESSES and KYMO_HANDLER_BLOCKS, or both */
	const char *name; /* a-z, 0-9, '-' */
	const char *description;
	/*
	 * A launch begins; `*state` is handed to the other functions. Another status than KYMO_OK: the handler does not take part, `why`
	 * (`why_size` bytes, terminated) says why; finish() is not called.
	 */
	kymo_status_t (*init)(const kymo_handler_options_t *options,
			      const kymo_handler_launch_t *launch, void **state, char *why,
			      size_t why_size);
	/*
	 * All records of one group or more: a group's come in one call. Those of a work item come in the order in which they happened, others in any.
	 * Another status: the handler takes no more part, and finish() is called.
	 */
	kymo_status_t (*on_batch)(void *state, const kymo_access_t *records, size_t count);
	/* All records have come. Not called where some could not be had. NULL: it reports nothing. */
	kymo_status_t (*report)(void *state, kymo_handler_writer_t *writer);
	void (*finish)(void *state);
} kymo_handler_t;

/* What a library of a handler exports: called once when it is loaded. The handler lives for ever. NULL: it cannot work here. */
typedef const kymo_handler_t *(*kymo_handler_fn)(void);
__attribute__((visibility("default"))) const kymo_handler_t *kymo_handler(void);

#ifdef __cplusplus
}
#endif
#endif
