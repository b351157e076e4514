/* SPDX-License-Identifier: Apache-2.0 */
/* Keys in the name of a trace; see trace_keys.h. */
#include "cli/trace_keys.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/plain.h"
#include "base/run_options.h"

/* ---- values ------------------------------------------------------------------------------------ */

#define VALUE(key)                                                                                 \
	static bool value_##key(struct text *out, const struct trace_keys_of *of,                  \
				const char *argument, struct text *error)

VALUE(host)
{
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	text_add(out, name);
	return true;
}

VALUE(pid)
{
	text_addf(out, "%d", (int)getpid());
	return true;
}

VALUE(ppid)
{
	text_addf(out, "%d", (int)getppid());
	return true;
}

VALUE(pgid)
{
	text_addf(out, "%d", (int)getpgrp());
	return true;
}

VALUE(psid)
{
	text_addf(out, "%d", (int)getsid(0));
	return true;
}

VALUE(rank)
{
	text_addf(out, "%u", of->job->rank == JOB_UNKNOWN ? 0 : of->job->rank);
	return true;
}

VALUE(size)
{
	text_addf(out, "%u", of->job->size ? of->job->size : 1);
	return true;
}

VALUE(job)
{
	text_add(out, of->job->id[0] ? of->job->id : "0");
	return true;
}

static bool add_time(struct text *out, const char *form, struct text *error)
{
	time_t now = time(NULL);
	char text[256];
	struct tm tm;

	localtime_r(&now, &tm);
	if (strftime(text, sizeof(text), form, &tm) == 0) {
		text_addf(error, "\"%s\" is no form of a time that strftime() knows", form);
		return false;
	}
	text_add(out, text);
	return true;
}

VALUE(date)
{
	return add_time(out, *argument ? argument : "%Y%m%d", error);
}

VALUE(time)
{
	return add_time(out, *argument ? argument : "%H%M%S", error);
}

VALUE(program)
{
	const char *slash = strrchr(of->argv[0], '/');

	text_add(out, slash ? slash + 1 : of->argv[0]);
	return true;
}

static void add_words(struct text *out, char *const *words)
{
	for (; *words; words++)
		text_addf(out, "%s%s", *words, words[1] ? " " : "");
}

VALUE(args)
{
	add_words(out, of->argv + 1);
	return true;
}

VALUE(argv)
{
	value_program(out, of, argument, error);
	text_add(out, of->argv[1] ? " " : "");
	add_words(out, of->argv + 1);
	return true;
}

VALUE(arg)
{
	char *end;
	unsigned long number = strtoul(argument, &end, 10), count = 0;

	while (of->argv[count])
		count++;
	if (!*argument || *end || *argument < '0' || *argument > '9') {
		text_addf(error, "%%arg%s%%: a number belongs behind arg, as in %%arg1%%",
			  argument);
		return false;
	}
	if (number >= count) {
		text_addf(error, "%%arg%s%%: the program has %lu argument%s", argument, count - 1,
			  count == 2 ? "" : "s");
		return false;
	}
	if (number == 0)
		return value_program(out, of, argument, error);
	text_add(out, of->argv[number]);
	return true;
}

VALUE(config_job)
{
	const char *name = run_options_values.config_job;

	text_add(out, name ? name : "0");
	return true;
}

VALUE(env)
{
	const char *value = getenv(argument);

	if (!*argument)
		text_add(error, "%env{NAME}%: the name of a variable belongs in the braces");
	else if (!value)
		text_addf(error, "%%env{%s}%%: the variable is not set", argument);
	text_add(out, value ? value : "");
	return value != NULL;
}

const struct trace_key trace_keys[] = {
	{"program", "%program%", "The program's name, without folders", false, value_program, NULL,
	 false},
	{"tag", "%tag%", "The same", false, value_program, NULL, false},
	{"args", "%args%", "The program's arguments", false, value_args, NULL, false},
	{"argv", "%argv%", "The program's name and its arguments", false, value_argv, NULL, false},
	{"arg", "%argN%", "Argument N; 0 is the program's name", false, value_arg, "0", false},
	{"job", "%job%", "The id of the parallel job, 0 outside of one", false, value_job, NULL,
	 false},
	{"config_job", "%config_job%", "The job of the configuration file, 0 without", false,
	 value_config_job, NULL, false},
	{"size", "%size%", "How many ranks the job has, 1 outside of one", false, value_size, NULL,
	 false},
	{"env", "%env{NAME}%", "A variable of the environment, which has to be set", false,
	 value_env, "HOME", true},
	{"date", "%date%", "The date; %date{FORM}%: in a form of strftime()", true, value_date,
	 NULL, true},
	{"time", "%time%", "The time; %time{FORM}%: in a form of strftime()", true, value_time,
	 NULL, true},
	{"host", "%host%", "The host's name", true, value_host, NULL, false},
	{"hostname", "%hostname%", "The same", true, value_host, NULL, false},
	{"pid", "%pid%", "The id of the process of kymo run", true, value_pid, NULL, false},
	{"ppid", "%ppid%", "Of that which started it", true, value_ppid, NULL, false},
	{"pgid", "%pgid%", "Of its group of processes", true, value_pgid, NULL, false},
	{"psid", "%psid%", "Of its session", true, value_psid, NULL, false},
	{"rank", "%rank%", "The rank, 0 outside of a parallel job", true, value_rank, NULL, false},
};
const size_t trace_keys_count = sizeof(trace_keys) / sizeof(trace_keys[0]);

