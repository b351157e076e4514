/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as an ELF file whose functions are all wanted, what is planned of them, and the file with these patched in it; any bytes as a plan. The bytes lie in a
 * block of memory that ends where they do.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "functions/build.h"
#include "functions/instrument.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void run_plan(const void *block, size_t size)
{
	uint8_t code[PLAN_CODE_MAX];
	uint64_t more;
	struct plan p;

	if (!plan_open(&p, block, size))
		return;
	for (uint64_t i = 0; i < p.function_count; i++) {
		const struct plan_function *f = &p.functions[i];

		plan_code(&p, f, 0x7f0000000000, 0x7f0000100000, code);
		plan_origin(&p, f, f->code_bytes, &more);
		must(strlen(plan_string(&p, f->name)) < size);
	}
	for (uint64_t i = 0; i < p.module_count; i++)
		must(strlen(plan_string(&p, p.modules[i].path)) < size);
}

/* What was made is a file of the same kind, which is not made once more. */
static void run_instrument(struct functions *f, struct decoder *d)
{
	struct instrumented told;
	struct text out = {0};
	struct functions made;
	struct build b = {0};
	uint64_t count = 0;
	char why[IMAGE_WHY];

	if (instrument(f, d, &out, &told)) {
		must(told.functions > 0);
		must(functions_find_in(&made, out.s, out.length, why));
		must(made.image.instrumented && instrument_refused(&made));
		must(made.image.kind == f->image.kind);
		must(build_add_instrumented(&b, &made.image, &count) && count == told.functions);
		build_release(&b);
		functions_release(&made);
	} else {
		must(strlen(told.why) > 0);
	}
	text_release(&out);
}

static void run_file(const void *block, size_t size)
{
	static struct decoder *d;
	char why[IMAGE_WHY];
	struct functions f;
	struct build b = {0};
	struct text out = {0};
	struct plan p;

	d = d ? d : decoder_new(why, sizeof(why));
	must(d != NULL);
	if (functions_find_in(&f, block, size, why)) {
		for (uint32_t i = 0; i < f.count; i++)
			f.items[i].wanted = true;
		must(functions_judge(&f, d) && build_add(&b, &f, d) && build_finish(&b, &out));
		must(plan_open(&p, out.s, out.length));
		must(p.function_count == b.function_count);
		run_instrument(&f, d);
	}
	text_release(&out);
	build_release(&b);
	functions_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *block = malloc(size ? size : 1);

	must(block != NULL);
	memcpy(block, data, size);
	if (size >= 8 && memcmp(data, PLAN_MAGIC, 8) == 0)
		run_plan(block, size);
	else
		run_file(block, size);
	free(block);
	return 0;
}
