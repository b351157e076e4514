/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of synthetic raw files; see synth.h. */
#include "support/synth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#define CHUNK_SIZE (64u << 10)
#define FRAMES     64u

struct frame {
	uint64_t id, start;
	uint32_t site;
	uint16_t op;
};

struct thread {
	struct wire_ring ring;
	uint8_t *memory;
	uint32_t tid;
	uint32_t depth;
	uint64_t next_id;
	uint64_t last; /* tick */
	struct frame frames[FRAMES];
};

struct op {
	const kymo_op_desc_t *desc;
};

struct synth {
	FILE *file;
	char path[512];
	struct synth_options o;
	uint8_t *definitions;
	uint32_t definitions_used;
	uint64_t definitions_seq;
	uint16_t op_count;
	struct op ops[512];
	uint16_t activity[SYNTH_ACTIVITIES];
	uint32_t thread_count, domain_count, set_count;
	struct {
		const kymo_enum_set_t *set;
		uint32_t id;
	} sets[64];
	struct thread threads[SYNTH_THREADS + 1];
};

static void fail(const char *what)
{
	fprintf(stderr, "synth: %s: %s\n", what, strerror(errno));
	exit(99);
}

static uint64_t tick(uint64_t ns)
{
	return SYNTH_TICK0 + ns * 2;
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void write_block(struct synth *s, struct raw_block *b, const void *payload, uint32_t bytes)
{
	void *packed = NULL;

	b->magic = RAW_BLOCK_MAGIC;
	b->raw = b->stored = bytes;
	if (s->o.compress && b->type == RAW_CHUNK) {
		size_t room = ZSTD_compressBound(bytes);

		packed = malloc(room);
		b->stored = (uint32_t)ZSTD_compress(packed, room, payload, bytes, 1);
		b->flags |= RAW_ZSTD;
		payload = packed;
	}
	b->checksum = XXH3_64bits(payload, b->stored);
	if (fwrite(b, sizeof(*b), 1, s->file) != 1 || fwrite(payload, b->stored, 1, s->file) != 1)
		fail(s->path);
	free(packed);
}

static void write_chunk(struct synth *s, const void *chunk, uint64_t last)
{
	struct wire_chunk h;
	struct raw_block b = {.type = RAW_CHUNK};

	memcpy(&h, chunk, sizeof(h));
	b.thread = h.thread;
	b.chunk_type = h.type;
	b.seq = h.seq;
	b.first_tick = h.base_tick;
	b.last_tick = last;
	b.flags = h.type == WIRE_CHUNK_RECORDS ? raw_early_flags(h.early) : 0;
	write_block(s, &b, chunk, h.committed);
}

/* ---- definitions --------------------------------------------------------------------------- */

static void flush_definitions(struct synth *s)
{
	struct wire_chunk h = {.magic = WIRE_CHUNK_MAGIC,
			       .version = WIRE_VERSION,
			       .header_size = sizeof(h),
			       .type = WIRE_CHUNK_DEFINITIONS,
			       .base_tick = SYNTH_TICK0};

	if (s->definitions_used <= sizeof(h))
		return;
	h.seq = s->definitions_seq++;
	h.committed = s->definitions_used;
	memcpy(s->definitions, &h, sizeof(h));
	write_chunk(s, s->definitions, UINT64_MAX);
	s->definitions_used = sizeof(h);
}

void synth_define(struct synth *s, const struct wire_def *d)
{
	size_t n = wire_def_size(d);

	if (s->definitions_used + n > CHUNK_SIZE)
		flush_definitions(s);
	if (n > CHUNK_SIZE - sizeof(struct wire_chunk))
		fail("a definition is too big");
	wire_def_write(d, s->definitions + s->definitions_used);
	s->definitions_used += (uint32_t)n;
}

/* A packed list of little-endian pieces. */
struct pack {
	uint8_t data[16384];
	size_t n;
};

static void pack(struct pack *p, uint64_t v, unsigned bytes)
{
	memcpy(p->data + p->n, &v, bytes);
	p->n += bytes;
}

static void pack_text(struct pack *p, const char *text)
{
	size_t n = strlen(text);

	pack(p, n, 2);
	memcpy(p->data + p->n, text, n);
	p->n += n;
}

static uint32_t set_id(struct synth *s, const kymo_enum_set_t *set)
{
	struct pack p = {.n = 0};
	struct wire_def d;

	if (!set)
		return 0;
	for (uint32_t i = 0; i < s->set_count; i++) {
		if (s->sets[i].set == set)
			return s->sets[i].id;
	}
	s->sets[s->set_count].set = set;
	s->sets[s->set_count].id = s->set_count + 1;
	s->set_count++;
	for (uint32_t i = 0; i < set->count; i++) {
		pack(&p, (uint64_t)set->values[i].value, 8);
		pack_text(&p, set->values[i].name);
	}
	wire_def_init(&d, DEF_ENUM_SET);
	wire_def_u64(&d, s->set_count);
	wire_def_string(&d, set->name);
	wire_def_bytes(&d, p.data, p.n);
	synth_define(s, &d);
	return s->set_count;
}

static void define_op(struct synth *s, uint32_t domain, uint16_t wire, const kymo_op_desc_t *op)
{
	struct pack p = {.n = 0};
	struct wire_def d;
	uint32_t status = set_id(s, op->status_set);

	for (unsigned i = 0; i < op->field_count; i++) {
		const kymo_field_t *f = &op->fields[i];

		pack(&p, f->kind, 1);
		pack(&p, f->element, 1);
		pack(&p, f->size, 1);
		pack(&p, f->flags, 1);
		pack(&p, set_id(s, f->set), 4);
		pack_text(&p, f->name);
		pack_text(&p, f->type);
	}
	wire_def_init(&d, DEF_OP);
	wire_def_u64(&d, wire);
	wire_def_string(&d, op->name);
	wire_def_u64(&d, op->flags);
	wire_def_u64(&d, status);
	wire_def_u64(&d, op->field_count);
	wire_def_bytes(&d, p.data, p.n);
	wire_def_u64(&d, (uint64_t)(int64_t)op->status_ok);
	wire_def_u64(&d, domain);
	synth_define(s, &d);
}

uint16_t synth_domain(struct synth *s, const kymo_domain_desc_t *desc)
{
	uint32_t id = ++s->domain_count;
	uint16_t base = s->op_count;
	struct wire_def d;

	wire_def_init(&d, DEF_DOMAIN);
	wire_def_u64(&d, id);
	wire_def_string(&d, desc->name);
	wire_def_string(&d, desc->title);
	wire_def_u64(&d, base);
	wire_def_u64(&d, desc->op_count);
	wire_def_u64(&d, desc->version);
	synth_define(s, &d);
	for (uint32_t i = 0; i < desc->op_count; i++) {
		define_op(s, id, s->op_count, &desc->ops[i]);
		s->ops[s->op_count++].desc = &desc->ops[i];
	}
	return base;
}

uint16_t synth_activity_base(const struct synth *s, enum synth_activity_domain d)
{
	return s->activity[d];
}

uint32_t synth_thread(struct synth *s, uint32_t tid, const char *name)
{
	uint32_t index = ++s->thread_count;
	struct thread *t = &s->threads[index];
	struct wire_def d;

	t->tid = tid;
	t->next_id = (uint64_t)(index - 1) * (s->o.ids ? s->o.ids : 1000000) + 1;
	t->last = tick(0);
	wire_def_init(&d, DEF_THREAD);
	wire_def_u64(&d, index);
	wire_def_u64(&d, tid);
	wire_def_string(&d, name);
	wire_def_u64(&d, tick(index));
	wire_def_u64(&d, index == 1);
	synth_define(s, &d);
	return index;
}

void synth_clock(struct synth *s, uint32_t id, const char *name)
{
	struct wire_def d;

	wire_def_init(&d, DEF_CLOCK);
	wire_def_u64(&d, id);
	wire_def_string(&d, name);
	wire_def_string(&d, "device");
	wire_def_u64(&d, 1000);
	synth_define(s, &d);
}

void synth_clock_sync(struct synth *s, uint32_t id, uint64_t before, uint64_t after, uint64_t value)
{
	struct wire_def d;

	wire_def_init(&d, DEF_CLOCK_SYNC);
	wire_def_u64(&d, id);
	wire_def_u64(&d, tick(before));
	wire_def_u64(&d, tick(after));
	wire_def_u64(&d, value);
	wire_def_u64(&d, 1);
	synth_define(s, &d);
}

void synth_agent(struct synth *s, uint32_t id, const char *type, const char *name, uint32_t clock)
{
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, id);
	wire_def_string(&d, type);
	wire_def_string(&d, name);
	wire_def_string(&d, "Synthetic");
	wire_def_string(&d, "1.0");
	wire_def_string(&d, "test");
	wire_def_u64(&d, 0xa000 + id);
	wire_def_u64(&d, 0);
	wire_def_string(&d, "{\"units\":4}");
	wire_def_u64(&d, clock);
	wire_def_string(&d, "");
	wire_def_string(&d, "Test platform");
	synth_define(s, &d);
}

