/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend of libfabric against a fake provider that does what it is told, in a process where
 * allocations can be refused.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kymo/kymo.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "capture/libfabric/door.h"
#include "record/fields.h"

/* ---- memory ---- */

static _Thread_local long refuse; /* the allocation of that number from now on; 0: none */

#ifdef REFUSE
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *p);

static bool refused(void)
{
	if (!refuse || --refuse)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refused() ? NULL : __libc_calloc(count, size);
}

/* Who lets go twice of what is counted finds a count of 1, and then no pointers. */
void free(void *p)
{
	uint64_t *words = p;

	for (size_t i = 0; p && i < malloc_usable_size(p) / sizeof(*words); i++)
		((volatile uint64_t *)words)[i] = 1;
	__libc_free(p);
}
#endif

/* ---- the provider ---- */

enum { MOST = 64 };

static struct {
	struct fid_fabric fabric;
	struct fid_domain domain;
	struct fid_ep ep;
	struct fid_cq cq;
	enum fi_cq_format format;
	unsigned queues, queues_closed;
	uint64_t flags; /* of the last fi_domain2() or fi_endpoint2() */
	struct fi_cq_msg_entry complete[MOST];
	unsigned first, count;
	ssize_t answer; /* to a send */
	bool overtaken; /* a completion with its context is read before the send returns */
} fake;

static void complete(void *context, uint64_t flags, size_t bytes)
{
	assert_true(fake.count < MOST);
	fake.complete[fake.count++] =
		(struct fi_cq_msg_entry){.op_context = context, .flags = flags, .len = bytes};
}

static int close_other(struct fid *fid)
{
	return 0;
}

static int close_queue(struct fid *fid)
{
	fake.queues_closed++;
	return 0;
}

static int bind_any(struct fid *fid, struct fid *other, uint64_t flags)
{
	return 0;
}

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	size_t n = 0;

	for (; n < count && fake.first < fake.count; n++, fake.first++) {
		if (fake.format == FI_CQ_FORMAT_MSG)
			((struct fi_cq_msg_entry *)buf)[n] = fake.complete[fake.first];
		else
			((struct fi_cq_entry *)buf)[n].op_context =
				fake.complete[fake.first].op_context;
	}
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static void *read_one(void *unused)
{
	struct fi_cq_msg_entry e;

	return fi_cq_read(&fake.cq, &e, 1) == 1 ? &fake : NULL;
}

static ssize_t ep_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
		       void *context)
{
	pthread_t reader;
	void *got;

	if (fake.overtaken) {
		complete(context, FI_SEND | FI_MSG, 0);
		assert_int_equal(pthread_create(&reader, NULL, read_one, NULL), 0);
		assert_int_equal(pthread_join(reader, &got), 0);
		assert_non_null(got);
	}
	return fake.answer;
}

static struct fi_ops close_ops = {.size = sizeof(close_ops), .close = close_other};
static struct fi_ops queue_close_ops = {.size = sizeof(queue_close_ops), .close = close_queue};
static struct fi_ops ep_ops = {.size = sizeof(ep_ops), .close = close_other, .bind = bind_any};
static struct fi_ops_cq cq_ops = {.size = sizeof(cq_ops), .read = cq_read};
static struct fi_ops_msg msg_ops = {.size = sizeof(msg_ops), .send = ep_send};

static int domain_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
			  void *context)
{
	fake.queues++;
	fake.format = attr->format;
	fake.cq = (struct fid_cq){.fid = {FI_CLASS_CQ, context, &queue_close_ops}, .ops = &cq_ops};
	*cq = &fake.cq;
	return 0;
}

static int domain_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			    uint64_t flags, void *context)
{
	fake.flags = flags;
	fake.ep = (struct fid_ep){.fid = {FI_CLASS_EP, context, &ep_ops}, .msg = &msg_ops};
	*ep = &fake.ep;
	return 0;
}

