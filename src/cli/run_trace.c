/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace directory. It is made complete under a temporary name and then renamed, so that of many
 * ranks starting at once exactly one makes it and the others find it with its manifest.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/ranks.h"
#include "cli/run.h"
#include "cli/run_trace.h"
#include "stream/span.h"
#include "wire/raw.h"

enum { AWAIT_MS = 3000, AWAIT_STEP_MS = 10 };

/* Absolute, without a slash at the end. */
static bool absolute_path(char out[PATH_MAX], const char *path, const char *cwd)
{
	bool whole = *path == '/' || strcmp(cwd, "/") == 0;
	int n = snprintf(out, PATH_MAX - 64, "%s%s%s", *path == '/' ? "" : cwd, whole ? "" : "/",
			 path);

	while (n > 1 && n < PATH_MAX - 64 && out[n - 1] == '/')
		out[--n] = '\0';
	return n < PATH_MAX - 64;
}

void trace_place(char out[PATH_MAX], const struct run_options *o, const char *cwd)
{
	char *slash;

	if (!o->output || !absolute_path(out, o->output, cwd))
		snprintf(out, PATH_MAX, "%s", cwd);
	while (access(out, F_OK) != 0 && (slash = strrchr(out, '/')) && slash[1])
		slash[slash == out] = '\0';
}

const char *trace_remedy(int error)
{
	switch (error) {
	case EMFILE:
		return "; raise the limit of open files (ulimit -n)";
	case ENFILE:
		return "; the whole machine has too many files open (fs.file-max)";
	case EAGAIN:
		return "; raise the limit of processes (ulimit -u, or the container's)";
	case ENOMEM:
		return "; free memory, or raise its limit (ulimit -v, or the container's)";
	default:
		return "";
	}
}

/* Builds the directory beside its place. */
static bool build_directory(char *tmp, struct manifest *m)
{
	char raw[PATH_MAX];

	/* Whatever the umask is: what was recorded is the user's alone. */
	if (!mkdtemp(tmp))
		return false;
	snprintf(raw, sizeof(raw), "%.*s/raw", PATH_MAX - 8, tmp);
	snprintf(m->path, sizeof(m->path), "%.*s/manifest.json", PATH_MAX - 16, tmp);
	manifest_no_launchers(m);
	manifest_launcher(m, m->job.rank, 0, -1, false, NULL);
	return mkdir(raw, 0700) == 0 && manifest_write(m, NULL);
}

/* In one step: while it was emptied where it is, another rank could put the new one there. */
static bool remove_old(const char *path)
{
	char old[PATH_MAX];
	int saved;

	snprintf(old, sizeof(old), "%.*s.old.XXXXXX", PATH_MAX - 32, path);
	if (!mkdtemp(old))
		return false;
	if (rename(path, old) == 0)
		return file_remove_tree(old);
	saved = errno;
	rmdir(old);
	errno = saved;
	return errno == ENOENT;
}

static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Something is there that is not our job's trace. */
static bool replace_existing(const char *path, const struct run_options *o, bool is_trace,
			     struct text *error)
{
	if (is_link(path)) {
		text_addf(error,
			  "\"%s\" is a symbolic link: not replaced, even with --force; remove it, "
			  "or give -o what it leads to",
			  path);
		return false;
	}
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
		text_addf(error,
			  "\"%s\" is still being recorded: not replaced, even with --force; -o "
			  "names another place",
			  path);
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

	if (!o->force || !m->job.id[0] || m->job.rank == ranks_first(o->ranks) ||
	    m->job.rank == JOB_UNKNOWN || attempt * AWAIT_STEP_MS > AWAIT_MS)
		return false;
	nanosleep(&step, NULL);
	return true;
}

/*
 * Puts the directory built at `tmp` in its place. 1: done, 0: the place is taken, -1: `error` says
 * why it cannot be.
 */
static int move_into_place(const char *tmp, const char *path, const struct run_options *o,
			   struct manifest *m, int attempt, struct text *error)
{
	struct trace_found found;

