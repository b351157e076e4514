/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two endpoints of one process that send each other messages through libfabric, and count what they
 * do: program PROVIDER FORMAT MESSAGES. FORMAT is that of the completion queues, "context" or
 * "tagged". Prints what each endpoint sent and received; status 77: the provider is not here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

enum { ROOM = 65536, AT_ONCE = 8, CONTEXTS = 64 };

struct side {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	fi_addr_t other;
	char out[ROOM], in[ROOM];
	unsigned long sent, sent_bytes, received, received_bytes, put, put_bytes, got, got_bytes,
		cancelled;
};

/* A transfer under way; the first member is what a provider may want to use. */
struct request {
	struct fi_context2 context;
	struct side *side;
	char what; /* s r p g */
	size_t bytes;
	int done;
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct side sides[2];
static enum fi_cq_format format;

static void check(const char *what, long status)
{
	if (status < 0) {
		fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-status));
		exit(1);
	}
}

static void finish(struct request *r)
{
	struct side *s = r->side;

	r->done = 1;
	s->sent += r->what == 's';
	s->sent_bytes += r->what == 's' ? r->bytes : 0;
	s->received += r->what == 'r';
	s->received_bytes += r->what == 'r' ? r->bytes : 0;
	s->put += r->what == 'p';
	s->put_bytes += r->what == 'p' ? r->bytes : 0;
	s->got += r->what == 'g';
	s->got_bytes += r->what == 'g' ? r->bytes : 0;
}

static void look(struct side *s)
{
	struct fi_cq_tagged_entry full[AT_ONCE];
	struct fi_cq_entry bare[AT_ONCE];
	struct fi_cq_err_entry error = {0};
	void *into = format == FI_CQ_FORMAT_CONTEXT ? (void *)bare : (void *)full;
	ssize_t n = fi_cq_read(s->cq, into, AT_ONCE);

	if (n == -FI_EAVAIL) {
		check("fi_cq_readerr", fi_cq_readerr(s->cq, &error, 0));
		if (error.err != FI_ECANCELED)
			check("a completion", -error.err);
		((struct request *)error.op_context)->done = 1;
		s->cancelled++;
		return;
	}
	if (n != -FI_EAGAIN)
		check("fi_cq_read", n);
	for (ssize_t i = 0; i < n; i++)
		finish(format == FI_CQ_FORMAT_CONTEXT ? bare[i].op_context : full[i].op_context);
}

static void both(void)
{
	look(&sides[0]);
	look(&sides[1]);
}

#define RETRY(call)                                                                                \
	do {                                                                                       \
		ssize_t status_;                                                                   \
		while ((status_ = (call)) == -FI_EAGAIN)                                           \
			both();                                                                    \
		check(#call, status_);                                                             \
	} while (0)

static void await(struct request *r)
{
	while (!r->done)
		both();
}

/* One message of `bytes`, in one of the ways there are. */
static void message(unsigned i, size_t bytes)
{
	struct side *from = &sides[i % 2], *to = &sides[(i + 1) % 2];
	struct request r = {.side = to, .what = 'r', .bytes = bytes},
		       s = {.side = from, .what = 's', .bytes = bytes};
	const int tagged = i / 2 % 2;

	if (tagged)
		RETRY(fi_trecv(to->ep, to->in, ROOM, NULL, FI_ADDR_UNSPEC, 5, 0, &r));
	else
		RETRY(fi_recv(to->ep, to->in, ROOM, NULL, FI_ADDR_UNSPEC, &r));
	if (i % 8 == 6 && bytes <= info->tx_attr->inject_size) {
		RETRY(fi_tinject(from->ep, from->out, bytes, from->other, 5));
		finish(&s);
	} else if (tagged) {
		RETRY(fi_tsend(from->ep, from->out, bytes, NULL, from->other, 5, &s));
	} else {
		struct iovec iov[2] = {{from->out, bytes / 2},
				       {from->out + bytes / 2, bytes - bytes / 2}};

		if (i % 4 == 1 && info->tx_attr->iov_limit >= 2)
			RETRY(fi_sendv(from->ep, iov, NULL, 2, from->other, &s));
		else
			RETRY(fi_send(from->ep, from->out, bytes, NULL, from->other, &s));
	}
	await(&s);
	await(&r);
}

/* Several under way at once, of which several are seen complete at once. */
static void burst(unsigned count)
{
	static struct request r[CONTEXTS], s[CONTEXTS];

	for (unsigned i = 0; i < count; i++) {
		r[i] = (struct request){.side = &sides[1], .what = 'r', .bytes = 100 + i};
		s[i] = (struct request){.side = &sides[0], .what = 's', .bytes = 100 + i};
		RETRY(fi_trecv(sides[1].ep, sides[1].in, ROOM, NULL, FI_ADDR_UNSPEC, 100 + i, 0,
			       &r[i]));
	}
	for (unsigned i = 0; i < count; i++)
		RETRY(fi_tsend(sides[0].ep, sides[0].out, 100 + i, NULL, sides[0].other, 100 + i,
			       &s[i]));
	for (unsigned i = 0; i < count; i++) {
		await(&s[i]);
		await(&r[i]);
	}
}

/* Of memory that the other side has registered. */
static void remote(void)
{
	struct request p = {.side = &sides[0], .what = 'p', .bytes = 3000},
		       g = {.side = &sides[0], .what = 'g', .bytes = 5000};
	const struct fi_domain_attr *attr = info->domain_attr;
	struct fid_mr *mr;
	uint64_t at;

	check("fi_mr_reg", fi_mr_reg(domain, sides[1].in, ROOM, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
				     1, 0, &mr, NULL));
	at = attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)sides[1].in : 0;
	RETRY(fi_write(sides[0].ep, sides[0].out, 3000, NULL, sides[0].other, at, fi_mr_key(mr),
		       &p));
	await(&p);
	RETRY(fi_read(sides[0].ep, sides[0].out, 5000, NULL, sides[0].other, at, fi_mr_key(mr),
		      &g));
	await(&g);
	check("fi_close", fi_close(&mr->fid));
}

