/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for libnvrtc.so.13 (with HIPRTC defined, for libhiprtc.so.7): compiles nothing, which takes 0.2 ms. A source that has
 * "#error" fails; the log says so, followed by as many bytes as the source's "#log N" asks for. Handles are given
 * out again; asking what is no program for a log ends the process.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#ifdef HIPRTC
#define NAME(rest) hiprtc##rest
#else
#define NAME(rest) nvrtc##rest
#endif

enum { SUCCESS = 0, INVALID_INPUT = 3, INVALID_PROGRAM = 4, COMPILATION = 6 };
enum { PROGRAMS = 16 };

static struct program {
	int used;
	char *source, *log;
} programs[PROGRAMS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int valid(const struct program *p)
{
	return p >= programs && p < programs + PROGRAMS && p->used;
}

EXPORT int NAME(CreateProgram)(struct program **out, const char *source, const char *name,
			       int header_count, const char *const *headers,
			       const char *const *include_names)
{
	struct program *p = programs;

	if (!source)
		return INVALID_INPUT;
	pthread_mutex_lock(&lock);
	while (p->used)
		p++;
	*p = (struct program){1, strdup(source), NULL};
	pthread_mutex_unlock(&lock);
	*out = p;
	return SUCCESS;
}

EXPORT int NAME(DestroyProgram)(struct program **program)
{
	struct program *p = *program;

	if (!valid(p))
		return INVALID_PROGRAM;
	free(p->source);
	free(p->log);
	pthread_mutex_lock(&lock);
	p->used = 0;
	pthread_mutex_unlock(&lock);
	*program = NULL;
	return SUCCESS;
}

EXPORT int NAME(AddNameExpression)(struct program *p, const char *name)
{
	return valid(p) && name ? SUCCESS : INVALID_INPUT;
}

EXPORT int NAME(CompileProgram)(struct program *p, int count, const char *const *options)
{
	static const char said[] = "k.cu(2): error: #error directive: fake\n";
	const char *more;
	size_t bytes;

	if (!valid(p))
		return INVALID_PROGRAM;
	free(p->log);
	p->log = NULL;
	for (int64_t end = now() + 200000; now() < end;)
		;
	if (!strstr(p->source, "#error"))
		return SUCCESS;
	more = strstr(p->source, "#log ");
	bytes = more ? strtoul(more + 5, NULL, 10) : 0;
	p->log = malloc(sizeof(said) + bytes);
	memcpy(p->log, said, sizeof(said) - 1);
	memset(p->log + sizeof(said) - 1, 'x', bytes);
	p->log[sizeof(said) - 1 + bytes] = 0;
	return COMPILATION;
}

EXPORT int NAME(GetProgramLogSize)(struct program *p, size_t *bytes)
{
	if (!valid(p))
		abort(); /* the real ones may do anything */
	*bytes = p->log ? strlen(p->log) + 1 : 1;
	return SUCCESS;
}

EXPORT int NAME(GetProgramLog)(struct program *p, char *log)
{
	if (!valid(p))
		abort();
	strcpy(log, p->log ? p->log : "");
	return SUCCESS;
}

#ifdef HIPRTC

EXPORT int hiprtcGetCodeSize(struct program *p, size_t *bytes)
{
	*bytes = 77;
	return valid(p) ? SUCCESS : INVALID_PROGRAM;
}

EXPORT int hiprtcLinkCreate(unsigned count, int *options, void **values, void **state)
{
	static int object;

	*state = &object;
	return SUCCESS;
}

EXPORT int hiprtcLinkComplete(void *state, void **code, size_t *bytes)
{
	*code = state;
	*bytes = 0;
	return 100; /* HIPRTC_ERROR_LINKING */
}

#else

EXPORT int nvrtcGetPTXSize(struct program *p, size_t *bytes)
{
	*bytes = 77;
	return valid(p) ? SUCCESS : INVALID_PROGRAM;
}

#endif
