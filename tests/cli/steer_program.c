/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does what it is told, line by line, and answers each line when it is done:
 * "mark NAME", "range NAME" (one that is over at once), "cl" (calls of OpenCL), "fill" (work of
 * a device; "fill again": always in the same queue), "pause", "resume" (by
 * itself), "fork" (answers with the number of the child), "N LINE" (for child N to do), "forget" (the last child),
 * "exec" (this program anew: answers "ready"), "end".
 */
#include <CL/cl.h>
#include <kymo/marker.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 8, LINE = 256 };

static struct child {
	FILE *to, *from;
	pid_t pid;
} children[CHILDREN];
static unsigned child_count;
static FILE *orders, *answers;

static void answer(const char *text)
{
	fprintf(answers, "%s\n", text);
	fflush(answers);
}

/* Byte by byte, so that what comes after an exec is still there. */
static int read_line(char *line)
{
	size_t n = 0;
	char c;

	while (read(fileno(orders), &c, 1) == 1 && c != '\n')
		if (n + 1 < LINE)
			line[n++] = c;
	line[n] = '\0';
	return n > 0;
}

static void make_child(void)
{
	struct child *c = &children[child_count];
	int to[2], from[2];
	char text[16];

	if (child_count == CHILDREN || pipe(to) || pipe(from))
		abort();
	c->pid = fork();
	if (c->pid == 0) {
		child_count = 0;
		orders = fdopen(to[0], "r");
		answers = fdopen(from[1], "w");
		close(to[1]);
		close(from[0]);
		return;
	}
	close(to[0]);
	close(from[1]);
	c->to = fdopen(to[1], "w");
	c->from = fdopen(from[0], "r");
	snprintf(text, sizeof(text), "%u", child_count++);
	answer(text);
}

static void pass_on(char *line)
{
	const struct child *c = &children[strtoul(line, &line, 10)];
	char text[LINE] = "";

	fprintf(c->to, "%s\n", line + 1);
	fflush(c->to);
	if (!fgets(text, sizeof(text), c->from))
		strcpy(text, "child is gone");
	text[strcspn(text, "\n")] = '\0';
	answer(text);
}

static void use_opencl(void)
{
	cl_platform_id platform;
	cl_uint n = 0;
	cl_device_id device;

	if (clGetPlatformIDs(1, &platform, &n) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &n) != CL_SUCCESS)
		abort();
}

/* Work of a device, in a queue of its own each time or (`kept`) in one that is made once. */
static void fill(int kept)
{
	static cl_command_queue first;
	cl_platform_id platform;
	cl_device_id device;
	cl_int zero = 0;
	cl_context context;
	cl_command_queue queue;
	cl_mem buffer;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		abort();
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	if (kept && first)
		clGetCommandQueueInfo(first, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
	queue = kept && first ? first
			      : clCreateCommandQueueWithProperties(context, device, NULL, NULL);
	if (kept)
		first = queue;
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 16 << 20, NULL, NULL);
	if (!queue || !buffer ||
	    clEnqueueFillBuffer(queue, buffer, &zero, sizeof(zero), 0, 16 << 20, 0, NULL, NULL) !=
		    CL_SUCCESS ||
	    clFinish(queue) != CL_SUCCESS)
		abort();
	clReleaseMemObject(buffer);
	if (kept)
		return;
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
}

/* False: it is over. */
static int obey(char *line)
{
	static char self[] = "/proc/self/exe";
	char *argv[] = {self, NULL};

	if (strcmp(line, "end") == 0)
		return 0;
	if (line[0] >= '0' && line[0] <= '9') {
		pass_on(line);
		return 1;
	}
	if (strcmp(line, "fork") == 0) {
		make_child();
		return 1;
	}
	if (strcmp(line, "forget") == 0) {
		child_count--;
		fclose(children[child_count].to);
		fclose(children[child_count].from);
		waitpid(children[child_count].pid, NULL, 0);
	}
	if (strcmp(line, "exec") == 0) {
		dup2(fileno(orders), 0);
		dup2(fileno(answers), 1);
		execv(self, argv);
		abort();
	}
	if (strncmp(line, "mark ", 5) == 0)
		kymo_mark(line + 5);
	if (strncmp(line, "range ", 6) == 0) {
		kymo_range_push(line + 6);
		kymo_range_pop();
	}
	if (strcmp(line, "cl") == 0)
		use_opencl();
	if (strcmp(line, "fill") == 0 || strcmp(line, "fill again") == 0)
		fill(line[4] != '\0');
	if (strcmp(line, "pause") == 0)
		kymo_pause();
	if (strcmp(line, "resume") == 0)
		kymo_resume();
	answer("done");
	return 1;
}

int main(void)
{
	char line[LINE];

	orders = stdin;
	answers = stdout;
	answer("ready");
	while (read_line(line) && obey(line))
		;
	for (unsigned i = 0; i < child_count; i++)
		fclose(children[i].to);
	while (wait(NULL) > 0)
		;
	answer("over");
	return 0;
}
