/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function that annotation interfaces are given, called in any order with what a program may
 * hand over by mistake: NULL, very long texts, structures of wrong versions, ids of nothing, objects
 * that were destroyed; by several threads, by a forked child, and at exit. From a fixed seed, or the
 * one that is given. Meant for the sanitizers; without them it finds crashes only.
 */
/* clang-format off */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/kymo.h>

#include "capture/itt/itt.h"
#include "capture/nvtx/nvtx.h"

enum { THREADS = 4, CALLS = 40000, WORDS = 24, POOL = 8, BYTES = 4096 };

/* ---- chance: each thread has its own ---- */

static _Thread_local uint64_t state;
static uint64_t seed = 88172645463325252ull;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t any_number(void)
{
	switch (any() % 4) {
	case 0: return any() % 8;
	case 1: return any();
	case 2: return kymo_time() - any() % 1000000;
	default: return (1ull << 24) + any() % 4;
	}
}

/* ---- what functions gave, and what was handed to them ---- */

static uintptr_t pools[128][POOL]; /* by the letter of what it is; written by all threads */

static void keep(char kind, uintptr_t value)
{
	__atomic_store_n(&pools[(unsigned char)kind][any() % POOL], value, __ATOMIC_RELAXED);
}

static uintptr_t kept(char kind)
{
	return __atomic_load_n(&pools[(unsigned char)kind][any() % POOL], __ATOMIC_RELAXED);
}

static char *big;
static const wchar_t *const wide_texts[] = {NULL, L"", L"wide \x3b1", L"\xd800 half"};

static const char *any_text(void)
{
	static char longer[700];
	const char *const texts[] = {NULL, "", "name", "another name", "100%", longer, "object_name"};

	if (!*longer)
		memset(longer, 'x', sizeof(longer) - 1);
	return any() % 500 == 0 ? big : texts[any() % (sizeof(texts) / sizeof(*texts))];
}

/* Memory that belongs to one call, so that a sanitizer sees where it ends. */
struct memory {
	void *block[16];
	unsigned used;
};

static void *block(struct memory *m, size_t size)
{
	void *p = calloc(1, size);

	return m->block[m->used++] = p;
}

static void fill(void *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)at)[i] = (uint8_t)(any() % 3 ? any() % 8 : any());
}

static const void *any_message(int32_t type)
{
	if (type == NVTX_REGISTERED)
		return (const void *)kept('h');
	return type == NVTX_UNICODE ? (const void *)wide_texts[any() % 4]
				    : type == NVTX_ASCII ? any_text() : NULL;
}

static struct nvtx_blob *any_blobs(struct memory *m)
{
	struct nvtx_blob *b = block(m, 3 * sizeof(*b));

	for (unsigned i = 0; i < 3; i++) {
		b[i].size = any() % 64;
		b[i].data = any() % 8 ? block(m, b[i].size ? b[i].size : 1) : NULL;
		b[i].schema = any() % 2 ? kept('L') : any_number();
		if (b[i].data)
			fill((void *)(uintptr_t)b[i].data, b[i].size);
	}
	return b;
}

static void *any_event(struct memory *m)
{
	static const uint16_t sizes[] = {0, 1, 4, 8, 40, 47, 48, 48, 48, 48};
	struct nvtx_event e = {.version = (uint16_t)any(), .category = (uint32_t)(any() % 3),
			       .color_type = (int32_t)(any() % 3), .color = (uint32_t)any(),
			       .payload_type = (int32_t)(any() % 9), .payload_count = (int32_t)(any() % 4),
			       .message_type = (int32_t)(any() % 5)};
	void *at;

	e.size = sizes[any() % 10];
	e.message = any_message(e.message_type);
	if (any() % 4 == 0) {
		e.payload_type = NVTX_PAYLOAD_EXTENDED;
		e.payload.pointer = any() % 4 ? any_blobs(m) : NULL;
	}
	at = block(m, e.size < 2 * sizeof(uint16_t) ? 2 * sizeof(uint16_t) : e.size);
	memcpy(at, &e, e.size < 4 ? 4 : e.size);
	return at;
}

