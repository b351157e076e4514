/* SPDX-License-Identifier: Apache-2.0 */
/* Values in files; see values.h. */
#include "telemetry/values.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void value_file_init(struct value_file *f, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(f->path, sizeof(f->path), format, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof(f->path))
		f->path[0] = '\0'; /* cannot be opened */
	f->fd = -1;
	f->again = false;
}

void value_file_close(struct value_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* A pipe or device where a file should be would hold the sampler up. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	errno = EBADMSG;
	return -1;
}

static ssize_t read_from_begin(struct value_file *f, char *out, size_t room)
{
	size_t n = 0;

	while (n < room) {
		ssize_t got = pread(f->fd, out + n, room - n, (off_t)n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return n ? (ssize_t)n : -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

/* One that was open may belong to something that is gone: it is looked for again once. */
int value_file_text(struct value_file *f, char *out, size_t size, size_t *length)
{
	bool was_open = f->fd >= 0;
	ssize_t n = -1;
	int error;

	out[0] = '\0';
	*length = 0;
	for (;;) {
		if (f->fd < 0)
			f->fd = open_regular(f->path);
		if (f->fd < 0)
			return errno ? errno : EIO;
		n = read_from_begin(f, out, size - 1);
		if (n >= 0)
			break;
		error = errno;
		value_file_close(f);
		if (!was_open)
			return error;
		was_open = false;
		f->again = true;
	}
	out[n] = '\0';
	*length = (size_t)n;
	return n ? 0 : ENODATA;
}

static int parse_number(const char *text, size_t n, int64_t *out)
{
	const char *p = text;
	char *end;

	if (strlen(text) != n)
		return EBADMSG;
	while (isspace((unsigned char)*p))
		p++;
	if (!isdigit((unsigned char)*p) && !(*p == '-' && isdigit((unsigned char)p[1])))
		return EBADMSG;
	errno = 0;
	*out = strtoll(p, &end, 10);
	if (errno)
		return EBADMSG;
	while (isspace((unsigned char)*end))
		end++;
	return *end ? EBADMSG : 0;
}

int value_file_number(struct value_file *f, int64_t *out)
{
	char text[64];
	size_t n;
	int error = value_file_text(f, text, sizeof(text), &n);

	return error ? error : parse_number(text, n, out);
}

int value_number(const char *path, int64_t *out)
{
	struct value_file f;
	int error;

	value_file_init(&f, "%s", path);
	error = value_file_number(&f, out);
	value_file_close(&f);
	return error;
}

int value_line(const char *path, char *out, size_t size)
{
	struct value_file f;
	size_t n, k = 0;
	int error;

	value_file_init(&f, "%s", path);
	error = value_file_text(&f, out, size, &n);
	value_file_close(&f);
	for (size_t i = 0; !error && i < n && out[i] && out[i] != '\n'; i++)
		if (out[i] >= ' ' && out[i] <= '~')
			out[k++] = out[i];
	out[k] = '\0';
	return error ? error : k ? 0 : ENODATA;
}

const char *value_error(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "permission denied";
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return "it is no longer there";
	case ENODATA:
		return "there was nothing to read";
	case EBADMSG:
		return "it held no number";
	default:
		return "it could not be read";
	}
}
