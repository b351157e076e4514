/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's own compiler takes the kernels, where it is installed; no GPU is needed for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "roofs/cuda.h"
#include "roofs/kernels.h"

static struct cuda_compiler nvrtc;

/* One of each body that plan.c has for CUDA, and of each way to write a vector. */
static const struct kernel_shape shapes[] = {
	{.kind = KERNEL_STREAM, .type = RUNNER_FP64, .width = 2},
	{.kind = KERNEL_READ_OTHERS, .type = RUNNER_FP32, .width = 4},
	{.kind = KERNEL_LOCAL, .type = RUNNER_FP64, .width = 2, .elements = 1024},
	{.kind = KERNEL_FMA, .type = RUNNER_FP32, .width = 1, .chains = 8},
	{.kind = KERNEL_FMA, .type = RUNNER_FP16, .width = 2, .chains = 8},
};

static void test_compiles(void **state)
{
	static const char *const options[] = {"--gpu-architecture=sm_90"};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct text source = {0};
		void *program = NULL;
		char log[8192] = "";
		size_t size = 0;

		kernel_source(&shapes[i], RUNNER_CUDA, &source);
		assert_int_equal(nvrtc.create(&program, source.s, "roof.cu", 0, NULL, NULL), 0);
		if (nvrtc.compile(program, 1, options) != 0) {
			if (nvrtc.log_size(program, &size) == 0 && size < sizeof(log))
				nvrtc.log(program, log);
			fail_msg("shape %u: %s\n%s", i, log, source.s);
		}
		assert_true(nvrtc.cubin_size(program, &size) == 0 && size > 1000);
		nvrtc.destroy(&program);
		text_release(&source);
	}
}

int main(void)
{
#define ROW(member, symbol, arguments) LIBRARY_FUNCTION(struct cuda_compiler, member, #symbol),
	static const struct library_function rows[] = {NVRTC_FUNCTIONS(ROW)};
	static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
					    NULL};
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_compiles)};
	char why[LIBRARY_WHY];

	if (!library_find(names, NULL, rows, sizeof(rows) / sizeof(rows[0]), &nvrtc, why)) {
		printf("skipped: %s\n", why);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
