/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX version 3 as it lies in memory: what a program's copy of NVTX hands to a tool, and takes from
 * it. Names and numbers are those of the NVTX headers (nvToolsExt.h, nvToolsExtPayload.h,
 * nvtxDetail/nvtxTypes.h).
 */
#ifndef CAPTURE_NVTX_ABI_H
#define CAPTURE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- entering ---- */

typedef void (*nvtx_function)(void);

enum nvtx_module {
	NVTX_CORE = 1,
	NVTX_CUDA = 2,
	NVTX_OPENCL = 3,
	NVTX_CUDART = 4,
	NVTX_CORE2 = 5,
	NVTX_SYNC = 6
};

struct nvtx_callbacks {
	size_t size;
	int (*table)(int module, nvtx_function ***table, unsigned *size);
};

typedef const void *(*nvtx_export_table)(uint32_t id);
#define NVTX_EXPORT_CALLBACKS 1u

/* ---- events ---- */

enum nvtx_message { NVTX_MESSAGE_NONE = 0, NVTX_ASCII = 1, NVTX_UNICODE = 2, NVTX_REGISTERED = 3 };
enum nvtx_color { NVTX_COLOR_NONE = 0, NVTX_ARGB = 1 };
enum nvtx_payload {
	NVTX_PAYLOAD_NONE = 0,
	NVTX_U64 = 1,
	NVTX_I64 = 2,
	NVTX_DOUBLE = 3,
	NVTX_U32 = 4,
	NVTX_I32 = 5,
	NVTX_FLOAT = 6
};
#define NVTX_PAYLOAD_EXTENDED ((int32_t)0xDFBD0009)

union nvtx_value {
	uint64_t u64;
	int64_t i64;
	double d;
	uint32_t u32;
	int32_t i32;
	float f;
	const void *pointer;
};

/* nvtxEventAttributes_t; `size` bytes of it are there. */
struct nvtx_event {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t payload_count; /* of extended payloads */
	union nvtx_value payload;
	int32_t message_type;
	const void *message;
};
_Static_assert(sizeof(struct nvtx_event) == 48 || sizeof(void *) != 8, "nvtxEventAttributes_v2");

/* nvtxResourceAttributes_t */
struct nvtx_resource {
	uint16_t version;
	uint16_t size;
	int32_t type; /* class << 16 | index */
	union nvtx_value identifier;
	int32_t message_type;
	const void *message;
};
#define NVTX_RESOURCE(class, index) ((class) << 16 | (index))

/* nvtxSyncUserAttributes_t */
struct nvtx_sync {
	uint16_t version;
	uint16_t size;
	int32_t message_type;
	const void *message;
};

/* ---- extensions ---- */

struct nvtx_segment {
	size_t id;
	size_t slot_count;
	intptr_t *slots;
};

struct nvtx_type_size {
	uint16_t size, align;
};

/* nvtxExtModuleInfo_t */
struct nvtx_extension {
	uint16_t version;
	uint16_t size;
	uint16_t module;
	uint16_t compat;
	size_t segment_count;
	struct nvtx_segment *segments;
	intptr_t (*export_function)(uint32_t id);
	const void *info; /* of payloads: struct nvtx_type_size[28] */
};
enum { NVTX_MODULE_PAYLOAD = 2, NVTX_MODULE_COUNTERS = 4 };

/* nvtxPayloadData_t */
struct nvtx_blob {
	uint64_t schema;
	size_t size; /* SIZE_MAX: to be found out */
	const void *data;
};

/* nvtxSemanticsHeader_t, and what follows it in one that says a time domain */
struct nvtx_semantics {
	uint32_t size;
	uint16_t id;
	uint16_t version;
	const struct nvtx_semantics *next;
	uint64_t time_domain;
};
enum { NVTX_SEMANTICS_TIME = 2 };

/* nvtxPayloadSchemaEntry_t */
struct nvtx_entry {
	uint64_t flags;
	uint64_t type;
	const char *name;
	const char *description;
	uint64_t detail; /* length, index of it, or of a union's selector */
	uint64_t offset;
	const struct nvtx_semantics *semantics;
	const void *reserved;
};

/* nvtxPayloadSchemaAttr_t; `mask` says which fields are set. */
struct nvtx_schema {
	uint64_t mask;
	const char *name;
	uint64_t type;
	uint64_t flags;
	const struct nvtx_entry *entries;
	size_t count;
	size_t static_size;
	size_t align;
	uint64_t id;
	void *extension;
};
enum {
	NVTX_SCHEMA_NAME = 1 << 1,
	NVTX_SCHEMA_TYPE = 1 << 2,
	NVTX_SCHEMA_FLAGS = 1 << 3,
	NVTX_SCHEMA_ENTRIES = 1 << 4,
	NVTX_SCHEMA_COUNT = 1 << 5,
	NVTX_SCHEMA_SIZE = 1 << 6,
	NVTX_SCHEMA_ALIGN = 1 << 7,
	NVTX_SCHEMA_ID = 1 << 8
};
enum { NVTX_STATIC = 1, NVTX_DYNAMIC = 2, NVTX_UNION = 3, NVTX_UNION_SELECTING = 4 };

