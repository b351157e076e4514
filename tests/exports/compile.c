/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that compile at run time, with NVRTC or (with HIPRTC defined) hipRTC. Linked to the library, or (with
 * BY_NAME) to nothing: then the functions are looked up in the library that LIBRARY names, libnvrtc.so without it. The
 * first argument chooses the scene; "builds" is one for the real library as well:
 *
 *	cc -DBY_NAME compile.c -o compile -ldl -lpthread && kymo run ./compile builds
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HIPRTC
#define RTC(rest) hiprtc##rest
#else
#define RTC(rest) nvrtc##rest
#endif

typedef struct program *program_t;
int RTC(CreateProgram)(program_t *program, const char *source, const char *name, int header_count,
		       const char *const *headers, const char *const *include_names);
int RTC(DestroyProgram)(program_t *program);
int RTC(AddNameExpression)(program_t program, const char *name);
int RTC(CompileProgram)(program_t program, int count, const char *const *options);
int RTC(GetProgramLogSize)(program_t program, size_t *bytes);
int RTC(GetProgramLog)(program_t program, char *log);

#ifdef BY_NAME
static void *found(const char *name)
{
	static void *handle;
	const char *library = getenv("LIBRARY");
	void *function;

	if (!handle)
		handle = dlopen(library ? library : "libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
	function = handle ? dlsym(handle, name) : NULL;
	if (!function) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return function;
}
#define NAMED_(name) #name
#define NAMED(name)  NAMED_(name)
#define CALL_(name)  ((__typeof__(&name))found(NAMED(name)))
#define CALL(rest)   CALL_(RTC(rest))
#else
#define CALL(rest) RTC(rest)
#endif

#define GOOD "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n"
#define BAD  "#error broken\nint nothing;\n"

static int compile(program_t p, int count, const char *const *options)
{
	int status = CALL(CompileProgram)(p, count, options);

	printf("%d ", status);
	return status;
}

/* Makes, compiles, destroys. */
static void build(const char *source, const char *name)
{
	program_t p = NULL;

	CALL(CreateProgram)(&p, source, name, 0, NULL, NULL);
	compile(p, 0, NULL);
	CALL(DestroyProgram)(&p);
}

/* One that is good, one that fails, one source three times. */
static void builds(void)
{
	static const char *const options[] = {"-DN=1", "-DM=2"};
	program_t p = NULL;

	CALL(CreateProgram)(&p, GOOD "// options\n", "good.cu", 0, NULL, NULL);
	compile(p, 2, options);
	CALL(DestroyProgram)(&p);
	build(BAD, "bad.cu");
	for (int i = 0; i < 3; i++)
		build(GOOD, "loop.cu");
}

/* Names that are the same, or none; one program twice; what is no program; a log of a megabyte. */
static void edges(void)
{
	program_t a = NULL, b = NULL;
	size_t bytes = 0;

	CALL(CreateProgram)(&a, GOOD "// a\n", "same.cu", 0, NULL, NULL);
	CALL(CreateProgram)(&b, BAD "#log 1000000\n", "same.cu", 0, NULL, NULL);
	compile(a, 0, NULL);
	compile(a, 0, NULL);
	compile(b, 0, NULL);
	CALL(GetProgramLogSize)(b, &bytes);
	CALL(DestroyProgram)(&a);
	CALL(DestroyProgram)(&b);
	build(GOOD "// null\n", NULL);
	compile(NULL, 0, NULL);
	printf("log %zu, none %d", bytes,
	       CALL(CreateProgram)(&a, NULL, "no source", 0, NULL, NULL));
}

/* One source, but what is compiled differs by a header, by what is asked to be instantiated. */
static void besides(void)
{
	const char *const include[] = {"h.h"};

	for (int i = 0; i < 4; i++) {
		const char *const header[] = {i & 1 ? "#define N 1\n" : "#define N 2\n"};
		program_t p;

		CALL(CreateProgram)(&p, GOOD, "besides.cu", 1, header, include);
		CALL(AddNameExpression)(p, i & 2 ? "f<int>" : "f<long>");
		compile(p, 0, NULL);
		CALL(DestroyProgram)(&p);
	}
}

static void *thread(void *name)
{
	for (int i = 0; i < 20; i++) {
		program_t p;

		CALL(CreateProgram)(&p, i % 2 ? GOOD : BAD, name, 0, NULL, NULL);
		CALL(CompileProgram)(p, 0, NULL);
		CALL(DestroyProgram)(&p);
	}
	return NULL;
}

static void threads(void)
{
	static char one[] = "one.cu", two[] = "two.cu";
	pthread_t other;

	build(GOOD, "first.cu"); /* while it opens the door others go on unseen */
	pthread_create(&other, NULL, thread, one);
	thread(two);
	pthread_join(other, NULL);
}

#ifdef HIPRTC
int hiprtcLinkCreate(unsigned count, int *options, void **values, void **state);
int hiprtcLinkComplete(void *state, void **code, size_t *bytes);

static void links(void)
{
	void *state = NULL, *code;
	size_t bytes;
	int made = CALL(LinkCreate)(0, NULL, NULL, &state);

	printf("%d %d", made, CALL(LinkComplete)(state, &code, &bytes));
}
#endif

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "builds";

	if (strcmp(scene, "builds") == 0)
		builds();
	else if (strcmp(scene, "edges") == 0)
		edges();
	else if (strcmp(scene, "besides") == 0)
		besides();
	else if (strcmp(scene, "threads") == 0)
		threads();
#ifdef HIPRTC
	else if (strcmp(scene, "links") == 0)
		links();
#endif
	printf("\n");
	return 0;
}
