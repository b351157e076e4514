/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that users preload, as they do others: it counts, and has no reallocarray() of its own. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

static _Atomic unsigned long calls;

void *malloc(size_t size)
{
	calls++;
	return __libc_malloc(size);
}

void free(void *p)
{
	__libc_free(p);
}

void *calloc(size_t count, size_t size)
{
	calls++;
	return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	calls++;
	return __libc_realloc(p, size);
}

/* Made of another of its functions, as allocators do. */
void *memalign(size_t alignment, size_t size)
{
	calls++;
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

__attribute__((destructor)) static void tell(void)
{
	if (calls > 12000)
		puts("allocator: used");
}
