/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kymo merge`: one trace directory of several. Raw files are copied as they are; nothing in them is
 * changed, so that all times stay what they were. Therefore only traces whose times are of one clock are
 * merged: that of a node, or that of a job whose ranks were compared when it was recorded.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/input.h"
#include "formats/raw/read.h"

/* How far the wall clock may have been set against the node's between two traces: at once, and per ns. */
#define STEP_NS 1000000000.0
#define DRIFT   2e-4

static struct merge_options {
	const char *output;
	bool uncompared;
} options;

static const struct knob rows[] = {
	{"output", 'o', KNOB_STRING, 0, offsetof(struct merge_options, output), "DIR", NULL, NULL,
	 NULL, "Output", "Trace directory to write; it must not be there"},
	{"uncompared", 0, KNOB_FLAG, 0, offsetof(struct merge_options, uncompared), NULL, NULL,
	 NULL, NULL, "Output",
	 "Merge traces of nodes whose clocks were never compared: times of different nodes do not "
	 "lie on one line then, and all commands say so"},
};

static struct knob_table knobs = {.command = "merge",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

/* Whose clock the times of a trace are of. */
struct reference {
	char host[65], job[65]; /* job: "" where ranks were not compared */
	int64_t start, realtime_offset;
};

/* ---- clocks -------------------------------------------------------------------------------- */

/* Of a job the times are those of rank 0's node. */
static const struct t_process *reference_process(const struct trace *t, bool *several)
{
	const struct t_process *found = NULL;

	*several = false;
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		if (p->file_state != FILE_READ || p->merged_ranks || !p->realtime_offset)
			continue;
		if (!found || (p->aligned && (!found->aligned || p->rank < found->rank)))
			found = p;
	}
	for (uint32_t i = 1; found && i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];
		bool same_job = p->aligned && found->aligned && strcmp(p->job, found->job) == 0;

		*several |= p->file_state == FILE_READ && !p->merged_ranks && p->realtime_offset &&
			    !same_job && strcmp(p->hostname, found->hostname) != 0;
	}
	return found;
}

/* False: told why it has none. */
static bool find_reference(const char *path, const struct trace *t, struct reference *r)
{
	const struct t_process *p;
	bool several;

	p = reference_process(t, &several);
	if (!p || several) {
		cli_error(p ? "%s: it is of several nodes whose clocks were not compared: it "
			      "cannot be put on one clock with others"
			    : "%s: nothing in it tells of a clock: it cannot be merged",
			  path);
		return false;
	}
	/* A rank's own offset is of its node; times are of rank 0's. */
	*r = (struct reference){.start = p->start,
				.realtime_offset = p->realtime_offset - p->job_offset};
	snprintf(r->host, sizeof(r->host), "%s", p->hostname);
	snprintf(r->job, sizeof(r->job), "%s", p->aligned ? p->job : "");
	return true;
}

/* Node time is that since a node has started: of two starts the wall clock says other things at time 0. */
static bool same_clock(const struct reference *a, const struct reference *b)
{
	double apart = (double)a->realtime_offset - (double)b->realtime_offset;
	double between = (double)a->start - (double)b->start;

	apart = apart < 0 ? -apart : apart;
	between = between < 0 ? -between : between;
	/* Launchers give names of jobs again: days later it is another clock. */
	return ((*a->job && strcmp(a->job, b->job) == 0) || strcmp(a->host, b->host) == 0) &&
	       apart <= STEP_NS + DRIFT * between;
}

static bool check_clock(const char *first, const char *path, const struct reference *a,
			const struct reference *b)
{
	if (same_clock(a, b))
		return true;
	/* Nodes are told by name; ranks that were compared are taken to be on one clock. */
	if (options.uncompared && strcmp(a->host, b->host) != 0 && !(*a->job && *b->job))
		return true;
	if (strcmp(a->host, b->host) != 0)
		cli_error("the times of %s are of the clock of node \"%s\", those of %s of \"%s\", "
			  "and "
			  "these were never compared: record them as one job (kymo run mpirun ..., "
			  "docs/ranks.md), or look at them with --by trace%s",
			  first, a->host, path, b->host,
			  options.uncompared ? "" : "; --uncompared merges them as they are");
	else
		cli_error("%s and %s are of two nodes called \"%s\", or of one that was started "
			  "anew or whose clock was set between them: their times cannot be "
			  "compared",
			  first, path, a->host);
	return false;
}

/* ---- copying ------------------------------------------------------------------------------- */

static bool fail(const char *path)
{
	cli_error("%s: %s", path, strerror(errno));
	return false;
}

static bool copy_bytes(int from, int to)
{
	char buffer[1 << 16];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || file_write_all(to, buffer, (size_t)n) != (size_t)n)
			return false;
	}
	return true;
}

static bool copy_file(const char *from, const char *to)
{
	int in = file_open_regular(from), out;
	bool ok;

	if (in < 0)
		return fail(from);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ok = out >= 0 && copy_bytes(in, out);
	if (!ok)
		fail(out < 0 ? to : from);
	close(in);
	if (out >= 0 && close(out) != 0 && ok)
		ok = fail(to);
	return ok;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* A name in the folder of raw files that is free: processes of two traces may have had one number. */
static bool free_name(const char *folder, const char *name, char out[NAME_MAX + 1])
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(out, NAME_MAX + 1, "%s", name);
	for (unsigned n = 2; n < 1000000; n++) {
		if (snprintf(path, sizeof(path), "%s/raw/%s", folder, out) >= (int)sizeof(path))
			return false;
		if (lstat(path, &st) != 0)
			return true;
		snprintf(out, NAME_MAX + 1, "%.*s-%u.kyr", (int)strlen(name) - 4, name, n);
	}
	return false;
}

struct manifests { /* of the trace that is copied */
	struct text *text;
	uint32_t count, room;
	struct renamed { /* raw files whose names were taken */
		char from[NAME_MAX + 1], to[NAME_MAX + 1];
	} * renamed;
	uint32_t renamed_count, renamed_room;
};

static bool add_renamed(struct manifests *m, const char *from, const char *to)
{
	struct renamed *r;

	if (strcmp(from, to) == 0)
		return true;
	if (!vec_reserve(&m->renamed, &m->renamed_room, m->renamed_count, 1))
		return false;
	r = &m->renamed[m->renamed_count++];
	snprintf(r->from, sizeof(r->from), "%s", from);
	snprintf(r->to, sizeof(r->to), "%s", to);
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct renamed *x = a, *y = b;

	return strcmp(x->from, y->from);
}

/* The name that goes on to its quote goes by a new one now; or NULL. */
static const char *new_name(const struct manifests *m, const char *name)
{
	size_t n = strcspn(name, "\"");
	const struct renamed *found;
	struct renamed key;

	if (n > NAME_MAX || !m->renamed_count)
		return NULL;
	snprintf(key.from, sizeof(key.from), "%.*s", (int)n, name);
	found = bsearch(&key, m->renamed, m->renamed_count, sizeof(key), by_name);
	return found ? found->to : NULL;
}

/*
 * In the text of a manifest, files of processes go by their new names: all at once, since the new name of one
 * may be the old one of another.
 */
static void rename_in(struct text *manifest, const struct manifests *m)
{
	static const char key[] = "\"file\": \"";
	const char *s = manifest->s, *hit, *name;
	struct text out = {0};

	while (s && (hit = strstr(s, key))) {
		hit += sizeof(key) - 1;
		text_add_bytes(&out, s, (size_t)(hit - s));
		name = new_name(m, hit);
		s = name ? hit + strcspn(hit, "\"") : hit;
		text_add(&out, name ? name : "");
	}
	text_add(&out, s ? s : "");
	text_release(manifest);
	*manifest = out;
}

static void rename_all(struct manifests *m)
{
	if (!m->renamed_count)
		return;
	qsort(m->renamed, m->renamed_count, sizeof(*m->renamed), by_name);
	for (uint32_t i = 0; i < m->count; i++)
		rename_in(&m->text[i], m);
}

static bool add_manifest(struct manifests *m, const char *path, const char *name)
{
	char file[PATH_MAX];
	size_t bytes;
	char *text;

	if (snprintf(file, sizeof(file), "%s/%s", path, name) >= (int)sizeof(file) ||
	    !vec_reserve(&m->text, &m->room, m->count, 1))
		return false;
	text = file_read_regular(file, &bytes);
	if (!text)
		return fail(file);
	m->text[m->count++] = (struct text){.s = text, .length = bytes};
	return true;
}

/* That of the whole first; a trace that was recorded without launcher may have none. */
static bool read_manifests(const char *path, struct manifests *m)
{
	DIR *d = opendir(path);
	char first[PATH_MAX];
	struct dirent *e;
	bool ok = d != NULL || fail(path);

	if (snprintf(first, sizeof(first), "%s/manifest.json", path) < (int)sizeof(first) &&
	    access(first, F_OK) == 0)
		ok = ok && add_manifest(m, path, "manifest.json");
	while (ok && (e = readdir(d)))
		if (strncmp(e->d_name, "manifest-", 9) == 0 && ends_with(e->d_name, ".json"))
			ok = add_manifest(m, path, e->d_name);
	if (d)
		closedir(d);
	return ok;
}

static bool copy_raw(const char *path, const char *to, struct manifests *m)
{
	char folder[PATH_MAX], from[PATH_MAX], target[PATH_MAX], name[NAME_MAX + 1];
	struct dirent *e;
	bool ok;
	DIR *d;

	if (snprintf(folder, sizeof(folder), "%s/raw", path) >= (int)sizeof(folder))
		return false;
	d = opendir(folder);
	ok = d != NULL || fail(folder);
	while (ok && (e = readdir(d))) {
		if (!ends_with(e->d_name, ".kyr"))
			continue;
		ok = free_name(to, e->d_name, name) &&
		     snprintf(from, sizeof(from), "%s/%s", folder, e->d_name) < (int)sizeof(from) &&
		     snprintf(target, sizeof(target), "%s/raw/%s", to, name) <
			     (int)sizeof(target) &&
		     copy_file(from, target) && add_renamed(m, e->d_name, name);
	}
	rename_all(m);
	if (d)
		closedir(d);
	return ok;
}

/* The first manifest of the first trace is that of the whole; readers know the others by their names. */
static bool write_manifests(const char *to, struct manifests *m, unsigned trace)
{
	char file[PATH_MAX];
	bool ok = true;

	for (uint32_t i = 0; ok && i < m->count; i++) {
		int n = trace == 0 && i == 0
				? snprintf(file, sizeof(file), "%s/manifest.json", to)
				: snprintf(file, sizeof(file), "%s/manifest-merged-%u-%u.json", to,
					   trace, i);

		ok = n < (int)sizeof(file) && m->text[i].s &&
		     (file_replace(file, m->text[i].s, m->text[i].length) || fail(file));
	}
	for (uint32_t i = 0; i < m->count; i++)
		text_release(&m->text[i]);
	free(m->text);
	free(m->renamed);
	return ok;
}

/* ---- traces -------------------------------------------------------------------------------- */

static bool look_at(const char *path, struct reference *r)
{
	struct raw_trace *rt;
	struct stat st;
	bool ok;

	if (stat(path, &st) != 0)
		return fail(path);
	if (!S_ISDIR(st.st_mode)) {
		cli_error("%s: only trace directories can be merged", path);
		return false;
	}
	if (raw_being_written(path)) {
		cli_error("%s: it is still being recorded; merge it when that is over", path);
		return false;
	}
	if (raw_trace_open(path, &cli_log, &rt) != KYMO_OK)
		return false;
	ok = find_reference(path, raw_trace_definitions(rt), r);
	raw_trace_close(rt);
	return ok && !cli_told_errors();
}

/* Of traces on one clock each is compared with the first one; of others all with all. */
static bool check_clocks(int argc, char **argv)
{
	struct reference *r = calloc((size_t)argc, sizeof(*r));
	bool ok = r != NULL;

	for (int i = 0; ok && i < argc; i++) {
		ok = look_at(argv[i], &r[i]);
		for (int k = 0; ok && k < (options.uncompared ? i : i > 0); k++)
			ok = check_clock(argv[k], argv[i], &r[k], &r[i]);
	}
	if (!r)
		cli_error("not enough memory");
	free(r);
	return ok;
}

static bool copy_traces(int argc, char **argv, const char *to)
{
	char raw[PATH_MAX];

	if (snprintf(raw, sizeof(raw), "%s/raw", to) >= (int)sizeof(raw) || mkdir(to, 0700) != 0 ||
	    mkdir(raw, 0700) != 0)
		return fail(to);
	for (int i = 0; i < argc; i++) {
		struct manifests m = {0};
		bool ok = read_manifests(argv[i], &m) && copy_raw(argv[i], to, &m);

		if (!write_manifests(to, &m, (unsigned)i) || !ok)
			return false;
		cli_progress((void *)(uintptr_t) "Merging", (double)(i + 1) / argc);
	}
	return true;
}

/* Under another name until it is whole. */
static int merge(int argc, char **argv)
{
	char temporary[PATH_MAX], token[FILE_TOKEN];
	struct stat st;
	bool ok;

	if (lstat(options.output, &st) == 0) {
		cli_error("%s is there already; name another one with -o", options.output);
		return CLI_USAGE;
	}
	if (!check_clocks(argc, argv))
		return CLI_FAILURE;
	file_token(token);
	if (snprintf(temporary, sizeof(temporary), "%s.%s", options.output, token) >=
	    (int)sizeof(temporary))
		return CLI_FAILURE;
	ok = copy_traces(argc, argv, temporary);
	cli_progress_clear();
	if (ok && rename(temporary, options.output) != 0)
		ok = fail(options.output);
	if (!ok)
		file_remove_tree(temporary);
	else
		cli_note("%s: %d traces", options.output, argc);
	return ok ? CLI_OK : CLI_FAILURE;
}

static int run(int argc, char **argv)
{
	if (!options.output || !*options.output)
		return cli_usage("merge", "where to? -o names the trace directory to write");
	argc = cli_distinct(argc, argv);
	if (argc < 2)
		return cli_usage("merge", "two traces or more are merged into one");
	return merge(argc, argv);
}

extern const struct command cmd_merge;
const struct command cmd_merge = {
	.name = "merge",
	.operands = "-o DIR TRACE TRACE...",
	.summary = "Make one trace of several",
	.about = "Raw files are copied as they are. The times of all must be of one clock: of one "
		 "node since it\n"
		 "was started, or of one job whose ranks were compared; others are refused without "
		 "--uncompared.",
	.knobs = &knobs,
	.run = run,
};