static void *any_schema(struct memory *m)
{
	struct nvtx_schema *s = block(m, sizeof(*s));
	struct nvtx_entry *e = block(m, 4 * sizeof(*e));
	struct nvtx_semantics *x = block(m, sizeof(*x));

	*x = (struct nvtx_semantics){(uint32_t)(any() % 40), (uint16_t)(any() % 4), 1, any() % 4 ? NULL : x,
				     any_number()};
	for (unsigned i = 0; i < 4; i++)
		e[i] = (struct nvtx_entry){any() & 0x7fff, any() % 2 ? any() % 110 : kept('L'),
					   any_text(), NULL, any() % 9, any() % 9, x, NULL};
	*s = (struct nvtx_schema){any(), any_text(), any() % 5, 0, e, any() % 5, any() % 64, 0,
				  any() % 2 ? 0 : any_number(), NULL};
	return s;
}

static void *any_struct(struct memory *m, char kind)
{
	void *at = block(m, 128);

	switch (kind) {
	case 'R':
		*(struct nvtx_resource *)at = (struct nvtx_resource){
			3, (uint16_t)(any() % 64), (int32_t)(any() % 7 << 16 | any() % 6),
			{any_number()}, NVTX_ASCII, any_text()};
		break;
	case 'Y':
		*(struct nvtx_sync *)at = (struct nvtx_sync){3, (uint16_t)(any() % 32), NVTX_ASCII,
							     any_text()};
		break;
	case 'A':
		*(struct nvtx_counter *)at = (struct nvtx_counter){
			any() % 80, any() % 2 ? kept('L') : any() % 30, any_text(), any_text(), any_number(),
			NULL, any_number()};
		break;
	case 'B':
		*(struct nvtx_counter_batch *)at = (struct nvtx_counter_batch){
			kept('C'), block(m, 64), any() % 65, any() & (3ull << 32),
			any() % 2 ? block(m, 64) : NULL, any() % 65};
		break;
	case 'E':
		*(struct nvtx_event_batch *)at = (struct nvtx_event_batch){
			kept('L'), any() % 65, block(m, 64), any_number(), any(), NULL, 0, 0};
		break;
	case 'M':
		*(struct nvtx_enum *)at = (struct nvtx_enum){any(), any_text(), block(m, 24), any() % 2,
							     any() % 12, any_number(), NULL};
		break;
	case 'T':
		*(struct nvtx_time_domain *)at = (struct nvtx_time_domain){
			any_number(), any() % 60, any_number(), 0, (int64_t)any_number(), 0};
		break;
	default:
		fill(at, 128);
	}
	return at;
}

static int64_t timer(void *data)
{
	return (int64_t)(kymo_time() / 1000);
}

/* ---- calls ---- */

/*
 * Parameters by letters: d domain, s text, w wide text, e event, p payloads with their number, i int,
 * u number, r range, h registered string or string handle, q memory, x lock, c counter, k clock, f
 * frame, I id by value, J id, Z memory space by value, F function; upper case: structures.
 */
struct call {
	uint64_t word[6], more[WORDS];
	unsigned words, mores;
};

static void put(struct call *c, uint64_t value)
{
	if (c->words < 6)
		c->word[c->words++] = value;
	else if (c->mores < WORDS)
		c->more[c->mores++] = value;
}

static void put_by_value(struct call *c, unsigned words, uint64_t first)
{
	for (unsigned i = 0; i < words && c->mores < WORDS; i++)
		c->more[c->mores++] = i ? 0 : first;
}

static void put_parameter(struct call *c, struct memory *m, char kind, char domain)
{
	static char host[9] = "Host";
	uint64_t space;

	memcpy(&space, host, 8);
	switch (kind) {
	case 'd': put(c, any() % 4 ? kept(domain) : 0); break;
	case 'h': put(c, any() % 8 ? kept(domain == 'd' ? 'h' : 'H') : 0); break;
	case 's': put(c, (uintptr_t)any_text()); break;
	case 'w': put(c, (uintptr_t)wide_texts[any() % 4]); break;
	case 'e': put(c, any() % 8 ? (uintptr_t)any_event(m) : 0); break;
	case 'p':
		put(c, any() % 8 ? (uintptr_t)any_blobs(m) : 0);
		put(c, any() % 4);
		break;
	case 'S': put(c, any() % 8 ? (uintptr_t)any_schema(m) : 0); break;
	case 'i': put(c, (uint64_t)(int64_t)(int32_t)(any() % 3 ? any() % 10 : any())); break;
	case 'n': put(c, any() % 17); break;
	case 'u': put(c, any() % 2 ? any_number() : kept(any() % 2 ? 'L' : 'C')); break;
	case 'r': put(c, any() % 2 ? kept('r') : any_number()); break;
	case 'q': put(c, any() % 8 ? (uintptr_t)block(m, BYTES) : 0); break;
	case 'x': case 'c': case 'k': case 'f': put(c, any() % 8 ? kept(kind) : 0); break;
	case 'F': put(c, any() % 2 ? (uintptr_t)timer : 0); break;
	case 'I': put_by_value(c, 3, any() % 4); break;
	case 'J': put(c, any() % 4 ? (uintptr_t)block(m, 24) : 0); break;
	case 'Z': put_by_value(c, 8, any() % 2 ? space : 0); break;
	default: put(c, any() % 8 ? (uintptr_t)any_struct(m, kind) : 0);
	}
}

