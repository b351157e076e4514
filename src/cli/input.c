/* SPDX-License-Identifier: Apache-2.0 */
/* Readers, messages and filters of the commands that read traces; see input.h. */
#include "cli/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "stream/demangle.h"
#include "stream/unplaced.h"

#define WARNINGS_SHOWN 10u

static unsigned warnings;
static struct map told; /* warnings, by their hash */
static const char *hidden_path, *shown_name;

void cli_log_call(const char *path, const char *name)
{
	hidden_path = path;
	shown_name = name;
}

static void show(int severity, const char *text)
{
	struct text shown = {0};
	const char *at;

	if (!hidden_path || !strstr(text, hidden_path)) {
		cli_message(severity, text);
		return;
	}
	for (; (at = strstr(text, hidden_path)); text = at + strlen(hidden_path)) {
		text_add_bytes(&shown, text, (size_t)(at - text));
		text_add(&shown, shown_name);
	}
	text_add(&shown, text);
	cli_message(severity, shown.s && !shown.failed ? shown.s : "out of memory");
	text_release(&shown);
}

/* What is read several times warns of the same places each time. */
static bool was_told(const char *text)
{
	uint64_t hash = hash_string(text);

	if (map_get(&told, hash))
		return true;
	map_set(&told, hash, 1); /* without memory it is told again */
	return false;
}

static void tell(int severity, const char *text)
{
	if (severity >= 3 || (!was_told(text) && warnings++ < WARNINGS_SHOWN))
		show(severity, text);
}

static struct held {
	pid_t keeps; /* the process: readers try files in others, whose messages nobody would see */
	unsigned count;
	struct message {
		int severity;
		char *text;
	} at[4 * WARNINGS_SHOWN];
} held;

static void keep_or_tell(int severity, const char *text)
{
	struct message *m = &held.at[held.count];
	bool room = held.count < sizeof(held.at) / sizeof(held.at[0]);

	if (held.keeps != getpid() || !room || !(m->text = strdup(text))) {
		tell(severity, text);
		return;
	}
	m->severity = severity;
	held.count++;
}

/* Of several threads one at a time. */
static void log_message(struct stream_log *l, int severity, const char *text)
{
	flockfile(stderr);
	keep_or_tell(severity, text);
	funlockfile(stderr);
}

void cli_log_keep(void)
{
	held.keeps = getpid();
}

void cli_log_settle(bool ok)
{
	unsigned first = held.count;

	held.keeps = 0;
	for (unsigned i = 0; i < held.count && !ok; i++)
		first = held.at[i].severity >= 3 ? i : first;
	if (first < held.count)
		tell(3, held.at[first].text);
	for (unsigned i = 0; i < held.count; i++) {
		if (i != first)
			tell(ok && held.at[i].severity >= 3 ? 2 : held.at[i].severity,
			     held.at[i].text);
		free(held.at[i].text);
	}
	held.count = 0;
}

struct stream_log cli_log = {log_message};

void cli_log_finish(void)
{
	if (warnings > WARNINGS_SHOWN)
		cli_warn("%u more warnings of this kind", warnings - WARNINGS_SHOWN);
	warnings = 0;
	map_clear(&told);
}

const struct format *cli_reader(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		cli_error("%s: %s", path, strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		cli_error("%s: it is neither a file nor a directory, and traces are read at any "
			  "place: write it to a file first",
			  path);
		return NULL;
	}
	if (access(path, R_OK) != 0) {
		cli_error("%s: %s", path, strerror(errno));
		return NULL;
	}
	for (const struct format *const *f = format_table; *f; f++) {
		if ((*f)->read && (*f)->probe && (*f)->probe(path))
			return *f;
	}
	cli_error("%s: not a trace: neither a directory that kymo left, nor a .kyr file, nor "
		  "another format of \"kymo list formats\" that can be read",
		  path);
	return NULL;
}

int cli_distinct(int argc, char **argv)
{
	int kept = 0;

	for (int i = 0; i < argc; i++) {
		struct stat a, b;
		bool again = false;

		for (int k = 0; k < kept && !again; k++)
			again = stat(argv[i], &a) == 0 && stat(argv[k], &b) == 0 &&
				a.st_dev == b.st_dev && a.st_ino == b.st_ino;
		if (again)
			cli_note("%s is named twice and counted once", argv[i]);
		else
			argv[kept++] = argv[i];
	}
	if (kept < argc)
		argv[kept] = NULL;
	return kept;
}

