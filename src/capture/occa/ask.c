/* SPDX-License-Identifier: Apache-2.0 */
/* See ask.h. */
#include "capture/occa/ask.h"

static void *const *real;

void occa_ask_prepare(void *const *functions)
{
	real = functions;
}

typedef uintptr_t ask_fn(const void *object);

static uintptr_t ask(enum occa_function which, const void *object)
{
	ask_fn *f = (ask_fn *)real[which];

	return f && object ? f(object) : 0;
}

const void *occa_ask_handle(enum occa_function which, const void *wrapper)
{
	return (const void *)ask(which, wrapper);
}

uint64_t occa_ask_bytes(enum occa_function which, const void *wrapper)
{
	return ask(which, wrapper);
}

const char *occa_text(const void *string)
{
	const char *const *text = string; /* its first word */

	return text && *text ? *text : "";
}

typedef const void *argument_fn(const void *argument, int i);

unsigned occa_ask_memories(const void *argument, uint64_t *out, unsigned room)
{
	argument_fn *f = (argument_fn *)real[OCCA_ASK_ARGUMENT];
	unsigned count = (uint32_t)ask(OCCA_ASK_ARGUMENTS, argument), n = 0;

	for (unsigned i = 0; f && i < count && n < room; i++) {
		out[n] = ask(OCCA_ASK_ARGUMENT_MEMORY, f(argument, (int)i));
		n += out[n] != 0;
	}
	return n;
}

typedef int number_fn(const void *json, const char *key, const int *otherwise);

/* -1: the program has not said it, or this libocca has no such function. */
static int number_of(const void *json, const char *key)
{
	static const int none = -1;
	number_fn *f = (number_fn *)real[OCCA_ASK_NUMBER];

	return f && json ? f(json, key, &none) : none;
}

struct occa_device *occa_ask_new_device(const void *device)
{
	const void *handle = occa_ask_handle(OCCA_ASK_DEVICE, device);
	const void *properties = handle ? occa_ask_handle(OCCA_ASK_PROPERTIES, device) : NULL;

	return occa_device_new(handle, occa_text(occa_ask_handle(OCCA_ASK_MODE, device)),
			       number_of(properties, "platform_id"),
			       number_of(properties, "device_id"));
}

struct occa_device *occa_ask_device(const void *device)
{
	const void *handle = occa_ask_handle(OCCA_ASK_DEVICE, device);
	struct occa_device *d = occa_device_find(handle);

	return d || !handle ? d : occa_ask_new_device(device);
}

struct occa_kernel *occa_ask_built(const void *kernel, struct occa_device *device)
{
	const void *handle = occa_ask_handle(OCCA_ASK_KERNEL, kernel);
	const char *name = occa_text(occa_ask_handle(OCCA_ASK_KERNEL_NAME, kernel));
	const char *source = occa_text(occa_ask_handle(OCCA_ASK_KERNEL_SOURCE, kernel));

	if (!handle)
		return NULL;
	occa_kernel_name(name, source, device);
	return occa_kernel_new(handle, name, source, device);
}

struct occa_kernel *occa_ask_kernel(const void *kernel)
{
	const void *handle = occa_ask_handle(OCCA_ASK_KERNEL, kernel);
	struct occa_kernel *k = occa_kernel_find(handle);

	return k ? k : occa_ask_built(kernel, NULL);
}

struct occa_device *occa_ask_memory_device(const void *memory)
{
	if (!occa_ask_handle(OCCA_ASK_MEMORY, memory))
		return NULL;
	return occa_device_find(occa_ask_handle(OCCA_ASK_MEMORY_DEVICE, memory));
}

uint64_t occa_ask_entries(const void *memory, int64_t count)
{
	const void *type;

	if (!occa_ask_handle(OCCA_ASK_MEMORY, memory))
		return 0;
	if (count < 0)
		return occa_ask_bytes(OCCA_ASK_MEMORY_BYTES, memory);
	type = occa_ask_handle(OCCA_ASK_MEMORY_TYPE, memory);
	return (uint64_t)count * (uint32_t)occa_ask_bytes(OCCA_ASK_TYPE_BYTES, type);
}

typedef bool flag_fn(const void *json, const char *key, const bool *otherwise);

bool occa_ask_async(const void *json)
{
	static const bool no = false;
	flag_fn *f = (flag_fn *)real[OCCA_ASK_FLAG];

	return f && json && f(json, "async", &no);
}
