/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace of Kymo is in CTF: an event class for each list of definitions and for each kind of record, whose
 * payload fields are the members of its struct. The writer makes classes and values of these tables, the
 * reader finds members by their names in them: what one version adds, another one leaves out.
 */
#ifndef FORMATS_CTF_TABLES_H
#define FORMATS_CTF_TABLES_H

#include "stream/stream.h"

enum ctf_type {
	CTF_U8,
	CTF_U32,
	CTF_U64,
	CTF_I32,
	CTF_I64,
	CTF_BOOL,
	CTF_F64,
	CTF_TEXT,    /* const char *, never NULL */
	CTF_TEXT0,   /* or NULL, which is "" in the file */
	CTF_COUNTED, /* text of `length` bytes */
	CTF_BYTES,   /* as many as `length` says */
	CTF_UUID,    /* 16 bytes in place */
	CTF_U32S,    /* as many numbers as `length` says */
	CTF_RUNS     /* struct t_ranks, as many as `length` says: three numbers each */
};

/* X(list of struct trace, element, name of its events) */
#define CTF_LISTS(X)                                                                               \
	X(domains, t_domain, domain)                                                               \
	X(ops, t_op, op)                                                                           \
	X(processes, t_process, process)                                                           \
	X(threads, t_thread, thread)                                                               \
	X(clocks, t_clock, clock)                                                                  \
	X(agents, t_agent, device)                                                                 \
	X(contexts, t_device_context, context)                                                     \
	X(queues, t_queue, queue)                                                                  \
	X(blobs, t_blob, blob)                                                                     \
	X(programs, t_program, program)                                                            \
	X(kernels, t_kernel, kernel)                                                               \
	X(modules, t_module, module)                                                               \
	X(sites, t_site, site)                                                                     \
	X(stacks, t_stack, stack)                                                                  \
	X(notes, t_note, note)                                                                     \
	X(open_calls, t_open_call, open_call)                                                      \
	X(unfinished, t_unfinished, unfinished)                                                    \
	X(left_out, t_left_out, left_out)                                                          \
	X(pauses, t_pause, pause)                                                                  \
	X(strings, t_string, string)                                                               \
	X(communicators, t_communicator, communicator)                                             \
	X(counters, t_counter, counter)                                                            \
	X(codes, t_code, code)                                                                     \
	X(places, t_place, place)

enum ctf_list_number {
#define CTF_LIST_NUMBER(list, type, name) CTF_LIST_##list,
	CTF_LISTS(CTF_LIST_NUMBER)
#undef CTF_LIST_NUMBER
		CTF_LIST_COUNT,
	CTF_NOTHING = CTF_LIST_COUNT /* of members: no index of a list */
};

struct ctf_member {
	const char *name;
	uint16_t offset, length; /* length: where its length is, of `length_size` bytes */
	uint8_t type, of, length_size;
};

struct ctf_table {
	const char *name; /* of the events, behind "kymo:" */
	const struct ctf_member *members;
	uint32_t count;
	uint32_t size; /* of the struct */
};

struct ctf_list {
	struct ctf_table table;
	uint32_t array, used, room; /* where they are in struct trace */
};

extern const struct ctf_list ctf_lists[CTF_LIST_COUNT];

struct ctf_end {
	uint64_t records; /* that were written; 0: it is not told */
};

/* Of the trace itself; and behind the last definition, so that readers need not look for more. */
extern const struct ctf_table ctf_trace_table, ctf_end_table;

/* What all records have, then what those of a kind have, then what was lost. */
enum ctf_kind {
	CTF_KIND_CALL,
#define CTF_KIND_NUMBER(K, name, type) CTF_KIND_##K,
	RECORD_KINDS(CTF_KIND_NUMBER)
#undef CTF_KIND_NUMBER
		CTF_KIND_OTHER,
	CTF_KINDS
};

extern const struct ctf_table ctf_base_table, ctf_device_table, ctf_loss_table;
extern const struct ctf_table ctf_kind_tables[CTF_KINDS];
/* Where struct rec_device is in records of the kind; 0: they have none. */
extern const uint32_t ctf_device_offset[CTF_KINDS];

const char *ctf_kind_name(enum ctf_kind kind); /* "call", "dispatch" ... */

/* Kind of the records of a domain, by its name. */
enum ctf_kind ctf_kind_of(const char *domain);

/* A field of an op, or a value of a set of names, which no list of a trace has. */
struct ctf_op_field {
	uint32_t op, set; /* set: its number, 0 none */
	const char *name, *type;
	uint8_t kind, element, size, flags, reference;
};

struct ctf_value {
	uint32_t set;
	const char *set_name, *name;
	int64_t value;
};

extern const struct ctf_table ctf_op_field_table, ctf_value_table;

static inline uint32_t ctf_list_count(const struct trace *t, const struct ctf_list *l)
{
	uint32_t count;

	memcpy(&count, (const char *)t + l->used, sizeof(count));
	return count;
}

static inline void *ctf_list_element(const struct trace *t, const struct ctf_list *l, uint32_t i)
{
	char *array;

	memcpy(&array, (const char *)t + l->array, sizeof(array));
	return array + (size_t)i * l->table.size;
}

static inline uint64_t ctf_length(const void *s, const struct ctf_member *m)
{
	uint64_t wide = 0;

	memcpy(&wide, (const char *)s + m->length, m->length_size);
	return wide;
}

#endif