void synth_context(struct synth *s, uint32_t id, uint64_t handle)
{
	struct wire_def d;

	wire_def_init(&d, DEF_DEVICE_CONTEXT);
	wire_def_u64(&d, id);
	wire_def_string(&d, "test");
	wire_def_u64(&d, handle);
	wire_def_string(&d, "");
	wire_def_u64(&d, tick(1));
	synth_define(s, &d);
}

void synth_queue(struct synth *s, uint32_t id, uint32_t agent, uint32_t context, uint32_t flags,
		 const char *name)
{
	struct wire_def d;

	wire_def_init(&d, DEF_QUEUE);
	wire_def_u64(&d, id);
	wire_def_string(&d, "test");
	wire_def_u64(&d, 0xb000 + id);
	wire_def_u64(&d, agent);
	wire_def_u64(&d, context);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, flags);
	wire_def_u64(&d, tick(2));
	wire_def_string(&d, name);
	synth_define(s, &d);
}

void synth_kernel(struct synth *s, uint32_t id, const char *name, uint32_t program)
{
	struct wire_def d;

	wire_def_init(&d, DEF_KERNEL);
	wire_def_u64(&d, id);
	wire_def_string(&d, "test");
	wire_def_string(&d, name);
	wire_def_u64(&d, program);
	wire_def_u64(&d, 0xc000 + id);
	wire_def_u64(&d, tick(3));
	synth_define(s, &d);
}

