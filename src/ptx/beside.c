/* SPDX-License-Identifier: Apache-2.0 */
/* Triton gives the driver machine code, and keeps the PTX that it was made of beside it: NAME.ptx, NAME.cubin. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptx/image.h"

#define FILE_MAX (512u << 20)

uint64_t ptx_sum(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ at[i]) * 0x100000001b3u;
	return sum;
}

static bool read_file(const char *path, struct text *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char bytes[65536];
	ssize_t n = -1;
	struct stat s;

	if (fd < 0)
		return false;
	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size <= FILE_MAX)
		while ((n = read(fd, bytes, sizeof(bytes))) > 0)
			text_add_bytes(out, bytes, (size_t)n);
	close(fd);
	return n == 0 && out->s && !out->failed;
}

struct wanted {
	uint64_t size, sum;
	const char *kernel;
	struct text *out;
};

static bool is_it(const struct wanted *w, const char *folder, const char *name)
{
	struct text cubin = {0};
	char path[PATH_MAX];
	struct stat s;
	bool yes = false;

	if (snprintf(path, sizeof(path), "%s/%s/%s.cubin", folder, name, w->kernel) >=
	    (int)sizeof(path))
		return false;
	if (stat(path, &s) != 0 || (uint64_t)s.st_size != w->size)
		return false;
	yes = read_file(path, &cubin) && ptx_sum(cubin.s, cubin.length) == w->sum;
	text_release(&cubin);
	return yes;
}

/* In the folders of a cache, one for each kernel. */
static bool look_in(const struct wanted *w, const char *folder)
{
	DIR *d = opendir(folder);
	char path[PATH_MAX];
	bool found = false;
	struct dirent *e;

	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !is_it(w, folder, e->d_name))
			continue;
		found = snprintf(path, sizeof(path), "%s/%s/%s.ptx", folder, e->d_name, w->kernel) <
				(int)sizeof(path) &&
			read_file(path, w->out);
	}
	if (d)
		closedir(d);
	return found;
}

/* torch.compile has a folder for each device. */
static bool look_below(const struct wanted *w, const char *folder)
{
	DIR *d = opendir(folder);
	char path[PATH_MAX];
	bool found = false;
	struct dirent *e;

	while (d && !found && (e = readdir(d)))
		if (e->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < (int)sizeof(path))
			found = look_in(w, path);
	if (d)
		closedir(d);
	return found;
}

static bool look_everywhere(const struct wanted *w)
{
	const char *set = getenv("TRITON_CACHE_DIR"), *home = getenv("HOME"),
		   *torch = getenv("TORCHINDUCTOR_CACHE_DIR"), *user = getenv("USER"),
		   *temporary = getenv("TMPDIR");
	char path[PATH_MAX];

	if (set && *set && look_in(w, set))
		return true;
	snprintf(path, sizeof(path), "%s/.triton/cache", home ? home : "/root");
	if (look_in(w, path))
		return true;
	if (torch && *torch)
		snprintf(path, sizeof(path), "%s/triton", torch);
	else
		snprintf(path, sizeof(path), "%s/torchinductor_%s/triton",
			 temporary && *temporary ? temporary : "/tmp",
			 user && *user ? user : "root");
	return look_below(w, path);
}

const char *ptx_beside_cubin(uint64_t size, uint64_t sum, const char *kernel, struct text *out)
{
	const struct wanted w = {size, sum, kernel, out};

	if (strchr(kernel, '/'))
		return "its name is no file's";
	return look_everywhere(&w) ? NULL
				   : "its module is machine code without PTX, and none lies beside "
				     "it in a cache of Triton's";
}
