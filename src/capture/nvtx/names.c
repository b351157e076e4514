/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX domains, categories, registered strings, and names of objects. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture/nvtx/nvtx.h"

static struct nvtx_domain default_domain = {.name = KYMO_STRING("nvtx")};
static struct nvtx_domain *_Atomic domains; /* prepended to, never freed */

struct nvtx_domain *nvtx_domain(void *handle)
{
	return handle ? handle : &default_domain;
}

const char *nvtx_text(int32_t type, const void *message, char scratch[NVTX_SCRATCH])
{
	switch (type) {
	case NVTX_ASCII:
		return message;
	case NVTX_UNICODE:
		return annotation_utf8(scratch, NVTX_SCRATCH, message);
	case NVTX_REGISTERED:
		return message ? ((const kymo_string_t *)message)->text : NULL;
	default:
		return NULL;
	}
}

/* ---- domains ---- */

/* The same domain for the same name, whatever library of the program makes it. */
static void *domain_create(const char *name)
{
	kymo_string_t *s = annotation_string(name ? name : "");
	int saved = errno;
	struct nvtx_domain *d;

	if (!s)
		return NULL;
	for (d = atomic_load(&domains); d; d = d->next)
		if (strcmp(d->name.text, s->text) == 0)
			return d;
	d = calloc(1, sizeof(*d));
	errno = saved;
	if (!d)
		return NULL;
	d->name.text = s->text;
	d->next = atomic_load(&domains);
	while (!atomic_compare_exchange_weak(&domains, &d->next, d))
		;
	return d;
}

static void *domain_create_wide(const wchar_t *name)
{
	kymo_string_t *s = annotation_wide_string(name);

	return domain_create(s ? s->text : NULL);
}

/* Ranges of it may still be open, and others may have made it too. */
static void domain_destroy(void *domain)
{
}

static void *register_string(void *domain, const char *text)
{
	return annotation_string(text);
}

static void *register_wide(void *domain, const wchar_t *text)
{
	return annotation_wide_string(text);
}

static void name_category(void *domain, uint32_t number, const char *name)
{
	annotation_category_name(&nvtx_domain(domain)->categories, number, name);
}

static void name_category_wide(void *domain, uint32_t number, const wchar_t *name)
{
	char scratch[NVTX_SCRATCH];

	name_category(domain, number, annotation_utf8(scratch, sizeof(scratch), name));
}

static void core_category(uint32_t number, const char *name)
{
	name_category(NULL, number, name);
}

static void core_category_wide(uint32_t number, const wchar_t *name)
{
	name_category_wide(NULL, number, name);
}

/* ---- objects ---- */

static void name_wide(kymo_object_t what, const char *runtime, uint64_t handle, const wchar_t *name)
{
	char scratch[NVTX_SCRATCH];

	kymo_name(what, runtime, handle, annotation_utf8(scratch, sizeof(scratch), name));
}

static void thread(uint32_t tid, const char *name)
{
	kymo_name(KYMO_OBJECT_THREAD, NULL, tid, name);
}

static void thread_wide(uint32_t tid, const wchar_t *name)
{
	name_wide(KYMO_OBJECT_THREAD, NULL, tid, name);
}

/* NAMER(function, kymo_object_t, runtime, type of the handle): in 8-bit and in wide characters. */
#define NAMER(function, what, runtime, type)                                                       \
	static void function(type handle, const char *name)                                        \
	{                                                                                          \
		kymo_name(what, runtime, (uint64_t)handle, name);                                  \
	}                                                                                          \
	static void function##_wide(type handle, const wchar_t *name)                              \
	{                                                                                          \
		name_wide(what, runtime, (uint64_t)handle, name);                                  \
	}

NAMER(cuda_device, KYMO_OBJECT_DEVICE, "cuda", uint32_t)
NAMER(cuda_context, KYMO_OBJECT_CONTEXT, "cuda", uintptr_t)
NAMER(cuda_stream, KYMO_OBJECT_QUEUE, "cuda", uintptr_t)
NAMER(cl_device, KYMO_OBJECT_DEVICE, "opencl", uintptr_t)
NAMER(cl_context, KYMO_OBJECT_CONTEXT, "opencl", uintptr_t)
NAMER(cl_queue, KYMO_OBJECT_QUEUE, "opencl", uintptr_t)

