/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, copies and kernels of HIP, and the rules of all of HIP's calls. */
#include <string.h>

#include "capture/rocm/hip.h"
#include "core/marker/marker.h"

/* Directions of copies (hipMemcpyKind). */
enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

/* ---- memory ---- */

static void allocated(const struct rocm_call *c)
{
	const uint8_t kind = c->rule->traits.detail;
	const bool host = kind == MEMORY_HOST_PINNED;
	struct cap_memory m = {.address = rocm_argument(c, ROCM_ADDRESS),
			       .kind = kind,
			       .what = c->rule->traits.what,
			       .bytes = rocm_bytes(c)};

	if (!host)
		m.agent = rocm_has(c, ROCM_STREAM) ? hip_stream(c).agent : hip_agent(hip_device());
	if (m.what == ALLOCATION_PHYSICAL)
		m.span = 1;
	rocm_allocated(c->frame, m);
}

/* hipPitchedPtr: address, bytes of a row. */
static void allocated_3d(const struct rocm_call *c)
{
	const uint64_t *pitched = rocm_pointer(rocm_argument(c, ROCM_ADDRESS));

	rocm_allocated(c->frame,
		       (struct cap_memory){.address = pitched[0],
					   .kind = MEMORY_DEVICE,
					   .what = ALLOCATION_BUFFER,
					   .agent = hip_agent(hip_device()),
					   .bytes = pitched[1] * rocm_argument(c, ROCM_ROWS) *
						    rocm_argument(c, ROCM_SLICES)});
}

