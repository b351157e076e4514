/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model behind cuda_model.h. Work begins when its call was made, its stream is free, its engine
 * is free (one for copies in each direction, one for kernels that fill the device) and what it waits
 * for is done. Waits last until then. What was done is told to CUPTI's fake when it is over.
 */
#include <sys/mman.h>

#include "../../cuda/fake.h"
#include "cuda_model.h"

enum { DRIVER = 1, RUNTIME = 2 };
enum { US = 1000, STREAMS = 200, PINNED = 64, PENDING = 1 << 16, MULTIPROCESSORS = 132 };

/* What a GPU of these days and its driver take. */
enum {
	LAUNCH_NS = 9 * US,
	LATENCY_NS = 4 * US,
	COPY_CALL_NS = 6 * US,
	SYNC_NS = 20 * US, /* until a thread that waited runs again */
	MALLOC_NS = 900 * US,
	FREE_NS = 700 * US,
	STREAM_NS = 1200 * US,
	JIT_NS = 40000 * US,
	LOAD_NS = 500 * US,
	FAULT_NS_PER_MIB = 250 * US /* managed memory, in faults */
};
static const double pinned_ns = 1.0 / 25, pageable_ns = 1.0 / 8; /* a byte */

struct model_stream {
	uint64_t ready;
	uint32_t id;
};
struct model_event {
	uint64_t ready;
};

struct kernel_record {
	uint32_t kind;
	uint8_t cache[2];
	uint16_t registers;
	uint32_t partitioned[2];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3], shared[2];
	uint32_t local[2], correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch[4];
	uint32_t executed;
	uint64_t node;
	uint32_t limit, graph;
	void *policy;
	uint32_t channel[2], cluster[4];
	uint64_t local_total, maximum, last;
};

struct copy_record {
	uint32_t kind;
	uint8_t what[3], flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime, pad;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel[2], launched;
	uint64_t count;
};

struct counter_record {
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t source, destination, stream, process, flags, pad;
	uint64_t processors[5];
};

struct jit_record {
	uint32_t kind, entry, operation, device;
	uint64_t start, end;
	uint32_t correlation, pad;
	uint64_t id, cache_bytes;
	const char *path;
	uint32_t process, thread;
};

static struct {
	struct model_stream nobody, streams[STREAMS];
	uint64_t compute, to_device, to_host, all, address;
	struct {
		char *at;
		size_t bytes;
	} pinned[PINNED];
	struct pending {
		uint64_t end;
		size_t bytes;
		union {
			struct kernel_record kernel;
			struct copy_record copy;
			struct counter_record counter;
			struct jit_record jit;
		} of;
	} pending[PENDING];
	size_t pending_count;
	int begun, streams_made;
} gpu = {.address = 0x7f0000000000};

/* ---- time and records ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Until a time: most of it asleep, the end awake, as a driver does. */
static void until(uint64_t ns)
{
	uint64_t now = fake_now();

	if (ns > now + 80 * US)
		rest_us((double)(ns - now) / 1000 - 60);
	while (fake_now() < ns)
		;
}

static void busy(uint64_t ns)
{
	uint64_t end = fake_now() + ns;

	while (fake_now() < end)
		;
}

/* Tells what is over. */
static void tell(void)
{
	uint64_t now = fake_now();
	size_t kept = 0;

	for (size_t i = 0; i < gpu.pending_count; i++) {
		struct pending *p = &gpu.pending[i];

		if (p->end <= now)
			fake_record(&p->of, p->bytes);
		else
			gpu.pending[kept++] = *p;
	}
	gpu.pending_count = kept;
}

static struct pending *pend(uint64_t end, size_t bytes)
{
	struct pending *p;

	if (gpu.pending_count == PENDING) {
		until(gpu.pending[0].end);
		tell();
	}
	p = &gpu.pending[gpu.pending_count++];
	p->end = end;
	p->bytes = bytes;
	return p;
}

static void at_end(void)
{
	until(gpu.all);
	tell();
	fake_deliver();
}