static int domain_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			   void *context)
{
	return domain_endpoint2(domain, info, ep, 0, context);
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.cq_open = domain_cq_open,
	.endpoint = domain_endpoint,
	.endpoint2 = domain_endpoint2,
};

static int fabric_domain2(struct fid_fabric *fabric, struct fi_info *info,
			  struct fid_domain **domain, uint64_t flags, void *context)
{
	fake.flags = flags;
	fake.domain = (struct fid_domain){.fid = {FI_CLASS_DOMAIN, context, &close_ops},
					  .ops = &domain_ops};
	*domain = &fake.domain;
	return 0;
}

static int fabric_domain(struct fid_fabric *fabric, struct fi_info *info,
			 struct fid_domain **domain, void *context)
{
	return fabric_domain2(fabric, info, domain, 0, context);
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops), .domain = fabric_domain, .domain2 = fabric_domain2};

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	fake.fabric = (struct fid_fabric){.fid = {FI_CLASS_FABRIC, context, &close_ops},
					  .ops = &fabric_ops};
	*fabric = &fake.fabric;
	return 0;
}

/* ---- what is recorded ---- */

static struct message {
	uint32_t op;
	uint64_t sent, received, state;
} messages[MOST];
static unsigned message_count;

static uint64_t value(const kymo_callback_record_t *r, unsigned field)
{
	kymo_value_t v = {.size = sizeof(v)};

	assert_int_equal(kymo_callback_value(r, field, &v), KYMO_OK);
	return v.u;
}

static void keep(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	assert_true(message_count < MOST);
	messages[message_count++] = (struct message){r->op, value(r, COMM_SENT),
						     value(r, COMM_RECEIVED), value(r, COMM_STATE)};
}

/* ---- the program ---- */

static kymo_context_t tool;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fi_fabric_attr fabric_attr = {.prov_name = (char *)"fake"};
static struct fi_info info = {.caps = FI_MSG, .fabric_attr = &fabric_attr};

static int setup(void **state)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = "comm"};

	memset(&fake, 0, sizeof(fake));
	message_count = 0;
	assert_int_equal(kymo_libfabric_opened(open_fabric, &fabric_attr, &fabric, NULL, setup), 0);
	assert_int_equal(kymo_context_create(&tool), KYMO_OK);
	assert_int_equal(kymo_callback_service(tool, &s, keep, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(tool), KYMO_OK);
	assert_int_equal(fi_domain(fabric, &info, &domain, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
	assert_int_equal(kymo_context_destroy(tool), KYMO_OK);
	return 0;
}

static void open_queue(void)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT};

	assert_int_equal(fi_cq_open(domain, &attr, &cq, NULL), 0);
	assert_int_equal(attr.format, FI_CQ_FORMAT_CONTEXT);
}

