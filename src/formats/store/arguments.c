/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments beside the rows of calls; see arguments.h. */
#include <stdlib.h>
#include <string.h>

#ifdef KYMO_HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/vec.h"
#include "formats/store/arguments.h"

#define ID_BITS     12u
#define PART_BITS   8u
#define FRAME_BYTES (1u << 17) /* a frame is written when it has grown to this */
#define OPEN_FRAMES 64u        /* kept at a time: threads interleave their ids */
#define CACHED      8u

struct entry {
	uint16_t low;
	uint16_t length;
	uint32_t op;
};

/* ---- writing ----------------------------------------------------------------------------------- */

struct frame {
	uint64_t key;  /* id >> ID_BITS, plus 1; 0: unused */
	uint64_t used; /* when last: the least recent one gives way */
	uint32_t bytes;
	uint8_t *data; /* FRAME_BYTES + room for one entry */
};

struct arguments_writer {
	sqlite3_stmt *insert;
	struct frame frames[OPEN_FRAMES];
	struct frame *last;
	uint64_t clock;
	uint8_t *out; /* frame as it goes to the table */
	size_t out_size;
#ifdef KYMO_HAVE_ZSTD
	ZSTD_CCtx *zstd;
#endif
};

#define ENTRY_ROOM (sizeof(struct entry) + ARGS_MAX)

struct arguments_writer *arguments_writer_new(sqlite3 *db)
{
	struct arguments_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->out_size = FRAME_BYTES * 2;
	w->out = malloc(w->out_size);
#ifdef KYMO_HAVE_ZSTD
	w->zstd = ZSTD_createCCtx();
#endif
	if (!w->out ||
	    sqlite3_prepare_v3(db, "INSERT INTO call_args(id, data) VALUES(?, ?)", -1,
			       SQLITE_PREPARE_PERSISTENT, &w->insert, NULL) != SQLITE_OK) {
		arguments_writer_free(w);
		return NULL;
	}
	return w;
}

void arguments_writer_free(struct arguments_writer *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < OPEN_FRAMES; i++)
		free(w->frames[i].data);
#ifdef KYMO_HAVE_ZSTD
	ZSTD_freeCCtx(w->zstd);
#endif
	sqlite3_finalize(w->insert);
	free(w->out);
	free(w);
}

/* Bytes in w->out. */
static size_t compress(struct arguments_writer *w, const struct frame *f)
{
#ifdef KYMO_HAVE_ZSTD
	size_t n = w->zstd ? ZSTD_compressCCtx(w->zstd, w->out + 1, w->out_size - 1, f->data,
					       f->bytes, 1)
			   : (size_t)-1;

	if (w->zstd && !ZSTD_isError(n)) {
		w->out[0] = 1;
		return n + 1;
	}
#endif
	w->out[0] = 0;
	memcpy(w->out + 1, f->data, f->bytes);
	return f->bytes + 1;
}

/* The first free row of the block; a block of 4096 calls never needs all 256. */
static bool write_frame(struct arguments_writer *w, struct frame *f)
{
	int64_t id = (int64_t)((f->key - 1) << PART_BITS);
	size_t n = compress(w, f);
	int rc = SQLITE_CONSTRAINT;

	for (unsigned part = 0; rc == SQLITE_CONSTRAINT && part < 1u << PART_BITS; part++) {
		sqlite3_bind_int64(w->insert, 1, id + part);
		sqlite3_bind_blob64(w->insert, 2, w->out, n, SQLITE_STATIC);
		sqlite3_step(w->insert);
		rc = sqlite3_reset(w->insert);
	}
	f->key = 0;
	f->bytes = 0;
	return rc == SQLITE_OK;
}

static struct frame *frame_for(struct arguments_writer *w, uint64_t key)
{
	struct frame *oldest = &w->frames[0];

	for (unsigned i = 0; i < OPEN_FRAMES; i++) {
		if (w->frames[i].key == key)
			return &w->frames[i];
		if (w->frames[i].used < oldest->used)
			oldest = &w->frames[i];
	}
	if (oldest->key && !write_frame(w, oldest))
		return NULL;
	if (!oldest->data)
		oldest->data = malloc(FRAME_BYTES + ENTRY_ROOM);
	if (!oldest->data)
		return NULL;
	oldest->key = key;
	return oldest;
}

bool arguments_append(struct arguments_writer *w, int64_t id, const struct trace *t,
		      const struct rec *r)
{
	uint64_t key = ((uint64_t)id >> ID_BITS) + 1;
	struct frame *f = w->last;
	struct entry e = {(uint16_t)(id & ((1 << ID_BITS) - 1)), 0, r->op};

	if (!t->ops[r->op].field_count || !r->wire || r->wire->no_fields)
		return true;
	if (!f || f->key != key) {
		f = w->last = frame_for(w, key);
		if (!f)
			return false;
		f->used = ++w->clock;
	}
	e.length = (uint16_t)args_pack(t, r, f->data + f->bytes + sizeof(e));
	if (!e.length)
		return true;
	memcpy(f->data + f->bytes, &e, sizeof(e));
	f->bytes += (uint32_t)sizeof(e) + e.length;
	return f->bytes < FRAME_BYTES || write_frame(w, f);
}

