/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers at run time besides their calls: NVRTC and hipRTC, whose functions are the same but for their names. What
 * is compiled becomes programs with their source, each compilation a build, with the log of one that failed. hipRTC's
 * links of what was compiled are builds of a program of their own.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "capture/exports/models.h"
#include "core/activity/activity.h"

enum { LOG_CAP = 16 << 20 }; /* bytes; of a larger log only its size is recorded */
/* Of both. What is no program is not asked for a log. */
enum { SUCCESS = 0, INVALID_INPUT = 3, INVALID_PROGRAM = 4 };

struct program { /* one handle, and what it is now; kept for ever, as handles come again */
	uint32_t id;
	struct text besides; /* what else it is compiled from, beside source and options */
};

struct compiler {
	const char *domain;
	const struct table_model *model;
	int (*log_size)(void *program, size_t *bytes);
	int (*log)(void *program, char *text);
};

static struct compiler nvrtc, hiprtc;
static struct map programs; /* by handle */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *pointer(const struct compiler *c, const struct table_call *call, const char *name)
{
	return (void *)(uintptr_t)exports_argument(c->model, call, name);
}

static bool succeeded(const struct table_call *call)
{
	return (int32_t)call->result[0] == SUCCESS;
}

/* What the call got as a program is one. */
static bool is_program(const struct table_call *call)
{
	const int32_t result = (int32_t)call->result[0];

	return result != INVALID_INPUT && result != INVALID_PROGRAM;
}

/* ---- programs ---- */

static uint32_t define(const struct compiler *c, const void *handle, const char *kind,
		       const char *source, const char *name)
{
	const uint32_t id = cap_new_id(DEF_PROGRAM);
	const uint32_t blob = source ? cap_define_blob("source", source, strlen(source)) : 0;
	struct wire_def d;

	wire_def_init(&d, DEF_PROGRAM);
	wire_def_u64(&d, id);
	wire_def_string(&d, c->domain);
	wire_def_u64(&d, (uintptr_t)handle);
	wire_def_u64(&d, 0);
	wire_def_string(&d, kind);
	wire_def_u64(&d, blob);
	wire_def_u64(&d, tick_now());
	wire_def_string(&d, name ? name : "");
	cap_define(&d);
	return id;
}

/* What the handle stands for from now on; `besides` becomes its own. */
static void program_made(const struct compiler *c, const void *handle, const char *kind,
			 const char *source, const char *name, struct text besides)
{
	const uint32_t id = define(c, handle, kind, source, name);
	struct program *p;

	pthread_mutex_lock(&lock);
	p = map_get_pointer(&programs, (uintptr_t)handle);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (p && !map_set_pointer(&programs, (uintptr_t)handle, p)) {
			free(p);
			p = NULL;
		}
	}
	if (p) {
		text_release(&p->besides);
		*p = (struct program){id, besides};
	} else {
		text_release(&besides);
	}
	pthread_mutex_unlock(&lock);
}

/* Its id, and what it is compiled from besides, behind the options; 0: it was not seen. */
static uint32_t find_program(const void *handle, struct text *options)
{
	const struct program *p;
	uint32_t id;

	pthread_mutex_lock(&lock);
	p = map_get_pointer(&programs, (uintptr_t)handle);
	id = p ? p->id : 0;
	if (p && p->besides.s && options) {
		text_add(options, options->length ? " " : "");
		text_add(options, p->besides.s);
	}
	pthread_mutex_unlock(&lock);
	return id;
}

/* The same of one whose creation was not seen: another thread was opening the door. */
static uint32_t program_of(const struct compiler *c, const struct table_call *call,
			   const void *handle, struct text *options)
{
	const uint32_t id = find_program(handle, options);

	if (id || !is_program(call))
		return id;
	program_made(c, handle, "source", NULL, NULL, (struct text){0});
	return find_program(handle, NULL);
}

/* Headers given as text: which they were. They are no part of the source, but of what is built. */
static struct text headers_of(const struct compiler *c, const struct table_call *call)
{
	const char *const *headers = pointer(c, call, "headers");
	const int count = (int)exports_argument(c->model, call, "numHeaders");
	uint64_t hash = HASH_START;
	struct text t = {0};

	for (int i = 0; headers && i < count; i++)
		if (headers[i])
			hash = hash_mix(hash, hash_string(headers[i]));
	if (headers && count > 0)
		text_addf(&t, "(%d header%s given, hash %016" PRIx64 ")", count,
			  count > 1 ? "s" : "", hash);
	return t;
}

static void after_create(const struct compiler *c, const struct table_call *call)
{
	if (succeeded(call))
		program_made(c, pointer(c, call, "prog"), "source", pointer(c, call, "src"),
			     pointer(c, call, "name"), headers_of(c, call));
}

static void after_link_create(const struct table_call *call)
{
	if (succeeded(call))
		program_made(&hiprtc, pointer(&hiprtc, call, "hip_link_state_ptr"), "linked", NULL,
			     NULL, (struct text){0});
}

static void after_add_name(const struct compiler *c, const struct table_call *call)
{
	const char *name = pointer(c, call, "name_expression");
	struct program *p;

	if (!succeeded(call) || !name)
		return;
	pthread_mutex_lock(&lock);
	p = map_get_pointer(&programs, (uintptr_t)pointer(c, call, "prog"));
	if (p)
		text_addf(&p->besides, "%s(name %s)", p->besides.length ? " " : "", name);
	pthread_mutex_unlock(&lock);
}

/* ---- builds ---- */

static uint32_t blob_of(const char *what, const char *text)
{
	return text && *text ? cap_define_blob(what, text, strlen(text)) : 0;
}