void synth_site(struct synth *s, uint32_t id, uint64_t address)
{
	struct wire_def d;

	wire_def_init(&d, DEF_SITE);
	wire_def_u64(&d, id);
	wire_def_u64(&d, address);
	synth_define(s, &d);
}

void synth_note(struct synth *s, int severity, const char *text, uint64_t time)
{
	struct wire_def d;

	wire_def_init(&d, DEF_NOTE);
	wire_def_u64(&d, (uint64_t)severity);
	wire_def_string(&d, "test");
	wire_def_string(&d, text);
	wire_def_u64(&d, tick(time));
	wire_def_u64(&d, 0);
	synth_define(s, &d);
}

void synth_tick_point(struct synth *s, uint64_t at, uint64_t ns)
{
	struct raw_block b = {.type = RAW_TICK_SYNC};
	struct raw_tick_sync sync = {at - 50, at + 50, ns, SYNTH_REALTIME0 + ns - SYNTH_NS0};

	write_block(s, &b, &sync, sizeof(sync));
}

void synth_tick_sync(struct synth *s, uint64_t time)
{
	synth_tick_point(s, tick(time), SYNTH_NS0 + time);
}

/* ---- records ------------------------------------------------------------------------------- */

static uint32_t chunk_size(const struct synth *s)
{
	return s->o.chunk_size ? s->o.chunk_size : CHUNK_SIZE;
}

