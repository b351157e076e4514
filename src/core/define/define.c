/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definitions stream. Everything defined is kept, so that a buffer made later (a tool that
 * attaches late, a forked child) gets it all, and is written at once to the buffers that exist.
 */
#include "core/context/context.h"
#include "base/hash.h"
#include "base/locks.h"
#include "base/variables.h"
#include "base/vec.h"
#include "core/define/define.h"
#include "core/process/process.h"
#include "core/publish/publish.h"
#include "core/ring/ring.h"
#include "core/tally/tally.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOB_CAP (1u << 20)
#define WAIT_NS  1000000000u /* for a chunk; afterwards the definition is lost and counted */
#define WAITS    5u /* in vain, until nothing is waited for: a drain may look alive and do nothing */
#define SLAB     (64u << 10)

struct slab {
	struct slab *next;
	size_t used, size;
	uint8_t data[];
};

static struct slab *first, *last;
static _Alignas(struct slab) uint8_t first_slab[sizeof(struct slab) + SLAB];
/* Where there is no memory to keep one; how many buffers to come will lack. Under `define`. */
static uint8_t unkept[CORE_CHUNK_BYTES];
static uint64_t forgotten;
static _Atomic uint32_t ids[DEF_COUNT];
_Atomic uint64_t core_untraced, core_untimed;

/* ---- writing to a buffer; caller holds `define` ---- */

static void chunk_begin(struct core_buffer *b)
{
	uint64_t wait = b->definitions_waits < WAITS ? WAIT_NS : 0;
	uint32_t chunk = core_pool_get(b->pool, SHM_LIST_DEFINITIONS, wait);
	struct wire_chunk *c;

	b->definitions = NULL;
	if (chunk == SHM_NONE) {
		b->definitions_waits += wait != 0;
		return;
	}
	b->definitions_waits = 0;
	c = core_chunk(b->pool, chunk);
	memset(c, 0, sizeof(*c));
	c->magic = WIRE_CHUNK_MAGIC;
	c->version = WIRE_VERSION;
	c->header_size = sizeof(*c);
	c->type = WIRE_CHUNK_DEFINITIONS;
	c->seq = b->definitions_seq++;
	c->base_tick = tick_now();
	atomic_store_explicit(&c->committed, sizeof(*c), memory_order_release);
	b->definitions = c;
	b->definitions_chunk = chunk;
	b->definitions_used = sizeof(*c);
}

static void write_bytes(struct core_buffer *b, const void *data, size_t n)
{
	uint32_t used;

	kymo_assert_held(&core_live->define);
	if (b->definitions && b->definitions_used + n > b->pool->chunk_size) {
		core_pool_put(b->pool, b->definitions_chunk);
		b->definitions = NULL;
	}
	if (!b->definitions)
		chunk_begin(b);
	if (!b->definitions || sizeof(struct wire_chunk) + n > b->pool->chunk_size) {
		atomic_fetch_add(&b->pool->shm->lost_definitions, 1);
		return;
	}
	used = b->definitions_used;
	memcpy((uint8_t *)b->definitions + used, data, n);
	b->definitions_used = used + (uint32_t)n;
	atomic_store_explicit(&b->definitions->committed, b->definitions_used,
			      memory_order_release);
}

static void write_all(const void *data, size_t n)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (core_buffers[i].used && core_buffers[i].defines)
			write_bytes(&core_buffers[i], data, n);
}

static void lose_all(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (core_buffers[i].used && core_buffers[i].defines)
			atomic_fetch_add(&core_buffers[i].pool->shm->lost_definitions, 1);
}

/* ---- keeping ---- */

static uint8_t *keep(size_t n)
{
	uint8_t *p;

	kymo_assert_held(&core_live->define);
	kymo_assert(n % 4 == 0); /* definitions follow one another */
	if (!last || last->size - last->used < n) {
		size_t size = n > SLAB ? n : SLAB;
		struct slab *s =
			first || n > SLAB ? malloc(sizeof(*s) + size) : (struct slab *)first_slab;

		if (!s)
			return NULL;
		*s = (struct slab){NULL, 0, size};
		if (last)
			last->next = s;
		else
			first = s;
		last = s;
	}
	p = last->data + last->used;
	last->used += n;
	return p;
}

static void define(const struct wire_def *d)
{
	size_t n = wire_def_size(d);
	uint64_t before;
	uint8_t *p;

	core_definitions_hold(&before);
	p = keep(n);
	forgotten += !p;
	if (!p && n <= sizeof(unkept))
		p = unkept;
	if (p) {
		wire_def_write(d, p);
		write_all(p, n);
	} else {
		lose_all();
	}
	core_definitions_let_go(&before);
}

