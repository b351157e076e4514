/* SPDX-License-Identifier: Apache-2.0 */
/* Options, counting and the usual OpenCL objects for the test programs. */
#include "support.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TALLIES = 512, NAME_SIZE = 48 };

struct tally {
	char group; /* 'k'ernel, 'c'opy, 'e'rror, 'f'act */
	char name[NAME_SIZE];
	const void *queue, *device;
	long tid;    /* kernels */
	long detail; /* kernels: global size; errors: code */
	long count;
	unsigned long long bytes;
};

static const char *const function_names[] = {
#define FUNCTION(name) #name,
#include "functions.def"
#undef FUNCTION
};

static const char *program_name = "program";
static const char *counts_file;
static atomic_ulong calls[N_CALLED_FUNCTIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tally tallies[MAX_TALLIES];
static size_t n_tallies;

void count_call(enum called_function function)
{
	atomic_fetch_add_explicit(&calls[function], 1, memory_order_relaxed);
}

void fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

void check(cl_int error, const char *what)
{
	if (error != CL_SUCCESS)
		fail("%s failed with OpenCL error %d", what, error);
}

void expect(const char *what, long got, long wanted)
{
	if (got != wanted)
		fail("%s is %ld, expected %ld", what, got, wanted);
}

/* --- options --------------------------------------------------------------------------------- */

static void usage(const struct program_option *options)
{
	fprintf(stderr, "usage: %s [--counts FILE]", program_name);
	for (; options && options->name; options++)
		fprintf(stderr, " [--%s %s]", options->name, options->text ? "TEXT" : "N");
	fputc('\n', stderr);
	exit(2);
}

static bool take_option(const struct program_option *options, const char *name, const char *value)
{
	char *end;

	for (; options && options->name; options++) {
		if (strcmp(options->name, name))
			continue;
		if (options->text) {
			*options->text = value;
			return true;
		}
		*options->number = strtol(value, &end, 10);
		return *value && !*end && *options->number > 0;
	}
	return false;
}

void program_start(const char *name, int argc, char **argv, const struct program_option *options)
{
	program_name = name;
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 >= argc || strncmp(argv[i], "--", 2))
			usage(options);
		if (!strcmp(argv[i], "--counts"))
			counts_file = argv[i + 1];
		else if (!take_option(options, argv[i] + 2, argv[i + 1]))
			usage(options);
	}
}

/* --- counts ---------------------------------------------------------------------------------- */

static bool is_same(const struct tally *a, const struct tally *b)
{
	return a->group == b->group && a->queue == b->queue && a->device == b->device &&
	       a->tid == b->tid && a->detail == b->detail && !strcmp(a->name, b->name);
}

static void add_tally(const struct tally *wanted)
{
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < n_tallies && !is_same(&tallies[i], wanted))
		i++;
	if (i == MAX_TALLIES)
		fail("more than %d different tallies", MAX_TALLIES);
	if (i == n_tallies) {
		tallies[n_tallies++] = *wanted;
	} else {
		tallies[i].count += wanted->count;
		tallies[i].bytes += wanted->bytes;
	}
	pthread_mutex_unlock(&lock);
}

static struct tally make_tally(char group, const char *name, long count)
{
	struct tally t = {.group = group, .count = count};

	snprintf(t.name, sizeof(t.name), "%s", name);
	return t;
}

void tally_kernels(cl_command_queue queue, cl_device_id device, const char *name, size_t global,
		   long count)
{
	struct tally t = make_tally('k', name, count);

	t.queue = queue;
	t.device = device;
	t.detail = (long)global;
	t.tid = gettid();
	add_tally(&t);
}

void tally_copy(const char *kind, size_t bytes)
{
	struct tally t = make_tally('c', kind, 1);

	t.bytes = bytes;
	add_tally(&t);
}

void tally_error(const char *function, cl_int code)
{
	struct tally t = make_tally('e', function, 1);

	t.detail = code;
	add_tally(&t);
}

void tally_fact(const char *name, long value)
{
	struct tally t = make_tally('f', name, value);

	add_tally(&t);
}

