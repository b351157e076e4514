/* SPDX-License-Identifier: Apache-2.0 */
/* Fabrics, domains, endpoints, memory regions: what is opened through one is traced as well. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/libfabric/door.h"
#include "capture/libfabric/libfabric.h"

enum { LARGEST = 4096 }; /* bytes of a table that one believes */

void *fabric_copy(struct fabric_object *object, unsigned which, void *at)
{
	struct fabric_table *t;
	void *real;
	size_t size;

	memcpy(&real, at, sizeof(real));
	if (!real || (object->tables[which] && real == object->tables[which]->ops))
		return NULL;
	memcpy(&size, real, sizeof(size));
	t = size >= sizeof(size) && size <= LARGEST ? malloc(sizeof(*t) + size) : NULL;
	if (!t)
		return NULL;
	free(object->tables[which]); /* the provider has put another one there */
	t->real = real;
	t->at = at;
	t->object = object;
	memcpy(t->ops, real, size);
	object->tables[which] = t;
	real = t->ops;
	memcpy(at, &real, sizeof(real));
	return real;
}

/* ---- closing ---- */

static void put_back(struct fabric_object *o)
{
	for (unsigned i = 0; i < TABLES; i++)
		if (o->tables[i] && *o->tables[i]->at == o->tables[i]->ops)
			*o->tables[i]->at = (void *)(uintptr_t)o->tables[i]->real;
}

static void put_ours(struct fabric_object *o)
{
	for (unsigned i = 0; i < TABLES; i++)
		if (o->tables[i] && *o->tables[i]->at == o->tables[i]->real)
			*o->tables[i]->at = o->tables[i]->ops;
}

static int object_close(struct fid *fid)
{
	struct fabric_object *o = FABRIC_OBJECT(fid->ops);
	struct fabric_call c = {.op = FABRIC_fi_close, .values = {(uintptr_t)fid}};
	int status;

	FABRIC_ENTER(&c);
	put_back(o);
	status = fid->ops->close(fid);
	if (status == 0) {
		fabric_forget(o);
		for (unsigned i = 0; i < TABLES; i++)
			free(o->tables[i]);
		free(o);
	} else {
		put_ours(o);
	}
	fabric_leave(&c, status);
	fabric_done(&c);
	return status;
}

struct fabric_object *fabric_object_new(struct fid *fid, const char *provider)
{
	struct fabric_object *o = calloc(1, sizeof(*o));
	struct fi_ops *ops = o ? fabric_copy(o, TABLE_FID, &fid->ops) : NULL;

	if (!ops) {
		free(o);
		return NULL;
	}
	strncpy(o->provider, provider ? provider : "", sizeof(o->provider) - 1);
	FABRIC_REPLACE(ops, close, object_close);
	return o;
}

static const char *provider_of(const struct fi_info *info)
{
	return info && info->fabric_attr ? info->fabric_attr->prov_name : NULL;
}

/* ---- endpoints ---- */

/* Tables that are there by what the endpoint can do: a provider need not have room for the others.
 */
static void endpoint_tables(struct fid_ep *ep, struct fabric_object *o)
{
	void *ops;

	if ((o->caps & FI_MSG) && (ops = fabric_copy(o, TABLE_MSG, &ep->msg)))
		fabric_replace_msg(ops);
	if ((o->caps & FI_TAGGED) && (ops = fabric_copy(o, TABLE_TAGGED, &ep->tagged)))
		fabric_replace_tagged(ops);
	if ((o->caps & FI_RMA) && (ops = fabric_copy(o, TABLE_RMA, &ep->rma)))
		fabric_replace_rma(ops);
}

static int endpoint_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct fabric_object *o = FABRIC_OBJECT(fid->ops);
	int status = FABRIC_REAL(fid->ops)->bind(fid, other, flags);
	const bool selective = flags & FI_SELECTIVE_COMPLETION;

	if (status == 0 && other->fclass == FI_CLASS_CQ) {
		if (flags & FI_TRANSMIT) {
			o->transmit_cq = (struct fid_cq *)other;
			o->transmit_selective = selective;
		}
		if (flags & FI_RECV) {
			o->receive_cq = (struct fid_cq *)other;
			o->receive_selective = selective;
		}
	}
	endpoint_tables((struct fid_ep *)fid, o);
	return status;
}