void cap_define(const struct wire_def *d)
{
	int saved = errno;
	struct cap_timed timed;
	struct wire_def named;

	d = core_kernel_named(d, &named);
	if (core_defines()) {
		cap_timed_begin(&timed);
		define(d);
		cap_timed_end(&timed, UINT64_MAX);
		if (cap_unlikely(d->kind == DEF_CLOCK_SYNC || d->kind == DEF_CLOCK ||
				 d->kind == DEF_AGENT))
			core_clock_defined(d);
		if (cap_unlikely(cap_wants(CAP_ACTIVITY_OBJECTS | CAP_ACTIVITY_CODE_OBJECT)))
			core_objects_defined(d);
	}
	errno = saved;
}

/* Neither kept nor told to tools: the thread that was first does so. */
void cap_define_also(const struct wire_def *d)
{
	struct wire_def named;
	int saved = errno;
	uint64_t before;
	size_t n;

	d = core_kernel_named(d, &named);
	n = wire_def_size(d);
	if (n > sizeof(unkept) || !core_usable())
		return;
	core_definitions_hold(&before);
	wire_def_write(d, unkept);
	write_all(unkept, n);
	core_definitions_let_go(&before);
	errno = saved;
}

/* ---- reading them again ---- */

uint8_t *core_definitions_copy(bool (*wanted)(const struct wire_def *d), size_t *bytes)
{
	uint8_t *copy = NULL;
	size_t room = 0;
	struct wire_def d;

	kymo_assert_held(&core_live->define);
	*bytes = 0;
	for (struct slab *s = first; s; s = s->next) {
		const uint8_t *p = s->data, *end = s->data + s->used, *at = p;

		for (; wire_def_read(&p, end, &d) == 1; at = p) {
			size_t n = (size_t)(p - at);

			if (!wanted(&d))
				continue;
			if (!vec_reserve(&copy, &room, *bytes, n))
				return copy;
			memcpy(copy + *bytes, at, n);
			*bytes += n;
		}
	}
	return copy;
}

/* The last one of the id. */
uint8_t *core_definition_find(uint16_t kind, uint64_t id, struct wire_def *out)
{
	const uint8_t *found = NULL, *q;
	size_t n = 0;
	struct wire_def d;
	uint8_t *copy;

	kymo_assert_held(&core_live->define);
	for (struct slab *s = first; s; s = s->next) {
		const uint8_t *p = s->data, *end = s->data + s->used, *at = p;

		for (; wire_def_read(&p, end, &d) == 1; at = p) {
			if (d.kind != kind || wire_def_get(&d, 0) != id)
				continue;
			found = at;
			n = (size_t)(p - at);
		}
	}
	copy = found ? malloc(n) : NULL;
	if (!copy)
		return NULL;
	memcpy(copy, found, n);
	q = copy;
	wire_def_read(&q, copy + n, out);
	return copy;
}

static bool is_thread(const struct wire_def *d)
{
	return (d->kind == DEF_THREAD || d->kind == DEF_THREAD_END) &&
	       wire_def_get(d, DEF_THREAD_INDEX) < CORE_TRACKS;
}

/* Of an earlier recording of this process. */
static bool is_past(const struct wire_def *d)
{
	if (d->kind == DEF_THREAD && is_thread(d))
		return syscall(SYS_tgkill, getpid(), (int)wire_def_get(d, DEF_THREAD_TID), 0) != 0;
	return is_thread(d) || d->kind == DEF_PROCESS || d->kind == DEF_PROCESS_END ||
	       d->kind == DEF_RECORDING || d->kind == DEF_OVERHEAD;
}

/* They stay where they are, as nothing. */
static void forget(bool (*gone)(const struct wire_def *d))
{
	for (struct slab *s = first; s; s = s->next) {
		const uint8_t *p = s->data, *end = s->data + s->used, *at = p;
		const uint16_t nothing = 0;
		struct wire_def d;

		for (; wire_def_read(&p, end, &d) == 1; at = p)
			if (gone(&d))
				memcpy((uint8_t *)(uintptr_t)at, &nothing, sizeof(nothing));
	}
}

