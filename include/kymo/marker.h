/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations: what a program says about itself. Marks, ranges, names, pause and resume.
 *
 *   kymo_range_push("solve");
 *   ...
 *   kymo_range_pop();
 *
 * This header is all that a program needs: it links nothing of Kymo. While no tool listens, each
 * function is one load and one branch. When libkymo is in the process, whether it was linked,
 * preloaded or loaded later, it finds the one variable that this header adds to each program and
 * shared library, and calls go to it. Programs that link libkymo (and languages that bind to
 * functions) may define KYMO_MARKER_LINKED and call the same functions in the library.
 *
 * A range is open between push and pop of one thread, or between start and stop of any two. Each
 * execution of a range is a scope with an id of its own, whose parent is the range that was
 * innermost on the thread when it began; all that is recorded carries the innermost scope.
 *
 * Threads: every function, from any thread, at any time; none is async-signal-safe.
 * Ownership: texts and payloads are copied before the call returns. A kymo_string_t is the
 *   program's own and must live as long as the program (or plugin) does: make it static.
 * Errors: nothing here fails loudly, prints, or changes errno. Bad input (NULL, pop without push,
 *   an id that is not open) is ignored, counted, and shown with the trace. Texts are kept up to
 *   KYMO_STRING_MAX bytes, values of payloads up to KYMO_PAYLOAD_MAX; the trace knows their true
 *   length up to 1 MiB.
 * After fork() the child's ranges begin anew; pops of ranges that the parent pushed are ignored.
 */
#ifndef KYMO_MARKER_H
#define KYMO_MARKER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_STRING_MAX  512 /* bytes kept of a text */
#define KYMO_PAYLOAD_MAX 256 /* bytes kept of a value */
#define KYMO_RANGE_DEPTH 256 /* ranges open on a thread; deeper ones are counted, not recorded */

/* Returned by push, pop and stop instead of a depth. */
enum {
	KYMO_MARKER_OFF = -1,       /* nobody listens */
	KYMO_MARKER_UNBALANCED = -2 /* nothing to pop or stop; or nested too deep */
};

/*
 * A text that is used often, a domain or a category: known to Kymo by number after its first use,
 * so that it costs less than a plain text. `id` is Kymo's.
 */
typedef struct kymo_string {
	const char *text;
	uint32_t id;
	uint32_t reserved;
} kymo_string_t;

#define KYMO_STRING(text)                                                                          \
	{                                                                                          \
		text, 0, 0                                                                         \
	}

/* ---- payloads ------------------------------------------------------------------------------- */

typedef enum kymo_payload_type {
	KYMO_PAYLOAD_INT64 = 1,
	KYMO_PAYLOAD_UINT64 = 2,
	KYMO_PAYLOAD_DOUBLE = 3,
	KYMO_PAYLOAD_STRING = 4,
	KYMO_PAYLOAD_BYTES = 5
} kymo_payload_type_t;

typedef union kymo_payload_value {
	int64_t i;
	uint64_t u;
	double d;
	const void *p;
} kymo_payload_value_t;

/* A value with a name. */
typedef struct kymo_payload {
	const char *key;            /* at most 64 bytes of it are kept; NULL is "" */
	uint32_t type;              /* kymo_payload_type_t */
	uint32_t reserved;          /* 0 */
	kymo_payload_value_t value; /* p for STRING and BYTES; NULL is absent */
	size_t length;              /* of BYTES; of STRING too, 0: up to its terminator */
} kymo_payload_t;

static inline kymo_payload_t kymo_int64(const char *key, int64_t value)
{
	kymo_payload_t p = {key, KYMO_PAYLOAD_INT64, 0, {0}, 0};

	p.value.i = value;
	return p;
}

static inline kymo_payload_t kymo_uint64(const char *key, uint64_t value)
{
	kymo_payload_t p = {key, KYMO_PAYLOAD_UINT64, 0, {0}, 0};

	p.value.u = value;
	return p;
}

static inline kymo_payload_t kymo_double(const char *key, double value)
{
	kymo_payload_t p = {key, KYMO_PAYLOAD_DOUBLE, 0, {0}, 0};

	p.value.d = value;
	return p;
}

static inline kymo_payload_t kymo_text(const char *key, const char *value)
{
	kymo_payload_t p = {key, KYMO_PAYLOAD_STRING, 0, {0}, 0};

	p.value.p = value;
	return p;
}

static inline kymo_payload_t kymo_bytes(const char *key, const void *data, size_t length)
{
	kymo_payload_t p = {key, KYMO_PAYLOAD_BYTES, 0, {0}, length};

	p.value.p = data;
	return p;
}

/* ---- markers ---------------------------------------------------------------------------------- */

/* A mark or range in full. All but `size` may be zero. */
typedef struct kymo_marker {
	size_t size;      /* sizeof(kymo_marker_t) */
	const char *name; /* used when `string` is NULL */
	kymo_string_t *string;
	kymo_string_t *domain;   /* who says it: ranges of each domain nest by themselves */
	kymo_string_t *category; /* a group within the domain */
	uint32_t color;          /* 0xAARRGGBB; 0: none */
	uint32_t payload_count;
	const kymo_payload_t *payload;
} kymo_marker_t;

