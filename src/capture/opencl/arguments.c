/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels could write if they ran: their arguments, which OpenCL does not tell, and what their
 * program's source has besides. What is not known counts as written.
 */
#include "capture/opencl/arguments.h"
#include "core/counter/lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_hooks.h"

#define ARGUMENTS_MAX 4096u

/* ---- arguments ---- */

static void forget(struct ocl_argument *a)
{
	*a = (struct ocl_argument){.value = a->value, .room = a->room};
}

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
		memset(more + k->argument_room, 0, (i + 8u - k->argument_room) * sizeof(*more));
		k->arguments = more;
		k->argument_room = i + 8u;
	}
	while (k->argument_count <= i)
		forget(&k->arguments[k->argument_count++]);
	return &k->arguments[i];
}

static void keep_value(struct ocl_argument *a, const void *value, size_t size)
{
	unsigned char *more = a->value;

	if (!cap_lines_wanted())
		return;
	if (value && size > a->room) {
		more = realloc(a->value, size);
		if (!more)
			return;
		a->value = more;
		a->room = size;
	}
	if (value)
		memcpy(a->value, value, size);
	a->known = true;
	a->valued = value != NULL;
	a->size = size;
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
	forget(a);
	a->set = true;
	if (arg_value && arg_size == sizeof(a->mem))
		memcpy(&a->mem, arg_value, sizeof(a->mem));
	keep_value(a, arg_value, arg_size);
}

static struct ocl_argument *set_pointer(cl_kernel kernel, cl_uint i, const void *value,
					cl_int result)
{
	struct ocl_argument *a =
		cap_counts_kernels() && result == CL_SUCCESS ? argument(kernel, i) : NULL;

	if (a) {
		forget(a);
		a->set = true;
		a->pointer = value != NULL;
	}
	return a;
}

void ocl_post_clSetKernelArgSVMPointer(struct cap_frame *f, cl_kernel kernel, cl_uint arg_index,
				       const void *arg_value, cl_int result)
{
	struct ocl_argument *a = set_pointer(kernel, arg_index, arg_value, result);

	if (a)
		keep_value(a, &arg_value, sizeof(arg_value));
}

void ocl_post_clSetKernelArgSVMPointerARM(struct cap_frame *f, cl_kernel kernel, cl_uint arg_index,
					  const void *arg_value, cl_int result)
{
	set_pointer(kernel, arg_index, arg_value, result);
}

void ocl_post_clSetKernelArgMemPointerINTEL(struct cap_frame *f, cl_kernel kernel,
					    cl_uint arg_index, const void *arg_value, cl_int result)
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
	if (!from->argument_count || !argument(clone, from->argument_count - 1))
		return;
	for (uint32_t i = 0; i < from->argument_count; i++) {
		const struct ocl_argument *a = &from->arguments[i];

		forget(&to->arguments[i]);
		to->arguments[i].set = a->set;
		to->arguments[i].pointer = a->pointer;
		to->arguments[i].mem = a->mem;
		if (a->known)
			keep_value(&to->arguments[i], a->valued ? a->value : NULL, a->size);
	}
}

static cl_int set_again(cl_kernel to, cl_uint i, const struct ocl_argument *a)
{
	const void *pointer;

	if (!a->pointer)
		return ocl_next.clSetKernelArg(to, i, a->size, a->valued ? a->value : NULL);
	memcpy(&pointer, a->value, sizeof(pointer));
	return ocl_next.clSetKernelArgSVMPointer ? ocl_next.clSetKernelArgSVMPointer(to, i, pointer)
						 : CL_INVALID_OPERATION;
}

const char *ocl_arguments_copy(cl_kernel from, cl_kernel to)
{
	const struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, from);
	cl_uint count = 0;

	if (!k || ocl_next.clGetKernelInfo(from, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL) !=
			  CL_SUCCESS)
		return "the runtime tells nothing of it";
	if (k->shares)
		return "it uses shared virtual memory that no argument names "
		       "(clSetKernelExecInfo)";
	for (cl_uint i = 0; i < count; i++) {
		if (i >= k->argument_count || !k->arguments[i].known)
			return "an argument was set before kernels were instrumented, or in a way "
			       "that is not known";
		if (set_again(to, i, &k->arguments[i]) != CL_SUCCESS)
			return "the instrumented kernel did not take an argument";
	}
	return NULL;
}

/* ---- the program's source ---- */

char *ocl_program_text(cl_program program, cl_program_info what)
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

/* A line that others continue. */
static char *line_end(char *s)
{
	while (*s && *s != '\n')
		s += s[0] == '\\' && s[1] ? 2 : 1;
	return s;
}

