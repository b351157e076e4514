/* SPDX-License-Identifier: Apache-2.0 */
/* Images of code by the modules and libraries that were made of them; of what has PTX a copy is kept: programs free theirs. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/locks.h"
#include "capture/cuda/twin.h"
#include "ptx/fatbin.h"

#define CUBIN_MAX (64u << 20) /* of larger ones Triton makes none */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_image *images;
static uint64_t numbers;

/* ---- what is kept ---- */

static uint64_t sum_of(const uint8_t *at, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ at[i]) * 0x100000001b3u;
	return sum;
}

/* A fat binary of the entries with PTX alone. */
static void keep_fatbin(struct cuda_image *i, const uint8_t *from, size_t bytes)
{
	const size_t head = 16;
	size_t at = 0, length = head;
	struct ptx_entry e;
	uint64_t rest;

	while (ptx_fatbin_next(from, bytes, &at, &e))
		length += e.is_ptx ? e.header_bytes + e.bytes : 0;
	i->copy = length > head ? calloc(1, length) : NULL;
	if (!i->copy)
		return;
	memcpy(i->copy, from, head);
	i->copy[6] = (uint8_t)head; /* bytes of its header */
	i->copy[7] = 0;
	rest = length - head;
	memcpy(i->copy + 8, &rest, sizeof(rest));
	i->bytes = head;
	for (at = 0; ptx_fatbin_next(from, bytes, &at, &e);) {
		uint64_t own = e.bytes;

		if (!e.is_ptx)
			continue;
		memcpy(i->copy + i->bytes, e.header, e.header_bytes);
		memcpy(i->copy + i->bytes + 8, &own, sizeof(own)); /* without what fills it up */
		memcpy(i->copy + i->bytes + e.header_bytes, e.header + e.header_bytes, e.bytes);
		i->bytes += e.header_bytes + e.bytes;
	}
}

static void keep(struct cuda_image *i, enum ptx_image kind, const void *data, size_t bytes)
{
	if (kind == PTX_IMAGE_FATBIN) {
		keep_fatbin(i, data, bytes);
	} else if (kind == PTX_IMAGE_TEXT) {
		i->copy = malloc(bytes + 1);
		i->bytes = i->copy ? bytes : 0;
		if (i->copy)
			memcpy(i->copy, data, bytes);
	} else if (kind == PTX_IMAGE_CUBIN && bytes <= CUBIN_MAX) {
		i->cubin_bytes = bytes;
		i->cubin_sum = sum_of(data, bytes);
	}
}

static void keep_file(struct cuda_image *i, const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat s;
	void *at;

	if (fd < 0)
		return;
	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0) {
		at = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED) {
			keep(i, ptx_image_in(at, (size_t)s.st_size), at, (size_t)s.st_size);
			munmap(at, (size_t)s.st_size);
		}
	}
	close(fd);
}

void cuda_image_loaded(void *handle, bool library, const void *data, bool file)
{
	struct cuda_image *i = handle && data ? calloc(1, sizeof(*i)) : NULL;
	size_t bytes;

	if (!i)
		return;
	i->handle = handle;
	i->library = library;
	if (file) {
		keep_file(i, data);
	} else {
		const void *at = data;
		const enum ptx_image kind = ptx_image_at(&at, &bytes);

		keep(i, kind, at, bytes);
	}
	pthread_mutex_lock(&lock);
	i->number = ++numbers;
	i->next = images;
	images = i;
	pthread_mutex_unlock(&lock);
}

void cuda_image_unloaded(void *handle)
{
	struct cuda_image **at = &images, *i;

	pthread_mutex_lock(&lock);
	while ((i = *at) && i->handle != handle)
		at = &i->next;
	if (i)
		*at = i->next;
	pthread_mutex_unlock(&lock);
	if (!i)
		return;
	cuda_twins_unloaded(i->number);
	free(i->copy);
	free(i);
}

/* ---- whose a kernel is ---- */

void *cuda_twin_function(void *function)
{
	void *plain = NULL;

	return cuda_driver.KernelGetFunction &&
			       cuda_driver.KernelGetFunction(&plain, function) == 0 && plain
		       ? plain
		       : function;
}

static bool is_of(const struct cuda_image *i, void *module)
{
	void *own = NULL;

	if (!i->library)
		return i->handle == module;
	return cuda_driver.LibraryGetModule && cuda_driver.LibraryGetModule(&own, i->handle) == 0 &&
	       own == module;
}

/* Held until it is put back. */
struct cuda_image *cuda_image_get(const struct cuda_twin_launch *l,
				  const char **why) UNCHECKED_LOCKS
{
	void *module = NULL;
	struct cuda_image *i;

	if (cuda_driver.FuncGetModule(&module, l->function) != 0 || !module) {
		*why = "the driver does not tell its module";
		return NULL;
	}
	pthread_mutex_lock(&lock);
	for (i = images; i && (i->library || i->handle != module); i = i->next)
		;
	if (!i)
		for (i = images; i && !(i->library && is_of(i, module)); i = i->next)
			;
	*why = !i ? "its module was loaded before its lines were wanted, or in an unknown way"
	       : !i->copy && !i->cubin_bytes ? "its module has no PTX"
					     : NULL;
	if (!*why)
		return i;
	pthread_mutex_unlock(&lock);
	return NULL;
}

void cuda_image_put(struct cuda_image *i) UNCHECKED_LOCKS
{
	if (i)
		pthread_mutex_unlock(&lock);
}

void cuda_images_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	images = NULL;
}
