/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace directory. It is made complete under a temporary name and then renamed, so that of many
 * ranks starting at once exactly one makes it and the others find it with its manifest.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/ranks.h"
#include "cli/run.h"

enum { AWAIT_MS = 3000, AWAIT_STEP_MS = 10 };

static void default_name(char *out, size_t size, const char *program, const struct job *job,
			 int attempt)
{
	const char *base = strrchr(program, '/');
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	base = base ? base + 1 : program;
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
	if (job->id[0])
		snprintf(out, size, "%.100s-%s.kymo", base, job->id);
	else if (attempt == 0)
		snprintf(out, size, "%.100s-%s.kymo", base, stamp);
	else
		snprintf(out, size, "%.100s-%s-%d.kymo", base, stamp, attempt + 1);
}

/* Absolute, without a slash at the end. */
static bool absolute(char out[PATH_MAX], const char *path, const char *cwd)
{
	bool whole = *path == '/' || strcmp(cwd, "/") == 0;
	int n = snprintf(out, PATH_MAX - 64, "%s%s%s", *path == '/' ? "" : cwd, whole ? "" : "/", path);

	while (n > 1 && n < PATH_MAX - 64 && out[n - 1] == '/')
		out[--n] = '\0';
	return n < PATH_MAX - 64;
}

/* "manifest" of the trace at `path`: is it a trace, and of which job? */
static bool read_job(const char *path, char job[64], bool *is_trace)
{
	char file[PATH_MAX], *text, *p;

	job[0] = '\0';
	snprintf(file, sizeof(file), "%.*s/manifest.json", PATH_MAX - 32, path);
	text = file_read_regular(file, NULL);
	*is_trace = text && strstr(text, "\"kymo trace\"");
	p = text ? strstr(text, "\n  \"job\": {\"id\": \"") : NULL;
	if (p)
		sscanf(p + strlen("\n  \"job\": {\"id\": \""), "%63[^\"]", job);
	free(text);
	return job[0] != '\0';
}

/* Builds the directory beside its place. */
static bool build(const char *tmp, struct manifest *m)
{
	char raw[PATH_MAX];

	snprintf(raw, sizeof(raw), "%.*s/raw", PATH_MAX - 8, tmp);
	snprintf(m->path, sizeof(m->path), "%.*s/manifest.json", PATH_MAX - 16, tmp);
	return mkdir(tmp, 0777) == 0 && mkdir(raw, 0777) == 0 && manifest_write(m, NULL);
}

/* Another rank was first: this one's manifest lies beside that rank's. */
static bool join(const char *path, struct manifest *m, struct text *error)
{
	snprintf(m->path, sizeof(m->path), "%.*s/manifest-%.60s-%d.json", PATH_MAX - 96, path,
		 m->hostname, (int)getpid());
	if (manifest_write(m, NULL))
		return true;
	text_addf(error, "trace directory \"%s\": %s", path, strerror(errno));
	return false;
}

/* In one step: while it was emptied where it is, another rank could put the new one there. */
static bool remove_old(const char *path)
{
	char old[PATH_MAX];

	snprintf(old, sizeof(old), "%.*s.old.%d", PATH_MAX - 32, path, (int)getpid());
	if (rename(path, old) != 0)
		return errno == ENOENT;
	return file_remove_tree(old);
}

/* Something is there that is not our job's trace. */
static bool replace(const char *path, const struct run_options *o, bool is_trace,
		    struct text *error)
{
	if (!o->force) {
		text_addf(error, "\"%s\" exists; --force replaces a trace, -o names another place",
			  path);
		return false;
	}
	if (!is_trace) {
		text_addf(error, "\"%s\" exists and is no trace: not replaced, even with --force",
			  path);
		return false;
	}
	if (file_is_held(path)) {
		text_addf(error, "\"%s\" is still being recorded: not replaced, even with --force; -o "
				 "names another place", path);
		return false;
	}
	if (remove_old(path))
		return true;
	text_addf(error, "\"%s\" cannot be replaced: %s", path, strerror(errno));
	return false;
}

