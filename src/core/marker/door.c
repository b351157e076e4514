/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How annotations come in: hooks of programs and libraries that include <kymo/marker.h>, found by
 * their note or handed over by their constructors, and the exported functions.
 */
#include "base/futex.h"
#include "core/context/context.h"
#include "core/marker/marker.h"
#include "core/process/process.h"
#include "core/publish/publish.h"
#include "core/ring/ring.h"
#include "core/activity/activity.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

_Atomic uint32_t marker_state, marker_generation;

static pthread_mutex_t hooks_lock = PTHREAD_MUTEX_INITIALIZER;
static kymo_marker_hook_t *hooks;

/* ---- domain ---- */

struct cap_op marker_ops[MARKER_OPS];

CAP_KNOWN_DOMAIN(marker, packed_describe(RECORD_PACKED, RECORD_DOMAIN_marker));

static const kymo_marker_api_t api;
static struct cap_domain *domain;

static void hooks_set(const kymo_marker_api_t *to)
{
	pthread_mutex_lock(&hooks_lock);
	for (kymo_marker_hook_t *h = hooks; h; h = h->next)
		__atomic_store_n(&h->api, to, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&hooks_lock);
}

/* Stopped contexts listen too: their ranges must be known when they start. */
static bool anybody_listens(void)
{
	bool any = false;

	pthread_mutex_lock(&core_live->configure);
	any = core_wanted_by_any(&core_domains[core_scope_ops[0].domain], 0);
	for (uint32_t op = 0; op < MARKER_OPS && !any; op++)
		any = core_wanted_by_any(domain, op);
	pthread_mutex_unlock(&core_live->configure);
	return any;
}

/*
 * NOT_BEGUN, BEGUN, or the number of the process in which a thread finds out whether anybody listens;
 * futex word.
 */
enum { NOT_BEGUN = 0, BEGUN = -1 };
static _Atomic uint32_t begun;
static _Thread_local bool beginning; /* a tool that annotates does not wait for itself */

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER; /* who looks last has the say */

static void wanted(uint32_t activities)
{
	uint32_t state;

	if (atomic_load(&begun) != (uint32_t)BEGUN && !beginning)
		return; /* the services that are to listen are not all known: begin() asks again */
	pthread_mutex_lock(&state_lock);
	state = anybody_listens() ? MARKER_LISTENING : MARKER_DEAF;
	if (atomic_load(&marker_state) == MARKER_DEAF && state == MARKER_LISTENING)
		atomic_fetch_add(&marker_generation, 1);
	atomic_store(&marker_state, state);
	hooks_set(state == MARKER_LISTENING ? &api : NULL);
	pthread_mutex_unlock(&state_lock);
}

static _Atomic uint64_t missed; /* annotations while it was not known who listens */

static void fork_child(void)
{
	pthread_mutex_init(&hooks_lock, NULL);
	pthread_mutex_init(&state_lock, NULL);
	atomic_store(&missed, 0);
	marker_ranges_fork_child();
}

/* Names as text: what numbers they have is the trace's business. */
static void encode(const struct cap_domain_info *of, uint32_t op, const void *args, bool ok,
		   struct wire_enc *e)
{
	const kymo_marker_args_t *a = args;

	if (op == MARKER_OP_PAUSE || op == MARKER_OP_RESUME) {
		wire_unsigned(e, CONTROL_ALL, a->all);
		return;
	}
	wire_unsigned(e, MARKER_SCOPE, (uint64_t)a->scope);
	wire_string(e, MARKER_TEXT, a->name, KYMO_STRING_MAX);
	wire_unsigned(e, MARKER_COLOR, a->color);
}

static const struct cap_domain_info info = {RECORD_DESCRIPTION(marker), .ops = marker_ops,
					    .wanted = wanted, .fork_child = fork_child,
					    .encode = encode};