/* nvtxPayloadEnum_t, nvtxPayloadEnumAttr_t */
struct nvtx_enum_value {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};
struct nvtx_enum {
	uint64_t mask;
	const char *name;
	const struct nvtx_enum_value *values;
	size_t count;
	size_t size;
	uint64_t id;
	void *extension;
};
enum {
	NVTX_ENUM_NAME = 1 << 1,
	NVTX_ENUM_VALUES = 1 << 2,
	NVTX_ENUM_COUNT = 1 << 3,
	NVTX_ENUM_SIZE = 1 << 4,
	NVTX_ENUM_ID = 1 << 5
};

enum { /* flags of entries */
       NVTX_ENTRY_POINTER = 1 << 1,
       NVTX_ENTRY_FROM_BASE = 1 << 2,
       NVTX_ENTRY_FROM_HERE = 1 << 3,
       NVTX_ENTRY_ARRAY = 7 << 4,
       NVTX_ENTRY_FIXED = 1 << 4,
       NVTX_ENTRY_TERMINATED = 2 << 4,
       NVTX_ENTRY_LENGTH = 3 << 4,
       NVTX_ENTRY_DEEP_COPY = 1 << 8,
       NVTX_ENTRY_HIDDEN = 1 << 9,
       NVTX_ENTRY_MESSAGE = 1 << 10,
       NVTX_ENTRY_TIME = 1 << 11,
       NVTX_ENTRY_EVENT = 7 << 12,
       NVTX_ENTRY_BEGIN = 1 << 12,
       NVTX_ENTRY_END = 2 << 12,
       NVTX_ENTRY_MARK = 3 << 12
};

enum nvtx_type {
	NVTX_T_CHAR = 1,
	NVTX_T_UCHAR,
	NVTX_T_SHORT,
	NVTX_T_USHORT,
	NVTX_T_INT,
	NVTX_T_UINT,
	NVTX_T_LONG,
	NVTX_T_ULONG,
	NVTX_T_LONGLONG,
	NVTX_T_ULONGLONG,
	NVTX_T_INT8,
	NVTX_T_UINT8,
	NVTX_T_INT16,
	NVTX_T_UINT16,
	NVTX_T_INT32,
	NVTX_T_UINT32,
	NVTX_T_INT64,
	NVTX_T_UINT64,
	NVTX_T_FLOAT,
	NVTX_T_DOUBLE,
	NVTX_T_LONGDOUBLE,
	NVTX_T_SIZE,
	NVTX_T_ADDRESS,
	NVTX_T_WCHAR,
	NVTX_T_CHAR8,
	NVTX_T_CHAR16,
	NVTX_T_CHAR32,
	NVTX_T_BYTE = 32,
	NVTX_T_INT128 = 33,
	NVTX_T_UINT128 = 34,
	NVTX_T_FLOAT16 = 42,
	NVTX_T_FLOAT32 = 43,
	NVTX_T_FLOAT64 = 44,
	NVTX_T_FLOAT128 = 45,
	NVTX_T_BF16 = 50,
	NVTX_T_TF32 = 52,
	NVTX_T_CATEGORY = 68,
	NVTX_T_COLOR = 69,
	NVTX_T_SCOPE = 70,
	NVTX_T_PID32 = 71,
	NVTX_T_PID64 = 72,
	NVTX_T_TID32 = 73,
	NVTX_T_TID64 = 74,
	NVTX_T_CSTRING = 75,
	NVTX_T_CSTRING_UTF8 = 76,
	NVTX_T_CSTRING_UTF16 = 77,
	NVTX_T_CSTRING_UTF32 = 78,
	NVTX_T_REGISTERED = 80,
	NVTX_T_SELECTOR = 100,
	NVTX_T_REFERENCED = 1022,
	NVTX_T_RAW = 1023
};
#define NVTX_ID_STATIC  (1ull << 24)
#define NVTX_ID_DYNAMIC (1ull << 32)

/* nvtxCounterAttr_t */
struct nvtx_counter {
	size_t size;
	uint64_t schema;
	const char *name;
	const char *description;
	uint64_t scope;
	const struct nvtx_semantics *semantics;
	uint64_t id;
};

/* nvtxCounterBatch_t */
struct nvtx_counter_batch {
	uint64_t id;
	const void *values;
	size_t size;
	uint64_t flags;
	const int64_t *times;
	size_t times_size;
};
#define NVTX_BATCH_FROM_BEGIN (1ull << 32) /* times are the first one and the distance */
#define NVTX_BATCH_FROM_END   (2ull << 32) /* the last one and the distance */

/* nvtxTimeDomainAttr_t */
struct nvtx_time_domain {
	uint64_t scope;
	uint64_t type; /* 0: a clock of the program's own */
	uint64_t id;
	uint64_t flags;
	int64_t resolution; /* units a second, 0: not known */
	uint64_t start;
};

/* nvtxSyncPoint_t */
struct nvtx_time_pair {
	int64_t source, destination;
};

/* nvtxEventBatch_t */
struct nvtx_event_batch {
	uint64_t schema;
	size_t size;
	const void *events;
	uint64_t scope;
	uint64_t flags;
	const void *flexible;
	size_t flexible_size, flexible_offset;
};

#endif
