/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has a malloc() of its own. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char memory[1 << 24];
static size_t used;

void *malloc(size_t size)
{
	size_t at = used;

	used += (size + 31) / 16 * 16;
	if (used > sizeof(memory))
		return NULL;
	memcpy(&memory[at], &size, sizeof(size));
	return &memory[at + 16];
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size); /* it is zero, and never used again */
}

void *realloc(void *p, size_t size)
{
	void *to = malloc(size);
	size_t before = 0;

	if (p)
		memcpy(&before, (char *)p - 16, sizeof(before));
	if (to && p)
		memcpy(to, p, before < size ? before : size);
	return to;
}

int main(void)
{
	char *volatile p = malloc(100);

	p[0] = 1;
	free(p);
	return 0;
}
