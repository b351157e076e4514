/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "posix": its calls, and what they are told with. */
#include <errno.h>

#include "capture/posix/posix.h"
#include "core/marker/marker.h"
#include "core/process/handler.h"

enum { NONE, FD, FILE, TO, SIZE, MOVED, OFFSET, FLAGS, NEW, ADDRESS };

#define MEMBER(name) LIBC_MEMBER(struct posix_call, name)

static const struct libc_field fields[] = {
	[FD] = {"fd", "int", KYMO_KIND_SIGNED, 4, 0, MEMBER(fd), false},
	[FILE] = {"file", "string", KYMO_KIND_REF, 4, 0, MEMBER(file), false},
	[TO] = {"to", "string", KYMO_KIND_REF, 4, 0, MEMBER(to), false},
	[SIZE] = {"size", "size_t", KYMO_KIND_SIZE, 8, 0, MEMBER(size), false},
	[MOVED] = {"moved", "ssize_t", KYMO_KIND_SIZE, 8, KYMO_FIELD_OUT, MEMBER(moved), false},
	[OFFSET] = {"offset", "off_t", KYMO_KIND_SIGNED, 8, 0, MEMBER(offset), false},
	[FLAGS] = {"flags", "int", KYMO_KIND_UNSIGNED, 4, 0, MEMBER(flags), false},
	[NEW] = {"new", "int", KYMO_KIND_SIGNED, 4, KYMO_FIELD_OUT, MEMBER(other), false},
	[ADDRESS] = {"address", "const void *", KYMO_KIND_POINTER, 8, 0, MEMBER(address), false},
};

enum {
	SHAPE_OPEN,
	SHAPE_FD,
	SHAPE_MOVE,
	SHAPE_MOVE_AT,
	SHAPE_AT,
	SHAPE_CONTROL,
	SHAPE_NEW,
	SHAPE_MAP,
	SHAPE_RANGE,
	SHAPE_COPY,
	SHAPES
};

static const uint8_t shapes[SHAPES][LIBC_FIELDS] = {
	[SHAPE_OPEN] = {FILE, FLAGS, NEW},      [SHAPE_FD] = {FD, FILE},
	[SHAPE_MOVE] = {FD, FILE, SIZE, MOVED}, [SHAPE_MOVE_AT] = {FD, FILE, SIZE, MOVED, OFFSET},
	[SHAPE_AT] = {FD, FILE, OFFSET},        [SHAPE_CONTROL] = {FD, FILE, FLAGS, NEW},
	[SHAPE_NEW] = {FD, FILE, NEW},          [SHAPE_MAP] = {FD, FILE, SIZE, OFFSET, ADDRESS},
	[SHAPE_RANGE] = {ADDRESS, SIZE},        [SHAPE_COPY] = {FD, FILE, TO, SIZE, MOVED},
};

static const struct libc_op rows[POSIX_OP_COUNT] = {
#define POSIX_OP(id, name, fields) {name, SHAPE_##fields, 0},
	POSIX_OPS(POSIX_OP)
#undef POSIX_OP
};

/* What it is told with is the new descriptor's. */
static bool is_new(unsigned op)
{
	return op <= POSIX_CREAT || op == POSIX_ACCEPT || op == POSIX_ACCEPT4;
}

/* What was opened has its name now. */
static void name_files(struct libc_call *call, int error)
{
	struct posix_call *c = (struct posix_call *)(void *)call;
	const struct marker_name *name;

	if (c->named)
		return;
	/* A path that the system could read can be read here. */
	if (c->path && error && error != EFAULT && !cap_in_handler(cap_sp())) {
		name = marker_name(c->path);
		c->file = name ? name->id : 0;
		return;
	}
	c->file = posix_file(is_new(c->base.op) ? c->other : c->fd,
			     c->base.op == POSIX_ACCEPT || c->base.op == POSIX_ACCEPT4);
	if (c->base.op == POSIX_SENDFILE || c->base.op == POSIX_COPY_FILE_RANGE ||
	    c->base.op == POSIX_SPLICE)
		c->to = kymo_posix_file(c->other);
}

static void tell(void)
{
	static _Atomic bool told_rings;

	if (told_rings || !posix_rings())
		return;
	told_rings = true;
	cap_note(2, "posix",
		 "the program has io_uring: what it reads and writes by that is not recorded");
}

LIBC_DOMAIN(posix, POSIX_OP_COUNT, .title = "Files and sockets", .fields = fields, .shapes = shapes,
	    .rows = rows, .finish = name_files, .tell = tell);

struct libc_domain *kymo_posix_start(void)
{
	return libc_domain_start(&posix_domain) ? &posix_domain : NULL;
}
