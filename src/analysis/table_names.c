/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing tables by their names; see table_names.h. */
#include "analysis/table_names.h"

#include <limits.h>
#include <string.h>

#include "base/text.h"

enum { WORD_MAX = 63 };

const struct table_name table_names[] = {
	{"digest", "what the lines above the tables say"},
	{"devices", "likewise, of devices"},
	{"hosts", "likewise, of hosts"},
	{"findings", "likewise, what could be won"},
	{"device_use", "how busy each device was, over the run"},
	{"gaps", "times in which devices had no work, the longest first, and why"},
	{"overlap", "messages under way, and what ranks computed beside them"},
	{"regions", "parallel regions of OpenMP and how long threads waited in their barriers"},
	{"files", "files: opens, reads, writes, bytes, time, the longest call"},
	{"sockets", "likewise, by the other side of sockets"},
	{"locks",
	 "locks, conditions, barriers, semaphores: waits, for whom, how long they were held"},
	{"waits", "sleeps and polls, by place: what for, how long, how they ended"},
	{"off_cpu_stacks", "times without a processor, by the stack that waited"},
	{"heap", "memory of malloc(): allocated, at its peak, left at the end, by line"},
	{"builds", "builds and loads by program, with the log of those that failed"},
	{"ranges", "annotations that span time"},
	{"marks", "annotations of an instant"},
	{"messages", "MPI and other messages"},
	{"message_sizes", "their sizes"},
	{"kernels", "kernels"},
	{"occa_kernels", "kernels of OCCA with their source files, launches and device times"},
	{"occa_devices", "devices of OCCA: builds, launches, copies, memory"},
	{"occa_memory", "buffers of OCCA, by the line that got them, and what was left"},
	{"copies", "copies of memory"},
	{"fills", "fills of memory"},
	{"maps", "mappings of memory"},
	{"traffic", "bytes copied, by direction and kinds of memory"},
	{"copy_sizes", "sizes of copies (with --by size)"},
	{"waiting", "the host waiting for devices"},
	{"processes", "time, use of processors, peak of resident memory of processes"},
	{"threads", "time and use of processors of threads"},
	{"shares", "what runtimes take of ranks, or of processes"},
	{"imbalance", "load of ranks"},
	{"queues", "work of queues"},
	{"memory", "memory in use, peaks"},
	{"allocations", "what was allocated and freed"},
	{"leaks", "memory that was never freed, by line"},
	{"objects", "objects of runtimes that were there at the end, by line"},
	{"functions", "functions that samples met"},
	{"stack_ends", "where stacks of samples and of calls end, and why"},
	{"kernel_lines", "lines of kernels on processors that samples of threads met"},
	{"kernel_instructions",
	 "instructions of kernels on processors that samples of threads met"},
	{"device_lines", "lines of kernels that samples met"},
	{"counters", "counters of operations"},
	{"telemetry", "counters of devices and of the machine"},
	{"kernel_energy", "energy of kernels"},
	{"errors", "calls that returned an error"},
	{"open_calls", "calls that never finished"},
	{"unfinished", "device work that was never seen to finish"},
	{"quality", "losses, clocks, overhead"},
	{"not_recorded", "calls that the mode leaves out"},
	{"notes", "notes of the recording"},
	{NULL, NULL},
};

/* The next word of a list, copied; false at its end. */
static bool next_word(const char **list, char word[WORD_MAX + 1], const char **at, size_t *length)
{
	while (**list == ',')
		++*list;
	*at = *list;
	*length = strcspn(*list, ",");
	*list += *length;
	memcpy(word, *at, *length < WORD_MAX ? *length : WORD_MAX);
	word[*length < WORD_MAX ? *length : WORD_MAX] = '\0';
	return *length > 0;
}

/* True: it is one; else *nearest is like it. */
static bool is_known(const char *word, const struct summary *s, unsigned count,
		     const char **nearest)
{
	unsigned best = UINT_MAX;

	*nearest = NULL;
	for (const struct table_name *n = table_names; n->name; n++) {
		if (strcmp(n->name, word) == 0)
			return true;
		if (text_nearer(word, n->name, &best))
			*nearest = n->name;
	}
	for (unsigned i = 0; i < count; i++) {
		const struct trace *t = s[i].trace;

		for (uint32_t k = 1; k < t->domains_count; k++) {
			if (strcmp(t->domains[k].name, word) == 0)
				return true;
			if (text_nearer(word, t->domains[k].name, &best))
				*nearest = t->domains[k].name;
		}
	}
	return false;
}

/* Worlds of ranks have tables "imbalance_1" and so on. */
static bool is_named(const char *table, const char *word)
{
	size_t n = strlen(word);

	return strncmp(table, word, n) == 0 &&
	       (!table[n] || (table[n] == '_' && strcmp(word, "imbalance") == 0));
}

static bool in_list(const char *table, const void *list)
{
	const char *rest = list, *at;
	char word[WORD_MAX + 1];
	size_t length;

	while (next_word(&rest, word, &at, &length))
		if (is_named(table, word))
			return true;
	return false;
}

void table_names_of_calls(struct text *out, const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *calls = &s[i].tallies->set[TALLY_CALL];
		const struct trace *t = s[i].trace;

		for (uint32_t k = 0; k < calls->count; k++) {
			const char *name =
				t->domains[t->ops[calls->rows[k]->key[KEY_OP]].domain].name;

			if (out->s && in_list(name, out->s))
				continue;
			text_addf(out, "%s%s", out->length ? "," : "", name);
		}
	}
}

bool table_names_known(const char *list, const struct summary *s, unsigned count, const char **bad,
		       size_t *bad_length, const char **nearest)
{
	char word[WORD_MAX + 1];

	while (next_word(&list, word, bad, bad_length))
		if (!is_known(word, s, count, nearest))
			return false;
	return true;
}

bool table_names_has(const char *list, const char *table)
{
	return !list || in_list(table, list);
}

/* People have the digest as lines. */
static bool is_wanted(const char *table, const void *report)
{
	const struct report *r = report;

	return in_list(table, r->chosen) && !(r->people && strcmp(table, "digest") == 0);
}

void report_choose(struct report *r)
{
	const char *rest = r->chosen, *at;
	char word[WORD_MAX + 1];
	size_t length;

	report_keep(r, is_wanted, r);
	while (next_word(&rest, word, &at, &length)) {
		bool there = r->people && strcmp(word, "digest") == 0 && r->digest;

		for (unsigned i = 0; i < r->table_count && !there; i++)
			there = is_named(r->tables[i]->name, word);
		if (!there)
			report_foot(r, "Nothing to show in table %s%s%s.", word,
				    r->by ? " with --by " : "", r->by ? r->by : "");
	}
}
