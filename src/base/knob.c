/* SPDX-License-Identifier: Apache-2.0 */
/* Values, arguments, environment and configuration files of knob tables; see knob.h. */
#include "base/knob.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/patterns.h"
#include "base/period.h"
#include "base/text.h"
#include "base/variables.h"

extern char **environ;

static bool fail(char error[KNOB_ERROR_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool fail(char error[KNOB_ERROR_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, KNOB_ERROR_MAX, format, args);
	va_end(args);
	return false;
}

static void *member(const struct knob_table *t, unsigned row)
{
	return (char *)t->values + t->rows[row].offset;
}

void knob_defaults(struct knob_table *t)
{
	char error[KNOB_ERROR_MAX];

	memset(t->source, 0, sizeof(t->source));
	memset(t->argument, 0, sizeof(t->argument));
	for (unsigned i = 0; i < t->count; i++) {
		switch (t->rows[i].type) {
		case KNOB_FLAG:
			*(bool *)member(t, i) = false;
			break;
		case KNOB_ENUM:
			*(int *)member(t, i) = 0;
			break;
		case KNOB_INTEGER:
		case KNOB_SIZE:
		case KNOB_DURATION:
			*(uint64_t *)member(t, i) = 0;
			break;
		default:
			*(const char **)member(t, i) = NULL;
			break;
		}
		if (t->rows[i].fallback) /* right by the unit test of every table */
			knob_set(t, i, t->rows[i].fallback, KNOB_DEFAULT, error);
	}
}

/* ---- values ------------------------------------------------------------------------------- */

/* Position of `word` among "a|b|c", or -1. */
static int value_index(const char *values, const char *word, size_t n)
{
	for (int i = 0; *values; i++) {
		size_t m = strcspn(values, "|");

		if (m == n && strncmp(values, word, n) == 0)
			return i;
		values += m + (values[m] == '|');
	}
	return -1;
}

static bool set_flag(bool *out, const char *s, char error[KNOB_ERROR_MAX])
{
	static const char *const yes[] = {"1", "yes", "true", "on", NULL};
	static const char *const no[] = {"0", "no", "false", "off", "", NULL};

	for (int i = 0; yes[i]; i++) {
		if (strcmp(s, yes[i]) == 0) {
			*out = true;
			return true;
		}
	}
	for (int i = 0; no[i]; i++) {
		if (strcmp(s, no[i]) == 0) {
			*out = false;
			return true;
		}
	}
	return fail(error, "\"%s\" is neither yes nor no", s);
}

static bool set_number(uint64_t *out, const char *s, bool size, char error[KNOB_ERROR_MAX])
{
	static const char suffixes[] = "KMGT";
	const char *at;
	char *end;
	unsigned shift = 0;
	unsigned long long v;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (!isdigit((unsigned char)*s))
		return fail(error, "\"%s\" is not a whole number%s", s,
			    size ? " with an optional K, M or G" : "");
	if (size && *end && (at = strchr(suffixes, toupper((unsigned char)*end)))) {
		shift = 10u * (unsigned)(at - suffixes + 1);
		end++;
		if (strcmp(end, "iB") == 0 || strcmp(end, "B") == 0)
			end += strlen(end);
	}
	if (*end)
		return fail(error, "\"%s\" is not a whole number%s", s,
			    size ? " with an optional K, M or G" : "");
	if (errno || v > ((uint64_t)INT64_MAX >> shift))
		return fail(error, "\"%s\" is too large: at most %" PRId64, s, INT64_MAX);
	*out = (uint64_t)v << shift;
	return true;
}

bool knob_size(uint64_t *out, const char *s, char error[KNOB_ERROR_MAX])
{
	return set_number(out, s, true, error);
}

bool knob_duration(uint64_t *out, const char *s)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9},  {"ms", 1e6},  {"us", 1e3},
		     {"ns", 1}, {"m", 60e9}, {"h", 3600e9}};
	char *end;
	double v = strtod(s, &end);

	if (isdigit((unsigned char)*s) || *s == '.') {
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
			if (strcmp(end, units[i].name) == 0 && v * units[i].ns < 9e18) {
				*out = (uint64_t)(v * units[i].ns + 0.5);
				return true;
			}
		}
	}
	return false;
}

