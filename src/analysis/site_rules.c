/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the rules of a site; see site_rules.h. */
#include "analysis/site_rules.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"

enum { MOST_BYTES = 64 << 10 };

/* ---- the head of a file ------------------------------------------------------------------------- */

struct head {
	const char *id, *what, *threshold, *why, *cost, *text, *try;
	uint32_t threshold_line, text_line, id_line;
};

static const char **member(struct head *h, const char *key)
{
	const struct {
		const char *name, **value;
	} keys[] = {{"id", &h->id},   {"what", &h->what}, {"threshold", &h->threshold},
		    {"why", &h->why}, {"cost", &h->cost}, {"text", &h->text},
		    {"try", &h->try}};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(keys[i].name, key) == 0)
			return keys[i].value;
	return NULL;
}

/* "-- key: value", or NULL: another comment. Cuts the line. */
static char *key_of(char *line, char **value)
{
	char *key = line + 2 + strspn(line + 2, " \t"), *end = key;
	size_t n;

	while (islower((unsigned char)*end))
		end++;
	if (end == key || *end != ':')
		return NULL;
	*end++ = '\0';
	*value = end + strspn(end, " \t");
	for (n = strlen(*value); n && isspace((unsigned char)(*value)[n - 1]); n--)
		(*value)[n - 1] = '\0';
	return key;
}

static bool take_line(struct head *h, const char *path, uint32_t number, char *line,
		      struct stream_log *log)
{
	char *value = NULL, *key = key_of(line, &value);
	const char **to = key ? member(h, key) : NULL;

	if (!key)
		return true;
	if (!to) {
		stream_error(log,
			     "%s:%u: there is no \"%s\" of a rule: id, what, threshold, why, cost, "
			     "text, try",
			     path, number, key);
		return false;
	}
	if (*to || !*value) {
		stream_error(log, "%s:%u: \"%s\" %s", path, number, key,
			     *to ? "is there twice" : "has no value");
		return false;
	}
	*to = value;
	if (to == &h->id)
		h->id_line = number;
	else if (to == &h->text)
		h->text_line = number;
	else if (to == &h->threshold)
		h->threshold_line = number;
	return true;
}

/* Lines of comments, and empty ones, until the query begins. *lines: how many. */
static bool read_head(struct head *h, const char *path, char *at, uint32_t *lines,
		      struct stream_log *log)
{
	*lines = 0;
	while (*at) {
		char *end = at + strcspn(at, "\n"), *next = *end ? end + 1 : end;

		*end = '\0';
		if (strncmp(at, "--", 2) != 0 && at[strspn(at, " \t\r")])
			return true;
		++*lines;
		if (strncmp(at, "--", 2) == 0 && !take_line(h, path, *lines, at, log))
			return false;
		at = next;
	}
	stream_error(log, "%s:%u: there is no query after the comments", path, *lines ? *lines : 1);
	return false;
}

/* ---- what has to be in it ------------------------------------------------------------------------ */

static bool is_id(const char *id)
{
	return strlen(id) <= 60 && id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static bool taken(const struct site_rules *r, const char *id)
{
	for (uint32_t i = 0; i < rules_count; i++)
		if (strcmp(rules[i]->id, id) == 0)
			return true;
	for (uint32_t i = 0; i < r->count; i++)
		if (strcmp(r->at[i]->rule.id, id) == 0)
			return true;
	return strcmp(id, "any") == 0; /* all of them, for --fail-on */
}

/* "5 %". */
static bool share_of(const char *text, double *share)
{
	char *end;

	*share = strtod(text, &end) / 100;
	if (end == text || !(*share >= 0) || *share > 1)
		return false;
	end += strspn(end, " ");
	return strcmp(end, "%") == 0;
}

static bool check(const struct site_rules *r, const struct head *h, const char *path,
		  uint32_t lines, double *share, struct stream_log *log)
{
	const struct {
		const char *name, *value;
	} needed[] = {{"id", h->id}, {"what", h->what}, {"why", h->why}, {"text", h->text}};

	for (unsigned i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!needed[i].value) {
			stream_error(log,
				     "%s:%u: the comments before the query have no \"-- %s: ...\"",
				     path, lines ? lines : 1, needed[i].name);
			return false;
		}
	if (!is_id(h->id) || taken(r, h->id)) {
		stream_error(log, "%s:%u: %s", path, h->id_line,
			     is_id(h->id) ? "another rule has this id"
					  : "an id has small letters, digits and \"-\"");
		return false;
	}
	*share = 0;
	if (h->threshold && !share_of(h->threshold, share)) {
		stream_error(log, "%s:%u: a threshold is a share of the run, such as \"5 %%\"",
			     path, h->threshold_line);
		return false;
	}
	return true;
}

/* ---- files --------------------------------------------------------------------------------------- */

static void rule_free(struct site_rule *s)
{
	free(s->path);
	free(s->sql);
	free(s->head);
	free(s);
}

static bool keep(struct site_rules *r, struct site_rule *s, const struct head *h, double share)
{
	s->rule = (struct rule){.id = h->id,
				.what = h->what,
				.threshold = share,
				.why = h->why,
				.cost = h->cost ? h->cost : "as its query reckons it"};
	s->text = h->text;
	s->text_line = h->text_line;
	s->advice = h->try;
	if (!vec_reserve(&r->at, &r->room, r->count, 1)) {
		rule_free(s);
		return false;
	}
	r->at[r->count++] = s;
	return true;
}

/* False: no memory. A rule with a mistake is left out. */
static bool read_file(struct site_rules *r, const char *path, struct stream_log *log)
{
	struct site_rule *s = calloc(1, sizeof(*s));
	struct head h = {0};
	uint32_t lines;
	double share;

	if (!s)
		return false;
	s->sql = file_read_limited(path, MOST_BYTES);
	if (!s->sql) {
		stream_error(log, "%s: %s", path, strerror(errno));
		rule_free(s);
		return true;
	}
	s->path = strdup(path);
	s->head = strdup(s->sql);
	if (!s->path || !s->head) {
		rule_free(s);
		return false;
	}
	if (read_head(&h, path, s->head, &lines, log) && check(r, &h, path, lines, &share, log))
		return keep(r, s, &h, share);
	rule_free(s);
	return true;
}

static int is_query(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 4 && e->d_name[0] != '.' && strcmp(e->d_name + n - 4, ".sql") == 0;
}

bool site_rules_read(struct site_rules *r, const char *folder, bool named, struct stream_log *log)
{
	struct dirent **list = NULL;
	int n = scandir(folder, &list, is_query, alphasort);
	bool ok = true;

	*r = (struct site_rules){0};
	if (n < 0 && (named || errno != ENOENT)) {
		stream_error(log, "%s: %s", folder, strerror(errno));
		return !named;
	}
	for (int i = 0; i < n; i++) {
		struct text path = {0};

		text_addf(&path, "%s/%s", folder, list[i]->d_name);
		ok = ok && !path.failed && read_file(r, path.s, log);
		text_release(&path);
		free(list[i]);
	}
	free(list);
	if (!ok)
		site_rules_release(r);
	return ok;
}

void site_rules_release(struct site_rules *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		rule_free(r->at[i]);
	free(r->at);
	*r = (struct site_rules){0};
}
