/* SPDX-License-Identifier: Apache-2.0 */
/* See jit.h; the format of jitdump: tools/perf/Documentation/jitdump-specification.txt of Linux. */
#include "capture/hostsample/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "core/sample/sample.h"

#define FUNCTIONS  400000u     /* that are kept */
#define NAMES      (32u << 20) /* bytes of their names */
#define NAME       1000u       /* bytes of one */
#define CHUNK      65536u
#define MAPS_NS    1000000000u /* so often at most a jitdump file is looked for */
#define MAGIC      0x4a695444u /* "JiTD" in the file's byte order */
#define READINGS   5           /* of two clocks */
#define DUMP_TICKS 1u          /* its times are the processor's counter: they cannot be compared */

struct function {
	uint64_t start, size;
	uint64_t time; /* from then on; 0: not told */
	uint32_t
		name; /* where it begins among the names; behind it that of the file, if there is one */
	uint32_t file; /* 0: none */
	uint32_t line, order;
};

/* A file that is written while it is read; open only while that is done: the program finds no descriptor of others. */
struct source {
	int fd;         /* -1: it is not there (yet) */
	uint64_t done;  /* bytes of it */
	char path[512]; /* "": not known */
};

static struct function *functions;
static uint32_t count, room, sorted;
static char *names;
static uint32_t names_used, names_room;
static struct source map, dump;
static uint64_t known_until; /* files were read then; CLOCK_MONOTONIC_RAW */
static bool full;
static uint64_t looked;     /* for a jitdump file */
static uint64_t raw_behind; /* CLOCK_MONOTONIC less CLOCK_MONOTONIC_RAW */
static uint64_t dump_flags;
/* Of the function that is loaded next: where its code begins in the source. */
static struct {
	uint64_t address;
	uint32_t file, line;
} debug;

/* ---- functions --------------------------------------------------------------------------------- */

/* Where it is kept; 0: not kept. */
static uint32_t keep(const char *text, size_t length)
{
	uint32_t at;

	length = length < NAME ? length : NAME;
	if (!names_used)
		names_used = 1; /* 0 is none */
	if (names_used + length + 1 > NAMES ||
	    !vec_reserve(&names, &names_room, names_used, (uint32_t)length + 1))
		return 0;
	at = names_used;
	memcpy(names + at, text, length);
	names[at + length] = '\0';
	names_used += (uint32_t)length + 1;
	return at;
}

static void add(const struct function *f)
{
	if (!f->name || count == FUNCTIONS || !vec_reserve(&functions, &room, count, 1)) {
		if (!full)
			cap_note(2, "sample",
				 "too many functions of generated code: more than %u, or names of "
				 "more "
				 "than %u MiB; others have no names",
				 FUNCTIONS, NAMES >> 20);
		full = true;
		return;
	}
	functions[count] = *f;
	functions[count].order = count;
	count++;
}

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* One that was loaded later is the better one, unless that was after the sample. */
static bool better(const struct function *f, const struct function *than, uint64_t time)
{
	bool early = f->time > time, than_early = than && than->time > time;

	if (!than || early != than_early)
		return !than || !early;
	return f->time != than->time ? (f->time > than->time) != early : f->order > than->order;
}

