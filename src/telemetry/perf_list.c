/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of whole processors and of PMUs; see perf_list.h. */
#include "telemetry/perf_list.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/perf_event.h"
#include "base/perf_named.h"
#include "base/vec.h"
#include "telemetry/cpus.h"
#include "telemetry/values.h"

#define DEVICES "/sys/bus/event_source/devices"

/* ---- items ----------------------------------------------------------------------------------- */

size_t perf_item(const char *list)
{
	bool inside = false, numbers = false;
	size_t n = 0;

	for (; list[n]; n++) {
		if (list[n] == '/')
			inside = !inside && strchr(list + n + 1, '/') != NULL;
		numbers |=
			strncmp(list + n, ":cpu=", 5) == 0 || strncmp(list + n, ":device=", 8) == 0;
		if (list[n] == ',' && !inside && !(numbers && isdigit((unsigned char)list[n + 1])))
			break;
	}
	return n;
}

bool perf_over_time(const char *item, size_t length)
{
	return memmem(item, length, ":cpu=", 5) || memchr(item, '/', length);
}

/* ---- terms of a PMU's events ------------------------------------------------------------------ */

/* Puts a value into the bits that a format such as "config1:0-7,32" names. */
static bool put_bits(struct perf_event_attr *attr, const char *format, uint64_t value)
{
	struct number_list bits = {0};
	const char *colon = strchr(format, ':');
	__u64 *word = strncmp(format, "config1:", 8) == 0   ? &attr->config1
		      : strncmp(format, "config2:", 8) == 0 ? &attr->config2
		      : strncmp(format, "config:", 7) == 0  ? &attr->config
							    : NULL;
	bool good = word && numbers_parse(&bits, colon + 1);

	for (uint32_t i = 0; good && i < bits.count; i++)
		for (uint64_t b = bits.at[i].first; b <= bits.at[i].last && b < 64; b++) {
			if (value & 1)
				*word |= 1ull << b;
			value >>= 1;
		}
	free(bits.at);
	return good && value == 0; /* else it does not fit */
}

static bool put_term(struct perf_event_attr *attr, const char *pmu, const char *term, char *error,
		     size_t size)
{
	char path[PATH_MAX], format[64], name[64];
	const char *is = strchr(term, '=');
	int n = is ? (int)(is - term) : (int)strlen(term);
	uint64_t value = 1;
	char *end = NULL;

	snprintf(name, sizeof(name), "%.*s", n < 63 ? n : 63, term);
	errno = 0;
	if (is)
		value = strtoull(is + 1, &end, 0);
	snprintf(path, sizeof(path), "%.*s/format/%s", PATH_MAX - 128, pmu, name);
	if (n < 1 || strchr(name, '/') || value_line(path, format, sizeof(format)) != 0)
		snprintf(error, size, "%s has no event or term \"%s\"", strrchr(pmu, '/') + 1,
			 name);
	else if (is && (errno || end == is + 1 || *end || !isdigit((unsigned char)is[1])))
		snprintf(error, size, "\"%s\" is no number", is + 1);
	else if (!put_bits(attr, format, value))
		snprintf(error, size, "\"%s\" does not fit into %s", term, format);
	else
		return true;
	return false;
}

static bool put_terms(struct perf_event_attr *attr, const char *pmu, char *terms, char *error,
		      size_t size)
{
	char *save = NULL;
	bool good = true;

	for (char *t = strtok_r(terms, ",", &save); good && t; t = strtok_r(NULL, ",", &save))
		good = put_term(attr, pmu, t, error, size);
	return good;
}

/* ---- PMUs ------------------------------------------------------------------------------------ */

/* cpumask: where a PMU of a socket counts; cpus: the processors of one kind. False: it has neither. */
static bool pmu_cpus(const char *pmu, struct number_list *out)
{
	static const char *const files[] = {"cpumask", "cpus"};

	for (unsigned i = 0; i < 2; i++) {
		char path[PATH_MAX], text[512];

		snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 16, pmu, files[i]);
		if (value_line(path, text, sizeof(text)) == 0)
			return numbers_parse(out, text);
	}
	return false;
}

static void read_description(struct perf_event *e, const char *file)
{
	char path[PATH_MAX], text[32];

	snprintf(path, sizeof(path), "%.*s.unit", PATH_MAX - 16, file);
	value_line(path, e->unit, sizeof(e->unit));
	snprintf(path, sizeof(path), "%.*s.scale", PATH_MAX - 16, file);
	if (value_line(path, text, sizeof(text)) == 0)
		e->scale = strtod(text, NULL);
	if (!(e->scale > 0 && e->scale < 1e18))
		e->scale = 1;
	snprintf(e->description, sizeof(e->description), "Counted by %.60s", e->pmu);
}