static void call(void (*function)(void), const char *parameters, char result, char domain)
{
	uint64_t (*f)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, struct call) = NULL;
	struct memory m = {{NULL}, 0};
	struct call c;
	uint64_t got;

	memset(&c, 0, sizeof(c));
	for (; *parameters; parameters++)
		put_parameter(&c, &m, *parameters, domain);
	memcpy(&f, &function, sizeof(f));
	/* What does not fit into registers lies on the stack, where a structure by value lies too. */
	struct call stack = c;
	memcpy(stack.word, c.more, sizeof(c.more) < sizeof(stack) ? sizeof(c.more) : sizeof(stack));
	got = f(c.word[0], c.word[1], c.word[2], c.word[3], c.word[4], c.word[5], stack);
	if (result)
		keep(result, got);
	while (m.used)
		free(m.block[--m.used]);
}

/* ---- NVTX ---- */

struct function {
	const char *name, *parameters;
	char result;
	void (*function)(void);
};

int InitializeInjectionNvtxExtension(struct nvtx_extension *x);

static const char *const core[] = {"", "e", "s", "w", "e", "s", "w", "r", "e", "s", "w", "", "is", "iw",
				   "is", "iw"};
static const char *const core2[] = {"", "de", "de", "dr", "de", "d", "dR", "q", "dis", "diw", "ds", "dw",
				    "s", "w", "d", "q"};
static const char *const objects[] = {"", "us", "uw", "us", "uw", "us", "uw"};
static const char *const locks[] = {"", "dY", "x", "x", "x", "x", "x"};
static const char *const payload[] = {"dS", "dM", "dp", "dp", "dp", "dp", "drp", "d", "", "dT", "duuF",
				      "duuFq", "dq", "duuuu", "duuqn", "duuuu", "dp", "dE"};
static const char *const counting[] = {"dA", "duu", "du", "duqn", "dui", "dB"};

static struct function nvtx[128];
static unsigned nvtx_count;

static void add_nvtx(void (*function)(void), const char *parameters, char result)
{
	if (function)
		nvtx[nvtx_count++] = (struct function){NULL, parameters, result, function};
}

static void add_module(int module, const char *const *parameters, unsigned count)
{
	for (unsigned id = 1; id < count; id++) {
		void (*f)(void) = nvtx_events_function(module, id);
		char result = module == NVTX_CORE && id >= 4 && id <= 6	  ? 'r'
			      : module == NVTX_CORE2 && id == 2		  ? 'r'
			      : module == NVTX_CORE2 && (id == 10 || id == 11) ? 'h'
			      : module == NVTX_CORE2 && (id == 12 || id == 13) ? 'd'
			      : module == NVTX_SYNC && id == 1		  ? 'x'
									  : 0;

		add_nvtx(f ? f : nvtx_names_function(module, id), parameters[id], result);
	}
}

static void add_extension(uint16_t module, const char *const *parameters, unsigned count)
{
	intptr_t slots[64] = {0};
	struct nvtx_segment segment = {0, 64, slots};
	struct nvtx_extension x = {3, sizeof(x), module, 0x0104, 1, &segment, NULL, NULL};

	InitializeInjectionNvtxExtension(&x);
	for (unsigned i = 0; i < count; i++) {
		void (*f)(void);

		memcpy(&f, &slots[i], sizeof(f));
		add_nvtx(f, parameters[i],
			 module == NVTX_MODULE_COUNTERS ? (i == 0 ? 'C' : 0)
			 : i < 2			 ? 'L'
			 : i == 5			 ? 'r'
							 : 0);
	}
}

/* ---- ITT ---- */

