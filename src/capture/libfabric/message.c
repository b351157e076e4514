/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and tagged messages. */
#include "capture/libfabric/libfabric.h"

/* fi_OP: `object_ops` is the table, `more` what this one says besides. */
#define SEND(op_, ops_, bytes_, to, context_, ...)                                                 \
	struct fabric_transfer t = {.call.op = FABRIC_##op_,                                       \
				    .comm = COMM_OP_SEND,                                          \
				    .ep = ep,                                                      \
				    .object = FABRIC_OBJECT(ops_),                                 \
				    .bytes = (bytes_),                                             \
				    .peer = (to),                                                  \
				    .context = (context_),                                         \
				    ##__VA_ARGS__};                                                \
	FABRIC_BEGIN(&t)
#define RECEIVE(op_, ops_, bytes_, from, context_, ...)                                            \
	struct fabric_transfer t = {.call.op = FABRIC_##op_,                                       \
				    .comm = COMM_OP_RECEIVE,                                       \
				    .receives = true,                                              \
				    .ep = ep,                                                      \
				    .object = FABRIC_OBJECT(ops_),                                 \
				    .bytes = (bytes_),                                             \
				    .peer = (from),                                                \
				    .context = (context_),                                         \
				    ##__VA_ARGS__};                                                \
	FABRIC_BEGIN(&t)
#define TAG       .has_tag = true, .tag = tag
#define END(call) return fabric_transfer_end(&t, (call))

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			void *context)
{
	RECEIVE(fi_recv, ep->msg, len, from, context);
	END(FABRIC_REAL(ep->msg)->recv(ep, buf, len, desc, from, context));
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t from, void *context)
{
	RECEIVE(fi_recvv, ep->msg, fabric_iov_bytes(iov, count), from, context);
	END(FABRIC_REAL(ep->msg)->recvv(ep, iov, desc, count, from, context));
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *m, uint64_t flags)
{
	RECEIVE(fi_recvmsg, ep->msg, fabric_iov_bytes(m->msg_iov, m->iov_count), m->addr,
		m->context, .has_flags = true, .flags = flags);
	END(FABRIC_REAL(ep->msg)->recvmsg(ep, m, flags));
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			void *context)
{
	SEND(fi_send, ep->msg, len, to, context);
	END(FABRIC_REAL(ep->msg)->send(ep, buf, len, desc, to, context));
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t to, void *context)
{
	SEND(fi_sendv, ep->msg, fabric_iov_bytes(iov, count), to, context);
	END(FABRIC_REAL(ep->msg)->sendv(ep, iov, desc, count, to, context));
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *m, uint64_t flags)
{
	SEND(fi_sendmsg, ep->msg, fabric_iov_bytes(m->msg_iov, m->iov_count), m->addr, m->context,
	     .has_flags = true, .flags = flags);
	END(FABRIC_REAL(ep->msg)->sendmsg(ep, m, flags));
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	SEND(fi_inject, ep->msg, len, to, NULL, .injected = true);
	END(FABRIC_REAL(ep->msg)->inject(ep, buf, len, to));
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t to, void *context)
{
	SEND(fi_senddata, ep->msg, len, to, context);
	END(FABRIC_REAL(ep->msg)->senddata(ep, buf, len, desc, data, to, context));
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t to)
{
	SEND(fi_injectdata, ep->msg, len, to, NULL, .injected = true);
	END(FABRIC_REAL(ep->msg)->injectdata(ep, buf, len, data, to));
}

void fabric_replace_msg(struct fi_ops_msg *ops)
{
	FABRIC_REPLACE(ops, recv, msg_recv);
	FABRIC_REPLACE(ops, recvv, msg_recvv);
	FABRIC_REPLACE(ops, recvmsg, msg_recvmsg);
	FABRIC_REPLACE(ops, send, msg_send);
	FABRIC_REPLACE(ops, sendv, msg_sendv);
	FABRIC_REPLACE(ops, sendmsg, msg_sendmsg);
	FABRIC_REPLACE(ops, inject, msg_inject);
	FABRIC_REPLACE(ops, senddata, msg_senddata);
	FABRIC_REPLACE(ops, injectdata, msg_injectdata);
}

/* ---- tagged ---- */

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			   uint64_t tag, uint64_t ignore, void *context)
{
	RECEIVE(fi_trecv, ep->tagged, len, from, context, TAG);
	END(FABRIC_REAL(ep->tagged)->recv(ep, buf, len, desc, from, tag, ignore, context));
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
	RECEIVE(fi_trecvv, ep->tagged, fabric_iov_bytes(iov, count), from, context, TAG);
	END(FABRIC_REAL(ep->tagged)->recvv(ep, iov, desc, count, from, tag, ignore, context));
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
	RECEIVE(fi_trecvmsg, ep->tagged, fabric_iov_bytes(m->msg_iov, m->iov_count), m->addr,
		m->context, .has_flags = true, .flags = flags, .has_tag = true, .tag = m->tag);
	END(FABRIC_REAL(ep->tagged)->recvmsg(ep, m, flags));
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			   uint64_t tag, void *context)
{
	SEND(fi_tsend, ep->tagged, len, to, context, TAG);
	END(FABRIC_REAL(ep->tagged)->send(ep, buf, len, desc, to, tag, context));
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t to, uint64_t tag, void *context)
{
	SEND(fi_tsendv, ep->tagged, fabric_iov_bytes(iov, count), to, context, TAG);
	END(FABRIC_REAL(ep->tagged)->sendv(ep, iov, desc, count, to, tag, context));
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
	SEND(fi_tsendmsg, ep->tagged, fabric_iov_bytes(m->msg_iov, m->iov_count), m->addr,
	     m->context, .has_flags = true, .flags = flags, .has_tag = true, .tag = m->tag);
	END(FABRIC_REAL(ep->tagged)->sendmsg(ep, m, flags));
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to,
			     uint64_t tag)
{
	SEND(fi_tinject, ep->tagged, len, to, NULL, TAG, .injected = true);
	END(FABRIC_REAL(ep->tagged)->inject(ep, buf, len, to, tag));
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
	SEND(fi_tsenddata, ep->tagged, len, to, context, TAG);
	END(FABRIC_REAL(ep->tagged)->senddata(ep, buf, len, desc, data, to, tag, context));
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				 fi_addr_t to, uint64_t tag)
{
	SEND(fi_tinjectdata, ep->tagged, len, to, NULL, TAG, .injected = true);
	END(FABRIC_REAL(ep->tagged)->injectdata(ep, buf, len, data, to, tag));
}

void fabric_replace_tagged(struct fi_ops_tagged *ops)
{
	FABRIC_REPLACE(ops, recv, tagged_recv);
	FABRIC_REPLACE(ops, recvv, tagged_recvv);
	FABRIC_REPLACE(ops, recvmsg, tagged_recvmsg);
	FABRIC_REPLACE(ops, send, tagged_send);
	FABRIC_REPLACE(ops, sendv, tagged_sendv);
	FABRIC_REPLACE(ops, sendmsg, tagged_sendmsg);
	FABRIC_REPLACE(ops, inject, tagged_inject);
	FABRIC_REPLACE(ops, senddata, tagged_senddata);
	FABRIC_REPLACE(ops, injectdata, tagged_injectdata);
}
