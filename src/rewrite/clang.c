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

/* Where its own headers are: beside the program, as libclang may be elsewhere. "lib/clang/14.0.6" up to 15. */
static void find_resources(struct clang *c)
{
	static const char *const folders[] = {"", ".0.0", ".0.6", ".0.7"};
	char program[PATH_MAX], *slash;

	c->resources[0] = '\0';
	if (!realpath(c->program, program) || !(slash = strstr(program, "/bin/")))
		return;
	*slash = '\0';
	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int n = snprintf(c->resources, sizeof(c->resources) - 32, "%s/lib/clang/%d%s",
				 program, c->version, folders[i]);

		if (n > 0 && (size_t)n < sizeof(c->resources) - 32 &&
		    access(c->resources, R_OK) == 0)
			return;
	}
	c->resources[0] = '\0';
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
	char last[LIBRARY_WHY] = "";

	for (int version = NEWEST; version >= OLDEST; version--) {
		if (!find_program(c, version)) {
			snprintf(last, sizeof(last), "no clang-%d to %d", OLDEST, NEWEST);
			continue;
		}
		if (!load_version(c, version, last))
			continue;
		c->version = version;
		note_library(c);
		find_resources(c);
		return true;
	}
	snprintf(why, LIBRARY_WHY, "%s", last);
	return false;
}
