/* SPDX-License-Identifier: Apache-2.0 */
/* What was chosen and is not there: said with what there is. The nearest names come first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/patterns.h"
#include "base/vec.h"
#include "stream/filter_parts.h"

#define NAMED 8 /* of what there is */

static const char *const options[CHOICES] = {
	[CHOICE_DOMAIN] = "--domain",   [CHOICE_OP] = "--include",
	[CHOICE_KERNEL] = "--kernel",   [CHOICE_EXECUTION] = "--kernel",
	[CHOICE_PROCESS] = "--process", [CHOICE_THREAD] = "--thread",
	[CHOICE_RANK] = "--rank",       [CHOICE_NODE] = "--node",
	[CHOICE_DEVICE] = "--device",   [CHOICE_QUEUE] = "--queue",
	[CHOICE_RANGE] = "--range",     [CHOICE_DURING] = "--during",
	[CHOICE_SITE] = "--site",       [CHOICE_MEMORY] = "--memory",
	[CHOICE_AFTER] = "--after",     [CHOICE_BEFORE] = "--before",
};

static const char *text_of(const struct stream_filter *f, enum choice c)
{
	const char *const texts[CHOICES] = {
		[CHOICE_DOMAIN] = f->spec.domains,    [CHOICE_OP] = f->spec.ops,
		[CHOICE_KERNEL] = f->spec.kernels,    [CHOICE_EXECUTION] = f->spec.kernels,
		[CHOICE_PROCESS] = f->spec.processes, [CHOICE_THREAD] = f->spec.threads,
		[CHOICE_RANK] = f->spec.ranks,        [CHOICE_NODE] = f->spec.nodes,
		[CHOICE_DEVICE] = f->spec.devices,    [CHOICE_QUEUE] = f->spec.queues,
		[CHOICE_RANGE] = f->spec.ranges,      [CHOICE_DURING] = f->spec.during,
		[CHOICE_SITE] = f->spec.sites,        [CHOICE_MEMORY] = f->spec.memory,
		[CHOICE_AFTER] = f->spec.after,       [CHOICE_BEFORE] = f->spec.before,
	};

	return texts[c] ? texts[c] : "";
}

