/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels could write if they ran: their arguments, which OpenCL does not tell, and what their
 * program's source has besides. What is not known counts as written.
 */
#include "capture/opencl/count.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_hooks.h"

#define ARGUMENTS_MAX 4096u

/* ---- arguments ---- */

static struct ocl_argument *argument(cl_kernel kernel, cl_uint i)
{
	struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, kernel);
	struct ocl_argument *more;

	if (!k || i >= ARGUMENTS_MAX)
		return NULL;
	if (i >= k->argument_room) {
		more = realloc(k->arguments, (i + 8u) * sizeof(*more));
		if (!more)
			return NULL;
		k->arguments = more;
		k->argument_room = i + 8u;
	}
	while (k->argument_count <= i)
		k->arguments[k->argument_count++] = (struct ocl_argument){.set = false};
	return &k->arguments[i];
}

/* A handle may be a number as well: whether it is one is looked up when the kernel is launched. */
void ocl_post_clSetKernelArg(struct cap_frame *f, cl_kernel kernel, cl_uint arg_index,
			     size_t arg_size, const void *arg_value, cl_int result)
{
	struct ocl_argument *a;

	if (!cap_counts_kernels() || result != CL_SUCCESS)
		return;
	a = argument(kernel, arg_index);
	if (!a)
		return;
	*a = (struct ocl_argument){.set = true};
	if (arg_value && arg_size == sizeof(a->mem))
		memcpy(&a->mem, arg_value, sizeof(a->mem));
}

static void set_pointer(cl_kernel kernel, cl_uint i, const void *value, cl_int result)
{
	struct ocl_argument *a = cap_counts_kernels() && result == CL_SUCCESS ? argument(kernel, i)
									       : NULL;

	if (a)
		*a = (struct ocl_argument){.set = true, .pointer = value != NULL};
}

void ocl_post_clSetKernelArgSVMPointer(struct cap_frame *f, cl_kernel kernel, cl_uint arg_index,
				       const void *arg_value, cl_int result)
{
	set_pointer(kernel, arg_index, arg_value, result);
}

void ocl_post_clSetKernelArgSVMPointerARM(struct cap_frame *f, cl_kernel kernel, cl_uint arg_index,
					  const void *arg_value, cl_int result)
{
	set_pointer(kernel, arg_index, arg_value, result);
}

void ocl_post_clSetKernelArgMemPointerINTEL(struct cap_frame *f, cl_kernel kernel,
					    cl_uint arg_index, const void *arg_value,
					    cl_int result)
{
	set_pointer(kernel, arg_index, arg_value, result);
}

static void shares(cl_kernel kernel, cl_int result)
{
	struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, kernel);

	if (k && result == CL_SUCCESS)
		k->shares = true;
}

void ocl_post_clSetKernelExecInfo(struct cap_frame *f, cl_kernel kernel,
				  cl_kernel_exec_info param_name, size_t param_value_size,
				  const void *param_value, cl_int result)
{
	shares(kernel, result);
}

void ocl_post_clSetKernelExecInfoARM(struct cap_frame *f, cl_kernel kernel,
				     cl_kernel_exec_info_arm param_name, size_t param_value_size,
				     const void *param_value, cl_int result)
{
	shares(kernel, result);
}

void ocl_arguments_clone(cl_kernel source, cl_kernel clone)
{
	struct ocl_kernel *from = (struct ocl_kernel *)ocl_find(OCL_KERNEL, source);
	struct ocl_kernel *to = (struct ocl_kernel *)ocl_find(OCL_KERNEL, clone);

	if (!from || !to || !cap_counts_kernels())
		return;
	to->shares = from->shares;
	if (from->argument_count && argument(clone, from->argument_count - 1))
		memcpy(to->arguments, from->arguments,
		       from->argument_count * sizeof(*from->arguments));
}

/* ---- the program's source ---- */

static char *info_text(cl_program program, cl_program_info what)
{
	size_t size = 0;
	char *text;

	if (ocl_next.clGetProgramInfo(program, what, 0, NULL, &size) != CL_SUCCESS || size < 2)
		return NULL;
	text = calloc(1, size + 1);
	if (text && ocl_next.clGetProgramInfo(program, what, size, text, NULL) != CL_SUCCESS) {
		free(text);
		return NULL;
	}
	return text;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Comments and what is quoted become spaces. */
static void blank(char *s)
{
	while (*s) {
		char *end = NULL;

		if (s[0] == '/' && s[1] == '*')
			end = strstr(s + 2, "*/") ? strstr(s + 2, "*/") + 2 : s + strlen(s);
		else if (s[0] == '/' && s[1] == '/')
			end = s + strcspn(s, "\n");
		if (!end) {
			s++;
			continue;
		}
		memset(s, ' ', (size_t)(end - s));
		s = end;
	}
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = strstr(text, word); s; s = strstr(s + 1, word))
		if ((s == text || !is_word(s[-1])) && !is_word(s[n]))
			return true;
	return false;
}

/* "global" where it makes a variable of the program: outside of functions and their parameters, or behind "static". */
static bool has_variables(const char *text)
{
	int braces = 0, parens = 0;
	bool is_static = false;

	for (const char *s = text; *s; s++) {
		size_t n = 0;

		braces += (*s == '{') - (*s == '}');
		parens += (*s == '(') - (*s == ')');
		if (strchr(";{}", *s))
			is_static = false;
		while (is_word(s[n]))
			n++;
		if (!n)
			continue;
		if (n == 6 && strncmp(s, "static", n) == 0)
			is_static = true;
		if (((n == 6 && strncmp(s, "global", n) == 0) ||
		     (n == 8 && strncmp(s, "__global", n) == 0)) &&
		    !parens && (!braces || is_static))
			return true;
		s += n - 1;
	}
	return false;
}

/* What others than its arguments would notice of a second run. */
static const char *source_changes(char *text)
{
	blank(text);
	if (strstr(text, "printf"))
		return "their program uses printf, whose output would be repeated";
	if (has_word(text, "enqueue_kernel"))
		return "their program launches kernels itself (enqueue_kernel)";
	if (strstr(text, "#include") || strstr(text, "# include"))
		return "their program's source includes files that are not known";
	if (has_variables(text))
		return "their program has global variables, which could not be put back";
	if (has_word(text, "pipe") || strstr(text, "write_pipe"))
		return "their program uses pipes";
	return NULL;
}

static const char *program_changes(cl_kernel kernel)
{
	cl_program program = NULL;
	const char *why;
	char *text;

	ocl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	text = program ? info_text(program, CL_PROGRAM_SOURCE) : NULL;
	if (!text)
		return "their program's source is not known (made from a binary, from IL, linked, or "
		       "built in)";
	why = source_changes(text);
	free(text);
	return why;
}

const char *ocl_kernel_changes(cl_kernel kernel)
{
	struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, kernel);
	cl_uint count = 0;

	if (!k || ocl_next.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count,
					   NULL) != CL_SUCCESS)
		return "the runtime tells nothing of the kernel";
	if (k->shares)
		return "they use shared virtual memory (clSetKernelExecInfo)";
	for (cl_uint i = 0; i < count; i++) {
		if (i >= k->argument_count || !k->arguments[i].set)
			return "an argument was set before kernels were counted, or in a way that is "
			       "not known";
		if (k->arguments[i].pointer)
			return "they use shared virtual memory (clSetKernelArgSVMPointer)";
	}
	if (!k->looked) {
		k->changes = program_changes(kernel);
		k->looked = true;
	}
	return k->changes;
}
