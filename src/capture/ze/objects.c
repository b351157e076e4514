/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What handles stand for. Destroyed objects are taken out before the driver's function is called:
 * by the time it returned, their handles may be somebody else's.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"
#include "capture/ze/ze.h"

#define BUCKETS 4096u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ze_object *buckets[BUCKETS];

void ze_objects_lock(void) ACQUIRES(lock)
{
	pthread_mutex_lock(&lock);
}

void ze_objects_unlock(void) RELEASES(lock)
{
	pthread_mutex_unlock(&lock);
}

static struct ze_object **place_of(uint32_t type, const void *handle)
{
	uint64_t h = ((uintptr_t)handle ^ (uint64_t)type << 56) * 0x9e3779b97f4a7c15ull;
	struct ze_object **at = &buckets[h >> 52];

	while (*at && ((*at)->handle != handle || (*at)->type != type))
		at = &(*at)->next;
	return at;
}

void *ze_find(enum ze_type type, const void *handle)
{
	return *place_of(type, handle);
}

void *ze_forget(enum ze_type type, const void *handle)
{
	struct ze_object **at = place_of(type, handle), *o = *at;

	if (o)
		*at = o->next;
	return o;
}

void ze_keep(struct ze_object *o, enum ze_type type, void *handle)
{
	struct ze_object **at = place_of(type, handle);

	o->type = type;
	o->handle = handle;
	o->next = *at ? (*at)->next : NULL;
	/* One that is there was destroyed unseen; others may hold it still. */
	*at = o;
}

/* ---- definitions ---- */

static uint32_t define_queue(const void *handle, const struct ze_agent *a, const char *name)
{
	const uint32_t id = cap_new_id(DEF_QUEUE);
	struct wire_def d;

	wire_def_init(&d, DEF_QUEUE);
	wire_def_u64(&d, id);
	wire_def_string(&d, ZE_DOMAIN);
	wire_def_u64(&d, (uintptr_t)handle);
	wire_def_u64(&d, a ? a->id : 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, tick_now());
	wire_def_string(&d, name);
	cap_define(&d);
	return id;
}

static uint32_t define_program(const void *handle, bool il)
{
	const uint32_t id = cap_new_id(DEF_PROGRAM);
	struct wire_def d;

	wire_def_init(&d, DEF_PROGRAM);
	wire_def_u64(&d, id);
	wire_def_string(&d, ZE_DOMAIN);
	wire_def_u64(&d, (uintptr_t)handle);
	wire_def_u64(&d, 0);
	wire_def_string(&d, il ? "il" : "binary");
	wire_def_u64(&d, 0);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
	return id;
}

static uint32_t define_kernel(const void *handle, const char *name, uint32_t program)
{
	const uint32_t id = cap_new_id(DEF_KERNEL);
	struct wire_def d;

	wire_def_init(&d, DEF_KERNEL);
	wire_def_u64(&d, id);
	wire_def_string(&d, ZE_DOMAIN);
	wire_def_string(&d, name);
	wire_def_u64(&d, program);
	wire_def_u64(&d, (uintptr_t)handle);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
	return id;
}

static void keep_object(void *object, enum ze_type type, void *handle)
{
	ze_objects_lock();
	ze_keep(object, type, handle);
	ze_objects_unlock();
}

static void *forget_object(enum ze_type type, const void *handle)
{
	void *o;

	ze_objects_lock();
	o = ze_forget(type, handle);
	ze_objects_unlock();
	return o;
}

/* ---- queues and lists ---- */

enum { MODE_SYNCHRONOUS = 1 };

void ze_after_zeCommandQueueCreate(const struct table_call *call)
{
	void *handle = ze_pointer(call, zeCommandQueueCreate_phCommandQueue);
	struct ze_queue *q = ze_succeeded(call) ? calloc(1, sizeof(*q)) : NULL;

	if (!q)
		return;
	q->agent = ze_agent_of(ze_pointer(call, zeCommandQueueCreate_hDevice));
	q->synchronous = ze_arg(call, zeCommandQueueCreate_desc_mode) == MODE_SYNCHRONOUS;
	q->object.id = define_queue(handle, q->agent, "");
	keep_object(q, ZE_QUEUE, handle);
}

void ze_before_zeCommandQueueDestroy(void *hCommandQueue)
{
	struct ze_queue *q;

	ze_collect(true);
	q = forget_object(ZE_QUEUE, hCommandQueue);
	if (q)
		cap_define_end(DEF_QUEUE, q->object.id);
	free(q);
}

static struct ze_list *list_new(void *handle, void *context, void *device)
{
	struct ze_list *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->context = context;
	l->agent = ze_agent_of(device);
	return l;
}

void ze_after_zeCommandListCreate(const struct table_call *call)
{
	void *handle = ze_pointer(call, zeCommandListCreate_phCommandList);
	struct ze_list *l =
		!ze_succeeded(call)
			? NULL
			: list_new(handle, ze_pointer(call, zeCommandListCreate_hContext),
				   ze_pointer(call, zeCommandListCreate_hDevice));

	if (l)
		keep_object(l, ZE_LIST, handle);
}

