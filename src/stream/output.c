/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered output of writers; see output.h. */
#include "stream/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bulk.h"
#include "base/json.h"
#include "base/plain.h"
#include "base/vec.h"

#define BUFFER (1u << 18)

kymo_status_t output_open(struct output *o, const char *path, bool force, struct stream_log *log)
{
	*o = (struct output){.fd = STDOUT_FILENO, .size = BUFFER};
	o->data = malloc(o->size);
	o->path = path ? strdup(path) : NULL;
	if (!o->data || (path && !o->path)) {
		free(o->data);
		o->data = NULL;
		return KYMO_ERROR_NO_MEMORY;
	}
	if (!path)
		return KYMO_OK;
	o->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
	if (o->fd >= 0)
		return KYMO_OK;
	if (errno == EEXIST)
		stream_error(log, "%s: File exists; --force replaces it", path);
	else
		stream_error(log, "%s: cannot be written: %s", path, strerror(errno));
	free(o->data);
	free(o->path);
	*o = (struct output){.fd = -1};
	return KYMO_ERROR_SYSTEM;
}

kymo_status_t output_folder(const char *path, bool force, struct stream_log *log)
{
	if (mkdir(path, 0777) == 0 || (errno == EEXIST && force))
		return KYMO_OK;
	stream_error(log, errno == EEXIST ? "%s: %s; --force overwrites its files" : "%s: %s", path,
		     strerror(errno));
	return KYMO_ERROR_SYSTEM;
}

kymo_status_t output_replace(const char *path, bool force, struct stream_log *log)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return KYMO_OK;
	if (!force)
		stream_error(log, "%s: File exists; --force replaces it", path);
	else if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		stream_error(log, "%s: it is no file, and a database has to be one", path);
	else if (unlink(path) != 0)
		stream_error(log, "%s: it cannot be replaced: %s", path, strerror(errno));
	else
		return KYMO_OK;
	return KYMO_ERROR_SYSTEM;
}

