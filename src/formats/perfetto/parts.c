/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the output: one, or one for each part. A part is opened again for each phase (host, device,
 * counters, notes), which appends to it with sequences that begin anew; so one file is open at a time, whatever
 * their number.
 */
#include "formats/perfetto/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "stream/output.h"
#include "stream/trace.h"

#define FILE_BUFFER (1u << 20)

enum { PARTS_MAX = 9999 };

static kymo_status_t open_single(struct perfetto *p, const struct format_options *o)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (o->force ? O_TRUNC : O_EXCL);

	if (!o->output) {
		p->file.fd = STDOUT_FILENO;
		if (!isatty(STDOUT_FILENO))
			return KYMO_OK;
		stream_error(o->log, "a Perfetto file is binary: name an output file");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	p->file.fd = open(o->output, flags, 0666);
	if (p->file.fd < 0) {
		stream_error(o->log, "%s: %s%s", o->output, strerror(errno),
			     errno == EEXIST ? "; --force replaces it" : "");
		return errno == EEXIST ? KYMO_ERROR_EXISTS : KYMO_ERROR_SYSTEM;
	}
	p->path = strdup(o->output);
	return p->path ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

kymo_status_t parts_init(struct perfetto *p, const struct format_options *o)
{
	kymo_status_t status;

	p->file.fd = -1;
	p->file.room = FILE_BUFFER;
	p->file.buffer = malloc(p->file.room);
	if (!p->file.buffer)
		return KYMO_ERROR_NO_MEMORY;
	if (!o->split_ns && !o->split_bytes)
		return open_single(p, o);
	if (!o->output) {
		stream_error(o->log, "several files cannot go to standard output: name a folder");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	status = output_folder(o->output, o->force, o->log);
	p->parts.every = o->split_ns;
	p->parts.bytes = o->split_bytes;
	p->parts.folder = status ? NULL : strdup(o->output);
	return status || p->parts.folder ? status : KYMO_ERROR_NO_MEMORY;
}

/* ---- which part ------------------------------------------------------------------------------ */

static int64_t start_of(const struct perfetto *p, uint32_t part)
{
	const struct parts *s = &p->parts;
	int64_t origin = p->trace->origin;

	if (!s->folder || !part)
		return origin;
	return s->every ? origin + (int64_t)(s->every * part) : s->ends[part - 1];
}

bool parts_made(const struct perfetto *p)
{
	return p->parts.now < p->parts.made_room && p->parts.made[p->parts.now];
}

int64_t parts_last(const struct perfetto *p)
{
	uint32_t last = p->parts.made_room;

	while (last && !p->parts.made[last - 1])
		last--;
	return last ? start_of(p, last - 1) : p->trace->origin;
}

int64_t parts_end(const struct perfetto *p)
{
	const struct parts *s = &p->parts;
	int64_t end;

	if (!s->folder)
		return INT64_MAX;
	if (!s->every)
		return s->now < s->count ? s->ends[s->now] : INT64_MAX;
	if (__builtin_mul_overflow((int64_t)s->every, (int64_t)s->now + 1, &end) ||
	    __builtin_add_overflow(end, p->trace->origin, &end))
		return INT64_MAX;
	return end;
}

static uint32_t part_of(const struct perfetto *p, int64_t time)
{
	const struct parts *s = &p->parts;
	uint32_t low = 0, high = s->count, middle;
	uint64_t n;

	if (s->every) {
		n = time > p->trace->origin ? (uint64_t)(time - p->trace->origin) / s->every : 0;
		return n > PARTS_MAX ? PARTS_MAX : (uint32_t)n;
	}
	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->ends[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void parts_full(struct perfetto *p, const struct packet_sequence *s, int64_t time)
{
	struct parts *x = &p->parts;
	uint64_t bytes = p->file.written + p->file.used + x->expected;

	if (!x->bytes || x->fixed || s != &p->host || x->now != x->count ||
	    x->opened != x->now + 1 || bytes < x->bytes || time <= start_of(p, x->now))
		return;
	if (!vec_reserve(&x->ends, &x->room, x->count, 1)) {
		p->file.status = KYMO_ERROR_NO_MEMORY;
		return;
	}
	x->ends[x->count++] = time;
	x->expected = 0;
}

void parts_skip(struct perfetto *p, int64_t time)
{
	uint32_t n = part_of(p, time);

	p->parts.now = n > p->parts.now ? n : p->parts.now + 1;
}

void parts_rewind(struct perfetto *p)
{
	p->parts.now = 0;
	p->parts.fixed = true;
}

void parts_go(struct perfetto *p, int64_t time)
{
	if (p->parts.folder)
		p->parts.now = part_of(p, time);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void close_file(struct perfetto *p)
{
	packet_flush(&p->file);
	if (p->file.fd >= 0 && p->path)
		close(p->file.fd);
	p->file.fd = -1;
}

static bool name_part(struct perfetto *p, uint32_t part)
{
	free(p->path);
	if (asprintf(&p->path, "%s/part-%04u.pftrace", p->parts.folder, part + 1) < 0)
		p->path = NULL;
	return p->path != NULL;
}

/* Whether the file is new. */
static bool open_part(struct perfetto *p)
{
	struct parts *s = &p->parts;
	bool made = parts_made(p);
	struct stat st;

	close_file(p);
	s->opened = 0;
	if (p->file.status)
		return false;
	if (s->now >= PARTS_MAX) {
		stream_error(p->log, "%s: there would be more than %d parts; make them longer",
			     s->folder, PARTS_MAX);
		p->file.status = KYMO_ERROR_INVALID_ARGUMENT;
		return false;
	}
	if (!vec_reserve_zero(&s->made, &s->made_room, s->now, 1) || !name_part(p, s->now)) {
		p->file.status = KYMO_ERROR_NO_MEMORY;
		return false;
	}
	p->file.fd = open(p->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (made ? 0 : O_TRUNC),
			  0666);
	if (p->file.fd < 0 || fstat(p->file.fd, &st) != 0) {
		p->file.status = KYMO_ERROR_SYSTEM;
		p->file.error = errno;
		return false;
	}
	p->file.written = (uint64_t)st.st_size;
	s->made[s->now] = 1;
	s->opened = s->now + 1;
	return !made;
}

static uint32_t id_of(const struct perfetto *p, const struct packet_sequence *s)
{
	return s == &p->host ? 1 : s == &p->device ? 2 : s == &p->counter ? 3 : 4;
}

void parts_use(struct perfetto *p, struct packet_sequence *s)
{
	struct parts *x = &p->parts;
	bool fresh = !x->opened;

	if (__builtin_expect(x->opened == x->now + 1 && s->part == x->now + 1, 1))
		return;
	if (x->folder && x->opened != x->now + 1)
		fresh = open_part(p);
	x->opened = x->folder ? x->opened : 1;
	packet_sequence_release(s);
	packet_sequence_begin(&p->file, s, id_of(p, s), start_of(p, x->now),
			      trace_to_realtime(p->trace));
	s->part = x->now + 1;
	if (fresh)
		tracks_describe(p);
}

void parts_finish(struct perfetto *p)
{
	struct stat st;

	if (p->path && !p->finished && p->file.fd >= 0 && fstat(p->file.fd, &st) == 0 &&
	    S_ISREG(st.st_mode))
		unlink(p->path);
	if (p->path && p->file.fd >= 0)
		close(p->file.fd);
	for (uint32_t i = 0; !p->finished && i < p->parts.made_room; i++)
		if (p->parts.made[i] && name_part(p, i))
			unlink(p->path);
}

void parts_release(struct perfetto *p)
{
	free(p->parts.folder);
	free(p->parts.ends);
	free(p->parts.made);
}