static char *attribute_end(char *s)
{
	int parens = 0;

	for (s += strcspn(s, "("); *s; s++) {
		parens += (*s == '(') - (*s == ')');
		if (!parens)
			return s + 1;
	}
	return s;
}

/* Where what is not looked at ends that begins here; NULL: nothing does. */
static char *passed_over(char *s, bool directives)
{
	char *end;

	if (s[0] == '/' && s[1] == '/')
		return line_end(s);
	if (s[0] == '/' && s[1] == '*') {
		end = strstr(s + 2, "*/");
		return end ? end + 2 : s + strlen(s);
	}
	if (directives && s[0] == '#')
		return line_end(s);
	return directives && strncmp(s, "__attribute__", 13) == 0 ? attribute_end(s) : NULL;
}

/* Comments become spaces, and preprocessor directives and attributes where they are in the way. */
static void blank(char *s, bool directives)
{
	while (*s) {
		char *end = passed_over(s, directives);

		if (end)
			memset(s, ' ', (size_t)(end - s));
		s = end ? end : s + 1;
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

/* What a declaration outside of functions has had so far. */
struct declaration {
	unsigned words;
	bool tag;      /* it began with struct, union or enum */
	bool ordinary; /* it makes no variable that kernels write: a type, a constant, a function */
};

static bool is(const char *word, size_t n, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == n && strncmp(word, *list, n) == 0)
			return true;
	return false;
}

static void take_word(struct declaration *d, const char *word, size_t n)
{
	static const char *const tags[] = {"struct", "union", "enum", NULL};
	static const char *const ordinary[] = {"typedef",   "constant", "__constant",
					       "sampler_t", "extern",   NULL};

	d->tag |= !d->words && is(word, n, tags);
	d->ordinary |= is(word, n, ordinary);
	d->words++;
}

/* "global" that no parameter and no pointer has: a variable that lasts, inside of functions as well. */
static bool has_static_global(const char *text)
{
	static const char *const global[] = {"global", "__global", NULL};
	static const char *const lasting[] = {"static", NULL};
	bool is_static = false;
	int parens = 0;

	for (const char *s = text; *s; s++) {
		size_t n = 0;

		parens += (*s == '(') - (*s == ')');
		if (strchr(";{}", *s))
			is_static = false;
		while (is_word(s[n]))
			n++;
		is_static |= n && is(s, n, lasting);
		if (n && !parens && is_static && is(s, n, global))
			return true;
		s += n ? n - 1 : 0;
	}
	return false;
}

/* Outside of functions all that is no type, constant or function is a variable that lasts. */
static bool has_variables(const char *text)
{
	struct declaration d = {0};
	int braces = 0;

	for (const char *s = text; *s; s++) {
		size_t n = 0;

		while (is_word(s[n]))
			n++;
		if (n && !braces)
			take_word(&d, s, n);
		s += n ? n - 1 : 0;
		braces += (*s == '{') - (*s == '}');
		d.ordinary |= !braces && *s == '(';
		if (braces || (*s != ';' && (*s != '}' || !d.ordinary)))
			continue;
		if (*s == ';' && !d.ordinary && d.words > (d.tag ? 2u : 1u))
			return true;
		d = (struct declaration){0}; /* behind it, or behind the body of a function */
	}
	return false;
}

bool ocl_source_lasts(char *text)
{
	blank(text, false);
	blank(text, true);
	return has_static_global(text) || has_variables(text);
}

const char *ocl_source_changes(char *text)
{
	blank(text, false);
	if (strstr(text, "printf"))
		return "their program uses printf, whose output would be repeated";
	if (has_word(text, "enqueue_kernel"))
		return "their program launches kernels itself (enqueue_kernel)";
	if (strstr(text, "#include") || strstr(text, "# include"))
		return "their program's source includes files that are not known";
	if (has_word(text, "pipe") || strstr(text, "write_pipe"))
		return "their program uses pipes";
	if (ocl_source_lasts(text))
		return "their program has global variables, which could not be put back";
	return NULL;
}

static const char *program_changes(cl_kernel kernel)
{
	cl_program program = NULL;
	const char *why;
	char *text;

	ocl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	text = program ? ocl_program_text(program, CL_PROGRAM_SOURCE) : NULL;
	if (!text)
		return ocl_source_unknown(program);
	why = ocl_source_changes(text);
	free(text);
	return why;
}

void ocl_kernel_is(cl_kernel kernel, const char *changes)
{
	struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, kernel);

	if (!k)
		return;
	k->changes = changes;
	k->looked = true;
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
			return "an argument was set before kernels were counted, or in a way that "
			       "is "
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
