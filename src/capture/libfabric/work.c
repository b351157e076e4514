/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers from the call that started them to the completion that was read, as records of the
 * domain "comm". A completion has the context that the call was given; of several that are under
 * way with the same one the oldest is meant.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/libfabric/libfabric.h"

#define LISTS 1024u

struct fabric_pending {
	struct fabric_pending *next;
	const void *context;
	const struct fid_cq *cq; /* where its completion is read; NULL: anywhere */
	const struct fabric_object *object;
	uint64_t bytes;
	bool receives, many; /* many: a buffer for several messages */
	struct comm_transfer t;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fabric_pending *spare; /* to be used again */
static struct list {
	struct fabric_pending *first, **last;
} lists[LISTS];

static struct list *list_of(const void *context)
{
	return &lists[((uintptr_t)context * 0x9e3779b97f4a7c15ull) >> 54];
}

/* NULL: no memory. */
static struct fabric_pending *add(const struct fabric_pending *like)
{
	struct list *l = list_of(like->context);
	struct fabric_pending *p;

	pthread_mutex_lock(&lock);
	p = spare;
	if (p)
		spare = p->next;
	else
		p = malloc(sizeof(*p));
	if (p) {
		*p = *like;
		p->next = NULL;
		if (!l->first)
			l->last = &l->first;
		*l->last = p;
		l->last = &p->next;
	}
	pthread_mutex_unlock(&lock);
	return p;
}

static void use_again(struct fabric_pending *p)
{
	pthread_mutex_lock(&lock);
	p->next = spare;
	spare = p;
	pthread_mutex_unlock(&lock);
}

/* With the lock: out of the list, `at` being where it hangs. */
static struct fabric_pending *unlink_at(struct list *l, struct fabric_pending **at)
{
	struct fabric_pending *p = *at;

	*at = p->next;
	if (l->last == &p->next)
		l->last = at;
	return p;
}

static void remove_pending(struct fabric_pending *wanted)
{
	struct list *l = list_of(wanted->context);
	struct fabric_pending **at = &l->first;

	pthread_mutex_lock(&lock);
	while (*at && *at != wanted)
		at = &(*at)->next;
	if (*at) {
		unlink_at(l, at);
		wanted->next = spare;
		spare = wanted;
	}
	pthread_mutex_unlock(&lock);
}

/* ---- beginning ---- */

uint32_t fabric_define_endpoint(const char *provider)
{
	static _Atomic unsigned number;
	char text[128];
	struct wire_def d;
	uint32_t id = cap_new_id(DEF_COMMUNICATOR);

	snprintf(text, sizeof(text), "libfabric %s endpoint %u", provider,
		 atomic_fetch_add(&number, 1) + 1);
	wire_def_init(&d, DEF_COMMUNICATOR);
	wire_def_u64(&d, id);
	wire_def_string(&d, text);
	wire_def_u64(&d, COMMUNICATOR_INTRA);
	wire_def_u64(&d, 0);
	wire_def_bytes(&d, NULL, 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, 0);
	wire_def_bytes(&d, NULL, 0);
	cap_define(&d);
	return id;
}

static int32_t peer_of(fi_addr_t address)
{
	return address <= INT32_MAX ? (int32_t)address : -1;
}

static bool is_later(const struct fabric_transfer *t)
{
	const struct fabric_object *o = t->object;
	const uint64_t flags = t->has_flags  ? t->flags
			       : t->receives ? o->receive_flags
					     : o->transmit_flags;

	if (t->injected)
		return false;
	if (t->receives)
		return o->shared ||
		       (o->receive_cq && (!o->receive_selective || (flags & FI_COMPLETION)));
	return o->transmit_cq && (!o->transmit_selective || (flags & FI_COMPLETION));
}

static void set_bytes(struct comm_transfer *t, uint64_t bytes)
{
	*(t->op == COMM_OP_RECEIVE || t->op == COMM_OP_GET ? &t->received : &t->sent) = bytes;
}

static void describe(struct fabric_transfer *t, const struct cap_frame *f)
{
	struct comm_transfer *r = &t->record;

	r->has_submission = true;
	r->op = t->comm;
	r->excluded = atomic_load_explicit(&f->op->excluded, memory_order_relaxed);
	r->correlation = r->submission.call;
	r->start = f->start;
	r->communicator = t->object->communicator;
	r->peer = peer_of(t->peer);
	r->tag = t->has_tag && t->tag <= INT32_MAX ? (int32_t)t->tag : -1;
}

static struct fabric_pending *begin_pending(const struct fabric_transfer *t)
{
	const struct fabric_pending p = {
		.context = t->context,
		.object = t->object,
		.bytes = t->bytes,
		.receives = t->receives,
		.cq = t->receives ? t->object->receive_cq : t->object->transmit_cq,
		.many = t->receives && t->has_flags && (t->flags & FI_MULTI_RECV),
		.t = t->record};

