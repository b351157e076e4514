/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for NVTX's headers, for machines that lack them: the part of the interface that the
 * tests' program uses, and a loader that does with NVTX_INJECTION64_PATH what NVTX documents.
 */
#ifndef NVTX_FAKE_H
#define NVTX_FAKE_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

#define NVTX_VERSION 3

typedef struct domain *nvtxDomainHandle_t;
typedef struct string *nvtxStringHandle_t;
typedef struct lock *nvtxSyncUser_t;
typedef uint64_t nvtxRangeId_t;
typedef union {
	const char *ascii;
	const wchar_t *unicode;
	nvtxStringHandle_t registered;
} nvtxMessageValue_t;
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_REGISTERED = 3, NVTX_COLOR_ARGB = 1 };
enum { NVTX_PAYLOAD_TYPE_INT64 = 2, NVTX_PAYLOAD_TYPE_DOUBLE = 3 };
#define NVTX_PAYLOAD_TYPE_EXT ((int32_t)0xDFBD0009)

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	union {
		uint64_t ullValue;
		int64_t llValue;
		double dValue;
	} payload;
	int32_t messageType;
	nvtxMessageValue_t message;
} nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef struct {
	uint16_t version, size;
	int32_t messageType;
	nvtxMessageValue_t message;
} nvtxSyncUserAttributes_t;

typedef struct {
	uint16_t version, size;
	int32_t identifierType;
	union {
		const void *pValue;
		uint64_t ullValue;
	} identifier;
	int32_t messageType;
	nvtxMessageValue_t message;
} nvtxResourceAttributes_t;
enum { NVTX_RESOURCE_TYPE_OPENCL_COMMANDQUEUE = 6 << 16 | 3 };

typedef struct {
	uint64_t schemaId;
	size_t size;
	const void *payload;
} nvtxPayloadData_t;
typedef struct {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t arrayOrUnionDetail, offset;
	const void *semantics, *reserved;
} nvtxPayloadSchemaEntry_t;
typedef struct {
	uint64_t fieldMask;
	const char *name;
	uint64_t type, flags;
	const nvtxPayloadSchemaEntry_t *entries;
	size_t numEntries, payloadStaticSize, packAlign;
	uint64_t schemaId;
	void *extension;
} nvtxPayloadSchemaAttr_t;
typedef struct {
	const char *name;
	uint64_t value;
	int8_t isFlag;
} nvtxPayloadEnum_t;
typedef struct {
	uint64_t fieldMask;
	const char *name;
	const nvtxPayloadEnum_t *entries;
	size_t numEntries, sizeOfEnum;
	uint64_t schemaId;
	void *extension;
} nvtxPayloadEnumAttr_t;
typedef struct {
	size_t structSize;
	uint64_t schemaId;
	const char *name, *description;
	uint64_t scopeId;
	const void *semantics;
	uint64_t counterId;
} nvtxCounterAttr_t;
typedef struct {
	uint64_t counterId;
	const void *counters;
	size_t countersSize;
	uint64_t flags;
	const int64_t *timestamps;
	size_t timestampsSize;
} nvtxCounterBatch_t;
typedef struct {
	uint64_t eventSchemaId;
	size_t size;
	const void *events;
	uint64_t scope, flags;
	const void *flexData;
	size_t flexDataSize, flexDataOffset;
} nvtxEventBatch_t;
typedef struct nvtxSemanticsHeader {
	uint32_t structSize;
	uint16_t semanticId, version;
	const struct nvtxSemanticsHeader *next;
} nvtxSemanticsHeader_t;
typedef struct {
	nvtxSemanticsHeader_t header;
	uint64_t timeDomainId;
} nvtxSemanticsTime_t;
typedef struct {
	uint64_t scopeId, timestampTypeId, timeDomainId, timerFlags;
	int64_t timerResolution;
	uint64_t timerStart;
} nvtxTimeDomainAttr_t;

enum {
	NVTX_PAYLOAD_ENTRY_TYPE_UINT8 = 12,
	NVTX_PAYLOAD_ENTRY_TYPE_UINT16 = 14,
	NVTX_PAYLOAD_ENTRY_TYPE_INT32 = 15,
	NVTX_PAYLOAD_ENTRY_TYPE_INT64 = 17,
	NVTX_PAYLOAD_ENTRY_TYPE_FLOAT = 19,
	NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE = 20,
	NVTX_PAYLOAD_ENTRY_TYPE_CSTRING = 75,
	NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE = 16,
	NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME = 2,
	NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE = 4,
	NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES = 16,
	NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES = 32,
	NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE = 64,
	NVTX_PAYLOAD_SCHEMA_TYPE_STATIC = 1,
	NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES = 4,
	NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES = 8,
	NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE = 16,
	NVTX_SEMANTIC_ID_TIME_V1 = 2,
	NVTX_TIME_SEMANTIC_VERSION = 1,
	NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE = 1 << 10,
	NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN = 1 << 12,
	NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END = 2 << 12,
	NVTX_PAYLOAD_ENTRY_FLAG_MARK = 3 << 12,
	NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME = 12
};

