/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processors do, in traces of the kernel by LTTng; see foreign.h. A thread that has no processor makes a
 * call of that: it lies whole in the system call or interrupt that led to it.
 */
#include <string.h>

#include "formats/ctf/foreign.h"

enum { AWAY_WAITING, AWAY_PREEMPTED };

enum foreign_role kernel_role(const char *name)
{
	static const struct {
		const char *name;
		enum foreign_role role;
	} known[] = {
		{"sched_switch", ROLE_SWITCH},
		{"sched_process_fork", ROLE_NEW_TASK},
		{"lttng_statedump_process_state", ROLE_TASK},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].role;
	return ROLE_MARK;
}

static uint32_t away_op(struct ctf_reader *r, const struct foreign_event *e, unsigned which)
{
	static const char *const names[] = {"waiting", "preempted"};
	struct make_field fields[FOREIGN_FIELDS];
	uint32_t *known = &r->foreign->away[which];

	if (!*known)
		*known = 1 + keyed_op(&r->foreign->keyed, "kernel", names[which], fields,
				      foreign_fields(e->c->class, fields));
	return *known - 1;
}

bool kernel_is_away(const struct ctf_foreign *f, uint32_t op)
{
	return (f->away[0] && op == f->away[0] - 1) || (f->away[1] && op == f->away[1] - 1);
}

static uint64_t member(const struct foreign_event *e, const char *name)
{
	uint64_t n = 0;

	ctf_number(ctf_member(e->payload, name), &n);
	return n;
}

/* A thread that has a processor again was away until now. */
static void come_back(struct ctf_reader *r, const struct foreign_event *e)
{
	const struct foreign_thread *t = e->thread;
	uint32_t op = t->depth ? t->frames[t->depth - 1].op : 0;
	struct foreign_frame *f;

	if (!t->depth || !kernel_is_away(r->foreign, op))
		return;
	f = foreign_leave(r, e, op);
	r->foreign->values.count = 0;
	if (f && !r->defining)
		foreign_call(r, e, f, op);
}

void kernel_switch(struct ctf_reader *r, const struct foreign_event *e)
{
	uint64_t from = member(e, "prev_tid"), to = member(e, "next_tid");
	const char *left = ctf_text(ctf_member(e->payload, "prev_comm"));
	const char *taken = ctf_text(ctf_member(e->payload, "next_comm"));
	struct foreign_event other = *e;

	foreign_kernel_task(r, e->event, from, FOREIGN_NO_PROCESS, left);
	foreign_kernel_task(r, e->event, to, FOREIGN_NO_PROCESS, taken);
	other.thread = foreign_switch(r, e->event, from, to);
	if (other.thread && from)
		foreign_enter(
			r, &other,
			away_op(r, e, member(e, "prev_state") ? AWAY_WAITING : AWAY_PREEMPTED));
	other.thread = foreign_thread_running(r, e->event);
	if (other.thread && to)
		come_back(r, &other);
}

/* A thread is what the state dump says, or it is made. */
void kernel_task(struct ctf_reader *r, const struct foreign_event *e)
{
	bool new = e->c->role == ROLE_NEW_TASK;
	const char *name = ctf_text(ctf_member(e->payload, new ? "child_comm" : "name"));

	foreign_kernel_task(r, e->event, member(e, new ? "child_tid" : "tid"),
			    member(e, new ? "child_pid" : "pid"), name);
	if (new)
		foreign_mark(r, e);
}