static bool set_duration(uint64_t *out, const char *s, char error[KNOB_ERROR_MAX])
{
	return knob_duration(out, s) ||
	       fail(error, "\"%s\" is not a duration such as 1.5, 20ms, 10s or 3m", s);
}

static bool set_enum(int *out, const char *values, const char *s, char error[KNOB_ERROR_MAX])
{
	int i = value_index(values, s, strlen(s));

	if (i < 0)
		return fail(error, "\"%s\" is none of %s", s, values);
	*out = i;
	return true;
}

/* With the nearest one that there is. */
static bool unknown_word(const struct knob *k, const char *s, size_t n, bool whole,
			 char error[KNOB_ERROR_MAX])
{
	char word[40], known[40], guess[40] = "";
	unsigned best = UINT_MAX;

	snprintf(word, sizeof(word), "%.*s", (int)n, s);
	for (const char *v = k->values; *v; v += strspn(v, "|")) {
		snprintf(known, sizeof(known), "%.*s", (int)strcspn(v, "|"), v);
		if (text_nearer(word, known, &best))
			memcpy(guess, known, sizeof(guess));
		v += strcspn(v, "|");
	}
	return fail(error, "\"%.*s\" is none of %s%s%s%s%s", (int)n, s, whole ? "all|none|" : "",
		    k->values, *guess ? "; did you mean \"" : "", guess, *guess ? "\"?" : "");
}

static bool is_word(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && strncmp(s, word, n) == 0;
}

/* Of "all,-mpi" and "-mpi", what the words say together: nothing is named that is left out, or all is. */
static bool check_left_out(const struct knob *k, const char *s, char error[KNOB_ERROR_MAX])
{
	bool left = false;
	size_t named = 0, n;
	const char *name = NULL;

	for (const char *p = s; *p; p += n + (p[n] == ',')) {
		n = strcspn(p, ",");
		left |= n && *p == '-';
		if (!n || *p == '-' || is_word(p, n, "all"))
			continue;
		name = p;
		named = n;
	}
	if (!left || !name)
		return true;
	return fail(error,
		    "\"%s\" names \"%.*s\", and what is left out: of those that are named nothing "
		    "is to be left out. Write all,-NAME for all but some, or the names of those "
		    "wanted alone",
		    s, (int)named, name);
}

/*
 * "all" and "none" are choices of lists that are "all" unless somebody says otherwise; there "-mpi" takes one away
 * from all.
 */
static bool check_list(const struct knob *k, const char *s, char error[KNOB_ERROR_MAX])
{
	const bool whole = k->fallback && strcmp(k->fallback, "all") == 0;
	const char *values = k->values;

	if (!values)
		return true;
	for (const char *p = s; *p;) {
		size_t n = strcspn(p, ",");
		const size_t sign = whole && *p == '-';

		if (n && value_index(values, p + sign, n - sign) < 0 &&
		    !(whole && (is_word(p, n, "all") || is_word(p, n, "none"))))
			return unknown_word(k, p + sign, n - sign, whole, error);
		p += n + (p[n] == ',');
	}
	return !whole || check_left_out(k, s, error);
}

/* "@FILE" are the expressions of the file. Kept for ever, as all values are. */
static const char *patterns_of(const char *s, bool numbered, char why[KNOB_ERROR_MAX])
{
	char wrong[KNOB_ERROR_MAX - 120], *read = NULL;
	const char *text = s;

	if (*s == '@')
		text = read = patterns_read(s + 1, wrong, sizeof(wrong));
	if (!text)
		fail(why, "the file \"%.100s\" %s", s + 1, wrong);
	else if (patterns_check(text, numbered, wrong, sizeof(wrong)))
		return text;
	else if (*s == '@')
		fail(why, "the file \"%.100s\": %s", s + 1, wrong);
	else
		fail(why, "%s", wrong);
	free(read);
	return NULL;
}

