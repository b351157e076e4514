/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose lines are counted (core/counter/lines.h): a twin of the kernel, of its PTX rewritten so that it counts, runs before it.
 *
 * Where its code is, the driver's own calls tell: CUPTI hands their arguments over, by whichever way the program found the function
 * (linked, dlsym(), cuGetProcAddress(), the runtime's own table), so that nothing has to stand before them. The program's module is
 * never touched. Twins run on a thread of Kymo's: a launch in a callback of the program's thread would have the number of the
 * program's call, and CUPTI's records of the two could not be told apart.
 */
#ifndef CAPTURE_CUDA_TWIN_H
#define CAPTURE_CUDA_TWIN_H

#include "capture/cuda/backend.h"
#include "core/counter/parts.h"
#include "core/counter/kernel.h"

typedef int (*cuda_twin_fn)(void);

/* X(name, the driver's symbol, arguments) */
#define CUDA_TWIN_DRIVER(X)                                                                        \
	X(CtxSetCurrent, "cuCtxSetCurrent", (void *))                                              \
	X(CtxSynchronize, "cuCtxSynchronize", (void))                                              \
	X(CtxGetDevice, "cuCtxGetDevice", (int *))                                                 \
	X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                           \
	X(GetErrorName, "cuGetErrorName", (int, const char **))                                    \
	X(StreamIsCapturing, "cuStreamIsCapturing", (void *, int *))                               \
	X(ModuleLoadDataEx, "cuModuleLoadDataEx",                                                  \
	  (void **, const void *, unsigned, const int *, void **))                                 \
	X(ModuleUnload, "cuModuleUnload", (void *))                                                \
	X(ModuleGetFunction, "cuModuleGetFunction", (void **, void *, const char *))               \
	X(ModuleGetGlobal, "cuModuleGetGlobal_v2", (uint64_t *, size_t *, void *, const char *))   \
	X(FuncGetModule, "cuFuncGetModule", (void **, void *))                                     \
	X(FuncGetAttribute, "cuFuncGetAttribute", (int *, int, void *))                            \
	X(FuncSetAttribute, "cuFuncSetAttribute", (void *, int, int))                              \
	X(LaunchKernel, "cuLaunchKernel",                                                          \
	  (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,   \
	   void **, void **))                                                                      \
	X(MemAlloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                         \
	X(MemFree, "cuMemFree_v2", (uint64_t))                                                     \
	X(MemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                     \
	X(MemGetAddressRange, "cuMemGetAddressRange_v2", (uint64_t *, size_t *, uint64_t))         \
	X(Memcpy, "cuMemcpy", (uint64_t, uint64_t, size_t))                                        \
	X(MemcpyDtoH, "cuMemcpyDtoH_v2", (void *, uint64_t, size_t))                               \
	X(MemcpyHtoD, "cuMemcpyHtoD_v2", (uint64_t, const void *, size_t))
/* not in every version */
#define CUDA_TWIN_DRIVER_LATER(X)                                                                  \
	X(LibraryGetModule, "cuLibraryGetModule", (void **, void *))                               \
	X(KernelGetFunction, "cuKernelGetFunction", (void **, void *))                             \
	X(FuncGetParamInfo, "cuFuncGetParamInfo", (void *, size_t, size_t *, size_t *))

struct cuda_twin_driver {
#define MEMBER(name, symbol, args) int(*name) args;
	CUDA_TWIN_DRIVER(MEMBER)
	CUDA_TWIN_DRIVER_LATER(MEMBER)
#undef MEMBER
};
extern struct cuda_twin_driver cuda_driver;

/* ---- twin_launch.c ---- */

/* Calls of the driver that concern twins. */
enum cuda_twin_role {
	CUDA_TWIN_NONE,
	CUDA_TWIN_LAUNCH,    /* cuLaunchKernel() */
	CUDA_TWIN_LAUNCH_EX, /* cuLaunchKernelEx() */
	CUDA_TWIN_COOPERATIVE,
	CUDA_TWIN_GRAPH,
	CUDA_TWIN_CAPTURE,
	CUDA_TWIN_CAPTURED,
	CUDA_TWIN_SUBMIT, /* whatever else is put into streams */
	CUDA_TWIN_LOAD,   /* of a module or a library, of data */
	CUDA_TWIN_LOAD_FILE,
	CUDA_TWIN_UNLOAD,
	CUDA_TWIN_ALLOCATE,
	CUDA_TWIN_FREE,
	CUDA_TWIN_MAP,
	CUDA_TWIN_UNMAP
};

/* A launch as the driver is given it. */
struct cuda_twin_launch {
	const struct cap_launch *launch;
	const char *name;
	void *context, *function, *stream;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
};

enum cuda_twin_role cuda_twin_role(uint32_t op);
/* Lines of kernels are wanted: calls that have a role are to be told. */
static inline bool cuda_twin_wanted(void)
{
	return cap_lines_wanted();
}
/* The calling thread is Kymo's, at work on a twin: what it calls is none of the program's. */
bool cuda_twin_own(int domain, uint32_t cbid, const struct cupti_callback *data);
/* Entry and exit of a call that has a role. */
void cuda_twin_call(uint32_t op, bool enter, const struct cupti_callback *data);
void cuda_twin_context_end(void *context);
/* Notes of what was since the last such notes. */
void cuda_twin_tell(void);
void cuda_twin_fork_child(void);

/* A literal, or lives for ever. */
const char *cuda_twin_text(const char *text);
const char *cuda_twin_error(const char *what, int result);

/* ---- twin_image.c: code that was loaded ---- */

struct cuda_image {
	struct cuda_image *next;
	void *handle; /* of the module or library */
	bool library;
	uint64_t number; /* it is never given again */
	uint8_t *copy;   /* of its PTX, as text or a fat binary; NULL: it has none */
	size_t bytes;
	uint64_t cubin_bytes, cubin_sum; /* of machine code alone */
};

/* Kernels of libraries are given in the place of functions, too, and not everywhere taken as such: the function of either. */
void *cuda_twin_function(void *function);
/* `file`: the data is a path. */
void cuda_image_loaded(void *handle, bool library, const void *data, bool file);
void cuda_image_unloaded(void *handle);
/* Of which this launch's kernel is; NULL: `*why`. Valid under the lock of images, which is held then until cuda_image_put(). */
struct cuda_image *cuda_image_get(const struct cuda_twin_launch *l, const char **why);
void cuda_image_put(struct cuda_image *i);
void cuda_images_fork_child(void);

/* ---- twin_memory.c: what kernels may write to ---- */

void cuda_twin_allocated(void *context, uint64_t address, uint64_t bytes);
void cuda_twin_freed(uint64_t address);
/* What is allocated in a context, for those who look at accesses; to be freed. NULL: no memory. */
kymo_handler_buffer_t *cuda_twin_buffers(void *context, uint32_t *count);

struct cuda_kept;
/* Puts aside all memory of the launch's context, and what its parameters point to. NULL: `*why`. */
struct cuda_kept *cuda_keep(const struct cuda_twin_launch *l, const char **why);
bool cuda_kept_restore(const struct cuda_kept *k);
void cuda_kept_free(struct cuda_kept *k);
void cuda_twin_memory_fork_child(void);

/* ---- twin_make.c ---- */

struct cuda_twin {
	struct cuda_twin *next;
	uint64_t image; /* its number */
	void *context;
	char *kernel;
	uint32_t records; /* KYMO_HANDLER_...: that it makes */
	const char *why;  /* there is none */
	struct cap_parts counted;
	void *module, *function;
	uint64_t where; /* the variable that says where it counts */
};

/* Made if need be; on the thread that runs it. NULL: `*why`. */
struct cuda_twin *cuda_twin_get(const struct cuda_twin_launch *l, uint32_t records,
				const char **why);
/* Variables of the program's module have the values that the twin's are to have. NULL: they have them; else why not. */
const char *cuda_twin_variables(struct cuda_twin *t, const struct cuda_twin_launch *l);
void cuda_twins_unloaded(uint64_t image);
void cuda_twins_context_end(void *context);
void cuda_twins_fork_child(void);

/* ---- twin_run.c ---- */

/* What one launch came to. */
struct cuda_twin_run {
	struct cuda_twin_launch *l;
	uint32_t records; /* KYMO_HANDLER_...: that are wanted */
	struct cuda_twin *twin;
	uint64_t *sums; /* of blocks */
	uint64_t start, end;
	uint64_t before; /* ticks that the program's own work took up to its end */
	struct cap_sites sites;
	kymo_handler_buffer_t *buffers; /* to be freed, both */
	struct cap_accesses *taken;
	const char *why;         /* it did not run */
	const char *no_accesses; /* why they were not recorded */
	/* It has run: on the thread that launches, where all happens that tools and handlers hear of. */
	void (*counted)(struct cuda_twin_run *r);
};

/* From the thread of Kymo's: `fn` runs on the thread that launches, which waits. */
void cuda_twin_there(struct cuda_twin_run *r, void (*fn)(void *data), void *data);

/* On a thread of Kymo's. */
void cuda_twin_run(struct cuda_twin_run *r);

#endif
