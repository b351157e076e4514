/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small finished files without what nobody needs: definitions that nothing in them refers to, and
 * calibration points that lie between others. A process defines all
 * operations of an interface before the first record of it, since nobody knows who dies when; of a
 * rank that recorded ten calls these are nine tenths of the file. What is left of the definitions is
 * put together and compressed as one.
 *
 * What a process has written is not believed: a file with anything in it that is not understood is
 * left to the ordinary compression.
 */
#include "drain/rawfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "drain/pack.h"
#include "wire/defs.h"
#include "wire/live.h"
#include "wire/tally.h"

enum {
	LARGE_FILE = 4 << 20, /* of such a one definitions are no matter */
	POINTS_APART = 1000,  /* at most, which bounds the work */
	OPS = 1 << 16
};

struct bytes {
	uint8_t *data;
	size_t count, room;
};

struct point {
	struct raw_tick_sync sync;
	bool stays;
};

struct slim {
	const uint8_t *data;
	size_t size;
	/* Operations, by their numbers: those that are named, and of them those that have records. */
	uint8_t used[OPS / 8], recorded[OPS / 8];
	bool all_ops;        /* they may be referred to in ways that are not seen here */
	struct map sets;     /* enumerations of fields of records, by id: all of it may be shown */
	struct map statuses; /* of records; of enumerations that are for these no more is kept */
	uint64_t *addresses; /* of call sites and stacks, sorted */
	size_t address_count, address_room;
	struct map numbers; /* chunks of definitions, by number plus one */
	uint64_t last_number;
	struct point *points; /* RAW_TICK_SYNC, in the file's order */
	size_t point_count, point_room, points_written;
	bool all_points;          /* there are some that are not understood */
	struct bytes definitions; /* chunk of those that stay */
	bool written;
	struct packer packer;
	struct bytes out;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The block at *at, and its payload; moves on. False: none that is whole and as it was recorded. */
static bool next_block(const struct slim *s, size_t *at, struct raw_block *b,
		       const uint8_t **payload)
{
	if (s->size - *at < sizeof(*b))
		return false;
	memcpy(b, s->data + *at, sizeof(*b));
	if (b->magic != RAW_BLOCK_MAGIC || (b->flags & RAW_ZSTD) || b->stored != b->raw ||
	    b->stored > s->size - *at - sizeof(*b))
		return false;
	*payload = s->data + *at + sizeof(*b);
	*at += sizeof(*b) + b->stored;
	return true;
}

static bool is_definitions(const struct raw_block *b)
{
	return b->type == RAW_CHUNK && b->chunk_type == WIRE_CHUNK_DEFINITIONS &&
	       b->seq != UINT64_MAX;
}

static bool each_block(struct slim *s,
		       bool (*visit)(struct slim *, const struct raw_block *, const uint8_t *))
{
	struct raw_header h;
	struct raw_block b = {0};
	const uint8_t *payload;
	size_t at;

	if (s->size < sizeof(h))
		return false;
	memcpy(&h, s->data, sizeof(h));
	if (h.magic != RAW_MAGIC || h.header_size < sizeof(h) || h.header_size > s->size)
		return false;
	at = h.header_size;
	while (at < s->size)
		if (!next_block(s, &at, &b, &payload) || !visit(s, &b, payload))
			return false;
	return b.type == RAW_END;
}

/* ---- what is referred to --------------------------------------------------------------------- */

static void use_op(struct slim *s, uint32_t op)
{
	if (op < OPS)
		s->used[op / 8] |= (uint8_t)(1u << op % 8);
}

static bool is_used(const struct slim *s, uint64_t op)
{
	return s->all_ops || op >= OPS || (s->used[op / 8] & 1u << op % 8);
}

static bool use_record(struct slim *s, const struct wire_record *r)
{
	use_op(s, r->op);
	s->recorded[r->op / 8] |= (uint8_t)(1u << r->op % 8);
	return !r->has_status || map_set(&s->statuses, (uint32_t)r->status, 1);
}

static bool has_records(const struct slim *s, uint64_t op)
{
	return op >= OPS || (s->recorded[op / 8] & 1u << op % 8);
}

static void use_open_calls(struct slim *s, const struct wire_open *open, uint32_t depth)
{
	for (uint32_t i = 0; i < depth && i < WIRE_OPEN_MAX; i++)
		use_op(s, open[i].op);
}

static bool see_records(struct slim *s, struct wire_reader *r, const struct wire_chunk *h)
{
	struct wire_record record;
	int got;

	use_open_calls(s, h->open, h->open_depth);
	while ((got = wire_next(r, &record)) > 0)
		if (!use_record(s, &record))
			return false;
	return got == 0;
}

static bool see_tallies(struct slim *s, struct wire_reader *r, const struct wire_chunk *h)
{
	struct wire_tally y;

	while ((size_t)(r->end - r->p) >= sizeof(y)) {
		memcpy(&y, r->p, sizeof(y));
		use_op(s, y.op);
		if ((size_t)(r->end - r->p) < wire_tally_size(&y))
			return false;
		r->p += wire_tally_size(&y);
	}
	return r->p == r->end;
}

static bool see_lines(struct slim *s, struct wire_reader *r, const struct wire_chunk *h)
{
	struct wire_line l;

	for (; (size_t)(r->end - r->p) >= sizeof(l); r->p += sizeof(l)) {
		memcpy(&l, r->p, sizeof(l));
		use_op(s, l.op);
	}
	return true;
}

static bool add_address(struct slim *s, uint64_t address)
{
	if (!vec_reserve(&s->addresses, &s->address_room, s->address_count, 1))
		return false;
	s->addresses[s->address_count++] = address;
	return true;
}

static bool add_stack(struct slim *s, const struct wire_def *d)
{
	size_t n;
	const char *data = wire_def_text(d, DEF_STACK_ADDRESSES, &n);
	uint64_t address;
	bool ok = true;

	for (size_t i = 0; ok && i + sizeof(address) <= n; i += sizeof(address)) {
		memcpy(&address, data + i, sizeof(address));
		ok = add_address(s, address);
	}
	return ok;
}

static bool see_definitions(struct slim *s, struct wire_reader *r, const struct wire_chunk *h)
{
	struct wire_def d;
	int got;

	while ((got = wire_def_read(&r->p, r->end, &d)) > 0) {
		if ((d.kind == DEF_SITE && !add_address(s, wire_def_get(&d, DEF_SITE_ADDRESS))) ||
		    (d.kind == DEF_STACK && !add_stack(s, &d)))
			return false;
		/* The table of a job names operations that other ranks have called. */
		s->all_ops |= d.kind == DEF_JOB_TALLY || d.kind >= DEF_COUNT;
	}
	return got == 0;
}

static bool see_chunk(struct slim *s, const struct raw_block *b, const uint8_t *payload)
{
	struct wire_reader r;
	struct wire_chunk h;

	if (!wire_reader_init(&r, payload, b->raw))
		return false;
	memcpy(&h, payload, sizeof(h));
	if (h.type != b->chunk_type || h.committed != b->raw || h.thread != b->thread ||
	    h.seq != b->seq || h.base_tick != b->first_tick)
		return false;
	switch (h.type) {
	case WIRE_CHUNK_RECORDS:
		return see_records(s, &r, &h);
	case WIRE_CHUNK_TALLY:
		return see_tallies(s, &r, &h);
	case WIRE_CHUNK_LIVE:
		return see_lines(s, &r, &h);
	case WIRE_CHUNK_DEFINITIONS:
		if (is_definitions(b) &&
		    (!map_set(&s->numbers, b->seq + 1, 1) || h.lost || h.header_size != sizeof(h)))
			return false;
		if (is_definitions(b) && b->seq > s->last_number)
			s->last_number = b->seq;
		return see_definitions(s, &r, &h);
	}
	return false;
}

static bool add_point(struct slim *s, const struct raw_block *b, const uint8_t *payload)
{
	struct point *p;

	if (!vec_reserve(&s->points, &s->point_room, s->point_count, 1))
		return false;
	p = &s->points[s->point_count++];
	*p = (struct point){.stays = false};
	s->all_points |= b->raw != sizeof(p->sync);
	memcpy(&p->sync, payload, b->raw < sizeof(p->sync) ? b->raw : sizeof(p->sync));
	return true;
}

static bool see_block(struct slim *s, const struct raw_block *b, const uint8_t *payload)
{
	if (XXH3_64bits(payload, b->stored) != b->checksum)
		return false;
	switch (b->type) {
	case RAW_CHUNK:
	case RAW_PARTIAL:
		return see_chunk(s, b, payload);
	case RAW_OPEN_CALLS:
		for (size_t at = 0; at + sizeof(struct raw_open) <= b->raw;
		     at += sizeof(struct raw_open)) {
			struct raw_open o;

			memcpy(&o, payload + at, sizeof(o));
			use_op(s, o.call.op);
		}
		return true;
	case RAW_TICK_SYNC:
		return add_point(s, b, payload);
	case RAW_END:
	case RAW_STATE:
	case RAW_JOB:
		return true;
	}
	return false;
}

/* ---- calibration points ---------------------------------------------------------------------- */

/*
 * Where the clocks run evenly the points between two others say no more than these: there is one a
 * second, and of a job of hours they would be most of what it leaves. A point is spared if the line lies
 * within what its own reading leaves open.
 */
static bool is_spared(const struct raw_tick_sync *a, const struct raw_tick_sync *p,
		      const struct raw_tick_sync *b)
{
	double ticks = (double)(b->before - a->before),
	       ns = (double)(b->monotonic_raw - a->monotonic_raw),
	       /* Middles, as readers take them. */
		at = (double)(p->before - a->before) + (double)(p->after - p->before) / 2 -
		     (double)(a->after - a->before) / 2,
	       off;

	ticks += (double)(b->after - b->before) / 2 - (double)(a->after - a->before) / 2;
	if (p->after < p->before || p->before <= a->before || b->before <= p->before ||
	    p->monotonic_raw <= a->monotonic_raw || b->monotonic_raw <= p->monotonic_raw)
		return false;
	off = (double)(p->monotonic_raw - a->monotonic_raw) - at * ns / ticks;
	return (off < 0 ? -off : off) <= (double)(p->after - p->before) / 2 * ns / ticks;
}

static bool spares_all(const struct slim *s, size_t from, size_t to)
{
	for (size_t i = from + 1; i < to; i++)
		if (!is_spared(&s->points[from].sync, &s->points[i].sync, &s->points[to].sync))
			return false;
	return true;
}

/* From each that stays as far as one line goes, so that a clock that stepped is seen to have. */
static void choose_points(struct slim *s)
{
	size_t from = 0;

	if (!s->point_count)
		return;
	s->points[0].stays = s->points[s->point_count - 1].stays = true;
	for (size_t to = 2; to < s->point_count; to++) {
		if (to - from <= POINTS_APART && spares_all(s, from, to))
			continue;
		from = to - 1;
		s->points[from].stays = true;
	}
}

/* ---- what stays ------------------------------------------------------------------------------ */

static uint16_t half_at(const char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * The enumerations of an operation's fields (DEF_OP_FIELDS). A field that holds the number of an
 * operation: all are kept.
 */
static bool use_fields(struct slim *s, const struct wire_def *op)
{
	size_t n, at = 0;
	const char *f = wire_def_text(op, DEF_OP_FIELDS, &n);
	bool ok = true;

	while (ok && n - at >= 12) {
		uint16_t name = half_at(f + at + 8), type;
		uint32_t set;

		memcpy(&set, f + at + 4, sizeof(set));
		if (n - at < 12u + name)
			return false;
		type = half_at(f + at + 10 + name);
		if (n - at < 12u + name + type)
			return false;
		s->all_ops |= type == 2 && memcmp(f + at + 12 + name, "op", 2) == 0;
		ok = !set || map_set(&s->sets, set, 1);
		at += 12u + name + type;
	}
	return ok && at == n;
}

static bool use_sets(struct slim *s, const struct raw_block *b, const uint8_t *payload)
{
	struct wire_reader r;
	struct wire_def d;

	if (!is_definitions(b) || !wire_reader_init(&r, payload, b->raw))
		return true;
	while (wire_def_read(&r.p, r.end, &d) > 0)
		if (d.kind == DEF_OP && has_records(s, wire_def_get(&d, DEF_OP_WIRE)) &&
		    (!use_fields(s, &d) ||
		     !map_set(&s->statuses, (uint32_t)wire_def_get(&d, DEF_OP_STATUS_OK), 1)))
			return false;
	return true;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A call site is an address behind the call, which may be where the module ends. */
static bool has_address(const struct slim *s, const struct wire_def *module)
{
	uint64_t start = wire_def_get(module, DEF_MODULE_START),
		 end = wire_def_get(module, DEF_MODULE_END);
	size_t from = 0, to = s->address_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (s->addresses[middle] < start)
			from = middle + 1;
		else
			to = middle;
	}
	return from < s->address_count && s->addresses[from] <= end;
}

static bool stays(const struct slim *s, const struct wire_def *d)
{
	switch (d->kind) {
	case DEF_OP:
		return is_used(s, wire_def_get(d, DEF_OP_WIRE));
	case DEF_MODULE:
		return has_address(s, d);
	}
	return true;
}

static bool append(struct bytes *b, const void *data, size_t n)
{
	if (!vec_reserve(&b->data, &b->room, b->count, n))
		return false;
	memcpy(b->data + b->count, data, n);
	b->count += n;
	return true;
}

static bool append_definition(struct slim *s, const struct wire_def *d)
{
	size_t n = wire_def_size(d);

	if (!vec_reserve(&s->definitions.data, &s->definitions.room, s->definitions.count, n))
		return false;
	wire_def_write(d, s->definitions.data + s->definitions.count);
	s->definitions.count += n;
	return true;
}

/*
 * An enumeration with the names of the statuses that there are alone (DEF_ENUM_SET_VALUES); nothing if
 * none has a name in it.
 */
static bool append_statuses(struct slim *s, const struct wire_def *d)
{
	size_t n, at = 0, kept = 0;
	const char *values = wire_def_text(d, DEF_ENUM_SET_VALUES, &n);
	char *some = malloc(n + 1);
	struct wire_def cut = *d;
	bool ok = some != NULL;

	while (ok && n - at >= 10) {
		uint64_t value;
		size_t bytes = 10u + half_at(values + at + 8);

		memcpy(&value, values + at, sizeof(value));
		ok = bytes <= n - at;
		if (ok && map_get(&s->statuses, (uint32_t)value)) {
			memcpy(some + kept, values + at, bytes);
			kept += bytes;
		}
		at += bytes;
	}
	cut.v[DEF_ENUM_SET_VALUES].s = some;
	cut.v[DEF_ENUM_SET_VALUES].length = kept;
	ok = ok && (!kept || append_definition(s, &cut));
	free(some);
	return ok;
}

static bool is_cut(const struct slim *s, const struct wire_def *d)
{
	return d->kind == DEF_ENUM_SET && d->count > DEF_ENUM_SET_VALUES &&
	       d->v[DEF_ENUM_SET_VALUES].is_bytes && !s->all_ops &&
	       !map_get(&s->sets, wire_def_get(d, DEF_ENUM_SET_ID));
}

/* Their order stays: of several of one thing the last counts. */
static bool gather_definitions(struct slim *s, const struct raw_block *b, const uint8_t *payload)
{
	struct wire_reader r;
	struct wire_def d;

	if (!is_definitions(b) || !wire_reader_init(&r, payload, b->raw))
		return true;
	if (!s->definitions.count && !append(&s->definitions, payload, sizeof(struct wire_chunk)))
		return false;
	for (const uint8_t *from = r.p; wire_def_read(&r.p, r.end, &d) > 0; from = r.p)
		if (is_cut(s, &d)
			    ? !append_statuses(s, &d)
			    : stays(s, &d) && !append(&s->definitions, from, (size_t)(r.p - from)))
			return false;
	return true;
}

/* ---- the new file ---------------------------------------------------------------------------- */

static bool add_block(struct slim *s, struct raw_block b, const uint8_t *payload)
{
	uint8_t *to;

	if (!vec_reserve(&s->out.data, &s->out.room, s->out.count, sizeof(b) + packer_bound(b.raw)))
		return false;
	to = s->out.data + s->out.count + sizeof(b);
	b.stored = b.raw;
	if (!packer_pack(&s->packer, &b, payload, to))
		memcpy(to, payload, b.raw);
	b.checksum = XXH3_64bits(to, b.stored);
	memcpy(to - sizeof(b), &b, sizeof(b));
	s->out.count += sizeof(b) + b.stored;
	return true;
}

/* One chunk of definitions, which is number 0, where the first was. */
static bool write_block(struct slim *s, const struct raw_block *b, const uint8_t *payload)
{
	struct raw_block merged = *b;
	struct wire_chunk h;

	if (b->type == RAW_TICK_SYNC && !s->points[s->points_written++].stays && !s->all_points)
		return true;
	if (!is_definitions(b))
		return add_block(s, *b, payload);
	if (s->written)
		return true;
	s->written = true;
	merged.seq = 0;
	merged.raw = (uint32_t)s->definitions.count;
	memcpy(&h, s->definitions.data, sizeof(h));
	h.seq = 0;
	h.committed = merged.raw;
	memcpy(s->definitions.data, &h, sizeof(h));
	return add_block(s, merged, s->definitions.data);
}

/* All of them are there, whatever their order: what is missing stays to be seen. */
static bool is_whole(const struct slim *s)
{
	return s->numbers.count == s->last_number + 1;
}

static bool make_slim(struct slim *s)
{
	struct raw_header h;

	if (!each_block(s, see_block) || !is_whole(s) || !each_block(s, use_sets))
		return false;
	if (s->address_count)
		qsort(s->addresses, s->address_count, sizeof(*s->addresses), by_value);
	choose_points(s);
	memcpy(&h, s->data, sizeof(h));
	h.version = RAW_VERSION;
	return each_block(s, gather_definitions) && append(&s->out, &h, sizeof(h)) &&
	       append(&s->out, s->data + sizeof(h), h.header_size - sizeof(h)) &&
	       each_block(s, write_block) && s->out.count < s->size;
}

static bool replace(const char *path, const struct bytes *content)
{
	char tmp[PATH_MAX];
	int fd;
	bool ok;

	snprintf(tmp, sizeof(tmp), "%.*s.%s.tmp", PATH_MAX - 32, path, rawfile_token());
	unlink(tmp); /* of a drain that was killed at it */
	fd = file_create_own(tmp, O_WRONLY);
	if (fd < 0)
		return false;
	ok = file_write_all(fd, content->data, content->count) == content->count;
	if (close(fd) != 0 || !ok || rename(tmp, path) != 0) {
		unlink(tmp);
		return false;
	}
	return true;
}

static bool is_small(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_size <= LARGE_FILE;
}

uint64_t rawfile_slim(const char *path, uint64_t deadline)
{
	bool wanted = is_small(path) && clock_ns(CLOCK_MONOTONIC) < deadline;
	struct slim *s = wanted ? calloc(1, sizeof(*s)) : NULL;
	char *data = s ? file_read_regular(path, &s->size) : NULL;
	uint64_t result = 0;

	if (data) {
		s->data = (const uint8_t *)data;
		if (make_slim(s) && replace(path, &s->out))
			result = s->out.count;
	}
	if (s) {
		map_release(&s->sets);
		map_release(&s->statuses);
		map_release(&s->numbers);
		free(s->addresses);
		free(s->points);
		free(s->definitions.data);
		packer_release(&s->packer);
		free(s->out.data);
	}
	free(data);
	free(s);
	return result;
}
