/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI itself costs: a library for CUDA_INJECTION64_PATH that turns on what FLOOR names
 * (letters: a activities, d driver callbacks, r runtime callbacks of launches) and throws all away.
 * FLOOR_CALLBACKS names more callbacks, as DOMAIN:NUMBER,...
 */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>

#include <cupti.h>

static unsigned long kernels;
static int shown;

static void callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *d = data;

	if (getenv("FLOOR_SHOW") && shown++ < 24)
		fprintf(stderr, "%s %s %s correlation %u sp %p\n",
			domain == CUPTI_CB_DOMAIN_DRIVER_API ? "driver" : "runtime",
			d->callbackSite == CUPTI_API_ENTER ? "enter" : "exit ", d->functionName,
			d->correlationId, __builtin_frame_address(0));
}

static void request(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 1 << 20;
	*buffer = aligned_alloc(4096, *size);
	*records = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	while (valid && cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && kernels++ < 2 &&
		    getenv("FLOOR_SHOW"))
			fprintf(stderr, "kernel correlation %u\n",
				((CUpti_ActivityKernel10 *)r)->correlationId);
	}
	free(buffer);
}

static void finish(void)
{
	cuptiActivityFlushAll(1);
	fprintf(stderr, "floor kernels %lu\n", kernels);
}

static void enable_listed(CUpti_SubscriberHandle subscriber, const char *list)
{
	unsigned domain, number;
	int length;

	while (list && sscanf(list, "%u:%u%n", &domain, &number, &length) == 2) {
		cuptiEnableCallback(1, subscriber, domain, number);
		list += length;
		list += *list == ',';
	}
}

static uint64_t stamp(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int InitializeInjection(void)
{
	const char *what = getenv("FLOOR") ? getenv("FLOOR") : "";
	CUpti_SubscriberHandle subscriber;

	if (!*what)
		return 1;
	cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)callback, NULL);
	if (strchr(what, 'D'))
		cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	if (strchr(what, 'd'))
		cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	if (strchr(what, 'R'))
		cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	if (strchr(what, 'r'))
		cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
				    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
	enable_listed(subscriber, getenv("FLOOR_CALLBACKS"));
	if (strchr(what, 'a')) {
		uint8_t no = 0;
		size_t size = sizeof(no);

		if (!strchr(what, 't'))
			cuptiActivityRegisterTimestampCallback(stamp);
		if (strchr(what, 'n'))
			cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER,
						  &size, &no);
		cuptiActivityRegisterCallbacks(request, complete);
		if (strchr(what, 'p'))
			cuptiActivityFlushPeriod(200);
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
		if (strchr(what, 'm')) {
			cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
			cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
			cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
		}
		atexit(finish);
	}
	return 1;
}
