/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and kernels: where they come from, how they were built, what they are called. */
#include "capture/opencl/program.h"

#include "capture/opencl/arguments.h"
#include "core/counter/lines.h"

#include <kymo/tool.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_hooks.h"

#define KERNEL_NAME_MAX 1024u

static _Atomic uint32_t placeholder_kernels[OCL_PLACEHOLDER_KERNELS];
static _Atomic bool placeholder_defined[OCL_PLACEHOLDER_KERNELS];

/* ---- texts ---- */

const char *ocl_text_for_ever(const char *text)
{
	static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
	static struct kept {
		struct kept *next;
		char text[];
	} * all;
	struct kept *k;

	pthread_mutex_lock(&guard);
	for (k = all; k && strcmp(k->text, text) != 0; k = k->next)
		;
	if (!k && (k = malloc(sizeof(*k) + strlen(text) + 1))) {
		strcpy(k->text, text);
		k->next = all;
		all = k;
	}
	pthread_mutex_unlock(&guard);
	return k ? k->text : "there was no memory for it";
}

/* ---- programs ---- */

static uint32_t program_define(cl_program program, uint32_t id, const char *kind, uint32_t source)
{
	cl_context context = NULL;
	struct ocl_context *c;
	struct wire_def d;

	ocl_next.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL);
	c = ocl_context_get(context);
	wire_def_init(&d, DEF_PROGRAM);
	wire_def_u64(&d, id);
	wire_def_string(&d, "opencl");
	wire_def_u64(&d, (uintptr_t)program);
	wire_def_u64(&d, c ? c->object.id : 0);
	wire_def_string(&d, kind);
	wire_def_u64(&d, source);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
	return id;
}

static struct ocl_program *program_new(cl_program program, const char *kind, uint32_t source,
				       bool replace)
{
	struct ocl_program *p, *old;

	if (!program)
		return NULL;
	p = ocl_object_new(OCL_PROGRAM);
	if (!p)
		return NULL;
	p->object.handle = program;
	p->kind = kind;
	p->object.id = program_define(program, cap_new_id(DEF_PROGRAM), kind, source);
	old = (struct ocl_program *)ocl_insert(OCL_PROGRAM, &p->object, replace);
	if (old && replace)
		ocl_object_free(OCL_PROGRAM, &old->object);
	return old && !replace ? old : p;
}

/* Text or bytes the runtime keeps of a program, as a blob; 0: none. */
static uint32_t info_blob(cl_program program, cl_program_info what, const char *name)
{
	size_t size = 0;
	uint32_t blob = 0;
	char *data;

	if (ocl_next.clGetProgramInfo(program, what, 0, NULL, &size) != CL_SUCCESS || size < 2)
		return 0;
	data = malloc(size);
	if (data && ocl_next.clGetProgramInfo(program, what, size, data, NULL) == CL_SUCCESS)
		blob = cap_define_blob(name, data, data[size - 1] ? size : size - 1);
	free(data);
	return blob;
}

/* A program whose creation was not seen. */
static struct ocl_program *program_get(cl_program program)
{
	struct ocl_program *p = (struct ocl_program *)ocl_find(OCL_PROGRAM, program);
	uint32_t source;

	if (p || !program)
		return p;
	source = info_blob(program, CL_PROGRAM_SOURCE, "source");
	return program_new(program, source ? "source" : "binary", source, false);
}

/* One blob of all strings: a length of 0, or no lengths, means terminated. */
static uint32_t source_blob(cl_uint count, const char **strings, const size_t *lengths)
{
	size_t total = 0, at = 0;
	uint32_t blob = 0;
	char *text;

	for (cl_uint i = 0; i < count; i++)
		total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
	text = malloc(total + 1);
	for (cl_uint i = 0; text && i < count; i++) {
		size_t n = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);

		memcpy(text + at, strings[i], n);
		at += n;
	}
	if (text && total)
		blob = cap_define_blob("source", text, total);
	free(text);
	return blob;
}

void ocl_post_clCreateProgramWithSource(struct cap_frame *f, cl_context context, cl_uint count,
					const char **strings, const size_t *lengths,
					cl_int *errcode_ret, cl_program result)
{
	if (result)
		program_new(result, "source", source_blob(count, strings, lengths), true);
}

void ocl_post_clCreateProgramWithBinary(struct cap_frame *f, cl_context context,
					cl_uint num_devices, const cl_device_id *device_list,
					const size_t *lengths, const unsigned char **binaries,
					cl_int *binary_status, cl_int *errcode_ret,
					cl_program result)
{
	if (result)
		program_new(result, "binary", 0, true);
}

void ocl_post_clCreateProgramWithIL(struct cap_frame *f, cl_context context, const void *il,
				    size_t length, cl_int *errcode_ret, cl_program result)
{
	if (result)
		program_new(result, "il", 0, true);
}

