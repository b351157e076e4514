/* SPDX-License-Identifier: Apache-2.0 */
/* See file_use.h. */
#include "analysis/file_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

enum { NOT_OURS, OPENS, READS, WRITES, COPIES, OTHERS };

static uint8_t what_is(const struct trace *t, const struct t_op *op)
{
	static const char *const opens[] = {"open",   "openat",  "creat", "connect",
					    "accept", "accept4", NULL};
	static const char *const reads[] = {"read", "pread",    "readv",   "preadv",   "preadv2",
					    "recv", "recvfrom", "recvmsg", "recvmmsg", NULL};
	static const char *const writes[] = {"write", "pwrite", "writev",  "pwritev",  "pwritev2",
					     "send",  "sendto", "sendmsg", "sendmmsg", NULL};
	static const char *const copies[] = {"sendfile", "copy_file_range", "splice", NULL};
	static const char *const *const all[] = {
		[OPENS] = opens, [READS] = reads, [WRITES] = writes, [COPIES] = copies};

	if (strcmp(t->domains[op->domain].name, "posix") != 0)
		return NOT_OURS;
	for (unsigned i = OPENS; i <= COPIES; i++)
		for (const char *const *name = all[i]; *name; name++)
			if (strcmp(op->name, *name) == 0)
				return (uint8_t)i;
	return OTHERS;
}

bool file_use_op(const struct trace *t, const struct t_op *op)
{
	return what_is(t, op) != NOT_OURS;
}

struct file_use *file_use_new(const struct trace *t)
{
	struct file_use *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->trace = t;
	u->op_is = calloc(t->ops_count + 1u, sizeof(*u->op_is));
	if (!u->op_is) {
		free(u);
		return NULL;
	}
	for (uint32_t i = 0; i < t->ops_count; i++)
		u->op_is[i] = what_is(t, &t->ops[i]);
	return u;
}

void file_use_free(struct file_use *u)
{
	if (!u)
		return;
	map_release(&u->places);
	free(u->op_is);
	free(u->rows);
	free(u);
}

bool file_use_is_socket(const struct file_use_row *row)
{
	static const char *const kinds[] = {"tcp ", "udp ", "unix ", "socket", NULL};

	for (const char *const *k = kinds; *k; k++)
		if (strncmp(row->file, *k, strlen(*k)) == 0)
			return true;
	return false;
}

/* One text has one index in a trace. */
static struct file_use_row *row_of(struct file_use *u, uint64_t string)
{
	const struct trace *t = u->trace;
	const bool known = string < t->strings_count && t->strings[string].text;
	uint64_t place = map_get(&u->places, hash_u64(known ? string : 0));

	if (place)
		return &u->rows[place - 1];
	if (!vec_reserve(&u->rows, &u->rows_room, u->rows_count, 1) ||
	    !map_set(&u->places, hash_u64(known ? string : 0), u->rows_count + 1u)) {
		u->failed = true;
		return NULL;
	}
	u->rows[u->rows_count] =
		(struct file_use_row){.file = known ? t->strings[string].text : ""};
	return &u->rows[u->rows_count++];
}

struct arguments {
	uint64_t file, to, moved;
	bool any;
};

static void read_arguments(struct arguments *a, const struct trace *t, const struct rec *r)
{
	const struct t_field *field;
	struct rec_fields fields;
	struct wire_value value;

	*a = (struct arguments){0};
	if (!r->wire)
		return;
	rec_fields_init(&fields, t, r);
	while (rec_fields_next(&fields, &field, &value)) {
		if (!value.present)
			continue;
		if (strcmp(field->name, "file") == 0) {
			a->file = value.u;
			a->any = true;
		}
		if (strcmp(field->name, "to") == 0)
			a->to = value.u;
		else if (strcmp(field->name, "moved") == 0)
			a->moved = value.u;
	}
}

static void add(struct file_use *u, uint64_t file, unsigned is, uint64_t moved, const struct rec *r)
{
	const uint64_t ns = r->end > r->start ? (uint64_t)(r->end - r->start) : 0;
	struct file_use_row *row = row_of(u, file);

	if (!row)
		return;
	row->opens += is == OPENS;
	row->reads += is == READS;
	row->writes += is == WRITES;
	row->others += is == OTHERS;
	row->read_bytes += is == READS ? moved : 0;
	row->written_bytes += is == WRITES ? moved : 0;
	row->errors += !r->ok;
	row->ns += ns;
	if (ns > row->longest_ns || !row->longest_op) {
		row->longest_ns = ns;
		row->longest_op = r->op;
	}
}

void file_use_call_wanted(struct file_use *u, const struct rec *r)
{
	const unsigned is = u->op_is[r->op];
	struct arguments a;

	read_arguments(&a, u->trace, r);
	if (!a.any) /* left, recorded without arguments, or of no file */
		return;
	if (is != COPIES) {
		add(u, a.file, is, a.moved, r);
	} else { /* reads one and writes the other */
		add(u, a.file, READS, a.moved, r);
		add(u, a.to, WRITES, a.moved, r);
	}
}
