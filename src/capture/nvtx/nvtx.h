/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVTX backend: a program's NVTX functions become markers. Ranges, marks and names go to the
 * marker core under the name of their NVTX domain, "nvtx" for the default one.
 *
 *   door.c       how a program's copies of NVTX find us and get their functions
 *   events.c     marks, ranges, synchronisation
 *   names.c      domains, categories, registered strings, names of objects
 *   extension.c  the payload extension's functions
 *   counter.c    the counter extension's
 *   schema.c     layouts of payloads that the program registered
 *   time.c       clocks of events that are submitted later
 *   payload.c    from such a layout and its bytes to values with names
 */
#ifndef CAPTURE_NVTX_NVTX_H
#define CAPTURE_NVTX_NVTX_H

#include <stdbool.h>

#include "core/annotation/string.h"
#include "capture/nvtx/abi.h"
#include "core/marker/marker.h"

/* What a domain handle of the program points to; NULL is the default domain. Lives for ever. */
struct nvtx_domain {
	kymo_string_t name;
	struct annotation_categories categories;
	struct nvtx_domain *next;
};

/* `handle` as the program gave it. */
struct nvtx_domain *nvtx_domain(void *handle);

/* The function for a place of a module's table, NULL: none (the program's call does nothing). */
nvtx_function nvtx_events_function(int module, unsigned id);
nvtx_function nvtx_names_function(int module, unsigned id);

/* A text given by type; `scratch` holds what has to be converted. NULL: none. */
#define NVTX_SCRATCH (4 * KYMO_STRING_MAX)
const char *nvtx_text(int32_t type, const void *message, char scratch[NVTX_SCRATCH]);

/* ---- events ---- */

enum nvtx_action { NVTX_MARK, NVTX_PUSH, NVTX_START };

/* Does it; for NVTX_PUSH the result is the depth, for NVTX_START the id. */
uint64_t nvtx_act(enum nvtx_action action, const kymo_marker_t *m);

int nvtx_pop(void *domain);
void nvtx_end(uint64_t id);

/* ---- payloads ---- */

#define NVTX_VALUES 64u
#define NVTX_BYTES  4096u

/* Values with names that were in a payload. On the stack: nothing is allocated for an event. */
struct nvtx_values {
	const struct nvtx_domain *domain;
	const struct nvtx_blob *blobs; /* all of the event */
	size_t blob_count;
	const char *message;      /* of the payload, or NULL */
	uint32_t category, color; /* 0: not in it */
	bool timed;               /* times of the event are taken apart from its values: */
	bool has_begin, has_end;
	uint64_t begin, end, time_domain;
	uint32_t count;
	uint32_t used; /* of `bytes` */
	kymo_payload_t values[NVTX_VALUES];
	char bytes[NVTX_BYTES]; /* keys and converted texts */
};

void nvtx_values_init(struct nvtx_values *v, const struct nvtx_domain *domain);
/* On the heap, for the stack may be small: to be freed by the caller. NULL: no memory. */
struct nvtx_values *nvtx_values_new(const struct nvtx_domain *domain);
/* Adds what is in `count` payloads. The program's pointers are followed with care. */
void nvtx_values_add(struct nvtx_values *v, const struct nvtx_blob *blobs, size_t count);
/* What was said with plain attributes. False: no payload of a known type. */
bool nvtx_plain_value(kymo_payload_t *out, int32_t type, union nvtx_value value);

/* ---- schemas ---- */

#define NVTX_ENTRIES_MAX 1024u

struct nvtx_field {
	uint64_t flags, type, detail, offset, time_domain;
	const char *name; /* or "" */
};

struct nvtx_member {
	const char *name;
	uint64_t value;
	bool flag;
};

/* A layout (members 0) or an enumeration (fields 0). Immutable, lives for ever. */
struct nvtx_layout {
	const struct nvtx_domain *domain;
	struct nvtx_layout *next;
	uint64_t id;
	uint64_t type;
	size_t size; /* of a payload; 0: not known before its data are */
	uint32_t fields, members;
	const char *name;
	struct nvtx_field *field;
	struct nvtx_member *member;
};

uint64_t nvtx_schema_register(void *domain, const struct nvtx_schema *s);
uint64_t nvtx_enum_register(void *domain, const struct nvtx_enum *e);
const struct nvtx_layout *nvtx_layout_find(const struct nvtx_domain *domain, uint64_t id);
/* Bytes of a value of a predefined type and its alignment; 0: of no fixed size. */
size_t nvtx_type_size(uint64_t type);
uint64_t nvtx_new_id(void);

/* ---- counters (counter.c) ---- */

uint64_t nvtx_counter_register(void *domain, const struct nvtx_counter *given);
void nvtx_sample_int(void *domain, uint64_t id, int64_t value);
void nvtx_sample_double(void *domain, uint64_t id, double value);
void nvtx_sample(void *domain, uint64_t id, const void *data, size_t size);
void nvtx_sample_none(void *domain, uint64_t id, uint8_t reason);
void nvtx_sample_batch(void *domain, const struct nvtx_counter_batch *b);

/* ---- clocks (time.c) ---- */

/* The time domain in a list of semantics, 0: none. */
uint64_t nvtx_time_semantics(const struct nvtx_semantics *list);
/* The clock of a time domain or timestamp type; 0 is node time. */
kymo_clock_t nvtx_clock(const struct nvtx_domain *domain, uint64_t id);
/* The time domain of a scope, 0: none. */
uint64_t nvtx_time_domain_of(void *domain, uint64_t scope);
uint64_t nvtx_time_domain_register(void *domain, const struct nvtx_time_domain *given);
void nvtx_timer(void *domain, uint64_t id, uint64_t flags, int64_t (*timer)(void));
void nvtx_timer_with(void *domain, uint64_t id, uint64_t flags, int64_t (*timer)(void *),
		     void *data);
void nvtx_time_point(void *domain, uint64_t a, uint64_t b, int64_t at_a, int64_t at_b);
void nvtx_time_points(void *domain, uint64_t a, uint64_t b, const struct nvtx_time_pair *points,
		      size_t count);
void nvtx_time_factor(void *domain, uint64_t a, uint64_t b, double slope, int64_t at_a,
		      int64_t at_b);

#endif
