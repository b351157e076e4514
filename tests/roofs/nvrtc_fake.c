/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for NVRTC that compiles CUDA C for the host (FAKE_CXX), below declarations of what a kernel of CUDA finds:
 * the "machine code" is the path of a shared object (cuda_fake.c loads it). What is assembly of NVIDIA's does not build.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct program {
	char *source, object[128];
	int compiled;
};

static const char prelude[] =
	"#define __global__\n#define __device__\n#define __shared__ static\n"
	"#define VECTOR(T) struct T##2 { T x, y; }; struct T##4 { T x, y, z, w; }; "
	"static inline T##2 make_##T##2(T x, T y) { return {x, y}; } "
	"static inline T##4 make_##T##4(T x, T y, T z, T w) { return {x, y, z, w}; }\n"
	"VECTOR(double) VECTOR(float)\n"
	"extern \"C\" { unsigned fake_places[4]; }\n"
	"#define PLACE(at) struct { struct { operator unsigned() const { return fake_places[at]; } "
	"} x; }\n"
	"static PLACE(0) blockIdx; static PLACE(1) threadIdx; static PLACE(2) gridDim; static "
	"PLACE(3) "
	"blockDim;\n#line 1 \"roof.cu\"\n";

int nvrtcCreateProgram(void **out, const char *source, const char *name, int headers,
		       const char *const *texts, const char *const *names)
{
	struct program *p = calloc(1, sizeof(*p));

	if (!p || !source || strcmp(name, "roof.cu") != 0 || headers || texts || names)
		return 4; /* invalid input */
	p->source = strdup(source);
	*out = p;
	return 0;
}

int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
	struct program *p = program;
	char source[] = "/tmp/kymo-fake-XXXXXX.cc", command[512];
	int fd = mkstemps(source, 3);
	FILE *f = fdopen(fd, "w");

	if (count != 1 || strcmp(options[0], "--gpu-architecture=sm_90") != 0)
		return 5; /* invalid option */
	fprintf(f, "%s%s", prelude, p->source);
	fclose(f);
	snprintf(p->object, sizeof(p->object), "%s.so", source);
	snprintf(command, sizeof(command), "%s -O1 -w -fPIC -shared -o %s %s 2>/dev/null",
		 getenv("FAKE_CXX"), p->object, source);
	p->compiled = system(command) == 0;
	unlink(source);
	return p->compiled ? 0 : 6; /* compilation */
}

int nvrtcGetCUBINSize(void *program, size_t *out)
{
	struct program *p = program;

	*out = strlen(p->object) + 1;
	return p->compiled ? 0 : 4;
}

int nvrtcGetCUBIN(void *program, char *out)
{
	strcpy(out, ((struct program *)program)->object);
	return 0;
}

static const char complaint[] = "note: of a fake\nroof.cu(1): error: assembly of another machine\n";

int nvrtcGetProgramLogSize(void *program, size_t *out)
{
	(void)program;
	*out = sizeof(complaint);
	return 0;
}

int nvrtcGetProgramLog(void *program, char *out)
{
	(void)program;
	strcpy(out, complaint);
	return 0;
}

int nvrtcDestroyProgram(void **program)
{
	struct program *p = *program;

	free(p->source);
	free(p);
	*program = NULL;
	return 0;
}