void core_define_replay(struct core_buffer *b)
{
	if (core_buffer_private(b))
		return;
	pthread_mutex_lock(&core_live->define);
	for (struct slab *s = first; s; s = s->next) {
		const uint8_t *p = s->data, *end = s->data + s->used;
		uint32_t bytes;

		for (; p < end; p += bytes) {
			memcpy(&bytes, p + 4, 4);
			write_bytes(b, p, bytes);
		}
	}
	atomic_fetch_add(&b->pool->shm->lost_definitions, forgotten);
	b->defines = true;
	pthread_mutex_unlock(&core_live->define);
}

uint32_t cap_new_id(enum wire_def_kind kind)
{
	kymo_assert(kind < DEF_COUNT);
	return atomic_fetch_add(&ids[kind], 1) + 1;
}

uint64_t cap_new_allocation(void)
{
	static _Atomic uint64_t allocations;

	return atomic_fetch_add(&allocations, 1) + 1;
}

/* ---- blobs ---- */

struct blob_seen {
	uint64_t hash, length;
	uint32_t id;
};
static struct blob_seen blobs[256] GUARDED_BY(core_live->define); /* recent ones, under `define` */

static void define_pieces(uint32_t id, const char *what, const uint8_t *data, size_t length)
{
	size_t stored = length < BLOB_CAP ? length : BLOB_CAP, at = 0;
	struct wire_def d;

	do {
		size_t n = stored - at < DEF_BLOB_PIECE ? stored - at : DEF_BLOB_PIECE;

		wire_def_init(&d, DEF_BLOB);
		wire_def_u64(&d, id);
		wire_def_string(&d, what);
		wire_def_u64(&d, at);
		wire_def_u64(&d, length);
		wire_def_bytes(&d, data + at, n);
		wire_def_u64(&d, stored);
		cap_define(&d);
		at += n;
	} while (at < stored);
}

uint32_t cap_define_blob(const char *what, const void *data, size_t length)
{
	uint64_t hash = hash_bytes(data, length) ^ hash_bytes((const uint8_t *)what, strlen(what));
	struct blob_seen *seen = &blobs[hash % 256];
	uint64_t before;
	uint32_t id;

	if (!core_usable())
		return 0;
	core_definitions_hold(&before);
	if (seen->id && seen->hash == hash && seen->length == length) {
		id = seen->id;
		core_definitions_let_go(&before);
		return id;
	}
	core_definitions_let_go(&before);
	id = cap_new_id(DEF_BLOB);
	define_pieces(id, what, data, length);
	/* Others may refer to it from here on. Two that come at once make two. */
	core_definitions_hold(&before);
	*seen = (struct blob_seen){hash, length, id};
	core_definitions_let_go(&before);
	return id;
}

/* ---- notes and counts ---- */

void cap_note_count(int severity, const char *part, const char *text, uint64_t count)
{
	struct wire_def d;

	wire_def_init(&d, DEF_NOTE);
	wire_def_u64(&d, (uint64_t)severity);
	wire_def_string(&d, part);
	wire_def_string(&d, text);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, count);
	cap_define(&d);
	core_tally_not_all();
}

void cap_note(int severity, const char *part, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	cap_note_count(severity, part, text, 1);
}

struct untraced {
	const char *part;
	char function[64];
	_Atomic uint64_t count;
};
static struct untraced untraced_list[64];
static _Atomic uint32_t untraced_used;

void cap_count_untraced(const char *part, const char *function)
{
	cap_count_untraced_slow(part, function, 1);
}

void cap_count_untraced_slow(const char *part, const char *function, uint64_t calls)
{
	uint32_t n = atomic_load(&untraced_used);

	atomic_fetch_add_explicit(&core_untraced, calls, memory_order_relaxed);
	for (uint32_t i = 0; i < n && i < 64; i++) {
		if (strncmp(untraced_list[i].function, function, 63) == 0) {
			atomic_fetch_add(&untraced_list[i].count, calls);
			return;
		}
	}
	if (!core_usable())
		return;
	pthread_mutex_lock(&core_live->threads);
	n = atomic_load(&untraced_used);
	if (n < 64) {
		untraced_list[n].part = part;
		snprintf(untraced_list[n].function, 64, "%s", function);
		atomic_store(&untraced_list[n].count, calls);
		atomic_store(&untraced_used, n + 1);
	}
	pthread_mutex_unlock(&core_live->threads);
}

static void note_untraced(void)
{
	for (uint32_t i = 0; i < atomic_load(&untraced_used); i++) {
		char text[128];

		snprintf(text, sizeof(text), "%s ran untraced", untraced_list[i].function);
		cap_note_count(2, untraced_list[i].part, text,
			       atomic_load(&untraced_list[i].count));
	}
}

