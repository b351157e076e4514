/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of instrumented kernels: their context, their arguments, what they counted. */
#include "capture/opencl/instrument.h"
#include "capture/opencl/arguments.h"
#include "capture/opencl/program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

/* The words of the context that a kernel counts in, before its slots. */
enum { VERSION, SLOTS, BLOCKS, OWN_SLOTS, RECORDS, RECORDED, RECORDS_AT, GROUPS, HEAD };

#define SHARED_SLOTS 64u
#define COUNTS_MAX   (8u << 20) /* in all slots */

/* ---- notes ---- */

#define TOLD 256u

/* What the notes of the end say, in the order in which it came; texts live for ever. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
static struct told {
	const char *text;
	uint64_t launches;
	int severity;
} told[TOLD];

static void tell(int severity, const char *text)
{
	uint32_t i = 0;

	pthread_mutex_lock(&telling);
	while (i < TOLD - 1 && told[i].text && strcmp(told[i].text, text) != 0)
		i++;
	if (!told[i].text)
		told[i] = (struct told){ocl_text_for_ever(text), 0, severity};
	told[i].launches++;
	pthread_mutex_unlock(&telling);
}

void ocl_instrument_tell(void)
{
	pthread_mutex_lock(&telling);
	for (uint32_t i = 0; i < TOLD && told[i].text; i++)
		cap_note_count(told[i].severity, "instrument", told[i].text, told[i].launches);
	memset(told, 0, sizeof(told));
	pthread_mutex_unlock(&telling);
}

static void tell_of(cl_kernel kernel, const char *what, const char *why)
{
	const struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, kernel);
	struct text t = {0};

	text_addf(&t, "launches of %s %s: %s", k && k->name ? k->name : "a kernel", what, why);
	tell(2, t.s ? t.s : why);
	text_release(&t);
}

void ocl_not_instrumented(cl_kernel kernel, const char *why)
{
	tell_of(kernel, "were not instrumented", why);
}

void ocl_accesses_not_recorded(cl_kernel kernel, const char *why)
{
	tell_of(kernel, "are without accesses", why);
}

void ocl_copies_not_recorded(cl_kernel kernel)
{
	tell_of(kernel, "are in part without accesses",
		"those of async_work_group_copy have no records");
}

static void tell_run(cl_kernel kernel, bool as_program, const char *why)
{
	if (as_program)
		tell_of(kernel,
			"ran instrumented and not as they are, so that their times are not the "
			"kernel's",
			why);
	else
		tell(1,
		     "launches of kernels ran once more, instrumented; what that had written was "
		     "put back");
}

void ocl_instrument_fork_child(void)
{
	pthread_mutex_init(&telling, NULL);
	memset(told, 0, sizeof(told));
}

/* ---- the context ---- */

/* All but the records. */
static size_t bytes_of(const struct ocl_counts *c)
{
	return (HEAD + c->slots * c->blocks) * sizeof(*c->words);
}

size_t ocl_launch_group(const struct ocl_launch *l)
{
	size_t items = l->local ? 1 : 0;

	for (cl_uint i = 0; l->local && i < l->dims; i++)
		items *= l->local[i];
	return items;
}

size_t ocl_launch_groups(const struct ocl_launch *l)
{
	size_t groups = 1;

	for (cl_uint i = 0; i < l->dims; i++) {
		if (!l->local || !l->local[i])
			return 0;
		groups *= (l->global[i] + l->local[i] - 1) / l->local[i];
	}
	return groups;
}

bool ocl_one_by_one(cl_device_id device)
{
	cl_platform_id platform = NULL;
	char name[128] = "";

	ocl_next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	ocl_next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	return strcmp(name, "Portable Computing Language") == 0;
}

bool ocl_twin_ticks(const struct ocl_twin *t)
{
#if defined(__x86_64__)
	return (t->records & KYMO_HANDLER_BLOCKS) && ocl_one_by_one(t->device) && tick_is_counter();
#else
	return false;
#endif
}

bool ocl_device_has_clock(cl_device_id device)
{
	size_t size = 0;
	char *names;
	bool has;

	if (ocl_next.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS)
		return false;
	names = calloc(1, size + 1);
	if (names)
		ocl_next.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, names, NULL);
	has = names && strstr(names, "cl_khr_kernel_clock");
	free(names);
	return has;
}