	return add(&p);
}

void fabric_transfer_begin(struct fabric_transfer *t, const void *caller, const void *sp)
{
	const struct cap_frame *f;

	t->call.values[0] = (uintptr_t)t->ep;
	t->call.values[1] = t->bytes;
	t->call.values[2] = t->peer;
	t->call.values[3] = t->tag;
	t->call.values[4] = (uintptr_t)t->context;
	fabric_enter(&t->call, caller, sp);
	f = t->call.frame;
	t->wanted = f && cap_submission_take(&t->record.submission, f, &comm_ops[t->comm], NULL);
	if (!t->wanted)
		return;
	describe(t, f);
	if (is_later(t))
		t->pending = begin_pending(t);
}

ssize_t fabric_transfer_end(struct fabric_transfer *t, ssize_t status)
{
	fabric_leave(&t->call, status);
	if (t->wanted && status != 0) {
		if (t->pending)
			remove_pending(t->pending);
		cap_submission_end(&t->record.submission);
	} else if (t->wanted && !t->pending) {
		if (!t->receives)
			set_bytes(&t->record, t->bytes);
		comm_write(&t->record, t->call.frame->end);
	}
	fabric_done(&t->call);
	return status;
}

/* ---- the end ---- */

static bool is_of(const struct fabric_pending *p, const struct fid_cq *cq,
		  const struct fabric_completion *c)
{
	return p->context == c->context && (!p->cq || p->cq == cq) &&
	       (!c->told || !(c->flags & (FI_RECV | FI_SEND)) ||
		p->receives == !!(c->flags & FI_RECV));
}

/* The one that the completion tells of; a buffer for several messages stays, `copy` is of this one.
 */
static struct fabric_pending *take(const struct fid_cq *cq, const struct fabric_completion *c,
				   struct fabric_pending *copy)
{
	struct list *l = list_of(c->context);
	struct fabric_pending **at = &l->first, *p;

	pthread_mutex_lock(&lock);
	while ((p = *at) && !is_of(p, cq, c))
		at = &p->next;
	if (p && p->many && !(c->flags & FI_MULTI_RECV) && !c->failed) {
		*copy = *p;
		copy->t.submission = cap_submission_share(&p->t.submission);
		p = copy;
	} else if (p) {
		unlink_at(l, at);
	}
	pthread_mutex_unlock(&lock);
	return p;
}

void fabric_completed(const struct fid_cq *cq, const struct fabric_completion *c)
{
	struct fabric_pending copy, *p = take(cq, c, &copy);

	if (!p)
		return; /* of a peer's transfer, or begun before anyone wanted to know */
	p->t.completed_by = c->read_by;
	p->t.state = c->failed ? COMM_CANCELLED : COMM_COMPLETED;
	if (!c->failed)
		set_bytes(&p->t, !p->receives ? p->bytes : c->told ? c->bytes : 0);
	if (p->receives && c->source != FI_ADDR_NOTAVAIL)
		p->t.peer = peer_of(c->source);
	comm_write(&p->t, tick_now());
	if (p != &copy)
		use_again(p);
}

void fabric_forget(const struct fabric_object *object)
{
	struct fabric_pending *gone = NULL, *p;

	if (!object->communicator)
		return;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < LISTS; i++)
		for (struct fabric_pending **at = &lists[i].first; *at;) {
			if ((*at)->object != object) {
				at = &(*at)->next;
				continue;
			}
			p = unlink_at(&lists[i], at);
			p->next = gone;
			gone = p;
		}
	pthread_mutex_unlock(&lock);
	while ((p = gone)) {
		gone = p->next;
		p->t.state = COMM_FREED;
		comm_write(&p->t, tick_now());
		use_again(p);
	}
}

/* Transfers under way are the parent's. */
void fabric_work_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(lists, 0, sizeof(lists));
	spare = NULL; /* may be half taken */
}
