/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kymo rewrite`: an OpenCL C program, or PTX, that counts what its kernels do. Kymo starts it where kernels are instrumented, as a process of its
 * own, so that nothing of a compiler's gets into the program.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ptx/image.h"
#include "ptx/rewrite.h"
#include "rewrite/rewrite.h"

static struct my_options {
	int mode; /* enum rewrite_mode */
	const char *standard;
	const char *build_options;
	const char *extensions;
	const char *functions;
	const char *ptx, *cubin;
	int64_t arch;
} options;

#define AT(member) offsetof(struct my_options, member)

static const struct knob rows[] = {
	{"mode", 0, KNOB_ENUM, 0, AT(mode), "MODE", "count", "count|address|block|both", NULL,
	 "Rewriting",
	 "What the kernels do besides: count how often each block runs; record addresses, or "
	 "blocks "
	 "and their clocks, or both"},
	{"std", 0, KNOB_STRING, 0, AT(standard), "STANDARD", NULL, NULL, NULL, "Rewriting",
	 "OpenCL C where the build options do not say it (CL1.2)"},
	{"options", 0, KNOB_STRING, 0, AT(build_options), "OPTIONS", NULL, NULL, NULL, "Rewriting",
	 "What clBuildProgram() was given, and more that the device's compiler is told"},
	{"extensions", 0, KNOB_STRING, 0, AT(extensions), "NAMES", NULL, NULL, NULL, "Rewriting",
	 "Extensions and features of the device (all that clang knows)"},
	{"functions-only", 0, KNOB_STRING, 0, AT(functions), "REGEX", NULL, NULL, NULL, "Rewriting",
	 "Kernels that are wanted, by name"},
	{"ptx", 0, KNOB_STRING, 0, AT(ptx), "KERNEL", NULL, NULL, NULL, "Rewriting PTX",
	 "The program is PTX, or a fat binary that has some: this kernel of it is wanted"},
	{"arch", 0, KNOB_INTEGER, 0, AT(arch), "N", "90", NULL, NULL, "Rewriting PTX",
	 "Architecture of the device, for which the PTX is chosen"},
	{"cubin", 0, KNOB_STRING, 0, AT(cubin), "SIZE:SUM", NULL, NULL, NULL, "Rewriting PTX",
	 "Instead of a program: PTX that lies in a cache of Triton's beside machine code of this "
	 "size "
	 "and sum of its bytes"},
};

static struct knob_table table = {.command = "rewrite",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

static bool read_source(struct text *out)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		text_add_bytes(out, bytes, (size_t)n);
	return n == 0 && !out->failed;
}

static bool write_result(const struct text *t)
{
	return fwrite(t->s, 1, t->length, stdout) == t->length && fflush(stdout) == 0;
}

static const char *find_ptx(const struct text *image, struct text *out)
{
	uint64_t size, sum;

	if (!options.cubin)
		return ptx_of_image(image->s ? image->s : "", image->length, (uint32_t)options.arch,
				    options.ptx, out);
	if (sscanf(options.cubin, "%" SCNu64 ":%" SCNx64, &size, &sum) != 2)
		return "--cubin takes a size and a sum";
	return ptx_beside_cubin(size, sum, options.ptx, out);
}

/* What is no PTX is refused in the result. False: no memory. */
static bool rewrite_ptx(const struct text *image, struct text *result)
{
	struct text found = {0};
	const char *why = find_ptx(image, &found);
	bool done;

	if (why)
		done = ptx_refuse(options.ptx, why, result);
	else
		done = ptx_rewrite(&(struct ptx_request){found.s, found.length, options.ptx,
							 (options.mode & REWRITE_ADDRESS) != 0,
							 (options.mode & REWRITE_BLOCK) != 0},
				   result);
	text_release(&found);
	return done;
}

static bool rewrite(const struct rewrite_request *q, const struct text *source, struct text *result,
		    char why[REWRITE_WHY])
{
	if (!options.ptx)
		return rewrite_program(q, result, why);
	snprintf(why, REWRITE_WHY, "there was no memory for it");
	return rewrite_ptx(source, result);
}

static int run_rewrite(int argc, char **argv)
{
	struct rewrite_request q = {.mode = (enum rewrite_mode)options.mode,
				    .standard = options.standard,
				    .options = options.build_options,
				    .extensions = options.extensions,
				    .functions = options.functions};
	struct text source = {0}, result = {0};
	char why[REWRITE_WHY];
	bool ok = false;

	(void)argv;
	if (argc)
		return cli_usage("rewrite", "the program comes from standard input");
	if (!read_source(&source)) {
		cli_error("standard input: %s", strerror(errno));
		return CLI_FAILURE;
	}
	q.source = source.s ? source.s : "";
	q.length = source.length;
	if (!rewrite(&q, &source, &result, why))
		cli_error("rewriting the program: %s", why);
	else if (!(ok = write_result(&result)))
		cli_error("standard output: %s", strerror(errno));
	text_release(&result);
	text_release(&source);
	return ok ? CLI_OK : CLI_FAILURE;
}

const struct command cmd_rewrite = {
	.name = "rewrite",
	.operands = "[OPTION]... < PROGRAM > RESULT",
	.summary = "Rewrites an OpenCL C program, or PTX, so that its kernels count what they do",
	.about = "docs/kernel-lines.md has the form of the result.\n",
	.knobs = &table,
	.run = run_rewrite,
	.hidden = true,
};
