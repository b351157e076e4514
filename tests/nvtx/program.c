/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program annotated with NVTX: every kind of annotation, and what must not be done. Compiled with
 * NVTX's own headers, or with -DFAKE with a fake for them.
 */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef FAKE
#include "fake.h"
#else
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <nvtx3/nvToolsExtSync.h>
#endif

static nvtxEventAttributes_t attributes(const char *text)
{
	nvtxEventAttributes_t a = {0};

	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = text;
	return a;
}

static void core(nvtxDomainHandle_t d)
{
	nvtxEventAttributes_t a = attributes("full");
	nvtxRangeId_t id;

	nvtxRangePushA("outer");
	nvtxMarkA("inside");
	nvtxRangePushW(L"wide \x3b1");
	nvtxRangePop();
	nvtxDomainNameCategoryA(d, 7, "io");
	a.category = 7;
	a.colorType = NVTX_COLOR_ARGB;
	a.color = 0xff112233;
	a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
	a.payload.llValue = -3;
	nvtxDomainRangePushEx(d, &a);
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(d, "registered");
	assert(a.message.registered == nvtxDomainRegisterStringA(d, "registered"));
	a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	a.payload.dValue = 0.5;
	a.category = 8;
	nvtxDomainMarkEx(d, &a);
	nvtxRangePop(); /* of the default domain: "outer" */
	nvtxDomainRangePop(d);
	id = nvtxRangeStartA("across");
	nvtxRangeEnd(id);
}

/* ---- payloads with a layout ---- */

struct inner {
	float x, y;
};
struct record {
	uint8_t small;
	int32_t number;
	double value;
	char text[8];
	const char *pointer;
	struct inner point;
	int32_t mode;
	uint16_t list[3];
};

static const nvtxPayloadSchemaEntry_t inner_entries[] = {
	{.type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, .name = "x"},
	{.type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, .name = "y"},
};
static const nvtxPayloadEnum_t modes[] = {{"idle", 0, 0}, {"busy", 2, 0}};

static uint64_t schema(nvtxDomainHandle_t d)
{
	nvtxPayloadSchemaAttr_t s = {0};
	nvtxPayloadEnumAttr_t e = {0};
	nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8, .name = "small"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "number"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "value"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "text", .arrayOrUnionDetail = 8},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "pointer"},
		{.name = "point"},
		{.name = "mode"},
		{.flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
		 .name = "list",
		 .type = NVTX_PAYLOAD_ENTRY_TYPE_UINT16,
		 .arrayOrUnionDetail = 3},
	};

	s.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
		      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
		      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
		      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
	s.name = "inner";
	s.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	s.entries = inner_entries;
	s.numEntries = 2;
	s.payloadStaticSize = sizeof(struct inner);
	entries[5].type = nvtxPayloadSchemaRegister(d, &s);
	e.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
		      NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES;
	e.entries = modes;
	e.numEntries = 2;
	e.sizeOfEnum = 4;
	entries[6].type = nvtxPayloadEnumRegister(d, &e);
	s.name = "record";
	s.entries = entries;
	s.numEntries = sizeof(entries) / sizeof(entries[0]);
	s.payloadStaticSize = sizeof(struct record);
	return nvtxPayloadSchemaRegister(d, &s);
}

static void payloads(nvtxDomainHandle_t d)
{
	struct record r = {200, -5, 2.5, "eight ch", "behind", {1, 2}, 2, {7, 8, 9}};
	nvtxEventAttributes_t a = attributes("structured");
	uint64_t id = schema(d);
	nvtxPayloadData_t data = {id, sizeof(r), &r};

	a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	a.reserved0 = 1;
	a.payload.ullValue = (uint64_t)(uintptr_t)&data;
	nvtxDomainMarkEx(d, &a);
	nvtxRangePushPayload(d, &data, 1);
	nvtxRangePopPayload(d, &data, 1);
	/* Cut short, a pointer to nowhere, no such layout: nothing may break. */
	data.size = 6;
	nvtxDomainMarkEx(d, &a);
	r.pointer = (const char *)8;
	data.size = sizeof(r);
	a.message.ascii = "bad pointer";
	nvtxDomainMarkEx(d, &a);
	data.schemaId = 12345;
	data.payload = NULL;
	nvtxDomainMarkEx(d, &a);
	a.payload.ullValue = 0;
	a.reserved0 = 1 << 30;
	nvtxDomainMarkEx(d, &a);
}

static void counters(nvtxDomainHandle_t d)
{
	nvtxCounterAttr_t c = {.structSize = sizeof(c),
			       .name = "temperature",
			       .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64};
	uint64_t id = nvtxCounterRegister(d, &c);

	nvtxCounterSampleInt64(d, id, 42);
	nvtxCounterSampleFloat64(d, id, 42.5);
	nvtxCounterSampleNoValue(d, id, 2);
}

/* ---- what is told of later, with times of the program's own ---- */

struct deferred {
	uint64_t begin, end;
	const char *text;
	int32_t step;
};

static uint64_t deferred_schema(nvtxDomainHandle_t d, uint64_t time_domain)
{
	nvtxSemanticsTime_t time = {
		{sizeof(time), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL},
		time_domain};
	nvtxPayloadSchemaEntry_t entries[] = {
		{.flags = NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN,
		 .name = "begin",
		 .type = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
		 .semantics = &time.header},
		{.flags = NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END,
		 .name = "end",
		 .type = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
		 .semantics = &time.header},
		{.flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
		 .name = "text",
		 .type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "step"},
	};
	nvtxPayloadSchemaAttr_t s = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
				     .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
				     .entries = entries,
				     .numEntries = 4,
				     .payloadStaticSize = sizeof(struct deferred)};

	return nvtxPayloadSchemaRegister(d, &s);
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void submit(nvtxDomainHandle_t d, uint64_t schema, const char *text, uint64_t begin,
		   uint64_t end)
{
	struct deferred x = {begin, end, text, 3};
	nvtxPayloadData_t data = {schema, sizeof(x), &x};

	nvtxEventSubmit(d, &data, 1);
}

