/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as an image of code, the PTX in it rewritten for the first kernel that it names, and what came of that rewritten once
 * more. The bytes lie in a block of memory that ends where they do.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/image.h"
#include "ptx/rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* Behind the first ".entry ". */
static void find_kernel(const struct text *t, char name[64])
{
	static const char word[] = ".entry ";
	const char *at = t->s ? memmem(t->s, t->length, word, sizeof(word) - 1) : NULL;
	size_t n = 0;

	for (at = at ? at + sizeof(word) - 1 : ""; n < 63 && *at > ' ' && *at != '('; at++)
		name[n++] = *at;
	name[n] = '\0';
}

/* The result says itself how long its source is. */
static size_t source_of(const struct text *result, const char **source)
{
	const char *at = strstr(result->s, "\nsource ");
	unsigned long long bytes = 0;

	must(strncmp(result->s, "kymo-rewrite 1\n", 15) == 0);
	must(at && sscanf(at, "\nsource %llu", &bytes) == 1);
	*source = strchr(at + 1, '\n') + 1;
	must(*source + bytes == result->s + result->length);
	return bytes;
}

static void run(const char *ptx, size_t size, const char *kernel, bool again)
{
	struct text result = {0};
	const char *source;
	size_t bytes;

	for (int mode = 0; mode < 4; mode++) {
		must(ptx_rewrite(
			&(struct ptx_request){ptx, size, kernel, (mode & 1) != 0, (mode & 2) != 0},
			&result));
		bytes = source_of(&result, &source);
		if (bytes && again)
			run(source, bytes, kernel, false);
		text_release(&result);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct text found = {0};
	char kernel[64];

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (!ptx_of_image(copy, size, 90, "k", &found) && found.s) {
		find_kernel(&found, kernel);
		run(found.s, found.length, kernel, true);
	} else if (size) {
		run((const char *)copy, size, "k", false);
	}
	text_release(&found);
	free(copy);
	return 0;
}
