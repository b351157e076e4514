/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for ITT's header and static part, for machines that lack them: the functions that the
 * tests' program uses, and a loader that does with INTEL_LIBITTNOTIFY64 what ITT documents.
 */
#ifndef ITT_FAKE_H
#define ITT_FAKE_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct ___itt_domain {
	volatile int flags;
	const char *nameA;
	void *nameW;
	int extra1;
	void *extra2;
	struct ___itt_domain *next;
} __itt_domain;
typedef struct ___itt_string_handle {
	const char *strA;
	void *strW;
	int extra1;
	void *extra2;
	struct ___itt_string_handle *next;
} __itt_string_handle;
typedef struct {
	unsigned long long d1, d2, d3;
} __itt_id;
typedef struct counter *__itt_counter;
typedef void *__itt_heap_function;
typedef int __itt_event;
enum { __itt_metadata_u64 = 1, __itt_metadata_float = 7, __itt_metadata_double = 8 };
#define __itt_timestamp_none ((unsigned long long)-1)
enum { __itt_marker_scope_process = 2, __itt_relation_is_child_of = 5 };

static const __itt_id __itt_null;

static __itt_id __itt_id_make(void *address, unsigned long long extra)
{
	return (__itt_id){(unsigned long long)(size_t)address, extra, 0};
}

/* X(result, name, (parameters), (arguments)): functions with and without a result. */
#define FAKE_VALUES(X)                                                                             \
	X(__itt_domain *, domain_create, (const char *a), (a))                                     \
	X(__itt_string_handle *, string_handle_create, (const char *a), (a))                       \
	X(__itt_counter, counter_create, (const char *a, const char *b), (a, b))                   \
	X(__itt_counter, counter_create_typed, (const char *a, const char *b, int c), (a, b, c))   \
	X(__itt_heap_function, heap_function_create, (const char *a, const char *b), (a, b))       \
	X(unsigned long long, get_timestamp, (void), ())                                           \
	X(__itt_event, event_create, (const char *a, int b), (a, b))                               \
	X(int, event_start, (__itt_event a), (a))                                                  \
	X(int, event_end, (__itt_event a), (a))
#define DOMAIN const __itt_domain *a
#define HANDLE __itt_string_handle
#define FAKE_VOIDS(X)                                                                              \
	X(task_begin, (DOMAIN, __itt_id b, __itt_id c, HANDLE * d), (a, b, c, d))                  \
	X(task_end, (DOMAIN), (a))                                                                 \
	X(task_begin_overlapped, (DOMAIN, __itt_id b, __itt_id c, HANDLE * d), (a, b, c, d))       \
	X(task_end_overlapped, (DOMAIN, __itt_id b), (a, b))                                       \
	X(region_begin, (DOMAIN, __itt_id b, __itt_id c, HANDLE * d), (a, b, c, d))                \
	X(region_end, (DOMAIN, __itt_id b), (a, b))                                                \
	X(frame_begin_v3, (DOMAIN, __itt_id * b), (a, b))                                          \
	X(frame_end_v3, (DOMAIN, __itt_id * b), (a, b))                                            \
	X(frame_submit_v3, (DOMAIN, __itt_id * b, unsigned long long c, unsigned long long d),     \
	  (a, b, c, d))                                                                            \
	X(marker, (DOMAIN, __itt_id b, HANDLE * c, int d), (a, b, c, d))                           \
	X(metadata_add, (DOMAIN, __itt_id b, HANDLE * c, int d, size_t e, void *f),                \
	  (a, b, c, d, e, f))                                                                      \
	X(metadata_str_add, (DOMAIN, __itt_id b, HANDLE * c, const char *d, size_t e),             \
	  (a, b, c, d, e))                                                                         \
	X(relation_add, (DOMAIN, __itt_id b, int c, __itt_id d), (a, b, c, d))                     \
	X(counter_inc, (__itt_counter a), (a))                                                     \
	X(counter_inc_delta, (__itt_counter a, unsigned long long b), (a, b))                      \
	X(counter_set_value_ex, (__itt_counter a, void *b, unsigned long long c, void *d),         \
	  (a, b, c, d))                                                                            \
	X(counter_dec, (__itt_counter a), (a))                                                     \
	X(counter_set_value, (__itt_counter a, void *b), (a, b))                                   \
	X(heap_allocate_begin, (void *a, size_t b, int c), (a, b, c))                              \
	X(heap_allocate_end, (void *a, void **b, size_t c, int d), (a, b, c, d))                   \
	X(heap_free_begin, (void *a, void *b), (a, b))                                             \
	X(heap_free_end, (void *a, void *b), (a, b))                                               \
	X(sync_create, (void *a, const char *b, const char *c, int d), (a, b, c, d))               \
	X(sync_prepare, (void *a), (a))                                                            \
	X(sync_acquired, (void *a), (a))                                                           \
	X(sync_releasing, (void *a), (a))                                                          \
	X(sync_cancel, (void *a), (a))                                                             \
	X(sync_destroy, (void *a), (a))                                                            \
	X(thread_set_name, (const char *a), (a))                                                   \
	X(thread_ignore, (void), ())                                                               \
	X(pause, (void), ())                                                                       \
	X(resume, (void), ())                                                                      \
	X(histogram_submit, (void *a, size_t b, void *c, void *d), (a, b, c, d))

#define VALUE_FUNCTION(type, name, parameters, arguments)                                          \
	static void *itt_fake_##name;                                                              \
	__attribute__((unused)) static type __itt_##name parameters                                \
	{                                                                                          \
		return itt_fake_##name ? ((type(*) parameters)itt_fake_##name)arguments : (type)0; \
	}
#define VOID_FUNCTION(name, parameters, arguments)                                                 \
	static void *itt_fake_##name;                                                              \
	__attribute__((unused)) static void __itt_##name parameters                                \
	{                                                                                          \
		if (itt_fake_##name)                                                               \
			((void(*) parameters)itt_fake_##name) arguments;                           \
	}
FAKE_VALUES(VALUE_FUNCTION)
FAKE_VOIDS(VOID_FUNCTION)

struct itt_fake_entry {
	const char *name;
	void **place;
	void *first, *otherwise;
	int group;
};
#define VALUE_ENTRY(type, name, parameters, arguments)                                             \
	{"__itt_" #name, &itt_fake_##name, NULL, NULL, 1 << 12},
#define VOID_ENTRY(name, parameters, arguments)                                                    \
	{"__itt_" #name, &itt_fake_##name, NULL, NULL, 1 << 12},
static struct itt_fake_entry itt_fake_entries[] = {
	FAKE_VALUES(VALUE_ENTRY) FAKE_VOIDS(VOID_ENTRY){NULL, NULL, NULL, NULL, 0}};

static struct {
	unsigned char magic[8];
	unsigned long major, minor, build;
	long initialized, mutex_initialized, counter;
	pthread_mutex_t mutex;
	void *library, *error_handler;
	const char **path;
	struct itt_fake_entry *functions;
	void *next, *threads, *domains, *strings;
} itt_fake_global = {{0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30},
		     3,
		     0,
		     20250807,
		     0,
		     0,
		     0,
		     PTHREAD_MUTEX_INITIALIZER,
		     NULL,
		     NULL,
		     NULL,
		     itt_fake_entries,
		     NULL,
		     NULL,
		     NULL,
		     NULL};

__attribute__((constructor)) static void itt_fake_load(void)
{
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	void (*initialize)(void *, int);

	if (!library)
		return;
	*(void **)&initialize = dlsym(library, "__itt_api_init");
	if (initialize)
		initialize(&itt_fake_global, -1);
}

#endif
