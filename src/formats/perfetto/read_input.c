/* SPDX-License-Identifier: Apache-2.0 */
/* The file as plain packets: what is compressed, as a whole or in packets, is unpacked into a temporary one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#ifdef KYMO_HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/file.h"
#include "formats/perfetto/reader.h"
#include "stream/spool.h"
#include "stream/unpack.h"

#define BLOCK      (1u << 18)
#define PACKET_MAX (64u << 20) /* that a compressed packet may be: writers end them at some MB */

enum { TRACE_PACKET = 1, PACKET_DEFLATED = 50, PACKET_ZSTD = 133 };

/* ---- what it is ------------------------------------------------------------------------------- */

/* Fields that packets have, with their types. */
static bool is_packet_field(const struct proto_field *f)
{
	switch (f->number) {
	case 8:  /* timestamp */
	case 10: /* sequence */
	case 13: /* flags */
	case 41:
	case 42:
	case 58: /* clock */
	case 87:
	case 3: /* uid */
		return f->type == PROTO_NUMBER;
	case 79: /* pid */
	case 98: /* machine */
		return f->type == PROTO_NUMBER;
	default:
		return f->type == PROTO_PART;
	}
}

/* The first packet lies within what was read, or reaches beyond it, and its fields are those of a packet. */
static bool begins_with_packet(const uint8_t *head, size_t n)
{
	struct proto_walk w = {head, head + n, false};
	struct proto_field f;
	uint64_t length = 0;
	unsigned shift = 0, fields = 0;
	const uint8_t *end;

	if (n < 4 || head[0] != (TRACE_PACKET << 3 | PROTO_PART))
		return false;
	for (w.p++; w.p < w.end && shift < 35; shift += 7) {
		length |= (uint64_t)(*w.p & 127) << shift;
		if (*w.p++ < 128)
			break;
	}
	end = head + n;
	if (!length || length > UINT32_MAX)
		return false;
	if (length < (uint64_t)(end - w.p))
		w.end = w.p + length;
	if (w.end < end && *w.end != (TRACE_PACKET << 3 | PROTO_PART))
		return false;
	while (proto_next(&w, &f)) {
		if (!is_packet_field(&f))
			return false;
		fields++;
	}
	return fields > 0 || (w.broken && length > n);
}

static bool has_name(const char *path)
{
	static const char *const names[] = {".pftrace", ".perfetto-trace", ".pftrace.gz",
					    ".perfetto-trace.gz"};
	size_t n = strlen(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t m = strlen(names[i]);

		if (n > m && strcmp(path + n - m, names[i]) == 0)
			return true;
	}
	return false;
}

bool pfread_probe(const char *path)
{
	uint8_t head[4096];
	struct stat st;
	gzFile file;
	int n;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	if (has_name(path))
		return true;
	file = gzopen(path, "rbe");
	if (!file)
		return false;
	n = gzread(file, head, sizeof(head));
	gzclose_r(file);
	return n > 0 && begins_with_packet(head, (size_t)n);
}

/* ---- temporary files -------------------------------------------------------------------------- */

static bool put(int fd, const void *data, size_t n, const struct format_options *o)
{
	if (file_write_all(fd, data, n) == n)
		return true;
	spool_tell(o->log, errno);
	return false;
}

/* False: said why. */
static bool map_file(struct pfread_input *in, int fd, const char *path,
		     const struct format_options *o)
{
	struct stat st;
	void *data;

	if (fstat(fd, &st) != 0 || st.st_size <= 0)
		return true;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		stream_error(o->log, "%s: %s", path, strerror(errno));
		return false;
	}
	in->data = data;
	in->size = (size_t)st.st_size;
	in->mapped = true;
	return true;
}

void pfread_close(struct pfread_input *in)
{
	if (in->mapped)
		munmap((void *)(uintptr_t)in->data, in->size);
	in->data = (const uint8_t *)"";
	in->size = 0;
	in->mapped = false;
}

/* ---- compressed packets ----------------------------------------------------------------------- */

static bool is_packed(const struct proto_field *f)
{
	return f->type == PROTO_PART && (f->number == PACKET_DEFLATED || f->number == PACKET_ZSTD);
}