static void fill_open(struct wire_chunk *h, const struct thread *t)
{
	h->open_depth = t->depth;
	h->early = WIRE_EARLY_SAID;
	for (uint32_t i = 0; i < t->depth && i < WIRE_OPEN_MAX; i++) {
		const struct frame *f = &t->frames[i];

		h->open[i] = (struct wire_open){f->id, f->start, f->op, f->site};
		wire_chunk_early(h, f->start);
	}
}

/* `now`: tick at which the chunk begins; no record in it may end before. */
static void begin_chunk(struct synth *s, uint32_t index, uint64_t now)
{
	struct thread *t = &s->threads[index];
	uint32_t size = chunk_size(s);
	struct wire_chunk *h;

	if (!t->memory)
		t->memory = calloc(1, size + WIRE_SLACK);
	if (!t->memory)
		fail("memory");
	h = (struct wire_chunk *)t->memory;
	memset(h, 0, sizeof(*h));
	h->magic = WIRE_CHUNK_MAGIC;
	h->version = WIRE_VERSION;
	h->header_size = sizeof(*h);
	h->type = WIRE_CHUNK_RECORDS;
	h->thread = index;
	h->tid = t->tid;
	h->committed = sizeof(*h);
	h->seq = t->ring.seq++;
	h->base_tick = t->ring.last_tick = now;
	h->next_id = t->ring.next_id = t->next_id;
	h->scope = t->ring.scope;
	h->external = t->ring.external;
	h->pointer_base = t->ring.pointer_base = 0x7f1200000000ull;
	h->lost = t->ring.lost;
	t->ring.lost = 0;
	fill_open(h, t);
	t->ring.chunk = h;
	t->ring.cur = t->memory + sizeof(*h);
	t->ring.limit = t->memory + size - WIRE_RECORD_MAX - WIRE_SLACK;
}

void synth_flush(struct synth *s, uint32_t thread)
{
	struct thread *t = &s->threads[thread];

	flush_definitions(s);
	if (t->ring.chunk && t->ring.cur > t->memory + sizeof(struct wire_chunk))
		write_chunk(s, t->memory, t->last);
	t->ring.chunk = NULL;
	t->ring.cur = NULL;
}

void synth_tallies(struct synth *s, uint32_t thread, const struct wire_tally *y, uint32_t count)
{
	uint32_t bytes = count * (uint32_t)sizeof(*y);
	struct wire_chunk *h;

	synth_flush(s, thread);
	begin_chunk(s, thread, SYNTH_TICK0);
	h = s->threads[thread].ring.chunk;
	h->type = WIRE_CHUNK_TALLY;
	if (sizeof(*h) + bytes > chunk_size(s))
		fail("too many tallies");
	memcpy(h + 1, y, bytes);
	h->committed = (uint32_t)sizeof(*h) + bytes;
	write_chunk(s, h, UINT64_MAX);
	s->threads[thread].ring.chunk = NULL;
	s->threads[thread].ring.cur = NULL;
}

void synth_drop(struct synth *s, uint32_t thread, uint64_t count)
{
	synth_flush(s, thread);
	s->threads[thread].ring.lost += count;
}

void synth_lose_chunk(struct synth *s, uint32_t thread)
{
	synth_flush(s, thread);
	s->threads[thread].ring.seq++;
}

static void encode(struct wire_enc *e, unsigned i, const kymo_field_t *f,
		   const struct synth_value *v)
{
	size_t cap = v->cap ? v->cap : SIZE_MAX;

	switch (f->kind) {
	case KYMO_KIND_SIGNED:
		wire_signed(e, i, (int64_t)v->u, f->size);
		break;
	case KYMO_KIND_FLOAT:
		if (f->size == 4)
			wire_float(e, i, (float)v->f);
		else
			wire_double(e, i, v->f);
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		wire_pointer(e, i, (const void *)(uintptr_t)v->u);
		break;
	case KYMO_KIND_STRING:
		wire_string(e, i, v->data, cap);
		break;
	case KYMO_KIND_BYTES:
	case KYMO_KIND_ARRAY:
		wire_array(e, i, v->data, v->count, f->kind == KYMO_KIND_BYTES ? 1 : f->size, cap);
		break;
	default:
		wire_unsigned(e, i, v->u);
		break;
	}
}