static void note_inner_calls(void)
{
	uint64_t calls = kymo_inner_calls();

	if (calls)
		cap_note_count(
			2, "core",
			"a tool called a traced runtime from its callbacks: those calls are not "
			"recorded",
			calls);
}

void cap_count_untimed(void)
{
	atomic_fetch_add_explicit(&core_untimed, 1, memory_order_relaxed);
}

/* ---- the process ---- */

static size_t read_file(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(out, 1, size, f) : 0;

	if (f)
		fclose(f);
	return n;
}

/* Variables that say how the job was launched or what devices it may see; nothing private. */
static size_t environment(char *out, size_t size)
{
	static const char names[][28] = {
		"OMP_NUM_THREADS",
		"CUDA_VISIBLE_DEVICES",
		"ROCR_VISIBLE_DEVICES",
		"HIP_VISIBLE_DEVICES",
		"ZE_AFFINITY_MASK",
		"POCL_DEVICES",
		"OCL_ICD_VENDORS",
		"OPENCL_LAYERS",
		"SLURM_JOB_ID",
		"SLURM_PROCID",
		"OMPI_COMM_WORLD_RANK",
		"PMI_RANK",
		"PMIX_RANK",
		"KYMO_MODE",
		"KYMO_ARGS",
		"KYMO_ON_FULL",
		"KYMO_BACKENDS",
		"KYMO_INCLUDE",
		"KYMO_EXCLUDE",
		"KYMO_RANK",
		"KYMO_KERNEL",
		"KYMO_DEVICE",
		"KYMO_RANGE",
		"KYMO_DURING",
		"KYMO_PERIOD",
		"KYMO_EXCLUDE_KERNEL",
		"KYMO_ANNOTATIONS",
		"KYMO_EXCLUDE_ANNOTATIONS",
		"KYMO_RANK_VARIABLE",
	};
	enum { MOST = 400 }; /* of a value: of expressions out of a file the first are shown */
	size_t used = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *v = getenv(names[i]);
		int n = v ? snprintf(out + used, size - used, "%s=%.*s", names[i], MOST, v) : 0;

		if (n > 0 && used + (size_t)n + 1 < size)
			used += (size_t)n + 1;
	}
	return used;
}

/* As it was at first: a program may go where there is no /proc (chroot). Called by one at a time. */
const char *core_program_path(void)
{
	static char path[PATH_MAX];
	ssize_t n = path[0] ? 0 : readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n > 0)
		path[n] = '\0';
	return path;
}

void core_define_process(void)
{
	static char argv[16384], env[8192], cwd[PATH_MAX]; /* the stack may be small */
	char host[256] = "";
	struct tick_sync now;
	struct wire_def d;

	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	gethostname(host, sizeof(host) - 1);
	tick_sync_take(&now);
	wire_def_init(&d, DEF_PROCESS);
	wire_def_u64(&d, (uint64_t)getpid());
	wire_def_u64(&d, (uint64_t)getppid());
	wire_def_string(&d, core_program_path());
	wire_def_bytes(&d, argv, read_file("/proc/self/cmdline", argv, sizeof(argv)));
	wire_def_string(&d, cwd);
	wire_def_string(&d, host);
	wire_def_u64(&d, (uint64_t)tick_source_chosen);
	wire_def_u64(
		&d,
		tick_rate()); /* rough: the calibration points tell better, or that a clock stepped */
	wire_def_u64(&d, now.realtime);
	wire_def_u64(&d, now.monotonic_raw);
	wire_def_u64(&d, now.before);
	wire_def_bytes(&d, env, environment(env, sizeof(env)));
	wire_def_u64(&d, 0);
	wire_def_string(&d, KYMO_VERSION);
	wire_def_u64(&d, core_shared_arguments());
	wire_def_u64(&d, (uint64_t)getuid());
	cap_define(&d);
	core_define_tick_sync();
}

void core_define_tick_sync(void)
{
	struct tick_sync s;
	struct wire_def d;

	tick_sync_take(&s);
	wire_def_init(&d, DEF_TICK_SYNC);
	wire_def_u64(&d, s.before);
	wire_def_u64(&d, s.after);
	wire_def_u64(&d, s.monotonic_raw);
	wire_def_u64(&d, s.realtime);
	cap_define(&d);
}