static uint32_t read_log(const struct compiler *c, void *handle, size_t bytes)
{
	char *text = calloc(1, bytes + 1);
	uint32_t id = 0;

	if (text && c->log(handle, text) == 0)
		id = blob_of("build log", text);
	free(text);
	return id;
}

/* What the compiler said of the program that it failed to build; 0: nothing. */
static uint32_t build_log(const struct compiler *c, void *handle)
{
	char instead[64];
	size_t bytes = 0;
	uint32_t id = 0;

	if (!handle || !c->log_size || !c->log)
		return 0;
	cap_guard_enter();
	if (c->log_size(handle, &bytes) != 0)
		bytes = 0;
	if (bytes > LOG_CAP) {
		snprintf(instead, sizeof(instead), "(a log of %zu bytes, too large to record)",
			 bytes);
		id = blob_of("build log", instead);
	} else if (bytes > 1) {
		id = read_log(c, handle, bytes);
	}
	cap_guard_leave();
	return id;
}

static void record_build(const struct table_call *call, uint32_t program, uint32_t options,
			 uint32_t log)
{
	struct cap_op *op = &core_code_object_ops[CODE_OBJECT_OP_BUILD];
	const struct cap_frame *of = call->frame;
	struct cap_submission o;
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_submission_take(&o, of, op, NULL))
		return;
	if (cap_activity_begin(&f, &e, op, &o, of->start, of->end, BUILD_FIELDS)) {
		wire_unsigned(&e, BUILD_CORRELATION, o.call);
		wire_unsigned(&e, BUILD_PROGRAM, program);
		wire_unsigned(&e, BUILD_AGENT, 0);
		wire_signed(&e, BUILD_STATUS, (int32_t)call->result[0], 4);
		wire_unsigned(&e, BUILD_OPTIONS, options);
		wire_unsigned(&e, BUILD_LOG, log);
		cap_activity_commit(&f, &e);
	}
	cap_submission_end(&o);
}

static struct text options_of(const struct compiler *c, const struct table_call *call)
{
	const char *const *options = pointer(c, call, "options");
	const int count = (int)exports_argument(c->model, call, "numOptions");
	struct text t = {0};

	for (int i = 0; options && i < count; i++)
		if (options[i])
			text_addf(&t, "%s%s", t.length ? " " : "", options[i]);
	return t;
}

static void after_compile(const struct compiler *c, const struct table_call *call)
{
	void *handle = pointer(c, call, "prog");
	struct text options;
	uint32_t program;

	if (!cap_call_wants(CAP_ACTIVITY_CODE_OBJECT))
		return;
	options = options_of(c, call);
	program = program_of(c, call, handle, &options);
	record_build(call, program, blob_of("build options", options.s),
		     !succeeded(call) && is_program(call) ? build_log(c, handle) : 0);
	text_release(&options);
}

static void after_link(const struct table_call *call)
{
	if (cap_call_wants(CAP_ACTIVITY_CODE_OBJECT))
		record_build(call, find_program(pointer(&hiprtc, call, "hip_link_state"), NULL), 0,
			     0);
}

/* ---- start ---- */

/* Programs are followed always: who listens later would not know their sources. */
static bool needed(const char *op)
{
	const bool builds = strstr(op, "Compile") || strstr(op, "Complete");

	return !builds || cap_wants(CAP_ACTIVITY_CODE_OBJECT);
}

static void fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	programs = (struct map){0}; /* another thread may have been changing it */
}

#define OF(name)                                                                                   \
	static void nvrtc_after_##name(const struct table_call *call)                              \
	{                                                                                          \
		after_##name(&nvrtc, call);                                                        \
	}                                                                                          \
	static void hiprtc_after_##name(const struct table_call *call)                             \
	{                                                                                          \
		after_##name(&hiprtc, call);                                                       \
	}
OF(create)
OF(add_name)
OF(compile)
#undef OF

enum { AFTERS = 5 };

/* Filled at run time: tables of pointers cost each process that the library is loaded into. */
static const struct table_after *nvidia_afters(void)
{
	static struct table_after after[AFTERS + 1];

	after[0] = (struct table_after){"nvrtcCreateProgram", nvrtc_after_create};
	after[1] = (struct table_after){"nvrtcAddNameExpression", nvrtc_after_add_name};
	after[2] = (struct table_after){"nvrtcCompileProgram", nvrtc_after_compile};
	return after;
}

static const struct table_after *amd_afters(void)
{
	static struct table_after after[AFTERS + 1];

	after[0] = (struct table_after){"hiprtcCreateProgram", hiprtc_after_create};
	after[1] = (struct table_after){"hiprtcAddNameExpression", hiprtc_after_add_name};
	after[2] = (struct table_after){"hiprtcCompileProgram", hiprtc_after_compile};
	after[3] = (struct table_after){"hiprtcLinkCreate", after_link_create};
	after[4] = (struct table_after){"hiprtcLinkComplete", after_link};
	return after;
}

void exports_rtc_prepare(const char *domain, struct table_model *model, void *const *entries)
{
	const bool nvidia = strcmp(domain, "nvrtc") == 0;
	struct compiler *c = nvidia ? &nvrtc : &hiprtc;

	if (!nvrtc.model && !hiprtc.model)
		pthread_atfork(NULL, NULL, fork_child);
	c->domain = nvidia ? "nvrtc" : "hiprtc";
	exports_function(model, entries,
			 nvidia ? "nvrtcGetProgramLogSize" : "hiprtcGetProgramLogSize",
			 &c->log_size);
	exports_function(model, entries, nvidia ? "nvrtcGetProgramLog" : "hiprtcGetProgramLog",
			 &c->log);
	c->model = model;
	model->after = nvidia ? nvidia_afters() : amd_afters();
	model->keep_after = true;
	model->needed = needed;
}