/* As core does. */
static void note_early(const struct synth *s, struct wire_chunk *h, const struct wire_event *v)
{
	const uint16_t *base = s->activity;

	if ((v->op >= base[SYNTH_DISPATCH] && v->op < base[SYNTH_DISPATCH] + DISPATCH_OPS) ||
	    (v->op >= base[SYNTH_COPY] && v->op < base[SYNTH_COPY] + COPY_OPS) ||
	    s->ops[v->op].desc->flags & KYMO_OP_TIMED)
		wire_chunk_any_time(h);
	else
		wire_chunk_early(h, v->start);
}

static void write_record(struct synth *s, uint32_t thread, const struct wire_event *v,
			 const struct synth_value *values)
{
	struct thread *t = &s->threads[thread];
	const kymo_op_desc_t *op = s->ops[v->op].desc;
	struct wire_enc e;

	if (t->ring.cur && t->ring.cur > t->ring.limit)
		synth_flush(s, thread);
	if (!t->ring.cur)
		begin_chunk(s, thread, t->last);
	t->last = v->end;
	note_early(s, t->ring.chunk, v);
	wire_begin(&e, &t->ring, v, op->field_count);
	for (unsigned i = 0; i < op->field_count && !v->no_fields; i++)
		encode(&e, i, &op->fields[i], &values[i]);
	wire_end(&e, &t->ring);
}

uint64_t synth_enter(struct synth *s, uint32_t thread, uint16_t op, uint64_t time, uint32_t site)
{
	struct thread *t = &s->threads[thread];
	struct frame *f = &t->frames[t->depth++];

	*f = (struct frame){t->next_id++, tick(time), site, op};
	return f->id;
}

void synth_leave_as(struct synth *s, uint32_t thread, uint64_t time, const struct wire_event *as,
		    const struct synth_value *values)
{
	struct thread *t = &s->threads[thread];
	const struct frame *f = &t->frames[--t->depth];
	struct wire_event v = *as;

	v.id = f->id;
	v.parent = t->depth ? f[-1].id : 0;
	v.start = f->start;
	v.end = tick(time);
	v.op = f->op;
	v.site = f->site;
	write_record(s, thread, &v, values);
}

void synth_leave(struct synth *s, uint32_t thread, uint64_t time, int32_t status, bool ok,
		 const struct synth_value *values)
{
	struct wire_event v = {.status = status, .has_status = !ok};

	synth_leave_as(s, thread, time, &v, values);
}

void synth_activity(struct synth *s, uint32_t thread, uint16_t op, uint64_t start, uint64_t end,
		    const struct synth_value *values)
{
	struct wire_event v = {.start = tick(start), .end = tick(end), .op = op};

	write_record(s, thread, &v, values);
}

/* ---- files --------------------------------------------------------------------------------- */

static void define_process(struct synth *s)
{
	const char *command = s->o.command ? s->o.command : "demo --size 64";
	char argv[1024];
	struct wire_def d;

	snprintf(argv, sizeof(argv), "%s", command);
	for (char *p = argv; *p; p++)
		*p = *p == ' ' ? '\0' : *p;
	wire_def_init(&d, DEF_PROCESS);
	wire_def_u64(&d, s->o.pid);
	wire_def_u64(&d, 1);
	wire_def_string(&d, s->o.exe ? s->o.exe : "/usr/bin/demo");
	wire_def_bytes(&d, argv, strlen(command) + 1);
	wire_def_string(&d, "/home/user");
	wire_def_string(&d, s->o.host ? s->o.host : "node1");
	wire_def_u64(&d, 1);
	wire_def_u64(&d, 2000000000);
	wire_def_u64(&d, SYNTH_REALTIME0 + s->o.later);
	wire_def_u64(&d, SYNTH_NS0);
	wire_def_u64(&d, SYNTH_TICK0);
	wire_def_bytes(&d, "A=1", 4);
	wire_def_u64(&d, 0);
	wire_def_string(&d, "0.1.0");
	wire_def_u64(&d, 2);
	wire_def_u64(&d, 1000);
	synth_define(s, &d);
}