bool names_add(struct names_list *l, const char *name)
{
	if (!vec_reserve(&l->at, &l->room, l->count, 1))
		return false;
	l->at[l->count++] = name;
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void drop_doubles(struct names_list *l)
{
	uint32_t kept = 0;

	if (l->count)
		qsort(l->at, l->count, sizeof(*l->at), by_text);
	for (uint32_t i = 0; i < l->count; i++)
		if (*l->at[i] && (!kept || strcmp(l->at[kept - 1], l->at[i]) != 0))
			l->at[kept++] = l->at[i];
	l->count = kept;
}

/* Names that are long are compared by how they begin: what is near is seen there. */
static unsigned distance(const char *word, const char *name)
{
	char a[48], b[48];

	if (strstr(name, word))
		return 0;
	snprintf(a, sizeof(a), "%.47s", word);
	snprintf(b, sizeof(b), "%.47s", name);
	return text_distance(a, b);
}

/* The place from `from` on of the name that is nearest. */
static uint32_t nearest(const struct names_list *l, uint32_t from, const char *word)
{
	uint32_t best = from;
	unsigned least = UINT32_MAX;

	for (uint32_t i = from; i < l->count && i < 2000; i++) {
		unsigned d = distance(word, l->at[i]);

		if (d < least) {
			least = d;
			best = i;
		}
	}
	return best;
}

static char *list_names(struct names_list *l, const char *word)
{
	struct text out = {0};

	drop_doubles(l);
	for (uint32_t i = 0; i < l->count && i < NAMED; i++) {
		uint32_t k = nearest(l, i, word);
		const char *name = l->at[k];

		l->at[k] = l->at[i];
		l->at[i] = name;
		text_addf(&out, "%s\"%.80s\"%s", i ? ", " : "", name,
			  strlen(name) > 80 ? "..." : "");
	}
	if (l->count > NAMED)
		text_addf(&out, " and %u more", l->count - NAMED);
	return out.s ? out.s : strdup("none");
}

/* ---- lists ------------------------------------------------------------------------------------- */

bool filter_members(struct filter_binding *b, enum choice c,
		    size_t (*there)(const struct filter_binding *b, const char *s, unsigned k))
{
	struct stream_filter *f = b->filter;
	const char *s = text_of(f, c);
	size_t n, known = 0;
	bool all = true;

	if (!f->members[c])
		f->members[c] = calloc(strlen(s) + 1, sizeof(bool)); /* there are fewer */
	f->here[c] = false;
	for (unsigned k = 0; f->members[c] && *s; s += n + (s[n] == ','), k += n != 0) {
		n = strcspn(s, ",");
		if (n && !known)
			known = there(b, s, k);
		f->members[c][k] |= known != 0;
		f->here[c] |= known != 0;
		all &= !n || f->members[c][k];
		known = known > n ? known - n - 1 : 0;
	}
	return f->members[c] && all;
}

/* The first one of the list that no trace has had; false: there is none. */
static bool missing_member(const struct stream_filter *f, enum choice c, char word[64])
{
	const char *s = text_of(f, c);
	size_t n;

	for (unsigned k = 0; f->members[c] && *s; s += n + (s[n] == ','), k += n != 0) {
		n = strcspn(s, ",");
		if (n && !f->members[c][k]) {
			snprintf(word, 64, "%.*s", (int)n, s);
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------ */

static void tell(const struct stream_filter *f, enum choice c, const char *path, const char *why)
{
	char word[64] = "", missing[96] = "";
	struct text text = {0};

	if (missing_member(f, c, word))
		snprintf(missing, sizeof(missing), "it has no %s \"%s\"; ", options[c] + 2, word);
	patterns_show(&text, text_of(f, c));
	stream_error(f->log, "%s: no records that match %s %s: %s%s", path, options[c],
		     text.s ? text.s : "", missing, why);
	text_release(&text);
}

kymo_status_t filter_choose(struct filter_binding *b, enum choice c, bool found, const char *what,
			    struct names_list *has)
{
	struct stream_filter *f = b->filter;
	struct text why = {0};
	char *names, word[64];

	f->found[c] |= found;
	if (found) {
		if (has)
			free(has->at);
		return KYMO_OK;
	}
	b->nothing |= !f->here[c]; /* it may have others of a list */
	names = has->at ? list_names(has, missing_member(f, c, word) ? word : text_of(f, c)) : NULL;
	text_addf(&why, "%s%s%s", what, names ? ": " : "", names ? names : "");
	free(names);
	free(has->at);
	if (f->traces <= 1)
		tell(f, c, b->trace->path, why.s ? why.s : "");
	else if (!f->has[c] && why.s)
		f->has[c] = strdup(why.s);
	text_release(&why);
	return f->traces <= 1 ? KYMO_ERROR_INVALID_ARGUMENT : KYMO_OK;
}

kymo_status_t stream_filter_finish(struct stream_filter *f)
{
	kymo_status_t status = KYMO_OK;

	for (unsigned c = 0; f && f->traces > 1 && c < CHOICES; c++) {
		if (f->found[c] || !f->has[c])
			continue;
		tell(f, (enum choice)c, "all traces", f->has[c]);
		status = KYMO_ERROR_INVALID_ARGUMENT;
	}
	return status;
}

/* ---- in words ------------------------------------------------------------------------------ */

static void add_option(struct text *out, const char *option, const char *value)
{
	struct text shown = {0};

	if (!value)
		return;
	patterns_show(&shown, value);
	text_addf(out, "%s%s ", out->length ? " " : "", option);
	text_add_shell(out, shown.s ? shown.s : "");
	text_release(&shown);
}

char *stream_filter_text(const struct stream_filter *f)
{
	const struct stream_filter_spec *s = &f->spec;
	struct text out = {0};
	char least[32];

	add_option(&out, "--domain", s->domains);
	add_option(&out, "--exclude", s->exclude);
	add_option(&out, "--exclude-kernel", s->no_kernels);
	for (unsigned c = CHOICE_DOMAIN + 1; c < CHOICES; c++)
		if (c != CHOICE_EXECUTION && *text_of(f, (enum choice)c))
			add_option(&out, options[c], text_of(f, (enum choice)c));
	if (s->min_duration) {
		snprintf(least, sizeof(least), "%" PRId64 "ns", s->min_duration);
		add_option(&out, "--min-duration", least);
	}
	if (s->inside)
		text_add(&out, " --inside");
	if (!out.failed)
		return out.s ? out.s : strdup("");
	text_release(&out);
	return NULL;
}

bool stream_filter_only_when(const struct stream_filter *f)
{
	const struct stream_filter_spec *s = &f->spec;

	return !s->domains && !s->ops && !s->exclude && !s->kernels && !s->no_kernels &&
	       !s->threads && !s->devices && !s->queues && !s->ranges && !s->during && !s->sites &&
	       !s->memory && !s->min_duration && !s->inside;
}

bool stream_filter_reads_fields(const struct stream_filter *f)
{
	return f->spec.memory;
}

bool stream_filter_in_part(const struct stream_filter *f)
{
	const struct stream_filter_spec *s = &f->spec;

	return s->domains || s->ops || s->exclude || s->kernels || s->no_kernels || s->threads ||
	       s->queues || s->ranges || s->during || s->sites || s->memory || s->after ||
	       s->before || s->has_from || s->has_to || s->min_duration;
}
