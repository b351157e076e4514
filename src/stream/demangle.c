/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C++ library knows how names are made; it is opened when the first one is met, so that nothing
 * else needs it. Without it names stay as they are in the program.
 */
#include "stream/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static bool never;
static char *(*known)(const char *symbol, char *out, size_t *size, int *status);

static void find_demangler(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;

	memcpy(&known, &symbol, sizeof(known));
}

void demangle_never(void)
{
	never = true;
}

bool demangle_is_off(void)
{
	return never;
}

char *demangle(const char *symbol)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int status = 0;

	if (never || strncmp(symbol, "_Z", 2) != 0)
		return NULL;
	pthread_once(&once, find_demangler);
	return known ? known(symbol, NULL, NULL, &status) : NULL;
}

/* ---- shorter names ----------------------------------------------------------------------------- */

static const char unnamed[] = "(anonymous namespace)", calling[] = "operator()";

static bool begins_with(const char *s, const char *word)
{
	return strncmp(s, word, strlen(word)) == 0;
}

/* Operators have brackets in their names; only that of calls has a pair. */
static bool is_plain(const char *name)
{
	for (const char *s = name; (s = strstr(s, "operator")); s += sizeof(calling) - 1)
		if (!begins_with(s, calling))
			return false;
	return strpbrk(name, "<(") != NULL;
}

/* The bracket that closes the one at `s`; its end if none does. */
static const char *closing(const char *s)
{
	unsigned depth = 0;

	for (; *s; s++) {
		if (*s == '<' || *s == '(')
			depth++;
		else if ((*s == '>' && s[-1] != '-') || *s == ')')
			depth--;
		if (!depth)
			return s;
	}
	return s;
}

/* "{lambda(int)#1}": behind what is in braces; its end if they are not closed. */
static const char *behind_braces(const char *s)
{
	unsigned depth = 0;

	for (; *s; s++) {
		depth += *s == '{';
		if (*s == '}' && !--depth)
			return s + 1;
	}
	return s;
}

/* Arguments of a template, without what is in brackets in them. */
static const char *add_arguments(struct text *out, const char *s)
{
	const char *end = closing(s);

	for (; s < end; s++) {
		text_add_bytes(out, s, 1);
		while (s[1] == '<' || s[1] == '(') {
			const char *inner = closing(s + 1);

			if (!*inner)
				break;
			text_add(out, begins_with(s + 1, unnamed) ? unnamed
				      : s[1] == '<'               ? "<...>"
								  : "(...)");
			s = inner;
		}
	}
	return end;
}

/*
 * Where the name begins behind the type of its result: after the last blank outside of brackets before
 * the parameters.
 */
static const char *without_result(const char *name)
{
	const char *begin = name;

	for (const char *s = name; *s; s++) {
		if (begins_with(s, calling))
			s += sizeof(calling) - 2;
		else if (*s == '{')
			s = behind_braces(s) - 1;
		else if (begins_with(s, "decltype(") || begins_with(s, "decltype ("))
			s = closing(strchr(s, '('));
		else if (*s == '(' && !begins_with(s, unnamed))
			break;
		else if (*s == '(' || *s == '<')
			s = closing(s);
		else if (*s == ' ')
			begin = s + 1;
		if (!*s)
			break;
	}
	return begin;
}

bool name_shorten(struct text *out, const char *name)
{
	size_t before = out->length;
	const char *s = without_result(name);

	if (!is_plain(name)) {
		text_add(out, name);
		return false;
	}
	while (*s && (*s != '(' || begins_with(s, unnamed))) {
		if (begins_with(s, unnamed)) {
			text_add(out, unnamed);
			s += sizeof(unnamed) - 1;
		} else if (begins_with(s, calling)) {
			text_add(out, calling);
			s += sizeof(calling) - 1;
		} else if (*s == '{') {
			const char *end = behind_braces(s);

			text_add_bytes(out, s, (size_t)(end - s));
			s = end;
		} else if (*s == '<' && *closing(s)) {
			s = add_arguments(out, s);
		} else {
			text_add_bytes(out, s++, 1);
		}
	}
	if (out->length == before) { /* "decltype (a + b) f<int>(int)": its result has brackets */
		text_add(out, name);
		return false;
	}
	return !out->s || strcmp(out->s + before, name) != 0;
}
