/* SPDX-License-Identifier: Apache-2.0 */
/* What a process was told to leave out; its environment says so. */
#include <stdlib.h>
#include <string.h>

#include "base/patterns.h"
#include "base/text.h"
#include "formats/raw/internal.h"

static const struct filter_option {
	const char *variable, *option;
	bool partial; /* see t_process */
} filter_options[] = {
	{"KYMO_BACKENDS=", "-b", false},
	{"KYMO_INCLUDE=", "-i", true},
	{"KYMO_EXCLUDE=", "-x", true},
	{"KYMO_RANK=", "--rank", false},
	{"KYMO_KERNEL=", "-k", true},
	{"KYMO_DEVICE=", "--device", true},
	{"KYMO_RANGE=", "--range", true},
	{"KYMO_DURING=", "--during", false},
	{"KYMO_PERIOD=", "--period", false},
	{"KYMO_EXCLUDE_KERNEL=", "--exclude-kernel", true},
	{"KYMO_ANNOTATIONS=", "--annotations", false},
	{"KYMO_EXCLUDE_ANNOTATIONS=", "--exclude-annotations", false},
};

/* Patterns that leave nothing out; given to have the chattiest calls as well. */
static bool matches_all(const char *pattern)
{
	return strcmp(pattern, ".") == 0 || strcmp(pattern, ".*") == 0;
}

static const char *filter_value(const struct filter_option *f, const char *word)
{
	size_t n = strlen(f->variable);
	const char *value = strncmp(word, f->variable, n) == 0 ? word + n : "";

	if (strcmp(f->option, "-b") == 0 && strcmp(value, "all") == 0)
		return "";
	return value;
}

const char *raw_filters(struct trace *t, const struct wire_def *d, bool *partial)
{
	struct text out = {0};
	const char *result = "";
	size_t length;
	const char *s = wire_def_text(d, DEF_PROCESS_ENVIRONMENT, &length), *end = s + length;

	for (; s < end; s += strnlen(s, (size_t)(end - s)) + 1) {
		char *word = strndup(s, (size_t)(end - s));

		for (size_t i = 0; word && i < sizeof(filter_options) / sizeof(filter_options[0]);
		     i++) {
			const char *value = filter_value(&filter_options[i], word);

			if (!*value)
				continue;
			*partial |= filter_options[i].partial &&
				    !(strcmp(filter_options[i].option, "-i") == 0 &&
				      matches_all(value));
			text_addf(&out, "%s%s '", out.length ? " " : "", filter_options[i].option);
			patterns_show(&out, value);
			text_add(&out, "'");
		}
		free(word);
	}
	if (out.s && !out.failed)
		result = trace_string(t, out.s, out.length);
	text_release(&out);
	return result;
}
