/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines in order of time. Ends of what has begun wait in a heap. Messages are known when both of their ends are,
 * later than their time: they are kept, sorted at the end, and merged in while the lines are copied behind the header,
 * whose length of the trace is known then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/vec.h"
#include "formats/paraver/paraver.h"

static const char late[] = "events that came too late for the order of time";

static bool before(const struct line *a, const struct line *b)
{
	return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static void sift_up(struct line *heap, uint32_t i)
{
	for (uint32_t up; i > 0 && before(&heap[i], &heap[up = (i - 1) / 2]); i = up) {
		struct line x = heap[i];

		heap[i] = heap[up];
		heap[up] = x;
	}
}

static void sift_down(struct line *heap, uint32_t n)
{
	for (uint32_t i = 0, next; (next = 2 * i + 1) < n; i = next) {
		struct line x = heap[i];

		if (next + 1 < n && before(&heap[next + 1], &heap[next]))
			next++;
		if (!before(&heap[next], &heap[i]))
			return;
		heap[i] = heap[next];
		heap[next] = x;
	}
}

static void put_object(struct output *o, const struct object *x)
{
	output_unsigned(o, x->cpu);
	output_text(o, ":1:");
	output_unsigned(o, x->task);
	output_char(o, ':');
	output_unsigned(o, x->thread);
	output_char(o, ':');
}

static int64_t since(const struct paraver *w, int64_t time)
{
	return time > w->t->origin ? time - w->t->origin : 0;
}

static void put_event(struct paraver *w, const struct line *x)
{
	struct output *o = &w->body;

	output_text(o, "2:");
	put_object(o, x->object);
	output_signed(o, since(w, x->time));
	output_char(o, ':');
	output_unsigned(o, x->type);
	output_char(o, ':');
	output_unsigned(o, x->value);
	output_char(o, '\n');
	w->written = x->time;
}

static void reaches(struct paraver *w, int64_t time)
{
	w->end = time > w->end ? time : w->end;
}

static bool add(struct paraver *w, const struct object *object, int64_t time, int64_t sequence,
		uint32_t type, uint64_t value)
{
	if (time < w->written) {
		unplaced_add(&w->unplaced, late, 1);
		return true;
	}
	if (!vec_reserve(&w->ahead, &w->ahead_room, w->ahead_count, 1))
		return false;
	w->ahead[w->ahead_count] = (struct line){
		.time = time, .sequence = sequence, .object = object, .value = value, .type = type};
	sift_up(w->ahead, w->ahead_count++);
	reaches(w, time);
	return true;
}

bool lines_event(struct paraver *w, const struct object *object, int64_t time, uint32_t type,
		 uint64_t value)
{
	return add(w, object, time, ++w->sequence, type, value);
}

/* Of what is at one time, ends come first, of what began last first of all; but after what begins then and ends. */
bool lines_interval(struct paraver *w, const struct object *object, int64_t start, int64_t end,
		    uint32_t type, uint64_t value, uint64_t back)
{
	int64_t n = ++w->sequence;

	return add(w, object, start, n, type, value) &&
	       add(w, object, end, end > start ? -n : ++w->sequence, type, back);
}

void lines_until(struct paraver *w, int64_t time)
{
	while (w->ahead_count && w->ahead[0].time < time) {
		put_event(w, &w->ahead[0]);
		w->ahead[0] = w->ahead[--w->ahead_count];
		sift_down(w->ahead, w->ahead_count);
	}
}

void lines_state(struct paraver *w, const struct object *object, int64_t begin, int64_t end,
		 unsigned state)
{
	struct output *o = &w->body;

	if (begin < w->written) {
		unplaced_add(&w->unplaced, late, 1);
		return;
	}
	lines_until(w, begin);
	output_text(o, "1:");
	put_object(o, object);
	output_signed(o, since(w, begin));
	output_char(o, ':');
	output_signed(o, since(w, end));
	output_char(o, ':');
	output_unsigned(o, state);
	output_char(o, '\n');
	w->written = begin;
	reaches(w, end);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int by_time(const void *x, const void *y, void *unused)
{
	const struct message *a = x, *b = y;

	(void)unused;
	if (a->sent != b->sent)
		return a->sent < b->sent ? -1 : 1;
	return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static void put_message(const struct paraver *w, struct output *o, const struct message *m)
{
	output_text(o, "3:");
	put_object(o, m->sender);
	output_signed(o, since(w, m->sent));
	output_char(o, ':');
	output_signed(o, since(w, m->sent));
	output_char(o, ':');
	put_object(o, m->receiver);
	output_signed(o, since(w, m->received));
	output_char(o, ':');
	output_signed(o, since(w, m->received));
	output_char(o, ':');
	output_unsigned(o, m->bytes);
	output_char(o, ':');
	output_unsigned(o, m->tag >= 0 ? (uint32_t)m->tag : 0);
	output_char(o, '\n');
}

/* The time of a line of the body: its sixth number, with and without an end. */
static int64_t time_of(const char *line)
{
	for (int colons = 0; colons < 5; line++)
		colons += *line == ':';
	return strtoll(line, NULL, 10);
}

/* Drops those of which one end alone is known, and sorts the others. False: no room. */
static bool settle(struct paraver *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->message_count; i++)
		if (w->messages[i].sender && w->messages[i].receiver)
			w->messages[n++] = w->messages[i];
	unplaced_add(&w->unplaced, "messages of which one side alone is known",
		     w->message_count - n);
	w->message_count = n;
	return !n || bulk_sort(&w->messages, n, sizeof(*w->messages), by_time, NULL);
}

void lines_copy(struct paraver *w, struct output *to, const char *path)
{
	FILE *from = fopen(path, "re");
	uint32_t next = 0;
	size_t room = 0;
	char *line = NULL;
	ssize_t n;

	if (!settle(w))
		to->error = ENOMEM;
	while (from && (n = getline(&line, &room, from)) > 0) {
		int64_t time = time_of(line);

		for (; next < w->message_count && since(w, w->messages[next].sent) < time; next++)
			put_message(w, to, &w->messages[next]);
		output_put(to, line, (size_t)n);
	}
	for (; next < w->message_count; next++)
		put_message(w, to, &w->messages[next]);
	if ((!from || ferror(from)) && !to->error)
		to->error = errno ? errno : EIO;
	if (from)
		fclose(from);
	free(line);
}