static void count_missed(void)
{
	static _Atomic bool noted;
	struct core_pool *pool = core_shared_pool();
	uint64_t n = atomic_exchange(&missed, 0);

	if (!n || !pool || atomic_load(&marker_state) != MARKER_LISTENING)
		return;
	core_pool_lose(pool, n, false);
	if (!atomic_exchange(&noted, true))
		cap_note(2, "core",
			 "annotations of other threads are lost, as Kymo needed more than ten "
			 "seconds to "
			 "begin at the first one; they are counted as lost records");
}

static void begin(void)
{
	bool there = cap_domain_register(&info, &domain) == KYMO_OK;

	if (there) {
		wanted(0);
	} else {
		atomic_store(&marker_state, MARKER_DEAF);
		hooks_set(NULL);
	}
	atomic_store(&begun, (uint32_t)BEGUN);
	if (there)
		wanted(0); /* who came meanwhile asked in vain */
	futex_wake(&begun, INT_MAX);
	count_missed();
}

#define PATIENCE_NS UINT64_C(10000000000)
static _Atomic uint64_t patience_ends; /* for all that wait; 0: nobody does */

/*
 * Other threads' first annotations are not to be lost while one finds out whether anybody listens,
 * which takes as long as the drain needs to answer. A tool may wait for them meanwhile: then they do
 * without, and are counted. False: they do. A child of a fork meanwhile begins anew.
 */
static bool await_begin(void)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), none = 0;
	uint32_t by = atomic_load(&begun);

	atomic_compare_exchange_strong(&patience_ends, &none, now + PATIENCE_NS);
	while (by == (uint32_t)getpid() && now < atomic_load(&patience_ends)) {
		futex_wait(&begun, by, atomic_load(&patience_ends) - now);
		now = clock_ns(CLOCK_MONOTONIC);
		by = atomic_load(&begun);
	}
	if (by == (uint32_t)getpid())
		return false;
	atomic_store(&patience_ends, 0);
	if (by != (uint32_t)BEGUN)
		atomic_compare_exchange_strong(&begun, &by, NOT_BEGUN);
	return true;
}

/* The first annotation: only now is the process one that Kymo has to do with. */
bool marker_begin(uint32_t records)
{
	uint32_t state;

	if (cap_likely(atomic_load(&begun) == (uint32_t)BEGUN) || beginning)
		return atomic_load(&marker_state) == MARKER_LISTENING;
	do {
		state = NOT_BEGUN;
		if (atomic_compare_exchange_strong(&begun, &state, (uint32_t)getpid())) {
			beginning = true;
			begin();
			beginning = false;
		} else if (!await_begin()) {
			atomic_fetch_add(&missed, records);
			if (atomic_load(&begun) == (uint32_t)BEGUN)
				count_missed();
			return false;
		}
	} while (atomic_load(&begun) != (uint32_t)BEGUN);
	return atomic_load(&marker_state) == MARKER_LISTENING;
}

/* ---- hooks ---- */

KYMO_EXPORT void kymo_marker_attach(kymo_marker_hook_t *hook);

