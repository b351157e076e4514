/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a trace is named, and which trace is this job's. Ranks of a job never talk, so each must come
 * to the same directory by itself: by the job's name, and where they run several programs, by a
 * link that whoever comes first leaves for the moment until the directory is there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/run_trace.h"

/* Clocks of two nodes differ less; a port is not given out again so soon. */
#define SKEW_NS (300ull * 1000000000ull)

/* When a process was started is known no better. */
#define TICK_NS 10000000ull

/* ---- what is there --------------------------------------------------------------------------- */

static uint64_t parse_time(const char *text)
{
	struct tm tm = {0};

	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	unsigned us = 0;

	if (!rest)
		return 0;
	sscanf(rest, ".%6u", &us);
	return (uint64_t)timegm(&tm) * 1000000000ull + us * 1000ull;
}

/* What follows `key` in a manifest, or NULL. */
static const char *value_of(const char *manifest, const char *key)
{
	const char *p = manifest ? strstr(manifest, key) : NULL;

	return p ? p + strlen(key) : NULL;
}

void trace_look(const char *path, struct trace_found *f)
{
	char file[PATH_MAX], *text;
	const char *job;

	memset(f, 0, sizeof(*f));
	f->path = path;
	snprintf(file, sizeof(file), "%.*s/manifest.json", PATH_MAX - 32, path);
	text = file_read_limited(file, MANIFEST_MOST);
	f->is_trace = text && strstr(text, "\"kymo trace\"");
	job = value_of(text, "\n  \"job\": {\"id\": \"");
	if (job)
		sscanf(job, "%63[^\"]\", \"rank\": %*u, \"ranks\": %u", f->job, &f->ranks);
	f->started = parse_time(value_of(text, "\n  \"started\": \""));
	free(text);
}

/* What manifests say of the launchers that have recorded into the trace. */
struct launchers {
	const char *rank; /* what is looked for */
	bool has;         /* one of that rank is or was there */
	bool at_work;     /* one is not done */
	uint64_t ended;   /* the last of the others, realtime ns */
};

static void look_at_launchers(struct launchers *l, const char *manifest)
{
	uint64_t ended = parse_time(value_of(manifest, "\n  \"ended\": \""));

	l->has |= strstr(manifest, l->rank) != NULL;
	l->at_work |= !ended || strstr(manifest, "\n    {\"launcher\": \"recording\"");
	l->ended = ended > l->ended ? ended : l->ended;
}

static void find_launchers(struct launchers *l, const char *path, uint32_t rank)
{
	char line[48];
	struct dirent *e;
	DIR *d = opendir(path);

	*l = (struct launchers){.rank = line};
	snprintf(line, sizeof(line), "\"rank\": %u, \"pid\": ", rank);
	while (d && (e = readdir(d))) {
		char file[PATH_MAX], *text = NULL;
		size_t n = strlen(e->d_name);

		if (strncmp(e->d_name, "manifest", 8) != 0 || n < 5 ||
		    strcmp(e->d_name + n - 5, ".json") != 0)
			continue;
		snprintf(file, sizeof(file), "%.*s/%s", PATH_MAX - NAME_MAX - 2, path, e->d_name);
		text = file_read_limited(file, MANIFEST_MOST);
		if (text)
			look_at_launchers(l, text);
		free(text);
	}
	l->rank = NULL;
	if (d)
		closedir(d);
}

/*
 * An earlier job has met where this one does: it had another number of ranks, this one's rank is
 * there already, or all that it recorded was over when this rank was started. Ranks that meet are all
 * there at one time.
 */
static bool is_earlier(const struct trace_found *f, const struct job *job)
{
	struct launchers l;

	if (job->size && f->ranks && f->ranks != job->size)
		return true;
	find_launchers(&l, f->path, job->rank);
	return l.has || (!l.at_work && l.ended && l.ended <= job->since + TICK_NS);
}

