/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered output of writers. Errors are sticky: a writer writes on and asks once, at the end (or
 * now and then, to stop early). Numbers are formatted here because printf would cost more than all
 * the rest of a line.
 */
#ifndef STREAM_OUTPUT_H
#define STREAM_OUTPUT_H

#include "stream/stream.h"

struct output {
	int fd;
	int error; /* errno of the first failure, or 0 */
	char *data;
	size_t used, size;
	char *path; /* NULL: standard output */
	/* Instead of write(), where what comes is to be packed; false: errno says why not. */
	bool (*pack)(void *packer, const char *data, size_t n);
	void *packer;
};

/*
 * Opens `path` (NULL: standard output) for writing; an existing file only with `force`. Explains
 * failure in `log`.
 */
kymo_status_t output_open(struct output *o, const char *path, bool force, struct stream_log *log);

/* What stands where a database is to be made goes, with `force`; nothing but a file or a link does. */
kymo_status_t output_replace(const char *path, bool force, struct stream_log *log);

/*
 * Makes the folder `path` for a writer of several files; one that is there only with `force`. Explains failure in
 * `log`.
 */
kymo_status_t output_folder(const char *path, bool force, struct stream_log *log);

/* Writes what is buffered and closes. Explains in `log` why the output is incomplete, if it is. */
kymo_status_t output_close(struct output *o, struct stream_log *log);

/* Says that there was no memory to write `name`, or no room for what is kept of it in temporary files (base/bulk.h). */
void output_tell_memory(struct stream_log *log, const char *name);

/* What is buffered goes where it is to go. */
void output_flush(struct output *o);

/* KYMO_ERROR_SYSTEM once writing has failed. */
static inline kymo_status_t output_status(const struct output *o)
{
	return o->error ? KYMO_ERROR_SYSTEM : KYMO_OK;
}

/* Makes room for `n` more bytes and returns where they go; then output_advance(). NULL: no memory. */
char *output_reserve(struct output *o, size_t n);

static inline char *output_room(struct output *o, size_t n)
{
	if (__builtin_expect(o->size - o->used >= n, 1))
		return o->data + o->used;
	return output_reserve(o, n);
}

static inline void output_advance(struct output *o, size_t n)
{
	o->used += n;
}

static inline void output_put(struct output *o, const char *s, size_t n)
{
	char *p = n ? output_room(o, n) : NULL; /* there may be nowhere yet */

	if (p) {
		memcpy(p, s, n);
		o->used += n;
	}
}

static inline void output_char(struct output *o, char c)
{
	output_put(o, &c, 1);
}

static inline void output_text(struct output *o, const char *s)
{
	output_put(o, s, strlen(s));
}

/* Digits of a number from `p` on, where there is room for OUTPUT_DIGITS; returns their end. */
enum { OUTPUT_DIGITS = 20 };
char *output_many_digits(char *p, uint64_t v);

static inline char *output_digits(char *p, uint64_t v)
{
	if (v >= 10)
		return output_many_digits(p, v);
	*p = (char)('0' + v);
	return p + 1;
}

void output_unsigned(struct output *o, uint64_t v);
void output_signed(struct output *o, int64_t v);
void output_hex(struct output *o, uint64_t v); /* with 0x */

/* ns as seconds with nine decimals, right-aligned in `width`. */
void output_seconds(struct output *o, int64_t ns, unsigned width);

/* A duration in the unit that suits it, three decimals beyond ns, right-aligned in `width`. */
void output_duration(struct output *o, int64_t ns, unsigned width);

/* Text from elsewhere, escaped (base/plain.h); then the same, padded with spaces to `width`
 * columns. */
void output_plain(struct output *o, const char *s, size_t n);
void output_padded(struct output *o, const char *s, unsigned width);

static inline void output_name(struct output *o, const char *s)
{
	output_plain(o, s, strlen(s));
}

/* `n` bytes as a JSON string with its quotes: json_escape(). */
void output_json_bytes(struct output *o, const char *s, size_t n);
void output_json(struct output *o, const char *s);

/* `s` as a field of a CSV line: plain_add_csv(). */
void output_csv(struct output *o, const char *s, size_t n);

/* A value as rec_value_text() renders it. */
void output_value(struct output *o, const struct trace *t, const struct t_field *f,
		  const struct wire_value *v);

#endif
