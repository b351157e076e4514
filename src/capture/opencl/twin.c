/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins of programs. They are known by what they were made of: so two programs of one source share a twin, and a program that
 * is built again with other options gets another.
 */
#include "capture/opencl/arguments.h"
#include "capture/opencl/instrument.h"
#include "capture/opencl/program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define WHY 512u

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* held while one is made: it is made once */
static struct ocl_twin *twins;

/* ---- making ---- */

/* Not before it is known that it cannot be found. */
struct wanted {
	cl_program program;
	cl_context context;
	cl_device_id device;
	char *source, *options;
	uint32_t records;
};

static const char *ask(cl_kernel kernel, cl_command_queue queue, struct wanted *w)
{
	const struct ocl_program *p;
	const char *options;
	size_t size = 0;

	if (ocl_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(w->program), &w->program,
				     NULL) != CL_SUCCESS ||
	    ocl_next.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(w->context), &w->context,
				     NULL) != CL_SUCCESS ||
	    ocl_next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(w->device), &w->device,
					   NULL) != CL_SUCCESS)
		return "the runtime tells nothing of it";
	w->source = ocl_program_text(w->program, CL_PROGRAM_SOURCE);
	if (!w->source)
		return ocl_source_unknown(w->program);
	p = (const struct ocl_program *)ocl_find(OCL_PROGRAM, w->program);
	options = p ? atomic_load(&p->options) : NULL;
	if (options) {
		w->options = strdup(options);
		return w->options ? NULL : "there was no memory for it";
	}
	if (ocl_next.clGetProgramBuildInfo(w->program, w->device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL,
					   &size) != CL_SUCCESS)
		return "the runtime does not tell how its program was built";
	w->options = calloc(1, size + 1);
	if (!w->options)
		return "there was no memory for it";
	ocl_next.clGetProgramBuildInfo(w->program, w->device, CL_PROGRAM_BUILD_OPTIONS, size,
				       w->options, NULL);
	return NULL;
}

/* The first line of the runtime's log that tells of an error. */
static const char *build_failure(cl_program program, cl_device_id device)
{
	struct text out = {0};
	size_t size = 0;
	const char *why;
	char *log, *at;

	ocl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
	log = calloc(1, size + 1);
	if (log)
		ocl_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log,
					       NULL);
	at = log ? strstr(log, "error") : NULL;
	text_addf(&out, "its instrumented program does not build%s", at ? ": " : "");
	if (at)
		text_add_bytes(&out, at, strcspn(at, "\n") < WHY ? strcspn(at, "\n") : WHY);
	why = ocl_text_for_ever(out.s ? out.s : "its instrumented program does not build");
	text_release(&out);
	free(log);
	return why;
}

static cl_program build(struct ocl_twin *t, enum ocl_twin_slots slots, const size_t *group,
			const char **why)
{
	static const char *const defines[OCL_TWINS] = {
		[OCL_SLOTS_SHARED] = "0",
		[OCL_SLOTS_OWN] = "1",
		[OCL_SLOTS_MAYBE] =
			"(get_num_groups(0)*get_num_groups(1)*get_num_groups(2)<=kymo_context[1])"};
	const char *source = t->counted.rewritten.source;
	cl_int error = CL_SUCCESS;
	cl_program program =
		ocl_next.clCreateProgramWithSource(t->context, 1, &source, NULL, &error);
	struct text options = {0};

	text_addf(&options, "%s -w -DKYMO_OWN_SLOTS=%s", t->counted.rewritten.options,
		  defines[slots]);
	if (group)
		text_addf(&options, " -DKYMO_GROUP_X=%zu -DKYMO_GROUP_Y=%zu -DKYMO_GROUP_Z=%zu",
			  group[0], group[1], group[2]);
	if (ocl_twin_ticks(t))
		text_add(&options, " -DKYMO_CLOCK=__builtin_readcyclecounter()");
	if (!program || !options.s) {
		*why = "the runtime did not take its instrumented program";
	} else if (ocl_next.clBuildProgram(program, 1, &t->device, options.s, NULL, NULL) !=
		   CL_SUCCESS) {
		*why = build_failure(program, t->device);
		ocl_next.clReleaseProgram(program);
		program = NULL;
	}
	text_release(&options);
	return program;
}

/* Caller holds the lock. */
static cl_program program_for(struct ocl_twin *t, enum ocl_twin_slots slots, const size_t *group,
			      const char **why)
{
	struct ocl_twin_sized *z = t->sized;

	while (z && (z->slots != slots || memcmp(z->group, group, sizeof(z->group)) != 0))
		z = z->next;
	if (!z) {
		z = calloc(1, sizeof(*z));
		if (!z) {
			*why = "there was no memory for it";
			return NULL;
		}
		z->slots = slots;
		memcpy(z->group, group, sizeof(z->group));
		z->program = build(t, slots, group, &z->why);
		z->next = t->sized;
		t->sized = z;
	}
	*why = z->why;
	return z->program;
}

cl_program ocl_twin_program(struct ocl_twin *t, enum ocl_twin_slots slots, const size_t *group,
			    const char **why)
{
	cl_program program;

	pthread_mutex_lock(&lock);
	if (group) {
		program = program_for(t, slots, group, why);
	} else {
		if (!t->program[slots] && !t->why)
			t->program[slots] = build(t, slots, NULL, &t->why);
		program = t->program[slots];
		*why = program ? NULL : t->why;
	}
	pthread_mutex_unlock(&lock);
	return program;
}