/* What kymo_name() names. */
typedef enum kymo_object {
	KYMO_OBJECT_PROCESS = 1, /* handle: 0 */
	KYMO_OBJECT_THREAD = 2,  /* handle: its number in the operating system; 0: the caller */
	KYMO_OBJECT_DEVICE = 3,  /* handle: the runtime's, as in cl_device_id */
	KYMO_OBJECT_CONTEXT = 4,
	KYMO_OBJECT_QUEUE = 5 /* or stream */
} kymo_object_t;

typedef enum kymo_control {
	KYMO_PAUSE_THREAD = 1, /* what the calling thread does is not recorded */
	KYMO_RESUME_THREAD = 2,
	KYMO_PAUSE_ALL = 3, /* nothing is recorded in this process */
	KYMO_RESUME_ALL = 4
} kymo_control_t;

/*
 * What tools get with callbacks for the ops of domain "marker": "range" and "process_range" at
 * ENTER and EXIT, "mark", "pause", "resume" at ENTER. Valid during the callback.
 */
typedef struct kymo_marker_args {
	size_t size;
	const char *name;
	const char *domain;   /* "" is the default one */
	const char *category; /* or "" */
	uint32_t color;
	uint32_t all;  /* pause, resume: of all threads */
	int64_t scope; /* of ranges: their own; the record's scope is the parent */
} kymo_marker_args_t;

struct kymo_marker_hook;

/* The library's functions. Only ever grows. */
typedef struct kymo_marker_api {
	size_t size;
	void (*mark)(const char *name);
	void (*mark_full)(const kymo_marker_t *marker);
	int (*push)(const char *name);
	int (*push_string)(kymo_string_t *name);
	int (*push_full)(const kymo_marker_t *marker);
	int (*pop)(void);
	int (*pop_domain)(kymo_string_t *domain);
	void (*add)(const kymo_payload_t *payload, uint32_t count);
	uint64_t (*start)(const char *name);
	uint64_t (*start_full)(const kymo_marker_t *marker);
	int (*stop)(uint64_t id);
	void (*name)(kymo_object_t what, const char *runtime, uint64_t handle, const char *name);
	void (*control)(kymo_control_t what);
	void (*detach)(struct kymo_marker_hook *hook);
} kymo_marker_api_t;

/* One in each program and shared library that uses this header. */
typedef struct kymo_marker_hook {
	const kymo_marker_api_t *api;     /* while somebody listens, else NULL */
	const kymo_marker_api_t *library; /* once libkymo is in the process */
	struct kymo_marker_hook *next;    /* libkymo's */
	uint32_t looked_for;              /* libkymo was looked for */
	uint32_t version;                 /* KYMO_MARKER_VERSION */
} kymo_marker_hook_t;

#define KYMO_MARKER_VERSION 1

#ifdef KYMO_MARKER_LINKED

#ifndef KYMO_EXPORT
#define KYMO_EXPORT __attribute__((visibility("default")))
#endif
#define KYMO_MARKER_FUNCTION(type, name, parameters, library, call, otherwise)                     \
	KYMO_EXPORT type name parameters;
#define KYMO_MARKER_VOID(name, parameters, library, call) KYMO_EXPORT void name parameters;

#else

#ifdef __cplusplus
}
#endif
#include <dlfcn.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The hook: one a program or library, however many of its files include this. */
extern kymo_marker_hook_t kymo_marker_hook __attribute__((visibility("hidden")));
__attribute__((weak, used, visibility("hidden")))
kymo_marker_hook_t kymo_marker_hook = {NULL, NULL, NULL, 0, KYMO_MARKER_VERSION};

/*
 * A note that says where it is, for a libkymo that comes later. One for each file that includes
 * this: in a group, the linker would drop it with --gc-sections.
 */
__asm__(".pushsection .note.kymo,\"a\",%note\n"
	".balign 4\n"
	".long 5, 4, 1\n" /* length of the name, of what follows it; type */
	".asciz \"Kymo\"\n"
	".balign 4\n"
	".long kymo_marker_hook - .\n"
	".popsection\n");

/*
 * Looks for a libkymo that is there already. Runs before main(), or when a library is loaded,
 * and before other constructors, which may annotate.
 */
__attribute__((constructor(101), used)) static void kymo_marker_loaded(void)
{
	void (*attach)(kymo_marker_hook_t *) = NULL;
	void *library, *symbol;

	if (kymo_marker_hook.looked_for || kymo_marker_hook.library)
		return;
	kymo_marker_hook.looked_for = 1;
	symbol = dlsym(NULL, "kymo_marker_attach"); /* NULL: RTLD_DEFAULT */
	if (!symbol) {
		/* Loaded, but out of sight of others? It is never loaded by this. */
		library = dlopen("libkymo.so.1", RTLD_LAZY | RTLD_NOLOAD);
		if (library)
			symbol = dlsym(library, "kymo_marker_attach");
	}
	if (!symbol)
		return;
	__builtin_memcpy(&attach, &symbol, sizeof(attach));
	attach(&kymo_marker_hook);
}