static void attach(kymo_marker_hook_t *hook)
{
	bool deaf = atomic_load(&marker_state) == MARKER_DEAF;

	if (!hook || hook->version == 0)
		return;
	pthread_mutex_lock(&hooks_lock);
	if (!hook->library) {
		hook->next = hooks;
		hooks = hook;
		__atomic_store_n(&hook->library, &api, __ATOMIC_RELAXED);
		__atomic_store_n(&hook->api, deaf ? NULL : &api, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&hooks_lock);
}

void kymo_marker_attach(kymo_marker_hook_t *hook)
{
	cap_load();
	attach(hook);
}

/* The program itself is what the linker names first. */
static int is_there(struct dl_phdr_info *program, size_t size, void *address)
{
	for (int i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &program->dlpi_phdr[i];

		if (part->p_type == PT_LOAD &&
		    (uintptr_t)address - program->dlpi_addr - part->p_vaddr < part->p_memsz)
			return 1;
	}
	return -1;
}

/*
 * Who detaches is unloaded, but for the program, whose destructors are the first that run at its end: it stays where it is, and
 * its threads go on for as long as others' destructors take.
 */
static void detach(kymo_marker_hook_t *hook)
{
	if (dl_iterate_phdr(is_there, hook) == 1)
		return;
	pthread_mutex_lock(&hooks_lock);
	for (kymo_marker_hook_t **h = &hooks; *h; h = &(*h)->next) {
		if (*h != hook)
			continue;
		*h = hook->next;
		break;
	}
	__atomic_store_n(&hook->api, NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&hooks_lock);
}

/* The note of the header: name "Kymo", type 1, distance to the hook. */
static void look_at_note(const uint8_t *name, uint32_t name_size, const uint8_t *data,
			 uint32_t size, uint32_t type)
{
	int32_t distance;

	if (name_size != 5 || memcmp(name, "Kymo", 5) != 0 || type != 1 || size != 4)
		return;
	memcpy(&distance, data, 4);
	attach((kymo_marker_hook_t *)(uintptr_t)(data + distance));
}

static void look_at_notes(const uint8_t *p, const uint8_t *end, size_t align)
{
	align = align == 8 ? 8 : 4;
	while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) n;
		size_t data, next;

		memcpy(&n, p, sizeof(n));
		data = (sizeof(n) + n.n_namesz + align - 1) & ~(align - 1);
		next = (data + n.n_descsz + align - 1) & ~(align - 1);
		if (data > (size_t)(end - p) || n.n_descsz > (size_t)(end - p) - data)
			break;
		look_at_note(p + sizeof(n), n.n_namesz, p + data, n.n_descsz, n.n_type);
		if (next >= (size_t)(end - p))
			break;
		p += next;
	}
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *data)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &object->dlpi_phdr[i];
		const uint8_t *p = (const uint8_t *)(uintptr_t)(object->dlpi_addr + ph->p_vaddr);

		if (ph->p_type == PT_NOTE)
			look_at_notes(p, p + ph->p_memsz, ph->p_align);
	}
	return 0;
}

/* Who was loaded before this library. Who comes later finds it. */
__attribute__((constructor)) static void loaded(void)
{
	dl_iterate_phdr(look_at_object, NULL);
}

/* ---- the functions ---- */

void kymo_mark(const char *name)
{
	marker_mark(&(kymo_marker_t){.size = sizeof(kymo_marker_t), .name = name});
}

void kymo_mark_full(const kymo_marker_t *marker)
{
	marker_mark(marker);
}

int kymo_range_push(const char *name)
{
	return marker_push(name);
}

int kymo_range_push_string(kymo_string_t *name)
{
	return marker_push_string(name);
}

int kymo_range_push_full(const kymo_marker_t *marker)
{
	return marker_push_full(marker);
}

int kymo_range_pop(void)
{
	return marker_pop(0);
}

int kymo_range_pop_domain(kymo_string_t *of)
{
	if (cap_unlikely(!marker_begin(0)))
		return KYMO_MARKER_OFF;
	return marker_pop(marker_string_id(of));
}

void kymo_range_add(const kymo_payload_t *payload, uint32_t count)
{
	marker_add(payload, count);
}

uint64_t kymo_range_start(const char *name)
{
	return marker_start(&(kymo_marker_t){.size = sizeof(kymo_marker_t), .name = name});
}

uint64_t kymo_range_start_full(const kymo_marker_t *marker)
{
	return marker_start(marker);
}

int kymo_range_stop(uint64_t id)
{
	return marker_stop(id);
}

void kymo_name(kymo_object_t what, const char *runtime, uint64_t handle, const char *text)
{
	marker_name_object(what, runtime, handle, text);
}

void kymo_control(kymo_control_t what)
{
	marker_control(what);
}

static const kymo_marker_api_t api = {
	.size = sizeof(kymo_marker_api_t),
	.mark = kymo_mark,
	.mark_full = kymo_mark_full,
	.push = marker_push,
	.push_string = marker_push_string,
	.push_full = marker_push_full,
	.pop = kymo_range_pop,
	.pop_domain = kymo_range_pop_domain,
	.add = marker_add,
	.start = kymo_range_start,
	.start_full = marker_start,
	.stop = marker_stop,
	.name = marker_name_object,
	.control = marker_control,
	.detach = detach,
};