/* `event`: a name that the PMU has in events/, or terms as event=0x2c,umask=1. */
static bool pmu_event(struct perf_event *e, const char *pmu, const char *event, char *error,
		      size_t size)
{
	char path[PATH_MAX], terms[256];
	int64_t type;

	*e = (struct perf_event){.scale = 1};
	snprintf(e->pmu, sizeof(e->pmu), "%.63s", strrchr(pmu, '/') + 1);
	snprintf(e->name, sizeof(e->name), "%.95s", event);
	snprintf(path, sizeof(path), "%.*s/type", PATH_MAX - 16, pmu);
	if (value_number(path, &type) != 0) {
		snprintf(error, size, "%s tells no type", e->pmu);
		return false;
	}
	e->attr.type = (uint32_t)type;
	snprintf(path, sizeof(path), "%.*s/events/%.200s", PATH_MAX - 256, pmu, event);
	if (strchr(event, '/') || value_line(path, terms, sizeof(terms)) != 0) {
		snprintf(terms, sizeof(terms), "%.255s", event);
		snprintf(e->description, sizeof(e->description), "Counted by %.60s", e->pmu);
	} else {
		read_description(e, path);
	}
	return put_terms(&e->attr, pmu, terms, error, size);
}

/* "uncore_imc" is uncore_imc and all of uncore_imc_N. */
static bool pmu_is(const char *name, const char *wanted)
{
	size_t n = strlen(wanted);

	return strncmp(name, wanted, n) == 0 &&
	       (!name[n] || (name[n] == '_' && name[n + 1] &&
			     !name[n + 1 + strspn(name + n + 1, "0123456789")]));
}

/* ---- items to events -------------------------------------------------------------------------- */

struct item {
	char *name, *pmu; /* pmu: NULL: none */
	struct number_list cpus;
};

static bool split(struct item *i, char *text, char *error, size_t size)
{
	char *cpus = strstr(text, ":cpu="), *slash, *end;

	if (cpus) {
		*cpus = '\0';
		if (!numbers_parse(&i->cpus, cpus + 5)) {
			snprintf(error, size, "\"%s\" of %s is no list of processors such as 0,2-3",
				 cpus + 5, text);
			return false;
		}
	}
	slash = strchr(text, '/');
	end = slash ? strchr(slash + 1, '/') : NULL;
	i->name = text + (strncmp(text, "perf:", 5) == 0 ? 5 : 0);
	if (!slash)
		return true;
	if (!end || end[1] || slash == text || end == slash + 1) {
		snprintf(error, size, "\"%s\" is not of the form PMU/EVENT/", text);
		return false;
	}
	*slash = *end = '\0';
	i->pmu = i->name;
	i->name = slash + 1;
	return true;
}

/* The processors on which an event counts; `own`: of its PMU, may be none. */
static bool choose_cpus(struct perf_event *e, const struct item *i, const struct number_list *own,
			const struct number_list *online, char *error, size_t size)
{
	const struct number_list *from = i->cpus.count ? &i->cpus : own->count ? own : online;

	for (uint32_t k = 0; k < from->count; k++)
		for (uint64_t c = from->at[k].first; c <= from->at[k].last; c++) {
			if (!numbers_have(online, c)) {
				snprintf(error, size, "%s: there is no processor %llu", e->name,
					 (unsigned long long)c);
				return false;
			}
			if (own->count && !numbers_have(own, c)) {
				snprintf(error, size,
					 "%s/%s/ does not count on processor %llu: without :cpu= "
					 "it counts where it can",
					 e->pmu, e->name, (unsigned long long)c);
				return false;
			}
			if (!vec_reserve(&e->cpus.at, &e->cpus.room, e->cpus.count, 1))
				return false;
			e->cpus.at[e->cpus.count++] = (struct number_span){c, c};
		}
	return true;
}

static bool add_event(struct perf_list *l, const struct perf_event *e, const struct item *i,
		      const struct number_list *own, const struct number_list *online, char *error,
		      size_t size)
{
	if (!vec_reserve(&l->at, &l->room, l->count, 1))
		return false;
	l->at[l->count] = *e;
	return choose_cpus(&l->at[l->count++], i, own, online, error, size);
}

static bool add_named(struct perf_list *l, const struct item *i, const struct number_list *online,
		      char *error, size_t size)
{
	static const struct number_list none;

	for (unsigned k = 0; k < PERF_NAMED; k++) {
		const struct perf_named *n = &perf_named[k];
		struct perf_event e = {.attr = {.type = n->type, .config = n->config}, .scale = 1};

		if (strcmp(n->name, i->name) != 0)
			continue;
		snprintf(e.name, sizeof(e.name), "%.23s", n->name);
		snprintf(e.unit, sizeof(e.unit), "%.3s", n->unit);
		snprintf(e.description, sizeof(e.description), "%.63s", n->description);
		return add_event(l, &e, i, &none, online, error, size);
	}
	snprintf(error, size,
		 "there is no counter %s of whole processors; those of provider perf are, and "
		 "PMU/EVENT/",
		 i->name);
	return false;
}