bool trace_is_of(const struct trace_found *f, const struct job *job)
{
	if (!job->id[0] || strcmp(f->job, job->id) != 0)
		return false;
	if (job->since && f->started && f->started + SKEW_NS <= job->since)
		return false;
	/* Ranks that are started again after a failure are of the job, however many they are. */
	return !job->reused || job->restart || !is_earlier(f, job);
}

bool trace_is_own(const char *path)
{
	int trace = file_open_own(AT_FDCWD, path),
	    raw = trace < 0 ? -1 : file_open_own(trace, "raw");

	if (raw >= 0)
		close(raw);
	if (trace >= 0)
		close(trace);
	return raw >= 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* PROGRAM-WHAT.kymo, PROGRAM-WHAT-2.kymo ... */
static void numbered_name(char *out, const char *program, const char *what, int attempt)
{
	const char *base = strrchr(program, '/');

	base = base ? base + 1 : program;
	if (attempt == 0)
		snprintf(out, NAME_MAX + 1, "%.100s-%s.kymo", base, what);
	else
		snprintf(out, NAME_MAX + 1, "%.100s-%s-%d.kymo", base, what, attempt + 1);
}

void trace_name_by_time(char out[NAME_MAX + 1], const char *program, int attempt)
{
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
	numbered_name(out, program, stamp, attempt);
}

static bool is_of(const char *folder, const char *name, const struct job *job)
{
	struct trace_found f;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - NAME_MAX - 2, folder, name);
	if (!trace_is_own(path)) /* whose is asked before anything is read */
		return false;
	trace_look(path, &f);
	return trace_is_of(&f, job);
}

/* Another program of the job has made it: ANY-JOB.kymo, ANY-JOB-2.kymo. */
static bool find_other(char out[NAME_MAX + 1], const char *folder, const struct job *job)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (n < 5 || strcmp(e->d_name + n - 5, ".kymo") != 0 ||
		    !strstr(e->d_name, job->id) || !is_of(folder, e->d_name, job))
			continue;
		memcpy(out, e->d_name, n + 1);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

static void claim_path(char path[PATH_MAX], const char *folder, const struct job *job)
{
	snprintf(path, PATH_MAX, "%.*s/.kymo-%s", PATH_MAX - 96, folder, job->id);
}

void trace_unclaim(const char *folder, const struct job *job)
{
	char path[PATH_MAX];

	claim_path(path, folder, job);
	unlink(path);
}

/* 1: the name is this rank's to give, 0: it was given, `name` is what was chosen, -1: neither. */
static int claim_name(char name[NAME_MAX + 1], const char *folder, const struct job *job)
{
	char path[PATH_MAX];
	ssize_t n;

	claim_path(path, folder, job);
	if (symlink(name, path) == 0)
		return 1;
	if (errno != EEXIST)
		return 1; /* no links here: programs of a job have a trace each */
	n = readlink(path, name, NAME_MAX);
	if (n <= 0)
		return -1; /* gone again: the directory is there */
	name[n] = '\0';
	return strchr(name, '/') ? -1 : 0;
}

bool trace_name_by_job(char out[NAME_MAX + 1], const char *folder, const char *program,
		       const struct job *job, int attempt)
{
	char path[PATH_MAX];
	int got = -1;

	if (attempt > 0)
		trace_unclaim(folder,
			      job); /* of one that died, and led to what is not this job's */
	for (int i = 0; i < TRACE_NAMES; i++) {
		numbered_name(out, program, job->id, i);
		if (is_of(folder, out, job) || find_other(out, folder, job))
			return false;
		snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - NAME_MAX - 2, folder, out);
		if (access(path, F_OK) == 0)
			continue; /* an earlier job of that name */
		got = claim_name(out, folder, job);
		if (got >= 0)
			break;
	}
	/* Whoever had the link before may have made it since it was looked for. */
	if (got < 0 || !find_other(out, folder, job))
		return got == 1;
	if (got == 1)
		trace_unclaim(folder, job);
	return false;
}