void ze_after_zeCommandListCreateImmediate(const struct table_call *call)
{
	void *handle = ze_pointer(call, zeCommandListCreateImmediate_phCommandList);
	struct ze_list *l = NULL;

	if (ze_succeeded(call))
		l = list_new(handle, ze_pointer(call, zeCommandListCreateImmediate_hContext),
			     ze_pointer(call, zeCommandListCreateImmediate_hDevice));
	if (!l)
		return;
	l->immediate = true;
	l->synchronous =
		ze_arg(call, zeCommandListCreateImmediate_altdesc_mode) == MODE_SYNCHRONOUS;
	l->object.id = l->queue = define_queue(handle, l->agent, "immediate list");
	keep_object(l, ZE_LIST, handle);
}

void ze_list_clear(struct ze_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct ze_event *e = l->commands[i].own;

		if (e) {
			e->keep = false;
			ze_own_free(e);
		}
	}
	l->count = 0;
}

void ze_before_zeCommandListReset(void *hCommandList)
{
	struct ze_list *l;

	ze_collect(true);
	ze_objects_lock();
	l = ze_find(ZE_LIST, hCommandList);
	if (l)
		ze_list_clear(l);
	ze_objects_unlock();
}

void ze_before_zeCommandListDestroy(void *hCommandList)
{
	struct ze_list *l;

	ze_collect(true);
	ze_objects_lock();
	l = ze_forget(ZE_LIST, hCommandList);
	if (l)
		ze_list_clear(l);
	ze_objects_unlock();
	if (l && l->queue)
		cap_define_end(DEF_QUEUE, l->queue);
	if (l)
		free(l->commands);
	free(l);
}

void ze_after_zeFenceCreate(const struct table_call *call)
{
	struct ze_fence *f = ze_succeeded(call) ? calloc(1, sizeof(*f)) : NULL;
	const struct ze_queue *q;

	if (!f)
		return;
	ze_objects_lock();
	q = ze_find(ZE_QUEUE, ze_pointer(call, zeFenceCreate_hCommandQueue));
	f->queue = q ? q->object.id : 0;
	ze_keep(&f->object, ZE_FENCE, ze_pointer(call, zeFenceCreate_phFence));
	ze_objects_unlock();
}

void ze_before_zeFenceDestroy(void *hFence)
{
	free(forget_object(ZE_FENCE, hFence));
}

void ze_before_zeContextDestroy(void *hContext)
{
	ze_context_last(hContext);
}

/* ---- events ---- */

enum { POOL_TIMESTAMPS = 4 };

void ze_after_zeEventPoolCreate(const struct table_call *call)
{
	struct ze_pool *p = ze_succeeded(call) ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return;
	p->forced = ze_forced_taken();
	p->timed = p->forced || (ze_arg(call, zeEventPoolCreate_desc_flags) & POOL_TIMESTAMPS) != 0;
	keep_object(p, ZE_POOL, ze_pointer(call, zeEventPoolCreate_phEventPool));
}

/* The program sees what it asked for. */
void ze_after_zeEventPoolGetFlags(const struct table_call *call)
{
	uint32_t *flags = (uint32_t *)(uintptr_t)call->gp[1];
	const struct ze_pool *p;

	if (!ze_succeeded(call) || !flags)
		return;
	ze_objects_lock();
	p = ze_find(ZE_POOL, ze_pointer(call, zeEventPoolGetFlags_hEventPool));
	if (p && p->forced)
		*flags &= ~(uint32_t)POOL_TIMESTAMPS;
	ze_objects_unlock();
}

/* Another process made it; what it told of its events is not known. */
void ze_after_zeEventPoolOpenIpcHandle(const struct table_call *call)
{
	struct ze_pool *p = ze_succeeded(call) ? calloc(1, sizeof(*p)) : NULL;

	if (p)
		keep_object(p, ZE_POOL, ze_pointer(call, zeEventPoolOpenIpcHandle_phEventPool));
}

void ze_before_zeEventPoolDestroy(void *hEventPool)
{
	free(forget_object(ZE_POOL, hEventPool));
}

static void keep_event(void *handle, bool timed)
{
	struct ze_event *e = calloc(1, sizeof(*e));

	if (!e)
		return;
	e->timed = timed;
	ze_objects_lock();
	ze_keep(&e->object, ZE_EVENT, handle);
	ze_objects_unlock();
}

void ze_after_zeEventCreate(const struct table_call *call)
{
	const struct ze_pool *p;
	bool timed;

	if (!ze_succeeded(call))
		return;
	ze_objects_lock();
	p = ze_find(ZE_POOL, ze_pointer(call, zeEventCreate_hEventPool));
	timed = p && p->timed;
	ze_objects_unlock();
	keep_event(ze_pointer(call, zeEventCreate_phEvent), timed);
}

/* One that needs no pool. */
void ze_after_zeEventCounterBasedCreate(const struct table_call *call)
{
	enum { DEVICE_TIMESTAMP = 1 << 4 }; /* ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP */

	if (ze_succeeded(call))
		keep_event(ze_pointer(call, zeEventCounterBasedCreate_phEvent),
			   ze_arg(call, zeEventCounterBasedCreate_desc_flags) & DEVICE_TIMESTAMP);
}