void output_flush(struct output *o)
{
	size_t done = 0;

	if (o->pack) {
		if (!o->error && !o->pack(o->packer, o->data, o->used))
			o->error = errno;
		done = o->used;
	}
	while (!o->error && done < o->used) {
		ssize_t n = write(o->fd, o->data + done, o->used - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			o->error = errno;
	}
	o->used = 0;
}

/* The room is the caller's, and no file's: it neither grows nor empties. */
static bool is_of_caller(const struct output *o)
{
	return o->fd < 0 && !o->pack;
}

char *output_reserve(struct output *o, size_t n)
{
	if (is_of_caller(o)) {
		o->error = o->error ? o->error : ENOSPC;
		return NULL;
	}
	output_flush(o);
	if (vec_reserve(&o->data, &o->size, 0, n))
		return o->data;
	o->error = o->error ? o->error : ENOMEM;
	return NULL;
}

kymo_status_t output_close(struct output *o, struct stream_log *log)
{
	kymo_status_t status;

	if (!o->data)
		return KYMO_OK;
	output_flush(o);
	if (o->path && close(o->fd) != 0 && !o->error)
		o->error = errno;
	if (o->error)
		stream_error(log, "%s: incomplete: %s", o->path ? o->path : "standard output",
			     strerror(o->error));
	status = output_status(o);
	free(o->data);
	free(o->path);
	*o = (struct output){.fd = -1};
	return status;
}

void output_tell_memory(struct stream_log *log, const char *name)
{
	const char *directory;
	int error = bulk_error(&directory);

	if (error)
		stream_error(log,
			     "%s: no room for what is kept to write it: temporary file in %s: %s; "
			     "free space or set TMPDIR",
			     name, directory, strerror(error));
	else
		stream_error(log, "%s: there is not enough memory to write it", name);
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* Digits of v before `end`; returns their beginning. */
static char *digits(char *end, uint64_t v)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	while (v >= 100) {
		end -= 2;
		memcpy(end, pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10) {
		end -= 2;
		memcpy(end, pairs + v * 2, 2);
	} else {
		*--end = (char)('0' + v);
	}
	return end;
}

/* 1233 / 4096 is a little more than the logarithm of 2. */
static unsigned count_digits(uint64_t v)
{
	static const uint64_t powers[] = {
		0,
		10,
		100,
		1000,
		10000,
		100000,
		1000000,
		10000000,
		100000000,
		1000000000,
		10000000000,
		100000000000,
		1000000000000,
		10000000000000,
		100000000000000,
		1000000000000000,
		10000000000000000,
		100000000000000000,
		1000000000000000000,
		UINT64_C(10000000000000000000),
	};
	unsigned least = (unsigned)(64 - __builtin_clzll(v | 1)) * 1233 >> 12;

	return least + (v >= powers[least]);
}

char *output_many_digits(char *p, uint64_t v)
{
	char *end = p + count_digits(v);

	digits(end, v);
	return end;
}

void output_unsigned(struct output *o, uint64_t v)
{
	char *p = output_room(o, OUTPUT_DIGITS);

	if (p)
		o->used = (size_t)(output_digits(p, v) - o->data);
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

void output_signed(struct output *o, int64_t v)
{
	if (v < 0)
		output_char(o, '-');
	output_unsigned(o, magnitude(v));
}

void output_hex(struct output *o, uint64_t v)
{
	char text[18], *p = text + sizeof(text);

	do {
		*--p = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	*--p = 'x';
	*--p = '0';
	output_put(o, p, (size_t)(text + sizeof(text) - p));
}

static void aligned(struct output *o, const char *s, size_t n, unsigned width)
{
	char *p = output_room(o, width + n);
	size_t pad = n < width ? width - n : 0;

	if (!p)
		return;
	memset(p, ' ', pad);
	memcpy(p + pad, s, n);
	o->used += pad + n;
}

/* whole.fraction, the fraction with `places` digits. */
static char *fixed(char *end, uint64_t whole, uint64_t fraction, unsigned places)
{
	char *p = digits(end, fraction);

	while (end - p < (int)places)
		*--p = '0';
	*--p = '.';
	return digits(p, whole);
}

void output_seconds(struct output *o, int64_t ns, unsigned width)
{
	char text[40], *end = text + sizeof(text), *p;
	uint64_t v = magnitude(ns);

	p = fixed(end, v / 1000000000u, v % 1000000000u, 9);
	if (ns < 0)
		*--p = '-';
	aligned(o, p, (size_t)(end - p), width);
}

void output_duration(struct output *o, int64_t ns, unsigned width)
{
	char text[40], *end = text + sizeof(text), *p = end;
	uint64_t v = magnitude(ns);

	*--p = 's';
	if (v < 10000) {
		*--p = 'n';
		*--p = ' ';
		p = digits(p, v);
	} else if (v < 10000000) {
		*--p = 'u';
		*--p = ' ';
		p = fixed(p, v / 1000, v % 1000, 3);
	} else if (v < 10000000000ull) {
		*--p = 'm';
		*--p = ' ';
		p = fixed(p, v / 1000000, v / 1000 % 1000, 3);
	} else {
		*--p = ' ';
		p = fixed(p, v / 1000000000, v / 1000000 % 1000, 3);
	}
	if (ns < 0)
		*--p = '-';
	aligned(o, p, (size_t)(end - p), width);
}

void output_padded(struct output *o, const char *s, unsigned width)
{
	unsigned columns = plain_width(s);

	output_plain(o, s, strlen(s));
	for (; columns < width; columns++)
		output_char(o, ' ');
}

/* ---- strings ------------------------------------------------------------------------------- */

static void put_text(struct output *o, struct text *t)
{
	if (t->failed)
		o->error = o->error ? o->error : ENOMEM;
	else if (t->s)
		output_put(o, t->s, t->length);
	text_release(t);
}

void output_plain(struct output *o, const char *s, size_t n)
{
	struct text plain = {0};

	if (plain_ascii(s, n)) {
		output_put(o, s, n);
		return;
	}
	plain_add(&plain, s, n);
	put_text(o, &plain);
}

/* Where there may be room, but not for the worst that escaping can make of it. */
static void put_json_that_fits(struct output *o, const char *s, size_t n)
{
	char *escaped = malloc(JSON_ESCAPED_MAX(n));

	if (escaped)
		output_put(o, escaped, json_escape(escaped, s, n));
	else
		o->error = ENOMEM;
	free(escaped);
}

void output_json_bytes(struct output *o, const char *s, size_t n)
{
	char *p;

	if (is_of_caller(o) && o->size - o->used < JSON_ESCAPED_MAX(n)) {
		put_json_that_fits(o, s, n);
		return;
	}
	p = output_room(o, JSON_ESCAPED_MAX(n));

	if (p)
		o->used += json_escape(p, s, n);
}

void output_json(struct output *o, const char *s)
{
	output_json_bytes(o, s, strlen(s));
}

/* Nothing in it that means something in CSV. */
static bool csv_as_is(const char *s, size_t n)
{
	return n == 0 ||
	       (plain_ascii_without(s, n, ",\";") && !strchr("=+-@ '", s[0]) && s[n - 1] != ' ');
}

/* Each quote twice. */
static void put_quoted(struct output *o, const char *s, size_t n)
{
	output_char(o, '"');
	for (const char *end = s + n; s < end;) {
		const char *quote = memchr(s, '"', (size_t)(end - s));
		size_t run = (size_t)((quote ? quote + 1 : end) - s);

		output_put(o, s, run);
		if (quote)
			output_char(o, '"');
		s += run;
	}
	output_char(o, '"');
}

void output_csv(struct output *o, const char *s, size_t n)
{
	struct text field = {0};

	if (csv_as_is(s, n)) {
		output_put(o, s, n);
		return;
	}
	if (plain_ascii(s, n) && !strchr("=+-@ '\"", s[0])) {
		put_quoted(o, s, n);
		return;
	}
	plain_add_csv(&field, s, n);
	put_text(o, &field);
}

void output_value(struct output *o, const struct trace *t, const struct t_field *f,
		  const struct wire_value *v)
{
	char *p = output_room(o, 256);
	size_t room = o->size - o->used;
	size_t n = p ? rec_value_text(t, f, v, p, room) : 0;

	if (p && n >= room) {
		p = output_reserve(o, n + 1);
		n = p ? rec_value_text(t, f, v, p, n + 1) : 0;
	}
	o->used += n;
}
