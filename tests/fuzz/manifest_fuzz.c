/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the manifest of a trace, and as that of another drain of its job; the trace's file stays as it
 * is. Whatever it says, the records are there.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/raw/read.h"
#include "support/synth.h"

extern const struct format format_raw, format_json;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char work[] = "/tmp/kymo-fuzz-manifest-XXXXXX";
static char first[PATH_MAX], other[PATH_MAX];

static void clean(void)
{
	file_remove_tree(work);
}

static void prepare(void)
{
	if (!mkdtemp(work))
		abort();
	atexit(clean);
	synth_demo(work, false);
	snprintf(first, sizeof(first), "%s/manifest.json", work);
	snprintf(other, sizeof(other), "%s/manifest-node1-42-abc.json", work);
}

static void put(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stream_log quiet = {ignore};
	struct format_options o = {.output = "/dev/null", .force = true, .log = &quiet};
	struct stream_sink *sink;

	if (!first[0])
		prepare();
	put(first, data, size);
	if (size & 1)
		put(other, data, size);
	else
		unlink(other);
	if (format_json.write(&o, &sink) != KYMO_OK)
		abort();
	if (format_raw.read(work, NULL, false, sink, &o) != KYMO_OK)
		abort();
	format_json.sink_free(sink);
	return 0;
}
