/* SPDX-License-Identifier: Apache-2.0 */
/* Texts side by side in one file; see strands.h. */
#include "stream/strands.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "stream/spool.h"

#define STRAND_BUFFER (16u << 10)

struct block {
	uint64_t next, bytes;
};

kymo_status_t strands_init(struct strands *p, const char *directory)
{
	*p = (struct strands){.fd = spool_file(directory)};
	return p->fd >= 0 ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

void strands_release(struct strands *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static bool write_at(int fd, const void *data, size_t n, uint64_t at)
{
	const char *from = data;

	while (n) {
		ssize_t done = pwrite(fd, from, n, (off_t)at);

		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0) {
			from += done;
			at += (uint64_t)done;
			n -= (size_t)done;
		}
	}
	return true;
}

static bool read_at(int fd, void *data, size_t n, uint64_t at)
{
	char *to = data;

	while (n) {
		ssize_t done = pread(fd, to, n, (off_t)at);

		if (done == 0)
			errno = EIO;
		if (done == 0 || (done < 0 && errno != EINTR))
			return false;
		if (done > 0) {
			to += done;
			at += (uint64_t)done;
			n -= (size_t)done;
		}
	}
	return true;
}

/* A new block, which the one before it names. */
static bool put_block(void *data, const char *text, size_t n)
{
	struct strand *x = data;
	const struct block b = {.bytes = n};
	uint64_t at = x->strands->end, name = at + 1;

	if (!n)
		return true;
	if (!write_at(x->strands->fd, &b, sizeof(b), at) ||
	    !write_at(x->strands->fd, text, n, at + sizeof(b)) ||
	    (x->last && !write_at(x->strands->fd, &name, sizeof(name), x->last - 1)))
		return false;
	x->strands->end = at + sizeof(b) + n;
	x->first = x->first ? x->first : name;
	x->last = name;
	return true;
}

kymo_status_t strand_begin(struct strands *p, struct strand *x)
{
	*x = (struct strand){.strands = p};
	x->out = (struct output){
		.fd = -1, .size = STRAND_BUFFER, .data = malloc(STRAND_BUFFER), .pack = put_block};
	x->out.packer = x;
	return x->out.data ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static bool copy_block(const struct strand *x, const struct block *b, uint64_t at, struct output *o)
{
	for (uint64_t done = 0; done < b->bytes;) {
		size_t n =
			b->bytes - done < STRAND_BUFFER ? (size_t)(b->bytes - done) : STRAND_BUFFER;
		char *room = output_room(o, n);

		if (!room || !read_at(x->strands->fd, room, n, at + sizeof(*b) + done))
			return false;
		output_advance(o, n);
		done += n;
	}
	return true;
}

kymo_status_t strand_copy(struct strand *x, struct output *o)
{
	struct block b = {.next = x->first};

	while (b.next && !o->error && !x->out.error) {
		uint64_t at = b.next - 1;

		if (!read_at(x->strands->fd, &b, sizeof(b), at) || !copy_block(x, &b, at, o))
			o->error = o->error ? o->error : errno;
	}
	if (!o->error && x->out.error)
		o->error = x->out.error;
	if (!o->error)
		output_put(o, x->out.data, x->out.used);
	strand_release(x);
	return output_status(o);
}

void strand_release(struct strand *x)
{
	free(x->out.data);
	x->out = (struct output){.fd = -1};
	x->first = x->last = 0;
}