static const struct function *find(uint64_t pc, uint64_t time)
{
	const struct function *best = NULL;
	uint32_t low = 0, high = count;

	if (sorted != count)
		qsort(functions, count, sizeof(*functions), by_start);
	sorted = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (functions[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	/* What is there now, and what was there before it: they need not begin at one place. */
	for (uint32_t i = low; i-- > 0 && low - i <= 64;)
		if (pc - functions[i].start < functions[i].size &&
		    better(&functions[i], best, time))
			best = &functions[i];
	return best;
}

/* ---- /tmp/perf-PID.map ------------------------------------------------------------------------- */

/* Only what the process's user has written. */
static bool open_own(struct source *s)
{
	struct stat about;

	s->fd = s->path[0] ? open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (s->fd < 0)
		return false;
	if (fstat(s->fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid())
		return true;
	close(s->fd);
	return false;
}

/* "py::f:/a/b.py" is of Python's trampolines. */
static void take_name(struct function *f, const char *name, size_t length)
{
	const char *colon = length > 4 && memcmp(name, "py::", 4) == 0
				    ? memrchr(name + 4, ':', length - 4)
				    : NULL;

	if (colon && colon > name + 4) {
		f->file = keep(colon + 1, length - (size_t)(colon + 1 - name));
		length = (size_t)(colon - name);
	}
	f->name = keep(name, length);
}

static void take_line(const char *line, size_t length)
{
	struct function f = {0};
	char *end, *at;

	f.start = strtoull(line, &end, 16);
	if (*end != ' ')
		return;
	f.size = strtoull(end, &at, 16);
	if (*at != ' ' || !f.size || at + 1 >= line + length)
		return;
	take_name(&f, at + 1, length - (size_t)(at + 1 - line));
	add(&f);
}

static void read_map(void)
{
	static char text[CHUNK + 1];
	ssize_t n;

	while (!full && (n = pread(map.fd, text, CHUNK, (off_t)map.done)) > 0) {
		char *line = text, *end;

		text[n] = '\0';
		while ((end = memchr(line, '\n', (size_t)(text + n - line)))) {
			*end = '\0';
			take_line(line, (size_t)(end - line));
			line = end + 1;
		}
		if (line == text) { /* it is being written, or is no line of such a file */
			map.done += n == CHUNK ? CHUNK : 0;
			return;
		}
		map.done += (uint64_t)(line - text);
	}
}

/* ---- jitdump ----------------------------------------------------------------------------------- */

struct dump_head {
	uint32_t magic, version, size, machine, reserved, pid;
	uint64_t time, flags;
};

struct record_head {
	uint32_t id, size;
	uint64_t time;
};

enum { LOAD = 0, MOVE = 1, DEBUG_INFO = 2 };

struct load {
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, old_address, address, size, index;
};

struct debug_head {
	uint64_t address, entries;
};

struct debug_entry {
	uint64_t address;
	uint32_t line, discriminator;
};

/* As perf finds it: it is mapped. */
static void find_dump(void)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	char line[512], wanted[32];
	FILE *f;

	if (looked && now - looked < MAPS_NS)
		return;
	looked = now;
	f = fopen("/proc/self/maps", "re");
	snprintf(wanted, sizeof(wanted), "/jit-%d.dump\n", getpid());
	while (f && !dump.path[0] && fgets(line, sizeof(line), f)) {
		size_t n = strlen(line), m = strlen(wanted);
		char *path = strchr(line, '/');

		if (!path || n < m || strcmp(line + n - m, wanted) != 0)
			continue;
		line[n - 1] = '\0';
		snprintf(dump.path, sizeof(dump.path), "%s", path);
	}
	if (f)
		fclose(f);
}

static bool read_at(uint64_t at, void *out, size_t size)
{
	return pread(dump.fd, out, size, (off_t)at) == (ssize_t)size;
}

/* A text in the file: as much of it as is kept. */
static uint32_t keep_at(uint64_t at, uint64_t end)
{
	char text[NAME];
	size_t most = end > at ? (size_t)(end - at) : 0;
	ssize_t n = pread(dump.fd, text, most < NAME ? most : NAME, (off_t)at);

	return n > 0 ? keep(text, strnlen(text, (size_t)n)) : 0;
}

static uint64_t time_of(const struct record_head *h)
{
	if (dump_flags & DUMP_TICKS)
		return 0;
	return h->time - raw_behind;
}

static void take_load(const struct record_head *h, uint64_t at)
{
	uint64_t begin = at + sizeof(*h);
	struct load l;
	struct function f;

	if (h->size < sizeof(*h) + sizeof(l) || !read_at(begin, &l, sizeof(l)))
		return;
	f = (struct function){.start = l.address, .size = l.size, .time = time_of(h)};
	f.name = keep_at(begin + sizeof(l), at + h->size);
	if (debug.address == l.address) {
		f.file = debug.file;
		f.line = debug.line;
	}
	debug.address = 0;
	add(&f);
}

static void take_move(const struct record_head *h, uint64_t at)
{
	const struct function *was;
	struct function f;
	struct move m;

	if (h->size < sizeof(*h) + sizeof(m) || !read_at(at + sizeof(*h), &m, sizeof(m)))
		return;
	was = find(m.old_address, time_of(h));
	if (!was)
		return;
	f = *was;
	f.start = m.address;
	f.time = time_of(h);
	add(&f);
}

/* Of the function that follows; its first line is enough. */
static void take_debug(const struct record_head *h, uint64_t at)
{
	uint64_t begin = at + sizeof(*h);
	struct debug_entry e;
	struct debug_head d;

	if (h->size < sizeof(*h) + sizeof(d) + sizeof(e) || !read_at(begin, &d, sizeof(d)) ||
	    !d.entries || !read_at(begin + sizeof(d), &e, sizeof(e)))
		return;
	debug.address = d.address;
	debug.line = e.line;
	debug.file = keep_at(begin + sizeof(d) + sizeof(e), at + h->size);
}

static bool begin_dump(void)
{
	struct dump_head h;

	if (dump.done)
		return true;
	if (!read_at(0, &h, sizeof(h)) || h.magic != MAGIC || h.size < sizeof(h))
		return false;
	dump_flags = h.flags;
	dump.done = h.size;
	return true;
}

static void read_dump(void)
{
	struct record_head h;
	struct stat s;

	if (!begin_dump() || fstat(dump.fd, &s) != 0)
		return;
	while (!full && read_at(dump.done, &h, sizeof(h)) && h.size >= sizeof(h) &&
	       h.size <= (uint64_t)s.st_size - dump.done) {
		if (h.id == LOAD)
			take_load(&h, dump.done);
		else if (h.id == MOVE)
			take_move(&h, dump.done);
		else if (h.id == DEBUG_INFO)
			take_debug(&h, dump.done);
		dump.done += h.size;
	}
}

/* ---- for the samplers -------------------------------------------------------------------------- */

/* The tightest of some readings: between two clocks the thread may lose its processor. */
static void compare_clocks(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW), at = clock_ns(CLOCK_MONOTONIC),
			 wide = clock_ns(CLOCK_MONOTONIC_RAW) - before;

		if (wide < best) {
			best = wide;
			raw_behind = at - before - wide / 2;
		}
	}
}

static void read_files(void)
{
	known_until = clock_ns(CLOCK_MONOTONIC_RAW);
	compare_clocks();
	snprintf(map.path, sizeof(map.path), "/tmp/perf-%d.map", getpid());
	if (open_own(&map)) {
		read_map();
		close(map.fd);
	}
	if (!dump.path[0])
		find_dump();
	if (open_own(&dump)) {
		read_dump();
		close(dump.fd);
	}
}

uint64_t jit_place(uint64_t pc, uint64_t time)
{
	const struct function *f;

	if (time >= known_until)
		read_files();
	f = find(pc, time);
	return f ? cap_sample_place(names + f->name, f->file ? names + f->file : "", f->line) : 0;
}

void jit_fork_child(void)
{
	count = sorted = names_used = 0;
	full = false;
	looked = known_until = 0;
	memset(&map, 0, sizeof(map));
	memset(&dump, 0, sizeof(dump));
}
