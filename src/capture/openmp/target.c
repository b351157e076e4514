/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks of target regions: what the program asked for, and the records of what its devices did.
 * The newer ones (EMI) tell begin and end; where a runtime has only the older, operations have no
 * duration.
 */
#include <kymo/tool.h>

#include "capture/openmp/offload.h"
#include "capture/openmp/openmp.h"

KYMO_EXPORT void kymo_offload_failed(int64_t device, const void *code, uint64_t since);
KYMO_EXPORT void kymo_offload_begin(struct offload_launch *l);
KYMO_EXPORT void kymo_offload_end(const struct offload_launch *l);

typedef union omp_data *data_t;
typedef const void *code_t;

enum { TARGET_DEVICE, TARGET_NOWAIT, TARGET_ID, TARGET_FALLBACK };
enum {
	DATA_SOURCE_DEVICE,
	DATA_SOURCE,
	DATA_DESTINATION_DEVICE,
	DATA_DESTINATION,
	DATA_BYTES,
	DATA_ASYNC,
	DATA_TARGET
};

static const uint8_t target_ops[] = {OMP_OP_TARGET, OMP_OP_TARGET, OMP_OP_ENTER_DATA,
				     OMP_OP_EXIT_DATA, OMP_OP_UPDATE};

static enum omp_op target_op(int kind)
{
	kind &= ~OMP_T_NOWAIT;
	return kind > 0 && kind < 5 ? target_ops[kind] : OMP_OP_TARGET;
}

/* The innermost target region of the thread, of any kind. */
static struct omp_region *enclosing(void)
{
	struct omp_region *r = NULL;

	for (unsigned i = 1; i < sizeof(target_ops); i++) {
		struct omp_region *x = omp_find(target_ops[i], 0);

		r = x && (!r || x > r) ? x : r;
	}
	return r;
}

/* ---- places ---- */

static _Thread_local const struct offload_launch *launching;

void kymo_offload_begin(struct offload_launch *l)
{
	l->outer = launching;
	l->since = tick_now(); /* here: ticks of the caller's library may be others */
	launching = l;
}

void kymo_offload_end(const struct offload_launch *l)
{
	launching = l->outer;
}

/* The program's own place, where the function before libomptarget is the one that OMPT tells. */
static code_t place(code_t code)
{
	const struct offload_launch *l = launching;

	return l && (uintptr_t)code >= (uintptr_t)l->low && (uintptr_t)code < (uintptr_t)l->high
		       ? l->caller
		       : code;
}

/* ---- regions ---- */

/* When the thread last said of a region that it ran on the host. */
static _Thread_local uint64_t said;

/* A region that never submits a kernel ran on the host instead. */
static void target_endpoint(int kind, int endpoint, int device, uint64_t id, code_t code)
{
	enum omp_op op = target_op(kind);

	if (endpoint & OMP_BEGIN)
		omp_begin(op, 0, place(code),
			  OMP_VALUES_OF((uint64_t)(int64_t)device, (kind & OMP_T_NOWAIT) != 0, id,
					op == OMP_OP_TARGET));
	if (endpoint & OMP_END) {
		struct omp_region *r = omp_find(op, 0);

		if (r && r->values.v[TARGET_FALLBACK])
			said = tick_now();
		omp_end(r);
	}
}

void kymo_offload_failed(int64_t device, const void *code, uint64_t since)
{
	/* A runtime whose OMPT is off, or another's, has told us nothing: there is no domain then. */
	if (said < since && omp_wanted(OMP_OP_TARGET))
		omp_point(OMP_OP_TARGET, code, OMP_VALUES_OF((uint64_t)device, 0, 0, 1));
}

static uint64_t new_number(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add(&last, 1) + 1;
}

static void target_emi(int kind, int endpoint, int device, data_t task, data_t target_task,
		       data_t target, code_t code)
{
	if ((endpoint & OMP_BEGIN) && target)
		target->value = new_number();
	target_endpoint(kind, endpoint, device, target ? target->value : 0, code);
}

static void target_old(int kind, int endpoint, int device, data_t task, uint64_t id, code_t code)
{
	target_endpoint(kind, endpoint, device, id, code);
}

/* ---- kernels ---- */

