/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings and the signal that reading beyond the end of their files raises; see mapping.h. The
 * handler puts empty pages where the file no longer is, and the read goes on.
 */
#include "formats/raw/mapping.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

struct raw_mapping {
	_Atomic uintptr_t begin; /* 0: free to be used again */
	size_t size;
	_Atomic bool cut;
	struct raw_mapping *next;
};

/* The handler goes through the list at any time: entries are added, never taken out. */
static struct raw_mapping *_Atomic mappings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
static uintptr_t page;

static struct raw_mapping *find_mapping(uintptr_t at)
{
	for (struct raw_mapping *m = atomic_load(&mappings); m; m = m->next) {
		uintptr_t begin = atomic_load(&m->begin);

		if (begin && at >= begin && at - begin < m->size)
			return m;
	}
	return NULL;
}

/* Empty pages from the one that is missing to the end of the mapping. */
static bool fill_with_zeros(struct raw_mapping *m, uintptr_t at)
{
	uintptr_t from = at & ~(page - 1);
	size_t bytes = atomic_load(&m->begin) + m->size - from;

	atomic_store(&m->cut, true);
	return mmap((void *)from, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

/* What is none of ours ends the process as it would have without us, when the read is repeated. */
static void on_bus(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	uintptr_t at = (uintptr_t)info->si_addr;
	struct raw_mapping *m = info->si_code > 0 ? find_mapping(at) : NULL;

	if (!m || !fill_with_zeros(m, at))
		sigaction(SIGBUS, &before, NULL);
	errno = saved;
}

/* Under `lock`; again when somebody else has taken the signal since. */
static void take_signal(void)
{
	struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO}, now;

	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == on_bus)
		return;
	before = now;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

static struct raw_mapping *add_mapping(uintptr_t begin, size_t size)
{
	struct raw_mapping *m;

	pthread_mutex_lock(&lock);
	take_signal();
	for (m = atomic_load(&mappings); m && atomic_load(&m->begin); m = m->next)
		;
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (m) {
			m->next = atomic_load(&mappings);
			atomic_store(&mappings, m);
		}
	}
	if (m) {
		m->size = size;
		atomic_store(&m->cut, false);
		atomic_store(&m->begin, begin);
	}
	pthread_mutex_unlock(&lock);
	return m;
}

bool raw_map(const char *path, struct raw_mapping **out, const uint8_t **data, size_t *size)
{
	int fd = file_open_regular(path);
	void *p = MAP_FAILED;
	struct stat st;

	*out = NULL;
	*data = NULL;
	*size = 0;
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0) {
		*size = (size_t)st.st_size;
		p = *size ? mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	}
	close(fd);
	if (!p)
		return true;
	if (p == MAP_FAILED)
		return false;
	*out = add_mapping((uintptr_t)p, *size);
	*data = p;
	if (*out)
		return true;
	munmap(p, *size);
	errno = ENOMEM;
	return false;
}

void raw_unmap(struct raw_mapping *m)
{
	uintptr_t begin = m ? atomic_exchange(&m->begin, 0) : 0;

	if (begin)
		munmap((void *)begin, m->size);
}

bool raw_mapping_cut(const struct raw_mapping *m)
{
	return m && atomic_load(&m->cut);
}
