/* SPDX-License-Identifier: Apache-2.0 */
/* See file_use.h. */
#include "analysis/file_use.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_use.h"
#include "base/hash.h"
#include "base/vec.h"

enum { NOT_OURS, OPENS, READS, WRITES, COPIES, OTHERS };

static uint8_t what_is(const char *op)
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

	for (unsigned i = OPENS; i <= COPIES; i++)
		for (const char *const *name = all[i]; *name; name++)
			if (strcmp(op, *name) == 0)
				return (uint8_t)i;
	return OTHERS;
}

bool file_use_op(const struct trace *t, const struct t_op *op)
{
	return call_use_of(t, op, "posix", what_is) != NOT_OURS;
}

struct file_use *file_use_new(const struct trace *t)
{
	struct file_use *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->trace = t;
	u->op_is = call_use_ops(t, "posix", what_is);
	if (!u->op_is) {
		free(u);
		return NULL;
	}
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

/* That of a file without a name, O_TMPFILE, is one of its bits. */
static bool of_folder(uint64_t flags)
{
	return (flags & O_TMPFILE) == O_DIRECTORY;
}

static struct file_use_row *add(struct file_use *u, uint64_t file, unsigned is, uint64_t moved,
				const struct rec *r)
{
	const uint64_t ns = r->end > r->start ? (uint64_t)(r->end - r->start) : 0;
	struct file_use_row *row = row_of(u, file);

	if (!row)
		return NULL;
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
	return row;
}

void file_use_call_wanted(struct file_use *u, const struct rec *r)
{
	const unsigned is = u->op_is[r->op];
	enum { FILE_WORD, TO, MOVED, FLAGS, WORDS };
	static const char *const names[WORDS] = {"file", "to", "moved", "flags"};
	struct file_use_row *row;
	uint64_t a[WORDS];

	/* Left, recorded without arguments, or of no file. */
	if (!(call_use_words(u->trace, r, names, WORDS, a) & 1u << FILE_WORD))
		return;
	if (is != COPIES) {
		row = add(u, a[FILE_WORD], is, a[MOVED], r);
		if (row && is == OPENS && of_folder(a[FLAGS]))
			row->folder = true;
	} else { /* reads one and writes the other */
		add(u, a[FILE_WORD], READS, a[MOVED], r);
		add(u, a[TO], WRITES, a[MOVED], r);
	}
}
