/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo run --handlers`, `--lanes`: what they name is there, and is handed on so that it is found wherever the program goes. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "handlers/handlers.h"

#define PROFILE_MOST (64u << 10)

/* ---- lanes ------------------------------------------------------------------------------------- */

static bool lanes_wanted(const struct run_options *o)
{
	return o->lanes && strcmp(o->lanes, "off") != 0;
}

/* A file becomes its lines. */
static bool lanes_check(struct run_options *o)
{
	kymo_lanes_profile_t p;
	char why[160], *text;
	bool good;

	if (!lanes_wanted(o))
		return true;
	if (strcmp(o->lanes, "32") == 0 || strcmp(o->lanes, "64") == 0)
		return true;
	text = strchr(o->lanes, '=') ? strdup(o->lanes) : file_read_limited(o->lanes, PROFILE_MOST);
	if (!text) {
		cli_error("--lanes is 32, 64 or a file (kymo list lanes); %s: %s", o->lanes,
			  strerror(errno));
		return false;
	}
	good = lanes_profile_parse(text, &p, why, sizeof(why));
	free(text);
	if (!good) {
		cli_error("--lanes %s: %s", o->lanes, why);
		return false;
	}
	text = malloc(LANES_TEXT);
	if (text)
		lanes_profile_text(&p, "=", ";", text);
	o->lanes = text; /* kept */
	return text != NULL;
}

/* ---- handlers ---------------------------------------------------------------------------------- */

/* Kymo's own say what they think of their options. */
static bool own_check(const kymo_handler_t *h, const struct handlers_spec *s)
{
	const kymo_handler_options_t options = {
		.size = sizeof(options), .count = s->count, .keys = s->keys, .values = s->values};
	const kymo_handler_launch_t launch = {
		.size = sizeof(launch), .kernel = "", .group = 1, .profile = *lanes_profile_of(32)};
	char why[200] = "";
	void *state;

	if (h->init(&options, &launch, &state, why, sizeof(why)) == KYMO_OK) {
		h->finish(state);
		return true;
	}
	cli_error("--handlers %s: %s", s->name, *why ? why : "there is no memory");
	return false;
}

static bool in_folder(const char *folder, size_t n, const char *name)
{
	char path[PATH_MAX];
	int length =
		snprintf(path, sizeof(path), "%.*s/libkymo-handler-%s.so", (int)n, folder, name);

	return length > 0 && (size_t)length < sizeof(path) && access(path, F_OK) == 0;
}

static bool library_check(const struct handlers_spec *s)
{
	const char *at = getenv("KYMO_HANDLER_PATH"), *folder = cli_libdir();
	bool found = folder && in_folder(folder, strlen(folder), s->name);

	while (at && *at && !found) {
		const size_t n = strcspn(at, ":");

		found = n && in_folder(at, n, s->name);
		at += n + (at[n] == ':');
	}
	if (!found)
		cli_error(
			"--handlers %s: Kymo has none of this name (kymo list handlers), and "
			"libkymo-handler-%s.so is neither in a folder of KYMO_HANDLER_PATH nor in "
			"%s",
			s->name, s->name, folder ? folder : "Kymo's");
	return found;
}

static void add_spec(struct text *out, const struct handlers_spec *s, const char *name)
{
	text_addf(out, "%s%s", out->length ? "," : "", name);
	for (uint32_t i = 0; i < s->count; i++)
		text_addf(out, ":%s%s%s", s->keys[i], *s->values[i] ? "=" : "", s->values[i]);
}

static bool spec_check(const struct handlers_spec *s, struct text *out)
{
	const kymo_handler_t *own = s->path ? NULL : handlers_find(s->name);
	char path[PATH_MAX];

	if (s->path && (!realpath(s->name, path) || path[strcspn(path, ",:")])) {
		cli_error("--handlers %s: %s", s->name,
			  access(s->name, F_OK) == 0 ? "its path may have no ',' and no ':'"
						     : strerror(errno));
		return false;
	}
	if (own ? !own_check(own, s) : !s->path && !library_check(s))
		return false;
	add_spec(out, s, s->path ? path : s->name);
	return true;
}

/* Rows of two would be one table. */
static bool named_before(const struct text *list, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = list->s; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, name, n) == 0 && strchr(",:", at[n]))
			return true;
	return false;
}

static bool handlers_check(struct run_options *o)
{
	const char *at = o->handlers;
	struct handlers_spec s;
	struct text out = {0};
	uint32_t count = 0;
	char why[160];
	bool good = !at || *at;

	if (!good)
		cli_error("--handlers is empty; kymo list handlers has names");
	while (good && at && *at) {
		if (!handlers_spec_next(&at, &s, why, sizeof(why))) {
			cli_error("--handlers: %s", why);
			good = false;
			break;
		}
		good = !named_before(&out, s.name) && ++count <= HANDLERS_MOST;
		if (!good)
			cli_error(count > HANDLERS_MOST ? "--handlers: %s is one too many"
							: "--handlers names %s twice",
				  s.name);
		good = good && spec_check(&s, &out);
		handlers_spec_release(&s);
	}
	if (good && out.length && !out.failed) {
		o->handlers = out.s; /* kept */
		return true;
	}
	text_release(&out);
	return good;
}

bool instrumenting_check(struct run_options *o)
{
	if (!handlers_check(o))
		return false;
	if ((o->handlers || lanes_wanted(o)) && !o->instrument_kernels)
		o->instrument_kernels = ".";
	return lanes_check(o);
}
