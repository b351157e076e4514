/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a kernel as it is and as `kymo rewrite` has made it, and compares all that both have written:
 *
 *	launch SOURCE RESULT OPTIONS KERNEL GLOBAL LOCAL MODE ARGUMENT...
 *
 * GLOBAL and LOCAL: sizes, "64x2". MODE: own or shared slots. Arguments: "float:N", "int:N", "uint:N", "zero:BYTES" are buffers (the same made-up numbers in
 * both runs), "zero!:BYTES" one whose numbers are printed, "local:BYTES", "int=5", "float=2.5". Prints the counts of all blocks and the times of both kernels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>

enum { ARGUMENTS = 16, HEADER = 8, RUNS = 3, RECORD = 4 };

struct argument {
	size_t bytes;
	cl_mem buffer;
	unsigned char *content[2];
	int shown;
};

static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static struct argument arguments[ARGUMENTS];
static size_t global[3], local[3], records;
static unsigned dimensions;

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "launch: %s: OpenCL error %d\n", what, status);
	exit(1);
}

static char *read_file(const char *path, size_t *length)
{
	FILE *f = fopen(path, "rb");
	char *all = NULL;
	long size;

	if (!f || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(f);
	all = calloc(1, (size_t)size + 1);
	*length = all ? fread(all, 1, (size_t)size, f) : 0;
	fclose(f);
	return all;
}

/* "64x2" */
static unsigned read_sizes(const char *s, size_t sizes[3])
{
	unsigned n = 0;
	char *end;

	do {
		sizes[n++] = strtoul(s, &end, 10);
		s = end + 1;
	} while (*end == 'x' && n < 3);
	return n;
}

static void fill(struct argument *a, const char *type)
{
	unsigned state = 12345;

	a->content[0] = calloc(1, a->bytes + 16);
	a->content[1] = calloc(1, a->bytes + 16);
	for (size_t i = 0; strcmp(type, "zero") != 0 && i < a->bytes / 4; i++) {
		float f;
		int n;

		state = state * 1664525u + 1013904223u;
		n = (int)(state >> 24);
		f = (float)n / 16;
		memcpy(a->content[0] + 4 * i, *type == 'f' ? (void *)&f : (void *)&n, 4);
	}
}

static void make_buffer(struct argument *a, const char *text, const char *colon)
{
	char type[16];
	cl_int status;

	snprintf(type, sizeof(type), "%.*s", (int)(colon - text), text);
	a->shown = type[strlen(type) - 1] == '!';
	if (a->shown)
		type[strlen(type) - 1] = '\0';
	a->bytes = strtoul(colon + 1, NULL, 10) * (strcmp(type, "zero") == 0 ? 1 : 4);
	fill(a, type);
	a->buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, a->bytes, NULL, &status);
	check(status, "clCreateBuffer");
}

static void make_argument(cl_kernel k, unsigned i, const char *text)
{
	const char *colon = strchr(text, ':'), *equal = strchr(text, '=');
	struct argument *a = &arguments[i];
	float f;
	int n;

	if (colon && strncmp(text, "local", 5) == 0) {
		check(clSetKernelArg(k, i, strtoul(colon + 1, NULL, 10), NULL), text);
	} else if (colon) {
		if (!a->buffer)
			make_buffer(a, text, colon);
		check(clSetKernelArg(k, i, sizeof(cl_mem), &a->buffer), text);
	} else {
		f = equal ? strtof(equal + 1, NULL) : 0;
		n = equal ? atoi(equal + 1) : 0;
		check(clSetKernelArg(k, i, 4, *text == 'f' ? (void *)&f : (void *)&n), text);
	}
}

static cl_program build(const char *source, size_t length, const char *options)
{
	cl_int status;
	cl_program p = clCreateProgramWithSource(context, 1, &source, &length, &status);

	check(status, "clCreateProgramWithSource");
	if (clBuildProgram(p, 1, &device, options, NULL, NULL) != CL_SUCCESS) {
		static char log[65536];

		clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
		fprintf(stderr, "launch: the program is not built:\n%s\n", log);
		exit(1);
	}
	return p;
}

/* Runs it with fresh buffers; what is in them then is kept as `side`. Returns the nanoseconds. */
static double run(cl_kernel k, unsigned count, int side)
{
	cl_ulong begin, end;
	cl_event event;

	for (unsigned i = 0; i < count; i++)
		if (arguments[i].buffer)
			check(clEnqueueWriteBuffer(queue, arguments[i].buffer, CL_TRUE, 0,
						   arguments[i].bytes, arguments[i].content[0], 0,
						   NULL, NULL),
			      "clEnqueueWriteBuffer");
	check(clEnqueueNDRangeKernel(queue, k, dimensions, NULL, global, local, 0, NULL, &event),
	      "clEnqueueNDRangeKernel");
	check(clFinish(queue), "clFinish");
	clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(begin), &begin, NULL);
	clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
	clReleaseEvent(event);
	for (unsigned i = 0; side && i < count; i++)
		if (arguments[i].buffer)
			check(clEnqueueReadBuffer(queue, arguments[i].buffer, CL_TRUE, 0,
						  arguments[i].bytes, arguments[i].content[side], 0,
						  NULL, NULL),
			      "clEnqueueReadBuffer");
	return (double)(end - begin);
}

