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

#include "base/assert.h"
#include "base/locks.h"
#include "capture/libfabric/libfabric.h"

#define LISTS 1024u

/* Never freed, so that one can be asked whether it still is what it was. */
struct fabric_pending {
	struct fabric_pending *next, **at; /* at: where it hangs; NULL: it is spare */
	uint64_t number;                   /* of the transfer, in this process */
	const void *context;
	const struct fid_cq *cq; /* where its completion is read; NULL: anywhere */
	const struct fabric_object *object;
	uint64_t bytes;
	bool receives, many; /* many: a buffer for several messages */
	struct comm_transfer t;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fabric_pending *spare GUARDED_BY(lock); /* to be used again */
static uint64_t transfers GUARDED_BY(lock);           /* that were pending so far */
static struct list {
	struct fabric_pending *first, **last;
} lists[LISTS] GUARDED_BY(lock);

static unsigned list_of(const void *context)
{
	return (unsigned)(((uintptr_t)context * 0x9e3779b97f4a7c15ull) >> 54);
}

/* The number of the transfer; 0: no memory. */
static uint64_t add_pending(const struct fabric_pending *like, struct fabric_pending **out)
{
	struct fabric_pending *p;
	uint64_t number = 0;

	pthread_mutex_lock(&lock);
	p = spare;
	if (p)
		spare = p->next;
	else
		p = malloc(sizeof(*p));
	if (p) {
		struct list *l = &lists[list_of(like->context)];

		*p = *like;
		p->number = number = ++transfers;
		p->next = NULL;
		p->at = l->first ? l->last : &l->first;
		*p->at = p;
		l->last = &p->next;
	}
	pthread_mutex_unlock(&lock);
	*out = p;
	return number;
}

static void take_out(struct fabric_pending *p) REQUIRES(lock)
{
	kymo_assert(p->at && *p->at == p);
	*p->at = p->next;
	if (p->next)
		p->next->at = p->at;
	else
		lists[list_of(p->context)].last = p->at;
	p->at = NULL;
}

static void use_again(struct fabric_pending *p) REQUIRES(lock)
{
	p->next = spare;
	spare = p;
}

/* False: it is gone, as somebody has read a completion with its context. */
static bool remove_pending(struct fabric_pending *p, uint64_t number)
{
	bool there;

	pthread_mutex_lock(&lock);
	there = p->at && p->number == number;
	if (there) {
		take_out(p);
		use_again(p);
	}
	pthread_mutex_unlock(&lock);
	return there;
}

/* ---- beginning ---- */

uint32_t fabric_define_endpoint(const char *provider)
{
	static _Atomic unsigned number;
	char text[128];
	uint32_t id = cap_new_id(DEF_COMMUNICATOR);

	snprintf(text, sizeof(text), "libfabric %s endpoint %u", provider,
		 atomic_fetch_add(&number, 1) + 1);
	comm_define(&(struct comm_definition){.id = id, .name = text, .kind = COMMUNICATOR_INTRA});
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

static void describe_transfer(struct fabric_transfer *t, const struct cap_frame *f)
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

static void begin_pending(struct fabric_transfer *t)
{
	const struct fabric_pending p = {
		.context = t->context,
		.object = t->object,
		.bytes = t->bytes,
		.receives = t->receives,
		.cq = t->receives ? t->object->receive_cq : t->object->transmit_cq,
		.many = t->receives && t->has_flags && (t->flags & FI_MULTI_RECV),
		.t = t->record};

	t->number = add_pending(&p, &t->pending);
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
	describe_transfer(t, f);
	if (is_later(t))
		begin_pending(t);
}

ssize_t fabric_transfer_end(struct fabric_transfer *t, ssize_t status)
{
	fabric_leave(&t->call, status);
	if (t->wanted && status != 0) {
		if (!t->pending || remove_pending(t->pending, t->number))
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

/*
 * Of what the completion tells. A buffer for several messages stays, what is said is of this one.
 * False: of a peer's transfer, or of one that was begun before anyone wanted to know.
 */
static bool take_pending(const struct fid_cq *cq, const struct fabric_completion *c,
			 struct fabric_pending *out)
{
	struct fabric_pending *p;

	pthread_mutex_lock(&lock);
	p = lists[list_of(c->context)].first;
	while (p && !is_of(p, cq, c))
		p = p->next;
	if (p) {
		*out = *p;
		if (p->many && !(c->flags & FI_MULTI_RECV) && !c->failed) {
			out->t.submission = cap_submission_share(&p->t.submission);
		} else {
			take_out(p);
			use_again(p);
		}
	}
	pthread_mutex_unlock(&lock);
	return p != NULL;
}

void fabric_completed(const struct fid_cq *cq, const struct fabric_completion *c)
{
	struct fabric_pending p;

	if (!take_pending(cq, c, &p))
		return;
	p.t.completed_by = c->read_by;
	p.t.state = c->failed ? COMM_CANCELLED : COMM_COMPLETED;
	if (!c->failed)
		set_bytes(&p.t, !p.receives ? p.bytes : c->told ? c->bytes : 0);
	if (p.receives && c->source != FI_ADDR_NOTAVAIL)
		p.t.peer = peer_of(c->source);
	comm_write(&p.t, tick_now());
}

/* What is pending of the object, taken out of the lists. */
static struct fabric_pending *take_all(const struct fabric_object *object) REQUIRES(lock)
{
	struct fabric_pending *gone = NULL, *next;

	for (unsigned i = 0; i < LISTS; i++)
		for (struct fabric_pending *p = lists[i].first; p; p = next) {
			next = p->next;
			if (p->object != object)
				continue;
			take_out(p);
			p->next = gone;
			gone = p;
		}
	return gone;
}

void fabric_forget(const struct fabric_object *object)
{
	struct fabric_pending *gone, *last = NULL;

	if (!object->communicator)
		return;
	pthread_mutex_lock(&lock);
	gone = take_all(object);
	pthread_mutex_unlock(&lock);
	for (struct fabric_pending *p = gone; p; p = p->next) {
		p->t.state = COMM_FREED;
		comm_write(&p->t, tick_now());
		last = p;
	}
	if (!last)
		return;
	pthread_mutex_lock(&lock);
	last->next = spare;
	spare = gone;
	pthread_mutex_unlock(&lock);
}

/* Transfers under way are the parent's. */
void fabric_work_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_lock(&lock);
	memset(lists, 0, sizeof(lists));
	spare = NULL; /* may be half taken */
	pthread_mutex_unlock(&lock);
}
