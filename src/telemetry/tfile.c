/* SPDX-License-Identifier: Apache-2.0 */
/* The telemetry's raw file; see tfile.h. */
#include "telemetry/tfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kymo/counter.h>

#include "base/clock.h"
#include "base/job.h"
#include "drain/compress.h"
#include "drain/rawfile.h"
#include "wire/defs.h"
#include "wire/shm.h"

enum { CHUNK = 65536, THREAD = 1, DOMAIN = 1, OP_SAMPLE = 1 };

struct chunk {
	union {
		struct wire_chunk head;
		uint8_t bytes[CHUNK];
	};
};

struct tfile {
	struct rawfile file;
	struct chunk records, definitions;
	struct wire_ring ring;
	uint64_t definitions_seq;
	uint64_t flushed; /* when the file had all of it last, ns */
};

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

/* ---- chunks -------------------------------------------------------------------------------- */

static void chunk_begin(struct chunk *c, enum wire_chunk_type type, uint64_t seq, uint64_t tick)
{
	memset(&c->head, 0, sizeof(c->head));
	c->head.magic = WIRE_CHUNK_MAGIC;
	c->head.version = WIRE_VERSION;
	c->head.header_size = sizeof(c->head);
	c->head.type = type;
	c->head.thread = type == WIRE_CHUNK_RECORDS ? THREAD : 0;
	c->head.tid = (uint32_t)syscall(SYS_gettid);
	c->head.seq = seq;
	c->head.base_tick = tick;
	c->head.early = WIRE_EARLY_SAID;
	atomic_store(&c->head.committed, sizeof(c->head));
}

static void records_begin(struct tfile *o)
{
	uint64_t seq = o->ring.seq, now = now_ns();

	chunk_begin(&o->records, WIRE_CHUNK_RECORDS, seq, now);
	o->ring =
		(struct wire_ring){.cur = o->records.bytes + sizeof(o->records.head),
				   .limit = o->records.bytes + CHUNK - WIRE_RECORD_MAX - WIRE_SLACK,
				   .chunk = &o->records.head,
				   .last_tick = now,
				   .seq = seq + 1};
}

static void definitions_begin(struct tfile *o)
{
	chunk_begin(&o->definitions, WIRE_CHUNK_DEFINITIONS, o->definitions_seq++, now_ns());
}

static void chunk_write(struct tfile *o, const struct chunk *c, uint64_t last)
{
	uint32_t n = atomic_load(&c->head.committed);
	bool needed = c->head.type == WIRE_CHUNK_DEFINITIONS;
	uint8_t *to = n <= sizeof(c->head) ? NULL
		      : needed             ? rawfile_reserve_needed(&o->file, n)
					   : rawfile_reserve(&o->file, n);
	struct raw_block b = {.type = RAW_CHUNK,
			      .flags = needed ? 0 : raw_early_flags(c->head.early),
			      .thread = c->head.thread,
			      .chunk_type = c->head.type,
			      .seq = c->head.seq,
			      .first_tick = c->head.base_tick,
			      .last_tick = last,
			      .raw = n};

	if (!to)
		return;
	memcpy(to, c, n);
	if (needed)
		rawfile_commit_needed(&o->file, &b);
	else
		rawfile_commit(&o->file, &b);
}

static void flush_records(struct tfile *o)
{
	if (atomic_load(&o->records.head.committed) == sizeof(o->records.head))
		return;
	chunk_write(o, &o->records, o->ring.last_tick);
	records_begin(o);
}

static void flush_definitions(struct tfile *o)
{
	if (atomic_load(&o->definitions.head.committed) == sizeof(o->definitions.head))
		return;
	chunk_write(o, &o->definitions, UINT64_MAX);
	definitions_begin(o);
}

void tfile_flush(struct tfile *o, bool all)
{
	uint64_t now = now_ns();

	if (!all && now - o->flushed < SECOND)
		return;
	o->flushed = now;
	flush_definitions(o);
	flush_records(o);
	rawfile_flush(&o->file);
}

/* ---- definitions --------------------------------------------------------------------------- */

static void write_definition(struct tfile *o, const struct wire_def *d)
{
	size_t n = wire_def_size(d);
	uint32_t used = atomic_load(&o->definitions.head.committed);

	if (used + n > CHUNK) {
		flush_definitions(o);
		used = sizeof(o->definitions.head);
	}
	if (used + n > CHUNK) {
		o->file.lost_definitions++;
		return;
	}
	wire_def_write(d, o->definitions.bytes + used);
	atomic_store(&o->definitions.head.committed, used + (uint32_t)n);
}