void ocl_post_clCreateProgramWithILKHR(struct cap_frame *f, cl_context context, const void *il,
				       size_t length, cl_int *errcode_ret, cl_program result)
{
	if (result)
		program_new(result, "il", 0, true);
}

void ocl_post_clCreateProgramWithBuiltInKernels(struct cap_frame *f, cl_context context,
						cl_uint num_devices,
						const cl_device_id *device_list,
						const char *kernel_names, cl_int *errcode_ret,
						cl_program result)
{
	if (result)
		program_new(result, "builtin", 0, true);
}

void ocl_pre_clRetainProgram(struct cap_frame *f, cl_program program)
{
	ocl_retain(OCL_PROGRAM, program);
}

void ocl_pre_clReleaseProgram(struct cap_frame *f, cl_program program)
{
	ocl_object_free(OCL_PROGRAM, ocl_release(OCL_PROGRAM, program));
}

/* ---- builds ---- */

/* A build that the runtime may finish on another thread. */
struct build {
	struct cap_submission submission;
	uint64_t start;
	uint32_t options; /* blob */
	void (*notify)(cl_program program, void *data);
	void *data;
};

static uint32_t build_log(cl_program program, cl_device_id device)
{
	size_t size = 0;
	uint32_t blob = 0;
	char *log;

	if (ocl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
		    CL_SUCCESS ||
	    size < 2)
		return 0;
	log = calloc(1, size);
	if (log && ocl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log,
						  NULL) == CL_SUCCESS)
		blob = cap_define_blob("build log", log, strnlen(log, size));
	free(log);
	return blob;
}

static void build_write(const struct build *b, uint32_t program, uint32_t agent, cl_int status,
			uint32_t log, uint64_t end)
{
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &core_code_object_ops[CODE_OBJECT_OP_BUILD], &b->submission,
				b->start, end, BUILD_FIELDS))
		return;
	wire_unsigned(&e, BUILD_CORRELATION, b->submission.call);
	wire_unsigned(&e, BUILD_PROGRAM, program);
	wire_unsigned(&e, BUILD_AGENT, agent);
	wire_signed(&e, BUILD_STATUS, status, 4);
	wire_unsigned(&e, BUILD_OPTIONS, b->options);
	wire_unsigned(&e, BUILD_LOG, log);
	cap_activity_commit(&f, &e);
}

/* Runtimes tell the options in forms of their own. */
static void keep_options(cl_program program, const char *options)
{
	struct ocl_program *p = cap_lines_wanted() ? program_get(program) : NULL;

	if (p)
		atomic_store(&p->options, ocl_text_for_ever(options ? options : ""));
}

/* One record for each device of the program. `result` is the call's, or CL_SUCCESS if it is over.
 */
static void build_done(const struct build *b, cl_program program, cl_int result, uint64_t end)
{
	struct ocl_program *p = program_get(program);
	uint32_t id = p ? p->object.id : 0;
	cl_device_id devices[64];
	size_t bytes = 0;

	if (!p || ocl_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(devices), devices,
					    &bytes) != CL_SUCCESS)
		bytes = 0;
	if (!bytes)
		build_write(b, id, 0, result, 0, end);
	for (size_t i = 0; i < bytes / sizeof(devices[0]) && i < 64; i++) {
		struct ocl_device *a = ocl_device_get(devices[i]);
		cl_build_status built = CL_BUILD_NONE;
		cl_int status = result;
		uint32_t log = 0;

		ocl_next.clGetProgramBuildInfo(program, devices[i], CL_PROGRAM_BUILD_STATUS,
					       sizeof(built), &built, NULL);
		if (built == CL_BUILD_NONE && result == CL_SUCCESS)
			continue; /* not built for this device */
		if (built == CL_BUILD_ERROR && result == CL_SUCCESS)
			status = CL_BUILD_PROGRAM_FAILURE;
		if (built == CL_BUILD_ERROR || result != CL_SUCCESS)
			log = build_log(program, devices[i]);
		build_write(b, id, a ? a->object.id : 0, status, log, end);
	}
}

static void CL_CALLBACK build_notify(cl_program program, void *data)
{
	struct build b = *(struct build *)data;

	free(data);
	build_done(&b, program, CL_SUCCESS, tick_now());
	cap_submission_end(&b.submission);
	b.notify(program, b.data);
}

static uint32_t options_blob(const char *options)
{
	return options && *options ? cap_define_blob("build options", options, strlen(options)) : 0;
}

/*
 * Puts ourselves between the runtime and the program's callback, if there is one and the build is
 * wanted. Returns the context to hand to the runtime with build_notify(), or NULL.
 */