static struct function itt[] = {
	{"domain_create", "s", 'D', NULL}, {"string_handle_create", "s", 'H', NULL},
	{"thread_set_name", "s", 0, NULL}, {"thr_name_set", "si", 0, NULL},
	{"pause", "", 0, NULL}, {"resume", "", 0, NULL}, {"pause_scoped", "i", 0, NULL},
	{"resume_scoped", "i", 0, NULL}, {"get_timestamp", "", 0, NULL}, {"api_version", "", 0, NULL},
	{"task_begin", "dIIh", 0, NULL}, {"task_begin_fn", "dIIq", 0, NULL}, {"task_end", "d", 0, NULL},
	{"task_begin_ex", "dkuIIh", 0, NULL}, {"task_begin_fn_ex", "dkuIIq", 0, NULL},
	{"task_end_ex", "dku", 0, NULL}, {"task_begin_overlapped", "dIIh", 0, NULL},
	{"task_begin_overlapped_ex", "dkuIIh", 0, NULL}, {"task_end_overlapped", "dI", 0, NULL},
	{"task_end_overlapped_ex", "dkuI", 0, NULL}, {"task_group", "dIIh", 0, NULL},
	{"region_begin", "dIIh", 0, NULL}, {"region_end", "dI", 0, NULL},
	{"frame_begin_v3", "dJ", 0, NULL}, {"frame_end_v3", "dJ", 0, NULL},
	{"frame_submit_v3", "dJuu", 0, NULL}, {"marker", "dIhi", 0, NULL},
	{"marker_ex", "dkuIhi", 0, NULL}, {"event_create", "si", 0, NULL}, {"event_start", "i", 0, NULL},
	{"event_end", "i", 0, NULL}, {"mark_create", "s", 0, NULL}, {"mark", "is", 0, NULL},
	{"mark_global", "is", 0, NULL}, {"mark_off", "i", 0, NULL}, {"frame_create", "s", 'f', NULL},
	{"frame_begin", "f", 0, NULL}, {"frame_end", "f", 0, NULL},
	{"metadata_add", "dIhinq", 0, NULL}, {"metadata_str_add", "dIhsn", 0, NULL},
	{"metadata_add_with_scope", "dihinq", 0, NULL}, {"metadata_str_add_with_scope", "dihsn", 0, NULL},
	{"relation_add", "dIiI", 0, NULL}, {"relation_add_to_current", "diI", 0, NULL},
	{"relation_add_ex", "dkuIiI", 0, NULL}, {"relation_add_to_current_ex", "dkuiI", 0, NULL},
	{"counter_create", "ss", 'c', NULL}, {"counter_create_typed", "ssi", 'c', NULL},
	{"counter_create_v3", "dsi", 'c', NULL}, {"counter_destroy", "c", 0, NULL},
	{"counter_inc", "c", 0, NULL}, {"counter_inc_delta", "cu", 0, NULL}, {"counter_dec", "c", 0, NULL},
	{"counter_dec_delta", "cu", 0, NULL}, {"counter_set_value", "cq", 0, NULL},
	{"counter_set_value_ex", "ckuq", 0, NULL}, {"counter_inc_v3", "dh", 0, NULL},
	{"counter_inc_delta_v3", "dhu", 0, NULL}, {"counter_dec_v3", "dh", 0, NULL},
	{"sync_create", "qssi", 0, NULL}, {"notify_sync_name", "qsisii", 0, NULL},
	{"sync_rename", "qs", 0, NULL}, {"sync_destroy", "q", 0, NULL}, {"sync_prepare", "q", 0, NULL},
	{"sync_acquired", "q", 0, NULL}, {"sync_cancel", "q", 0, NULL}, {"sync_releasing", "q", 0, NULL},
	{"heap_function_create", "ss", 0, NULL}, {"heap_allocate_end", "qqni", 0, NULL},
	{"heap_free_begin", "qq", 0, NULL}, {"heap_reallocate_begin", "qqni", 0, NULL},
	{"heap_reallocate_end", "qqqni", 0, NULL},
};

static void found_itt(void *data, const char *name, itt_function *function)
{
	for (size_t i = 0; i < sizeof(itt) / sizeof(*itt); i++)
		if (strcmp(name, itt[i].name) == 0)
			itt[i].function = function;
}

static void find_itt(void)
{
	itt_object_functions(found_itt, NULL);
	itt_task_functions(found_itt, NULL);
	itt_metadata_functions(found_itt, NULL);
	itt_counter_functions(found_itt, NULL);
	itt_sync_functions(found_itt, NULL);
	for (size_t i = 0; i < sizeof(itt) / sizeof(*itt); i++) {
		if (!itt[i].function) {
			fprintf(stderr, "no %s\n", itt[i].name);
			abort();
		}
	}
}

