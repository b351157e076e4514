/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting activities as tally.c counts calls: device work, messages, ranges. That is for ranks whose
 * job adds up its tallies (job.c); elsewhere device work is recorded in every mode. What a
 * backend has encoded is read again by the names of its fields, so no backend knows of this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "core/context/context.h"
#include "core/ring/ring.h"
#include "core/tally/count.h"
#include "core/tally/tally.h"
#include "core/activity/activity.h"
#include "core/activity/comm.h"
#include "wire/tally.h"

#define RANGES  64u /* nested ranges whose time is told from that of the range around them */
#define POOLS   64u
#define OP_ROOM 1024u
#define RECENT  16u

_Atomic uint64_t cap_counted;
_Atomic bool core_tally_works;

/* ---- what is read of a record --------------------------------------------------------------- */

enum slot {
	SLOT_NONE,
	SLOT_AGENT,
	SLOT_QUEUE,
	SLOT_KERNEL,
	SLOT_START,
	SLOT_DURATION,
	SLOT_QUEUED_BEFORE,
	SLOT_STATUS,
	SLOT_UNTIMED,
	SLOT_SOURCE_AGENT,
	SLOT_DESTINATION_AGENT,
	SLOT_BYTES,
	SLOT_SOURCE_KIND,
	SLOT_DESTINATION_KIND,
	SLOT_KIND,
	SLOT_WHAT,
	SLOT_PARENT,
	SLOT_SENT,
	SLOT_RECEIVED,
	SLOT_DATATYPE,
	SLOT_STATE,
	SLOT_NAME,
	SLOT_DOMAIN,
	SLOT_CATEGORY,
	SLOT_SCOPE,
	SLOT_HOW,
	SLOT_THREAD,
	SLOTS
};

static const char slot_names[SLOTS][20] = {"",
					   "agent",
					   "queue",
					   "kernel",
					   "start",
					   "duration",
					   "queued_before",
					   "status",
					   "untimed",
					   "source_agent",
					   "destination_agent",
					   "bytes",
					   "source_kind",
					   "destination_kind",
					   "kind",
					   "what",
					   "parent",
					   "sent",
					   "received",
					   "datatype",
					   "state",
					   "name",
					   "domain",
					   "category",
					   "scope",
					   "how",
					   "thread"};

struct values {
	uint64_t v[SLOTS];
};

/* How an op is counted; made once, kept for ever. */
struct work_op {
	uint8_t kind;   /* enum wire_tally_kind; WIRE_TALLY_KINDS: not counted */
	uint8_t fields; /* that have to be read */
	struct {
		uint8_t slot; /* SLOT_NONE: only its length matters */
		bool number;  /* stored in 0, 1, 4 or 8 bytes that are its value */
	} field[KYMO_FIELDS_MAX];
};

static struct work_op *_Atomic ops[OP_ROOM]; /* by wire op, as far as that goes */

static uint8_t kind_of(const struct cap_domain *d, const kymo_op_desc_t *op)
{
	static const struct {
		char domain[12];
		uint8_t kind;
	} kinds[] = {{"dispatch", WIRE_TALLY_DISPATCH},
		     {"copy", WIRE_TALLY_COPY},
		     {"allocation", WIRE_TALLY_ALLOCATION},
		     {"sync", WIRE_TALLY_SYNC},
		     {"comm", WIRE_TALLY_COMM},
		     {"marker", WIRE_TALLY_MARKER},
		     {"code_object", WIRE_TALLY_OTHER}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool range = kinds[i].kind != WIRE_TALLY_MARKER || strcmp(op->name, "mark") == 0 ||
			     strstr(op->name, "range");

		if (strcmp(kinds[i].domain, d->desc->name) == 0)
			return range && !(op->flags & KYMO_OP_TIMED) ? kinds[i].kind
								     : WIRE_TALLY_KINDS;
	}
	return WIRE_TALLY_KINDS;
}

/* Negative ones of less than eight bytes are read without their sign. */
static bool plain_number(const kymo_field_t *f)
{
	switch (f->kind) {
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
	case KYMO_KIND_STRING:
	case KYMO_KIND_BYTES:
	case KYMO_KIND_ARRAY:
		return false;
	default:
		return true;
	}
}

