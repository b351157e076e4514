/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a trace: its raw files, each one's definitions, and what the manifest adds. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/raw/match.h"
#include "formats/raw/read.h"
#include "formats/raw/internal.h"

static bool ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && strcmp(s + n - m, suffix) == 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool raw_directory(const char *path, char *out, size_t size)
{
	return (size_t)snprintf(out, size, "%s/raw", path) < size && is_directory(out);
}

/* What is in it cannot be looked at: it may be a trace. Who reads it says why not. */
static bool is_shut(const char *directory)
{
	return access(directory, X_OK) != 0 && errno == EACCES;
}

bool raw_trace_probe(const char *path)
{
	char raw[4096];
	uint64_t magic = 0;
	int fd;

	if (is_directory(path))
		return raw_directory(path, raw, sizeof(raw)) || is_shut(path);
	fd = file_open_regular(path);
	if (fd < 0)
		return errno == EACCES;
	if (read(fd, &magic, sizeof(magic)) != sizeof(magic))
		magic = 0;
	close(fd);
	return magic == RAW_MAGIC || ends_with(path, ".kyr");
}

static int is_raw_file(const struct dirent *d)
{
	return ends_with(d->d_name, ".kyr");
}

/* ---- one file ------------------------------------------------------------------------------ */

static const char *fixed_text(struct trace *t, const uint8_t *s, size_t size)
{
	return trace_string(t, (const char *)s, strnlen((const char *)s, size));
}

static void add_process(struct raw_process *p, const char *path)
{
	struct trace *t = p->rt->trace;
	struct t_process *tp;

	p->process = t->processes_count;
	tp = trace_add(t, processes);
	*tp = t->processes[0];
	raw_give_ids(p);
	tp->file = trace_string(t, path, strlen(path));
	tp->pid = p->file.header.pid;
	tp->rank = p->file.header.rank;
	tp->hostname = fixed_text(t, p->file.header.hostname, sizeof(p->file.header.hostname));
	tp->job = fixed_text(t, p->file.header.job, sizeof(p->file.header.job));
	tp->how_ended = UINT32_MAX;
	if (p->file.header.unrecorded) {
		tp->how_ended = RAW_END_REFUSED;
		tp->exit_status = (int32_t)(p->file.header.unrecorded & INT32_MAX);
	}
	p->file.path = tp->file;
}

/* First and last tick of its chunks, for processes that do not say when they began or ended. */
static void tick_range(const struct raw_process *p, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (uint32_t i = 0; i < p->file.block_count; i++) {
		struct raw_block b;
		uint64_t end;

		raw_file_block(&p->file, i, &b);
		if (b.type != RAW_CHUNK || b.chunk_type != WIRE_CHUNK_RECORDS)
			continue;
		end = b.last_tick == UINT64_MAX ? b.first_tick : b.last_tick;
		*first = b.first_tick < *first ? b.first_tick : *first;
		*last = end > *last ? end : *last;
	}
}

static void widen_range(struct raw_process *p)
{
	struct trace *t = p->rt->trace;
	struct t_process *tp = &t->processes[p->process];
	uint64_t first, last;
	int64_t start = tp->start, end = tp->end;

	tick_range(p, &first, &last);
	if (first != UINT64_MAX) {
		if (!start)
			start = tick_map_ns(&p->ticks, first);
		if (!end)
			end = tick_map_ns(&p->ticks, last);
		if (!tp->end && tp->seen > end)
			end = tp->seen;
		if (end > tp->seen)
			tp->seen = end;
	}
	if (start && (!t->origin || start < t->origin))
		t->origin = start;
	if (end > t->end)
		t->end = end;
	tp->start = start;
}

struct t_process *raw_add_unread(struct raw_trace *rt, const char *path, enum file_state state)
{
	struct trace *t = rt->trace;
	struct t_process *tp = trace_add(t, processes);

	*tp = t->processes[0];
	tp->file = trace_string(t, path, strlen(path));
	tp->rank = tp->how_ended = UINT32_MAX;
	tp->exit_status = tp->thread_level = -1;
	tp->file_state = state;
	return tp;
}

static kymo_status_t open_file(struct raw_trace *rt, const char *path)
{
	struct raw_process *p = &rt->processes[rt->count];
	kymo_status_t status;

	p->rt = rt;
	status = raw_file_open(&p->file, path, rt->log);
	if (status != KYMO_OK)
		return status;
	rt->count++;
	rt->bytes += p->file.size;
	add_process(p, path);
	status = raw_read_definitions(p);
	if (status != KYMO_OK) {
		stream_error(rt->log, "%s: not enough memory for its definitions", path);
		return status;
	}
	widen_range(p);
	return KYMO_OK;
}

/* ---- the trace ----------------------------------------------------------------------------- */

static kymo_status_t open_listed(struct raw_trace *rt, const char *directory, struct dirent **names,
				 int count)
{
	kymo_status_t status = KYMO_OK, first = KYMO_OK;
	char path[8192];
	int unread = 0;

	rt->processes = calloc((size_t)count, sizeof(*rt->processes));
	if (!rt->processes)
		return KYMO_ERROR_NO_MEMORY;
	for (int i = 0; i < count && status != KYMO_ERROR_NO_MEMORY; i++) {
		struct dirent *name = names[i];

		snprintf(path, sizeof(path), "%s/%s", directory, name->d_name);
		status = open_file(rt, path);
		if (status == KYMO_OK)
			continue;
		if (first == KYMO_OK)
			first = status;
		names[i] = names[unread];
		names[unread++] = name;
	}
	if (status == KYMO_ERROR_NO_MEMORY)
		return status;
	/* Behind those that tell something. */
	for (int i = 0; rt->count && i < unread; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name);
		raw_add_unread(rt, path, FILE_UNREADABLE);
	}
	return rt->count ? KYMO_OK : first;
}