static void begin_all(void)
{
	if (gpu.begun)
		return;
	gpu.begun = 1;
	gpu.nobody.id = 7;
	fake_init();
	fake_context(1);
	atexit(at_end);
}

/* ---- calls ---- */

struct both {
	struct fake_call outer, inner;
	uint32_t correlation;
};

/* A function of the runtime, and the driver's that it calls. */
static struct both enter(uint32_t runtime, const void *params, uint32_t driver, const void *inner,
			 const char *symbol)
{
	struct both b;

	begin_all();
	b.correlation = fake_correlation();
	b.outer = (struct fake_call){RUNTIME, runtime, params, 0, b.correlation, 1, 0, symbol};
	b.inner = (struct fake_call){DRIVER, driver, inner, 0, b.correlation, 1, 0, symbol};
	return b;
}

#define ENTER(b) (fake_enter(&(b).outer), fake_enter(&(b).inner))
#define LEAVE(b) (fake_leave(&(b).inner, 0), fake_leave(&(b).outer, 0))

static struct model_stream *stream_of(cudaStream_t stream)
{
	return stream ? stream : &gpu.nobody;
}

static void *handle(cudaStream_t stream)
{
	return stream ? (void *)(uintptr_t)(0x5000 + stream->id) : NULL;
}

/* When work of a stream may begin: the legacy stream waits for all others, and they for it. */
static uint64_t may_begin(const struct model_stream *s)
{
	uint64_t at = later(s->ready, gpu.nobody.ready);

	for (int i = 0; s == &gpu.nobody && i < STREAMS; i++)
		at = later(at, gpu.streams[i].ready);
	return at;
}

static void done_at(struct model_stream *s, uint64_t end)
{
	s->ready = end;
	gpu.all = later(gpu.all, end);
}

static cudaError_t allocate(uint32_t runtime, uint32_t driver, void **p, size_t bytes,
			    unsigned flags, uint64_t ns)
{
	uint64_t address = gpu.address;
	struct {
		void **p;
		size_t bytes;
		unsigned flags;
	} outer = {p, bytes, flags};
	struct {
		uint64_t *p;
		size_t bytes;
		unsigned flags;
	} inner = {&address, bytes, flags};
	struct both b = enter(runtime, &outer, driver, &inner, NULL);

	ENTER(b);
	busy(ns);
	gpu.address += (bytes + 0xffff) & ~(size_t)0xffff;
	*p = (void *)(uintptr_t)address;
	LEAVE(b);
	return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
	return allocate(20, 243, p, bytes, 0, MALLOC_NS);
}

cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags)
{
	return allocate(206, 371, p, bytes, flags ? flags : 1, MALLOC_NS);
}

cudaError_t cudaFree(void *p)
{
	uint64_t address = (uint64_t)(uintptr_t)p;
	struct both b = enter(22, &p, 245, &address, NULL);

	ENTER(b);
	until(gpu.all); /* cudaFree() waits for the device */
	busy(FREE_NS);
	LEAVE(b);
	tell();
	return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
	struct {
		void **p;
		size_t bytes;
	} params = {p, bytes};
	struct both b = enter(25, &params, 294, &params, NULL);

	ENTER(b);
	busy(MALLOC_NS);
	*p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < PINNED; i++) {
		if (gpu.pinned[i].at)
			continue;
		gpu.pinned[i].at = *p;
		gpu.pinned[i].bytes = bytes;
		break;
	}
	LEAVE(b);
	return cudaSuccess;
}

static int pinned(const void *p)
{
	for (int i = 0; i < PINNED; i++)
		if (gpu.pinned[i].at && (const char *)p >= gpu.pinned[i].at &&
		    (const char *)p < gpu.pinned[i].at + gpu.pinned[i].bytes)
			return i;
	return -1;
}

cudaError_t cudaFreeHost(void *p)
{
	struct both b = enter(26, &p, 38, &p, NULL);
	int i = pinned(p);

	ENTER(b);
	until(gpu.all);
	if (i >= 0) {
		munmap(p, gpu.pinned[i].bytes);
		gpu.pinned[i].at = NULL;
	}
	LEAVE(b);
	return cudaSuccess;
}