/* The times of the kernel; its results are compared with, or become, those of the original. */
static double best_of(cl_kernel k, unsigned count)
{
	double best = 1e30;

	for (int i = 0; i < RUNS; i++) {
		double now = run(k, count, 0);

		best = now < best ? now : best;
	}
	return best;
}

static size_t groups(void)
{
	size_t n = 1;

	for (unsigned i = 0; i < dimensions; i++)
		n *= global[i] / local[i];
	return n;
}

/* ---- the rewritten one ---- */

struct result {
	const char *source, *options;
	size_t length;
	unsigned blocks;
};

static struct result read_result(char *text)
{
	struct result r = {.options = ""};
	char *line = text, *end;

	while ((end = strchr(line, '\n')) != NULL) {
		*end = '\0';
		if (strncmp(line, "block ", 6) == 0)
			r.blocks++;
		if (strncmp(line, "options ", 8) == 0)
			r.options = line + 8;
		if (strncmp(line, "source ", 7) == 0) {
			r.length = strtoul(line + 7, NULL, 10);
			r.source = end + 1;
			return r;
		}
		line = end + 1;
	}
	fprintf(stderr, "launch: no source in the result\n");
	exit(1);
}

static void print_counts(const cl_ulong *c, size_t slots, unsigned blocks)
{
	for (unsigned b = 0; b < blocks; b++) {
		cl_ulong sum = 0;

		for (size_t s = 0; s < slots; s++)
			sum += c[HEADER + s * blocks + b];
		printf("count %u %llu\n", b, (unsigned long long)sum);
	}
}

static void print_records(const cl_ulong *c)
{
	const cl_uint *r = (const cl_uint *)(c + c[6]);
	cl_ulong n = c[5] < c[4] ? c[5] : c[4];

	printf("records %llu\n", (unsigned long long)c[5]);
	for (cl_ulong i = 0; i < n; i++, r += 8)
		printf("record %u %u %u %u %llu\n", r[0], r[1], r[2], r[3],
		       (unsigned long long)r[4] | (unsigned long long)r[5] << 32);
}

static double run_rewritten(struct result *r, const char *kernel, unsigned count, char **argv,
			    int own)
{
	char options[4096];
	size_t slots = own ? groups() : 16, words = HEADER + slots * r->blocks + records * RECORD;
	cl_ulong *c = calloc(words, sizeof(*c));
	double best;
	cl_int status;
	cl_kernel k;
	cl_mem context_buffer;

	snprintf(options, sizeof(options), "%s %s", r->options, own ? "-DKYMO_OWN_SLOTS=1" : "");
	k = clCreateKernel(build(r->source, r->length, options), kernel, &status);
	check(status, "clCreateKernel");
	for (unsigned i = 0; i < count; i++)
		make_argument(k, i, argv[i]);
	c[0] = 1;
	c[1] = slots;
	c[2] = r->blocks;
	c[3] = (cl_ulong)own;
	c[4] = records;
	c[6] = HEADER + slots * r->blocks;
	c[7] = getenv("GROUPS") ? strtoull(getenv("GROUPS"), NULL, 10) : 0;
	context_buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, words * 8, c, &status);
	check(status, "clCreateBuffer");
	check(clSetKernelArg(k, count, sizeof(cl_mem), &context_buffer), "the context");
	run(k, count, 1);
	check(clEnqueueReadBuffer(queue, context_buffer, CL_TRUE, 0, words * 8, c, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
	print_counts(c, slots, r->blocks);
	if (records)
		print_records(c);
	best = best_of(k, count);
	free(c);
	return best;
}

static void print_shown(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!arguments[i].shown)
			continue;
		printf("argument %u", i);
		for (size_t n = 0; n < arguments[i].bytes; n += 4) {
			unsigned number;

			memcpy(&number, arguments[i].content[1] + n, 4);
			printf(" %u", number);
		}
		printf("\n");
	}
}

static int compare(unsigned count, unsigned char **original)
{
	for (unsigned i = 0; i < count; i++)
		if (arguments[i].buffer &&
		    memcmp(original[i], arguments[i].content[1], arguments[i].bytes) != 0)
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	unsigned char *original[ARGUMENTS] = {0};
	double before, after;
	size_t length;
	char *source;
	cl_platform_id platform;
	cl_int status;
	cl_kernel k;
	struct result r;
	unsigned count = argc > 8 ? (unsigned)argc - 8 : 0;

	if (argc < 8 || count > ARGUMENTS)
		return 2;
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	check(status, "clCreateContext");
	queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
	check(status, "clCreateCommandQueue");
	dimensions = read_sizes(argv[5], global);
	read_sizes(argv[6], local);
	records = getenv("RECORDS") ? strtoul(getenv("RECORDS"), NULL, 10) : 0;
	source = read_file(argv[1], &length);
	k = clCreateKernel(build(source, length, argv[3]), argv[4], &status);
	check(status, "clCreateKernel");
	for (unsigned i = 0; i < count; i++)
		make_argument(k, i, argv[8 + i]);
	run(k, count, 1);
	for (unsigned i = 0; i < count; i++) {
		original[i] = arguments[i].content[1];
		arguments[i].content[1] = calloc(1, arguments[i].bytes + 16);
	}
	before = best_of(k, count);
	r = read_result(read_file(argv[2], &length));
	after = run_rewritten(&r, argv[4], count, argv + 8, strcmp(argv[7], "own") == 0);
	print_shown(count);
	printf("equal %d\n", compare(count, original));
	printf("time %.0f %.0f\n", before, after);
	return 0;
}