static void submit_begin(unsigned teams, uint64_t target)
{
	struct omp_region *r = omp_find(OMP_OP_TARGET, 0);
	uint64_t device = r ? r->values.v[TARGET_DEVICE] : 0;

	if (r)
		r->values.v[TARGET_FALLBACK] = 0;
	omp_begin(OMP_OP_SUBMIT, tick_now(), NULL, OMP_VALUES_OF(device, target, teams));
}

static void submit_end(code_t code)
{
	struct omp_region *r = omp_find(OMP_OP_SUBMIT, 0), copy;

	if (!r)
		return;
	copy = *r;
	omp_end(r);
	omp_device_dispatch((int)(int64_t)copy.values.v[0], copy.id, code, copy.values.v[2],
			    copy.key, tick_now());
}

/* Where the region of the kernel was entered: all that OMPT tells of which kernel it is. */
static code_t region_code(void)
{
	const struct omp_region *r = enclosing();

	return r && r->frame ? r->frame->caller : NULL;
}

static void submit_emi(int endpoint, data_t target, uint64_t *host_op, unsigned teams)
{
	if (endpoint & OMP_BEGIN) {
		if (host_op)
			*host_op = new_number();
		submit_begin(teams, target ? target->value : 0);
	}
	if (endpoint & OMP_END)
		submit_end(region_code());
}

static void submit_old(uint64_t target, uint64_t host_op, unsigned teams)
{
	submit_begin(teams, target);
	submit_end(region_code());
}

/* ---- data ---- */

static enum omp_op data_op(int type)
{
	static const uint8_t ops[] = {
		[OMP_DATA_ALLOC] = OMP_OP_DATA_ALLOC,
		[OMP_DATA_TO] = OMP_OP_DATA_TO,
		[OMP_DATA_FROM] = OMP_OP_DATA_FROM,
		[OMP_DATA_DELETE] = OMP_OP_DATA_DELETE,
		[OMP_DATA_ASSOCIATE] = OMP_OP_DATA_ASSOCIATE,
		[OMP_DATA_DISASSOCIATE] = OMP_OP_DATA_DISASSOCIATE,
	};

	type &= ~OMP_DATA_ASYNC;
	return type > 0 && (size_t)type < sizeof(ops) ? ops[type] : OMP_OP_DATA_TO;
}

/* What happened to memory, for those who know nothing of OpenMP. */
static void data_activity(enum omp_op op, const struct omp_values *v, uint64_t id, uint64_t begin)
{
	int from = (int)(int64_t)v->v[DATA_SOURCE_DEVICE];
	int to = (int)(int64_t)v->v[DATA_DESTINATION_DEVICE];
	uint64_t bytes = v->v[DATA_BYTES];

	if (op == OMP_OP_DATA_ALLOC)
		omp_device_memory(true, to, (void *)(uintptr_t)v->v[DATA_DESTINATION], bytes, id,
				  begin);
	else if (op == OMP_OP_DATA_DELETE)
		omp_device_memory(false, from, (void *)(uintptr_t)v->v[DATA_SOURCE], bytes, id,
				  begin);
	else if (op == OMP_OP_DATA_TO || op == OMP_OP_DATA_FROM)
		omp_device_copy(from, to, bytes, !v->v[DATA_ASYNC], id, begin, tick_now());
}

static void data_end(enum omp_op op, void *source, void *destination)
{
	struct omp_region *r = omp_find(op, 0), copy;

	if (!r)
		return;
	if (destination)
		r->values.v[DATA_DESTINATION] = (uintptr_t)destination;
	if (source)
		r->values.v[DATA_SOURCE] = (uintptr_t)source;
	copy = *r;
	omp_end(r);
	data_activity(op, &copy.values, copy.id, copy.key);
}

static void data_endpoint(int endpoint, int type, void *source, int source_device,
			  void *destination, int destination_device, size_t bytes, uint64_t target,
			  code_t code)
{
	enum omp_op op = data_op(type);

	if (endpoint & OMP_BEGIN)
		omp_begin(op, tick_now(), place(code),
			  OMP_VALUES_OF((uint64_t)(int64_t)source_device, (uintptr_t)source,
					(uint64_t)(int64_t)destination_device,
					(uintptr_t)destination, bytes, (type & OMP_DATA_ASYNC) != 0,
					target));
	if (endpoint & OMP_END)
		data_end(op, source, destination);
}