/* One that is taken back, and one that the endpoint is closed with. */
static void never(void)
{
	static struct request a = {.side = &sides[0], .what = '-'},
			      b = {.side = &sides[1], .what = '-'};

	RETRY(fi_trecv(sides[0].ep, sides[0].in, ROOM, NULL, FI_ADDR_UNSPEC, 1000, 0, &a));
	check("fi_cancel", fi_cancel(&sides[0].ep->fid, &a));
	await(&a);
	RETRY(fi_trecv(sides[1].ep, sides[1].in, ROOM, NULL, FI_ADDR_UNSPEC, 1000, 0, &b));
}

static void open_side(struct side *s)
{
	struct fi_cq_attr cq = {.format = format, .size = 512};
	struct fi_av_attr av = {.type = FI_AV_TABLE};

	check("fi_endpoint", fi_endpoint(domain, info, &s->ep, NULL));
	check("fi_cq_open", fi_cq_open(domain, &cq, &s->cq, NULL));
	check("fi_av_open", fi_av_open(domain, &av, &s->av, NULL));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->av->fid, 0));
	check("fi_enable", fi_enable(s->ep));
}

/* The first address in each table is the endpoint's own: the other's is 1. */
static void introduce(struct side *s, struct side *other)
{
	char name[512];
	size_t size;

	for (int i = 0; i < 2; i++) {
		size = sizeof(name);
		check("fi_getname", fi_getname(i ? &other->ep->fid : &s->ep->fid, name, &size));
		if (fi_av_insert(s->av, name, 1, &s->other, 0, NULL) != 1)
			check("fi_av_insert", -FI_EADDRNOTAVAIL);
	}
}

static void open_all(const char *provider)
{
	struct fi_info *hints = fi_allocinfo();

	hints->fabric_attr->prov_name = strdup(provider);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ALLOCATED;
	if (fi_getinfo(FI_VERSION(1, 5), strcmp(provider, "shm") == 0 ? NULL : "127.0.0.1", NULL,
		       FI_SOURCE, hints, &info) != 0)
		exit(77);
	check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	check("fi_domain", fi_domain(fabric, info, &domain, NULL));
	open_side(&sides[0]);
	open_side(&sides[1]);
	introduce(&sides[0], &sides[1]);
	introduce(&sides[1], &sides[0]);
	fi_freeinfo(hints);
}

int main(int argc, char **argv)
{
	const unsigned messages = (unsigned)atoi(argv[3]);

	format = strcmp(argv[2], "context") == 0 ? FI_CQ_FORMAT_CONTEXT : FI_CQ_FORMAT_TAGGED;
	open_all(argv[1]);
	for (unsigned i = 0; i < messages; i++)
		message(i, i % 7 == 0 ? 1 : 13 * i % 4000);
	burst(CONTEXTS);
	remote();
	never();
	for (int i = 0; i < 2; i++) {
		const struct side *s = &sides[i];

		printf("%d sent %lu %lu received %lu %lu put %lu %lu got %lu %lu cancelled %lu\n",
		       i, s->sent, s->sent_bytes, s->received, s->received_bytes, s->put,
		       s->put_bytes, s->got, s->got_bytes, s->cancelled);
		check("fi_close", fi_close(&s->ep->fid));
		check("fi_close", fi_close(&s->cq->fid));
		check("fi_close", fi_close(&s->av->fid));
	}
	check("fi_close", fi_close(&domain->fid));
	check("fi_close", fi_close(&fabric->fid));
	return 0;
}
