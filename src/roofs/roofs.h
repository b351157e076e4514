/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roofs: what a device attains of memory and arithmetic, measured by microkernels in the process that asks for it
 * (`kymo calibrate`), never in a program that is traced; kept per device in the user's cache. docs/roofline.md has the method.
 *
 *	struct roofs r;
 *	char why[ROOF_WHY];
 *
 *	if (roofs_of_device(&(struct roofs_wanted){.uuid = uuid, .name = name}, &r, why))
 *		memory = roofs_value(&r, "memory");      // NAN: was not measured
 *
 * Structures have no memory of their own: they are copied and forgotten. Calls of one thread at a time.
 */
#ifndef ROOFS_ROOFS_H
#define ROOFS_ROOFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { ROOF_WHY = 240, ROOFS_MOST = 40 };

enum roof_kind {
	ROOF_BANDWIDTH, /* of a level of memory: bytes a second, read and written together */
	ROOF_COMPUTE,   /* operations a second: a multiplication and an addition are two */
	ROOF_TRANSFER,  /* between host and device: bytes a second */
	ROOF_LATENCY,   /* seconds */
	ROOF_KINDS
};

struct roof {
	char name[24];   /* "memory", "l1", "local", "fp32x8", "h2d_pinned", "launch" */
	char type[8];    /* of arithmetic: "fp32"; else the name */
	char about[96];  /* how, for people */
	uint8_t kind;    /* enum roof_kind */
	double value;    /* NAN: not measured, `why` says why not */
	double interval; /* the value is within this much, 95 % */
	double peak;     /* by what the device tells of itself; NAN: it does not tell */
	uint32_t experiments, dropped; /* that count; that were too far off to count */
	uint64_t bytes;                /* of memory that were used, or moved; 0: none to speak of */
	char why[ROOF_WHY];
};

struct roof_device {
	char api[8];   /* "opencl", "cuda" */
	char type[12]; /* "cpu", "gpu", "accelerator" */
	char platform[64], name[128], vendor[64], driver[128];
	char uuid[40]; /* hexadecimal digits; "": not told */
	char pci[16];  /* "0000:3b:00.0"; "": not told */
	char host[65]; /* where it is: several nodes may have one home */
	uint32_t twin; /* of those that nothing tells apart: 0 is the first */
	uint32_t units, clock_mhz;
	uint64_t memory_bytes;
	uint64_t cache
		[3]; /* of level 1, 2, 3, for one unit or all (level 3, and 2 of GPUs); 0: not told */
	bool local_is_cached; /* local memory is ordinary memory that is cached */
};

struct roofs {
	struct roof_device device;
	char date[32];    /* when they were measured, ISO 8601 */
	char version[32]; /* Kymo's */
	double load; /* of the machine, before: processes that ran, on average of a minute; NAN: not told */
	double seconds;      /* that it took */
	bool quick;          /* `kymo calibrate --quick` */
	char note[ROOF_WHY]; /* what is to be known of all of them; "": nothing */
	unsigned count;
	struct roof roofs[ROOFS_MOST];
};

struct roofs_list {
	struct roofs *list; /* owned: roofs_list_release() */
	uint32_t count, room;
	char warning
		[ROOF_WHY]; /* of roofs_measure(): some are missing, or were not kept; "": nothing */
};

void roofs_list_release(struct roofs_list *l);

/* "B/s", "FLOP/s", "OP/s" of whole numbers, "s". */
const char *roof_unit(const struct roof *r);

/* For people: "12.34 ± 0.05 GB/s", four digits of the value; without UTF-8 "+-"; "N/A" */
enum { ROOF_TEXT = 48 };
const char *roof_text(const struct roof *r, bool utf8, char out[ROOF_TEXT]);

/* ---- asking -------------------------------------------------------------------------------------- */

/* A device of a trace. What is NULL or "" is not known. */
struct roofs_wanted {
	const char *uuid; /* as it is printed: only its digits count */
	const char *name; /* as its runtime says */
	const char *host; /* NULL: this machine */
	bool any_host;    /* those of its name on any machine are meant, if there is one alone */
};

/*
 * The roofs in this user's cache for the device: that with its uuid, else the only one of its name. False: `why` says
 * that there are none, or several, and what to do. Measures nothing.
 */
bool roofs_of_device(const struct roofs_wanted *wanted, struct roofs *out, char why[ROOF_WHY]);

/* The same among those of a list: of a file that `--roofs FILE` names. */
bool roofs_among(const struct roofs_list *l, const struct roofs_wanted *wanted, struct roofs *out,
		 char why[ROOF_WHY]);

/* The best of that name or type: of "fp32" that of the best vector width. NULL: there is none that was measured. */
const struct roof *roofs_best(const struct roofs *r, const char *name);
double roofs_value(const struct roofs *r, const char *name);

/* A processor that had other work: it attains more than was measured. Of GPUs the load tells nothing. */
bool roofs_were_disturbed(const struct roofs *r);

/* ---- files --------------------------------------------------------------------------------------- */

/* JSON: {"devices": [...]}, what `kymo calibrate --format json` prints and the cache has. */
void roofs_write(const struct roofs_list *l, struct text *out);
bool roofs_read(const char *json, size_t bytes, struct roofs_list *out, char why[ROOF_WHY]);
bool roofs_read_file(const char *path, struct roofs_list *out, char why[ROOF_WHY]);

/* ---- measuring ----------------------------------------------------------------------------------- */

struct roofs_options {
	const char *device; /* only those whose name has it, or "opencl:0"; NULL: all */
	bool again;         /* though the cache has them */
	bool quick;         /* in a quarter of the time, with wider intervals */
	void (*progress)(void *data, double done);
	void *data;
	void (*waiting)(
		void); /* another process of the node measures, and has to end first; NULL: nobody is told */
};

/*
 * Of each device: what the cache has, or else what is measured now and put there. A device that fails is in the list
 * with its roofs not measured. False: there is no device; `why` says what was looked for.
 */
bool roofs_measure(const struct roofs_options *o, struct roofs_list *out, char why[ROOF_WHY]);

#endif
