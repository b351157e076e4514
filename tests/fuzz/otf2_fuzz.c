/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the files of an OTF2 archive, read into the JSON writer, which looks at all that
 * records refer to. An input is a list of files, each as a byte for the length of its name, the name, two bytes
 * for the length (the lower first), the bytes.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/format.h"

extern const struct format format_otf2, format_json;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES_MAX = 64, NAME_MAX_ = 24 };

static char folder[64], names[FILES_MAX][NAME_MAX_ + 1];
static unsigned name_count;

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static void remove_all(void)
{
	char path[128];

	for (unsigned i = 0; i < name_count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	name_count = 0;
	snprintf(path, sizeof(path), "%s/traces", folder);
	rmdir(path);
	rmdir(folder);
}

static void make_folder(void)
{
	char path[128];

	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "%s/kymo-fuzz-otf2-%d",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
		atexit(remove_all);
	}
	mkdir(folder, 0700);
	snprintf(path, sizeof(path), "%s/traces", folder);
	mkdir(path, 0700);
}

/* Only files of the folder, and of the one in it. */
static bool is_name(const char *s)
{
	return strncmp(s, "traces.", 7) == 0 ? !strchr(s, '/')
					     : strncmp(s, "traces/", 7) == 0 && s[7] &&
						       s[7] != '.' && !strchr(s + 7, '/');
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	strcpy(names[name_count++], name);
}

static void unpack(const uint8_t *p, const uint8_t *end)
{
	while (end - p > 3 && name_count < FILES_MAX) {
		char name[NAME_MAX_ + 1] = "";
		size_t n = *p++, size;

		if (n > NAME_MAX_ || (size_t)(end - p) < n + 2)
			return;
		memcpy(name, p, n);
		p += n;
		size = p[0] | (size_t)p[1] << 8;
		p += 2;
		size = size < (size_t)(end - p) ? size : (size_t)(end - p);
		if (is_name(name))
			write_file(name, p, size);
		p += size;
	}
}

/* Every record lies in time, and names what is there. */
static const struct trace *trace;

static struct stream_sink json; /* what it did before the checks were put in front */

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	trace = t;
	return json.begin(s, t);
}

static void check(const struct rec *r)
{
	if (r->end < r->start || r->process >= trace->processes_count ||
	    r->thread >= trace->threads_count || r->op >= trace->ops_count)
		abort();
}

static kymo_status_t call(struct stream_sink *s, const struct rec *r)
{
	check(r);
	return json.call(s, r);
}

static kymo_status_t dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	check(&r->base);
	if (r->agent >= trace->agents_count || r->queue >= trace->queues_count ||
	    r->kernel >= trace->kernels_count || !r->kernel)
		abort();
	return json.dispatch(s, r);
}

static kymo_status_t comm(struct stream_sink *s, const struct rec_comm *r)
{
	check(&r->base);
	if (r->communicator >= trace->communicators_count)
		abort();
	return json.comm(s, r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stream_log quiet = {ignore};
	struct format_options o = {.output = "/dev/null", .force = true, .log = &quiet};
	struct stream_sink *sink;

	remove_all();
	make_folder();
	unpack(data, data + size);
	if (!format_otf2.probe(folder))
		return 0;
	if (format_json.write(&o, &sink) != KYMO_OK)
		abort();
	stream_sink_complete(sink);
	json = *sink;
	sink->begin = begin;
	sink->call = call;
	sink->dispatch = dispatch;
	sink->comm = comm;
	format_otf2.read(folder, NULL, false, sink, &o);
	format_json.sink_free(sink);
	return 0;
}