static struct build *build_between(const struct cap_frame *f, const char *options,
				   void (*notify)(cl_program program, void *user_data), void *data)
{
	struct build *b;

	if (!notify || !cap_call_wants(CAP_ACTIVITY_CODE_OBJECT))
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b || !cap_submission_take(&b->submission, f,
				       &core_code_object_ops[CODE_OBJECT_OP_BUILD], NULL)) {
		free(b);
		return NULL;
	}
	b->start = f->start;
	b->options = options_blob(options);
	b->notify = notify;
	b->data = data;
	return b;
}

/* After the record of a call without callback. */
static void build_returned(const struct cap_frame *f, cl_program program, const char *options,
			   cl_int result)
{
	struct build b = {.start = f->start};

	if (!cap_call_wants(CAP_ACTIVITY_CODE_OBJECT) ||
	    !cap_submission_take(&b.submission, f, &core_code_object_ops[CODE_OBJECT_OP_BUILD],
				 NULL))
		return;
	b.options = options_blob(options);
	build_done(&b, program, result, f->end);
	cap_submission_end(&b.submission);
}

/* Refused before it began: nobody will be called back. */
static void build_drop(struct build *b)
{
	cap_submission_end(&b->submission);
	free(b);
}

cl_int ocl_call_clBuildProgram(struct cap_frame *f, ocl_pfn_clBuildProgram next, cl_program program,
			       cl_uint num_devices, const cl_device_id *device_list,
			       const char *options,
			       void (*pfn_notify)(cl_program program, void *user_data),
			       void *user_data)
{
	struct build *b = build_between(f, options, pfn_notify, user_data);
	cl_int result;

	keep_options(program, options);
	if (!b)
		return next(program, num_devices, device_list, options, pfn_notify, user_data);
	result = next(program, num_devices, device_list, options, build_notify, b);
	if (result == CL_INVALID_PROGRAM || result == CL_INVALID_VALUE)
		build_drop(b);
	return result;
}

void ocl_post_clBuildProgram(struct cap_frame *f, cl_program program, cl_uint num_devices,
			     const cl_device_id *device_list, const char *options,
			     void (*pfn_notify)(cl_program program, void *user_data),
			     void *user_data, cl_int result)
{
	if (!pfn_notify)
		build_returned(f, program, options, result);
}

cl_int ocl_call_clCompileProgram(struct cap_frame *f, ocl_pfn_clCompileProgram next,
				 cl_program program, cl_uint num_devices,
				 const cl_device_id *device_list, const char *options,
				 cl_uint num_input_headers, const cl_program *input_headers,
				 const char **header_include_names,
				 void (*pfn_notify)(cl_program program, void *user_data),
				 void *user_data)
{
	struct build *b = build_between(f, options, pfn_notify, user_data);
	cl_int result;

	if (!b)
		return next(program, num_devices, device_list, options, num_input_headers,
			    input_headers, header_include_names, pfn_notify, user_data);
	result = next(program, num_devices, device_list, options, num_input_headers, input_headers,
		      header_include_names, build_notify, b);
	if (result == CL_INVALID_PROGRAM || result == CL_INVALID_VALUE)
		build_drop(b);
	return result;
}

void ocl_post_clCompileProgram(struct cap_frame *f, cl_program program, cl_uint num_devices,
			       const cl_device_id *device_list, const char *options,
			       cl_uint num_input_headers, const cl_program *input_headers,
			       const char **header_include_names,
			       void (*pfn_notify)(cl_program program, void *user_data),
			       void *user_data, cl_int result)
{
	if (!pfn_notify)
		build_returned(f, program, options, result);
}

cl_program ocl_call_clLinkProgram(struct cap_frame *f, ocl_pfn_clLinkProgram next,
				  cl_context context, cl_uint num_devices,
				  const cl_device_id *device_list, const char *options,
				  cl_uint num_input_programs, const cl_program *input_programs,
				  void (*pfn_notify)(cl_program program, void *user_data),
				  void *user_data, cl_int *errcode_ret)
{
	struct build *b = build_between(f, options, pfn_notify, user_data);
	cl_program program;

	if (!b)
		return next(context, num_devices, device_list, options, num_input_programs,
			    input_programs, pfn_notify, user_data, errcode_ret);
	program = next(context, num_devices, device_list, options, num_input_programs,
		       input_programs, build_notify, b, errcode_ret);
	if (!program && *errcode_ret != CL_LINK_PROGRAM_FAILURE)
		build_drop(b);
	return program;
}

void ocl_post_clLinkProgram(struct cap_frame *f, cl_context context, cl_uint num_devices,
			    const cl_device_id *device_list, const char *options,
			    cl_uint num_input_programs, const cl_program *input_programs,
			    void (*pfn_notify)(cl_program program, void *user_data),
			    void *user_data, cl_int *errcode_ret, cl_program result)
{
	/* A callback on another thread may have been first to see the program. */
	if (result && !ocl_find(OCL_PROGRAM, result))
		program_new(result, "linked", 0, pfn_notify == NULL);
	if (!pfn_notify)
		build_returned(f, result, options, *errcode_ret);
}