static size_t items_of(const struct ocl_launch *l)
{
	size_t items = 1;

	for (cl_uint i = 0; i < l->dims; i++)
		items *= l->global[i];
	return items;
}

enum ocl_twin_slots ocl_twin_slots_for(const struct ocl_twin *t, const struct ocl_launch *l,
				       size_t *count)
{
	const size_t most = COUNTS_MAX / (t->counted.rewritten.blocks.count + 1u),
		     groups = ocl_launch_groups(l), items = items_of(l);

	*count = SHARED_SLOTS;
	if (!ocl_one_by_one(t->device) || groups > most)
		return OCL_SLOTS_SHARED;
	if (groups) {
		*count = groups;
		return OCL_SLOTS_OWN;
	}
	*count = items < most / 8 ? items : most / 8; /* few groups, most likely */
	*count += !*count;
	return OCL_SLOTS_MAYBE;
}

static const char *counts_new(struct ocl_counts *c, const struct ocl_twin *t,
			      enum ocl_twin_slots how)
{
	cl_int error = CL_SUCCESS;

	c->words = calloc(1, bytes_of(c));
	if (!c->words)
		return "there was no memory for it";
	c->own_slots = how == OCL_SLOTS_OWN;
	c->buffer = ocl_next.clCreateBuffer(t->context, CL_MEM_READ_WRITE,
					    bytes_of(c) + c->records * sizeof(kymo_access_t), NULL,
					    &error);
	return c->buffer ? NULL : "the device had no memory for what it counts";
}

bool ocl_counts_clear(struct ocl_counts *c, cl_command_queue queue, struct ocl_groups groups)
{
	memset(c->words, 0, bytes_of(c));
	c->words[VERSION] = 1;
	c->words[SLOTS] = c->slots;
	c->words[BLOCKS] = c->blocks;
	c->words[OWN_SLOTS] = c->own_slots;
	c->words[RECORDS] = c->records;
	c->words[RECORDS_AT] = HEAD + c->slots * c->blocks;
	c->words[GROUPS] = groups.first | (uint64_t)groups.count << 32;
	return ocl_next.clEnqueueWriteBuffer(queue, c->buffer, CL_TRUE, 0, bytes_of(c), c->words, 0,
					     NULL, NULL) == CL_SUCCESS;
}

/* All slots become the first. */
static bool counts_read(struct ocl_counts *c, cl_command_queue queue)
{
	uint64_t *sums = c->words + HEAD;

	if (ocl_next.clEnqueueReadBuffer(queue, c->buffer, CL_TRUE, 0, bytes_of(c), c->words, 0,
					 NULL, NULL) != CL_SUCCESS)
		return false;
	for (size_t s = 1; s < c->slots; s++)
		for (size_t b = 0; b < c->blocks; b++)
			sums[b] += sums[s * c->blocks + b];
	return true;
}

uint64_t ocl_counts_recorded(struct ocl_counts *c, cl_command_queue queue)
{
	if (ocl_next.clEnqueueReadBuffer(queue, c->buffer, CL_TRUE, 0, HEAD * sizeof(*c->words),
					 c->words, 0, NULL, NULL) != CL_SUCCESS)
		return UINT64_MAX;
	return c->words[RECORDED];
}

bool ocl_counts_records(const struct ocl_counts *c, cl_command_queue queue, kymo_access_t *out,
			size_t count)
{
	return !count ||
	       ocl_next.clEnqueueReadBuffer(queue, c->buffer, CL_TRUE, bytes_of(c),
					    count * sizeof(*out), out, 0, NULL, NULL) == CL_SUCCESS;
}

void ocl_counts_release(struct ocl_counts *c)
{
	if (c->buffer)
		ocl_next.clReleaseMemObject(c->buffer);
	free(c->words);
}

/* ---- running ---- */

static size_t group_most(cl_kernel kernel, cl_device_id device)
{
	size_t most = 0;

	return ocl_next.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE,
						 sizeof(most), &most, NULL) == CL_SUCCESS
		       ? most
		       : SIZE_MAX;
}

/* NVIDIA's runtime says 256 of every kernel, and runs larger groups: where that is less than the launch has, it tells nothing. */
static const char *fits(cl_kernel twin, const struct ocl_twin *t, const struct ocl_launch *l)
{
	const size_t group = ocl_launch_group(l);

	return group > group_most(twin, t->device) && group <= group_most(l->kernel, t->device)
		       ? "its groups are larger than the instrumented kernel's may be"
		       : NULL;
}