static void write_header(struct synth *s)
{
	struct raw_header h = {.magic = RAW_MAGIC,
			       .version = RAW_VERSION,
			       .header_size = sizeof(h),
			       .pid = s->o.pid,
			       .wire_version = WIRE_VERSION,
			       .created_realtime = SYNTH_REALTIME0,
			       .rank = s->o.rank};

	snprintf((char *)h.hostname, sizeof(h.hostname), "%s", s->o.host ? s->o.host : "node1");
	snprintf((char *)h.job, sizeof(h.job), "%s", s->o.job ? s->o.job : "");
	if (fwrite(&h, sizeof(h), 1, s->file) != 1)
		fail(s->path);
}

/* From synth_traces.c. */
extern const kymo_domain_desc_t *const synth_activity_domains[SYNTH_ACTIVITIES];

struct synth *synth_open(const struct synth_options *o)
{
	struct synth *s = calloc(1, sizeof(*s));

	if (!s)
		fail("memory");
	s->o = *o;
	mkdir(o->directory, 0777);
	snprintf(s->path, sizeof(s->path), "%s/raw", o->directory);
	mkdir(s->path, 0777);
	snprintf(s->path, sizeof(s->path), "%s/raw/node1-%u-%u.kyr", o->directory, o->pid,
		 o->image);
	s->file = fopen(s->path, "we");
	s->definitions = malloc(CHUNK_SIZE);
	if (!s->file || !s->definitions)
		fail(s->path);
	s->definitions_used = sizeof(struct wire_chunk);
	write_header(s);
	if (!o->no_clock)
		synth_tick_sync(s, 0);
	define_process(s);
	for (int i = 0; i < SYNTH_ACTIVITIES; i++)
		s->activity[i] = synth_domain(s, synth_activity_domains[i]);
	return s;
}

const char *synth_path(const struct synth *s)
{
	return s->path;
}

static void write_open_calls(struct synth *s)
{
	struct raw_block b = {.type = RAW_OPEN_CALLS};
	struct raw_open calls[SYNTH_THREADS * 4];
	uint32_t n = 0;

	for (uint32_t i = 1; i <= s->thread_count; i++) {
		const struct thread *t = &s->threads[i];

		for (uint32_t k = 0; k < t->depth && n < SYNTH_THREADS * 4; k++) {
			const struct frame *f = &t->frames[k];

			calls[n++] = (struct raw_open){
				{f->id, f->start, f->op, f->site}, i, t->tid, k, 0};
		}
	}
	if (n)
		write_block(s, &b, calls, n * (uint32_t)sizeof(calls[0]));
}

void synth_abandon(struct synth *s)
{
	for (uint32_t i = 1; i <= s->thread_count; i++)
		free(s->threads[i].memory);
	if (fclose(s->file) != 0)
		fail(s->path);
	free(s->definitions);
	free(s);
}

void synth_close(struct synth *s, uint32_t how, int32_t status, uint64_t time)
{
	struct raw_block b = {.type = RAW_END};
	struct raw_end end = {.how = how,
			      .status = status,
			      .tick = tick(time),
			      .lost_records = s->o.lost,
			      .lost_definitions = s->o.lost,
			      .damaged_chunks = s->o.damaged,
			      .overwritten_records = s->o.overwritten};

	for (uint32_t i = 1; i <= s->thread_count; i++)
		synth_flush(s, i);
	flush_definitions(s);
	write_open_calls(s);
	if (!s->o.no_clock)
		synth_tick_sync(s, time > 1000000000 ? time : 1000000000);
	write_block(s, &b, &end, sizeof(end));
	synth_abandon(s);
}