void cli_tell_recording(struct stream_log *log, const char *path, const struct trace *t,
			bool at_work, const char *made)
{
	int64_t quiet = INT64_MAX;
	unsigned n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		n += p->recording;
		if (p->recording && p->quiet_ns < quiet)
			quiet = p->quiet_ns;
	}
	if (n && !made)
		stream_warn(log,
			    "%s: it was made while %u process%s still recording: what came after "
			    "that is not in it",
			    path, n, n == 1 ? " was" : "es were");
	if (!n && at_work)
		stream_warn(log,
			    "%s: the trace is still being written: %s of what was written so far",
			    path, made);
	if (n && made)
		stream_warn(log,
			    "%s: %u process%s still recording (last data %.1f s ago): %s of what "
			    "was written so far",
			    path, n, n == 1 ? " is" : "es are", (double)quiet / 1e9, made);
}

static bool chooses(const struct cli_filter *o)
{
	const char *const texts[] = {
		o->include,   o->exclude, o->domains, o->kernels, o->no_kernels, o->ranks,
		o->processes, o->threads, o->nodes,   o->devices, o->queues,     o->ranges,
		o->during,    o->sites,   o->memory,  o->after,   o->before};
	bool any = o->min_duration || o->inside;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		any |= texts[i] != NULL;
	return any;
}

struct stream_filter *cli_filter_new(const struct cli_filter *o, unsigned traces, bool *failed)
{
	const struct stream_filter_spec spec = {
		.domains = o->domains,
		.ops = o->include,
		.exclude = o->exclude,
		.kernels = o->kernels,
		.no_kernels = o->no_kernels,
		.processes = o->processes,
		.threads = o->threads,
		.ranks = o->ranks,
		.nodes = o->nodes,
		.devices = o->devices,
		.queues = o->queues,
		.ranges = o->ranges,
		.during = o->during,
		.sites = o->sites,
		.memory = o->memory,
		.after = o->after,
		.before = o->before,
		.min_duration = (int64_t)o->min_duration,
		.inside = o->inside,
	};
	struct stream_filter *filter = NULL;

	*failed = false;
	if (o->mangled)
		demangle_never();
	if (!chooses(o))
		return NULL;
	*failed = stream_filter_new(&spec, &cli_log, &filter) != KYMO_OK;
	stream_filter_traces(filter, traces);
	return filter;
}

/* ---- counter ------------------------------------------------------------------------------- */

static struct cli_counter *counter(struct stream_sink *s)
{
	return (struct cli_counter *)(void *)s;
}

/* Beyond the limit: nothing is passed on. */
static bool limit_reached(struct cli_counter *c)
{
	return c->limit && c->count == c->limit;
}

#define FORWARD(name, type)                                                                        \
	static kymo_status_t count_##name(struct stream_sink *s, const type *r)                    \
	{                                                                                          \
		struct cli_counter *c = counter(s);                                                \
                                                                                                   \
		if (limit_reached(c))                                                              \
			return KYMO_ERROR_LIMIT;                                                   \
		c->count++;                                                                        \
		return c->next->name(c->next, r);                                                  \
	}

#define FORWARD_KIND(K, name, type) FORWARD(name, struct type)
FORWARD(call, struct rec)
RECORD_KINDS(FORWARD_KIND)
FORWARD(other, struct rec)
FORWARD(open_call, struct t_open_call)
FORWARD(unfinished, struct t_unfinished)

static kymo_status_t forward_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct cli_counter *c = counter(s);

	return limit_reached(c) ? KYMO_ERROR_LIMIT : c->next->loss(c->next, r);
}

static kymo_status_t forward_begin(struct stream_sink *s, const struct trace *t)
{
	struct cli_counter *c = counter(s);

	for (uint32_t i = 1; i < t->tallies_count; i++)
		c->tallies |= !t->tallies[i].beside;
	return c->next->begin(c->next, t);
}

static kymo_status_t forward_end(struct stream_sink *s, const struct trace *t)
{
	struct cli_counter *c = counter(s);
	kymo_status_t status;

	if (c->path)
		cli_tell_recording(&cli_log, c->path, t, c->at_work, c->made);
	status = c->next->end(c->next, t);
	if (c->next->unplaced)
		c->left = c->next->unplaced->records;
	return status;
}

void cli_counter_init(struct cli_counter *c, struct stream_sink *next, uint64_t limit)
{
	stream_sink_complete(next); /* what it has not set is called through it, too */
	*c = (struct cli_counter){.sink = {.begin = forward_begin,
					   .call = count_call,
#define COUNT_KIND(K, name, type) .name = count_##name,
					   RECORD_KINDS(COUNT_KIND).other = count_other,
					   .loss = forward_loss,
					   .open_call = count_open_call,
					   .unfinished = count_unfinished,
					   .end = forward_end,
					   .matches = next->matches,
					   .lists = next->lists},
				  .next = next,
				  .limit = limit};
}

void cli_explain_missing(const struct cli_counter *c, const char *path, bool filtered)
{
	if (c->tallies)
		cli_note(
			"%s: calls were counted, not recorded (mode summary); see \"kymo summary\"",
			path);
	else if (c->count == 0)
		cli_note("%s: no records%s", path, filtered ? " that match" : "");
}