/* Puts a copy into a stream; when it will be over. */
static uint64_t put_copy(struct model_stream *s, size_t bytes, enum cudaMemcpyKind kind,
			 int is_pinned, int async, uint32_t correlation)
{
	uint64_t *engine = kind == cudaMemcpyHostToDevice ? &gpu.to_device : &gpu.to_host;
	double ns = (double)bytes * (is_pinned ? pinned_ns : pageable_ns);
	uint64_t start = later(later(may_begin(s), *engine), fake_now() + LATENCY_NS);
	uint64_t end = start + (uint64_t)ns + 2 * US;
	struct copy_record *m = &pend(end, sizeof(*m))->of.copy;
	uint8_t host = is_pinned ? 2 : 1;

	*m = (struct copy_record){
		.kind = 1,
		.what = {(uint8_t)kind, kind == 1 ? host : 3, kind == 1 ? 3 : host},
		.flags = async != 0,
		.bytes = bytes,
		.start = start,
		.end = end,
		.context = 1,
		.stream = s->id,
		.correlation = correlation};
	*engine = end;
	done_at(s, end);
	return end;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			cudaStream_t stream, int async)
{
	int is_pinned = pinned(kind == cudaMemcpyHostToDevice ? from : to) >= 0;
	struct {
		void *to;
		const void *from;
		size_t bytes;
		int kind;
		void *stream;
	} outer = {to, from, bytes, kind, handle(stream)};
	struct {
		void *to;
		const void *from;
		size_t bytes;
		void *stream;
	} inner = {to, from, bytes, handle(stream)};
	uint32_t driver = (kind == cudaMemcpyHostToDevice ? 276u : 278u) + (async ? 1 : 0);
	struct both b = enter(async ? 41 : 31, &outer, driver, &inner, NULL);
	uint64_t end;

	ENTER(b);
	busy(COPY_CALL_NS);
	end = put_copy(stream_of(stream), bytes, kind, is_pinned, async, b.correlation);
	if (!async || !is_pinned) /* from pageable memory it is staged: the call does that */
		until(end + (async ? 0 : SYNC_NS));
	LEAVE(b);
	if (!async)
		tell();
	return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	return copy(to, from, bytes, kind, NULL, 0);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	return copy(to, from, bytes, kind, stream, 1);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	void *made = NULL, **out = &made;
	struct {
		void **stream;
		unsigned flags;
	} inner = {out, 0};
	struct both b = enter(129, &out, 124, &inner, NULL);
	struct model_stream *s = &gpu.streams[gpu.streams_made++ % STREAMS];

	ENTER(b);
	busy(STREAM_NS);
	s->id = 13 + (uint32_t)(s - gpu.streams);
	s->ready = 0;
	made = handle(s);
	LEAVE(b);
	*stream = s;
	return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	void *h = handle(stream);
	struct both b = enter(201, &h, 326, &h, NULL);

	ENTER(b);
	busy(STREAM_NS / 2);
	LEAVE(b);
	return cudaSuccess;
}

static cudaError_t wait_until(uint32_t runtime, uint32_t driver, void *params, uint64_t end)
{
	struct both b = enter(runtime, params, driver, params, NULL);

	ENTER(b);
	until(later(end, fake_now()) + SYNC_NS);
	LEAVE(b);
	tell();
	return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	void *h = handle(stream);

	return wait_until(131, 126, &h, stream_of(stream)->ready);
}

cudaError_t cudaDeviceSynchronize(void)
{
	return wait_until(165, 17, NULL, gpu.all);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	*event = memory(sizeof(**event));
	return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct {
		void *event, *stream;
	} params = {event, handle(stream)};
	struct both b = enter(135, &params, 119, &params, NULL);

	ENTER(b);
	event->ready = stream_of(stream)->ready;
	LEAVE(b);
	return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	struct {
		void *stream, *event;
		unsigned flags;
	} params = {handle(stream), event, flags};
	struct both b = enter(147, &params, 295, &params, NULL);
	struct model_stream *s = stream_of(stream);

	ENTER(b);
	s->ready = later(s->ready, event->ready);
	LEAVE(b);
	return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	void *e = event;

	return wait_until(137, 121, &e, event->ready);
}

