/* SPDX-License-Identifier: Apache-2.0 */
/* See manifest.h. */
#include "drain/manifest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

void manifest_init(struct manifest *m)
{
	memset(m, 0, sizeof(*m));
	m->status = -1;
	m->started = clock_ns(CLOCK_REALTIME);
	if (!getcwd(m->cwd, sizeof(m->cwd)))
		m->cwd[0] = '\0';
	gethostname(m->hostname, sizeof(m->hostname) - 1);
	job_of_process(&m->job, 0);
}

void manifest_join(struct manifest *m, const char *trace)
{
	char token[FILE_TOKEN], host[64];

	/* Nodes may have one name, and containers on a node one name and equal process numbers. */
	file_token(token);
	snprintf(host, sizeof(host), "%s", m->hostname);
	for (char *p = host; *p; p++)
		*p = *p == '/' || (unsigned char)*p <= ' ' ? '_' : *p;
	snprintf(m->path, sizeof(m->path), "%.*s/manifest-%.60s-%d-%s.json", PATH_MAX - 128, trace,
		 host, (int)getpid(), token);
}

void manifest_process(struct manifest *m, int pid, uint32_t rank, const char *file,
		      const struct raw_end *end, uint64_t bytes)
{
	static const char *const names[] = MANIFEST_ENDS;
	const char *slash = strrchr(file, '/');

	text_addf(&m->processes, "%s\n    {\"pid\": %d, \"file\": ", m->processes.length ? "," : "",
		  pid);
	text_add_json(&m->processes, slash ? slash + 1 : file);
	text_addf(&m->processes,
		  ", \"ended\": \"%s\", \"status\": %d, \"lost_records\": %" PRIu64
		  ", \"unwritten_records\": %" PRIu64 ", \"no_memory_records\": %" PRIu64
		  ", \"dropped_records\": %" PRIu64 ", \"lost_definitions\": %" PRIu64
		  ", \"overwritten_records\": %" PRIu64,
		  end->how < sizeof(names) / sizeof(names[0]) ? names[end->how] : "?", end->status,
		  end->lost_records, end->unwritten_records, end->no_memory_records,
		  end->dropped_records, end->lost_definitions, end->overwritten_records);
	if (m->job.id[0] && rank != JOB_UNKNOWN)
		text_addf(&m->processes, ", \"rank\": %u", rank);
	/* A file that is cut later can be told by it, compressed or not. */
	text_addf(&m->processes, ", \"bytes\": %" PRIu64 "}", bytes);
}

void manifest_error(struct manifest *m, const char *format, ...)
{
	char text[512];
	va_list args;

	if (m->errors.length > 16384)
		return; /* told often enough */
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_add(&m->errors, m->errors.length ? ", " : "");
	text_add_json(&m->errors, text);
}

void manifest_words(struct text *t, char *const *words)
{
	text_add(t, "[");
	for (size_t i = 0; words && words[i]; i++) {
		text_add(t, i ? ", " : "");
		text_add_json(t, words[i]);
	}
	text_add(t, "]");
}

static void add_time(struct text *t, const char *name, uint64_t ns)
{
	time_t s = (time_t)(ns / 1000000000u);
	struct tm tm;
	char iso[40];

	gmtime_r(&s, &tm);
	strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%S", &tm);
	text_addf(t, "  \"%s\": \"%s.%06uZ\",\n", name, iso, (unsigned)(ns % 1000000000u / 1000u));
}

static void add_job(struct text *t, const struct job *job)
{
	if (!job->id[0])
		return;
	text_add(t, "  \"job\": {\"id\": ");
	text_add_json(t, job->id);
	if (job->rank != JOB_UNKNOWN)
		text_addf(t, ", \"rank\": %u", job->rank);
	if (job->size)
		text_addf(t, ", \"ranks\": %u", job->size);
	text_add(t, "},\n");
}

static void add_status(struct text *t, int pid, int status)
{
	text_addf(t, "\"pid\": %d", pid);
	if (status != -1 && WIFSIGNALED(status))
		text_addf(t, ", \"signal\": %d", WTERMSIG(status));
	else if (status != -1)
		text_addf(t, ", \"status\": %d", WEXITSTATUS(status));
}

void manifest_no_launchers(struct manifest *m)
{
	m->launchers.length = 0;
}