/* ---- the loader: modules 1 and 5 of 16 functions, 6 of 7, 3 of 15; payloads and counters ---- */

typedef void (*fake_function)(void);
static fake_function fake_core[16], fake_core2[16], fake_sync[7];
static fake_function fake_opencl[15];
static fake_function *fake_places[4][16];
static intptr_t fake_payload[64], fake_counters[64];

static int fake_table(int module, fake_function ***table, unsigned *size)
{
	fake_function *of = module == 1   ? fake_core
			    : module == 5 ? fake_core2
			    : module == 6 ? fake_sync
			    : module == 3 ? fake_opencl
					  : NULL;
	int row = module == 1 ? 0 : module == 5 ? 1 : module == 6 ? 2 : 3;

	if (!of)
		return 0;
	*size = row == 3 ? 15 : row == 2 ? 7 : 16;
	for (unsigned i = 0; i < *size; i++)
		fake_places[row][i] = &of[i];
	*table = fake_places[row];
	return 1;
}

static const void *fake_export(uint32_t id)
{
	static const struct {
		size_t size;
		int (*table)(int, fake_function ***, unsigned *);
	} callbacks = {sizeof(callbacks), fake_table};

	return id == 1 ? &callbacks : NULL;
}

static void fake_extension(int (*initialize)(void *), uint16_t module, intptr_t *slots)
{
	struct {
		size_t id, count;
		intptr_t *slots;
	} segment = {0, 63, slots};
	struct {
		uint16_t version, size, module, compat;
		size_t count;
		void *segments, *function;
		const void *info;
	} x = {3, sizeof(x), module, 0x0104, 1, &segment, NULL, NULL};

	initialize(&x);
}

__attribute__((constructor)) static void fake_load(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*)(uint32_t)), (*extend)(void *);

	if (!library)
		return;
	*(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
	*(void **)&extend = dlsym(library, "InitializeInjectionNvtxExtension");
	if (!initialize || !initialize(fake_export))
		return;
	fake_extension(extend, 2, fake_payload);
	fake_extension(extend, 4, fake_counters);
}

/* FUNCTION(result, name, table, place, otherwise, (parameters), (arguments)) */
#define FUNCTION(type, name, table, place, otherwise, parameters, arguments)                       \
	__attribute__((unused)) static type name parameters                                        \
	{                                                                                          \
		type(*f) parameters = (type(*) parameters)table[place];                            \
                                                                                                   \
		return f ? f arguments : otherwise;                                                \
	}
#define VOID(name, table, place, parameters, arguments)                                            \
	__attribute__((unused)) static void name parameters                                        \
	{                                                                                          \
		void(*f) parameters = (void(*) parameters)table[place];                            \
                                                                                                   \
		if (f)                                                                             \
			f arguments;                                                               \
	}

VOID(nvtxMarkEx, fake_core, 1, (const nvtxEventAttributes_t *a), (a))
VOID(nvtxMarkA, fake_core, 2, (const char *s), (s))
FUNCTION(nvtxRangeId_t, nvtxRangeStartA, fake_core, 5, 0, (const char *s), (s))
VOID(nvtxRangeEnd, fake_core, 7, (nvtxRangeId_t id), (id))
FUNCTION(int, nvtxRangePushEx, fake_core, 8, -2, (const nvtxEventAttributes_t *a), (a))
FUNCTION(int, nvtxRangePushA, fake_core, 9, -2, (const char *s), (s))
FUNCTION(int, nvtxRangePushW, fake_core, 10, -2, (const wchar_t *s), (s))
FUNCTION(int, nvtxRangePop, fake_core, 11, -2, (void), ())
VOID(nvtxNameCategoryA, fake_core, 12, (uint32_t c, const char *s), (c, s))
VOID(nvtxNameOsThreadA, fake_core, 14, (uint32_t t, const char *s), (t, s))
VOID(nvtxDomainMarkEx, fake_core2, 1, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a),
     (d, a))
FUNCTION(int, nvtxDomainRangePushEx, fake_core2, 4, -2,
	 (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a), (d, a))