bool arguments_flush(struct arguments_writer *w)
{
	bool ok = true;

	for (unsigned i = 0; ok && i < OPEN_FRAMES; i++)
		ok = !w->frames[i].key || write_frame(w, &w->frames[i]);
	return ok;
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* All arguments of a block of ids, unpacked. */
struct block {
	uint64_t key; /* as in frames */
	uint8_t *data;
	size_t bytes, room;
	uint32_t at[1u << ID_BITS]; /* offset of the entry, plus 1; 0: none */
};

struct arguments_reader {
	sqlite3 *db;
	struct block *blocks[CACHED];
	unsigned next; /* to give way */
};

struct arguments_reader *arguments_reader_new(sqlite3 *db)
{
	struct arguments_reader *r = calloc(1, sizeof(*r));

	if (r)
		r->db = db;
	return r;
}

void arguments_reader_free(void *reader)
{
	struct arguments_reader *r = reader;

	if (!r)
		return;
	for (unsigned i = 0; i < CACHED; i++) {
		if (r->blocks[i])
			free(r->blocks[i]->data);
		free(r->blocks[i]);
	}
	free(r);
}

/* Bytes that a stored frame holds; 0: damaged, or compressed in a way unknown here. */
static size_t frame_size(const uint8_t *stored, size_t n)
{
	if (n < 1)
		return 0;
	if (stored[0] == 0)
		return n - 1;
#ifdef KYMO_HAVE_ZSTD
	unsigned long long size = ZSTD_getFrameContentSize(stored + 1, n - 1);

	return size <= FRAME_BYTES + ENTRY_ROOM ? (size_t)size : 0;
#else
	return 0;
#endif
}

static bool frame_unpack(const uint8_t *stored, size_t n, uint8_t *out, size_t size)
{
	if (stored[0] == 0) {
		memcpy(out, stored + 1, size);
		return true;
	}
#ifdef KYMO_HAVE_ZSTD
	return ZSTD_decompress(out, size, stored + 1, n - 1) == size;
#else
	return false;
#endif
}

static void block_add(struct block *b, const uint8_t *stored, size_t n)
{
	size_t size = frame_size(stored, n), at = b->bytes;
	struct entry e;
	uint8_t *data;

	if (!size || !vec_reserve(&b->data, &b->room, at, size))
		return;
	data = b->data;
	if (!frame_unpack(stored, n, data + at, size))
		return;
	b->bytes += size;
	while (b->bytes - at >= sizeof(e)) {
		memcpy(&e, data + at, sizeof(e));
		if (b->bytes - at - sizeof(e) < e.length || e.low >> ID_BITS)
			return;
		b->at[e.low] = (uint32_t)at + 1;
		at += sizeof(e) + e.length;
	}
}

/* No statement outlives this: a program that loaded the extension could not close its database. */
static void read_frames(sqlite3 *db, uint64_t key, struct block *b)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db, "SELECT data FROM call_args WHERE id BETWEEN ? AND ?", -1, &s,
			       NULL) != SQLITE_OK)
		return;
	sqlite3_bind_int64(s, 1, (int64_t)((key - 1) << PART_BITS));
	sqlite3_bind_int64(s, 2, (int64_t)(key << PART_BITS) - 1);
	while (sqlite3_step(s) == SQLITE_ROW)
		block_add(b, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
	sqlite3_finalize(s);
}

static struct block *block_for(struct arguments_reader *r, uint64_t key)
{
	struct block *b;

	for (unsigned i = 0; i < CACHED; i++) {
		if (r->blocks[i] && r->blocks[i]->key == key)
			return r->blocks[i];
	}
	b = r->blocks[r->next];
	if (!b)
		b = r->blocks[r->next] = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	r->next = (r->next + 1) % CACHED;
	b->key = key;
	b->bytes = 0;
	memset(b->at, 0, sizeof(b->at));
	read_frames(r->db, key, b);
	return b;
}

bool arguments_find(struct arguments_reader *r, int64_t id, uint32_t *op, const void **data,
		    size_t *length)
{
	struct block *b = block_for(r, ((uint64_t)id >> ID_BITS) + 1);
	uint32_t at = b ? b->at[id & ((1 << ID_BITS) - 1)] : 0;
	struct entry e;

	if (!at)
		return false;
	memcpy(&e, b->data + at - 1, sizeof(e));
	*op = e.op;
	*data = b->data + at - 1 + sizeof(e);
	*length = e.length;
	return true;
}