static bool set_value(struct knob_table *t, unsigned row, const char *s, char why[KNOB_ERROR_MAX])
{
	const struct knob *k = &t->rows[row];
	void *m = member(t, row);
	struct period period;

	switch (k->type) {
	case KNOB_FLAG:
		return set_flag(m, s, why);
	case KNOB_INTEGER:
	case KNOB_SIZE:
		return set_number(m, s, k->type == KNOB_SIZE, why);
	case KNOB_DURATION:
		return set_duration(m, s, why);
	case KNOB_ENUM:
		return set_enum(m, k->values, s, why);
	case KNOB_REGEX:
	case KNOB_KERNELS:
		s = patterns_of(s, k->type == KNOB_KERNELS, why);
		if (!s)
			return false;
		break;
	case KNOB_LIST:
		if (!check_list(k, s, why))
			return false;
		break;
	case KNOB_PERIOD:
		if (strcmp(s, "0") == 0)
			s = NULL;
		else if (!period_parse(&period, s, why, KNOB_ERROR_MAX))
			return false;
		break;
	default:
		break;
	}
	*(const char **)m = s;
	return true;
}

/* How the user wrote it, for messages: "--mode", "KYMO_MODE", "mode". */
static void describe_origin(const struct knob_table *t, unsigned row, enum knob_source source,
			    char *out, size_t size)
{
	if (source == KNOB_ENVIRONMENT)
		knob_environment_name(t, row, out, size);
	else
		snprintf(out, size, "%s%s", source == KNOB_ARGUMENT ? "--" : "", t->rows[row].name);
}

/* Copies that live as long as the process: options structures borrow them. */
struct kept {
	struct kept *next;
	char s[];
};

static const char *keep_text(const char *s)
{
	static struct kept *all;
	struct kept *k = malloc(sizeof(*k) + strlen(s) + 1);

	if (!k)
		return NULL;
	strcpy(k->s, s);
	k->next = all;
	all = k;
	return k->s;
}

static const char *join_texts(const char *before, const char *by, const char *text)
{
	struct text t = {0};
	const char *joined;

	text_addf(&t, "%s%s%s", before, by, text);
	joined = t.failed ? NULL : keep_text(t.s);
	text_release(&t);
	return joined ? joined : text;
}

/* Of options that take several values in one. */
static const char *both_values(const struct knob *k)
{
	switch (k->type) {
	case KNOB_LIST:
		return "A,B";
	case KNOB_REGEX:
		return "'A|B'";
	case KNOB_KERNELS:
		return "@FILE, a line for each";
	default:
		return NULL;
	}
}

/* The last of several values counts. */
static void take_argument(struct knob_table *t, unsigned row, const char *text)
{
	const struct knob *k = &t->rows[row];
	const char *before = t->argument[row];
	char option[80];

	t->argument[row] = text;
	if (!t->again || !before || k->flags & KNOB_REPEAT)
		return;
	snprintf(option, sizeof(option), "--%s", k->name);
	t->again(option, before, text, both_values(k));
}

/* Puts the values before it in front of one that may be given several times. */
static bool join_argument(struct knob_table *t, unsigned row, const char **text,
			  enum knob_source source, char why[KNOB_ERROR_MAX])
{
	bool lines = t->rows[row].type == KNOB_REGEX;

	if (!(t->rows[row].flags & KNOB_REPEAT) || source != KNOB_ARGUMENT ||
	    t->source[row] != KNOB_ARGUMENT)
		return true;
	if (lines)
		*text = patterns_of(*text, false, why);
	if (*text)
		*text = join_texts(*(const char **)member(t, row), lines ? "\n" : ":", *text);
	return *text != NULL;
}

bool knob_set(struct knob_table *t, unsigned row, const char *text, enum knob_source source,
	      char error[KNOB_ERROR_MAX])
{
	char why[KNOB_ERROR_MAX], where[80];

	if (t->source[row] > source)
		return true;
	if (source == KNOB_ARGUMENT)
		take_argument(t, row, text);
	if (!join_argument(t, row, &text, source, why) || !set_value(t, row, text, why)) {
		describe_origin(t, row, source, where, sizeof(where));
		return fail(error, "%s: %.300s", where, why);
	}
	t->source[row] = (uint8_t)source;
	return true;
}