static void data_emi(int endpoint, data_t target_task, data_t target, uint64_t *host_op, int type,
		     void *source, int source_device, void *destination, int destination_device,
		     size_t bytes, code_t code)
{
	if ((endpoint & OMP_BEGIN) && host_op)
		*host_op = new_number();
	data_endpoint(endpoint, type, source, source_device, destination, destination_device, bytes,
		      target ? target->value : 0, code);
}

static void data_old(uint64_t target, uint64_t host_op, int type, void *source, int source_device,
		     void *destination, int destination_device, size_t bytes, code_t code)
{
	data_endpoint(OMP_BEGIN_END, type, source, source_device, destination, destination_device,
		      bytes, target, code);
}

static void map_items(uint64_t target, unsigned items, const size_t *bytes, code_t code)
{
	uint64_t total = 0;

	for (unsigned i = 0; bytes && i < items; i++)
		total += bytes[i];
	omp_point(OMP_OP_MAP, place(code), OMP_VALUES_OF(target, items, total));
}

static void map_emi(data_t target, unsigned items, void **host, void **device, size_t *bytes,
		    unsigned *flags, code_t code)
{
	map_items(target ? target->value : 0, items, bytes, code);
}

static void map_old(uint64_t target, unsigned items, void **host, void **device, size_t *bytes,
		    unsigned *flags, code_t code)
{
	map_items(target, items, bytes, code);
}

/* ---- devices ---- */

static void device_initialize(int number, const char *type, void *device, omp_lookup lookup,
			      const char *documentation)
{
	omp_device_define(number, type, documentation);
	omp_point(OMP_OP_DEVICE_INITIALIZE, NULL,
		  OMP_VALUES_OF((uint64_t)(int64_t)number, (uintptr_t)type, lookup != NULL));
}

static void device_finalize(int number)
{
	omp_point(OMP_OP_DEVICE_FINALIZE, NULL, OMP_VALUES_OF((uint64_t)(int64_t)number));
}

static void device_load(int number, const char *file, int64_t offset, void *in_file, size_t bytes,
			void *host, void *device, uint64_t module)
{
	omp_point(OMP_OP_DEVICE_LOAD, NULL,
		  OMP_VALUES_OF((uint64_t)(int64_t)number, (uintptr_t)file, bytes, module));
}

static void device_unload(int number, uint64_t module)
{
	omp_point(OMP_OP_DEVICE_UNLOAD, NULL, OMP_VALUES_OF((uint64_t)(int64_t)number, module));
}

#define REGIONS OMP_OP_TARGET, OMP_OP_ENTER_DATA, OMP_OP_EXIT_DATA, OMP_OP_UPDATE
#define DATA                                                                                       \
	OMP_OP_DATA_ALLOC, OMP_OP_DATA_TO, OMP_OP_DATA_FROM, OMP_OP_DATA_DELETE,                   \
		OMP_OP_DATA_ASSOCIATE, OMP_OP_DATA_DISASSOCIATE

const struct omp_callback omp_target_callbacks[] = {
	OMP_CALLBACK(OMP_DEVICE_INITIALIZE, device_initialize, OMP_OP_DEVICE_INITIALIZE),
	OMP_CALLBACK(OMP_DEVICE_FINALIZE, device_finalize, OMP_OP_DEVICE_FINALIZE),
	OMP_CALLBACK(OMP_DEVICE_LOAD, device_load, OMP_OP_DEVICE_LOAD),
	OMP_CALLBACK(OMP_DEVICE_UNLOAD, device_unload, OMP_OP_DEVICE_UNLOAD),
	OMP_CALLBACK(OMP_TARGET_EMI, target_emi, REGIONS),
	OMP_CALLBACK(OMP_TARGET_DATA_OP_EMI, data_emi, DATA),
	OMP_CALLBACK(OMP_TARGET_SUBMIT_EMI, submit_emi, OMP_OP_SUBMIT),
	OMP_CALLBACK(OMP_TARGET_MAP_EMI, map_emi, OMP_OP_MAP),
	OMP_CALLBACK(OMP_TARGET, target_old, REGIONS),
	OMP_CALLBACK(OMP_TARGET_DATA_OP, data_old, DATA),
	OMP_CALLBACK(OMP_TARGET_SUBMIT, submit_old, OMP_OP_SUBMIT),
	OMP_CALLBACK(OMP_TARGET_MAP, map_old, OMP_OP_MAP),
	{0, {0}, NULL},
};