	if (rename(tmp, path) == 0) {
		snprintf(m->path, sizeof(m->path), "%.*s/manifest.json", PATH_MAX - 16, path);
		return 1;
	}
	trace_look(path, &found);
	if (trace_is_of(&found, &m->job) && trace_is_own(path)) {
		file_remove_tree(tmp);
		m->path[0] = '\0';
		return 1;
	}
	if (trace_is_of(&found, &m->job) && o->output) {
		text_addf(error,
			  "\"%s\" was not made by this user, or parts of it are links: nothing is "
			  "recorded into it; -o names another place",
			  path);
		return -1;
	}
	if (!o->output)
		return 0; /* the next default name */
	if (wait_for_first(o, m, attempt) || replace_existing(path, o, found.is_trace, error))
		return 0;
	return -1;
}

/* *claimed: the name is this rank's until the directory is there. */
static bool choose_path(char path[PATH_MAX], const struct run_options *o, const char *program,
			const struct manifest *m, int attempt, bool *claimed, struct text *error)
{
	char name[NAME_MAX + 1];

	*claimed = false;
	if (!o->output && m->job.id[0])
		*claimed = trace_name_by_job(name, m->cwd, program, &m->job, attempt);
	else if (!o->output)
		trace_name_by_time(name, program, attempt);
	if (absolute_path(path, o->output ? o->output : name, m->cwd))
		return true;
	text_add(error, "the name of the trace directory is too long");
	return false;
}

/* As choose_path() and move_into_place(), one after the other. */
static int try_place(const char *tmp, char path[PATH_MAX], const struct run_options *o,
		     const char *program, struct manifest *m, int attempt, struct text *error)
{
	bool claimed;
	int done = -1;

	if (choose_path(path, o, program, m, attempt, &claimed, error))
		done = move_into_place(tmp, path, o, m, attempt, error);
	if (claimed)
		trace_unclaim(m->cwd, &m->job);
	return done;
}

/* Beside any place that the trace can get; build_directory() makes a name of its own of it. */
static bool temporary_path(char tmp[PATH_MAX], const struct run_options *o, const char *program,
			   const struct manifest *m)
{
	char name[NAME_MAX + 1], path[PATH_MAX];

	trace_name_by_time(name, program, 0);
	if (!absolute_path(path, o->output ? o->output : name, m->cwd))
		return false;
	snprintf(tmp, PATH_MAX, "%.*s.XXXXXX", PATH_MAX - 40, path);
	return true;
}

bool trace_make(char path[PATH_MAX], const struct run_options *o, const char *program,
		struct manifest *m, int *meeting, struct text *error)
{
	char tmp[PATH_MAX];
	int done = 0;

	*meeting = -1;
	if (!temporary_path(tmp, o, program, m)) {
		text_add(error, "the name of the trace directory is too long");
		return false;
	}
	if (!file_make_parents(tmp, 0777) || !build_directory(tmp, m)) {
		const char *remedy = trace_remedy(errno);

		text_addf(error, "trace directory \"%s\" cannot be made: %s%s",
			  o->output ? o->output : tmp, strerror(errno),
			  *remedy ? remedy : "; -o names another place");
		file_remove_tree(tmp);
		return false;
	}
	/* While nobody else knows it. */
	*meeting = m->job.id[0] ? node_take(tmp, o, m) : -1;
	for (int attempt = 0; done == 0 && attempt < AWAIT_MS / AWAIT_STEP_MS + 3; attempt++)
		done = try_place(tmp, path, o, program, m, attempt, error);
	if ((done != 1 || !m->path[0]) && *meeting >= 0) {
		close(*meeting);
		*meeting = -1;
	}
	if (done == 1)
		return true;
	if (!error->length)
		text_addf(error, "\"%s\": somebody else keeps making it", path);
	file_remove_tree(tmp);
	return false;
}