void core_define_process_end(uint32_t how)
{
	uint64_t lost = 0, lost_definitions = 0;
	struct wire_def d;

	note_untraced();
	note_inner_calls();
	if (core_shared_pool())
		core_overhead_define();
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		if (!core_buffers[i].used || !core_buffers[i].pool ||
		    core_buffer_private(&core_buffers[i]))
			continue;
		lost += atomic_load(&core_buffers[i].pool->shm->lost_records);
		lost_definitions += atomic_load(&core_buffers[i].pool->shm->lost_definitions);
	}
	wire_def_init(&d, DEF_PROCESS_END);
	wire_def_u64(&d, how);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, lost);
	wire_def_u64(&d, lost_definitions);
	wire_def_u64(&d, atomic_load(&core_untraced));
	wire_def_u64(&d, atomic_load(&core_untimed));
	cap_define(&d);
}

/* ---- domains ---- */

static uint8_t *put(uint8_t *p, const void *data, size_t n)
{
	memcpy(p, data, n);
	return p + n;
}

struct set_seen {
	const kymo_enum_set_t *set;
	uint32_t id;
};
static struct set_seen sets[512];
static uint32_t set_count;

static uint32_t define_set(const kymo_enum_set_t *set)
{
	uint8_t *data, *p;
	struct wire_def d;
	size_t n = 0;

	if (!set)
		return 0;
	for (uint32_t i = 0; i < set_count; i++)
		if (sets[i].set == set)
			return sets[i].id;
	for (uint32_t i = 0; i < set->count; i++)
		n += 10 + strlen(set->values[i].name);
	data = p = malloc(n + 1);
	if (!data || set_count == 512) {
		free(data);
		return 0;
	}
	for (uint32_t i = 0; i < set->count; i++) {
		uint16_t length = (uint16_t)strlen(set->values[i].name);

		p = put(p, &set->values[i].value, 8);
		p = put(p, &length, 2);
		p = put(p, set->values[i].name, length);
	}
	sets[set_count] = (struct set_seen){set, cap_new_id(DEF_ENUM_SET)};
	wire_def_init(&d, DEF_ENUM_SET);
	wire_def_u64(&d, sets[set_count].id);
	wire_def_string(&d, set->name);
	wire_def_bytes(&d, data, n);
	cap_define(&d);
	free(data);
	return sets[set_count++].id;
}

static uint8_t *put_field(uint8_t *p, const kymo_field_t *f)
{
	const char *type = f->type ? f->type : "";
	uint16_t name_length = (uint16_t)strlen(f->name), type_length = (uint16_t)strlen(type);
	uint32_t set = define_set(f->set);

	*p++ = f->kind;
	*p++ = f->element;
	*p++ = f->size;
	*p++ = f->flags;
	p = put(p, &set, 4);
	p = put(p, &name_length, 2);
	p = put(p, f->name, name_length);
	p = put(p, &type_length, 2);
	return put(p, type, type_length);
}

/* Caller holds `configure`, or is the first there is. */
static void define_op(const struct cap_domain *d, uint32_t number)
{
	static uint8_t fields[8192]; /* the stack may be small */
	const kymo_op_desc_t *op = &d->desc->ops[number];
	uint8_t *p = fields;
	struct wire_def def;

	for (uint32_t i = 0; i < op->field_count; i++) {
		const kymo_field_t *f = &op->fields[i];

		if ((size_t)(p - fields) + strlen(f->name) + strlen(f->type ? f->type : "") + 12 >
		    sizeof(fields))
			break;
		p = put_field(p, f);
	}
	wire_def_init(&def, DEF_OP);
	wire_def_u64(&def, d->base + number);
	wire_def_string(&def, op->name);
	wire_def_u64(&def, op->flags);
	wire_def_u64(&def, define_set(op->status_set));
	wire_def_u64(&def, op->field_count);
	wire_def_bytes(&def, fields, (size_t)(p - fields));
	wire_def_u64(&def, (uint64_t)(uint32_t)op->status_ok);
	wire_def_u64(&def, d->id);
	cap_define(&def);
}

void core_domain_define(const struct cap_domain *d)
{
	const kymo_domain_desc_t *desc = d->desc;
	struct wire_def def;

	wire_def_init(&def, DEF_DOMAIN);
	wire_def_u64(&def, d->id);
	wire_def_string(&def, desc->name);
	wire_def_string(&def, desc->title ? desc->title : desc->name);
	wire_def_u64(&def, d->base);
	wire_def_u64(&def, desc->op_count);
	wire_def_u64(&def, desc->version);
	cap_define(&def);
	for (uint32_t i = 0; i < desc->op_count; i++)
		define_op(d, i);
}