/* ---- kernels ---- */

static void kernel_define(uint32_t id, cl_kernel kernel, const char *name, uint32_t program,
			  void (*define)(const struct wire_def *d))
{
	struct wire_def d;

	wire_def_init(&d, DEF_KERNEL);
	wire_def_u64(&d, id);
	wire_def_string(&d, "opencl");
	wire_def_string(&d, name);
	wire_def_u64(&d, program);
	wire_def_u64(&d, (uintptr_t)kernel);
	wire_def_u64(&d, tick_now());
	define(&d);
}

/* `name` and `program` may be NULL: the runtime is asked. */
static uint32_t kernel_new(cl_kernel kernel, const char *name, cl_program program, bool replace)
{
	char asked[KERNEL_NAME_MAX] = "";
	struct ocl_kernel *k, *old;
	struct ocl_program *p;
	uint32_t id;

	if (!name && ocl_next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(asked) - 1,
					      asked, NULL) == CL_SUCCESS)
		name = asked;
	if (!program)
		ocl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program,
					 NULL);
	p = program_get(program);
	k = ocl_object_new(OCL_KERNEL);
	if (!k || !name) {
		ocl_object_free(OCL_KERNEL, k ? &k->object : NULL);
		return 0;
	}
	k->object.handle = kernel;
	k->object.id = id = cap_new_id(DEF_KERNEL);
	k->program = p ? p->object.id : 0;
	kernel_define(id, kernel, name, k->program, cap_define);
	old = (struct ocl_kernel *)ocl_insert(OCL_KERNEL, &k->object, replace);
	if (old && replace)
		ocl_object_free(OCL_KERNEL, &old->object);
	return old && !replace ? old->object.id : id;
}

uint32_t ocl_kernel_learn(cl_kernel kernel)
{
	return kernel_new(kernel, NULL, NULL, false);
}

const char *ocl_kernel_name(cl_kernel kernel)
{
	struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, kernel);

	if (k && !k->name)
		kymo_ref_name("kernel", k->object.id, &k->name);
	return k ? k->name : NULL;
}

uint32_t ocl_placeholder_kernel_id(enum ocl_placeholder_kernel which)
{
	static const char *const names[] = {
		[OCL_KERNEL_NATIVE] = "native kernel", [OCL_KERNEL_BUFFER] = "(command buffer)"};
	uint32_t id = 0, made;

	if (cap_likely(atomic_load(&placeholder_defined[which])))
		return atomic_load(&placeholder_kernels[which]);
	made = cap_new_id(DEF_KERNEL);
	if (atomic_compare_exchange_strong(&placeholder_kernels[which], &id, made)) {
		kernel_define(made, NULL, names[which], 0, cap_define);
		id = made;
	} else {
		kernel_define(id, NULL, names[which], 0, cap_define_also);
	}
	atomic_store(&placeholder_defined[which], true);
	return id;
}

void ocl_post_clCreateKernel(struct cap_frame *f, cl_program program, const char *kernel_name,
			     cl_int *errcode_ret, cl_kernel result)
{
	if (result)
		kernel_new(result, kernel_name, program, true);
}

void ocl_post_clCreateKernelsInProgram(struct cap_frame *f, cl_program program, cl_uint num_kernels,
				       cl_kernel *kernels, cl_uint *num_kernels_ret, cl_int result)
{
	cl_uint n = num_kernels_ret ? *num_kernels_ret : num_kernels;

	for (cl_uint i = 0; result == CL_SUCCESS && kernels && i < n && i < num_kernels; i++)
		kernel_new(kernels[i], NULL, program, true);
}

void ocl_post_clCloneKernel(struct cap_frame *f, cl_kernel source_kernel, cl_int *errcode_ret,
			    cl_kernel result)
{
	if (result)
		kernel_new(result, NULL, NULL, true);
	ocl_arguments_clone(source_kernel, result);
}

void ocl_pre_clRetainKernel(struct cap_frame *f, cl_kernel kernel)
{
	ocl_retain(OCL_KERNEL, kernel);
}

void ocl_pre_clReleaseKernel(struct cap_frame *f, cl_kernel kernel)
{
	ocl_object_free(OCL_KERNEL, ocl_release(OCL_KERNEL, kernel));
}

void ocl_programs_fork_child(void)
{
	for (unsigned i = 0; i < OCL_PLACEHOLDER_KERNELS; i++) {
		atomic_store(&placeholder_defined[i], false);
		atomic_store(&placeholder_kernels[i], 0);
	}
}
