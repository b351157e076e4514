/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that become numbers, and payloads that become bytes; see marker.h. */
#include "core/marker/marker.h"
#include "base/hash.h"
#include "base/locks.h"
#include "base/map.h"
#include "core/process/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 65536u
#define BYTES_MAX (16u << 20) /* of all names */
#define TOTAL_MAX (1u << 20)  /* longer texts are not measured */
#define KEY_MAX   64u

/*
 * By number. Written under `threads`; a number is handed out after its entry is complete.
 */
static struct marker_name *by_id[NAMES_MAX + 1];
static struct map places GUARDED_BY(core_live->threads); /* by hash: numbers */
static uint32_t name_count GUARDED_BY(core_live->threads);
static size_t name_bytes GUARDED_BY(core_live->threads);

/* Under `threads`. */
static struct marker_name *find_name(uint64_t hash, const char *s, size_t n, size_t total)
	REQUIRES(core_live->threads)
{
	uint64_t id;

	kymo_assert_held(&core_live->threads);
	map_each(&places, hash, id) {
		struct marker_name *x = by_id[id];

		if (x->total == total && memcmp(x->text, s, n) == 0)
			return x;
	}
	return NULL;
}

/* Under `threads`. */
static struct marker_name *add_name(uint64_t hash, const char *s, size_t n, size_t total)
	REQUIRES(core_live->threads)
{
	struct marker_name *x;

	kymo_assert_held(&core_live->threads);
	if (name_count == NAMES_MAX || name_bytes + n > BYTES_MAX)
		return NULL;
	x = malloc(sizeof(*x) + n + 1);
	if (!x || !map_add(&places, hash, name_count + 1)) {
		free(x);
		return NULL;
	}
	x->total = (uint32_t)total;
	memcpy(x->text, s, n);
	x->text[n] = '\0';
	x->id = ++name_count;
	atomic_init(&x->defined, false);
	name_bytes += n;
	by_id[x->id] = x;
	return x;
}

static void define_name(const struct marker_name *x)
{
	struct wire_def d;

	wire_def_init(&d, DEF_STRING);
	wire_def_u64(&d, x->id);
	wire_def_string(&d, x->text);
	wire_def_u64(&d, x->total);
	cap_define(&d);
}

/*
 * This thread holds `threads`, and signals are let in: to block them would take longer than to look. A handler's mark would wait
 * for its own thread.
 */
static _Thread_local bool looking __attribute__((tls_model("initial-exec")));

static struct marker_name *look(uint64_t hash, const char *text, size_t n, size_t total)
{
	struct marker_name *x;

	looking = true;
	atomic_signal_fence(memory_order_seq_cst);
	pthread_mutex_lock(&core_live->threads);
	x = find_name(hash, text, n, total);
	pthread_mutex_unlock(&core_live->threads);
	atomic_signal_fence(memory_order_seq_cst);
	looking = false;
	return x;
}

/* A handler comes before or after: its mark with a new name would wait for its own thread. */
static struct marker_name *find_or_add(uint64_t hash, const char *text, size_t n, size_t total)
{
	struct marker_name *x;
	uint64_t before;

	core_signals_block(&before);
	pthread_mutex_lock(&core_live->threads);
	x = find_name(hash, text, n, total);
	x = x ? x : add_name(hash, text, n, total);
	pthread_mutex_unlock(&core_live->threads);
	core_signals_restore(&before);
	return x;
}

const struct marker_name *marker_name(const char *text)
{
	size_t total = strnlen(text, TOTAL_MAX);
	size_t n = total < KYMO_STRING_MAX ? total : KYMO_STRING_MAX;
	int saved = errno;
	uint64_t hash = hash_mix(hash_bytes(text, n), total);
	struct marker_name *x;

	if (looking)
		return NULL; /* the mark has its name with it */
	x = look(hash, text, n, total);
	x = x ? x : find_or_add(hash, text, n, total);
	/* Also where another thread is about to: all may be killed before it does. */
	if (x && !atomic_load(&x->defined)) {
		define_name(x);
		atomic_store(&x->defined, true);
	}
	if (!x)
		marker_fault(FAULT_NAMES);
	else if (n < total)
		marker_fault(FAULT_CUT_TEXT);
	errno = saved;
	return x;
}

uint32_t marker_string_id(kymo_string_t *string)
{
	const struct marker_name *x;
	uint32_t id;

	if (!string || !string->text)
		return 0;
	id = __atomic_load_n(&string->id, __ATOMIC_RELAXED);
	if (cap_likely(id != 0 && id <= NAMES_MAX && by_id[id]))
		return id;
	x = marker_name(string->text);
	if (!x)
		return 0;
	__atomic_store_n(&string->id, x->id, __ATOMIC_RELAXED);
	return x->id;
}

const char *marker_string_text(uint32_t id)
{
	return id && id <= NAMES_MAX && by_id[id] ? by_id[id]->text : "";
}

/* ---- payloads ---- */

static size_t value_of(const kymo_payload_t *p, const void **data)
{
	switch (p->type) {
	case KYMO_PAYLOAD_INT64:
	case KYMO_PAYLOAD_UINT64:
	case KYMO_PAYLOAD_DOUBLE:
		*data = &p->value;
		return 8;
	case KYMO_PAYLOAD_STRING:
		*data = p->value.p;
		if (!p->value.p)
			return 0;
		return p->length ? p->length : strnlen(p->value.p, TOTAL_MAX);
	case KYMO_PAYLOAD_BYTES:
		*data = p->value.p;
		return p->value.p ? p->length : 0;
	default:
		return SIZE_MAX;
	}
}

/* One entry; 0: no room, or of no known type. */
static size_t put_payload(uint8_t *out, size_t room, const kymo_payload_t *p)
{
	const char *key = p->key ? p->key : "";
	size_t key_length = strnlen(key, KEY_MAX), total, stored;
	const void *data = NULL;
	uint16_t stored16;
	uint32_t total32;

	total = value_of(p, &data);
	if (total == SIZE_MAX)
		return 0;
	stored = total < KYMO_PAYLOAD_MAX ? total : KYMO_PAYLOAD_MAX;
	if (8 + key_length + stored > room)
		return 0;
	if (stored < total)
		marker_fault_cut(p, total, false);
	stored16 = (uint16_t)stored;
	total32 = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
	out[0] = (uint8_t)p->type;
	out[1] = (uint8_t)key_length;
	memcpy(out + 2, &stored16, 2);
	memcpy(out + 4, &total32, 4);
	memcpy(out + 8, key, key_length);
	if (stored)
		memcpy(out + 8 + key_length, data, stored);
	return 8 + key_length + stored;
}

size_t marker_payload_put(uint8_t *out, size_t used, const kymo_payload_t *payload, uint32_t count)
{
	if (!payload || !count)
		return used;
	if (!used)
		out[used++] = 0;
	for (uint32_t i = 0; i < count; i++) {
		size_t n = put_payload(out + used, MARKER_PAYLOAD_MAX - used, &payload[i]), bytes;
		const void *data;

		used += n;
		if (n)
			continue;
		bytes = value_of(&payload[i], &data);
		marker_fault_cut(&payload[i], bytes == SIZE_MAX ? 0 : bytes, true);
		out[0] = (uint8_t)(out[0] + (out[0] < UINT8_MAX));
		if (used + 8 > MARKER_PAYLOAD_MAX)
			break; /* nothing fits any more: not a walk over a count that is a lie */
	}
	return used;
}