static void write_calls(FILE *out)
{
	const char *separator = "";

	fprintf(out, " \"calls\": {");
	for (int i = 0; i < N_CALLED_FUNCTIONS; i++) {
		if (!calls[i])
			continue;
		fprintf(out, "%s\n  \"%s\": %lu", separator, function_names[i], calls[i]);
		separator = ",";
	}
	fprintf(out, "},\n");
}

static void write_tally(FILE *out, const struct tally *t)
{
	switch (t->group) {
	case 'k':
		fprintf(out,
			"{\"queue\": \"%p\", \"device\": \"%p\", \"tid\": %ld, \"name\": \"%s\", "
			"\"global\": %ld, \"count\": %ld}",
			t->queue, t->device, t->tid, t->name, t->detail, t->count);
		break;
	case 'c':
		fprintf(out, "\"%s\": {\"count\": %ld, \"bytes\": %llu}", t->name, t->count,
			t->bytes);
		break;
	case 'e':
		fprintf(out, "{\"function\": \"%s\", \"code\": %ld, \"count\": %ld}", t->name,
			t->detail, t->count);
		break;
	default:
		fprintf(out, "\"%s\": %ld", t->name, t->count);
	}
}

static void write_group(FILE *out, const char *name, char group, char open, char close)
{
	const char *separator = "";

	fprintf(out, " \"%s\": %c", name, open);
	for (size_t i = 0; i < n_tallies; i++) {
		if (tallies[i].group != group)
			continue;
		fprintf(out, "%s\n  ", separator);
		write_tally(out, &tallies[i]);
		separator = ",";
	}
	fprintf(out, "%c%s\n", close, group == 'f' ? "}" : ",");
}

static void write_counts(void)
{
	FILE *out = fopen(counts_file, "w");

	if (!out)
		fail("cannot write %s", counts_file);
	fprintf(out, "{\"program\": \"%s\", \"pid\": %ld,\n", program_name, (long)getpid());
	write_calls(out);
	write_group(out, "kernels", 'k', '[', ']');
	write_group(out, "copies", 'c', '{', '}');
	write_group(out, "errors", 'e', '[', ']');
	write_group(out, "facts", 'f', '{', '}');
	if (fclose(out))
		fail("cannot write %s", counts_file);
}

int program_end(void)
{
	if (counts_file)
		write_counts();
	printf("%s: ok\n", program_name);
	return EXIT_SUCCESS;
}

/* --- OpenCL objects -------------------------------------------------------------------------- */

cl_device_id first_device(void)
{
	cl_platform_id platforms[16];
	cl_device_id device;
	cl_uint n = 0;

	CHECK(clGetPlatformIDs, 16, platforms, &n);
	for (cl_uint i = 0; i < n && i < 16; i++)
		if (!CALL(clGetDeviceIDs, platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
			return device;
	fail("no OpenCL device");
}

cl_context make_context(cl_device_id device)
{
	cl_int error;
	cl_context context = CALL(clCreateContext, NULL, 1, &device, NULL, NULL, &error);

	check(error, "clCreateContext");
	return context;
}

cl_command_queue make_queue(cl_context context, cl_device_id device,
			    cl_command_queue_properties properties)
{
	cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
	cl_int error;
	cl_command_queue queue =
		CALL(clCreateCommandQueueWithProperties, context, device, list, &error);

	check(error, "clCreateCommandQueueWithProperties");
	return queue;
}

cl_program make_program(cl_context context, const char *source)
{
	cl_int error;
	cl_program program = CALL(clCreateProgramWithSource, context, 1, &source, NULL, &error);

	check(error, "clCreateProgramWithSource");
	CHECK(clBuildProgram, program, 0, NULL, "", NULL, NULL);
	return program;
}

cl_kernel make_kernel(cl_program program, const char *name)
{
	cl_int error;
	cl_kernel kernel = CALL(clCreateKernel, program, name, &error);

	check(error, name);
	return kernel;
}

cl_mem make_buffer(cl_context context, size_t size)
{
	cl_int error;
	cl_mem buffer = CALL(clCreateBuffer, context, CL_MEM_READ_WRITE, size, NULL, &error);

	check(error, "clCreateBuffer");
	return buffer;
}