static kymo_status_t open_directory(struct raw_trace *rt, const char *path)
{
	bool at_work = raw_being_written(path);
	struct dirent **names = NULL;
	kymo_status_t status;
	char raw[4096];
	int count;

	if (!raw_directory(path, raw, sizeof(raw))) {
		if (is_shut(path))
			stream_error(rt->log, "%s: %s", path, strerror(EACCES));
		else
			stream_error(rt->log, "%s: not a Kymo trace (it has no folder raw/)", path);
		return KYMO_ERROR_NOT_FOUND;
	}
	count = scandir(raw, &names, is_raw_file, alphasort);
	if (count < 0) {
		stream_error(rt->log, "%s: %s", raw, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	status = count ? open_listed(rt, raw, names, count) : KYMO_OK;
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	if (status != KYMO_OK)
		return status;
	raw_read_manifest(rt, path);
	raw_find_recording(rt, path, at_work);
	if (rt->trace->processes_count <= 1 && (at_work || raw_being_written(path)))
		stream_warn(rt->log,
			    "%s: nothing has been recorded yet; the trace is still being written",
			    raw);
	else if (rt->trace->processes_count <= 1)
		stream_warn(rt->log,
			    "%s: nothing was recorded (no .kyr file); `kymo summary` shows why, as "
			    "far as "
			    "that is known, `kymo doctor` what would be traced",
			    raw);
	return KYMO_OK;
}

static kymo_status_t open_single(struct raw_trace *rt, const char *path)
{
	rt->processes = calloc(1, sizeof(*rt->processes));
	return rt->processes ? open_file(rt, path) : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t open_trace(struct raw_trace *rt, const char *path)
{
	struct stat st;
	kymo_status_t status;

	if (stat(path, &st) < 0) {
		stream_error(rt->log, "%s: %s", path, strerror(errno));
		return KYMO_ERROR_NOT_FOUND;
	}
	rt->trace->path = trace_string(rt->trace, path, strlen(path));
	status = S_ISDIR(st.st_mode) ? open_directory(rt, path) : open_single(rt, path);
	if (status != KYMO_OK)
		return status;
	raw_settle_ranks(rt);
	raw_settle_jobs(rt);
	raw_settle_restarts(rt);
	if (trace_clocks(rt->trace) > 1)
		stream_warn(rt->log,
			    "%s: the clocks of %u nodes were not compared: times of one are no "
			    "times of "
			    "another, durations are right",
			    path, trace_clocks(rt->trace));
	trace_number_worlds(rt->trace);
	if (S_ISDIR(st.st_mode)) /* a file alone is what it is */
		raw_find_missing_ranks(rt);
	trace_number_queues(rt->trace);
	trace_number_agents(rt->trace);
	if (rt->trace->command[0] == '\0' && rt->count)
		rt->trace->command = rt->trace->processes[1].argv;
	raw_trace_totals(rt);
	return trace_failed(rt->trace) ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}

kymo_status_t raw_trace_open(const char *path, struct stream_log *log, struct raw_trace **out)
{
	struct raw_trace *rt = calloc(1, sizeof(*rt));
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	if (rt) {
		rt->log = log;
		rt->trace = trace_new();
	}
	if (rt && rt->trace) {
		rt->trace->ops[0].name = "undefined operation";
		status = open_trace(rt, path);
	}
	if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(log, "%s: not enough memory", path);
	if (status != KYMO_OK) {
		raw_trace_close(rt);
		rt = NULL;
	}
	*out = rt;
	return status;
}

static void release_process(struct raw_process *p)
{
	struct map *maps[] = {&p->domains,   &p->sets,   &p->threads,       &p->sites,
			      &p->addresses, &p->stacks, &p->agents,        &p->clock_ids,
			      &p->contexts,  &p->queues, &p->programs,      &p->kernels,
			      &p->blobs,     &p->bases,  &p->communicators, &p->strings,
			      &p->counters,  &p->codes,  &p->places,        &p->merged_threads};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		map_release(maps[i]);
	for (uint32_t i = 0; p->clocks && i < p->clock_count; i++)
		device_map_release(&p->clocks[i]);
	free(p->clocks);
	free(p->ops);
	free(p->names);
	free(p->job_points);
	free(p->job_table);
	free(p->set_table);
	free(p->syncs);
	free(p->lost_seen);
	tick_map_release(&p->ticks);
	raw_file_close(&p->file);
}

void raw_trace_close(struct raw_trace *rt)
{
	if (!rt)
		return;
	for (uint32_t i = 0; i < rt->count; i++)
		release_process(&rt->processes[i]);
	free(rt->processes);
	free(rt->restarts);
	map_release(&rt->ops);
	map_release(&rt->sets);
	free(rt->set_list);
	free(rt->slots);
	map_release(&rt->strings);
	match_free(rt->match);
	trace_free(rt->trace);
	free(rt);
}

struct trace *raw_trace_definitions(struct raw_trace *rt)
{
	return rt->trace;
}