const char *ocl_twin_enqueue(cl_kernel twin, const struct ocl_launch *l, bool as_program,
			     bool *taken)
{
	cl_event own = NULL, *event = as_program && l->event ? l->event : &own;
	cl_int status = CL_QUEUED;
	char text[96];

	cl_int result = l->next(l->queue, twin, l->dims, l->offset, l->global, l->local,
				as_program ? l->waits : 0, as_program ? l->wait_list : NULL, event);

	*taken = result == CL_SUCCESS;
	if (*taken) {
		result = ocl_next.clWaitForEvents(1, event);
		ocl_next.clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
					&status, NULL);
	}
	if (own)
		ocl_next.clReleaseEvent(own);
	if (status == CL_COMPLETE)
		return NULL;
	snprintf(text, sizeof(text), "the instrumented kernel did not run (OpenCL error %d)",
		 (int)(result == CL_SUCCESS ? status : result));
	return ocl_text_for_ever(text);
}

/* From the program for groups of all sizes, or for those of `group`, that may run groups as large as the launch's. */
static cl_kernel kernel_from(struct ocl_twin *t, const struct ocl_launch *l,
			     enum ocl_twin_slots slots, const size_t *group, const char **why)
{
	const struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, l->kernel);
	cl_program program = ocl_twin_program(t, slots, group, why);
	cl_int error = CL_SUCCESS;
	cl_kernel twin;

	if (!program)
		return NULL;
	twin = ocl_next.clCreateKernel(program, k->name, &error);
	*why = twin ? fits(twin, t, l) : "its instrumented program does not have it";
	if (!*why)
		return twin;
	if (twin)
		ocl_next.clReleaseKernel(twin);
	return NULL;
}

cl_kernel ocl_twin_kernel(struct ocl_twin *t, const struct ocl_launch *l, struct ocl_counts *c,
			  const char **why)
{
	enum ocl_twin_slots slots = ocl_twin_slots_for(t, l, &c->slots);
	size_t group[3] = {1, 1, 1};
	cl_uint arguments = 0;
	cl_kernel twin;

	c->blocks = t->counted.rewritten.blocks.count;
	twin = kernel_from(t, l, slots, NULL, why);
	for (cl_uint i = 0; i < l->dims && l->local; i++)
		group[i] = l->local[i];
	if (!twin && l->local)
		twin = kernel_from(t, l, slots, group, why);
	if (twin)
		*why = ocl_arguments_copy(l->kernel, twin);
	if (!*why)
		*why = counts_new(c, t, slots);
	ocl_next.clGetKernelInfo(l->kernel, CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments,
				 NULL);
	if (!*why &&
	    ocl_next.clSetKernelArg(twin, arguments, sizeof(c->buffer), &c->buffer) != CL_SUCCESS)
		*why = "the instrumented kernel did not take an argument";
	return twin;
}

bool ocl_twin_run(struct ocl_twin *t, const struct cap_launch *launch, const struct ocl_launch *l,
		  bool as_program, uint64_t *accesses, const char **why)
{
	const struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, l->kernel);
	struct cap_line_counts out = {.launch = launch, .instead = as_program};
	const char *instead_for = *why;
	struct ocl_counts c = {.buffer = NULL};
	bool taken = false;
	cl_kernel twin;

	*why = NULL;
	twin = ocl_twin_kernel(t, l, &c, why);
	if (!*why && !ocl_counts_clear(&c, l->queue, (struct ocl_groups){0, 0}))
		*why = "what it counts in could not be written";
	out.start = clock_ns(CLOCK_MONOTONIC_RAW);
	if (!*why)
		*why = ocl_twin_enqueue(twin, l, as_program, &taken);
	out.end = clock_ns(CLOCK_MONOTONIC_RAW);
	if (!*why) {
		tell_run(l->kernel, as_program, instead_for);
		if (counts_read(&c, l->queue)) {
			cap_parts_write(&t->counted, &out, c.words + HEAD, k->program);
			*accesses = c.words[RECORDED];
		}
	}
	ocl_counts_release(&c);
	if (twin)
		ocl_next.clReleaseKernel(twin);
	return taken;
}