static bool add_pmus(struct perf_list *l, const char *root, const struct item *i,
		     const struct number_list *online, char *error, size_t size)
{
	char folder[PATH_MAX], pmu[PATH_MAX];
	struct dirent **names = NULL;
	bool good = true, found = false;
	int count;

	snprintf(folder, sizeof(folder), "%.*s" DEVICES, PATH_MAX - 300, root);
	count = scandir(folder, &names, NULL, versionsort);
	for (int k = 0; k < count; k++) {
		struct number_list own = {0};
		struct perf_event e;

		if (good && names[k]->d_name[0] != '.' && pmu_is(names[k]->d_name, i->pmu)) {
			snprintf(pmu, sizeof(pmu), "%.*s/%s", PATH_MAX - 300, folder,
				 names[k]->d_name);
			pmu_cpus(pmu, &own);
			found = true;
			good = pmu_event(&e, pmu, i->name, error, size) &&
			       add_event(l, &e, i, &own, online, error, size);
		}
		free(own.at);
		free(names[k]);
	}
	free(names);
	if (good && !found)
		snprintf(error, size, "there is no PMU %s here; kymo list counters shows which are",
			 i->pmu);
	return good && found;
}

static bool add_item(struct perf_list *l, const char *root, char *text,
		     const struct number_list *online, char *error, size_t size)
{
	struct item i = {0};
	bool good = split(&i, text, error, size);

	if (good)
		good = i.pmu ? add_pmus(l, root, &i, online, error, size)
			     : add_named(l, &i, online, error, size);
	free(i.cpus.at);
	return good;
}

bool perf_list_parse(struct perf_list *l, const char *root, const char *list, char *error,
		     size_t size)
{
	struct number_list online = {0};
	char *words = strdup(list), *w = words;
	bool good = words && cpus_online(root, &online);

	*l = (struct perf_list){0};
	snprintf(error, size, "/proc/stat cannot be read");
	while (good && *w) {
		size_t n = perf_item(w);
		char *next = w[n] ? w + n + 1 : w + n;

		w[n] = '\0';
		if (n)
			good = add_item(l, root, w, &online, error, size);
		w = next;
	}
	free(online.at);
	free(words);
	return good;
}

void perf_list_release(struct perf_list *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		free(l->at[i].cpus.at);
	free(l->at);
	*l = (struct perf_list){0};
}

/* ---- opening --------------------------------------------------------------------------------- */

int perf_event_on(const struct perf_event *e, uint64_t cpu)
{
	struct perf_event_attr attr = e->attr;
	bool user_only = false;
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, -1, (int)cpu, -1, &user_only);
	if (fd >= 0 && user_only) {
		close(fd); /* it would count less than it says */
		fd = -EACCES;
	}
	return fd;
}

void perf_event_reason(const struct perf_event *e, uint64_t cpu, int error, char *out, size_t size)
{
	int64_t level = 0;

	if (error != EACCES && error != EPERM) {
		perf_reason(error, &e->attr, e->name, out, size);
		return;
	}
	value_number("/proc/sys/kernel/perf_event_paranoid", &level);
	snprintf(out, size,
		 "%s on processor %llu is not permitted: to count whole processors needs "
		 "kernel.perf_event_paranoid of at most 0 (it is %lld), or CAP_PERFMON",
		 e->name, (unsigned long long)cpu, (long long)level);
}

/* ---- what there is --------------------------------------------------------------------------- */

static void list_pmu(const char *folder, const char *pmu, struct text *out)
{
	char path[PATH_MAX];
	struct dirent **names = NULL;
	int count;

	snprintf(path, sizeof(path), "%.*s/%.255s/events", PATH_MAX - 300, folder, pmu);
	count = scandir(path, &names, NULL, versionsort);
	for (int i = 0; i < count; i++) {
		if (!strchr(names[i]->d_name, '.')) /* others are its unit, its scale */
			text_addf(out, "%s/%s/\n", pmu, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

void perf_list_all(const char *root, struct text *out)
{
	char folder[PATH_MAX];
	struct dirent **names = NULL;
	int count;

	snprintf(folder, sizeof(folder), "%.*s" DEVICES, PATH_MAX - 300, root);
	count = scandir(folder, &names, NULL, versionsort);
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.')
			list_pmu(folder, names[i]->d_name, out);
		free(names[i]);
	}
	free(names);
}
