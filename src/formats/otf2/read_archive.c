/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libotf2: opening, definitions, events in order of time. It was made for archives that are sound: a damaged one
 * makes it fail in ways that end the process. So it reads every archive once in a process of its own before.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "formats/otf2/reader.h"

/* What it takes for sound archives is a hundredth of this; with a damaged one it may go round in circles. */
enum { TRIAL_SECONDS = 3, TRIAL_FILES_A_SECOND = 100, TRIAL_BYTES_A_SECOND = 2000000 };
#define EVENTS_AT_ONCE 65536u

/* Its first message says what is wrong, others follow from it. */
static OTF2_ErrorCode on_error(void *data, const char *file, uint64_t line, const char *function,
			       OTF2_ErrorCode code, const char *format, va_list args)
{
	struct reader *r = data;

	if (code < OTF2_SUCCESS || r->code != OTF2_SUCCESS) /* a warning */
		return code;
	r->code = code;
	vsnprintf(r->fault, sizeof(r->fault), format ? format : "", args);
	return code;
}

static bool read_definitions(struct reader *r, OTF2_GlobalDefReaderCallbacks *callbacks)
{
	OTF2_GlobalDefReader *d = OTF2_Reader_GetGlobalDefReader(r->archive);
	uint64_t n;

	if (!d)
		return false;
	if (callbacks)
		OTF2_Reader_RegisterGlobalDefCallbacks(r->archive, d, callbacks, r);
	if (OTF2_Reader_ReadAllGlobalDefinitions(r->archive, d, &n) != OTF2_SUCCESS)
		return false;
	OTF2_Reader_CloseGlobalDefReader(r->archive, d);
	return true;
}

/* Before definitions: some mean more, of Kymo's archives. */
static void find_creator(struct reader *r)
{
	char *s = NULL;

	if (OTF2_Reader_GetCreator(r->archive, &s) == OTF2_SUCCESS && s)
		r->kymo = strcmp(s, "Kymo") == 0;
	free(s);
}

bool otf2r_open(struct reader *r, OTF2_GlobalDefReaderCallbacks *callbacks)
{
	OTF2_Error_RegisterCallback(on_error, r);
	r->archive = OTF2_Reader_Open(r->anchor);
	if (!r->archive)
		return false;
	find_creator(r);
	return OTF2_Reader_SetSerialCollectiveCallbacks(r->archive) == OTF2_SUCCESS &&
	       read_definitions(r, callbacks);
}

void otf2r_close(struct reader *r)
{
	if (r->archive)
		OTF2_Reader_Close(r->archive);
	r->archive = NULL;
	OTF2_Error_RegisterCallback(NULL, NULL);
}

/* Numbers of local definitions, and what its clock was off, are taken into account by libotf2 itself. */
static uint32_t open_locations(struct reader *r)
{
	bool local;
	uint32_t n = 0;
	uint64_t read;

	for (uint32_t i = 0; i < r->places_count; i++)
		OTF2_Reader_SelectLocation(r->archive, r->places[i].ref);
	local = OTF2_Reader_OpenDefFiles(r->archive) == OTF2_SUCCESS;
	if (OTF2_Reader_OpenEvtFiles(r->archive) != OTF2_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < r->places_count; i++) {
		OTF2_DefReader *d =
			local ? OTF2_Reader_GetDefReader(r->archive, r->places[i].ref) : NULL;

		if (d) {
			OTF2_Reader_ReadAllLocalDefinitions(r->archive, d, &read);
			OTF2_Reader_CloseDefReader(r->archive, d);
		}
		n += OTF2_Reader_GetEvtReader(r->archive, r->places[i].ref) != NULL;
	}
	if (local)
		OTF2_Reader_CloseDefFiles(r->archive);
	return n;
}