static struct work_op *describe(const struct cap_op *op)
{
	const struct cap_domain *d = &core_domains[op->domain];
	const kymo_op_desc_t *desc = &d->desc->ops[op->number];
	struct work_op *w = calloc(1, sizeof(*w)), *other = NULL;

	if (!w)
		return NULL;
	w->kind = kind_of(d, desc);
	for (unsigned i = 0; w->kind < WIRE_TALLY_KINDS && i < desc->field_count; i++) {
		w->field[i].number = plain_number(&desc->fields[i]);
		for (unsigned s = 1; s < SLOTS; s++)
			if (strcmp(desc->fields[i].name, slot_names[s]) == 0) {
				w->field[i].slot = (uint8_t)s;
				w->fields = (uint8_t)(i + 1);
			}
	}
	if (atomic_compare_exchange_strong(&ops[op->wire], &other, w))
		return w;
	free(w);
	return other;
}

static const struct work_op *work_op_of(const struct cap_op *op)
{
	const struct work_op *w =
		op->wire < OP_ROOM ? atomic_load_explicit(&ops[op->wire], memory_order_acquire)
				   : NULL;

	return w || op->wire >= OP_ROOM ? w : describe(op);
}

/*
 * The numbers that the record begins with; returns how many. What was just encoded by this thread
 * needs no checks.
 */
static unsigned take_numbers(const struct work_op *w, struct wire_cursor *c, struct values *out)
{
	static const uint64_t masks[4] = {0, 0xff, 0xffffffff, UINT64_MAX};
	static const uint8_t lengths[4] = {0, 1, 4, 8};
	uint64_t classes = c->rec->classes, v;
	const uint8_t *p = c->p;
	unsigned i, most = w->fields < 32 ? w->fields : 32;

	for (i = 0; i < most && w->field[i].number; i++) {
		memcpy(&v, p, 8); /* WIRE_SLACK covers the excess */
		out->v[w->field[i].slot] = v & masks[classes & 3];
		p += lengths[classes & 3];
		classes >>= 2;
	}
	c->p = p;
	return c->index = i;
}

static void collect(const struct work_op *w, const struct cap_op *op, const struct wire_enc *e,
		    struct values *out)
{
	const kymo_field_t *fields = core_domains[op->domain].desc->ops[op->number].fields;
	struct wire_record record = {0};
	struct wire_cursor cursor;
	struct wire_value v;

	memset(out, 0, sizeof(*out));
	wire_peek(e, &record);
	wire_cursor_init(&cursor, &record);
	for (unsigned i = take_numbers(w, &cursor, out); i < w->fields; i++) {
		if (!wire_field(&cursor, (uint8_t)fields[i].kind, (uint8_t)fields[i].element,
				fields[i].size, &v))
			return;
		out->v[w->field[i].slot] = v.u;
	}
	out->v[SLOT_NONE] = 0;
}

/* ---- memory in use -------------------------------------------------------------------------- */

static struct {
	_Atomic uint64_t key; /* agent << 8 | kind, plus 1 */
	_Atomic uint64_t in_use;
} pools[POOLS];

/* Bytes in use after it. Only an allocation makes them more, so the most that one has seen is all. */
static uint64_t pool_add(uint64_t agent, uint64_t kind, uint64_t bytes)
{
	uint64_t key = (agent << 8 | kind) + 1, none;

	for (unsigned i = 0; i < POOLS; i++) {
		none = 0;
		if (atomic_load(&pools[i].key) == key ||
		    atomic_compare_exchange_strong(&pools[i].key, &none, key) || none == key)
			return atomic_fetch_add(&pools[i].in_use, bytes) + bytes;
	}
	return 0;
}

/* ---- the thread's entries ------------------------------------------------------------------- */

struct open_time { /* of ranges that ended inside one that has not */
	uint64_t scope, inside;
};

struct core_work {
	struct map entries;                /* struct wire_tally *, by hash of op and key */
	struct wire_tally *recent[RECENT]; /* by the hash's highest bits */
	struct open_time ranges[RANGES];
	uint32_t depth;
};

