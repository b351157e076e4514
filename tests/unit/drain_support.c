/* SPDX-License-Identifier: Apache-2.0 */
/* See drain_support.h. */
#include "unit/drain_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/file.h"
#include "drain/process_exit.h"
#include "wire/columns.h"

/* ---- the drain ------------------------------------------------------------------------------- */

void test_drain_start(struct test_drain *d, struct test_drain_options o)
{
	char raw[80];
	int pair[2], listener;

	memset(d, 0, sizeof(*d));
	strcpy(d->trace, "/tmp/kymo-test-XXXXXX");
	assert_non_null(mkdtemp(d->trace));
	snprintf(raw, sizeof(raw), "%s/raw", d->trace);
	assert_int_equal(mkdir(raw, 0777), 0);
	snprintf(d->socket, sizeof(d->socket), "%s/socket", d->trace);
	manifest_init(&d->manifest);
	snprintf(d->manifest.path, sizeof(d->manifest.path), "%s/manifest.json", d->trace);
	listener = drain_listen(d->socket);
	assert_true(listener >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	d->pid = fork();
	if (d->pid == 0) {
		struct drain_config c = {
			d->trace,   d->socket,    listener, o.orphan ? -1 : pair[1],
			o.compress, &d->manifest, NULL,     0,
			{-1, -1}};
		struct rlimit limit = {o.file_limit, o.file_limit};

		synth_own_faults();
		if (o.file_limit)
			setrlimit(RLIMIT_FSIZE, &limit);
		drain_detach(&c);
		drain_run(&c, NULL, DRAIN_BEGIN);
		_exit(0);
	}
	close(listener);
	close(pair[1]);
	d->control = pair[0];
	if (o.orphan) {
		close(pair[0]);
		d->control = -1;
	}
}

static void tell(struct test_drain *d, uint32_t type, pid_t pid, int status)
{
	struct drain_message m = {.type = type, .pid = pid, .status = status};

	assert_int_equal(send(d->control, &m, sizeof(m), MSG_NOSIGNAL), sizeof(m));
}

void test_drain_program(struct test_drain *d, pid_t pid)
{
	tell(d, DRAIN_PROGRAM, pid, 0);
}

void test_drain_exited(struct test_drain *d, pid_t pid, int wait_status)
{
	tell(d, DRAIN_EXITED, pid, wait_status);
}

void test_drain_done(struct test_drain *d)
{
	struct drain_message m;
	int pidfd = process_exit_watch(d->pid), status;
	struct pollfd p = {pidfd, POLLIN, 0};

	while (d->control >= 0) {
		struct pollfd q = {d->control, POLLIN, 0};

		assert_int_equal(poll(&q, 1, 30000), 1);
		if (recv(d->control, &m, sizeof(m), 0) != (ssize_t)sizeof(m))
			break;
		d->totals = m.totals;
		if (m.type == DRAIN_DONE)
			break;
	}
	assert_true(pidfd >= 0);
	assert_int_equal(poll(&p, 1, 30000), 1);
	close(pidfd);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	assert_int_equal(status, 0);
}

void test_drain_remove(struct test_drain *d)
{
	if (d->control >= 0)
		close(d->control);
	assert_true(file_remove_tree(d->trace));
}

/* ---- the reader ------------------------------------------------------------------------------ */

#define BAD(...)                                                                                   \
	do {                                                                                       \
		if (!c->error[0])                                                                  \
			snprintf(c->error, sizeof(c->error), __VA_ARGS__);                         \
		return;                                                                            \
	} while (0)

struct progress {
	uint64_t next_seq[SYNTH_THREADS];
};

static void read_chunk(struct contents *c, struct progress *p, const struct raw_block *b,
		       const uint8_t *payload)
{
	struct wire_reader r;
	struct wire_record rec;
	unsigned t = b->thread - 1;
	int rc;

	if (t >= SYNTH_THREADS)
		BAD("thread %u", b->thread);
	if (b->seq != p->next_seq[t])
		BAD("thread %u: chunk %lu after %lu", t, b->seq, p->next_seq[t]);
	p->next_seq[t] = b->seq + 1;
	if (!wire_reader_init(&r, payload, b->raw))
		BAD("thread %u: chunk %lu cannot be read", t, b->seq);
	while ((rc = wire_next(&r, &rec)) == 1) {
		struct wire_cursor cursor;
		struct wire_value v;

		wire_cursor_init(&cursor, &rec);
		if (!wire_field(&cursor, KYMO_KIND_UNSIGNED, 0, 8, &v) || v.u != c->records[t] ||
		    rec.id != ((uint64_t)t << 40) + 1 + c->records[t])
			BAD("thread %u: record %lu has value %lu", t, c->records[t], v.u);
		c->records[t]++;
		c->all++;
	}
	if (rc != 0)
		BAD("thread %u: damage in chunk %lu", t, b->seq);
}

static bool inflate(uint8_t *plain, const struct raw_block *b, const uint8_t *payload)
{
	bool arranged = b->flags & RAW_COLUMNS;
	size_t room = arranged ? wire_columns_bound(b->raw) : b->raw;
	uint8_t *out = arranged ? malloc(room) : plain;
	size_t n = ZSTD_decompress(out, room, payload, b->stored);
	struct wire_columns w = {0};
	bool ok = arranged ? !ZSTD_isError(n) && wire_columns_unpack(&w, out, n, plain, b->raw)
			   : n == b->raw;

	wire_columns_release(&w);
	if (arranged)
		free(out);
	return ok;
}

static void read_block(struct contents *c, struct progress *p, struct raw_block b,
		       const uint8_t *payload)
{
	uint8_t *plain = NULL;

	if (XXH3_64bits(payload, b.stored) != b.checksum)
		BAD("checksum of a block of type %u", b.type);
	if (b.flags & RAW_ZSTD) {
		plain = malloc(b.raw);
		if (!inflate(plain, &b, payload))
			snprintf(c->error, sizeof(c->error), "zstd frame");
		payload = plain;
		c->compressed++;
	}
	if (b.type == RAW_CHUNK) {
		c->chunks++;
		read_chunk(c, p, &b, payload);
	} else if (b.type == RAW_TICK_SYNC) {
		c->syncs++;
	} else if (b.type == RAW_OPEN_CALLS) {
		c->opens = b.raw / sizeof(struct raw_open);
		memcpy(&c->first_open, payload, sizeof(c->first_open));
		memcpy(&c->last_open, payload + b.raw - sizeof(c->last_open), sizeof(c->last_open));
	} else if (b.type == RAW_END) {
		c->has_end = true;
		memcpy(&c->end, payload, sizeof(c->end));
	}
	free(plain);
}

static void read_blocks(struct contents *c, const uint8_t *data, size_t size)
{
	struct progress p = {0};
	struct raw_header h;
	struct raw_block b;
	size_t at = sizeof(h);

	if (size < sizeof(h))
		BAD("no header");
	memcpy(&h, data, sizeof(h));
	if (h.magic != RAW_MAGIC || h.header_size != sizeof(h))
		BAD("header");
	c->pid = h.pid;
	while (at < size) {
		if (size - at < sizeof(b))
			BAD("torn block header");
		memcpy(&b, data + at, sizeof(b));
		at += sizeof(b);
		if (b.magic != RAW_BLOCK_MAGIC || b.stored > size - at)
			BAD("torn block");
		read_block(c, &p, b, data + at);
		at += b.stored;
	}
}

bool contents_read(struct contents *c, const struct test_drain *d, pid_t pid, unsigned n)
{
	char path[PATH_MAX];
	size_t size;
	char *data;

	memset(c, 0, sizeof(*c));
	snprintf(path, sizeof(path), "%s/raw/%s-%d-%u.kyr", d->trace, d->manifest.hostname, pid, n);
	data = file_read(path, &size);
	if (!data)
		return false;
	c->bytes = size;
	read_blocks(c, (uint8_t *)data, size);
	free(data);
	return true;
}