void manifest_launcher(struct manifest *m, uint32_t rank, int pid, int status, bool complete,
		       const char *command)
{
	struct text *t = &m->launchers;

	if (!m->job.id[0])
		return;
	text_addf(t, "%s\n    {\"launcher\": \"%s\", ", t->length ? "," : "",
		  complete ? "complete" : "recording");
	if (rank != JOB_UNKNOWN)
		text_addf(t, "\"rank\": %u, ", rank);
	add_status(t, pid, status);
	if (command)
		text_addf(t, ", \"command\": %s", command);
	text_add(t, "}");
}

static void add_launchers(struct text *t, const struct manifest *m)
{
	if (m->launchers.length)
		text_addf(t, "  \"launchers\": [%s\n  ],\n", m->launchers.s);
}

static void add_program(struct text *t, const struct manifest *m)
{
	text_add(t, "  \"program\": {");
	add_status(t, m->pid, m->status);
	if (m->untraced) {
		text_add(t, ", \"untraced\": ");
		text_add_json(t, m->untraced);
	}
	text_add(t, "},\n");
}

static void add_system(struct text *t)
{
	struct utsname u;

	if (uname(&u) != 0)
		return;
	text_add(t, "  \"system\": {\"kernel\": ");
	text_add_json(t, u.release);
	text_add(t, ", \"machine\": ");
	text_add_json(t, u.machine);
	text_addf(t, ", \"cpus\": %ld},\n", sysconf(_SC_NPROCESSORS_ONLN));
}

static void add_restarts(struct text *t, const struct manifest *m)
{
	if (!m->restarts)
		return;
	text_addf(t, "  \"drain\": {\"restarts\": %u", m->restarts);
	if (m->restart_signal)
		text_addf(t, ", \"signal\": %d", m->restart_signal);
	else if (m->restart_status)
		text_addf(t, ", \"status\": %d", m->restart_status);
	text_add(t, "},\n");
}

static void add_totals(struct text *t, const struct drain_totals *s)
{
	text_addf(t,
		  "  \"totals\": {\"processes\": %u, \"refused\": %u, \"lost_records\": %" PRIu64
		  ", \"unwritten_records\": %" PRIu64 ", \"no_memory_records\": %" PRIu64
		  ", \"dropped_records\": %" PRIu64 ", \"lost_definitions\": %" PRIu64
		  ", \"overwritten_records\": %" PRIu64 ", \"damaged_chunks\": %" PRIu64
		  ", \"drain_restarts\": %u, \"bytes\": %" PRIu64 ", \"stored_bytes\": %" PRIu64
		  "},\n",
		  s->processes, s->refused, s->lost_records, s->unwritten_records,
		  s->no_memory_records, s->dropped_records, s->lost_definitions,
		  s->overwritten_records, s->damaged_chunks, s->restarts, s->bytes, s->stored);
}

bool manifest_write(const struct manifest *m, const struct drain_totals *totals)
{
	struct text t = {0};
	bool ok;

	text_addf(&t,
		  "{\n  \"format\": \"kymo trace\",\n  \"version\": 1,\n  \"kymo\": \"%s\",\n"
		  "  \"state\": \"%s\",\n  \"command\": ",
		  KYMO_VERSION, totals ? "complete" : "recording");
	manifest_words(&t, m->command);
	text_add(&t, ",\n  \"environment\": ");
	manifest_words(&t, m->environment);
	if (m->formulas) {
		text_add(&t, ",\n  \"formulas\": ");
		text_add_json(&t, m->formulas);
	}
	text_add(&t, ",\n  \"cwd\": ");
	text_add_json(&t, m->cwd);
	text_add(&t, ",\n  \"hostname\": ");
	text_add_json(&t, m->hostname);
	text_add(&t, ",\n");
	add_job(&t, &m->job);
	add_system(&t);
	add_time(&t, "started", m->started);
	if (totals) {
		add_time(&t, "ended", clock_ns(CLOCK_REALTIME));
		add_totals(&t, totals);
	}
	add_restarts(&t, m);
	add_program(&t, m);
	add_launchers(&t, m);
	text_addf(&t, "  \"processes\": [%s%s],\n", m->processes.s ? m->processes.s : "",
		  m->processes.s ? "\n  " : "");
	text_addf(&t, "  \"errors\": [%s]\n}\n", m->errors.s ? m->errors.s : "");
	ok = !t.failed && file_replace(m->path, t.s, t.length);
	text_release(&t);
	return ok;
}
