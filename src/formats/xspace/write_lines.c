/* SPDX-License-Identifier: Apache-2.0 */
/* Events in order, on as many lines as do not overlap; see writer.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "base/vec.h"
#include "formats/xspace/writer.h"

#define BUFFER (1u << 20)
#define PAGES  (16u << 20) /* bytes of a file that are in memory at a time */

/* ---- temporary files ------------------------------------------------------------------------- */

bool pile_open(struct xspace_writer *w, struct pile *p)
{
	p->fd = spool_temporary(w->o.log);
	return p->fd >= 0;
}

static void flush(struct xspace_writer *w, struct pile *p)
{
	if (p->buffer.length && !w->error &&
	    file_write_all(p->fd, p->buffer.s, p->buffer.length) != p->buffer.length)
		w->error = errno ? errno : EIO;
	p->buffer.length = 0;
}

void pile_add(struct xspace_writer *w, struct pile *p, const void *data, size_t n)
{
	text_add_bytes(&p->buffer, data, n);
	p->written += n;
	w->failed |= p->buffer.failed;
	if (p->buffer.length >= BUFFER)
		flush(w, p);
}

bool pile_map(struct xspace_writer *w, struct pile *p)
{
	flush(w, p);
	if (w->error || !p->written)
		return !w->error;
	p->mapped = mmap(NULL, p->written, PROT_READ, MAP_PRIVATE, p->fd, 0);
	if (p->mapped == MAP_FAILED)
		p->mapped = NULL;
	w->failed |= !p->mapped;
	return p->mapped != NULL;
}

void pile_seen(struct pile *p, size_t n)
{
	p->seen += n;
	if (p->seen < PAGES)
		return;
	madvise(p->mapped, p->written, MADV_DONTNEED);
	p->seen = 0;
}

void pile_release(struct pile *p)
{
	if (p->mapped)
		munmap(p->mapped, p->written);
	if (p->fd >= 0)
		close(p->fd);
	text_release(&p->buffer);
	*p = (struct pile){.fd = -1};
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By line; what others lie in comes before them. */
int item_compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = compare(x->line, y->line);

	if (!order)
		order = (x->key.time > y->key.time) - (x->key.time < y->key.time);
	if (!order)
		order = (x->end < y->end) - (x->end > y->end);
	return order ? order : compare(x->key.order, y->key.order);
}

static bool fits(struct lane *l, const struct item *i)
{
	while (l->depth && l->ends[l->depth - 1] <= i->key.time)
		l->depth--;
	return !l->depth || l->ends[l->depth - 1] >= i->end;
}

/* The first lane on which the event lies in what has begun there, or beside it. */
static uint32_t find_lane(struct xspace_writer *w, struct line *l, const struct item *i)
{
	uint32_t n = 0;

	while (n < l->lane_count && !fits(&l->lanes[n], i))
		n++;
	if (n == LANES_MAX) {
		unplaced_add(
			&w->unplaced,
			"events that overlap too many others to have a line of their own (they are "
			"drawn over them)",
			1);
		return LANES_MAX - 1;
	}
	if (n < l->lane_count)
		return n;
	if (!vec_reserve_zero(&l->lanes, &l->lane_room, l->lane_count, 1)) {
		w->failed = true;
		return 0;
	}
	l->lanes[l->lane_count++] = (struct lane){0};
	return n;
}

/* In the second file: lane, length, the event. */
static void place(struct xspace_writer *w, const struct item *i)
{
	struct line *l = &w->lines[i->line];
	uint32_t head[2] = {find_lane(w, l, i)};
	struct lane *lane;

	if (w->failed)
		return;
	lane = &l->lanes[head[0]];
	if (vec_reserve(&lane->ends, &lane->room, lane->depth, 1))
		lane->ends[lane->depth++] = i->end;
	else
		w->failed = true;
	xevent_scopes(w, i, &w->packed);
	head[1] = i->length + (uint32_t)w->packed.length;
	if (!l->bytes)
		l->from = w->sorted.written;
	pile_add(w, &w->sorted, head, sizeof(head));
	pile_add(w, &w->sorted, w->events.mapped + i->offset, i->length);
	pile_add(w, &w->sorted, w->packed.s ? w->packed.s : "", w->packed.length);
	pile_seen(&w->events, i->length);
	l->bytes = w->sorted.written - l->from;
	lane->bytes += head_size(head[1]) + head[1];
}

void spool_failed(struct xspace_writer *w, kymo_status_t status)
{
	if (status == KYMO_ERROR_SYSTEM && !w->error)
		w->error = errno ? errno : EIO;
	w->failed |= status != KYMO_OK;
}

bool lines_sort(struct xspace_writer *w)
{
	const void *next = NULL;

	if (!pile_map(w, &w->events))
		return false;
	spool_failed(w, spool_rewind(&w->spool));
	while (!w->failed && !w->error) {
		spool_failed(w, spool_next(&w->spool, &next));
		if (w->failed || !next)
			break;
		place(w, next);
	}
	spool_release(&w->spool);
	return !w->failed && pile_map(w, &w->sorted);
}

void lines_put(struct xspace_writer *w, const struct line *l, uint32_t lane)
{
	const uint8_t *p = w->sorted.mapped + l->from, *end = p + l->bytes;
	uint32_t head[2];

	for (; p < end; p += sizeof(head) + head[1]) {
		memcpy(head, p, sizeof(head));
		pile_seen(&w->sorted, sizeof(head) + head[1]);
		if (head[0] != lane)
			continue;
		w->packed.length = 0;
		pack_head(&w->packed, 4, head[1]);
		w->written += w->packed.length + head[1];
		output_put(&w->out, w->packed.s, w->packed.length);
		output_put(&w->out, (const char *)p + sizeof(head), head[1]);
	}
}