/* ---- resources ---- */

static const struct {
	int32_t type;
	kymo_object_t what;
	const char *runtime;
} resources[] = {
	{NVTX_RESOURCE(1, 3), KYMO_OBJECT_THREAD, NULL}, /* the operating system's number */
	{NVTX_RESOURCE(4, 1), KYMO_OBJECT_DEVICE, "cuda"},
	{NVTX_RESOURCE(4, 2), KYMO_OBJECT_CONTEXT, "cuda"},
	{NVTX_RESOURCE(4, 3), KYMO_OBJECT_QUEUE, "cuda"},
	{NVTX_RESOURCE(5, 0), KYMO_OBJECT_DEVICE, "cuda"},
	{NVTX_RESOURCE(5, 1), KYMO_OBJECT_QUEUE, "cuda"},
	{NVTX_RESOURCE(6, 1), KYMO_OBJECT_DEVICE, "opencl"},
	{NVTX_RESOURCE(6, 2), KYMO_OBJECT_CONTEXT, "opencl"},
	{NVTX_RESOURCE(6, 3), KYMO_OBJECT_QUEUE, "opencl"},
};
#define POSIX_THREAD NVTX_RESOURCE(1, 4)

static void name_resource(const struct nvtx_resource *r, const char *name)
{
	uint64_t handle = r->identifier.u64;

	if (r->type == POSIX_THREAD && pthread_equal((pthread_t)handle, pthread_self()))
		kymo_name(KYMO_OBJECT_THREAD, NULL, 0, name);
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		if (resources[i].type == r->type)
			kymo_name(resources[i].what, resources[i].runtime, handle, name);
}

/* The handle is only ever given back to destroy(); the name stands for it. */
static void *resource_create(void *domain, const struct nvtx_resource *given)
{
	char scratch[NVTX_SCRATCH];
	const char *name;

	if (!given || given->size < sizeof(*given))
		return NULL;
	name = nvtx_text(given->message_type, given->message, scratch);
	if (!name)
		return NULL;
	name_resource(given, name);
	return annotation_string(name);
}

static void resource_destroy(void *resource)
{
}

/* ---- tables ---- */

#define F(f)     ((nvtx_function)(f))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const nvtx_function core[] = {
	[12] = F(core_category),
	[13] = F(core_category_wide),
	[14] = F(thread),
	[15] = F(thread_wide),
};
static const nvtx_function core2[] = {
	[6] = F(resource_create),    [7] = F(resource_destroy),    [8] = F(name_category),
	[9] = F(name_category_wide), [10] = F(register_string),    [11] = F(register_wide),
	[12] = F(domain_create),     [13] = F(domain_create_wide), [14] = F(domain_destroy),
};
static const nvtx_function cuda[] = {
	[1] = F(cuda_device),       [2] = F(cuda_device_wide), [3] = F(cuda_context),
	[4] = F(cuda_context_wide), [5] = F(cuda_stream),      [6] = F(cuda_stream_wide),
};
static const nvtx_function cudart[] = {
	[1] = F(cuda_device),
	[2] = F(cuda_device_wide),
	[3] = F(cuda_stream),
	[4] = F(cuda_stream_wide),
};
static const nvtx_function opencl[] = {
	[1] = F(cl_device),       [2] = F(cl_device_wide), [3] = F(cl_context),
	[4] = F(cl_context_wide), [5] = F(cl_queue),       [6] = F(cl_queue_wide),
};

static const struct {
	const nvtx_function *functions;
	size_t count;
} modules[] = {
	[NVTX_CORE] = {core, COUNT(core)},       [NVTX_CORE2] = {core2, COUNT(core2)},
	[NVTX_CUDA] = {cuda, COUNT(cuda)},       [NVTX_CUDART] = {cudart, COUNT(cudart)},
	[NVTX_OPENCL] = {opencl, COUNT(opencl)}, [NVTX_SYNC] = {NULL, 0},
};

nvtx_function nvtx_names_function(int module, unsigned id)
{
	if (module < 0 || (size_t)module >= COUNT(modules) || id >= modules[module].count)
		return NULL;
	return modules[module].functions[id];
}
