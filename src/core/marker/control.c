/* SPDX-License-Identifier: Apache-2.0 */
/* Names of objects, and requests of the program to pause and resume recording. */
#include "core/marker/range.h"

#include "core/tool/tool.h"

void marker_name_object(kymo_object_t what, const char *runtime, uint64_t handle, const char *name)
{
	struct cap_thread *t;
	struct marker_thread *m;
	struct wire_def d;

	if (!name || what < KYMO_OBJECT_PROCESS || what > KYMO_OBJECT_QUEUE) {
		marker_fault(FAULT_NULL);
		return;
	}
	marker_begin(0); /* kept for whoever comes, even if nobody listens now */
	if (!core_init() || !(t = marker_thread_get(&m)))
		return;
	wire_def_init(&d, DEF_NAME);
	wire_def_u64(&d, (uint64_t)what);
	wire_def_bytes(&d, runtime ? runtime : "", runtime ? strnlen(runtime, 64) : 0);
	wire_def_u64(&d, what == KYMO_OBJECT_THREAD && !handle ? t->tid : handle);
	wire_def_bytes(&d, name, strnlen(name, KYMO_STRING_MAX));
	wire_def_u64(&d, tick_now());
	cap_define(&d);
}

static void write_control(struct cap_thread *t, struct cap_op *op, uint64_t id, bool all)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!marker_record_begin(t, &f, &e, op, id, now, now, t->scope, CONTROL_FIELDS))
		return;
	wire_unsigned(&e, CONTROL_ALL, all);
	marker_record_commit(t, &f, &e);
}

/* Told first where recording goes on, last where it stops: the event itself is recorded. */
void marker_control(kymo_control_t what)
{
	bool all = what == KYMO_PAUSE_ALL || what == KYMO_RESUME_ALL;
	bool pause = what == KYMO_PAUSE_ALL || what == KYMO_PAUSE_THREAD;
	struct cap_op *op = &marker_ops[pause ? MARKER_OP_PAUSE : MARKER_OP_RESUME];
	kymo_marker_args_t args = {
		.size = sizeof(args), .name = "", .domain = "", .category = "", .all = all};
	struct cap_frame f = {.op = op};
	struct marker_thread *m;
	struct cap_thread *t;

	if (what < KYMO_PAUSE_THREAD || what > KYMO_RESUME_ALL) {
		marker_fault(FAULT_NULL);
		return;
	}
	if (!marker_listening(1) || !(t = marker_thread_get(&m)))
		return;
	f.id = take_id(t);
	if (pause)
		write_control(t, op, f.id, all);
	f.scope = t->scope;
	f.parent = cap_current_id();
	cap_read_lock(t);
	atomic_store(&f.callbacks, atomic_load(&op->callbacks));
	if (atomic_load(&f.callbacks))
		core_callbacks(&f, &args, CAP_ENTER, NULL, NULL, NULL);
	cap_read_unlock(t);
	if (!pause)
		write_control(t, op, f.id, all);
}