/* ---- names ------------------------------------------------------------------------------------- */

static const struct trace_key *find_key(const char *name)
{
	for (size_t i = 0; i < trace_keys_count; i++)
		if (strcmp(trace_keys[i].name, name) == 0)
			return &trace_keys[i];
	return NULL;
}

/* What is harmless in a name stays: a value is nobody's but the program's, the job's, the host's. */
static void add_safe(struct text *out, const struct text *value)
{
	const char *s = value->s ? value->s : "";
	size_t left = value->length;

	for (bool first = true; left; first = false) {
		uint32_t code;
		size_t n = plain_next(s, left, &code);
		bool letter = code < 0x80 && code &&
			      strchr("0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ._+=,@:-",
				     (int)code);

		if ((code >= 0x80 && !plain_hidden(code)) ||
		    (letter && !(first && (code == '.' || code == '-'))))
			text_add_bytes(out, s, n);
		else
			text_add(out, "_");
		s += n;
		left -= n;
	}
}

static bool unknown_key(const char *name, struct text *error)
{
	const char *guess = NULL;
	unsigned best = UINT_MAX;

	text_addf(error, "there is no key %%%s%%", name);
	for (size_t i = 0; i < trace_keys_count; i++)
		if (text_nearer(name, trace_keys[i].name, &best))
			guess = trace_keys[i].shown;
	if (guess)
		text_addf(error, " (did you mean %s?)", guess);
	text_add(error, ": there are");
	for (size_t i = 0; i < trace_keys_count; i++)
		text_addf(error, "%s %s", i ? "," : "", trace_keys[i].shown);
	text_add(error, ", and %% for one per cent sign");
	return false;
}

static bool add_value(const struct trace_keys_of *of, const struct trace_key *key,
		      const char *argument, struct text *out, struct text *error)
{
	struct text value = {0};
	bool ok;

	if (key->varies && !of->around && of->job->id[0] && of->job->size != 1) {
		text_addf(error,
			  "%s differs from rank to rank, and the ranks of a job make one trace: "
			  "each has to come to the same name. %%job%%, %%size%%, %%program%% and "
			  "%%env{NAME}%% can be had",
			  key->shown);
		return false;
	}
	ok = key->value(&value, of, argument, error);
	if (ok)
		add_safe(out, &value);
	text_release(&value);
	return ok;
}

/* "arg3" is the key "arg" with a number, "env{HOME}" the key "env" with a name. */
static void cut_key(const char *key, size_t n, size_t braces, char **name, char **argument)
{
	bool numbered = n > 3 && strncmp(key, "arg", 3) == 0 && key[3] >= '0' && key[3] <= '9';

	*name = strndup(key, numbered ? 3 : n);
	*argument = numbered ? strndup(key + 3, n - 3)
			     : strndup(key + n + (braces > 0), braces ? braces - 1 : 0);
}

/* `key` begins behind the per cent sign. Returns what follows the one that ends it; NULL: `error` says why. */
static const char *expand_key(const struct trace_keys_of *of, const char *key, struct text *out,
			      struct text *error)
{
	size_t n = strcspn(key, "%{"), braces = key[n] == '{' ? strcspn(key + n, "}") : 0;
	const char *end = key + n + braces + (braces && key[n + braces]);
	const struct trace_key *found;
	char *name, *argument;
	bool ok = false;

	cut_key(key, n, braces, &name, &argument);
	if (!name || !argument)
		text_add(error, "there is not enough memory");
	else if (*end != '%')
		text_addf(error,
			  "\"%%%.60s\": a per cent sign begins a key, as in %%host%%, and another "
			  "ends it; %%%% stands for one",
			  key);
	else if (!(found = find_key(name)))
		unknown_key(name, error);
	else if (braces && !found->braces)
		text_addf(error, "%s takes nothing in braces", found->shown);
	else
		ok = add_value(of, found, argument, out, error);
	free(name);
	free(argument);
	return ok ? end + 1 : NULL;
}

bool trace_keys_expand(const struct trace_keys_of *of, const char *name, struct text *out,
		       struct text *error)
{
	while (name && *name) {
		size_t n = strcspn(name, "%");

		text_add_bytes(out, name, n);
		name += n;
		if (*name && name[1] == '%') {
			text_add(out, "%");
			name += 2;
		} else if (*name) {
			name = expand_key(of, name + 1, out, error);
		}
	}
	if (!name)
		return false;
	if (out->failed || !out->length) {
		text_add(error, out->failed ? "there is not enough memory"
					    : "no name is left: the keys have no value here");
		return false;
	}
	return true;
}