void core_work_release(struct cap_thread *t)
{
	if (t->work)
		map_release(&t->work->entries);
	free(t->work);
	t->work = NULL;
}

void core_work_fork_child(void)
{
	atomic_store(&core_tally_works, false);
	atomic_store(&cap_counted, 0);
	memset(pools, 0, sizeof(pools));
}

static struct wire_work *work_of(struct wire_tally *y)
{
	return (struct wire_work *)(y + 1);
}

/* A key as two words. */
struct words {
	uint64_t word[2];
};
_Static_assert(sizeof(struct words) == WIRE_WORK_KEYS * sizeof(uint32_t), "two words");

static inline struct words words_of(const uint32_t key[WIRE_WORK_KEYS])
{
	struct words w;

	memcpy(&w, key, sizeof(w));
	return w;
}

static inline uint64_t hash_of(uint32_t op, struct words key)
{
	uint64_t h = (key.word[0] ^ (uint64_t)op << 40) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 32 ^ key.word[1]) * 0x9e3779b97f4a7c15ull;
}

static inline bool is(struct wire_tally *y, uint32_t op, struct words key)
{
	struct words its = words_of(work_of(y)->key);

	return y->op == op && ((its.word[0] ^ key.word[0]) | (its.word[1] ^ key.word[1])) == 0;
}

static struct wire_tally *find_or_make(struct cap_thread *t, struct core_buffer *b, uint32_t op,
				       uint8_t kind, struct words key, uint64_t hash)
{
	struct wire_work like = {.kind = kind};
	struct wire_tally *y;
	uint64_t value;

	map_each(&t->work->entries, hash, value) {
		y = (struct wire_tally *)(uintptr_t)value;
		if (is(y, op, key))
			return y;
	}
	memcpy(like.key, &key, sizeof(like.key));
	t->tally_no_memory = !map_reserve(&t->work->entries); /* first: an entry cannot be undone */
	y = t->tally_no_memory ? NULL : core_tally_fresh(t, b, op, &like);
	if (y)
		map_add(&t->work->entries, hash, (uintptr_t)y);
	return y;
}

/* Not of the latest; NULL: there is no memory, and the work is counted as lost. */
static __attribute__((noinline)) struct wire_tally *entry_slow(struct cap_thread *t,
							       struct core_buffer *b, uint32_t op,
							       uint8_t kind, struct words key,
							       uint64_t hash)
{
	struct wire_tally *y = NULL;
	int saved = errno;

	if (!t->work)
		t->work = calloc(1, sizeof(*t->work));
	t->tally_no_memory = !t->work;
	if (t->work)
		y = find_or_make(t, b, op, kind, key, hash);
	if (y)
		t->work->recent[(hash >> 60) % RECENT] = y;
	else
		core_pool_lose(b->pool, 1, t->tally_no_memory);
	errno = saved;
	return y;
}

static inline struct wire_tally *entry(struct cap_thread *t, struct core_buffer *b, uint32_t op,
				       uint8_t kind, struct words words)
{
	const uint64_t hash = hash_of(op, words);
	struct wire_tally *y =
		cap_likely(t->work != NULL) ? t->work->recent[(hash >> 60) % RECENT] : NULL;

	return cap_likely(y && is(y, op, words)) ? y : entry_slow(t, b, op, kind, words, hash);
}

/* ---- adding --------------------------------------------------------------------------------- */