static void open_endpoint(void)
{
	open_queue();
	assert_int_equal(fi_endpoint(domain, &info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
}

static ssize_t send_bytes(size_t bytes, void *context)
{
	static char data[1000];

	return fi_send(ep, data, bytes, NULL, 1, context);
}

/* The program has room for entries of 8 bytes, whatever Kymo could not have. */
static void check_queue(void)
{
	struct {
		struct fi_cq_entry entries[4];
		unsigned char guard[sizeof(struct fi_cq_msg_entry) * 4];
	} room;

	memset(&room, 0xa5, sizeof(room));
	for (uintptr_t i = 1; i <= 3; i++)
		complete((void *)(i << 8), FI_RECV | FI_MSG, 1000);
	assert_int_equal(fi_cq_read(cq, room.entries, 4), 3);
	for (uintptr_t i = 1; i <= 3; i++)
		assert_ptr_equal(room.entries[i - 1].op_context, (void *)(i << 8));
	for (size_t i = 0; i < sizeof(room.guard); i++)
		assert_int_equal(room.guard[i], 0xa5);
}

static void test_queue_without_memory(void **state)
{
	unsigned reopened = 0;

	for (long at = 0; at < 12; at++) {
		unsigned before = fake.queues;

		fake.first = fake.count = 0;
		refuse = at;
		open_queue();
		refuse = 0;
		reopened += fake.queues - before - 1;
		check_queue();
		assert_int_equal(fi_close(&cq->fid), 0);
		assert_int_equal(fake.queues, fake.queues_closed);
	}
#ifdef REFUSE
	assert_true(reopened > 0);
#endif
}

static void test_same_context(void **state)
{
	struct fi_cq_entry entries[4];

	open_endpoint();
	assert_int_equal(send_bytes(100, &fake), 0);
	assert_int_equal(send_bytes(200, &fake), 0);
	fake.answer = -FI_EAGAIN;
	assert_int_equal(send_bytes(300, &fake), -FI_EAGAIN);
	fake.answer = 0;
	assert_int_equal(send_bytes(400, &fake), 0);
	assert_int_equal(message_count, 0);
	for (int i = 0; i < 3; i++)
		complete(&fake, FI_SEND | FI_MSG, 0);
	assert_int_equal(fi_cq_read(cq, entries, 4), 3);
	assert_int_equal(message_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t bytes[] = {100, 200, 400};

		assert_int_equal(messages[i].op, COMM_OP_SEND);
		assert_int_equal(messages[i].sent, bytes[i]);
		assert_int_equal(messages[i].state, COMM_COMPLETED);
	}
	assert_int_equal(fi_close(&ep->fid), 0);
	assert_int_equal(message_count, 3);
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* Those that are left when the endpoint goes, and their places are used again. */
static void test_freed(void **state)
{
	for (int round = 0; round < 2; round++) {
		message_count = 0;
		open_endpoint();
		for (uintptr_t i = 1; i <= 40; i++)
			assert_int_equal(send_bytes(i, (void *)(i % 5)), 0);
		assert_int_equal(fi_close(&ep->fid), 0);
		assert_int_equal(message_count, 40);
		for (unsigned i = 0; i < 40; i++)
			assert_int_equal(messages[i].state, COMM_FREED);
		assert_int_equal(fi_close(&cq->fid), 0);
	}
}

/* A send that fails and whose context somebody has seen complete all the same ends once. */
static void test_overtaken(void **state)
{
	static char other;
	struct fi_cq_entry e;

	open_endpoint();
	fake.overtaken = true;
	fake.answer = -FI_EIO;
	assert_int_equal(send_bytes(100, &fake), -FI_EIO);
	assert_int_equal(message_count, 1);
	fake.overtaken = false;
	fake.answer = 0;
	assert_int_equal(send_bytes(200, &other), 0); /* where the other was */
	complete(&other, FI_SEND | FI_MSG, 0);
	assert_int_equal(fi_cq_read(cq, &e, 1), 1);
	assert_int_equal(messages[message_count - 1].sent, 200);
	assert_int_equal(fi_close(&ep->fid), 0);
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* fi_domain2() and fi_endpoint2() with flags have functions of their own. */
static void test_flags(void **state)
{
	struct fid_domain *first = domain;
	struct fi_cq_entry e;

	assert_int_equal(fi_close(&first->fid), 0);
	assert_int_equal(fi_domain2(fabric, &info, &domain, 5, NULL), 0);
	assert_int_equal(fake.flags, 5);
	open_queue();
	assert_int_equal(fi_endpoint2(domain, &info, &ep, 6, NULL), 0);
	assert_int_equal(fake.flags, 6);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(send_bytes(10, &e), 0);
	complete(&e, FI_SEND | FI_MSG, 0);
	assert_int_equal(fi_cq_read(cq, &e, 1), 1);
	assert_int_equal(message_count, 1);
	assert_int_equal(fi_close(&ep->fid), 0);
	assert_int_equal(fi_close(&cq->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_queue_without_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_context, setup, teardown),
		cmocka_unit_test_setup_teardown(test_freed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overtaken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flags, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
