/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "wait": its calls, and what they are told with. */
#include <sys/stat.h>

#include "base/clock.h"
#include "capture/wait/wait.h"
#include "core/marker/marker.h"
#include "core/process/handler.h"

enum { NONE, FD, TIMEOUT, COUNT, KINDS, READY, SIGNAL, CHILD, OBJECT, TIMED_OUT };
enum {
	SHAPE_NOTHING,
	SHAPE_SLEEP,
	SHAPE_POLL,
	SHAPE_EPOLL,
	SHAPE_SIGNAL,
	SHAPE_CHILD,
	SHAPE_FUTEX,
	SHAPES
};

#define MEMBER(name) LIBC_MEMBER(struct wait_call, name)

static const struct libc_field fields[] = {
	[FD] = {"fd", "int", KYMO_KIND_SIGNED, 4, 0, MEMBER(fd), false},
	[TIMEOUT] = {"timeout", "int64_t", KYMO_KIND_SIGNED, 8, 0, MEMBER(timeout), false},
	[COUNT] = {"count", "unsigned", KYMO_KIND_UNSIGNED, 4, 0, MEMBER(count), false},
	[KINDS] = {"kinds", "string", KYMO_KIND_REF, 4, 0, MEMBER(kinds), true},
	[READY] = {"ready", "int", KYMO_KIND_SIGNED, 4, KYMO_FIELD_OUT, MEMBER(answer), false},
	[SIGNAL] = {"signal", "int", KYMO_KIND_SIGNED, 4, KYMO_FIELD_OUT, MEMBER(answer), false},
	[CHILD] = {"child", "pid_t", KYMO_KIND_SIGNED, 4, KYMO_FIELD_OUT, MEMBER(answer), true},
	[OBJECT] = {"object", "const void *", KYMO_KIND_POINTER, 8, 0, MEMBER(object), false},
	[TIMED_OUT] = {"timed_out", "bool", KYMO_KIND_BOOL, 1, KYMO_FIELD_OUT, MEMBER(timed_out),
		       true},
};

static const uint8_t shapes[SHAPES][LIBC_FIELDS] = {
	[SHAPE_SLEEP] = {TIMEOUT},
	[SHAPE_POLL] = {TIMEOUT, COUNT, KINDS, READY},
	[SHAPE_EPOLL] = {FD, TIMEOUT, READY},
	[SHAPE_SIGNAL] = {TIMEOUT, SIGNAL, TIMED_OUT},
	[SHAPE_CHILD] = {CHILD},
	[SHAPE_FUTEX] = {OBJECT, TIMEOUT, TIMED_OUT},
};

static const struct libc_op rows[WAIT_OP_COUNT] = {
#define WAIT_OP(id, name, fields, flags) {name, SHAPE_##fields, flags},
	WAIT_OPS(WAIT_OP)
#undef WAIT_OP
};

/* ---- kinds of descriptors ---- */

static const char kind_names[][9] = {"file", "pipe", "socket", "terminal", "event"};
#define KINDS_COUNT (sizeof(kind_names) / sizeof(*kind_names))

/* A file descriptor's bit; what is no file at all (eventfd, epoll, timerfd, ...) is an event. */
static unsigned kind_of(int fd)
{
	struct stat s;

	if (fstat(fd, &s) != 0)
		return 0;
	switch (s.st_mode & S_IFMT) {
	case S_IFIFO:
		return 1u << 1;
	case S_IFSOCK:
		return 1u << 2;
	case S_IFCHR:
		return 1u << 3;
	case 0:
		return 1u << 4;
	default:
		return 1u << 0;
	}
}

static uint32_t text_of(unsigned kinds)
{
	static _Atomic uint32_t known[1u << KINDS_COUNT];
	uint32_t id = atomic_load_explicit(&known[kinds], memory_order_relaxed);
	const struct marker_name *name;
	char text[KINDS_COUNT * (sizeof(kind_names[0]) + 2)] = "";

	if (id || cap_in_handler(cap_sp()))
		return id;
	for (unsigned i = 0; i < KINDS_COUNT; i++) {
		if (!(kinds & 1u << i))
			continue;
		if (*text)
			strcat(text, ", ");
		strcat(text, kind_names[i]);
	}
	name = marker_name(text);
	id = name ? name->id : 0;
	atomic_store_explicit(&known[kinds], id, memory_order_relaxed);
	return id;
}

/* Only of what took its time: looking at a descriptor takes as long as asking for one. */
#define LOOK_NS 10000.0

static double look_ticks;

static void finish(struct libc_call *call, int error)
{
	struct wait_call *c = (struct wait_call *)(void *)call;
	unsigned kinds = 0;

	if (!c->looked_at_count || (double)(call->frame->end - call->frame->start) < look_ticks)
		return;
	for (unsigned i = 0; i < c->looked_at_count; i++)
		kinds |= kind_of(c->looked_at[i]);
	c->kinds = kinds ? text_of(kinds) : 0;
}

LIBC_DOMAIN(wait, WAIT_OP_COUNT, .title = "Sleeps and polls", .fields = fields, .shapes = shapes,
	    .rows = rows, .finish = finish);

struct libc_domain *kymo_wait_start(void)
{
	const bool started = libc_domain_start(&wait_domain);

	look_ticks = LOOK_NS * (double)tick_rate() / 1e9; /* known from the library's start on */
	return started ? &wait_domain : NULL;
}