/* An array or image: its handle is an address, but not of its memory. */
static void allocated_array(const struct rocm_call *c, uint64_t elements, uint64_t element)
{
	rocm_allocated(c->frame, (struct cap_memory){.address = rocm_argument(c, ROCM_ADDRESS),
						     .span = 1,
						     .kind = MEMORY_DEVICE,
						     .what = ALLOCATION_IMAGE,
						     .agent = hip_agent(hip_device()),
						     .bytes = elements * element});
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

/* hipChannelFormatDesc: bits of x, y, z, w. */
static void allocated_channels(const struct rocm_call *c)
{
	const int32_t *bits = rocm_pointer(rocm_argument(c, ROCM_SOURCE));

	allocated_array(c,
			rocm_argument(c, ROCM_BYTES) * at_least_one(rocm_argument(c, ROCM_ROWS)) *
				at_least_one(rocm_argument(c, ROCM_SLICES)),
			(uint64_t)(bits[0] + bits[1] + bits[2] + bits[3]) / 8);
}

/* hipArray_Format */
static uint64_t format_bytes(uint32_t format)
{
	switch (format) {
	case 0x01:
	case 0x08:
		return 1;
	case 0x02:
	case 0x09:
	case 0x10:
		return 2;
	default:
		return 4;
	}
}

/* HIP_ARRAY_DESCRIPTOR: width, height, format, channels; with a depth: HIP_ARRAY3D_DESCRIPTOR. */
static void allocated_descriptor(const struct rocm_call *c)
{
	const bool three = c->rule->traits.detail == 3;
	const char *d = rocm_pointer(rocm_argument(c, ROCM_SOURCE));
	uint64_t size[3] = {0};
	uint32_t format[2];

	memcpy(size, d, (three ? 3 : 2) * sizeof(size[0]));
	memcpy(format, d + (three ? 24 : 16), sizeof(format));
	allocated_array(c, size[0] * at_least_one(size[1]) * at_least_one(size[2]),
			format_bytes(format[0]) * format[1]);
}

static void freed(const struct rocm_call *c)
{
	rocm_freed(c->frame, rocm_argument(c, ROCM_ADDRESS));
}

/* ---- copies ---- */

static bool on_device(const struct cap_memory *m)
{
	return m->kind == MEMORY_DEVICE || m->kind == MEMORY_MANAGED;
}

/* What a side of a copy is: what is known of its address, else what the direction says. */
static struct cap_memory side(uint64_t address, bool device, bool told, uint32_t agent)
{
	struct cap_memory m = rocm_memory_of(address);

	if (m.id || !told)
		return m;
	m.kind = device ? MEMORY_DEVICE : MEMORY_HOST_PAGEABLE;
	m.agent = device ? agent : 0;
	return m;
}

static unsigned copy_op(unsigned direction, const struct cap_memory *from,
			const struct cap_memory *to)
{
	if (direction == HOST_TO_DEVICE)
		return COPY_OP_WRITE;
	if (direction == DEVICE_TO_HOST)
		return COPY_OP_READ;
	if (direction != BY_ADDRESS || on_device(from) == on_device(to))
		return COPY_OP_COPY;
	return on_device(to) ? COPY_OP_WRITE : COPY_OP_READ;
}

static void record_copied(const struct rocm_call *c, const struct rocm_object *stream, unsigned op,
			  struct cap_memory from, struct cap_memory to, uint64_t bytes)
{
	if (rocm_has(c, ROCM_DEVICE)) {
		from.agent = hip_agent((int32_t)rocm_argument(c, ROCM_SOURCE_DEVICE));
		to.agent = hip_agent((int32_t)rocm_argument(c, ROCM_DEVICE));
	}
	rocm_record_copy(c->frame, &(struct rocm_copy){
					   .op = op,
					   .queue = stream->id,
					   .source_agent = on_device(&from) ? from.agent : 0,
					   .destination_agent = on_device(&to) ? to.agent : 0,
					   .source_kind = from.kind,
					   .destination_kind = to.kind,
					   .source = from.id,
					   .destination = to.id,
					   .bytes = bytes,
					   .blocking = (c->rule->traits.flags & ROCM_WAITS) != 0});
	if (c->rule->traits.flags & ROCM_WAITS)
		cap_sync_record(c->frame, 0, SYNC_OP_BLOCKING, stream->id, 0, NULL);
}

static void copied(const struct rocm_call *c, unsigned direction, uint64_t source,
		   uint64_t destination, uint64_t bytes)
{
	const struct rocm_object stream = hip_stream(c);
	const bool told = direction < BY_ADDRESS;
	struct cap_memory from, to;

	if (stream.state)
		return;
	from = side(source, direction & DEVICE_TO_HOST, told, stream.agent);
	to = side(destination, direction & HOST_TO_DEVICE, told, stream.agent);
	record_copied(c, &stream, copy_op(direction, &from, &to), from, to, bytes);
}

static unsigned direction_of(const struct rocm_call *c)
{
	return rocm_has(c, ROCM_KIND) ? (unsigned)rocm_argument(c, ROCM_KIND)
				      : c->rule->traits.detail;
}

static void copy(const struct rocm_call *c)
{
	copied(c, direction_of(c), rocm_argument(c, ROCM_SOURCE), rocm_argument(c, ROCM_ADDRESS),
	       rocm_bytes(c));
}

/* What a side of a descriptor is. */
enum place { AT_ANY, AT_HOST, AT_DEVICE, AT_ARRAY, AT_MANAGED };

/* hipMemoryType; its numbers were others before HIP 6. Unified: any address, host or device. */
static enum place place_of(uint64_t type)
{
	static const uint8_t now[] = {AT_ANY, AT_HOST, AT_DEVICE, AT_MANAGED, [10] = AT_ARRAY};
	static const uint8_t before[] = {AT_HOST, AT_DEVICE, AT_ARRAY, AT_ANY, AT_MANAGED};
	const uint32_t t = (uint32_t)type;

	if (hip_before_6())
		return t < sizeof(before) ? before[t] : AT_ANY;
	return t < sizeof(now) ? now[t] : AT_ANY;
}

/*
 * A side of hip_Memcpy2D: x, y, memory type, host, device, array, pitch. An address that nothing is
 * known of is the host's where the type does not say, as for HIP.
 */
static struct cap_memory side_2d(const uint64_t *p, uint32_t agent, bool *device)
{
	const enum place place = place_of(p[2]);
	const uint64_t address = place == AT_HOST             ? p[3]
				 : place == AT_ARRAY          ? p[5]
				 : p[4] || place == AT_DEVICE ? p[4]
							      : p[3];
	struct cap_memory m = side(address, place == AT_DEVICE || place == AT_ARRAY, true, agent);

	if (!m.id && place == AT_MANAGED) {
		m.kind = MEMORY_MANAGED;
		m.agent = agent;
	}
	*device = place != AT_HOST && on_device(&m);
	return m;
}

/* hip_Memcpy2D: both sides, then the size. */
static void copy_2d(const struct rocm_call *c)
{
	const struct rocm_object stream = hip_stream(c);
	const uint64_t *p = rocm_pointer(rocm_argument(c, ROCM_SOURCE));
	bool from_device, to_device;
	struct cap_memory from, to;

	if (stream.state)
		return;
	from = side_2d(p, stream.agent, &from_device);
	to = side_2d(p + 7, stream.agent, &to_device);
	record_copied(c, &stream,
		      copy_op((unsigned)to_device | (unsigned)from_device << 1, &from, &to), from,
		      to, p[14] * p[15]);
}

/*
 * hipMemcpy3DParms: source array, position (3), pitched pointer (4), the same of the destination,
 * extent (3), direction. With an array the width is in elements of a size that it is not told here.
 */
static void copy_3d(const struct rocm_call *c)
{
	const uint64_t *p = rocm_pointer(rocm_argument(c, ROCM_SOURCE));
	uint64_t bytes = p[16] * p[17] * p[18];

	if (p[0] || p[8]) {
		const struct cap_memory array = rocm_memory_of(p[0] ? p[0] : p[8]);

		if (bytes && array.bytes % bytes == 0)
			bytes = array.bytes; /* all of it */
	}
	copied(c, (uint32_t)p[19], p[0] ? p[0] : p[4], p[8] ? p[8] : p[12], bytes);
}

static void fill(const struct rocm_call *c)
{
	const struct rocm_object stream = hip_stream(c);
	struct cap_memory to;

	if (stream.state)
		return;
	to = side(rocm_argument(c, ROCM_ADDRESS), true, true, stream.agent);
	rocm_record_copy(c->frame, &(struct rocm_copy){.op = COPY_OP_FILL,
						       .queue = stream.id,
						       .destination_agent = to.agent,
						       .source_kind = MEMORY_UNKNOWN,
						       .destination_kind = to.kind,
						       .destination = to.id,
						       .bytes = rocm_bytes(c)});
}

static void prefetch(const struct rocm_call *c)
{
	const struct rocm_object stream = hip_stream(c);
	const int32_t device = (int32_t)rocm_argument(c, ROCM_DEVICE); /* -1: the host */
	const struct cap_memory m = rocm_memory_of(rocm_argument(c, ROCM_ADDRESS));

	if (stream.state)
		return;
	rocm_record_copy(c->frame, &(struct rocm_copy){.op = COPY_OP_MIGRATE,
						       .queue = stream.id,
						       .destination_agent = hip_agent(device),
						       .source_kind = m.kind,
						       .destination_kind = m.kind,
						       .source = m.id,
						       .destination = m.id,
						       .bytes = rocm_bytes(c)});
}

/* ---- kernels ---- */

static void launched(const struct cap_frame *f, const struct rocm_object *stream, uint64_t kernel,
		     const uint64_t *grid, const uint64_t *block, uint64_t shared, bool items)
{
	struct rocm_launch l = {.agent = stream->agent, .queue = stream->id, .shared = shared};

	if (stream->state)
		return;
	l.kernel = hip_kernel(kernel);
	for (unsigned i = 0; i < 3; i++) {
		l.local[i] = block[i];
		l.global[i] = items ? grid[i] : grid[i] * block[i];
	}
	rocm_record_launch(f, &l);
}

static void launch(const struct rocm_call *c)
{
	const struct rocm_object stream = hip_stream(c);
	uint64_t grid[3], block[3];

	for (unsigned i = 0; i < 3; i++) {
		grid[i] = rocm_word(c, ROCM_GRID, i);
		block[i] = rocm_word(c, ROCM_BLOCK, i);
	}
	launched(c->frame, &stream, rocm_argument(c, ROCM_OBJECT), grid, block,
		 rocm_argument(c, ROCM_SHARED), c->rule->traits.flags & ROCM_ITEMS);
}

/* hipLaunchParams and hipFunctionLaunchParams are alike up to the sizes. */
struct launch_parameters {
	uint64_t kernel;
	uint32_t grid[3], block[3];
	union {
		struct {
			uint64_t args, shared, stream;
		} symbol;
		struct {
			uint64_t shared, stream, args;
		} function;
	};
};

/* One for each stream of a list. */
static void launch_many(const struct rocm_call *c)
{
	const struct launch_parameters *list = rocm_pointer(rocm_argument(c, ROCM_OBJECT));
	const uint32_t n = (uint32_t)rocm_argument(c, ROCM_BYTES);
	const bool functions = c->rule->traits.detail;

	for (uint32_t i = 0; i < n; i++) {
		const struct launch_parameters *p = &list[i];
		struct rocm_object s = {0};
		uint64_t grid[3], block[3];

		for (unsigned k = 0; k < 3; k++) {
			grid[k] = p->grid[k];
			block[k] = p->block[k];
		}
		rocm_find(ROCM_QUEUE, functions ? p->function.stream : p->symbol.stream, 0, &s);
		launched(c->frame, &s, p->kernel, grid, block,
			 functions ? (uint32_t)p->function.shared : p->symbol.shared, false);
	}
}

/* An old way to launch: sizes first, then the kernel. */
static _Thread_local struct {
	uint64_t grid[3], block[3], shared;
	struct rocm_object stream;
} configured __attribute__((tls_model("initial-exec")));

static void configure(const struct rocm_call *c)
{
	configured.stream = hip_stream(c);
	configured.shared = rocm_argument(c, ROCM_SHARED);
	for (unsigned i = 0; i < 3; i++) {
		configured.grid[i] = rocm_word(c, ROCM_GRID, i);
		configured.block[i] = rocm_word(c, ROCM_BLOCK, i);
	}
}

static void launch_configured(const struct rocm_call *c)
{
	launched(c->frame, &configured.stream, rocm_argument(c, ROCM_OBJECT), configured.grid,
		 configured.block, configured.shared, false);
}

/* What a graph consists of is not followed: it is recorded as one. */
static void launch_graph(const struct rocm_call *c)
{
	const struct rocm_object stream = hip_stream(c);

	if (!stream.state)
		rocm_record_launch(c->frame,
				   &(struct rocm_launch){.agent = stream.agent,
							 .queue = stream.id,
							 .kernel = hip_graph_kernel(),
							 .graph = rocm_argument(c, ROCM_OBJECT)});
}

/* ---- rules ---- */

#define DISPATCH CAP_ACTIVITY_DISPATCH
#define COPIES   (CAP_ACTIVITY_COPY | CAP_ACTIVITY_SYNC)
#define SYNC     CAP_ACTIVITY_SYNC
#define RULE(op_, run_, activities_, detail_, unit_, flags_, ...)                                  \
	rocm_rule_add(r, #op_, run_,                                                               \
		      (struct rocm_traits){.activities = activities_,                              \
					   .detail = detail_,                                      \
					   .unit = unit_,                                          \
					   .flags = flags_},                                       \
		      ##__VA_ARGS__, ROCM_ROLES)
#define ALLOCATE(op_, kind_, what_, ...)                                                           \
	rocm_rule_add(r, #op_, allocated,                                                          \
		      (struct rocm_traits){.detail = MEMORY_##kind_, .what = ALLOCATION_##what_},  \
		      __VA_ARGS__, ROCM_ROLES)
#define FREE(op_, name)                   RULE(op_, freed, 0, 0, 0, 0, ROCM_ADDRESS, name)
#define COPY(op_, direction, flags_, ...) RULE(op_, copy, COPIES, direction, 0, flags_, __VA_ARGS__)
#define FILL(op_, unit_, flags_, ...)                                                              \
	RULE(op_, fill, CAP_ACTIVITY_COPY, 0, unit_, flags_, __VA_ARGS__)
#define LAUNCH(op_, flags_, ...)        RULE(op_, launch, DISPATCH, 0, 0, flags_, __VA_ARGS__)
#define OBJECT(op_, run_, detail_, ...) RULE(op_, run_, 0, detail_, 0, 0, ##__VA_ARGS__)
#define WAIT(op_, kind_, flags_, ...)                                                              \
	RULE(op_, hip_wait, SYNC, SYNC_OP_##kind_, 0, flags_, ##__VA_ARGS__)
#define RUN(op_, run_, activities_, flags_, ...)                                                   \
	RULE(op_, run_, activities_, 0, 0, flags_, ##__VA_ARGS__)

#define TO(name)                   ROCM_ADDRESS, name
#define FROM(name)                 ROCM_SOURCE, name
#define SIZE(name)                 ROCM_BYTES, name
#define ROWS(name)                 ROCM_ROWS, name
#define SLICES(name)               ROCM_SLICES, name
#define KIND                       ROCM_KIND, "kind"
#define STREAM                     ROCM_STREAM, "stream"
#define OF(name)                   ROCM_OBJECT, name
#define ON(name)                   ROCM_DEVICE, name
#define PLANE                      SIZE("width"), ROWS("height")
#define SIZES(grid, block, shared) ROCM_GRID, grid, ROCM_BLOCK, block, ROCM_SHARED, shared
#define MODULE_SIZES               SIZES("gridDimX", "blockDimX", "sharedMemBytes")
#define ITEM_SIZES                 SIZES("globalWorkSizeX", "localWorkSizeX", "sharedMemBytes")

#define OWN ROCM_THREAD_STREAM

static void rules_memory(struct rocm_rules *r)
{
	ALLOCATE(hipMalloc, DEVICE, BUFFER, TO("ptr"), SIZE("size"));
	ALLOCATE(hipExtMallocWithFlags, DEVICE, BUFFER, TO("ptr"), SIZE("sizeBytes"));
	ALLOCATE(hipMallocAsync, DEVICE, POOL, TO("dev_ptr"), SIZE("size"), STREAM);
	ALLOCATE(hipMallocFromPoolAsync, DEVICE, POOL, TO("dev_ptr"), SIZE("size"), STREAM);
	ALLOCATE(hipMallocManaged, MANAGED, BUFFER, TO("dev_ptr"), SIZE("size"));
	ALLOCATE(hipMallocPitch, DEVICE, BUFFER, TO("ptr"), SIZE("pitch"), ROWS("height"));
	ALLOCATE(hipMemAllocPitch, DEVICE, BUFFER, TO("dptr"), SIZE("pitch"), ROWS("height"));
	ALLOCATE(hipHostMalloc, HOST_PINNED, BUFFER, TO("ptr"), SIZE("size"));
	ALLOCATE(hipHostAlloc, HOST_PINNED, BUFFER, TO("ptr"), SIZE("size"));
	ALLOCATE(hipExtHostAlloc, HOST_PINNED, BUFFER, TO("ptr"), SIZE("size"));
	ALLOCATE(hipMallocHost, HOST_PINNED, BUFFER, TO("ptr"), SIZE("size"));
	ALLOCATE(hipMemAllocHost, HOST_PINNED, BUFFER, TO("ptr"), SIZE("size"));
	ALLOCATE(hipHostRegister, HOST_PINNED, REGISTERED, TO("hostPtr"), SIZE("sizeBytes"));
	ALLOCATE(hipMemCreate, DEVICE, PHYSICAL, TO("handle"), SIZE("size"));
	OBJECT(hipMalloc3D, allocated_3d, 0, TO("pitchedDevPtr"), ROWS("extent.height"),
	       SLICES("extent.depth"));
	OBJECT(hipMallocArray, allocated_channels, 0, TO("array"), FROM("desc"), PLANE);
	OBJECT(hipMalloc3DArray, allocated_channels, 0, TO("array"), FROM("desc"),
	       SIZE("extent.width"), ROWS("extent.height"), SLICES("extent.depth"));
	OBJECT(hipMallocMipmappedArray, allocated_channels, 0, TO("mipmappedArray"), FROM("desc"),
	       SIZE("extent.width"), ROWS("extent.height"), SLICES("extent.depth"));
	OBJECT(hipArrayCreate, allocated_descriptor, 2, TO("pHandle"), FROM("pAllocateArray"));
	OBJECT(hipArray3DCreate, allocated_descriptor, 3, TO("array"), FROM("pAllocateArray"));
	FREE(hipFree, "ptr");
	FREE(hipFreeAsync, "dev_ptr");
	FREE(hipHostFree, "ptr");
	FREE(hipFreeHost, "ptr");
	FREE(hipHostUnregister, "hostPtr");
	FREE(hipFreeArray, "array");
	FREE(hipArrayDestroy, "array");
	FREE(hipFreeMipmappedArray, "mipmappedArray");
	FREE(hipMemRelease, "handle");
}

#define LINEAR(destination, source) TO(destination), FROM(source), SIZE("sizeBytes")

static void rules_copies(struct rocm_rules *r)
{
	COPY(hipMemcpy, 0, ROCM_WAITS, LINEAR("dst", "src"), KIND);
	COPY(hipMemcpy_spt, 0, ROCM_WAITS | OWN, LINEAR("dst", "src"), KIND);
	COPY(hipMemcpyWithStream, 0, ROCM_WAITS, LINEAR("dst", "src"), KIND, STREAM);
	COPY(hipMemcpyAsync, 0, 0, LINEAR("dst", "src"), KIND, STREAM);
	COPY(hipMemcpyAsync_spt, 0, OWN, LINEAR("dst", "src"), KIND, STREAM);
	COPY(hipMemcpyHtoD, HOST_TO_DEVICE, ROCM_WAITS, LINEAR("dst", "src"));
	COPY(hipMemcpyDtoH, DEVICE_TO_HOST, ROCM_WAITS, LINEAR("dst", "src"));
	COPY(hipMemcpyDtoD, DEVICE_TO_DEVICE, ROCM_WAITS, LINEAR("dst", "src"));
	COPY(hipMemcpyHtoDAsync, HOST_TO_DEVICE, 0, LINEAR("dst", "src"), STREAM);
	COPY(hipMemcpyDtoHAsync, DEVICE_TO_HOST, 0, LINEAR("dst", "src"), STREAM);
	COPY(hipMemcpyDtoDAsync, DEVICE_TO_DEVICE, 0, LINEAR("dst", "src"), STREAM);
	COPY(hipMemcpyPeer, DEVICE_TO_DEVICE, ROCM_WAITS, LINEAR("dst", "src"), ON("dstDeviceId"),
	     ROCM_SOURCE_DEVICE, "srcDeviceId");
	COPY(hipMemcpyPeerAsync, DEVICE_TO_DEVICE, 0, LINEAR("dst", "src"), ON("dstDeviceId"),
	     ROCM_SOURCE_DEVICE, "srcDevice", STREAM);
	COPY(hipMemcpyToSymbol, 0, ROCM_WAITS, LINEAR("symbol", "src"), KIND);
	COPY(hipMemcpyToSymbol_spt, 0, ROCM_WAITS | OWN, LINEAR("symbol", "src"), KIND);
	COPY(hipMemcpyToSymbolAsync, 0, 0, LINEAR("symbol", "src"), KIND, STREAM);
	COPY(hipMemcpyToSymbolAsync_spt, 0, OWN, LINEAR("symbol", "src"), KIND, STREAM);
	COPY(hipMemcpyFromSymbol, 0, ROCM_WAITS, LINEAR("dst", "symbol"), KIND);
	COPY(hipMemcpyFromSymbol_spt, 0, ROCM_WAITS | OWN, LINEAR("dst", "symbol"), KIND);
	COPY(hipMemcpyFromSymbolAsync, 0, 0, LINEAR("dst", "symbol"), KIND, STREAM);
	COPY(hipMemcpyFromSymbolAsync_spt, 0, OWN, LINEAR("dst", "symbol"), KIND, STREAM);
}

#define RECTANGLE TO("dst"), FROM("src"), PLANE, KIND

static void rules_rectangles(struct rocm_rules *r)
{
	COPY(hipMemcpy2D, 0, ROCM_WAITS, RECTANGLE);
	COPY(hipMemcpy2D_spt, 0, ROCM_WAITS | OWN, RECTANGLE);
	COPY(hipMemcpy2DAsync, 0, 0, RECTANGLE, STREAM);
	COPY(hipMemcpy2DAsync_spt, 0, OWN, RECTANGLE, STREAM);
	COPY(hipMemcpy2DToArray, 0, ROCM_WAITS, RECTANGLE);
	COPY(hipMemcpy2DToArray_spt, 0, ROCM_WAITS | OWN, RECTANGLE);
	COPY(hipMemcpy2DToArrayAsync, 0, 0, RECTANGLE, STREAM);
	COPY(hipMemcpy2DToArrayAsync_spt, 0, OWN, RECTANGLE, STREAM);
	COPY(hipMemcpy2DFromArray, 0, ROCM_WAITS, RECTANGLE);
	COPY(hipMemcpy2DFromArray_spt, 0, ROCM_WAITS | OWN, RECTANGLE);
	COPY(hipMemcpy2DFromArrayAsync, 0, 0, RECTANGLE, STREAM);
	COPY(hipMemcpy2DFromArrayAsync_spt, 0, OWN, RECTANGLE, STREAM);
	COPY(hipMemcpy2DArrayToArray, 0, ROCM_WAITS, RECTANGLE);
	COPY(hipMemcpyToArray, 0, ROCM_WAITS, TO("dst"), FROM("src"), SIZE("count"), KIND);
	COPY(hipMemcpyFromArray, 0, ROCM_WAITS, TO("dst"), FROM("srcArray"), SIZE("count"), KIND);
	COPY(hipMemcpyFromArray_spt, 0, ROCM_WAITS | OWN, TO("dst"), FROM("src"), SIZE("count"),
	     KIND);
	COPY(hipMemcpyAtoH, DEVICE_TO_HOST, ROCM_WAITS, TO("dst"), FROM("srcArray"), SIZE("count"));
	COPY(hipMemcpyHtoA, HOST_TO_DEVICE, ROCM_WAITS, TO("dstArray"), FROM("srcHost"),
	     SIZE("count"));
	COPY(hipMemcpyAtoD, DEVICE_TO_DEVICE, ROCM_WAITS, TO("dstDevice"), FROM("srcArray"),
	     SIZE("ByteCount"));
	COPY(hipMemcpyDtoA, DEVICE_TO_DEVICE, ROCM_WAITS, TO("dstArray"), FROM("srcDevice"),
	     SIZE("ByteCount"));
	COPY(hipMemcpyAtoA, DEVICE_TO_DEVICE, ROCM_WAITS, TO("dstArray"), FROM("srcArray"),
	     SIZE("ByteCount"));
	COPY(hipMemcpyAtoHAsync, DEVICE_TO_HOST, 0, TO("dstHost"), FROM("srcArray"),
	     SIZE("ByteCount"), STREAM);
	COPY(hipMemcpyHtoAAsync, HOST_TO_DEVICE, 0, TO("dstArray"), FROM("srcHost"),
	     SIZE("ByteCount"), STREAM);
	RUN(hipMemcpyParam2D, copy_2d, COPIES, ROCM_WAITS, FROM("pCopy"));
	RUN(hipDrvMemcpy2DUnaligned, copy_2d, COPIES, ROCM_WAITS, FROM("pCopy"));
	RUN(hipMemcpyParam2DAsync, copy_2d, COPIES, 0, FROM("pCopy"), STREAM);
	RUN(hipMemcpy3D, copy_3d, COPIES, ROCM_WAITS, FROM("p"));
	RUN(hipMemcpy3D_spt, copy_3d, COPIES, ROCM_WAITS | OWN, FROM("p"));
	RUN(hipMemcpy3DAsync, copy_3d, COPIES, 0, FROM("p"), STREAM);
	RUN(hipMemcpy3DAsync_spt, copy_3d, COPIES, OWN, FROM("p"), STREAM);
	RUN(hipMemPrefetchAsync, prefetch, CAP_ACTIVITY_COPY, 0, TO("dev_ptr"), SIZE("count"),
	    ON("device"), STREAM);
}

#define BLOCK_3D                                                                                   \
	TO("pitchedDevPtr.ptr"), SIZE("extent.width"), ROWS("extent.height"), SLICES("extent.depth")

static void rules_fills(struct rocm_rules *r)
{
	FILL(hipMemset, 1, 0, TO("dst"), SIZE("sizeBytes"));
	FILL(hipMemset_spt, 1, OWN, TO("dst"), SIZE("sizeBytes"));
	FILL(hipMemsetAsync, 1, 0, TO("dst"), SIZE("sizeBytes"), STREAM);
	FILL(hipMemsetAsync_spt, 1, OWN, TO("dst"), SIZE("sizeBytes"), STREAM);
	FILL(hipMemsetD8, 1, 0, TO("dest"), SIZE("count"));
	FILL(hipMemsetD8Async, 1, 0, TO("dest"), SIZE("count"), STREAM);
	FILL(hipMemsetD16, 2, 0, TO("dest"), SIZE("count"));
	FILL(hipMemsetD16Async, 2, 0, TO("dest"), SIZE("count"), STREAM);
	FILL(hipMemsetD32, 4, 0, TO("dest"), SIZE("count"));
	FILL(hipMemsetD32Async, 4, 0, TO("dst"), SIZE("count"), STREAM);
	FILL(hipMemset2D, 1, 0, TO("dst"), PLANE);
	FILL(hipMemset2D_spt, 1, OWN, TO("dst"), PLANE);
	FILL(hipMemset2DAsync, 1, 0, TO("dst"), PLANE, STREAM);
	FILL(hipMemset2DAsync_spt, 1, OWN, TO("dst"), PLANE, STREAM);
	FILL(hipMemset3D, 1, 0, BLOCK_3D);
	FILL(hipMemset3D_spt, 1, OWN, BLOCK_3D);
	FILL(hipMemset3DAsync, 1, 0, BLOCK_3D, STREAM);
	FILL(hipMemset3DAsync_spt, 1, OWN, BLOCK_3D, STREAM);
}

#define SYMBOL_SIZES SIZES("numBlocks.x", "dimBlocks.x", "sharedMemBytes")

static void rules_launches(struct rocm_rules *r)
{
	LAUNCH(hipLaunchKernel, 0, OF("function_address"), SYMBOL_SIZES, STREAM);
	LAUNCH(hipLaunchKernel_spt, OWN, OF("function_address"), SYMBOL_SIZES, STREAM);
	LAUNCH(hipExtLaunchKernel, 0, OF("function_address"), SYMBOL_SIZES, STREAM);
	LAUNCH(hipLaunchCooperativeKernel, 0, OF("f"),
	       SIZES("gridDim.x", "blockDimX.x", "sharedMemBytes"), STREAM);
	LAUNCH(hipLaunchCooperativeKernel_spt, OWN, OF("f"),
	       SIZES("gridDim.x", "blockDim.x", "sharedMemBytes"), ROCM_STREAM, "hStream");
	LAUNCH(hipModuleLaunchKernel, 0, OF("f"), MODULE_SIZES, STREAM);
	LAUNCH(hipModuleLaunchCooperativeKernel, 0, OF("f"), MODULE_SIZES, STREAM);
	LAUNCH(hipExtModuleLaunchKernel, ROCM_ITEMS, OF("f"), ITEM_SIZES, ROCM_STREAM, "hStream");
	LAUNCH(hipHccModuleLaunchKernel, ROCM_ITEMS, OF("f"), ITEM_SIZES, ROCM_STREAM, "hStream");
	RUN(hipLaunchCooperativeKernelMultiDevice, launch_many, DISPATCH, 0, OF("launchParamsList"),
	    SIZE("numDevices"));
	RUN(hipExtLaunchMultiKernelMultiDevice, launch_many, DISPATCH, 0, OF("launchParamsList"),
	    SIZE("numDevices"));
	RULE(hipModuleLaunchCooperativeKernelMultiDevice, launch_many, DISPATCH, 1, 0, 0,
	     OF("launchParamsList"), SIZE("numDevices"));
	RUN(hipConfigureCall, configure, DISPATCH, 0, SIZES("gridDim.x", "blockDim.x", "sharedMem"),
	    STREAM);
	RUN(hipLaunchByPtr, launch_configured, DISPATCH, 0, OF("func"));
	RUN(hipGraphLaunch, launch_graph, DISPATCH, 0, OF("graphExec"), STREAM);
	RUN(hipGraphLaunch_spt, launch_graph, DISPATCH, OWN, OF("graphExec"), STREAM);
}

static void rules_waits(struct rocm_rules *r)
{
	WAIT(hipDeviceSynchronize, DEVICE, 0);
	WAIT(hipCtxSynchronize, DEVICE, 0);
	WAIT(hipStreamSynchronize, QUEUE, 0, STREAM);
	WAIT(hipStreamSynchronize_spt, QUEUE, OWN, STREAM);
	WAIT(hipEventSynchronize, EVENTS, 0, OF("event"));
	/* These also follow what is being captured into graphs. */
	OBJECT(hipEventRecord, hip_event_recorded, 0, OF("event"), STREAM);
	RUN(hipEventRecord_spt, hip_event_recorded, 0, OWN, OF("event"), STREAM);
	OBJECT(hipStreamWaitEvent, hip_stream_waits, 0, OF("event"), STREAM);
	RUN(hipStreamWaitEvent_spt, hip_stream_waits, 0, OWN, OF("event"), STREAM);
	OBJECT(hipStreamBeginCapture, hip_capture_begin, 0, STREAM);
	RUN(hipStreamBeginCapture_spt, hip_capture_begin, 0, OWN, STREAM);
	OBJECT(hipStreamEndCapture, hip_capture_end, 0, STREAM);
	RUN(hipStreamEndCapture_spt, hip_capture_end, 0, OWN, STREAM);
}

static void rules_streams(struct rocm_rules *r)
{
	OBJECT(hipStreamCreate, hip_stream_created, 0, STREAM);
	OBJECT(hipStreamCreateWithFlags, hip_stream_created, 0, STREAM);
	OBJECT(hipStreamCreateWithPriority, hip_stream_created, 0, STREAM);
	OBJECT(hipExtStreamCreateWithCUMask, hip_stream_created, 0, STREAM);
	OBJECT(hipStreamDestroy, hip_stream_destroyed, 0, STREAM);
}

static void rules_code(struct rocm_rules *r)
{
	OBJECT(hipModuleLoad, hip_program_loaded, 0, OF("module"));
	OBJECT(hipModuleLoadData, hip_program_loaded, 0, OF("module"));
	OBJECT(hipModuleLoadDataEx, hip_program_loaded, 0, OF("module"));
	OBJECT(hipModuleUnload, hip_program_unloaded, 0, OF("module"));
	OBJECT(hipModuleGetFunction, hip_kernel_loaded, 0, OF("function"), FROM("module"),
	       ROCM_NAME, "kname");
	OBJECT(hipGetFuncBySymbol, hip_kernel_symbol, 0, OF("functionPtr"), FROM("symbolPtr"));
}

static void rules_devices(struct rocm_rules *r)
{
	OBJECT(hipSetDevice, hip_set_device, 0, ON("deviceId"));
	OBJECT(hipGetDevice, hip_set_device, 0, ON("deviceId"));
	OBJECT(hipGetDevicePropertiesR0600, hip_device_properties, 1, TO("prop"), ON("device"));
	OBJECT(hipGetDevicePropertiesR0000, hip_device_properties, 0, TO("prop"), ON("device"));
	OBJECT(hipDeviceGetName, hip_device_name, 0, TO("name"), SIZE("len"), ON("device"));
	OBJECT(hipDeviceGetPCIBusId, hip_device_pci, 0, TO("pciBusId"), SIZE("len"), ON("device"));
	OBJECT(hipCtxCreate, hip_context_created, 1, OF("ctx"), ON("device"));
	OBJECT(hipDevicePrimaryCtxRetain, hip_context_created, 0, OF("pctx"), ON("dev"));
	OBJECT(hipCtxSetCurrent, hip_context_set, 0, OF("ctx"));
	OBJECT(hipCtxPushCurrent, hip_context_set, 1, OF("ctx"));
	OBJECT(hipCtxPopCurrent, hip_context_pop, 0);
}

/* Versions that refuse the calls are obeyed all the same: a program asks for it. */
static void profiler_start(const struct rocm_call *c)
{
	marker_control(KYMO_RESUME_ALL);
}

static void profiler_stop(const struct rocm_call *c)
{
	marker_control(KYMO_PAUSE_ALL);
}

static void rules_control(struct rocm_rules *r)
{
	RUN(hipProfilerStart, profiler_start, 0, ROCM_FAILED);
	RUN(hipProfilerStop, profiler_stop, 0, ROCM_FAILED);
}

#define OP_ROOM 2048u

ROCM_RULES(hip_rules, 160, OP_ROOM);
ROCM_RULES(compiler, 3, 64);

static void rules_compiler(struct rocm_rules *r)
{
	OBJECT(__hipRegisterFatBinary, hip_program_loaded, 0, OF("result"));
	OBJECT(__hipUnregisterFatBinary, hip_program_unloaded, 0, OF("modules"));
	OBJECT(__hipRegisterFunction, hip_kernel_loaded, 0, OF("hostFunction"), FROM("modules"),
	       ROCM_NAME, "deviceName");
}

static void after_hip(const struct table_call *call)
{
	rocm_run(&hip_rules, call);
}

static void after_compiler(const struct table_call *call)
{
	rocm_run(&compiler, call);
}

static bool hip_needed(const char *op)
{
	return rocm_rule_needed(&hip_rules, op);
}

void rocm_hip_prepare(void)
{
	hip_agents_prepare();
	rocm_model_hip.needed = hip_needed;
	rules_memory(&hip_rules);
	rules_copies(&hip_rules);
	rules_rectangles(&hip_rules);
	rules_fills(&hip_rules);
	rules_launches(&hip_rules);
	rules_waits(&hip_rules);
	rules_streams(&hip_rules);
	rules_code(&hip_rules);
	rules_devices(&hip_rules);
	rules_control(&hip_rules);
	rules_compiler(&compiler);
	if (!rocm_rules_apply(&hip_rules, &rocm_model_hip, after_hip) ||
	    !rocm_rules_apply(&compiler, &rocm_model_hip_compiler, after_compiler))
		cap_note(2, "rocm", "what some of HIP's calls do is not known");
}