static void wait_ns(uint64_t ns)
{
	for (uint64_t until = now(CLOCK_MONOTONIC) + ns; now(CLOCK_MONOTONIC) < until;)
		;
}

/* All of these were at the same time: from 2 ms after a mark on, 1 ms long. */
static void deferred(nvtxDomainHandle_t d)
{
	nvtxTimeDomainAttr_t own = {.timerResolution = 1000000};
	uint64_t node, real, schema = deferred_schema(d, 0), domain;
	struct deferred two[2];
	nvtxEventBatch_t batch = {.eventSchemaId = schema, .size = sizeof(two), .events = two};

	nvtxMarkA("origin");
	node = (uint64_t)nvtxTimestampGet();
	real = now(CLOCK_REALTIME);
	wait_ns(4000000);
	submit(d, schema, "by our clock", node + 2000000, node + 3000000);
	schema = deferred_schema(d, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME);
	submit(d, schema, "by the wall clock", real + 2000000, real + 3000000);
	domain = nvtxTimeDomainRegister(d, &own);
	nvtxTimeSyncPoint(d, domain, 1, 500, (int64_t)node);
	nvtxTimeSyncPoint(d, domain, 1, 4500, (int64_t)node + 4000000);
	submit(d, deferred_schema(d, domain), "by its own clock", 2500, 3500);
	two[0] = (struct deferred){node + 2000000, node + 3000000, "first of two", 3};
	two[1] = (struct deferred){node + 2000000, node + 2000000, "a moment", 3};
	nvtxEventBatchSubmit(d, &batch);
	submit(d, schema, "backwards", real + 3000000, real + 2000000);
	submit(d, batch.eventSchemaId, "in days", node, node + (1ull << 50));
	submit(d, batch.eventSchemaId, "long ago", 5, 6);
}

static void deferred_counters(nvtxDomainHandle_t d)
{
	nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "hits"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, .name = "rate"},
	};
	nvtxPayloadSchemaAttr_t s = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
				     .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
				     .entries = entries,
				     .numEntries = 2,
				     .payloadStaticSize = 8};
	struct {
		int32_t hits;
		float rate;
	} values[2] = {{7, 0.5f}, {8, 0.25f}};
	nvtxCounterAttr_t c = {.structSize = sizeof(c), .name = "cache"};
	int64_t node = nvtxTimestampGet(), times[2] = {node - 2000, node - 1000};
	nvtxCounterBatch_t batch = {.counters = values,
				    .countersSize = sizeof(values),
				    .timestamps = times,
				    .timestampsSize = sizeof(times)};

	c.schemaId = nvtxPayloadSchemaRegister(d, &s);
	batch.counterId = nvtxCounterRegister(d, &c);
	nvtxCounterSample(d, batch.counterId, values, sizeof(values[0]));
	nvtxCounterBatchSubmit(d, &batch);
}

static void waiting(nvtxDomainHandle_t d)
{
	nvtxSyncUserAttributes_t s = {.version = NVTX_VERSION,
				      .size = sizeof(s),
				      .messageType = NVTX_MESSAGE_TYPE_ASCII,
				      .message.ascii = "my lock"};
	nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(d, &s);

	nvtxDomainSyncUserAcquireStart(lock);
	nvtxDomainSyncUserAcquireSuccess(lock);
	nvtxDomainSyncUserReleasing(lock);
	nvtxDomainSyncUserAcquireStart(lock);
	nvtxDomainSyncUserAcquireFailed(lock);
	nvtxDomainSyncUserDestroy(lock);
}

/* ---- what must not be done ---- */

static void hostile(void)
{
	size_t size = 10 << 20;
	char *big = malloc(size);
	nvtxEventAttributes_t a = attributes("short struct");

	memset(big, 'A', size - 1);
	big[size - 1] = '\0';
	nvtxRangePop();
	nvtxRangePop();
	nvtxMarkA(NULL);
	nvtxMarkA(big);
	nvtxMarkEx(NULL);
	a.size = 8;
	nvtxMarkEx(&a);
	a.size = 65535;
	a.version = 99;
	a.message.ascii = "long struct";
	nvtxMarkEx(&a);
	a.size = 0;
	nvtxRangePushEx(&a);
	nvtxRangePop();
	nvtxRangeEnd(77777);
	nvtxDomainRangePop(NULL);
	nvtxDomainCreateA(NULL);
	nvtxDomainRegisterStringA(NULL, NULL);
	nvtxNameCategoryA(3, NULL);
	nvtxNameOsThreadA(0, NULL);
	free(big);
}

static void *worker(void *arg)
{
	nvtxRangePushA("on worker");
	nvtxRangePop();
	return NULL;
}

static void many_threads(unsigned n)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (unsigned i = 0; i < n;) {
		pthread_t t[50];

		for (unsigned k = 0; k < 50; k++)
			assert(pthread_create(&t[k], &small, worker, NULL) == 0);
		for (unsigned k = 0; k < 50; k++, i++)
			pthread_join(t[k], NULL);
	}
}

int main(int argc, char **argv)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("library");

	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "nvtx main");
	if (argc > 1 && strcmp(argv[1], "hostile") == 0) {
		hostile();
	} else if (argc > 1) {
		many_threads((unsigned)atoi(argv[1]));
	} else {
		core(d);
		payloads(d);
		counters(d);
		deferred(d);
		deferred_counters(d);
		waiting(d);
	}
	nvtxDomainDestroy(d);
	puts("done");
	return 0;
}
