/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of others that is read and written. */
#include "capture/libfabric/libfabric.h"

/* `kind`: GET of what is read, PUT of what is written. */
#define TRANSFER(op_, kind, bytes_, peer_, context_, ...)                                          \
	struct fabric_transfer t = {.call.op = FABRIC_##op_,                                       \
				    .comm = COMM_OP_##kind,                                        \
				    .ep = ep,                                                      \
				    .object = FABRIC_OBJECT(ep->rma),                              \
				    .bytes = (bytes_),                                             \
				    .peer = (peer_),                                               \
				    .context = (context_),                                         \
				    ##__VA_ARGS__};                                                \
	FABRIC_BEGIN(&t)
#define END(call) return fabric_transfer_end(&t, (call))

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			uint64_t addr, uint64_t key, void *context)
{
	TRANSFER(fi_read, GET, len, from, context);
	END(FABRIC_REAL(ep->rma)->read(ep, buf, len, desc, from, addr, key, context));
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t from, uint64_t addr, uint64_t key, void *context)
{
	TRANSFER(fi_readv, GET, fabric_iov_bytes(iov, count), from, context);
	END(FABRIC_REAL(ep->rma)->readv(ep, iov, desc, count, from, addr, key, context));
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags)
{
	TRANSFER(fi_readmsg, GET, fabric_iov_bytes(m->msg_iov, m->iov_count), m->addr, m->context,
		 .has_flags = true, .flags = flags);
	END(FABRIC_REAL(ep->rma)->readmsg(ep, m, flags));
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			 uint64_t addr, uint64_t key, void *context)
{
	TRANSFER(fi_write, PUT, len, to, context);
	END(FABRIC_REAL(ep->rma)->write(ep, buf, len, desc, to, addr, key, context));
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t to, uint64_t addr, uint64_t key, void *context)
{
	TRANSFER(fi_writev, PUT, fabric_iov_bytes(iov, count), to, context);
	END(FABRIC_REAL(ep->rma)->writev(ep, iov, desc, count, to, addr, key, context));
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *m, uint64_t flags)
{
	TRANSFER(fi_writemsg, PUT, fabric_iov_bytes(m->msg_iov, m->iov_count), m->addr, m->context,
		 .has_flags = true, .flags = flags);
	END(FABRIC_REAL(ep->rma)->writemsg(ep, m, flags));
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to,
			  uint64_t addr, uint64_t key)
{
	TRANSFER(fi_inject_write, PUT, len, to, NULL, .injected = true);
	END(FABRIC_REAL(ep->rma)->inject(ep, buf, len, to, addr, key));
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t to, uint64_t addr, uint64_t key,
			     void *context)
{
	TRANSFER(fi_writedata, PUT, len, to, context);
	END(FABRIC_REAL(ep->rma)->writedata(ep, buf, len, desc, data, to, addr, key, context));
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t to, uint64_t addr, uint64_t key)
{
	TRANSFER(fi_inject_writedata, PUT, len, to, NULL, .injected = true);
	END(FABRIC_REAL(ep->rma)->injectdata(ep, buf, len, data, to, addr, key));
}

void fabric_replace_rma(struct fi_ops_rma *ops)
{
	FABRIC_REPLACE(ops, read, rma_read);
	FABRIC_REPLACE(ops, readv, rma_readv);
	FABRIC_REPLACE(ops, readmsg, rma_readmsg);
	FABRIC_REPLACE(ops, write, rma_write);
	FABRIC_REPLACE(ops, writev, rma_writev);
	FABRIC_REPLACE(ops, writemsg, rma_writemsg);
	FABRIC_REPLACE(ops, inject, rma_inject);
	FABRIC_REPLACE(ops, writedata, rma_writedata);
	FABRIC_REPLACE(ops, injectdata, rma_injectdata);
}
