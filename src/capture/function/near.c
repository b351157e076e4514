/* SPDX-License-Identifier: Apache-2.0 */
/* Memory near a module for code, and writing into the module's own; see patch.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/function/patch.h"

#define REACH ((uintptr_t)0x7ff00000) /* less than 2 GiB */
#define STEP  ((uintptr_t)0x100000)
#define PAGE  ((uintptr_t)4096)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* An older kernel takes the address for a hint. */
static void *map_at(uintptr_t at, size_t bytes, int protection, int flags, int file)
{
	void *want = (void *)at;
	void *p = mmap(want, bytes, protection, flags | MAP_FIXED_NOREPLACE, file, 0);

	if (p != MAP_FAILED && p != want)
		munmap(p, bytes);
	return p == want ? p : MAP_FAILED;
}

/* The nearest place behind the module, else before it. */
static void *map_near(uintptr_t low, uintptr_t high, size_t bytes, int protection, int flags,
		      int file)
{
	uintptr_t behind = (high + PAGE - 1) & ~(PAGE - 1), before = (low & ~(PAGE - 1)) - bytes;
	void *p;

	for (uintptr_t d = 0; behind + d + bytes - low < REACH; d += STEP) {
		p = map_at(behind + d, bytes, protection, flags, file);
		if (p != MAP_FAILED)
			return p;
	}
	for (uintptr_t d = 0; before > d + PAGE * 16 && high - (before - d) < REACH; d += STEP) {
		p = map_at(before - d, bytes, protection, flags, file);
		if (p != MAP_FAILED)
			return p;
	}
	return MAP_FAILED;
}

static bool open_twice(struct near *n, uintptr_t low, uintptr_t high)
{
	void *runs = MAP_FAILED, *at = MAP_FAILED;
	int file = memfd_create("kymo functions", MFD_CLOEXEC);

	if (file < 0)
		return false;
	if (ftruncate(file, (off_t)n->bytes) == 0) {
		runs = map_near(low, high, n->bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file);
		at = mmap(NULL, n->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	}
	close(file);
	if (runs != MAP_FAILED && at != MAP_FAILED) {
		n->runs = (uintptr_t)runs;
		n->at = at;
		n->file = 0;
		return true;
	}
	if (runs != MAP_FAILED)
		munmap(runs, n->bytes);
	if (at != MAP_FAILED)
		munmap(at, n->bytes);
	return false;
}

/* Where memory that was written may not be run, one mapping is written and another one is run. */
static bool may_be_run(size_t bytes)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool may;

	if (p == MAP_FAILED)
		return false;
	*(volatile char *)p = 1;
	may = mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0;
	munmap(p, PAGE);
	return may;
}

bool near_open(struct near *n, uintptr_t low, uintptr_t high, size_t bytes)
{
	void *p;

	*n = (struct near){.bytes = (bytes + PAGE - 1) & ~(PAGE - 1), .file = -1};
	if (!may_be_run(n->bytes))
		return open_twice(n, low, high);
	p = map_near(low, high, n->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (p == MAP_FAILED)
		return false;
	n->at = p;
	n->runs = (uintptr_t)p;
	return true;
}

bool near_close(struct near *n)
{
	if (n->file >= 0)
		return munmap(n->at, n->bytes) == 0;
	if (mprotect(n->at, n->bytes, PROT_READ | PROT_EXEC) == 0)
		return true;
	munmap(n->at, n->bytes);
	return false;
}

static bool write_through(uintptr_t at, const void *bytes, size_t count)
{
	int file = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
	ssize_t n = file < 0 ? -1 : pwrite(file, bytes, count, (off_t)at);

	if (file >= 0)
		close(file);
	return n == (ssize_t)count;
}

bool near_write(uintptr_t at, const void *bytes, size_t count)
{
	uintptr_t from = at & ~(PAGE - 1), to = (at + count + PAGE - 1) & ~(PAGE - 1);
	const uint8_t *b = bytes;

	if (write_through(at, bytes, count))
		return true;
	if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return false;
	for (size_t i = 0; i < count; i++)
		((volatile uint8_t *)at)[i] = b[i];
	return mprotect((void *)from, to - from, PROT_READ | PROT_EXEC) == 0;
}