int knob_find(const struct knob_table *t, const char *name)
{
	for (unsigned i = 0; i < t->count; i++)
		if (strcmp(t->rows[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* ---- command line ------------------------------------------------------------------------- */

static const char *nearest_row(const struct knob_table *t, const char *name)
{
	const char *guess = NULL;
	unsigned best = UINT_MAX;

	for (unsigned i = 0; i < t->count; i++)
		if (text_nearer(name, t->rows[i].name, &best))
			guess = t->rows[i].name;
	return guess;
}

static bool unknown_option(const struct knob_table *t, const char *name, char error[KNOB_ERROR_MAX])
{
	const char *guess = nearest_row(t, name);

	for (const struct knob_variable *r = t->refused; r && r->name; r++)
		if (strcmp(r->name, name) == 0)
			return fail(error, "--%s: %s", name, r->what);
	if (guess)
		return fail(error, "unknown option --%.100s; did you mean --%s?", name, guess);
	return fail(error, "unknown option --%.100s", name);
}

/* Takes "--name", "--name=value", "--name value" at argv[*i]. */
static bool take_long(struct knob_table *t, int argc, char **argv, int *i,
		      char error[KNOB_ERROR_MAX])
{
	const char *word = argv[*i] + 2, *equals = strchr(word, '=');
	char name[80];
	int row;

	snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - word) : 79, word);
	row = knob_find(t, name);
	if (row < 0)
		return unknown_option(t, name, error);
	if (equals)
		return knob_set(t, (unsigned)row, equals + 1, KNOB_ARGUMENT, error);
	if (t->rows[row].type == KNOB_FLAG)
		return knob_set(t, (unsigned)row, "1", KNOB_ARGUMENT, error);
	if (t->rows[row].flags & KNOB_OPTIONAL)
		return knob_set(t, (unsigned)row, t->rows[row].implied, KNOB_ARGUMENT, error);
	if (*i + 1 >= argc)
		return fail(error, "--%s needs a value: %s", name, t->rows[row].metavar);
	return knob_set(t, (unsigned)row, argv[++*i], KNOB_ARGUMENT, error);
}

/* Takes a cluster of single letters, "-fo DIR" or "-oDIR". */
static bool take_short(struct knob_table *t, int argc, char **argv, int *i,
		       char error[KNOB_ERROR_MAX])
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		unsigned row = 0;

		while (row < t->count && t->rows[row].letter != *p)
			row++;
		if (row == t->count)
			return fail(error, "unknown option -%c", *p);
		if (t->rows[row].type == KNOB_FLAG) {
			if (!knob_set(t, row, "1", KNOB_ARGUMENT, error))
				return false;
			continue;
		}
		if (p[1])
			return knob_set(t, row, p + 1, KNOB_ARGUMENT, error);
		if (*i + 1 >= argc)
			return fail(error, "-%c needs a value: %s", *p, t->rows[row].metavar);
		return knob_set(t, row, argv[++*i], KNOB_ARGUMENT, error);
	}
	return true;
}

bool knob_parse_arguments(struct knob_table *t, int argc, char **argv, int *operands, bool *help,
			  char error[KNOB_ERROR_MAX])
{
	bool only_operands = false;
	int n = 0;

	*help = false;
	for (int i = 1; i < argc; i++) {
		char *a = argv[i];

		if (only_operands || a[0] != '-' || a[1] == '\0') {
			argv[n++] = a;
			only_operands = only_operands || t->stop_at_operand;
		} else if (strcmp(a, "--") == 0) {
			if (t->separates && n)
				argv[n++] = a;
			else
				only_operands = true;
		} else if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
			*help = true;
			break;
		} else if (!(a[1] == '-' ? take_long : take_short)(t, argc, argv, &i, error)) {
			return false;
		}
	}
	*operands = n;
	argv[n] = NULL;
	return true;
}

/* ---- environment -------------------------------------------------------------------------- */

