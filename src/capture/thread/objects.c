/* SPDX-License-Identifier: Apache-2.0 */
/* Creation and end of the program's threads, as the preloaded library sees them; domain "pthread". */
#include <kymo/register.h>
#include <kymo/tool.h>

#define KYMO_MARKER_LINKED
#include <kymo/marker.h>

#include "capture/thread/door.h"
#include "core/capture.h"
#include "core/process/life.h"

KYMO_EXPORT const struct thread_door *kymo_thread_door(void);

enum { FIELD_THREAD, FIELD_FUNCTION, CREATE_FIELDS, JOIN_FIELDS = 1 };

static const kymo_field_t fields[] = {
	[FIELD_THREAD] = {"thread", "pthread_t", NULL, KYMO_KIND_HANDLE, 0, 8, KYMO_FIELD_OUT},
	[FIELD_FUNCTION] = {"start_routine", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
};

static const kymo_op_desc_t ops[THREAD_OPS] = {
	[THREAD_OP_CREATE] = {"pthread_create", fields, CREATE_FIELDS, KYMO_OP_MINIMAL, NULL, 0},
	[THREAD_OP_JOIN] = {"pthread_join", fields, JOIN_FIELDS, KYMO_OP_MINIMAL | KYMO_OP_WAITS,
			    NULL, 0},
};
static const kymo_domain_desc_t desc = {sizeof(desc), "pthread", "Threads", 1, THREAD_OPS, ops};
CAP_KNOWN_DOMAIN(pthread, &desc);
static struct cap_op thread_ops[THREAD_OPS];
static const struct cap_domain_info info = {.desc = &desc, .ops = thread_ops};

static bool known(void)
{
	static struct cap_domain *domain;
	static _Atomic int state; /* 1: registered, 2: refused */

	if (atomic_load(&state) == 0) {
		kymo_status_t status = cap_domain_register(&info, &domain);

		/* Another thread may have been quicker. */
		atomic_store(&state, status == KYMO_OK || status == KYMO_ERROR_EXISTS ? 1 : 2);
	}
	return atomic_load(&state) == 1;
}

static void attach(void)
{
	if (known())
		cap_thread_attach();
}

/* Kymo or one of its tools is at work; in a child just forked, no record of the thread says so yet. */
static bool own(void)
{
	const struct cap_thread *t = cap_thread_current;

	return core_thread_making() || (t && t->magic == CAP_THREAD_MAGIC && t->guard);
}

static struct cap_frame *enter(enum thread_op op, const void *caller)
{
	struct cap_frame *f;

	if (own()) /* tools may make threads: that is no call of a traced runtime */
		return NULL;
	f = cap_enter_at(&thread_ops[op], caller, cap_sp());
	if (f && cap_unlikely(f->callbacks)) {
		kymo_table_args_t args = {.size = offsetof(kymo_table_args_t, value) +
						  ops[op].field_count * sizeof(uint64_t)};

		cap_callbacks(f, &args, CAP_ENTER);
	}
	return f;
}

static void leave(struct cap_frame *f, enum thread_op op, uint64_t thread, const void *function,
		  int status)
{
	kymo_table_args_t args = {.size = offsetof(kymo_table_args_t, value) +
					  ops[op].field_count * sizeof(uint64_t)};
	struct wire_enc e;

	if (!f)
		return;
	cap_leave(f);
	cap_status(f, status, 0);
	args.value[FIELD_THREAD] = thread;
	args.value[FIELD_FUNCTION] = (uintptr_t)function;
	if (cap_unlikely(f->callbacks))
		cap_callbacks(f, &args, CAP_EXIT);
	if (f->buffers && cap_args(f) == 0) {
		cap_record_bare(f);
	} else if (f->buffers && cap_record(f, &e, ops[op].field_count)) {
		wire_pointer(&e, FIELD_THREAD, (const void *)(uintptr_t)thread);
		if (op == THREAD_OP_CREATE)
			wire_pointer(&e, FIELD_FUNCTION, function);
		cap_commit(f, &e);
	}
	cap_done(f);
}

static void name_thread(uint32_t tid, const char *name)
{
	if (known())
		kymo_name(KYMO_OBJECT_THREAD, NULL, tid, name);
}

const struct thread_door *kymo_thread_door(void)
{
	static const struct thread_door door = {attach, own, enter, leave, name_thread};

	return &door;
}
