/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of LTTng and THAPI. Events that come in pairs (entry and exit of one name) become calls, of the thread that
 * made them; others become marks with their fields as payload. thapi.c takes from calls of OpenCL, and from
 * the intervals that iprof saves, what devices did.
 */
#ifndef FORMATS_CTF_FOREIGN_H
#define FORMATS_CTF_FOREIGN_H

#include "base/text.h"
#include "formats/ctf/reader.h"

enum {
	FOREIGN_FIELDS = KYMO_FIELDS_MAX / 2, /* of an event that are kept */
	FOREIGN_DEPTH = 4096,
	FOREIGN_TEXT = 200
};

enum foreign_role {
	ROLE_MARK,
	ROLE_ENTRY,
	ROLE_EXIT,
	ROLE_FUNCTION_ENTRY, /* of -finstrument-functions */
	ROLE_FUNCTION_EXIT,
	ROLE_MODULE,
	ROLE_STATE_DUMP,
	ROLE_CL_EVENT,  /* names the event of the call under way */
	ROLE_CL_RESULT, /* its times */
	ROLE_HOST,      /* intervals of iprof */
	ROLE_DEVICE,
	ROLE_LEFT_OUT
};

struct foreign_value {
	uint8_t kind; /* kymo_kind_t; 0: none that is kept */
	uint64_t u;   /* of texts where they begin */
	uint32_t length;
	const char *name;
};

struct foreign_values {
	struct foreign_value all[FOREIGN_FIELDS];
	uint32_t count;
	struct text texts;
};

struct foreign_frame {
	uint32_t op; /* or FOREIGN_FUNCTION and the number of a function */
	uint64_t id;
	int64_t start;
	struct foreign_values values;
	uint64_t submitted; /* event of device work */
};

#define FOREIGN_FUNCTION (UINT32_C(1) << 31)

struct foreign_thread {
	uint32_t process, thread;
	struct foreign_frame *frames;
	uint32_t depth, room;
};

struct foreign_function {
	uint32_t process, op;
	uint64_t address;
};

/* Device work that was submitted. */
struct foreign_work {
	uint32_t process, thread, op, queue, kernel;
	uint64_t call, bytes, global[3], local[3];
	int64_t submit;
	uint32_t dims;
	uint32_t next; /* of places that are free, + 1 */
	bool copy;
};

struct ctf_foreign {
	struct keyed keyed;
	struct make_activities model;
	struct map names;   /* hash of names of event classes -> their class */
	struct map streams; /* classes of streams whose events are there */
	struct map by_key;  /* of host and thread -> place in threads + 1 */
	struct map functions_by_address;
	struct foreign_thread *threads;
	uint32_t thread_count, thread_room;
	struct foreign_function *functions;
	uint32_t function_count, function_room;
	struct map kernels, queues, agents; /* process and handle -> string, t_queue */
	struct map work;                    /* process and event -> place in works + 1 */
	struct foreign_work *works;
	uint32_t work_count, work_room, work_free;
	struct foreign_values values; /* of the event at hand */
	struct text payload;
	uint64_t ids;
	int64_t first, last;
	bool any;
};

/* What is known of the event at hand. */
struct foreign_event {
	const struct ctf_class *c;
	const bt_field *payload;
	struct foreign_thread *thread;
	int64_t time;
	uint64_t backend; /* of intervals */
};

void foreign_take(struct foreign_values *v, const bt_field *payload);
const struct foreign_value *foreign_value(const struct foreign_values *v, const char *name);
uint64_t foreign_number(const struct foreign_values *v, const char *name);
const char *foreign_text(const struct foreign_values *v, const char *name);
bool foreign_lost(struct ctf_reader *r, const char *what);

/* ---- thapi.c ------------------------------------------------------------------------------- */

/* The role of an event of THAPI's other than entries and exits; ROLE_MARK: none. */
enum foreign_role thapi_role(const char *name);
/* A call of OpenCL is at its end. */
void thapi_call(struct ctf_reader *r, const struct foreign_event *e, const char *name,
		struct foreign_frame *f);
void thapi_cl_event(struct ctf_reader *r, const struct foreign_event *e);
void thapi_cl_result(struct ctf_reader *r, const struct foreign_event *e);
void thapi_host(struct ctf_reader *r, const struct foreign_event *e);
void thapi_device(struct ctf_reader *r, const struct foreign_event *e);
void thapi_release(struct ctf_foreign *f);

#endif
