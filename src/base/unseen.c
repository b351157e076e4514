/* SPDX-License-Identifier: Apache-2.0 */
/* See unseen.h. */
#include "base/unseen.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define PREFIX  ".unseen-"
#define PROGRAM ".program-" /* a text, and a byte for each start */

enum { STARTS_MOST = 100000 };

void unseen_tell(const char *trace, const char *about, const char *text)
{
	int folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[64];
	int fd = -1;

	snprintf(name, sizeof(name), PREFIX "%.40s", about);
	if (folder >= 0)
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0600);
	if (fd >= 0) {
		file_write_all(fd, text, strnlen(text, UNSEEN_TEXT - 1));
		close(fd);
	}
	if (folder >= 0)
		close(folder);
}

static bool read_text(int folder, const char *name, char text[UNSEEN_TEXT])
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, text, UNSEEN_TEXT - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static int is_reason(const struct dirent *e)
{
	return strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0;
}

unsigned unseen_told(const char *trace, void (*told)(void *data, const char *text), void *data)
{
	int folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names = NULL;
	unsigned count = 0;
	int n = folder >= 0 ? scandir(trace, &names, is_reason, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		char text[UNSEEN_TEXT];

		if (read_text(folder, names[i]->d_name, text)) {
			told(data, text);
			count++;
		}
		free(names[i]);
	}
	free(names);
	if (folder >= 0)
		close(folder);
	return count;
}

/* ---- programs ---- */

void unseen_program(const char *trace, const char *path, const char *why)
{
	const char *slash = strrchr(path, '/');
	int folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char name[80], text[UNSEEN_TEXT];
	struct stat st;

	snprintf(name, sizeof(name), PROGRAM "%.60s", slash ? slash + 1 : path);
	if (folder >= 0)
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0) {
		snprintf(text, sizeof(text), "\"%.300s\" %s\n", path, why);
		file_write_all(fd, text, strlen(text));
	} else if (folder >= 0) {
		fd = openat(folder, name,
			    O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size < STARTS_MOST)
		file_write_all(fd, ".", 1);
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
}

static int is_program(const struct dirent *e)
{
	return strncmp(e->d_name, PROGRAM, strlen(PROGRAM)) == 0;
}

void unseen_programs(const char *trace, void (*told)(void *data, const char *text, unsigned starts),
		     void *data)
{
	int folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names = NULL;
	int n = folder >= 0 ? scandir(trace, &names, is_program, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		char text[UNSEEN_TEXT];
		struct stat st;

		if (fstatat(folder, names[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    read_text(folder, names[i]->d_name, text) && strchr(text, '\n')) {
			const size_t length = strcspn(text, "\n");

			text[length] = '\0';
			told(data, text, (unsigned)((size_t)st.st_size - length - 1));
		}
		free(names[i]);
	}
	free(names);
	if (folder >= 0)
		close(folder);
}
