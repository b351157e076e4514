/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer that counts: an independent witness of what a program calls. It is made to be
 * hard to get wrong: every entry of the dispatch table is replaced by three instructions that
 * count and jump on, which know nothing of arguments. On top of that, kernels and the bytes of
 * buffer reads and writes are counted where the call succeeded.
 *
 * OPENCL_LAYERS=.../libcountlayer.so COUNT_OUT=FILE program
 *
 * writes FILE when the program exits; "%p" in its name stands for the process id:
 *   {"pid": N, "calls": {FUNCTION: N, ...}, "kernels": {NAME: N, ...},
 *    "own_calls": {FUNCTION: N}, "lost_kernels": N, "read_bytes": N, "write_bytes": N}
 *
 * "own_calls" are calls that the layer itself made, which a layer below it sees, too: few, as it
 * knows the names of most kernels from their creation.
 */
#include <CL/cl_layer.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
#define ENTRY(index, name) #name,
#include "table.def"
#undef ENTRY
};

enum {
	N_ENTRIES = sizeof(names) / sizeof(*names),
	MAX_NAMES = 4096,
	NAME_SIZE = 128,
	MAX_HANDLES = 65536
};

/* Used by the assembler code below: not static, but not to be seen from outside either. */
#define HIDDEN __attribute__((visibility("hidden"), used))
HIDDEN unsigned long count_calls[N_ENTRIES];
HIDDEN void *count_targets[N_ENTRIES];

#if defined(__x86_64__)
#define COUNT_AND_JUMP(index)                                                                      \
	"endbr64\n"                                                                                \
	"lock incq count_calls+8*" #index "(%rip)\n"                                               \
	"jmp *count_targets+8*" #index "(%rip)\n"
#elif defined(__aarch64__)
#define COUNT_AND_JUMP(index)                                                                      \
	"bti c\n"                                                                                  \
	"adrp x16, count_calls+8*" #index "\n"                                                     \
	"add x16, x16, :lo12:count_calls+8*" #index "\n"                                           \
	"1: ldxr x15, [x16]\n"                                                                     \
	"add x15, x15, #1\n"                                                                       \
	"stxr w17, x15, [x16]\n"                                                                   \
	"cbnz w17, 1b\n"                                                                           \
	"adrp x16, count_targets+8*" #index "\n"                                                   \
	"add x16, x16, :lo12:count_targets+8*" #index "\n"                                         \
	"ldr x16, [x16]\n"                                                                         \
	"br x16\n"
#else
#error "countlayer.c needs the three instructions that count and jump on this processor"
#endif

#define ENTRY(index, name)                                                                         \
	__asm__(".pushsection .text\n"                                                             \
		".type count_entry_" #name ", %function\n"                                         \
		"count_entry_" #name ":\n" COUNT_AND_JUMP(index) ".popsection\n");                 \
	HIDDEN void count_entry_##name(void);
#include "table.def"
#undef ENTRY

static void (*const entries[])(void) = {
#define ENTRY(index, name) count_entry_##name,
#include "table.def"
#undef ENTRY
};

/* --- what calls did, where they succeeded ---------------------------------------------------- */

static struct {
	char name[NAME_SIZE];
	unsigned long count;
} kernels[MAX_NAMES];
static size_t n_kernels;
static unsigned long lost_kernels; /* of names beyond MAX_NAMES */

/* Which kernel has which name, by handle; the latest holds. Full: names are asked for again. */
static struct {
	cl_kernel kernel;
	size_t name; /* index into `kernels` */
} handles[MAX_HANDLES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the three above */
static atomic_ullong read_bytes, write_bytes;
static atomic_ulong own_calls; /* of clGetKernelInfo, by this layer: layers below see them */
static const cl_icd_dispatch *target;

static size_t find_name(const char *name)
{
	size_t i = 0;

	while (i < n_kernels && strcmp(kernels[i].name, name))
		i++;
	if (i == n_kernels && n_kernels < MAX_NAMES)
		snprintf(kernels[n_kernels++].name, NAME_SIZE, "%s", name);
	return i;
}

/* The slot of a handle, or the free one where it would be; MAX_HANDLES if there is none. */
static size_t find_handle(cl_kernel kernel)
{
	size_t start = ((uintptr_t)kernel >> 4) % MAX_HANDLES;

	for (size_t n = 0; n < MAX_HANDLES; n++) {
		size_t i = (start + n) % MAX_HANDLES;

		if (!handles[i].kernel || handles[i].kernel == kernel)
			return i;
	}
	return MAX_HANDLES;
}

/* Under the lock. Returns the index of the name. */
static size_t remember(cl_kernel kernel, const char *name)
{
	size_t slot = find_handle(kernel);
	size_t index = find_name(name);

	if (slot < MAX_HANDLES) {
		handles[slot].kernel = kernel;
		handles[slot].name = index;
	}
	return index;
}

/* Under the lock. */
static size_t ask_name(cl_kernel kernel)
{
	char name[NAME_SIZE] = "?";

	own_calls++;
	target->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
	return remember(kernel, name);
}

static void count_kernel(cl_kernel kernel)
{
	size_t slot, index;

	pthread_mutex_lock(&lock);
	slot = find_handle(kernel);
	index = slot < MAX_HANDLES && handles[slot].kernel ? handles[slot].name : ask_name(kernel);
	if (index < n_kernels)
		kernels[index].count++;
	else
		lost_kernels++;
	pthread_mutex_unlock(&lock);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *error)
{
	cl_kernel kernel = target->clCreateKernel(program, name, error);

	pthread_mutex_lock(&lock);
	if (kernel)
		remember(kernel, name);
	pthread_mutex_unlock(&lock);
	return kernel;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint n, cl_kernel *list,
					 cl_uint *n_ret)
{
	cl_uint found = 0;
	cl_int error = target->clCreateKernelsInProgram(program, n, list, &found);

	pthread_mutex_lock(&lock);
	for (cl_uint i = 0; !error && list && i < found && i < n; i++)
		ask_name(list[i]);
	pthread_mutex_unlock(&lock);
	if (!error && n_ret)
		*n_ret = found;
	return error;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel source, cl_int *error)
{
	cl_kernel kernel = target->clCloneKernel(source, error);

	pthread_mutex_lock(&lock);
	if (kernel)
		ask_name(kernel);
	pthread_mutex_unlock(&lock);
	return kernel;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
					 const size_t *offset, const size_t *global,
					 const size_t *local, cl_uint n, const cl_event *list,
					 cl_event *event)
{
	cl_int error = target->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, n,
						      list, event);

	if (!error)
		count_kernel(kernel);
	return error;
}

static cl_int CL_API_CALL enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint n,
				       const cl_event *list, cl_event *event)
{
	cl_int error = target->clEnqueueTask(queue, kernel, n, list, event);

	if (!error)
		count_kernel(kernel);
	return error;
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				       size_t offset, size_t size, void *to, cl_uint n,
				       const cl_event *list, cl_event *event)
{
	cl_int error = target->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, n,
						   list, event);

	if (!error)
		read_bytes += size;
	return error;
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
					size_t offset, size_t size, const void *from, cl_uint n,
					const cl_event *list, cl_event *event)
{
	cl_int error = target->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, n,
						    list, event);

	if (!error)
		write_bytes += size;
	return error;
}