static void key_of(uint8_t kind, const struct values *x, uint32_t out[WIRE_WORK_KEYS])
{
	const uint64_t *v = x->v;
	uint64_t key[WIRE_WORK_KEYS] = {0};

	switch (kind) {
	case WIRE_TALLY_DISPATCH:
		key[WIRE_KEY_DISPATCH_AGENT] = v[SLOT_AGENT];
		key[WIRE_KEY_DISPATCH_QUEUE] = v[SLOT_QUEUE];
		key[WIRE_KEY_DISPATCH_KERNEL] = v[SLOT_KERNEL];
		break;
	case WIRE_TALLY_COPY:
		key[WIRE_KEY_COPY_QUEUE] = v[SLOT_QUEUE];
		key[WIRE_KEY_COPY_SOURCE_AGENT] = v[SLOT_SOURCE_AGENT];
		key[WIRE_KEY_COPY_DESTINATION_AGENT] = v[SLOT_DESTINATION_AGENT];
		key[WIRE_KEY_COPY_KINDS] = v[SLOT_SOURCE_KIND] << 8 | v[SLOT_DESTINATION_KIND];
		break;
	case WIRE_TALLY_SYNC:
		key[WIRE_KEY_SYNC_QUEUE] = v[SLOT_QUEUE];
		break;
	case WIRE_TALLY_COMM:
		key[WIRE_KEY_COMM_DATATYPE] = v[SLOT_DATATYPE];
		break;
	case WIRE_TALLY_MARKER:
		key[WIRE_KEY_MARKER_NAME] = v[SLOT_NAME];
		key[WIRE_KEY_MARKER_DOMAIN] = v[SLOT_DOMAIN];
		key[WIRE_KEY_MARKER_CATEGORY] = v[SLOT_CATEGORY];
		break;
	default:
		break;
	}
	for (unsigned i = 0; i < WIRE_WORK_KEYS; i++)
		out[i] = (uint32_t)key[i];
}

static inline void add_device(struct wire_tally *y, struct wire_work *w, const struct values *x)
{
	bool untimed = x->v[SLOT_UNTIMED] || !x->v[SLOT_START];

	w->bytes += x->v[SLOT_BYTES];
	y->errors += (int32_t)x->v[SLOT_STATUS] != 0;
	w->untimed += untimed;
	w->untimed_bytes += untimed ? x->v[SLOT_BYTES] : 0;
	if (untimed)
		return;
	cap_tally_time(y, (int64_t)x->v[SLOT_DURATION] > 0 ? x->v[SLOT_DURATION] : 0);
	w->wait += (int64_t)x->v[SLOT_QUEUED_BEFORE] > 0 ? x->v[SLOT_QUEUED_BEFORE] : 0;
}

static void add_allocation(struct wire_tally *y, const struct cap_allocation *a, bool allocate)
{
	struct wire_work *w = work_of(y);
	uint64_t bytes = a->bytes, in_use;

	y->min = 0;
	y->count -= !allocate; /* allocations alone */
	w->frees += !allocate;
	w->bytes += allocate ? bytes : 0;
	w->freed += allocate ? 0 : bytes;
	if (a->parent)
		return;
	in_use = pool_add(a->agent, a->kind, allocate ? bytes : 0 - bytes);
	if (allocate && in_use > w->peak && (int64_t)in_use > 0)
		w->peak = in_use;
}

/* Time of the ranges inside this one, which ended right before it; see nest_pass() of the readers. */
static uint64_t inside(struct core_work *t, uint64_t scope, uint64_t around, uint64_t duration)
{
	uint64_t sum = 0;

	while (t->depth && t->ranges[t->depth - 1].scope == scope)
		sum += t->ranges[--t->depth].inside;
	if (!around)
		t->depth = 0;
	else if (t->depth && t->ranges[t->depth - 1].scope == around)
		t->ranges[t->depth - 1].inside += duration;
	else if (t->depth < RANGES)
		t->ranges[t->depth++] = (struct open_time){around, duration};
	return sum;
}

static void add_host(struct cap_thread *t, struct wire_tally *y, struct wire_work *w,
		     const struct cap_frame *f, const struct values *x)
{
	uint64_t duration = f->end > f->start ? f->end - f->start : 0, within = 0;

	if (w->kind == WIRE_TALLY_MARKER && x->v[SLOT_SCOPE] && !x->v[SLOT_THREAD])
		within = inside(t->work, x->v[SLOT_SCOPE], (uint64_t)f->scope, duration);
	cap_tally_time(y, duration);
	y->self += duration - (within < duration ? within : duration);
	y->errors += w->kind == WIRE_TALLY_COMM     ? x->v[SLOT_STATE] != 0
		     : w->kind == WIRE_TALLY_MARKER ? x->v[SLOT_HOW] != 0
						    : (int32_t)x->v[SLOT_STATUS] != 0;
	w->bytes += x->v[SLOT_SENT];
	w->received += x->v[SLOT_RECEIVED];
}