/* ---- Kokkos Tools ---- */

#define KOKKOS(X)                                                                                  \
	X(begin_parallel_for, "siq") X(end_parallel_for, "u") X(begin_parallel_reduce, "siq")      \
	X(end_parallel_reduce, "u") X(begin_fence, "siq") X(end_fence, "u")                        \
	X(push_profile_region, "s") X(pop_profile_region, "") X(profile_event, "s")                \
	X(declare_metadata, "ss") X(create_profile_section, "sq") X(start_profile_section, "i")    \
	X(stop_profile_section, "i") X(destroy_profile_section, "i") X(allocate_data, "Zsqu")      \
	X(deallocate_data, "Zsqu") X(begin_deep_copy, "ZsqZsqu") X(end_deep_copy, "")              \
	X(dual_view_sync, "sqi") X(dual_view_modify, "sqi") X(init_library, "iuiq")                \
	X(finalize_library, "") X(request_tool_settings, "iq") X(parse_args, "iq")                 \
	X(print_help, "s")
#define DECLARE(name, parameters) void kokkosp_##name(void);
KOKKOS(DECLARE)
#define ENTRY(name, parameters) {#name, parameters, 0, kokkosp_##name},
static const struct function kokkos[] = {KOKKOS(ENTRY)};

/* ---- all of them ---- */

static void call_any(void)
{
	const struct function *f;

	switch (any() % 3) {
	case 0:
		f = &nvtx[any() % nvtx_count];
		call(f->function, f->parameters, f->result, 'd');
		break;
	case 1:
		f = &itt[any() % (sizeof(itt) / sizeof(*itt))];
		call(f->function, f->parameters, f->result, 'D');
		break;
	default:
		f = &kokkos[any() % (sizeof(kokkos) / sizeof(*kokkos))];
		call(f->function, f->parameters, 0, 'd');
	}
}

static void *worker(void *number)
{
	state = seed + 977 * (uintptr_t)number;
	for (unsigned i = 0; i < CALLS; i++)
		call_any();
	return NULL;
}

static void at_exit(void)
{
	for (unsigned i = 0; i < 1000; i++)
		call_any();
}

static _Atomic uint64_t delivered;

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	atomic_fetch_add(&delivered, 1);
}

static kymo_context_t listen_to_all(void)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .bytes = 8u << 20, .deliver = deliver};
	kymo_context_t context;
	kymo_buffer_t buffer;

	if (kymo_context_create(&context) != KYMO_OK ||
	    kymo_buffer_create(context, &d, &buffer) != KYMO_OK ||
	    kymo_buffer_service(context, NULL, buffer) != KYMO_OK ||
	    kymo_context_start(context) != KYMO_OK)
		abort();
	return context;
}

/* AddressSanitizer's own allocator may be locked for ever in a child of a process with threads. */
static int in_child(void)
{
	int status = 0;
	pid_t child;

#ifdef __SANITIZE_ADDRESS__
	return 0;
#endif
	child = fork();

	if (child == 0) {
		for (unsigned i = 0; i < 2000; i++)
			call_any();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	return status != 0;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	kymo_context_t context;
	int failed;

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	state = seed;
	big = malloc(10 << 20);
	memset(big, 'B', (10 << 20) - 1);
	big[(10 << 20) - 1] = '\0';
	add_module(NVTX_CORE, core, 16);
	add_module(NVTX_CORE2, core2, 16);
	add_module(NVTX_CUDA, objects, 7);
	add_module(NVTX_OPENCL, objects, 7);
	add_module(NVTX_SYNC, locks, 7);
	add_extension(NVTX_MODULE_PAYLOAD, payload, 18);
	add_extension(NVTX_MODULE_COUNTERS, counting, 6);
	find_itt();
	context = listen_to_all();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(i + 1));
	failed = in_child();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	failed |= in_child();
	kymo_drain(context, 1000000000);
	atexit(at_exit);
	printf("%u calls of %zu functions, %llu records\n", THREADS * CALLS,
	       nvtx_count + sizeof(itt) / sizeof(*itt) + sizeof(kokkos) / sizeof(*kokkos),
	       (unsigned long long)delivered);
	if (!delivered)
		failed = 1;
	return failed;
}