__attribute__((destructor, used)) static void kymo_marker_unloaded(void)
{
	if (kymo_marker_hook.library)
		kymo_marker_hook.library->detach(&kymo_marker_hook);
	kymo_marker_hook.library = NULL;
}

static inline const kymo_marker_api_t *kymo_marker_listener(void)
{
	return __atomic_load_n(&kymo_marker_hook.api, __ATOMIC_RELAXED);
}

/* Also when nobody listens yet: what is said once must not be lost on who comes later. */
static inline const kymo_marker_api_t *kymo_marker_library(void)
{
	return __atomic_load_n(&kymo_marker_hook.library, __ATOMIC_RELAXED);
}

#define KYMO_MARKER_FUNCTION(type, name, parameters, library, call, otherwise)                     \
	static inline type name parameters                                                         \
	{                                                                                          \
		const kymo_marker_api_t *api = library();                                          \
                                                                                                   \
		return __builtin_expect(api != NULL, 0) ? api->call : otherwise;                   \
	}
#define KYMO_MARKER_VOID(name, parameters, library, call)                                          \
	static inline void name parameters                                                         \
	{                                                                                          \
		const kymo_marker_api_t *api = library();                                          \
                                                                                                   \
		if (__builtin_expect(api != NULL, 0))                                              \
			api->call;                                                                 \
	}

#endif

/* Something happened at this moment. */
KYMO_MARKER_VOID(kymo_mark, (const char *name), kymo_marker_listener, mark(name))
KYMO_MARKER_VOID(kymo_mark_full, (const kymo_marker_t *marker), kymo_marker_listener,
		 mark_full(marker))

/* Opens a range on the calling thread. Returns its depth from 0, or KYMO_MARKER_OFF. */
KYMO_MARKER_FUNCTION(int, kymo_range_push, (const char *name), kymo_marker_listener, push(name),
		     KYMO_MARKER_OFF)
KYMO_MARKER_FUNCTION(int, kymo_range_push_string, (kymo_string_t * name), kymo_marker_listener,
		     push_string(name), KYMO_MARKER_OFF)
KYMO_MARKER_FUNCTION(int, kymo_range_push_full, (const kymo_marker_t *marker), kymo_marker_listener,
		     push_full(marker), KYMO_MARKER_OFF)

/* Closes the innermost range of the calling thread, of the default domain or of `domain`. */
KYMO_MARKER_FUNCTION(int, kymo_range_pop, (void), kymo_marker_listener, pop(), KYMO_MARKER_OFF)
KYMO_MARKER_FUNCTION(int, kymo_range_pop_domain, (kymo_string_t * domain), kymo_marker_listener,
		     pop_domain(domain), KYMO_MARKER_OFF)

/* Adds to the payload of the innermost range of the calling thread. */
KYMO_MARKER_VOID(kymo_range_add, (const kymo_payload_t *payload, uint32_t count),
		 kymo_marker_listener, add(payload, count))

/*
 * A range that any thread may stop: returns its id, 0 when nobody listens. It is no scope of what
 * threads do meanwhile. At most 65,536 are open at once; more are counted.
 */
KYMO_MARKER_FUNCTION(uint64_t, kymo_range_start, (const char *name), kymo_marker_listener,
		     start(name), 0)
KYMO_MARKER_FUNCTION(uint64_t, kymo_range_start_full, (const kymo_marker_t *marker),
		     kymo_marker_listener, start_full(marker), 0)
KYMO_MARKER_FUNCTION(int, kymo_range_stop, (uint64_t id), kymo_marker_listener, stop(id),
		     KYMO_MARKER_OFF)

/*
 * Gives an object the name by which every output shows it. `runtime` is the Kymo domain whose
 * handle it is ("opencl"), NULL for processes and threads. Objects of one handle: the one that
 * lives at the moment. The last name counts.
 */
KYMO_MARKER_VOID(kymo_name,
		 (kymo_object_t what, const char *runtime, uint64_t handle, const char *text),
		 kymo_marker_library, name(what, runtime, handle, text))

/*
 * Stops and goes on with recording. Kymo's recorder obeys; other tools see it as an event. Ranges
 * keep nesting meanwhile: one that is open across a pause is recorded when it is popped after it.
 * Pauses do not count: one resume ends them all.
 */
KYMO_MARKER_VOID(kymo_control, (kymo_control_t what), kymo_marker_library, control(what))

#undef KYMO_MARKER_FUNCTION
#undef KYMO_MARKER_VOID

static inline void kymo_name_thread(const char *name)
{
	kymo_name(KYMO_OBJECT_THREAD, NULL, 0, name);
}

static inline void kymo_pause(void)
{
	kymo_control(KYMO_PAUSE_ALL);
}

static inline void kymo_resume(void)
{
	kymo_control(KYMO_RESUME_ALL);
}

static inline void kymo_pause_thread(void)
{
	kymo_control(KYMO_PAUSE_THREAD);
}

static inline void kymo_resume_thread(void)
{
	kymo_control(KYMO_RESUME_THREAD);
}

#ifdef __cplusplus
}
#endif
#endif