static unsigned count_words(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* A manifest lists the launchers that it is of; one without a job is of one. */
static void count_launchers(const char *manifest, unsigned *all, unsigned *recording)
{
	unsigned open = count_words(manifest, "\n    {\"launcher\": \"recording\""),
		 done = count_words(manifest, "\n    {\"launcher\": \"complete\"");

	if (open + done == 0) {
		++*all;
		*recording += strstr(manifest, "\"state\": \"recording\"") != NULL;
		return;
	}
	*all += open + done;
	*recording += open;
}

/* Launchers that the manifests tell of, and those of them that are not done. */
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
		text = file_read_limited(file, MANIFEST_MOST);
		if (text)
			count_launchers(text, all, recording);
		free(text);
	}
	if (d)
		closedir(d);
}

unsigned trace_await_ranks(const char *path, unsigned ranks, int ms)
{
	const struct timespec step = {0, AWAIT_STEP_MS * 1000000};
	unsigned all, recording, missing = 0;

	for (int i = 0; i < ms; i += AWAIT_STEP_MS) {
		count_manifests(path, &all, &recording);
		missing = recording + (all < ranks ? ranks - all : 0);
		if (missing == 0 || (recording == 0 && i >= AWAIT_MS))
			break;
		nanosleep(&step, NULL);
	}
	return missing;
}

uint64_t trace_began(const char *path)
{
	char file[PATH_MAX], *text;
	const char *started;
	struct tm tm = {0};
	unsigned us;
	uint64_t ns = 0;

	snprintf(file, sizeof(file), "%.*s/manifest.json", PATH_MAX - 16, path);
	text = file_read_limited(file, MANIFEST_MOST);
	started = text ? strstr(text, "\n  \"started\": \"") : NULL;
	if (started &&
	    sscanf(started, "\n  \"started\": \"%d-%d-%dT%d:%d:%d.%uZ", &tm.tm_year, &tm.tm_mon,
		   &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &us) == 7) {
		tm.tm_year -= 1900;
		tm.tm_mon--;
		ns = (uint64_t)timegm(&tm) * 1000000000u + us * 1000u;
	}
	free(text);
	return ns;
}

char *trace_command(const char *path)
{
	static const char before[] = "\n  \"command\": ", after[] = ",\n  \"environment\"";
	char file[PATH_MAX], *text, *begin, *end, *command = NULL;

	snprintf(file, sizeof(file), "%.*s/manifest.json", PATH_MAX - 16, path);
	text = file_read_limited(file, MANIFEST_MOST);
	begin = text ? strstr(text, before) : NULL;
	end = begin ? strstr(begin, after) : NULL;
	if (end)
		command = strndup(begin + strlen(before), (size_t)(end - begin) - strlen(before));
	free(text);
	return command;
}

void trace_command_words(const char *command, bool short_name, struct text *out)
{
	struct text scratch = {0};
	struct span word, text;
	struct span_walk w;
	const char *slash;

	if (!span_array((struct span){command, strlen(command)}, &w))
		return;
	for (bool first = true; span_element(&w, &word); first = false) {
		if (!span_string(word, &scratch, &text))
			continue;
		slash = first && short_name ? memrchr(text.s, '/', text.n) : NULL;
		if (slash && slash + 1 < text.s + text.n)
			text = (struct span){slash + 1, text.n - (size_t)(slash + 1 - text.s)};
		text_add(out, first ? "" : " ");
		text_add_bytes(out, text.s, text.n);
	}
	text_release(&scratch);
}

static int error_in(int folder, const char *name)
{
	struct raw_header h = {0};
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0 && read(fd, &h, sizeof(h)) != (ssize_t)sizeof(h))
		h.unrecorded = 0;
	if (fd >= 0)
		close(fd);
	return (int)h.unrecorded;
}

unsigned trace_unrecorded(const char *path, int *error)
{
	char raw[PATH_MAX];
	unsigned n = 0;
	struct dirent *e;
	DIR *d;

	snprintf(raw, sizeof(raw), "%.*s/raw", PATH_MAX - 8, path);
	d = opendir(raw);
	while (d && (e = readdir(d))) {
		if (!strstr(e->d_name, RAW_UNRECORDED))
			continue;
		if (n++ == 0)
			*error = error_in(dirfd(d), e->d_name);
	}
	if (d)
		closedir(d);
	return n;
}
