/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo compress`: what of traces was not compressed when they were recorded. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plain.h"
#include "cli/compress.h"
#include "cli/input.h"
#include "drain/compress.h"
#ifdef KYMO_HAVE_SQLITE
#include "analysis/trace_store.h"
#endif

enum {
	HELD_MS = 1000,   /* a drain that has told that all is done is about to end */
	HELD_STEP_MS = 20 /* between looks at that */
};

/* Files that are half made may have names: they go before this does. */
static volatile sig_atomic_t asked_to_end;

struct job {
	int folder;
	const char *folder_path;
	uint64_t before, after; /* bytes of all files */
	uint64_t done;          /* of those before */
	bool failed, impossible;
	bool quiet;    /* what became smaller is not told */
	bool together; /* the trace has no place yet: its files go to disk when all are there */
};

static uint64_t size_at(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
		       ? (uint64_t)st.st_size
		       : 0;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static void fail(struct job *j, const char *name, const char *why)
{
	j->failed = true;
	cli_progress_clear();
	cli_error("%s/%s: %s; it is left as it is", j->folder_path, name, why);
}

static void explain(struct job *j, const char *name, enum compress_status status, uint64_t at)
{
	char text[96];
	int error = errno;

	switch (status) {
	case COMPRESS_DAMAGED:
		snprintf(text, sizeof(text), "damaged at offset %" PRIu64, at);
		fail(j, name, text);
		break;
	case COMPRESS_GROWING:
		fail(j, name,
		     "it has no end and changed within the last two minutes, so it may be still "
		     "being recorded");
		break;
	case COMPRESS_IMPOSSIBLE:
		j->failed = j->impossible = true;
		cli_error("this Kymo was built without zstd, with which traces are compressed");
		break;
	case COMPRESS_FAILED:
		fail(j, name, strerror(error));
		break;
	default: /* also gone: somebody has removed it, or compressed it meanwhile */
		break;
	}
}

static void compress_one(struct job *j, const char *name)
{
	enum compress_status status = COMPRESS_MORE;
	struct compress c;

	if (!compress_open(&c, j->folder, name)) {
		if (errno != ENOENT)
			fail(j, name, errno == ELOOP ? "a symbolic link" : strerror(errno));
		return;
	}
	c.unsynced = j->together;
	while (status == COMPRESS_MORE && !asked_to_end) {
		int error;

		status = compress_step(&c);
		error = errno; /* which the progress changes where no terminal is */
		cli_progress((void *)(uintptr_t) "Compressing",
			     0.99 * (double)(j->done + c.at) / (double)(j->before + 1));
		errno = error;
	}
	if (status == COMPRESS_WAITING)
		status = compress_finish(&c, false);
	if (!asked_to_end)
		explain(j, name, status, c.at);
	compress_close(&c);
}

/* ---- a trace --------------------------------------------------------------------------------- */

static int is_raw_file(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && strcmp(dot, ".kyr") == 0;
}

static void tell(const struct job *j, const char *trace)
{
	const double mib = 1 << 20, before = (double)j->before, after = (double)j->after;

	if (j->after < j->before)
		plain_printf(stdout, "%s: %.2f MiB, now %.2f MiB: %.1f times smaller\n", trace,
			     before / mib, after / mib, before / after);
	else
		plain_printf(stdout, "%s: %.2f MiB, nothing left to compress\n", trace,
			     after / mib);
}

static void compress_files(struct job *j, const char *trace, char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		j->before += size_at(j->folder, names[i]);
	for (int i = 0; i < count && !asked_to_end && !j->impossible; i++) {
		uint64_t size = size_at(j->folder, names[i]);

		compress_one(j, names[i]);
		j->done += size;
		j->after += size_at(j->folder, names[i]);
	}
	cli_progress((void *)(uintptr_t) "Compressing", 1);
	if (asked_to_end || j->impossible || j->quiet)
		return;
	if (!j->failed || j->after < j->before)
		tell(j, trace);
}

static bool compress_folder(struct job *j, const char *trace)
{
	struct dirent **entries = NULL;
	int count = scandir(j->folder_path, &entries, is_raw_file, alphasort);
	char **names = count > 0 ? calloc((size_t)count, sizeof(*names)) : NULL;

	replacement_sweep(j->folder, ".kyr");
	for (int i = 0; names && i < count; i++)
		names[i] = entries[i]->d_name;
	if (count < 0 || (count && !names))
		cli_error("%s: %s", j->folder_path, strerror(errno));
	else
		compress_files(j, trace, names, count);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	free(names);
	return count >= 0 && !j->failed;
}

static bool compress_in(const char *folder, const char *trace, char *name)
{
	struct job j = {.folder = file_open_own(AT_FDCWD, folder), .folder_path = folder};
	bool ok;

	if (j.folder < 0) {
		cli_error("%s: %s", folder,
			  errno == EPERM ? "it is another user's, who alone can compress it"
					 : strerror(errno));
		return false;
	}
	if (name)
		compress_files(&j, trace, &name, 1);
	ok = name ? !j.failed : compress_folder(&j, trace);
	close(j.folder);
	return ok;
}

bool cli_compress_folder(const char *raw)
{
	struct job j = {.folder = file_open_own(AT_FDCWD, raw),
			.folder_path = raw,
			.quiet = true,
			.together = true};
	bool ok;

	if (j.folder < 0) {
		cli_error("%s: %s", raw, strerror(errno));
		return false;
	}
	ok = compress_folder(&j, raw);
	close(j.folder);
	cli_progress_clear();
	return ok || j.impossible;
}

static bool is_recorded(const char *trace)
{
	const struct timespec step = {0, HELD_STEP_MS * 1000000};

	for (int waited = 0; waited < HELD_MS && !asked_to_end; waited += HELD_STEP_MS) {
		if (!file_is_held(trace))
			return false;
		nanosleep(&step, NULL);
	}
	cli_error("%s: still being recorded; that compresses what it can beside the program, and "
		  "this command the rest when the program has ended",
		  trace);
	return true;
}

/* One of the files in a trace, or somewhere else. */
static bool compress_file_alone(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	char folder[PATH_MAX], trace[PATH_MAX];

	if (!dot || strcmp(dot, ".kyr") != 0) {
		cli_error("%s: neither a trace that kymo left nor a raw file of one (.kyr)", path);
		return false;
	}
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	snprintf(trace, sizeof(trace), "%.*s/..", PATH_MAX - 8, folder);
	return !is_recorded(trace) &&
	       compress_in(folder, path, (char *)(uintptr_t)(slash ? slash + 1 : path));
}

static bool compress_trace(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;

	if (stat(path, &st) != 0) {
		cli_error("%s: %s", path, strerror(errno));
		return false;
	}
	if (!S_ISDIR(st.st_mode))
		return compress_file_alone(path);
	snprintf(folder, sizeof(folder), "%.*s/raw", PATH_MAX - 8, path);
	if (stat(folder, &st) != 0 && errno == EACCES) {
		cli_error("%s: %s", path, strerror(errno));
		return false;
	}
	if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) {
		cli_error("%s: not a trace that kymo left: it has no folder raw/", path);
		return false;
	}
	if (is_recorded(path))
		return false;
#ifdef KYMO_HAVE_SQLITE
	trace_store_sweep(path);
#endif
	return compress_in(folder, path, NULL);
}

static void on_signal(int sig)
{
	asked_to_end = sig;
}

/* Not where it is ignored. The second one ends it at once. */
static void watch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &a, NULL);
}

static void end_as_asked(void)
{
	cli_progress_clear();
	signal(asked_to_end, SIG_DFL);
	raise(asked_to_end);
}

static int run(int argc, char **argv)
{
	int result = CLI_OK;

	if (argc == 0)
		return cli_usage("compress", "which trace? (the directory that `kymo run` left)");
	argc = cli_distinct(argc, argv);
	watch_signals();
	for (int i = 0; i < argc && !asked_to_end; i++)
		if (!compress_trace(argv[i]))
			result = CLI_FAILURE;
	if (asked_to_end)
		end_as_asked();
	return result;
}

static struct knob_table knobs = {.command = "compress"};

const struct command cmd_compress = {
	.name = "compress",
	.operands = "TRACE...",
	.summary = "Compress what of a trace is not compressed yet",
	.about =
		"Traces are compressed beside the program and after it, by processors that nobody "
		"else wants. What was not done when all of that was ended, or was recorded with "
		"--no-compress, this command does: a trace then takes 1 to 4 bytes a call instead "
		"of "
		"about 30, and says the same to all readers.\n\n"
		"Each file is replaced in one step when its compressed one is complete, so the "
		"trace can be read meanwhile, and nothing is lost when this is ended. It needs "
		"room for the compressed file beside the old one. When it has ended no file of the "
		"trace changes any more: `kymo run ... && kymo compress TRACE && tar cf ...` does "
		"not come upon one that is just being replaced. Files that are damaged or still "
		"being recorded are left as they are: that is an error. A trace that is compressed "
		"already stays as it is: that is none.",
	.knobs = &knobs,
	.run = run,
};