static char *device_text(cl_device_id device, cl_device_info what)
{
	size_t size = 0;
	char *text;

	if (ocl_next.clGetDeviceInfo(device, what, 0, NULL, &size) != CL_SUCCESS)
		return NULL;
	text = calloc(1, size + 1);
	if (text)
		ocl_next.clGetDeviceInfo(device, what, size, text, NULL);
	return text;
}

static bool rewrite(const char *source, const char *mode, const char *options,
		    const char *extensions, struct cap_rewritten *out, char *why, size_t size)
{
	char name[] = "kymo", command[] = "rewrite";
	struct text how = {0}, with = {0}, device = {0};
	bool done = false;

	text_addf(&how, "--mode=%s", mode);
	text_addf(&with, "--options=%s", options);
	text_addf(&device, "--extensions=%s", extensions);
	if (how.failed || with.failed || device.failed)
		snprintf(why, size, "there was no memory for it");
	else
		done = cap_rewrite(source, strlen(source),
				   (char *[]){name, command, how.s, with.s, device.s, NULL}, out,
				   why, size);
	text_release(&how);
	text_release(&with);
	text_release(&device);
	return done;
}

static void make(struct ocl_twin *t)
{
	static const char *const modes[] = {
		"count", [KYMO_HANDLER_ACCESSES] = "address", [KYMO_HANDLER_BLOCKS] = "block",
		"both"};
	char why[WHY], *copy, *extensions = device_text(t->device, CL_DEVICE_EXTENSIONS);
	bool done = extensions && rewrite(t->source, modes[t->records & 3], t->options, extensions,
					  &t->counted.rewritten, why, sizeof(why));
	if (!done)
		t->why = extensions ? ocl_text_for_ever(why) : "its device tells nothing";
	free(extensions);
	if (!done)
		return;
	copy = strdup(t->counted.rewritten.source);
	if (!cap_parts_make(&t->counted) || !copy)
		t->why = "there was no memory for it";
	else if (ocl_source_lasts(copy))
		t->why = "its program has global variables, which the instrumented one would have "
			 "for itself";
	free(copy);
	copy = t->why ? NULL : strdup(t->counted.rewritten.source);
	if (copy)
		t->changes = ocl_source_changes(copy);
	free(copy);
}

static void release(struct ocl_twin *t)
{
	for (int i = 0; i < OCL_TWINS; i++)
		if (t->program[i])
			ocl_next.clReleaseProgram(t->program[i]);
	while (t->sized) {
		struct ocl_twin_sized *z = t->sized;

		t->sized = z->next;
		if (z->program)
			ocl_next.clReleaseProgram(z->program);
		free(z);
	}
	cap_parts_release(&t->counted);
	free(t->source);
	free(t->options);
	free(t);
}

/* ---- finding ---- */

static bool is_of(const struct ocl_twin *t, const struct wanted *w)
{
	return t->context == w->context && t->device == w->device && t->records == w->records &&
	       strcmp(t->source, w->source) == 0 && strcmp(t->options, w->options) == 0;
}

/* Caller holds the lock. What `w` has goes over to the twin. */
static struct ocl_twin *find_or_make(struct wanted *w)
{
	struct ocl_twin *t = twins;

	while (t && !is_of(t, w))
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->context = w->context;
	t->device = w->device;
	t->records = w->records;
	t->source = w->source;
	t->options = w->options;
	w->source = w->options = NULL;
	make(t);
	t->next = twins;
	twins = t;
	return t;
}

/* Why this one is not instrumented, though others of its program may be; or NULL. */
static const char *refused(const struct ocl_twin *t, const char *kernel)
{
	for (uint32_t i = 0; i < t->counted.rewritten.kernels.count; i++) {
		const struct cap_rewritten_part *p = &t->counted.rewritten.kernels.at[i];

		if (p->what && (strcmp(p->name, kernel) == 0 || strcmp(p->name, "*") == 0))
			return ocl_text_for_ever(p->what);
	}
	return NULL;
}

struct ocl_twin *ocl_twin_get(const struct ocl_launch *l, uint32_t records, const char **why)
{
	const struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, l->kernel);
	struct wanted w = {.records = records};
	struct ocl_twin *t = NULL;
	size_t slots;

	*why = k && k->name ? ask(l->kernel, l->queue, &w) : "the runtime tells nothing of it";
	if (!*why && !ocl_find(OCL_CONTEXT, w.context))
		*why = "the program has let go of its context";
	if (!*why) {
		pthread_mutex_lock(&lock);
		t = find_or_make(&w);
		*why = !t ? "there was no memory for it" : t->why ? t->why : refused(t, k->name);
		if (!*why)
			t->users++;
		pthread_mutex_unlock(&lock);
	}
	free(w.source);
	free(w.options);
	if (*why)
		return NULL;
	if (ocl_twin_program(t, ocl_twin_slots_for(t, l, &slots), NULL, why))
		return t;
	ocl_twin_put(t);
	return NULL;
}

void ocl_twin_put(struct ocl_twin *t)
{
	bool last;

	pthread_mutex_lock(&lock);
	last = --t->users == 0 && t->let_go;
	pthread_mutex_unlock(&lock);
	if (last)
		release(t);
}

void ocl_twins_release(const void *context)
{
	struct ocl_twin **at = &twins, *t;

	pthread_mutex_lock(&lock);
	while ((t = *at)) {
		if (t->context != context) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		t->let_go = true;
		if (!t->users)
			release(t);
	}
	pthread_mutex_unlock(&lock);
}

/* What the parent has made is none of the child's. */
void ocl_twins_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	twins = NULL;
}