void otf2r_events(struct reader *r, OTF2_GlobalEvtReaderCallbacks *callbacks)
{
	OTF2_GlobalEvtReader *e;
	uint64_t n = EVENTS_AT_ONCE;

	if (!open_locations(r))
		return;
	e = OTF2_Reader_GetGlobalEvtReader(r->archive);
	if (!e)
		return;
	if (callbacks)
		OTF2_Reader_RegisterGlobalEvtCallbacks(r->archive, e, callbacks, r);
	while (n == EVENTS_AT_ONCE && r->status == KYMO_OK) {
		if (OTF2_Reader_ReadGlobalEvents(r->archive, e, EVENTS_AT_ONCE, &n) != OTF2_SUCCESS)
			break;
		if (r->o->progress && r->total)
			r->o->progress(r->o->progress_data,
				       (double)(r->events + (r->sink ? r->total : 0)) /
					       (2.0 * (double)r->total));
	}
	OTF2_Reader_CloseGlobalEvtReader(r->archive, e);
	OTF2_Reader_CloseEvtFiles(r->archive);
}

/* ---- the trial ------------------------------------------------------------------------------- */

/* What there is beside the anchor "traces.otf2". */
struct extent {
	rlim_t files, bytes;
};

/* Libotf2 opens whatever has the name of a file, and would wait for a pipe. False: it is none, which is said. */
static bool add_file(struct reader *r, struct extent *e, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || S_ISDIR(st.st_mode))
		return true;
	e->files++;
	e->bytes += (rlim_t)st.st_size;
	if (!S_ISREG(st.st_mode))
		stream_error(r->o->log, "%s: it is no file, and archives are made of files", path);
	return S_ISREG(st.st_mode);
}

/* "traces" of the anchor, and what is behind it. */
static bool add_named(struct reader *r, struct extent *e, struct text *path, const char *between,
		      const char *name)
{
	path->length = 0;
	text_addf(path, "%.*s%s%s", (int)(strlen(r->anchor) - strlen(".otf2")), r->anchor, between,
		  name);
	return path->failed || add_file(r, e, path->s);
}

/* "traces.def", "traces.marker", and all in "traces/". */
static bool measure(struct reader *r, struct extent *e)
{
	struct text path = {0};
	bool ok = add_named(r, e, &path, ".", "def") && add_named(r, e, &path, ".", "marker") &&
		  add_named(r, e, &path, "/", "");
	DIR *d = ok && !path.failed ? opendir(path.s) : NULL;
	struct dirent *entry;

	while (ok && d && (entry = readdir(d)) != NULL)
		ok = add_named(r, e, &path, "/", entry->d_name);
	if (d)
		closedir(d);
	text_release(&path);
	return ok;
}

/* All that is read later is read here, by the same calls. */
static void attempt(struct reader *r, const struct extent *e)
{
	const rlim_t seconds = TRIAL_SECONDS + e->files / TRIAL_FILES_A_SECOND +
			       e->bytes / TRIAL_BYTES_A_SECOND; /* of a processor */
	const struct rlimit none = {0, 0}, time = {seconds, seconds};
	OTF2_GlobalDefReaderCallbacks *defs = otf2r_define();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_CPU, &time);
	if (otf2r_open(r, defs))
		otf2r_events(r, NULL);
	if (r->archive && r->main == r)
		otf2r_markers(r);
	otf2r_close(r);
	_exit(0);
}

bool otf2r_try(struct reader *r)
{
	struct extent e = {0};
	int how = 0;
	pid_t child;

	if (!measure(r, &e))
		return false;
	child = fork();
	if (child == 0)
		attempt(r, &e);
	while (child > 0 && waitpid(child, &how, 0) < 0)
		if (errno != EINTR)
			break;
	if (child < 0) {
		stream_error(r->o->log, "%s: cannot start a process that tries to read it: %s",
			     r->path, strerror(errno));
		return false;
	}
	if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
		return true;
	if (WIFSIGNALED(how) && (WTERMSIG(how) == SIGXCPU || WTERMSIG(how) == SIGKILL))
		stream_error(r->o->log,
			     "%s: damaged: libotf2 comes to no end with it. Was it copied as a "
			     "whole?",
			     r->path);
	else
		stream_error(r->o->log,
			     "%s: damaged: libotf2 fails with it (%s). Was it copied as a whole?",
			     r->path,
			     WIFSIGNALED(how) ? strsignal(WTERMSIG(how)) : "it ends the process");
	return false;
}