static void flags_set(struct fabric_object *o, uint64_t flags)
{
	const uint64_t ways = FI_TRANSMIT | FI_RECV;

	if (flags & FI_TRANSMIT)
		o->transmit_flags = flags & ~ways;
	if (flags & FI_RECV)
		o->receive_flags = flags & ~ways;
}

static int endpoint_control(struct fid *fid, int command, void *arg)
{
	struct fabric_object *o = FABRIC_OBJECT(fid->ops);
	int status = FABRIC_REAL(fid->ops)->control(fid, command, arg);

	if (status == 0 && command == FI_SETOPSFLAG && arg)
		flags_set(o, *(const uint64_t *)arg);
	endpoint_tables((struct fid_ep *)fid, o);
	return status;
}

static struct fabric_object *endpoint_opened(struct fid_ep *ep, const char *provider, uint64_t caps)
{
	struct fabric_object *o = fabric_object_new(&ep->fid, provider);
	struct fi_ops *ops = o ? (struct fi_ops *)(void *)o->tables[TABLE_FID]->ops : NULL;

	if (!o)
		return NULL;
	FABRIC_REPLACE(ops, bind, endpoint_bind);
	FABRIC_REPLACE(ops, control, endpoint_control);
	o->caps = caps;
	o->communicator = fabric_define_endpoint(o->provider);
	endpoint_tables(ep, o);
	return o;
}

static void endpoint_of(struct fid_domain *domain, const struct fi_info *info, struct fid_ep *ep)
{
	struct fabric_object *o;

	o = endpoint_opened(ep, FABRIC_OBJECT(domain->ops)->provider, info ? info->caps : 0);
	if (o && info && info->tx_attr)
		o->transmit_flags = info->tx_attr->op_flags;
	if (o && info && info->rx_attr)
		o->receive_flags = info->rx_attr->op_flags;
}

static int endpoint_end(struct fabric_call *c, int status, struct fid_domain *domain,
			const struct fi_info *info, struct fid_ep *const *ep)
{
	if (status == 0) {
		c->values[1] = (uintptr_t)*ep;
		endpoint_of(domain, info, *ep);
	}
	fabric_leave(c, status);
	fabric_done(c);
	return status;
}

static int domain_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			   void *context)
{
	struct fabric_call c = {.op = FABRIC_fi_endpoint, .values = {(uintptr_t)domain}};
	int status;

	FABRIC_ENTER(&c);
	status = FABRIC_REAL(domain->ops)->endpoint(domain, info, ep, context);
	return endpoint_end(&c, status, domain, info, ep);
}

#ifdef FABRIC_HAS_FLAGS
/* fi_endpoint2() with flags; without it is fi_endpoint(). */
static int domain_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			    uint64_t flags, void *context)
{
	struct fabric_call c = {.op = FABRIC_fi_endpoint2, .values = {(uintptr_t)domain, 0, flags}};
	int status;

	FABRIC_ENTER(&c);
	status = FABRIC_REAL(domain->ops)->endpoint2(domain, info, ep, flags, context);
	return endpoint_end(&c, status, domain, info, ep);
}
#endif

/* Endpoints that receive through it do not call it, and have completion queues of their own. */
static int domain_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep,
			  void *context)
{
	int status = FABRIC_REAL(domain->ops)->srx_ctx(domain, attr, ep, context);
	struct fabric_object *o = NULL;

	if (status == 0)
		o = endpoint_opened(*ep, FABRIC_OBJECT(domain->ops)->provider,
				    attr ? attr->caps : 0);
	if (o)
		o->shared = true;
	return status;
}

/* ---- memory ---- */

static int registered(struct fabric_call *c, int status, struct fid_mr *const *mr)
{
	if (status == 0)
		c->values[3] = (uintptr_t)*mr;
	fabric_leave(c, status);
	fabric_done(c);
	return status;
}

/* The domain whose table of regions it is. */
static struct fi_ops_mr *regions_of(struct fid *fid)
{
	return ((struct fid_domain *)fid)->mr;
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct fabric_call c = {.op = FABRIC_fi_mr_reg,
				.values = {(uintptr_t)fid, (uintptr_t)buf, len}};

	FABRIC_ENTER(&c);
	return registered(&c,
			  FABRIC_REAL(regions_of(fid))
				  ->reg(fid, buf, len, access, offset, key, flags, mr, context),
			  mr);
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct fabric_call c = {.op = FABRIC_fi_mr_regv,
				.values = {(uintptr_t)fid, count ? (uintptr_t)iov[0].iov_base : 0,
					   fabric_iov_bytes(iov, count)}};