/* What is freed belongs to what was allocated. */
static void count_allocation(struct cap_thread *t, struct core_buffer *b,
			     const struct cap_allocation *a, bool allocate)
{
	const uint32_t key[WIRE_WORK_KEYS] = {[WIRE_KEY_ALLOCATION_AGENT] = a->agent,
					      [WIRE_KEY_ALLOCATION_KIND] = a->kind,
					      [WIRE_KEY_ALLOCATION_WHAT] = a->what,
					      [WIRE_KEY_ALLOCATION_PART] = a->parent != 0};
	struct wire_tally *y = entry(t, b, core_allocation_ops[ALLOCATION_OP_ALLOCATE].wire,
				     WIRE_TALLY_ALLOCATION, words_of(key));

	if (!y)
		return;
	y->count++;
	add_allocation(y, a, allocate);
}

static void count(struct cap_thread *t, struct core_buffer *b, const struct cap_frame *f,
		  const struct wire_enc *e, const struct work_op *op)
{
	uint32_t key[WIRE_WORK_KEYS];
	struct wire_tally *y;
	struct values x;

	collect(op, f->op, e, &x);
	if (op->kind == WIRE_TALLY_ALLOCATION) {
		const struct cap_allocation a = {.bytes = x.v[SLOT_BYTES],
						 .parent = x.v[SLOT_PARENT],
						 .agent = (uint32_t)x.v[SLOT_AGENT],
						 .kind = (uint8_t)x.v[SLOT_KIND],
						 .what = (uint8_t)x.v[SLOT_WHAT]};

		count_allocation(t, b, &a, f->op == &core_allocation_ops[ALLOCATION_OP_ALLOCATE]);
		return;
	}
	key_of(op->kind, &x, key);
	y = entry(t, b, f->op->wire, op->kind, words_of(key));
	if (!y)
		return;
	y->count++;
	if (op->kind == WIRE_TALLY_DISPATCH || op->kind == WIRE_TALLY_COPY)
		add_device(y, work_of(y), &x);
	else
		add_host(t, y, work_of(y), f, &x);
}

/* As add_device() and add_host() do it with what they read. */
static inline __attribute__((always_inline)) void
count_one(struct cap_thread *t, struct core_buffer *b, uint32_t op, const struct cap_counted *c)
{
	const bool device = c->kind == WIRE_TALLY_DISPATCH || c->kind == WIRE_TALLY_COPY;
	const uint64_t duration = (int64_t)c->duration > 0 ? c->duration : 0;
	struct wire_tally *y = entry(t, b, op, c->kind, words_of(c->key));
	struct wire_work *w;

	if (cap_unlikely(!y))
		return;
	w = work_of(y);
	y->count++;
	y->errors += c->error;
	w->bytes += c->bytes;
	w->received += c->received;
	if (cap_unlikely(c->untimed)) {
		w->untimed++;
		w->untimed_bytes += c->bytes;
		return;
	}
	cap_tally_time(y, duration);
	if (device)
		w->wait += (int64_t)c->wait > 0 ? c->wait : 0;
	else
		y->self += duration;
}

static inline void count_range(struct cap_thread *t, struct wire_tally *y, uint64_t duration,
			       uint64_t scope, uint64_t around)
{
	uint64_t within;

	duration = (int64_t)duration > 0 ? duration : 0;
	within = scope ? inside(t->work, scope, around, duration) : 0;
	y->count++;
	cap_tally_time(y, duration);
	y->self += duration - (within < duration ? within : duration);
}

/*
 * The buffer in which work of the submission is counted, and the thread reads then (see cap_read_lock()).
 * NULL: there is more to be done than that, and it does not.
 */