/* --- the result ------------------------------------------------------------------------------ */

static FILE *open_out(const char *pattern)
{
	const char *mark = strstr(pattern, "%p");
	char name[4096];

	if (!mark)
		return fopen(pattern, "w");
	snprintf(name, sizeof(name), "%.*s%ld%s", (int)(mark - pattern), pattern, (long)getpid(),
		 mark + 2);
	return fopen(name, "w");
}

static void write_counts(FILE *out)
{
	const char *separator = "";

	fprintf(out, "{\"pid\": %ld,\n \"calls\": {", (long)getpid());
	for (size_t i = 0; i < N_ENTRIES; i++) {
		if (!count_calls[i])
			continue;
		fprintf(out, "%s\n  \"%s\": %lu", separator, names[i], count_calls[i]);
		separator = ",";
	}
	separator = "";
	fprintf(out, "},\n \"kernels\": {");
	for (size_t i = 0; i < n_kernels; i++) {
		fprintf(out, "%s\n  \"%s\": %lu", separator, kernels[i].name, kernels[i].count);
		separator = ",";
	}
	fprintf(out,
		"},\n \"own_calls\": {\"clGetKernelInfo\": %lu}, \"lost_kernels\": %lu,\n"
		" \"read_bytes\": %llu, \"write_bytes\": %llu}\n",
		own_calls, lost_kernels, read_bytes, write_bytes);
}

__attribute__((destructor)) static void at_exit(void)
{
	const char *pattern = getenv("COUNT_OUT");
	FILE *out = pattern && target ? open_out(pattern) : NULL;

	if (!out)
		return;
	write_counts(out);
	fclose(out);
}

/* --- the layer's two functions --------------------------------------------------------------- */

#define EXPORTED CL_API_ENTRY __attribute__((visibility("default")))

EXPORTED cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
					   size_t *size_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "counting layer";
	const void *from = what == CL_LAYER_API_VERSION ? (const void *)&version : name;
	size_t length = what == CL_LAYER_API_VERSION ? sizeof(version) : sizeof(name);

	if ((what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) || (value && size < length))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, length);
	if (size_ret)
		*size_ret = length;
	return CL_SUCCESS;
}

/* The entries that look at arguments are what the three instructions jump to. */
static void set_targets(const cl_icd_dispatch *from, size_t n)
{
	static struct _cl_icd_dispatch looking;
	size_t size = n * sizeof(void *);

	memcpy(count_targets, from, size < sizeof(count_targets) ? size : sizeof(count_targets));
	memcpy(&looking, count_targets, sizeof(looking));
	looking.clCreateKernel = create_kernel;
	looking.clCreateKernelsInProgram = create_kernels;
	looking.clCloneKernel = clone_kernel;
	looking.clEnqueueNDRangeKernel = enqueue_kernel;
	looking.clEnqueueTask = enqueue_task;
	looking.clEnqueueReadBuffer = enqueue_read;
	looking.clEnqueueWriteBuffer = enqueue_write;
	memcpy(count_targets, &looking, sizeof(looking));
}

/* A loader may know more entries than this layer: those are passed through, uncounted. */
EXPORTED cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *from, cl_uint *n_ret,
					const cl_icd_dispatch **table_ret)
{
	void **table = calloc(n > N_ENTRIES ? n : N_ENTRIES, sizeof(*table));

	_Static_assert(sizeof(cl_icd_dispatch) == sizeof(count_targets), "table.def is complete");
	if (!table)
		return CL_OUT_OF_HOST_MEMORY;
	target = from;
	set_targets(from, n);
	memcpy(table, from, n * sizeof(*table));
	for (size_t i = 0; i < N_ENTRIES && i < n; i++)
		if (table[i])
			memcpy(&table[i], &entries[i], sizeof(*table));
	*n_ret = n;
	*table_ret = (const void *)table;
	return CL_SUCCESS;
}
