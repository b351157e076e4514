/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kymo drain`: the drain that a traced process starts when it finds none. Not for users: its
 * command line is an agreement with the injected library.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "drain/collect.h"
#include "drain/drain.h"
#include "drain/keeper.h"
#include "drain/place.h"

struct drain_options {
	bool orphan;
	const char *trace;
	int64_t ready_fd;
};

static struct drain_options options;

#define AT(member) offsetof(struct drain_options, member)

static const struct knob rows[] = {
	{"orphan", 0, KNOB_FLAG, 0, AT(orphan), NULL, NULL, NULL, NULL, "Drain",
	 "Started by a traced process"},
	{"trace", 0, KNOB_STRING, 0, AT(trace), "DIR", NULL, NULL, NULL, "Drain",
	 "Trace directory"},
	{"ready-fd", 0, KNOB_INTEGER, 0, AT(ready_fd), "NUMBER", "0", NULL, NULL, "Drain",
	 "Descriptor to which the drain's address is written, once it listens"},
};

static struct knob_table table = {.command = "drain", .rows = rows, .count = 3, .values = &options};

enum { NAMES = 16 };

/* False, errno EEXIST: something is there that is not a trace of this user's. */
static bool make_folders(const char *path)
{
	char raw[PATH_MAX];
	int fd = -1;

	snprintf(raw, sizeof(raw), "%.*s/raw", PATH_MAX - 8, path);
	if (mkdir(path, 0700) != 0 &&
	    (errno != EEXIST || (fd = file_open_own(AT_FDCWD, path)) < 0)) {
		errno = errno == EPERM || errno == ELOOP || errno == ENOTDIR ? EEXIST : errno;
		return false;
	}
	if (fd >= 0)
		close(fd);
	if (mkdir(raw, 0700) == 0)
		return true;
	fd = errno == EEXIST ? file_open_own(AT_FDCWD, raw) : -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * The directory may be there already: another process of the program made it. Names that nobody has
 * asked for can be foreseen by other users, who then cannot have what is recorded.
 */
static bool make_trace(char path[PATH_MAX], struct manifest *m)
{
	const char *asked = getenv("KYMO_TRACE"), *dot = strrchr(options.trace, '.');
	int length = dot && dot > strrchr(options.trace, '/') ? (int)(dot - options.trace)
							      : (int)strlen(options.trace);
	bool made = false;

	for (int i = 1; !made && i <= NAMES; i++) {
		char number[16] = "";
		int n;

		if (i > 1)
			snprintf(number, sizeof(number), "-%d", i);
		n = snprintf(path, PATH_MAX, "%s%s%.*s%s%s", *options.trace == '/' ? "" : m->cwd,
			     *options.trace == '/' ? "" : "/", length, options.trace, number,
			     options.trace + length);
		if (n >= PATH_MAX - 128 || !file_make_parents(path, 0777))
			return false;
		made = make_folders(path);
		if (!made && (errno != EEXIST || (asked && *asked)))
			return false;
	}
	snprintf(m->path, sizeof(m->path), "%.*s/manifest.json", PATH_MAX - 32, path);
	if (access(m->path, F_OK) == 0)
		manifest_join(m, path);
	return made && manifest_write(m, NULL);
}

static int run_drain(int argc, char **argv)
{
	static struct manifest manifest;
	struct drain_config c = {.control = -1, .manifest = &manifest, .held = {-1, -1}};
	static char trace[PATH_MAX], local[PATH_MAX], place[PLACE_SOCKET];
	/* Options of `kymo run`, handed on. */
	const char *disk = getenv("KYMO_NODE_LOCAL"), *plain = getenv("KYMO_NO_COMPRESS");
	int ready = (int)options.ready_fd;
	bool made;

	if (argc || !options.orphan || !options.trace)
		return cli_usage("drain", "only traced processes start a drain");
	manifest_init(&manifest);
	if (!make_trace(trace, &manifest)) {
		cli_error("trace directory \"%s\": %s", options.trace, strerror(errno));
		return CLI_FAILURE;
	}
	/* Without room on the node's disk the trace is the next best place. */
	if (disk && *disk && collect_begin(local, disk, manifest.cwd))
		c.local = local;
	c.trace = trace;
	c.compress = !plain || strcmp(plain, "1") != 0;
	place_sweep(NULL);
	c.socket_path = place;
	made = place_make(place, trace);
	c.listener = made ? drain_listen(place) : -1;
	if (c.listener < 0) {
		cli_error("\"%s\": %s", place, strerror(errno));
		if (made)
			place_remove(place);
		return CLI_FAILURE;
	}
	if (ready > 0 && write(ready, place, strlen(place) + 1) < 0) {
		place_remove(place); /* whoever asked is gone */
		return CLI_FAILURE;
	}
	drain_detach(&c);
	return drain_keep(&c) == 0 ? CLI_OK : CLI_FAILURE;
}

const struct command cmd_drain = {
	.name = "drain",
	.operands = "--orphan --trace DIR",
	.summary = "Drain of a program that runs without a launcher",
	.knobs = &table,
	.run = run_drain,
	.hidden = true,
};
