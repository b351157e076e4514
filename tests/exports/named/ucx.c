/* SPDX-License-Identifier: Apache-2.0 */
/* Two workers of UCX in one process: one sends, puts into and gets from the other's memory. */
#include <stdint.h>
#include <stdlib.h>
#include <ucp/api/ucp.h>

#include "calls.h"

static ucp_worker_h workers[2];

static void must(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "ucx: %s\n", what);
		exit(77);
	}
}

static void progress(void)
{
	CALL(ucp_worker_progress)(workers[0]);
	CALL(ucp_worker_progress)(workers[1]);
}

static void finish(ucs_status_ptr_t request)
{
	if (!request)
		return;
	must(!UCS_PTR_IS_ERR(request), "a request failed");
	while (CALL(ucp_request_check_status)(request) == UCS_INPROGRESS)
		progress();
	CALL(ucp_request_free)(request);
}

static ucp_worker_h worker(ucp_context_h context)
{
	ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
				      .thread_mode = UCS_THREAD_MODE_SINGLE};
	ucp_worker_h made;

	must(CALL(ucp_worker_create)(context, &params, &made) == UCS_OK, "no worker");
	return made;
}

int main(void)
{
	ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
			       .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA};
	ucp_request_param_t none = {0};
	ucp_request_param_t words = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE,
				     .datatype = ucp_dt_make_contig(8)};
	ucp_request_param_t pieces = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE,
				      .datatype = ucp_dt_make_iov()};
	static char memory[4096], data[4096], got[3][4096];
	ucp_dt_iov_t iov[2] = {{data, 30}, {data + 100, 12}};
	ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
						  UCP_MEM_MAP_PARAM_FIELD_LENGTH,
				    .address = memory,
				    .length = sizeof(memory)};
	ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
	ucs_status_ptr_t receives[3];
	ucp_address_t *address;
	ucp_context_h context;
	ucp_rkey_h rkey;
	ucp_mem_h memh;
	size_t length;
	void *packed;
	ucp_ep_h ep;

	calls_count("ucp_init_version"); /* by ucp_init(), which is inline */
	must(ucp_init(&params, NULL, &context) == UCS_OK, "no context");
	workers[0] = worker(context);
	workers[1] = worker(context);
	must(CALL(ucp_worker_get_address)(workers[1], &address, &length) == UCS_OK, "no address");
	to.address = address;
	must(CALL(ucp_ep_create)(workers[0], &to, &ep) == UCS_OK, "no endpoint");
	must(CALL(ucp_mem_map)(context, &map, &memh) == UCS_OK, "no memory");
	must(CALL(ucp_rkey_pack)(context, memh, &packed, &length) == UCS_OK, "no key");
	must(CALL(ucp_ep_rkey_unpack)(ep, packed, &rkey) == UCS_OK, "no remote key");
	for (int i = 0; i < 3; i++)
		receives[i] = CALL(ucp_tag_recv_nbx)(workers[1], got[i], 4096, (ucp_tag_t)i, ~0ull,
						     &none);
	finish(CALL(ucp_tag_send_nbx)(ep, data, 1000, 0, &none));
	finish(CALL(ucp_tag_send_nbx)(ep, data, 100, 1, &words));
	finish(CALL(ucp_tag_send_nbx)(ep, iov, 2, 2, &pieces));
	for (int i = 0; i < 3; i++)
		finish(receives[i]);
	memset(data, 7, sizeof(data));
	finish(CALL(ucp_put_nbx)(ep, data, 2000, (uintptr_t)memory, rkey, &none));
	must(CALL(ucp_put_nbi)(ep, data, 24, (uintptr_t)memory, rkey) >= 0, "no put");
	finish(CALL(ucp_ep_flush_nbx)(ep, &none));
	must(memory[1999] == 7 && memory[2000] == 0, "wrong bytes");
	finish(CALL(ucp_get_nbx)(ep, data, 500, (uintptr_t)memory + 2000, rkey, &none));
	finish(CALL(ucp_worker_flush_nbx)(workers[0], &none));
	must(data[499] == 0 && data[500] == 7, "wrong bytes");
	CALL(ucp_rkey_destroy)(rkey);
	CALL(ucp_rkey_buffer_release)(packed);
	CALL(ucp_mem_unmap)(context, memh);
	finish(CALL(ucp_ep_close_nbx)(ep, &none));
	CALL(ucp_worker_release_address)(workers[1], address);
	CALL(ucp_worker_destroy)(workers[0]);
	CALL(ucp_worker_destroy)(workers[1]);
	CALL(ucp_cleanup)(context);
	calls_print();
	return 0;
}