void knob_environment_name(const struct knob_table *t, unsigned row, char *out, size_t size)
{
	const char *option = t->rows[row].name;
	bool several = option[strlen(option) - 1] == 's';

	snprintf(out, size, "KYMO_%s%s%s%s", t->command, *t->command ? "_" : "", option,
		 t->rows[row].flags & KNOB_REPEAT && !several ? "s" : "");
	for (char *p = out; *p; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
}

bool knob_parse_environment(struct knob_table *t, char error[KNOB_ERROR_MAX])
{
	char name[80];
	const char *value;

	for (unsigned i = 0; i < t->count; i++) {
		knob_environment_name(t, i, name, sizeof(name));
		value = variable(name);
		/* An empty variable is an unset one, as with most tools. */
		if (value && *value && !knob_set(t, i, value, KNOB_ENVIRONMENT, error))
			return false;
	}
	return true;
}

/* True if `name` is a variable of a table or of `others`; *guess is the nearest if it is not. */
static bool environment_known(const char *name, const struct knob_table *const *tables,
			      const char *const *others, char guess[80])
{
	unsigned best = UINT_MAX;
	char known[80];

	guess[0] = '\0';
	for (; *others; others++) {
		if (strcmp(name, *others) == 0)
			return true;
		if (text_nearer(name + 5, *others + 5, &best))
			snprintf(guess, 80, "%s", *others);
	}
	for (; *tables; tables++) {
		for (unsigned i = 0; i < (*tables)->count; i++) {
			knob_environment_name(*tables, i, known, sizeof(known));
			if (strcmp(name, known) == 0)
				return true;
			if (text_nearer(name + 5, known + 5, &best))
				snprintf(guess, 80, "%s", known);
		}
	}
	return false;
}

void knob_check_environment(const struct knob_table *const *tables, const char *const *others,
			    void (*unknown)(const char *name, const char *guess))
{
	char name[80], guess[80];

	for (char **e = environ; *e; e++) {
		if (strncmp(*e, "KYMO_", 5) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (!environment_known(name, tables, others, guess))
			unknown(name, *guess ? guess : NULL);
	}
}

/* ---- configuration file ------------------------------------------------------------------- */

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r\n");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return s;
}

static const char *chosen_job;

void knob_choose_job(const char *name)
{
	chosen_job = name;
}

/* The name in "[job NAME]", a trimmed line; NULL: it is no such line. */
static char *job_of_line(char *line)
{
	size_t n = strlen(line);
	char *name;

	if (strncmp(line, "[job ", 5) != 0 || line[n - 1] != ']')
		return NULL;
	line[n - 1] = '\0';
	name = trim(line + 5);
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return NULL;
	return *name ? name : NULL;
}

/* Where a file is read. */
struct place {
	bool in_job;
	bool passed_over; /* it is another job */
};

/* [job NAME] */
static bool take_section(struct place *at, char *line, char error[KNOB_ERROR_MAX])
{
	const char *name = job_of_line(line);

	if (!name)
		return fail(error,
			    "\"%.100s\" begins no section: a job has a line [job NAME], with a "
			    "name of letters, digits and ._-",
			    line);
	at->in_job = true;
	at->passed_over = !chosen_job || strcmp(chosen_job, name) != 0;
	return true;
}

/* Names of other commands are left to their tables: *mine is false. */
static char *name_here(const struct knob_table *t, char *name, bool *mine)
{
	size_t prefix = strlen(t->command);

	*mine = prefix ? strncmp(name, t->command, prefix) == 0 && name[prefix] == '.'
		       : !strchr(name, '.');
	return *mine && prefix ? name + prefix + 1 : name;
}

/* Takes one line of a file. */
static bool take_line(struct knob_table *t, struct place *at, char *line, enum knob_source source,
		      char error[KNOB_ERROR_MAX])
{
	const char *guess, *value;
	char *equals, *name;
	bool mine;
	int row;

	name = trim(line);
	if (*name == '\0' || *name == '#')
		return true;
	if (*name == '[')
		return take_section(at, name, error);
	equals = strchr(name, '=');
	if (!equals)
		return fail(error, "\"%.100s\" is not \"name = value\"", name);
	*equals = '\0';
	name = name_here(t, trim(name), &mine);
	if (at->in_job && strchr(name, '.'))
		return fail(error, "\"%.100s\": a job has options of kymo run alone", name);
	if (!mine || (at->in_job && (at->passed_over || *t->command)))
		return true;
	row = knob_find(t, name);
	if (row < 0) {
		guess = nearest_row(t, name);
		return fail(error, "unknown option \"%.100s\"%s%s%s", name,
			    guess ? "; did you mean \"" : "", guess ? guess : "",
			    guess ? "\"?" : "");
	}
	if (t->rows[row].flags & KNOB_NO_FILE ||
	    (source == KNOB_PRESET && t->rows[row].flags & KNOB_NO_PRESET))
		return fail(error, "%s: a file does not begin with another; put its lines here",
			    name);
	value = keep_text(trim(equals + 1));
	if (!value)
		return fail(error, "out of memory");
	return knob_set(t, (unsigned)row, value, source, error);
}

/* A pipe will do, but not one without an end. */
static char *read_text(const char *path, char error[KNOB_ERROR_MAX])
{
	enum { MOST = 1 << 20 };
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(MOST + 1) : NULL;
	size_t n = text ? fread(text, 1, MOST + 1, f) : 0;
	bool good = f && text && !ferror(f) && n <= MOST && !memchr(text, '\0', n);

	if (n > MOST || (n && memchr(text, '\0', n)))
		fail(error, "\"%.200s\" is no configuration file: %s", path,
		     n > MOST ? "it is larger than 1 MiB" : "there are zeros in it");
	else if (!good)
		fail(error, "configuration file \"%.200s\": %s", path, strerror(errno));
	else
		text[n] = '\0';
	if (f)
		fclose(f);
	if (good)
		return text;
	free(text);
	return NULL;
}

/* Each line goes to `take`; false: `error` says where and why. */
static bool read_lines(const char *path, bool (*take)(void *data, char *line, char *error),
		       void *data, char error[KNOB_ERROR_MAX])
{
	char why[KNOB_ERROR_MAX], *text = read_text(path, error), *rest = text;
	unsigned number = 0;
	bool ok = text != NULL;

	while (ok && rest) {
		number++;
		ok = take(data, strsep(&rest, "\n"), why);
	}
	if (text && !ok)
		fail(error, "%.100s:%u: %.250s", path, number, why);
	free(text);
	return ok;
}

struct parsing {
	struct knob_table *table;
	enum knob_source source;
	struct place at;
};

static bool parse_line(void *data, char *line, char *error)
{
	struct parsing *p = data;

	return take_line(p->table, &p->at, line, p->source, error);
}

static bool parse_file(struct knob_table *t, const char *path, enum knob_source source,
		       char error[KNOB_ERROR_MAX])
{
	struct parsing p = {.table = t, .source = source};

	return read_lines(path, parse_line, &p, error);
}

struct jobs {
	char **names;
	unsigned count;
};

static bool add_job(void *data, char *line, char *error)
{
	struct jobs *j = data;
	char *text = trim(line), *name = *text == '[' ? job_of_line(text) : NULL, **names;

	if (!name)
		return true;
	for (unsigned i = 0; i < j->count; i++)
		if (strcmp(j->names[i], name) == 0)
			return fail(error, "there is a job \"%.60s\" already", name);
	names = realloc(j->names, (j->count + 2) * sizeof(*names));
	if (!names)
		return fail(error, "out of memory");
	j->names = names;
	names[j->count] = strdup(name);
	names[j->count + 1] = NULL;
	return names[j->count++] || fail(error, "out of memory");
}

char **knob_config_jobs(const char *path, char error[KNOB_ERROR_MAX])
{
	struct jobs j = {calloc(1, sizeof(char *)), 0};

	if (j.names && read_lines(path, add_job, &j, error))
		return j.names;
	for (unsigned i = 0; i < j.count; i++)
		free(j.names[i]);
	free(j.names);
	return NULL;
}

bool knob_parse_config(struct knob_table *t, const char *path, char error[KNOB_ERROR_MAX])
{
	return parse_file(t, path, KNOB_CONFIG, error);
}

bool knob_parse_preset(struct knob_table *t, const char *path, char error[KNOB_ERROR_MAX])
{
	return parse_file(t, path, KNOB_PRESET, error);
}
