/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues. A queue whose entries are contexts alone would not tell how much was received:
 * it is opened with larger entries, of which the program gets what it asked for.
 */
#include <stdlib.h>

#include "capture/libfabric/libfabric.h"

enum { AT_ONCE = 16 }; /* entries that are narrowed */

/* A call that reads completions. */
struct reading {
	struct fabric_call call;
	struct fid_cq *cq;
	const struct fabric_object *object;
	void *out, *into;
	size_t count;
	fi_addr_t *sources;
	struct fi_cq_msg_entry entries[AT_ONCE];
};

static size_t entry_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return sizeof(struct fi_cq_entry);
	}
}

static void begin_reading(struct reading *r, const void *caller, const void *sp)
{
	r->object = FABRIC_OBJECT(r->cq->ops);
	r->call.values[0] = (uintptr_t)r->cq;
	r->call.values[1] = r->count;
	r->into = r->out;
	fabric_enter(&r->call, caller, sp);
	if (!r->call.nested && r->object->narrow && r->count) {
		r->into = r->entries;
		r->count = r->count < AT_ONCE ? r->count : AT_ONCE;
	}
}

static void take_completion(const struct reading *r, size_t i)
{
	const char *at = (const char *)r->into + i * entry_size(r->object->format);
	const struct fi_cq_msg_entry *e = (const struct fi_cq_msg_entry *)(const void *)at;
	const bool told = r->object->format >= FI_CQ_FORMAT_MSG;
	const struct cap_frame *f = r->call.frame;
	struct fabric_completion c = {.context = e->op_context,
				      .told = told,
				      .flags = told ? e->flags : 0,
				      .bytes = told ? e->len : 0,
				      .source = r->sources ? r->sources[i] : FI_ADDR_NOTAVAIL,
				      .read_by = f && f->buffers ? f->id : 0};

	fabric_completed(r->cq, &c);
}

static ssize_t end_reading(struct reading *r, ssize_t n)
{
	r->call.values[2] = (uint64_t)(n > 0 ? n : 0);
	for (ssize_t i = 0; i < n && !r->call.nested; i++)
		take_completion(r, (size_t)i);
	if (r->into != r->out)
		for (ssize_t i = 0; i < n; i++)
			((struct fi_cq_entry *)r->out)[i].op_context = r->entries[i].op_context;
	/* That there is nothing yet, or an error of a transfer, is no failure of this call. */
	fabric_leave(&r->call, n == -FI_EAGAIN || n == -FI_EAVAIL ? 0 : n);
	fabric_done(&r->call);
	return n;
}

#define BEGIN(op_, ...)                                                                            \
	struct reading r;                                                                          \
	r.call = (struct fabric_call){.op = FABRIC_##op_};                                         \
	r.cq = cq;                                                                                 \
	r.out = buf;                                                                               \
	r.count = count;                                                                           \
	r.sources = __VA_ARGS__;                                                                   \
	begin_reading(&r, __builtin_return_address(0), cap_sp())
#define REAL FABRIC_REAL(cq->ops)

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	BEGIN(fi_cq_read, NULL);
	return end_reading(&r, REAL->read(cq, r.into, r.count));
}

static ssize_t cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *sources)
{
	BEGIN(fi_cq_readfrom, sources);
	return end_reading(&r, REAL->readfrom(cq, r.into, r.count, sources));
}

static ssize_t cq_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	BEGIN(fi_cq_sread, NULL);
	return end_reading(&r, REAL->sread(cq, r.into, r.count, cond, timeout));
}

static ssize_t cq_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *sources,
			    const void *cond, int timeout)
{
	BEGIN(fi_cq_sreadfrom, sources);
	return end_reading(&r, REAL->sreadfrom(cq, r.into, r.count, sources, cond, timeout));
}

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct fabric_call c = {.op = FABRIC_fi_cq_readerr, .values = {(uintptr_t)cq, 1}};
	ssize_t n;

	FABRIC_ENTER(&c);
	n = REAL->readerr(cq, entry, flags);
	if (n > 0 && !c.nested) {
		const struct fabric_completion failed = {
			.context = entry->op_context,
			.told = true,
			.flags = entry->flags,
			.source = FI_ADDR_NOTAVAIL,
			.failed = true,
			.read_by = c.frame && c.frame->buffers ? c.frame->id : 0};

		fabric_completed(cq, &failed);
		c.values[2] = (uint64_t)n;
	}
	fabric_leave(&c, n == -FI_EAGAIN ? 0 : n);
	fabric_done(&c);
	return n;
}

/* False: the queue stays as the provider made it, and is not traced. */
static bool opened(struct fid_cq *cq, enum fi_cq_format format, bool narrow)
{
	struct fabric_object *o = fabric_object_new(&cq->fid, NULL);
	struct fi_ops_cq *ops = o ? fabric_copy(o, TABLE_OPS, &cq->ops) : NULL;

	if (!ops)
		return false;
	o->format = format;
	o->narrow = narrow;
	FABRIC_REPLACE(ops, read, cq_read);
	FABRIC_REPLACE(ops, readfrom, cq_readfrom);
	FABRIC_REPLACE(ops, sread, cq_sread);
	FABRIC_REPLACE(ops, sreadfrom, cq_sreadfrom);
	FABRIC_REPLACE(ops, readerr, cq_readerr);
	return true;
}

/*
 * False: it is to be opened as the program asked for it. A queue with larger entries that is not
 * narrowed would write beyond what the program has room for.
 */
static bool open_wide(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		      void *context)
{
	struct fi_cq_attr wide = *attr;

	wide.format = FI_CQ_FORMAT_MSG;
	if (FABRIC_REAL(domain->ops)->cq_open(domain, &wide, cq, context) != 0)
		return false;
	if (!opened(*cq, FI_CQ_FORMAT_MSG, true)) {
		(*cq)->fid.ops->close(&(*cq)->fid);
		return false;
	}
	wide.format = FI_CQ_FORMAT_CONTEXT;
	*attr = wide;
	return true;
}

static int open_as_asked(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
			 void *context)
{
	int status = FABRIC_REAL(domain->ops)->cq_open(domain, attr, cq, context);

	if (status == 0)
		opened(*cq, attr ? attr->format : FI_CQ_FORMAT_CONTEXT, false);
	return status;
}

int fabric_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		   void *context)
{
	struct fabric_call c = {.op = FABRIC_fi_cq_open, .values = {(uintptr_t)domain}};
	bool narrow = attr &&
		      (attr->format == FI_CQ_FORMAT_UNSPEC || attr->format == FI_CQ_FORMAT_CONTEXT);
	int status = 0;

	FABRIC_ENTER(&c);
	if (!narrow || !open_wide(domain, attr, cq, context))
		status = open_as_asked(domain, attr, cq, context);
	if (status == 0)
		c.values[1] = (uintptr_t)*cq;
	fabric_leave(&c, status);
	fabric_done(&c);
	return status;
}