static void define_process(struct tfile *o, const char *host)
{
	struct tick_sync s;
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct wire_def d;

	tick_sync_take(&s);
	wire_def_init(&d, DEF_PROCESS);
	wire_def_u64(&d, (uint64_t)getpid());
	wire_def_u64(&d, (uint64_t)getppid());
	wire_def_bytes(&d, exe, n > 0 ? (size_t)n : 0);
	wire_def_bytes(&d, "telemetry", sizeof("telemetry"));
	wire_def_string(&d, "");
	wire_def_string(&d, host);
	wire_def_u64(&d, TICK_MONOTONIC_RAW);
	wire_def_u64(&d, SECOND);
	wire_def_u64(&d, s.realtime);
	wire_def_u64(&d, s.monotonic_raw);
	wire_def_u64(&d, s.monotonic_raw);
	wire_def_string(&d, "");
	wire_def_u64(&d, 0);
	wire_def_string(&d, KYMO_VERSION);
	wire_def_u64(&d, 2);
	wire_def_u64(&d, (uint64_t)getuid());
	wire_def_u64(&d, PROCESS_TELEMETRY);
	write_definition(o, &d);
}

static uint8_t *put_text(uint8_t *p, const char *s)
{
	uint16_t n = (uint16_t)strlen(s);

	memcpy(p, &n, 2);
	memcpy(p + 2, s, n);
	return p + 2 + n;
}

/* The fields that records of counters have as well, as far as they mean something here. */
enum field { FIELD_COUNTER, FIELD_INSTANCE, FIELD_VALUE, FIELD_AGENT, FIELD_DURATION, FIELDS };

static size_t put_fields(uint8_t *out)
{
	static const struct {
		const char *name, *type;
		uint8_t kind;
	} fields[FIELDS] = {
		[FIELD_COUNTER] = {"counter", "counter", KYMO_KIND_REF},
		[FIELD_INSTANCE] = {"instance", "u64", KYMO_KIND_UNSIGNED},
		[FIELD_VALUE] = {"value", "double", KYMO_KIND_FLOAT},
		[FIELD_AGENT] = {"agent", "agent", KYMO_KIND_REF},
		[FIELD_DURATION] = {"duration", "ns", KYMO_KIND_TIME},
	};
	uint8_t *p = out;

	for (unsigned i = 0; i < FIELDS; i++) {
		*p++ = fields[i].kind;
		*p++ = 0;
		*p++ = 8;
		*p++ = 0;
		memset(p, 0, 4); /* no set of names */
		p = put_text(put_text(p + 4, fields[i].name), fields[i].type);
	}
	return (size_t)(p - out);
}

static void define_schema(struct tfile *o)
{
	uint8_t fields[256];
	struct wire_def d;

	wire_def_init(&d, DEF_DOMAIN);
	wire_def_u64(&d, DOMAIN);
	wire_def_string(&d, "telemetry");
	wire_def_string(&d, "Telemetry");
	wire_def_u64(&d, OP_SAMPLE);
	wire_def_u64(&d, 1);
	wire_def_u64(&d, 1);
	write_definition(o, &d);
	wire_def_init(&d, DEF_OP);
	wire_def_u64(&d, OP_SAMPLE);
	wire_def_string(&d, "sample");
	wire_def_u64(&d, KYMO_OP_MINIMAL | KYMO_OP_ACTIVITY);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, FIELDS);
	wire_def_bytes(&d, fields, put_fields(fields));
	wire_def_u64(&d, 0);
	wire_def_u64(&d, DOMAIN);
	write_definition(o, &d);
	wire_def_init(&d, DEF_THREAD);
	wire_def_u64(&d, THREAD);
	wire_def_u64(&d, (uint64_t)syscall(SYS_gettid));
	wire_def_string(&d, "telemetry");
	wire_def_u64(&d, now_ns());
	wire_def_u64(&d, 1);
	write_definition(o, &d);
}

void tfile_device(struct tfile *o, uint32_t id, const struct device_info *i)
{
	char properties[64] = "{}";
	struct wire_def d;

	if (i->pci)
		snprintf(properties, sizeof(properties), "{\"pci\":\"%.20s\"}", i->pci);
	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, id);
	wire_def_string(&d, i->type);
	wire_def_string(&d, i->name);
	wire_def_string(&d, i->vendor);
	wire_def_string(&d, i->driver);
	wire_def_string(&d, "telemetry");
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_string(&d, properties);
	wire_def_u64(&d, 0);
	wire_def_bytes(&d, i->uuid, i->uuid ? 16 : 0);
	wire_def_string(&d, "");
	write_definition(o, &d);
}

