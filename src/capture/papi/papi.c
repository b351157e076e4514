/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider "papi": PAPI's preset events of the processor, by loading libpapi when counters are first
 * asked for. Only its header is needed to build. PAPI counts the calling thread.
 */
#include <dlfcn.h>
#include <papi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/counter.h>

/* What is used of the library. */
/* clang-format off */
#define FUNCTIONS(X)                                                                               \
	X(PAPI_library_init) X(PAPI_is_initialized) X(PAPI_thread_init) X(PAPI_strerror)           \
	X(PAPI_enum_event) X(PAPI_get_event_info) X(PAPI_query_event) X(PAPI_num_cmp_hwctrs)       \
	X(PAPI_create_eventset) X(PAPI_add_event) X(PAPI_start) X(PAPI_read) X(PAPI_stop)          \
	X(PAPI_cleanup_eventset) X(PAPI_destroy_eventset)
/* clang-format on */
#define MEMBER(name) __typeof__(name) *name##_p;
static struct {
	FUNCTIONS(MEMBER)
} papi;
#undef MEMBER

#define PRESETS 256u

static struct preset {
	int code;
	char name[PAPI_MIN_STR_LEN], text[PAPI_MAX_STR_LEN];
} presets[PRESETS];
static unsigned preset_count;
static char trouble[256]; /* why PAPI cannot count here; "" it can */

static void *find_function(void *library, const char *name)
{
	void *p = dlsym(library, name);

	if (!p && !trouble[0])
		snprintf(trouble, sizeof(trouble), "libpapi has no function %s", name);
	return p;
}

static bool load_library(void)
{
	static const char names[][16] = {"libpapi.so", "libpapi.so.7.0", "libpapi.so.7",
					 "libpapi.so.6"};
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(trouble, sizeof(trouble), "libpapi is not installed");
		return false;
	}
#define GET(name) papi.name##_p = (__typeof__(name) *)find_function(library, #name);
	FUNCTIONS(GET)
#undef GET
	return !trouble[0];
}

static unsigned long self(void)
{
	return (unsigned long)pthread_self();
}

/* The program may use PAPI itself: what it has initialised stays as it is. */
static void initialise(void)
{
	int got;

	if (!load_library())
		return;
	if (papi.PAPI_is_initialized_p() == PAPI_NOT_INITED) {
		got = papi.PAPI_library_init_p(PAPI_VER_CURRENT);
		if (got != PAPI_VER_CURRENT) {
			snprintf(trouble, sizeof(trouble), "PAPI could not be initialised: %s",
				 got > 0 ? "another version than this was built with"
					 : papi.PAPI_strerror_p(got));
			return;
		}
		papi.PAPI_thread_init_p(self);
	}
	if (papi.PAPI_num_cmp_hwctrs_p(0) <= 0)
		snprintf(trouble, sizeof(trouble),
			 "PAPI finds no performance counters on this "
			 "machine");
}

/* ---- what there is ---- */

static kymo_status_t add_preset(int code, kymo_counter_list_fn add, void *to)
{
	PAPI_event_info_t info;
	struct preset *p = &presets[preset_count];
	kymo_counter_info_t c = {.size = sizeof(c),
				 .unit = "",
				 .modes = KYMO_COUNTER_THREAD,
				 .handle = preset_count};

	if (preset_count == PRESETS || papi.PAPI_get_event_info_p(code, &info) != PAPI_OK)
		return KYMO_OK;
	p->code = code;
	snprintf(p->name, sizeof(p->name), "%.*s", (int)sizeof(p->name) - 1, info.symbol);
	snprintf(p->text, sizeof(p->text), "%.*s", (int)sizeof(p->text) - 1, info.long_descr);
	preset_count++;
	c.name = p->name;
	c.description = p->text;
	if (trouble[0])
		c.unavailable = trouble;
	else if (papi.PAPI_query_event_p(code) != PAPI_OK)
		c.unavailable = "this processor has no such event";
	return add(&c, to);
}

static kymo_status_t list(kymo_counter_list_fn add, void *to, void *data)
{
	kymo_counter_info_t none = {.size = sizeof(none),
				    .name = "PAPI_TOT_INS",
				    .description = "Instructions completed, and all other presets",
				    .unavailable = trouble};
	kymo_status_t status = KYMO_OK;
	int code = (int)PAPI_PRESET_MASK;

	initialise();
	if (!papi.PAPI_enum_event_p || papi.PAPI_is_initialized_p() == PAPI_NOT_INITED)
		return add(&none, to);
	if (papi.PAPI_enum_event_p(&code, PAPI_ENUM_FIRST) != PAPI_OK)
		return add(&none, to);
	do {
		status = add_preset(code, add, to);
	} while (status == KYMO_OK && papi.PAPI_enum_event_p(&code, PAPI_ENUM_EVENTS) == PAPI_OK);
	return status;
}

/* ---- sessions ---- */

struct session {
	int events;
	uint32_t count;
	long long values[];
};

static kymo_status_t fail(const kymo_counter_request_t *r, const char *what, int error)
{
	snprintf(r->reason, r->reason_size, "%s: %s", what, papi.PAPI_strerror_p(error));
	return error == PAPI_ECNFLCT || error == PAPI_EISRUN ? KYMO_ERROR_BUSY
							     : KYMO_ERROR_UNSUPPORTED;
}

static void release(struct session *s)
{
	long long last[PRESETS];

	papi.PAPI_stop_p(s->events, last);
	papi.PAPI_cleanup_eventset_p(s->events);
	papi.PAPI_destroy_eventset_p(&s->events);
	free(s);
}

static kymo_status_t open_session(const kymo_counter_request_t *r, void **session, void *data)
{
	struct session *s = calloc(1, sizeof(*s) + r->count * sizeof(s->values[0]));
	const char *what = "PAPI_create_eventset";
	int error;

	if (!s)
		return KYMO_ERROR_NO_MEMORY;
	s->events = PAPI_NULL;
	s->count = r->count;
	error = papi.PAPI_create_eventset_p(&s->events);
	for (uint32_t i = 0; error == PAPI_OK && i < r->count; i++) {
		what = presets[r->counters[i]].name;
		error = papi.PAPI_add_event_p(s->events, presets[r->counters[i]].code);
	}
	if (error == PAPI_OK) {
		what = "PAPI_start";
		error = papi.PAPI_start_p(s->events);
	}
	if (error != PAPI_OK) {
		release(s);
		return fail(r, what, error);
	}
	*session = s;
	return KYMO_OK;
}

static kymo_status_t read_session(void *session, double *values, void *data)
{
	struct session *s = session;

	if (papi.PAPI_read_p(s->events, s->values) != PAPI_OK)
		return KYMO_ERROR_SYSTEM;
	for (uint32_t i = 0; i < s->count; i++)
		values[i] = (double)s->values[i];
	return KYMO_OK;
}

static void close_session(void *session, void *data)
{
	release(session);
}

static const kymo_counter_provider_t provider = {
	.size = sizeof(provider),
	.name = "papi",
	.description = "Preset events of the processor, by PAPI",
	.list = list,
	.open = open_session,
	.read = read_session,
	.close = close_session,
};

__attribute__((constructor)) static void announce(void)
{
	kymo_counter_provider_register(&provider);
}
