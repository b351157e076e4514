/* SPDX-License-Identifier: Apache-2.0 */
/* See kept.h. */
#include "page/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/temporary.h"
#include "roofs/keep.h"

static const char magic[16] = "kymo page data 2";

struct start {
	char magic[16];
	uint64_t of, script; /* script: the page's, which knows the layout */
	uint64_t roofs;      /* that were kept, of pages with rooflines; 0: of others */
	uint64_t head_bytes, count, data_bytes;
};

static uint64_t hash_of_file(int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, 0) != 0)
		return 0;
	return hash_mix(hash_mix(hash_string(name), (uint64_t)st.st_size),
			(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec);
}

/* The order of names in a folder does not matter. */
static uint64_t hash_of_folder(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *e;
	uint64_t sum = 0;

	if (!folder)
		return 0;
	while ((e = readdir(folder)))
		if (e->d_name[0] != '.')
			sum += hash_of_file(dirfd(folder), e->d_name);
	closedir(folder);
	return sum;
}

/* What `kymo calibrate` keeps; not 0. */
static uint64_t hash_of_roofs(void)
{
	char folder[PATH_MAX], why[ROOF_WHY];

	return hash_mix(1, keep_folder(folder, why) ? hash_of_folder(folder) : 0) | 1;
}

uint64_t page_kept_of(const char *trace)
{
	struct text raw = {0};
	uint64_t hash = hash_string(KYMO_VERSION);

	text_addf(&raw, "%s/raw", trace);
	hash = hash_mix(hash, raw.s ? hash_of_folder(raw.s) : 0);
	raw.length = 0;
	text_addf(&raw, "%s/manifest.json", trace);
	hash = hash_mix(hash, raw.s ? hash_of_file(AT_FDCWD, raw.s) : 0);
	text_release(&raw);
	return hash;
}

static bool copy(int from, uint64_t bytes, int to)
{
	enum { PORTION = 1 << 16 };
	char *buffer = malloc(PORTION);
	uint64_t at = 0;
	bool ok = buffer != NULL;

	while (ok && at < bytes) {
		size_t want = bytes - at < PORTION ? (size_t)(bytes - at) : PORTION;
		ssize_t n = pread(from, buffer, want, (off_t)at);

		ok = n > 0 && file_write_all(to, buffer, (size_t)n) == (size_t)n;
		at += n > 0 ? (uint64_t)n : 0;
	}
	free(buffer);
	return ok;
}

static bool write_all(const struct page *p, int fd, uint64_t of)
{
	const struct sections *s = &p->encoded.sections;
	struct start start = {.of = of,
			      .script = hash_string(page_script.hash),
			      .roofs = p->kernels ? hash_of_roofs() : 0,
			      .count = s->count,
			      .data_bytes = s->end};
	size_t n = 0, directory = s->count * sizeof(*s->at);
	char *head = page_head(p, NULL, &n);
	bool ok;

	if (!head) {
		errno = ENOMEM;
		return false;
	}
	memcpy(start.magic, magic, sizeof(magic));
	start.head_bytes = n;
	ok = file_write_all(fd, &start, sizeof(start)) == sizeof(start) &&
	     file_write_all(fd, head, n) == n &&
	     file_write_all(fd, s->at, directory) == directory && copy(s->fd, s->end, fd);
	free(head);
	return ok;
}

bool page_kept_write(const struct page *p, const char *path, uint64_t of)
{
	char token[FILE_TOKEN];
	struct text name = {0};
	int fd;
	bool ok;

	file_token(token);
	text_addf(&name, "%s.%s", path, token);
	if (name.s)
		temporary_add(name.s);
	fd = name.s && !name.failed ? file_create_own(name.s, O_WRONLY) : -1;
	ok = fd >= 0 && write_all(p, fd, of);
	if (fd >= 0 && close(fd) != 0)
		ok = false;
	if (ok)
		ok = rename(name.s, path) == 0;
	if (!ok && fd >= 0) {
		int why = errno;

		unlink(name.s);
		errno = why;
	}
	if (name.s)
		temporary_done(name.s);
	text_release(&name);
	return ok;
}

/* Every section lies in the data, which is there. */
static bool is_whole(const struct page_kept *k, const struct start *start, uint64_t size)
{
	if (k->data > size || start->data_bytes != size - k->data)
		return false;
	for (uint32_t i = 0; i < k->count; i++)
		if (k->at[i].offset > start->data_bytes ||
		    k->at[i].length > start->data_bytes - k->at[i].offset)
			return false;
	return true;
}

static bool read_start(struct page_kept *k, uint64_t of)
{
	struct start start;
	struct stat st;
	size_t directory;

	if (fstat(k->fd, &st) != 0 || pread(k->fd, &start, sizeof(start), 0) != sizeof(start) ||
	    memcmp(start.magic, magic, sizeof(magic)) != 0 || start.of != of ||
	    start.script != hash_string(page_script.hash) ||
	    (start.roofs && start.roofs != hash_of_roofs()) ||
	    start.head_bytes > (uint64_t)st.st_size || start.count > (uint64_t)st.st_size)
		return false;
	k->head = sizeof(start);
	k->head_bytes = start.head_bytes;
	k->count = (uint32_t)start.count;
	directory = k->count * sizeof(*k->at);
	k->data = k->head + k->head_bytes + directory;
	k->at = malloc(directory + 1);
	return k->at && k->data <= (uint64_t)st.st_size &&
	       pread(k->fd, k->at, directory, (off_t)(k->head + k->head_bytes)) ==
		       (ssize_t)directory &&
	       is_whole(k, &start, (uint64_t)st.st_size);
}

bool page_kept_open(struct page_kept *k, const char *path, uint64_t of)
{
	*k = (struct page_kept){.fd = file_open_regular(path)};
	if (k->fd < 0)
		return false;
	if (read_start(k, of))
		return true;
	page_kept_close(k);
	return false;
}

void page_kept_close(struct page_kept *k)
{
	if (k->fd >= 0)
		close(k->fd);
	free(k->at);
	*k = (struct page_kept){.fd = -1};
}