/* The packets that one holds; an empty part: it holds none. */
static struct proto_field packed_in(struct part packet)
{
	struct proto_walk w = proto_walk(packet);
	struct proto_field f;

	while (proto_next(&w, &f))
		if (is_packed(&f))
			return f;
	return (struct proto_field){0};
}

static bool has_packed(const struct pfread_input *in)
{
	struct proto_walk w = proto_walk((struct part){in->data, in->size});
	struct proto_field f;

	while (proto_next(&w, &f))
		if (f.number == TRACE_PACKET && f.type == PROTO_PART && packed_in(f.s).number)
			return true;
	return false;
}

/* Bytes of what it holds; 0: it is damaged, or too large. */
static size_t inflate_packet(struct part s, uint8_t **room, size_t *size)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)s.s, .avail_in = (uInt)s.n};
	int status = Z_OK;

	if (s.n > PACKET_MAX || inflateInit(&z) != Z_OK)
		return 0;
	while (status == Z_OK) {
		if (z.total_out == *size) {
			size_t more = *size ? *size * 2 : BLOCK;
			uint8_t *grown = *size < PACKET_MAX ? realloc(*room, more) : NULL;

			if (!grown)
				break;
			*room = grown;
			*size = more;
		}
		z.next_out = *room + z.total_out;
		z.avail_out = (uInt)(*size - z.total_out);
		status = inflate(&z, Z_NO_FLUSH);
	}
	inflateEnd(&z);
	return status == Z_STREAM_END ? z.total_out : 0;
}

static size_t unzstd_packet(struct part s, uint8_t **room, size_t *size)
{
#ifdef KYMO_HAVE_ZSTD
	unsigned long long n = ZSTD_getFrameContentSize(s.s, s.n);
	uint8_t *grown;
	size_t done;

	if (n == ZSTD_CONTENTSIZE_ERROR)
		return 0;
	if (n == ZSTD_CONTENTSIZE_UNKNOWN)
		n = PACKET_MAX;
	if (!n || n > PACKET_MAX)
		return 0;
	if (*size < n) {
		grown = realloc(*room, n);
		if (!grown)
			return 0;
		*room = grown;
		*size = n;
	}
	done = ZSTD_decompress(*room, *size, s.s, s.n);
	return ZSTD_isError(done) ? 0 : done;
#else
	(void)s, (void)room, (void)size;
	return 0;
#endif
}

static bool copy_packets(struct pfread_input *in, int to, const struct format_options *o)
{
	struct proto_walk w = proto_walk((struct part){in->data, in->size});
	const uint8_t *copied = in->data, *at = w.p;
	uint8_t *room = NULL;
	struct proto_field f, packed;
	size_t size = 0, n;
	bool ok = true;

	for (; ok && proto_next(&w, &f); at = w.p) {
		if (f.number != TRACE_PACKET || f.type != PROTO_PART)
			continue;
		packed = packed_in(f.s);
		if (!packed.number)
			continue;
		ok = put(to, copied, (size_t)(at - copied), o);
		copied = w.p;
		n = packed.number == PACKET_ZSTD ? unzstd_packet(packed.s, &room, &size)
						 : inflate_packet(packed.s, &room, &size);
		in->damaged += !n;
		ok = ok && put(to, room, n, o);
	}
	ok = ok && put(to, copied, in->size - (size_t)(copied - in->data), o);
	free(room);
	return ok;
}

static bool unpack_packets(struct pfread_input *in, const char *path,
			   const struct format_options *o)
{
	struct pfread_input plain = {.data = (const uint8_t *)"", .wrong = in->wrong};
	int fd = spool_temporary(o->log);
	bool ok = fd >= 0 && copy_packets(in, fd, o);

	plain.damaged = in->damaged;
	ok = ok && map_file(&plain, fd, path, o);
	if (fd >= 0)
		close(fd);
	pfread_close(in);
	*in = plain;
	return ok;
}

bool pfread_open(struct pfread_input *in, const char *path, const struct format_options *o)
{
	int fd;
	bool ok;

	*in = (struct pfread_input){.data = (const uint8_t *)""};
	fd = unpack_open(path, o->log, &in->wrong);
	if (fd < 0)
		return false;
	ok = map_file(in, fd, path, o);
	close(fd);
	return ok && (!has_packed(in) || unpack_packets(in, path, o));
}