void ze_before_zeEventDestroy(void *hEvent)
{
	ze_event_last(hEvent, true);
}

void ze_before_zeEventHostReset(void *hEvent)
{
	ze_event_last(hEvent, false);
}

/* ---- modules and kernels ---- */

enum { LOG_CAP = 1 << 16, FORMAT_IL = 0 };

/* Of builds that failed. A log that the program asked for is its own to destroy. */
static uint32_t build_log(const struct table_call *call)
{
	void *log = ze_pointer(call, zeModuleCreate_phBuildLog);
	uint32_t (*get)(void *, size_t *, char *);
	size_t bytes = 0;
	uint32_t id = 0;
	char *text;

	memcpy(&get, &ze_next[ZE_OP_zeModuleBuildLogGetString], sizeof(get));
	if (!get || !log || !call->frame->has_status || get(log, &bytes, NULL) != 0 || bytes < 2 ||
	    bytes > LOG_CAP)
		return 0;
	text = calloc(1, bytes + 1);
	if (text && get(log, &bytes, text) == 0)
		id = cap_define_blob("build log", text, strlen(text));
	free(text);
	return id;
}

static void record_build(const struct table_call *call, uint32_t program)
{
	const struct ze_agent *a = ze_agent_of(ze_pointer(call, zeModuleCreate_hDevice));
	const char *options = ze_pointer(call, zeModuleCreate_desc_pBuildFlags);
	struct cap_op *op = &core_code_object_ops[CODE_OBJECT_OP_BUILD];
	const uint32_t log = build_log(call);
	const uint32_t given = options && *options
				       ? cap_define_blob("build options", options, strlen(options))
				       : 0;
	struct cap_frame activity;
	struct cap_submission o;
	struct wire_enc e;

	if (!cap_submission_take(&o, call->frame, op, NULL))
		return;
	if (cap_activity_begin(&activity, &e, op, &o, call->frame->start, call->frame->end,
			       BUILD_FIELDS)) {
		wire_unsigned(&e, BUILD_CORRELATION, o.call);
		wire_unsigned(&e, BUILD_PROGRAM, program);
		wire_unsigned(&e, BUILD_AGENT, a ? a->id : 0);
		wire_signed(&e, BUILD_STATUS, call->frame->status, 4);
		wire_unsigned(&e, BUILD_OPTIONS, given);
		wire_unsigned(&e, BUILD_LOG, log);
		cap_activity_commit(&activity, &e);
	}
	cap_submission_end(&o);
}

void ze_after_zeModuleCreate(const struct table_call *call)
{
	const bool il = ze_arg(call, zeModuleCreate_desc_format) == FORMAT_IL;
	void *handle = ze_pointer(call, zeModuleCreate_phModule);
	struct ze_object *m = ze_succeeded(call) ? calloc(1, sizeof(*m)) : NULL;

	if (!call->frame->op)
		return;
	if (m) {
		m->id = define_program(handle, il);
		keep_object(m, ZE_MODULE, handle);
	}
	record_build(call, m ? m->id : 0);
}

void ze_before_zeModuleDestroy(void *hModule)
{
	struct ze_object *m = forget_object(ZE_MODULE, hModule);

	if (m)
		cap_define_end(DEF_PROGRAM, m->id);
	free(m);
}

void ze_after_zeKernelCreate(const struct table_call *call)
{
	const char *name = ze_pointer(call, zeKernelCreate_desc_pKernelName);
	void *handle = ze_pointer(call, zeKernelCreate_phKernel);
	struct ze_kernel *k = ze_succeeded(call) ? calloc(1, sizeof(*k)) : NULL;
	const struct ze_object *m;

	if (!k)
		return;
	ze_objects_lock();
	m = ze_find(ZE_MODULE, ze_pointer(call, zeKernelCreate_hModule));
	k->module = m ? m->id : 0;
	ze_objects_unlock();
	k->object.id = define_kernel(handle, name ? name : "", k->module);
	keep_object(k, ZE_KERNEL, handle);
}

void ze_before_zeKernelDestroy(void *hKernel)
{
	struct ze_kernel *k = forget_object(ZE_KERNEL, hKernel);

	if (k)
		cap_define_end(DEF_KERNEL, k->object.id);
	free(k);
}

void ze_group_size(const struct table_call *call, unsigned kernel, unsigned first)
{
	struct ze_kernel *k;

	if (!ze_succeeded(call))
		return;
	ze_objects_lock();
	k = ze_find(ZE_KERNEL, ze_pointer(call, kernel));
	for (unsigned i = 0; k && i < 3; i++)
		k->group[i] = (uint32_t)ze_arg(call, first + i);
	ze_objects_unlock();
}

void ze_after_zeKernelSetGroupSize(const struct table_call *call)
{
	ze_group_size(call, zeKernelSetGroupSize_hKernel, zeKernelSetGroupSize_groupSizeX);
}