	FABRIC_ENTER(&c);
	return registered(&c,
			  FABRIC_REAL(regions_of(fid))
				  ->regv(fid, iov, count, access, offset, key, flags, mr, context),
			  mr);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr)
{
	struct fabric_call c = {.op = FABRIC_fi_mr_regattr, .values = {(uintptr_t)fid}};

	if (attr && attr->mr_iov && attr->iov_count) {
		c.values[1] = (uintptr_t)attr->mr_iov[0].iov_base;
		c.values[2] = fabric_iov_bytes(attr->mr_iov, attr->iov_count);
	}
	FABRIC_ENTER(&c);
	return registered(&c, FABRIC_REAL(regions_of(fid))->regattr(fid, attr, flags, mr), mr);
}

/* ---- domains, fabrics ---- */

static void domain_opened(struct fid_domain *domain, const char *provider)
{
	struct fabric_object *o = fabric_object_new(&domain->fid, provider);
	struct fi_ops_domain *ops = o ? fabric_copy(o, TABLE_OPS, &domain->ops) : NULL;
	struct fi_ops_mr *mr = o ? fabric_copy(o, TABLE_MR, &domain->mr) : NULL;

	FABRIC_REPLACE(ops, endpoint, domain_endpoint);
#ifdef FABRIC_HAS_FLAGS
	FABRIC_REPLACE(ops, endpoint2, domain_endpoint2);
#endif
	FABRIC_REPLACE(ops, srx_ctx, domain_srx_ctx);
	FABRIC_REPLACE(ops, cq_open, fabric_cq_open);
	FABRIC_REPLACE(mr, reg, mr_reg);
	FABRIC_REPLACE(mr, regv, mr_regv);
	FABRIC_REPLACE(mr, regattr, mr_regattr);
}

static int domain_end(struct fabric_call *c, int status, const struct fi_info *info,
		      struct fid_domain *const *domain)
{
	if (status == 0) {
		c->values[1] = (uintptr_t)*domain;
		domain_opened(*domain, provider_of(info));
	}
	fabric_leave(c, status);
	fabric_done(c);
	return status;
}

static int fabric_domain(struct fid_fabric *fabric, struct fi_info *info,
			 struct fid_domain **domain, void *context)
{
	struct fabric_call c = {.op = FABRIC_fi_domain, .values = {(uintptr_t)fabric}};
	int status;

	FABRIC_ENTER(&c);
	status = FABRIC_REAL(fabric->ops)->domain(fabric, info, domain, context);
	return domain_end(&c, status, info, domain);
}

#ifdef FABRIC_HAS_FLAGS
static int fabric_domain2(struct fid_fabric *fabric, struct fi_info *info,
			  struct fid_domain **domain, uint64_t flags, void *context)
{
	struct fabric_call c = {.op = FABRIC_fi_domain2, .values = {(uintptr_t)fabric, 0, flags}};
	int status;

	FABRIC_ENTER(&c);
	status = FABRIC_REAL(fabric->ops)->domain2(fabric, info, domain, flags, context);
	return domain_end(&c, status, info, domain);
}
#endif

static void fabric_opened(struct fid_fabric *fabric, const char *provider)
{
	struct fabric_object *o = fabric_object_new(&fabric->fid, provider);
	struct fi_ops_fabric *ops = o ? fabric_copy(o, TABLE_OPS, &fabric->ops) : NULL;

	FABRIC_REPLACE(ops, domain, fabric_domain);
#ifdef FABRIC_HAS_FLAGS
	FABRIC_REPLACE(ops, domain2, fabric_domain2);
#endif
}

__attribute__((visibility("default"))) int kymo_libfabric_opened(__typeof__(fi_fabric) *real,
								 struct fi_fabric_attr *attr,
								 struct fid_fabric **fabric,
								 void *context, const void *caller)
{
	struct fabric_call c = {.op = FABRIC_fi_fabric};
	int saved = errno, status;
	bool known = fabric_known();

	errno = saved;
	if (!known)
		return real(attr, fabric, context);
	fabric_enter(&c, caller, cap_sp());
	status = real(attr, fabric, context);
	if (status == 0) {
		c.values[1] = (uintptr_t)*fabric;
		fabric_opened(*fabric, attr ? attr->prov_name : NULL);
	}
	fabric_leave(&c, status);
	fabric_done(&c);
	return status;
}