static inline struct core_buffer *counting(struct cap_thread *t, const struct cap_submission *o)
{
	uint64_t bit = atomic_load_explicit(&cap_counted, memory_order_relaxed);

	if (!cap_counts(o) || !t || t->magic != CAP_THREAD_MAGIC ||
	    (atomic_load_explicit(&t->paused, memory_order_relaxed) & bit))
		return NULL;
	cap_read_lock(t);
	if ((atomic_load_explicit(&core_buffers_open, memory_order_acquire) & bit) &&
	    o->epoch == atomic_load_explicit(&core_epoch, memory_order_acquire))
		return &core_buffers[__builtin_ctzll(bit)];
	cap_read_unlock(t);
	return NULL;
}

bool cap_count(const struct cap_submission *o, const struct cap_op *op, const struct cap_counted *c)
{
	struct cap_thread *t = cap_thread_current;
	struct core_buffer *b = counting(t, o);

	if (cap_unlikely(!b))
		return false;
	if (cap_likely(!atomic_load_explicit(&cap_tally_over, memory_order_relaxed)))
		count_one(t, b, op->wire, c);
	cap_read_unlock(t);
	return true;
}

bool cap_count_range(struct cap_thread *t, const struct cap_op *op, uint64_t duration,
		     uint64_t scope, uint64_t around, uint64_t key01, uint64_t key23)
{
	uint64_t bit = atomic_load_explicit(&cap_counted, memory_order_relaxed);
	const struct words key = {{key01, key23}};
	struct wire_tally *y;

	if (!bit || (atomic_load_explicit(&t->paused, memory_order_relaxed) & bit))
		return false;
	cap_read_lock(t);
	if (cap_unlikely(atomic_load_explicit(&op->buffers, memory_order_acquire) != bit)) {
		cap_read_unlock(t);
		return false;
	}
	if (cap_likely(!atomic_load_explicit(&cap_tally_over, memory_order_relaxed))) {
		y = entry(t, &core_buffers[__builtin_ctzll(bit)], op->wire, WIRE_TALLY_MARKER, key);
		if (cap_likely(y != NULL))
			count_range(t, y, duration, scope, around);
	}
	cap_read_unlock(t);
	return true;
}

bool cap_count_allocation(const struct cap_submission *o, bool allocate,
			  const struct cap_allocation *a)
{
	struct cap_thread *t = cap_thread_current;
	struct core_buffer *b = counting(t, o);

	if (cap_unlikely(!b))
		return false;
	if (cap_likely(!atomic_load_explicit(&cap_tally_over, memory_order_relaxed)))
		count_allocation(t, b, a, allocate);
	cap_read_unlock(t);
	return true;
}

bool core_work_comm(struct cap_thread *t, struct core_buffer *b, const struct cap_op *op,
		    const struct comm_item *i, uint64_t end)
{
	const uint32_t key[WIRE_WORK_KEYS] = {[WIRE_KEY_COMM_DATATYPE] = i->datatype};
	uint64_t duration = end > i->start ? end - i->start : 0;
	struct wire_tally *y;

	if (cap_tally_over)
		return true;
	y = entry(t, b, op->wire, WIRE_TALLY_COMM, words_of(key));
	if (cap_unlikely(!y))
		return true; /* lost, and counted as that */
	y->count++;
	cap_tally_time(y, duration);
	y->self += duration;
	y->errors += i->state != 0;
	work_of(y)->bytes += i->op == COMM_OP_RECEIVE ? 0 : i->sent;
	work_of(y)->received += i->received;
	return true;
}

void cap_activity_count(struct cap_frame *f, struct wire_enc e)
{
	uint64_t bit = atomic_load_explicit(&cap_counted, memory_order_relaxed);
	uint64_t rest = atomic_load(&f->buffers) & ~bit;
	const struct work_op *op = work_op_of(f->op);
	struct cap_thread *t = cap_thread_current;
	unsigned buffer = (unsigned)__builtin_ctzll(bit);
	int saved = errno;

	if (!op || op->kind == WIRE_TALLY_KINDS) {
		cap_commit(f, &e);
		return;
	}
	if (!cap_tally_over)
		count(t, &core_buffers[buffer], f, &e, op);
	errno = saved;
	if (e.ring != &t->rings[buffer]) {
		atomic_store_explicit(&f->buffers, rest, memory_order_relaxed);
		cap_commit(f, &e);
	} else if (rest) {
		cap_commit_slow(f, &e, e.ring);
	}
}
