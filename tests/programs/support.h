/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the OpenCL test programs share: they count what they do, so that a trace of them can be
 * compared with the truth. Every OpenCL call goes through CALL(); kernels, copies and errors are
 * tallied where the program knows them to be done. `--counts FILE` writes the totals as JSON:
 *
 *   {"program": NAME, "pid": N, "calls": {FUNCTION: N, ...},
 *    "kernels": [{"queue": HANDLE, "device": HANDLE, "tid": N, "name": NAME, "global": N,
 *                 "count": N}, ...],
 *    "copies": {KIND: {"count": N, "bytes": N}, ...},
 *    "errors": [{"function": NAME, "code": N, "count": N}, ...],
 *    "facts": {NAME: N, ...}}
 *
 * Handles are written as strings ("0x7f..."). Everything may be called from any thread.
 */
#ifndef TESTS_PROGRAMS_SUPPORT_H
#define TESTS_PROGRAMS_SUPPORT_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

enum called_function {
#define FUNCTION(name) CALLED_##name,
#include "functions.def"
#undef FUNCTION
	N_CALLED_FUNCTIONS
};

void count_call(enum called_function function);

/* Calls an OpenCL function and counts the call. */
#define CALL(function, ...) (count_call(CALLED_##function), function(__VA_ARGS__))

/* CALL() of a function that returns an error code, and the end of the program if it fails. */
#define CHECK(function, ...) check(CALL(function, __VA_ARGS__), #function)

/* A number or, where `text` is set, a string that the program takes as `--name VALUE`. */
struct program_option {
	const char *name;
	long *number;
	const char **text;
};

/* Reads the command line; `options` ends with a NULL name. Exits with 2 on anything unknown. */
void program_start(const char *name, int argc, char **argv, const struct program_option *options);

/* Writes the counts if asked for, says "NAME: ok", and returns the exit status of the program. */
int program_end(void);

/* Ends the program with status 1 and a message. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void check(cl_int error, const char *what);

/* Fails unless two numbers are equal. */
void expect(const char *what, long got, long wanted);

void tally_kernels(cl_command_queue queue, cl_device_id device, const char *name, size_t global,
		   long count);
void tally_copy(const char *kind, size_t bytes);
void tally_error(const char *function, cl_int code);
void tally_fact(const char *name, long value);

/* The first device of any platform and type, and objects on it; all of them exit on errors. */
cl_device_id first_device(void);
cl_context make_context(cl_device_id device);
cl_command_queue make_queue(cl_context context, cl_device_id device,
			    cl_command_queue_properties properties);
cl_program make_program(cl_context context, const char *source);
cl_kernel make_kernel(cl_program program, const char *name);
cl_mem make_buffer(cl_context context, size_t size);

#endif