/* ---- names of definitions, for tools ---- */

static const struct {
	const char *type;
	uint16_t kind;
	uint8_t id, name;
} named[] = {
	{"kernel", DEF_KERNEL, DEF_KERNEL_ID, DEF_KERNEL_NAME},
	{"agent", DEF_AGENT, DEF_AGENT_ID, DEF_AGENT_NAME},
	{"program", DEF_PROGRAM, DEF_PROGRAM_ID, DEF_PROGRAM_KIND},
	{"queue", DEF_QUEUE, DEF_QUEUE_ID, DEF_QUEUE_NAME},
	{"string", DEF_STRING, DEF_STRING_ID, DEF_STRING_TEXT},
	{"code", DEF_CODE, DEF_CODE_ID, DEF_CODE_FUNCTION},
};

/* The last definition of the id counts. Caller holds `define`; *length is 0 if there is none. */
static const char *find_name(uint16_t kind, unsigned id_at, uint64_t id, unsigned name_at,
			     size_t *length) REQUIRES(core_live->define)
{
	const char *found = NULL;
	struct wire_def d;
	size_t n;

	kymo_assert_held(&core_live->define);
	*length = 0;
	for (struct slab *s = first; s; s = s->next) {
		const uint8_t *p = s->data, *end = s->data + s->used;

		while (wire_def_read(&p, end, &d) == 1) {
			const char *text;

			if (d.kind != kind || wire_def_get(&d, id_at) != id)
				continue;
			text = wire_def_text(&d, name_at, &n);
			if (n) {
				found = text;
				*length = n;
			}
		}
	}
	return found;
}

/* What tools were told: each text once, however often they ask. */
struct told_name {
	struct told_name *next;
	size_t length;
	char text[];
};

/* Caller holds `define`; NULL: no memory. */
static const char *told_name(const char *text, size_t length) REQUIRES(core_live->define)
{
	static struct told_name *told[1024];
	struct told_name **at = &told[hash_bytes((const uint8_t *)text, length) % 1024];

	kymo_assert_held(&core_live->define);
	while (*at && ((*at)->length != length || memcmp((*at)->text, text, length) != 0))
		at = &(*at)->next;
	if (!*at) {
		*at = malloc(sizeof(**at) + length + 1);
		if (!*at)
			return NULL;
		**at = (struct told_name){.length = length};
		memcpy((*at)->text, text, length);
		(*at)->text[length] = '\0';
	}
	return (*at)->text;
}

kymo_status_t kymo_ref_name(const char *type, uint64_t id, const char **name)
{
	const char *found = NULL, *copy = NULL;
	size_t length = 0;
	uint64_t before;

	if (!type || !name)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	core_definitions_hold(&before);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (strcmp(named[i].type, type) == 0)
			found = find_name(named[i].kind, named[i].id, id, named[i].name, &length);
	if (found)
		copy = told_name(found, length);
	core_definitions_let_go(&before);
	if (!found)
		return KYMO_ERROR_NOT_FOUND;
	if (!copy)
		return KYMO_ERROR_NO_MEMORY;
	*name = copy;
	return KYMO_OK;
}

void core_define_recording(const struct core_buffer *b, bool on, uint64_t tick)
{
	struct wire_def d;

	if (!b || core_buffer_private(b))
		return;
	wire_def_init(&d, DEF_RECORDING);
	wire_def_u64(&d, on);
	wire_def_u64(&d, tick);
	cap_define(&d);
}

void core_define_anew(void)
{
	int saved = errno;

	pthread_mutex_lock(&core_live->define);
	forget(is_past);
	pthread_mutex_unlock(&core_live->define);
	atomic_store(&core_untraced, 0);
	atomic_store(&core_untimed, 0);
	core_define_process();
	errno = saved;
}

void core_define_fork_child(void)
{
	/* What the parent defined holds in the child, but it is another process. */
	forget(is_thread); /* the parent's are not there */
	core_objects_fork_child();
	core_modules_fork_child();
	atomic_store(&core_untraced, 0);
	atomic_store(&core_untimed, 0);
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		core_buffers[i].defines = false;
	core_overhead_anew();
	core_define_process();
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		const struct core_buffer *b = &core_buffers[i];

		if (b->used && !b->retired && b->context->active)
			core_define_recording(b, !b->context->paused, 0);
	}
}