void tfile_metric(struct tfile *o, uint32_t id, const struct metric_info *m, const char *provider)
{
	struct wire_def d;

	wire_def_init(&d, DEF_COUNTER);
	wire_def_u64(&d, id);
	wire_def_string(&d, m->name);
	wire_def_string(&d, m->unit);
	wire_def_string(&d, m->description);
	wire_def_string(&d, provider);
	wire_def_u64(&d, m->device);
	wire_def_u64(&d, m->kind == METRIC_LEVEL ? KYMO_COUNTER_GAUGE : 0);
	wire_def_string(&d, m->dimensions);
	write_definition(o, &d);
}

void tfile_note(struct tfile *o, enum note_severity severity, const char *text, uint64_t count)
{
	struct wire_def d;

	wire_def_init(&d, DEF_NOTE);
	wire_def_u64(&d, severity);
	wire_def_string(&d, "telemetry");
	wire_def_string(&d, text);
	wire_def_u64(&d, now_ns());
	wire_def_u64(&d, count);
	write_definition(o, &d);
}

/* ---- values -------------------------------------------------------------------------------- */

void tfile_value(struct tfile *o, const struct tfile_value *v)
{
	struct wire_event e = {.op = OP_SAMPLE, .start = v->before, .end = v->after};
	struct wire_enc enc;

	if (o->ring.cur > o->ring.limit)
		flush_records(o);
	e.id = o->ring.next_id;
	wire_chunk_early(&o->records.head, e.start);
	wire_begin(&enc, &o->ring, &e, FIELDS);
	wire_unsigned(&enc, FIELD_COUNTER, v->metric);
	wire_unsigned(&enc, FIELD_INSTANCE, v->instance);
	wire_double(&enc, FIELD_VALUE, v->value);
	wire_unsigned(&enc, FIELD_AGENT, v->device);
	wire_unsigned(&enc, FIELD_DURATION, v->duration);
	wire_end(&enc, &o->ring);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void write_sync(struct tfile *o)
{
	struct tick_sync s;
	struct raw_tick_sync raw;

	tick_sync_take(&s);
	/* The ticks of this file are the clock's own nanoseconds. */
	raw = (struct raw_tick_sync){s.monotonic_raw, s.monotonic_raw, s.monotonic_raw, s.realtime};
	rawfile_add(&o->file, RAW_TICK_SYNC, &raw, sizeof(raw));
}

/* The drain of a program that ends at once may go meanwhile, which removes what has no name yet (place_remove): once. */
static bool create(struct rawfile *f, const char *trace, const struct raw_header *h)
{
	return rawfile_create_as(f, trace, "telemetry", h) ||
	       (errno == ENOENT && rawfile_create_as(f, trace, "telemetry", h));
}

struct tfile *tfile_open(const char *trace)
{
	struct tfile *o = calloc(1, sizeof(*o));
	struct raw_header h = {.magic = RAW_MAGIC,
			       .version = RAW_VERSION,
			       .header_size = sizeof(h),
			       .pid = (uint32_t)getpid(),
			       .wire_version = WIRE_VERSION,
			       .created_realtime = clock_ns(CLOCK_REALTIME),
			       .rank = SHM_NONE};
	struct job job;
	int error;

	if (!o)
		return NULL;
	tick_init();
	gethostname((char *)h.hostname, sizeof(h.hostname) - 1);
	job_of_process(&job, 0);
	memcpy(h.job, job.world, sizeof(h.job));
	if (!create(&o->file, trace, &h)) {
		error = errno;
		free(o);
		errno = error;
		return NULL;
	}
	definitions_begin(o);
	records_begin(o);
	define_process(o, (const char *)h.hostname);
	define_schema(o);
	write_sync(o);
	tfile_flush(o, true);
	return o;
}

int tfile_close(struct tfile *o, bool compress)
{
	struct raw_end end = {.status = -1, .tick = now_ns()};
	char path[PATH_MAX];
	int error;

	flush_definitions(o);
	flush_records(o);
	write_sync(o);
	rawfile_flush(&o->file);
	end.lost_records = o->file.lost_records;
	end.lost_definitions = o->file.lost_definitions;
	rawfile_end(&o->file, &end);
	memcpy(path, o->file.path, sizeof(path));
	rawfile_close(&o->file);
	error = o->file.failed;
	free(o);
	if (compress && !error)
		compress_file(path, clock_ns(CLOCK_MONOTONIC) + SECOND);
	return error;
}