/* Of a job's ranks only the first replaces an old trace; the others wait for it. */
static bool wait_for_first(const struct run_options *o, const struct manifest *m, int attempt)
{
	const struct timespec step = {0, AWAIT_STEP_MS * 1000000};

	if (!o->force || !m->job.id[0] || m->job.rank == ranks_first(o->ranks) || m->job.rank == JOB_UNKNOWN ||
	    attempt * AWAIT_STEP_MS > AWAIT_MS)
		return false;
	nanosleep(&step, NULL);
	return true;
}

/*
 * Puts the directory built at `tmp` in its place. 1: done, 0: the place is taken, -1: `error` says
 * why it cannot be.
 */
static int place(const char *tmp, const char *path, const struct run_options *o,
		 struct manifest *m, int attempt, struct text *error)
{
	char job[64];
	bool is_trace;

	if (rename(tmp, path) == 0) {
		snprintf(m->path, sizeof(m->path), "%.*s/manifest.json", PATH_MAX - 16, path);
		return 1;
	}
	if (read_job(path, job, &is_trace) && strcmp(job, m->job.id) == 0) {
		file_remove_tree(tmp);
		return join(path, m, error) ? 1 : -1;
	}
	if (!o->output && !m->job.id[0])
		return 0; /* the next default name */
	if (wait_for_first(o, m, attempt) || replace(path, o, is_trace, error))
		return 0;
	return -1;
}

static bool choose_path(char path[PATH_MAX], const struct run_options *o, const char *program,
			const struct manifest *m, int attempt, struct text *error)
{
	char name[256];

	default_name(name, sizeof(name), program, &m->job, attempt);
	if (absolute(path, o->output ? o->output : name, m->cwd))
		return true;
	text_add(error, "the name of the trace directory is too long");
	return false;
}

bool trace_make(char path[PATH_MAX], const struct run_options *o, const char *program,
		struct manifest *m, struct text *error)
{
	char tmp[PATH_MAX];
	int done = 0;

	if (!choose_path(path, o, program, m, 0, error))
		return false;
	snprintf(tmp, sizeof(tmp), "%.*s.%d", PATH_MAX - 16, path, (int)getpid());
	if (!file_make_parents(path, 0777) || !build(tmp, m)) {
		text_addf(error, "trace directory \"%s\" cannot be made: %s; -o names another place",
			  path, strerror(errno));
		file_remove_tree(tmp);
		return false;
	}
	for (int attempt = 0; done == 0 && attempt < AWAIT_MS / AWAIT_STEP_MS + 3; attempt++)
		if (!choose_path(path, o, program, m, attempt, error))
			done = -1;
		else
			done = place(tmp, path, o, m, attempt, error);
	if (done == 1)
		return true;
	if (!error->length)
		text_addf(error, "\"%s\": somebody else keeps making it", path);
	file_remove_tree(tmp);
	return false;
}

/* Launchers that have written a manifest, and those of them that are not done. */
static void count_manifests(const char *path, unsigned *all, unsigned *recording)
{
	struct dirent *e;
	DIR *d = opendir(path);

	*all = *recording = 0;
	while (d && (e = readdir(d))) {
		char file[PATH_MAX], *text;
		size_t n = strlen(e->d_name);

		if (strncmp(e->d_name, "manifest", 8) != 0 || n < 5 ||
		    strcmp(e->d_name + n - 5, ".json") != 0)
			continue;
		snprintf(file, sizeof(file), "%.*s/%s", PATH_MAX - 300, path, e->d_name);
		text = file_read_regular(file, NULL);
		++*all;
		*recording += text && strstr(text, "\"state\": \"recording\"");
		free(text);
	}
	if (d)
		closedir(d);
}

unsigned trace_await_ranks(const char *path, unsigned ranks)
{
	const struct timespec step = {0, AWAIT_STEP_MS * 1000000};
	unsigned all, recording, missing = 0;

	if (ranks < 2)
		return 0;
	for (int ms = 0; ms < AWAIT_MS; ms += AWAIT_STEP_MS) {
		count_manifests(path, &all, &recording);
		missing = recording + (all < ranks ? ranks - all : 0);
		if (missing == 0)
			break;
		nanosleep(&step, NULL);
	}
	return missing;
}
