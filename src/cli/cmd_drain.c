/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kymo drain`: the drain that a traced process starts when it finds none. Not for users: its
 * command line is an agreement with the injected library.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "drain/collect.h"
#include "drain/drain.h"

struct drain_options {
	bool orphan;
	const char *trace;
	const char *socket;
	int64_t ready_fd;
};

static struct drain_options options;

#define AT(member) offsetof(struct drain_options, member)

static const struct knob rows[] = {
	{"orphan", 0, KNOB_FLAG, 0, AT(orphan), NULL, NULL, NULL, NULL, "Drain",
	 "Started by a traced process"},
	{"trace", 0, KNOB_STRING, 0, AT(trace), "DIR", NULL, NULL, NULL, "Drain", "Trace directory"},
	{"socket", 0, KNOB_STRING, 0, AT(socket), "PATH", NULL, NULL, NULL, "Drain",
	 "Where to listen"},
	{"ready-fd", 0, KNOB_INTEGER, 0, AT(ready_fd), "NUMBER", "0", NULL, NULL, "Drain",
	 "Descriptor that gets a byte once the drain listens"},
};

static struct knob_table table = {
	.command = "drain", .rows = rows, .count = 4, .values = &options};

/* The directory may be there already: another process of the program made it. */
static bool make_trace(char path[PATH_MAX], struct manifest *m)
{
	char raw[PATH_MAX];
	int n;

	n = snprintf(path, PATH_MAX, "%s%s%s", *options.trace == '/' ? "" : m->cwd,
		     *options.trace == '/' ? "" : "/", options.trace);
	if (n >= PATH_MAX - 128 || !file_make_parents(path, 0777))
		return false;
	snprintf(raw, sizeof(raw), "%.*s/raw", PATH_MAX - 8, path);
	if ((mkdir(path, 0777) != 0 && errno != EEXIST) || (mkdir(raw, 0777) != 0 && errno != EEXIST))
		return false;
	snprintf(m->path, sizeof(m->path), "%.*s/manifest.json", PATH_MAX - 32, path);
	if (access(m->path, F_OK) == 0)
		snprintf(m->path, sizeof(m->path), "%.*s/manifest-%.60s-%d.json", PATH_MAX - 128, path,
			 m->hostname, (int)getpid());
	return manifest_write(m, NULL);
}

static int run_drain(int argc, char **argv)
{
	static struct manifest manifest;
	struct drain_config c = {.control = -1, .compress = true, .manifest = &manifest};
	static char trace[PATH_MAX], local[PATH_MAX];
	const char *disk = getenv("KYMO_NODE_LOCAL"); /* an option of `kymo run`, handed on */
	int ready = (int)options.ready_fd;

	if (argc || !options.orphan || !options.trace || !options.socket)
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
	c.socket_path = options.socket;
	c.listener = drain_listen(options.socket);
	if (c.listener < 0) {
		cli_error("\"%s\": %s", options.socket, strerror(errno));
		return CLI_FAILURE;
	}
	if (ready > 0 && write(ready, "", 1) != 1)
		return CLI_FAILURE; /* whoever asked is gone */
	drain_detach(c.listener, c.listener);
	drain_run(&c);
	return CLI_OK;
}

const struct command cmd_drain = {
	.name = "drain",
	.operands = "--orphan --trace DIR --socket PATH",
	.summary = "Drain of a program that runs without a launcher",
	.knobs = &table,
	.run = run_drain,
	.hidden = true,
};
