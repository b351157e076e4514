/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rewriter is a process of its own, so that nothing of a compiler is in the program: source and result go through
 * memory without a name, and its end shows in a pipe.
 */
#include "core/counter/rewritten.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/orphan.h"
#include "base/text.h"
#include "base/vec.h"

#define LIMIT_S    60u
#define RESULT_MAX (256u << 20)

/* ---- the result ---- */

static int hex(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

/* In place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0) {
			*to++ = (char)(hex(s[1]) << 4 | hex(s[2]));
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* The next word of a line, "" behind the last. */
static char *word(char **at)
{
	char *s = *at;
	size_t n = strcspn(s, " ");

	*at = s + n + (s[n] == ' ');
	s[n] = '\0';
	unescape(s);
	return s;
}

static uint64_t number(char **at)
{
	return strtoull(word(at), NULL, 10);
}

static struct cap_rewritten_part *add(struct cap_rewritten_list *l)
{
	if (!vec_reserve(&l->at, &l->room, l->count, 1))
		return NULL;
	l->at[l->count] =
		(struct cap_rewritten_part){.name = "", .what = "", .space = "", .file = ""};
	return &l->at[l->count++];
}

static void take_place(struct cap_rewritten_part *p, char **at)
{
	p->line = (uint32_t)number(at);
	p->column = (uint32_t)number(at);
	p->file = word(at);
}

static bool take_kernel(struct cap_rewritten *r, char *at, bool refused)
{
	struct cap_rewritten_part *p = add(&r->kernels);

	if (!p)
		return false;
	p->name = word(&at);
	p->what = NULL;
	if (refused) {
		unescape(at);
		p->what = at;
	}
	return true;
}

/* Ids are their places in the list. */
static bool take_block(struct cap_rewritten *r, char *at)
{
	struct cap_rewritten_part *p;

	if (number(&at) != r->blocks.count || !(p = add(&r->blocks)))
		return false;
	p->name = word(&at);
	p->what = word(&at);
	take_place(p, &at);
	return true;
}

static bool take_part(struct cap_rewritten *r, char *at, bool access)
{
	struct cap_rewritten_part *p = add(&r->parts);

	if (!p)
		return false;
	if (access)
		p->site = (uint32_t)number(&at) + 1;
	p->block = (uint32_t)number(&at);
	p->what = word(&at);
	if (access) {
		p->space = word(&at);
		p->bytes = number(&at);
	}
	p->times = number(&at);
	take_place(p, &at);
	if (p->block >= r->blocks.count)
		return false;
	if (!p->line) {
		p->line = r->blocks.at[p->block].line;
		p->column = r->blocks.at[p->block].column;
		p->file = r->blocks.at[p->block].file;
	}
	p->name = r->blocks.at[p->block].name;
	return true;
}

static bool take_variable(struct cap_rewritten *r, char *at)
{
	struct cap_rewritten_part *p = add(&r->variables);

	if (!p)
		return false;
	p->what = word(&at);
	p->space = word(&at);
	p->name = word(&at);
	return true;
}

/* A region's mark is a part: "begin" or "end", of a region of this name. */
static bool take_region(struct cap_rewritten *r, char *at)
{
	struct cap_rewritten_part *p = add(&r->parts);

	if (!p)
		return false;
	p->record = (uint32_t)number(&at);
	p->block = (uint32_t)number(&at);
	p->what = word(&at);
	p->space = word(&at);
	p->times = 1;
	take_place(p, &at);
	if (p->block >= r->blocks.count)
		return false;
	p->name = r->blocks.at[p->block].name;
	return true;
}

static bool take_argument(struct cap_rewritten *r, char *at)
{
	struct cap_rewritten_part *p = add(&r->arguments);

	if (!p)
		return false;
	p->record = (uint32_t)number(&at);
	p->name = word(&at);
	p->block = (uint32_t)number(&at);
	p->what = word(&at);
	return true;
}

/* What is not known is passed over. */
static bool take_line(struct cap_rewritten *r, char *line)
{
	char *at = line;
	const char *first = word(&at);

	if (strcmp(first, "kernel") == 0)
		return take_kernel(r, at, false);
	if (strcmp(first, "refused") == 0)
		return take_kernel(r, at, true);
	if (strcmp(first, "options") == 0) {
		unescape(at);
		r->options = at;
		return true;
	}
	if (strcmp(first, "variable") == 0)
		return take_variable(r, at);
	if (strcmp(first, "block") == 0)
		return take_block(r, at);
	if (strcmp(first, "site") == 0)
		return take_part(r, at, true);
	if (strcmp(first, "region") == 0)
		return take_region(r, at);
	if (strcmp(first, "argument") == 0)
		return take_argument(r, at);
	/* An atomic access is a site, and work besides. */
	return strcmp(first, "work") != 0 || strstr(at, " atomic ") || take_part(r, at, false);
}

bool cap_rewritten_parse(char *text, size_t length, struct cap_rewritten *out)
{
	char *end = text + length, *next;
	bool good = strncmp(text, "kymo-rewrite 1\n", 15) == 0;

	*out = (struct cap_rewritten){.text = text, .source = "", .options = ""};
	for (char *line = text; good; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			break;
		*next++ = '\0';
		if (strncmp(line, "source ", 7) == 0) {
			size_t bytes = strtoull(line + 7, NULL, 10);

			if (bytes > (size_t)(end - next))
				break;
			next[bytes] = '\0';
			out->source = next;
			return true;
		}
		good = take_line(out, line);
	}
	for (uint32_t i = 0; good && i < out->kernels.count; i++)
		if (strcmp(out->kernels.at[i].name, "*") == 0)
			return true; /* all are refused: there is no source */
	cap_rewritten_release(out);
	return false;
}

void cap_rewritten_release(struct cap_rewritten *r)
{
	free(r->kernels.at);
	free(r->blocks.at);
	free(r->parts.at);
	free(r->variables.at);
	free(r->arguments.at);
	free(r->text);
	*r = (struct cap_rewritten){.text = NULL};
}

/* ---- the process ---- */

enum { INPUT, RESULT, ERRORS, ENDING, FILES };

static int memory_file(const char *text, size_t n)
{
	int fd = memfd_create("kymo-rewrite", MFD_CLOEXEC);

	while (fd >= 0 && n) {
		ssize_t wrote = write(fd, text, n);

		if (wrote <= 0 && errno != EINTR) {
			close(fd);
			return -1;
		}
		text += wrote > 0 ? wrote : 0;
		n -= wrote > 0 ? (size_t)wrote : 0;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

/* NULL: no memory, or too large. */
static char *read_all(int fd, size_t *length)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = size >= 0 && size <= RESULT_MAX ? malloc((size_t)size + 1) : NULL;
	size_t got = 0;

	while (text && got < (size_t)size) {
		ssize_t n = pread(fd, text + got, (size_t)size - got, (off_t)got);

		if (n <= 0 && errno != EINTR)
			break;
		got += n > 0 ? (size_t)n : 0;
	}
	if (text)
		text[got] = '\0';
	*length = got;
	return text;
}

/* Nobody writes to the pipe: when its other end is closed, the process has ended. */
static bool await_end(int fd)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + (LIMIT_S + 1) * 1000000000ull;
	struct pollfd p = {.fd = fd};
	uint64_t now;

	while ((now = clock_ns(CLOCK_MONOTONIC)) < until) {
		int n = poll(&p, 1, (int)((until - now) / 1000000u) + 1);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
	return false;
}

static void say_failure(int errors, bool ended, char *why, size_t size)
{
	size_t length = 0;
	char *text = read_all(errors, &length);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	if (text && *text)
		snprintf(why, size, "%s", text);
	else
		snprintf(why, size, "kymo rewrite %s",
			 ended ? "ended without a result (can this process start programs?)"
			       : "took too long");
	free(text);
}

static bool run(const int fd[FILES], int end, char *const argv[], struct cap_rewritten *out,
		char *why, size_t size)
{
	static char kymo[PATH_MAX]; /* one thread at a time makes twins; its stack may be small */
	size_t length = 0;
	bool ended;
	char *text;

	bool started = orphan_kymo(kymo, sizeof(kymo));

	if (!started)
		snprintf(why, size, "the program kymo was not found (KYMO_BIN names it)");
	else if (!(started = orphan_start(kymo, argv, fd, LIMIT_S)))
		snprintf(why, size, "kymo rewrite could not be started");
	close(fd[ENDING]);
	if (!started)
		return false;
	ended = await_end(end);
	text = ended ? read_all(fd[RESULT], &length) : NULL;
	if (text && cap_rewritten_parse(text, length, out))
		return true;
	say_failure(fd[ERRORS], ended, why, size);
	return false;
}

bool cap_rewrite(const void *program, size_t bytes, char *const argv[], struct cap_rewritten *out,
		 char *why, size_t size)
{
	int fd[FILES] = {memory_file(program, bytes), memory_file(NULL, 0), memory_file(NULL, 0),
			 -1};
	int ends[2] = {-1, -1};
	bool done = false;

	if (fd[INPUT] < 0 || fd[RESULT] < 0 || fd[ERRORS] < 0 || pipe2(ends, O_CLOEXEC) != 0) {
		snprintf(why, size, "no file for the source: %s", strerror(errno));
	} else {
		fd[ENDING] = ends[1];
		done = run(fd, ends[0], argv, out, why, size);
	}
	for (int i = 0; i < ENDING; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	if (ends[0] >= 0)
		close(ends[0]);
	return done;
}
