/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers as users name them, with their options; see handlers.h. */
#include "handlers/handlers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define KEY_CHARACTERS  "abcdefghijklmnopqrstuvwxyz0123456789_"

/* ---- names and options ---- */

/* Cuts the options off. */
static bool take_options(struct handlers_spec *s, char *at, char *why, size_t size)
{
	while (at) {
		char *next = strchr(at, ':'), *value;

		if (next)
			*next++ = '\0';
		value = strchr(at, '=');
		if (value)
			*value++ = '\0';
		if (!*at || at[strspn(at, KEY_CHARACTERS)]) {
			snprintf(why, size, "\"%s\" is no name of an option of %s", at, s->name);
			return false;
		}
		if (s->count == HANDLERS_KEYS) {
			snprintf(why, size, "%s has more than %u options", s->name, HANDLERS_KEYS);
			return false;
		}
		s->keys[s->count] = at;
		s->values[s->count++] = value ? value : "";
		at = next;
	}
	return true;
}

static bool take_name(struct handlers_spec *s, char *why, size_t size)
{
	char *options = strchr(s->text, ':');

	if (options)
		*options++ = '\0';
	s->name = s->text;
	s->path = strchr(s->name, '/') != NULL;
	if (!*s->name || (!s->path && s->name[strspn(s->name, NAME_CHARACTERS)])) {
		snprintf(why, size, "\"%s\" is no name of a handler", s->name);
		return false;
	}
	return take_options(s, options, why, size);
}

bool handlers_spec_next(const char **list, struct handlers_spec *out, char *why, size_t size)
{
	size_t n = strcspn(*list, ",");

	*out = (struct handlers_spec){.name = ""};
	if (!**list)
		return true;
	out->text = strndup(*list, n);
	*list += n;
	if (**list == ',' && !*++*list) {
		snprintf(why, size, "a name is missing behind the last comma");
	} else if (!out->text) {
		snprintf(why, size, "there is no memory");
	} else if (take_name(out, why, size)) {
		return true;
	}
	handlers_spec_release(out);
	return false;
}

void handlers_spec_release(struct handlers_spec *s)
{
	free(s->text);
	*s = (struct handlers_spec){.name = ""};
}

/* ---- for handlers ---- */

static bool has_word(const char *words, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

bool handlers_options_known(const kymo_handler_options_t *o, const char *known, char *why,
			    size_t size)
{
	for (uint32_t i = 0; i < o->count; i++) {
		if (!has_word(known, o->keys[i])) {
			snprintf(why, size, "it has no option \"%s\"%s%s", o->keys[i],
				 *known ? "; it has: " : "", known);
			return false;
		}
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(o->keys[i], o->keys[k]) == 0) {
				snprintf(why, size, "%s is given twice", o->keys[i]);
				return false;
			}
	}
	return true;
}

static unsigned shift_of(char unit)
{
	return toupper((unsigned char)unit) == 'K'   ? 10
	       : toupper((unsigned char)unit) == 'M' ? 20
	       : toupper((unsigned char)unit) == 'G' ? 30
						     : 0;
}

static bool number(const char *text, uint64_t *out)
{
	const size_t digits = strspn(text, "0123456789");
	const unsigned shift = digits ? shift_of(text[digits]) : 0;

	if (!digits || digits > 18 || (text[digits] && (!shift || text[digits + 1])))
		return false;
	*out = strtoull(text, NULL, 10) << shift;
	return *out >> shift == strtoull(text, NULL, 10);
}

bool handlers_option_number(const kymo_handler_options_t *o, const char *key, uint64_t least,
			    uint64_t otherwise, uint64_t *out, char *why, size_t size)
{
	*out = otherwise;
	for (uint32_t i = 0; i < o->count; i++) {
		if (strcmp(o->keys[i], key) != 0)
			continue;
		if (number(o->values[i], out) && *out >= least)
			continue;
		snprintf(why, size,
			 "%s=%s: a whole number from %llu on is meant (K, M, G may follow)", key,
			 o->values[i], (unsigned long long)least);
		return false;
	}
	return true;
}