FUNCTION(int, nvtxDomainRangePop, fake_core2, 5, -2, (nvtxDomainHandle_t d), (d))
FUNCTION(void *, nvtxDomainResourceCreate, fake_core2, 6, NULL,
	 (nvtxDomainHandle_t d, const nvtxResourceAttributes_t *a), (d, a))
VOID(nvtxNameClDeviceA, fake_opencl, 1, (void *object, const char *s), (object, s))
VOID(nvtxNameClContextA, fake_opencl, 3, (void *object, const char *s), (object, s))
VOID(nvtxNameClCommandQueueA, fake_opencl, 5, (void *object, const char *s), (object, s))
VOID(nvtxDomainNameCategoryA, fake_core2, 8, (nvtxDomainHandle_t d, uint32_t c, const char *s),
     (d, c, s))
FUNCTION(nvtxStringHandle_t, nvtxDomainRegisterStringA, fake_core2, 10, NULL,
	 (nvtxDomainHandle_t d, const char *s), (d, s))
FUNCTION(nvtxDomainHandle_t, nvtxDomainCreateA, fake_core2, 12, NULL, (const char *s), (s))
VOID(nvtxDomainDestroy, fake_core2, 14, (nvtxDomainHandle_t d), (d))
FUNCTION(nvtxSyncUser_t, nvtxDomainSyncUserCreate, fake_sync, 1, NULL,
	 (nvtxDomainHandle_t d, const nvtxSyncUserAttributes_t *a), (d, a))
VOID(nvtxDomainSyncUserDestroy, fake_sync, 2, (nvtxSyncUser_t l), (l))
VOID(nvtxDomainSyncUserAcquireStart, fake_sync, 3, (nvtxSyncUser_t l), (l))
VOID(nvtxDomainSyncUserAcquireFailed, fake_sync, 4, (nvtxSyncUser_t l), (l))
VOID(nvtxDomainSyncUserAcquireSuccess, fake_sync, 5, (nvtxSyncUser_t l), (l))
VOID(nvtxDomainSyncUserReleasing, fake_sync, 6, (nvtxSyncUser_t l), (l))
FUNCTION(uint64_t, nvtxPayloadSchemaRegister, fake_payload, 0, 0,
	 (nvtxDomainHandle_t d, const nvtxPayloadSchemaAttr_t *a), (d, a))
FUNCTION(uint64_t, nvtxPayloadEnumRegister, fake_payload, 1, 0,
	 (nvtxDomainHandle_t d, const nvtxPayloadEnumAttr_t *a), (d, a))
FUNCTION(int, nvtxRangePushPayload, fake_payload, 3, -2,
	 (nvtxDomainHandle_t d, const nvtxPayloadData_t *p, size_t n), (d, p, n))
FUNCTION(int, nvtxRangePopPayload, fake_payload, 4, -2,
	 (nvtxDomainHandle_t d, const nvtxPayloadData_t *p, size_t n), (d, p, n))
FUNCTION(int64_t, nvtxTimestampGet, fake_payload, 8, 0, (void), ())
FUNCTION(uint64_t, nvtxTimeDomainRegister, fake_payload, 9, 0,
	 (nvtxDomainHandle_t d, const nvtxTimeDomainAttr_t *a), (d, a))
VOID(nvtxTimeSyncPoint, fake_payload, 13,
     (nvtxDomainHandle_t d, uint64_t a, uint64_t b, int64_t x, int64_t y), (d, a, b, x, y))
VOID(nvtxEventSubmit, fake_payload, 16,
     (nvtxDomainHandle_t d, const nvtxPayloadData_t *p, size_t n), (d, p, n))
VOID(nvtxEventBatchSubmit, fake_payload, 17, (nvtxDomainHandle_t d, const nvtxEventBatch_t *b),
     (d, b))
VOID(nvtxCounterSample, fake_counters, 3,
     (nvtxDomainHandle_t d, uint64_t c, const void *v, size_t n), (d, c, v, n))
VOID(nvtxCounterSampleNoValue, fake_counters, 4, (nvtxDomainHandle_t d, uint64_t c, uint8_t reason),
     (d, c, reason))
VOID(nvtxCounterBatchSubmit, fake_counters, 5, (nvtxDomainHandle_t d, const nvtxCounterBatch_t *b),
     (d, b))
FUNCTION(uint64_t, nvtxCounterRegister, fake_counters, 0, 0,
	 (nvtxDomainHandle_t d, const nvtxCounterAttr_t *a), (d, a))
VOID(nvtxCounterSampleInt64, fake_counters, 1, (nvtxDomainHandle_t d, uint64_t c, int64_t v),
     (d, c, v))
VOID(nvtxCounterSampleFloat64, fake_counters, 2, (nvtxDomainHandle_t d, uint64_t c, double v),
     (d, c, v))

#endif
