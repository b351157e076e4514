/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading libclang, and the compiler of its version. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rewrite/clang.h"

enum { NEWEST = 19, OLDEST = 14 };

#define ROW(result, name, parameters) LIBRARY_FUNCTION(struct clang, name, "clang_" #name),

static const struct library_function rows[] = {CLANG_FUNCTIONS(ROW)};

static bool load_version(struct clang *c, int version, char why[LIBRARY_WHY])
{
	char debian[64], plain[32];
	const char *names[] = {debian, plain, NULL};

	snprintf(debian, sizeof(debian), "libclang-%d.so.1", version);
	snprintf(plain, sizeof(plain), "libclang.so.%d", version);
	return library_find(names, "libclang1", rows, sizeof(rows) / sizeof(rows[0]), c, why);
}

/* The first of the places in which clang of that version may be. */
static bool find_program(struct clang *c, int version)
{
	static const char *const places[] = {"/usr/bin/clang-%d", "/usr/lib/llvm-%d/bin/clang",
					     "/usr/local/bin/clang-%d"};

	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(c->program, sizeof(c->program), places[i], version);
#pragma GCC diagnostic pop
		if (access(c->program, X_OK) == 0)
			return true;
	}
	c->program[0] = '\0';
	return false;
}

/* Where its own headers are: beside the program, as libclang may be elsewhere. "lib/clang/14.0.6" up to 15, "lib/clang/16" later. */
static void find_resources(struct clang *c)
{
	static const char *const versions[] = {"", ".0.0", ".0.6", ".0.7"};
	char program[PATH_MAX], header[PATH_MAX + 64], *slash;

	c->resources[0] = '\0';
	if (!realpath(c->program, program) || !(slash = strstr(program, "/bin/")))
		return;
	*slash = '\0';
	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		snprintf(header, sizeof(header), "%.4000s/lib/clang/%d%s/include/opencl-c-base.h",
			 program, c->version, versions[i]);
		if (access(header, R_OK) != 0)
			continue;
		snprintf(c->resources, sizeof(c->resources), "%.*s",
			 (int)(strrchr(header, '/') - header), header);
		return;
	}
}

static void note_library(struct clang *c)
{
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)c->createIndex, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, c->library))
		c->library[0] = '\0';
}

bool clang_load(struct clang *c, char why[LIBRARY_WHY])
{
	char last[LIBRARY_WHY];

	snprintf(last, sizeof(last), "no clang-%d to clang-%d was found (Debian: clang, libclang1)",
		 OLDEST, NEWEST);
	for (int version = NEWEST; version >= OLDEST; version--) {
		if (!find_program(c, version) || !load_version(c, version, last))
			continue;
		c->version = version;
		note_library(c);
		find_resources(c);
		return true;
	}
	snprintf(why, LIBRARY_WHY, "%s", last);
	return false;
}