/* ---- managed memory ---- */

static uint64_t migrate(uint64_t start, size_t bytes, int to_device)
{
	uint64_t end = start + (uint64_t)FAULT_NS_PER_MIB * (bytes >> 20);
	struct counter_record c = {
		.kind = 25, .start = start, .end = end, .address = 0x7f0000000000};
	uint64_t step = 1 << 21;

	for (uint64_t at = 0; at < bytes; at += step) {
		struct counter_record *r = &pend(end, sizeof(*r))->of.counter;

		*r = c;
		r->counter = to_device ? 1 : 2;
		r->value = step;
		r->address += at;
		r->source = to_device ? UINT32_MAX : 0;
		r->destination = to_device ? 0 : UINT32_MAX;
		r->flags = 3;
		r->start = start + (end - start) * at / bytes;
		r->end = start + (end - start) * (at + step) / bytes;
		r = &pend(end, sizeof(*r))->of.counter;
		*r = c;
		r->counter = to_device ? 4 : 3;
		r->value = 16;
		r->address += at;
		r->source = to_device ? 0 : UINT32_MAX;
		r->start = start + (end - start) * at / bytes;
		r->end = r->start + 1000;
	}
	return end;
}

void host_touch(void *p, size_t bytes)
{
	uint64_t end;

	(void)p;
	begin_all();
	until(gpu.all);
	end = migrate(fake_now(), bytes, 0);
	until(end);
	tell();
}

/* ---- kernels ---- */

/* What its first launch does to a kernel: code for this device is compiled, or just loaded. */
static void load(struct model_kernel *k, uint32_t correlation)
{
	const char *code = getenv("MODEL_CODE");
	uint64_t start = fake_now();
	int jit = code && code[0] == 'p'; /* ptx */

	if (k->loaded)
		return;
	k->loaded = 1;
	until(start + (jit ? JIT_NS : LOAD_NS));
	if (jit) {
		struct jit_record *j = &pend(start + JIT_NS, sizeof(*j))->of.jit;

		*j = (struct jit_record){.kind = 52,
					 .entry = 1,
					 .operation = 3,
					 .start = start,
					 .end = start + JIT_NS,
					 .correlation = correlation,
					 .id = correlation};
	}
}

void model_launch(struct model_kernel *kernel, int blocks, int threads, cudaStream_t stream,
		  double us, size_t managed)
{
	struct {
		const void *func;
		uint32_t grid[3], block[3];
		void **args;
		size_t shared;
		void *stream;
	} outer = {kernel->name,  {(uint32_t)blocks, 1, 1}, {(uint32_t)threads, 1, 1}, NULL, 0,
		   handle(stream)};
	struct {
		void *f;
		unsigned grid[3], block[3], shared;
		void *stream;
		void **params, **extra;
	} inner = {kernel, {(unsigned)blocks, 1, 1}, {(unsigned)threads, 1, 1},
		   0,      handle(stream),           NULL,
		   NULL};
	struct both b = enter(211, &outer, 307, &inner, kernel->name);
	struct model_stream *s = stream_of(stream);
	int fills = blocks >= MULTIPROCESSORS / 2;
	struct kernel_record *k;
	uint64_t start, end;

	ENTER(b);
	load(kernel, b.correlation);
	busy(LAUNCH_NS);
	LEAVE(b);
	start = later(may_begin(s), fake_now() + LATENCY_NS);
	if (fills)
		start = later(start, gpu.compute);
	end = managed ? migrate(start, managed, 1) : start;
	end += (uint64_t)(us * 1000);
	if (fills)
		gpu.compute = end;
	done_at(s, end);
	k = &pend(end, sizeof(*k))->of.kernel;
	*k = (struct kernel_record){.kind = 10,
				    .registers = 32,
				    .start = start,
				    .end = end,
				    .context = 1,
				    .stream = s->id,
				    .grid = {blocks, 1, 1},
				    .block = {threads, 1, 1},
				    .correlation = b.correlation,
				    .name = kernel->name};
	if (gpu.pending_count > PENDING / 2)
		tell();
}
