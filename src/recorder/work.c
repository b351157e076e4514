/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device work that is recorded alone: executions of some kernels (--kernel, --exclude-kernel), what some devices do
 * (--device). It is decided when work is submitted. What is not known by then (kernels of a graph that is launched as a whole, names of
 * CUDA's devices before it tells of them) is recorded: it can be left out afterwards.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/parts.h"

#define KEPT    65536u /* answers, by id */
#define LABEL   400u
#define DEVICES 1024u

static const struct recorder_options *options;
static struct patterns kernels, no_kernels;
static regex_t devices;
static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* of the pattern of devices, and of the list of names */

enum { UNKNOWN, YES, NO };
static _Atomic uint8_t device_answers[DEVICES];

/* What kernels of one name are to the user. Never freed: ids lead there without a lock. */
struct name {
	struct name *next;
	char *text;
	_Atomic uint64_t executions; /* that were submitted in this process, where numbers matter */
	uint32_t wanted_count, unwanted_count;
	/* Whose numbers decide: first those that want it, then the others. A pattern without numbers wants all. */
	const struct recorder_range *numbered[];
};
static struct name *names;
static struct name *_Atomic by_id[KEPT];
static bool by_number;                                /* executions are counted */
static _Thread_local uint64_t execution RECORDER_TLS; /* of what is being submitted */

/* ---- kernels ---- */

typedef char *(*demangle_fn)(const char *symbol, char *out, size_t *size, int *status);

/* The program's own C++ library, which it may have loaded for itself alone. None is loaded for it. */
static demangle_fn demangler(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *found = dlsym(library ? library : RTLD_DEFAULT, "__cxa_demangle");
	demangle_fn fn;

	memcpy(&fn, &found, sizeof(fn));
	return fn;
}

/* Names of C++ kernels are shown as its source has them. */
static char *demangled(const char *name)
{
	demangle_fn demangle = strncmp(name, "_Z", 2) == 0 ? demangler() : NULL;
	int status;

	return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}

/* One of the patterns that match the name; adds what the numbers of which must be looked at. */
static bool look(const struct patterns *p, const char *text, struct name *n, uint32_t *numbered)
{
	for (uint32_t i = 0; p->given && i < p->given->count; i++) {
		const struct recorder_range *r = &p->given->at[i];
		bool itself = strcmp(r->text, text) == 0; /* "step#5" may be a name */

		if (!itself && !patterns_one(p, i, text))
			continue;
		if (itself || !r->numbers_count)
			return true;
		n->numbered[n->wanted_count + n->unwanted_count] = r;
		++*numbered;
	}
	return false;
}

/* All executions of what is called so are wanted, or none, where no numbers are kept. */
static const struct recorder_range all = {.text = "", .name = ""};

static struct name *name_new(char *text)
{
	const size_t most = options->kernels.count + options->no_kernels.count + 2;
	struct name *n = calloc(1, sizeof(*n) + most * sizeof(n->numbered[0]));

	if (!n)
		return NULL;
	n->text = text;
	if (!kernels.given || look(&kernels, text, n, &n->wanted_count)) {
		n->numbered[0] = &all;
		n->wanted_count = 1;
	}
	if (look(&no_kernels, text, n, &n->unwanted_count)) {
		n->numbered[n->wanted_count] = &all;
		n->unwanted_count = 1;
	}
	return n;
}

/* Takes over the text. Caller holds the lock. */
static struct name *name_find(char *text)
{
	struct name *n = names;

	while (n && strcmp(n->text, text) != 0)
		n = n->next;
	if (n) {
		free(text);
		return n;
	}
	n = name_new(text);
	if (!n) {
		free(text);
		return NULL;
	}
	n->next = names;
	names = n;
	return n;
}

/* NULL: it is not known, or there is no memory. */
static struct name *name_of(uint32_t id)
{
	struct name *n = id < KEPT ? atomic_load_explicit(&by_id[id], memory_order_acquire) : NULL;
	const char *linked;
	char *text;

	if (n || kymo_ref_name("kernel", id, &linked) != KYMO_OK)
		return n;
	text = demangled(linked);
	text = text ? text : strdup(linked);
	if (!text)
		return NULL;
	pthread_mutex_lock(&lock);
	n = name_find(text);
	pthread_mutex_unlock(&lock);
	if (n && id < KEPT)
		atomic_store_explicit(&by_id[id], n, memory_order_release);
	return n;
}

static bool has_number(const struct recorder_range *const *r, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!r[i]->numbers_count ||
		    recorder_numbers_have(r[i]->numbers, r[i]->numbers_count, execution))
			return true;
	return false;
}

static bool kernel_is_chosen(uint32_t id)
{
	const struct name *n = name_of(id);

	return !n || (has_number(n->numbered, n->wanted_count) &&
		      !has_number(n->numbered + n->wanted_count, n->unwanted_count));
}

static bool are_numbered(const struct recorder_patterns *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->at[i].numbers_count)
			return true;
	return false;
}

/* Asked of all that is submitted, before accept_work() is where that is asked: contexts are in the order of their making. */
static bool count_work(const kymo_work_t *work, void *data)
{
	struct name *n = work->kernel ? name_of(work->kernel) : NULL;

	execution = n ? atomic_fetch_add(&n->executions, 1) + 1 : 0;
	return false;
}

static void never(kymo_context_t context, const kymo_callback_record_t *record, void *data)
{
}

kymo_status_t work_count(kymo_context_t control)
{
	const kymo_selection_t work = {
		.size = sizeof(work), .domain = "dispatch", .filter = count_work};

	return by_number ? kymo_callback_service(control, &work, never, NULL) : KYMO_OK;
}

/* ---- devices ---- */

/* Ids are given from 1 on: those of a name are numbered as they came. */
static uint64_t number_of(uint32_t id, const char *name)
{
	const char *other;
	uint64_t number = 0;

	for (uint32_t i = 1; i < id; i++)
		number += kymo_ref_name("agent", i, &other) == KYMO_OK && strcmp(other, name) == 0;
	return number;
}

/* A name that is what the user wrote is chosen, whatever that is as a pattern. */
static bool is_device(const char *text)
{
	bool yes;

	if (strcmp(options->device, text) == 0)
		return true;
	pthread_mutex_lock(&lock);
	yes = regexec(&devices, text, 0, NULL, 0) == 0;
	pthread_mutex_unlock(&lock);
	return yes;
}

/* "OCCA Serial #1" says itself which one it is. */
static bool says_number(const char *name, uint64_t *out)
{
	const char *at = NULL;
	char *end;

	for (const char *s = strstr(name, " #"); s; s = strstr(s + 1, " #"))
		at = s + 2;
	if (!at || *at < '0' || *at > '9')
		return false;
	*out = strtoull(at, &end, 10);
	return *end == '\0' || *end == ' ';
}

static bool has_device_number(uint64_t number)
{
	return recorder_numbers_have(options->device_numbers, options->device_numbers_count,
				     number);
}

/* What a framework calls it. */
static bool is_framework_device(const char *name)
{
	uint64_t number;

	if (options->device_numbers_count)
		return says_number(name, &number) && has_device_number(number);
	return is_device(name);
}

/* Whether others have its name is not known yet. */
static uint8_t device_matches(uint32_t id)
{
	char label[LABEL];
	const char *name;
	uint64_t number;

	if (kymo_ref_name("agent", id, &name) != KYMO_OK)
		return UNKNOWN;
	if (!says_number(name, &number))
		number = number_of(id, name);
	if (options->device_numbers_count)
		return has_device_number(number) ? YES : NO;
	snprintf(label, sizeof(label), "%s #%u", name, (unsigned)number);
	return is_device(name) || is_device(label) ? YES : NO;
}

/* ---- work ---- */

/* Asked until it is known. */
static bool may_be_device(uint32_t id)
{
	uint8_t known = id < DEVICES ? atomic_load(&device_answers[id]) : UNKNOWN;

	if (known == UNKNOWN) {
		known = device_matches(id);
		if (id < DEVICES)
			atomic_store(&device_answers[id], known);
	}
	return known != NO;
}

static bool accept_work(const kymo_work_t *work, void *data)
{
	if (kernels.given && strcmp(work->domain->name, "dispatch") != 0)
		return false;
	if ((kernels.given || no_kernels.given) && work->kernel && !kernel_is_chosen(work->kernel))
		return false;
	return !options->device || !work->agent || may_be_device(work->agent) ||
	       (work->framework_device && is_framework_device(work->framework_device));
}

bool work_is_chosen(const struct recorder_options *o, const kymo_domain_desc_t *domain)
{
	if (strcmp(domain->name, "dispatch") == 0)
		return o->kernels.count || o->no_kernels.count || o->device;
	return (o->kernels.count || o->device) && strcmp(domain->name, "copy") == 0;
}

kymo_status_t work_choose(kymo_context_t context, kymo_buffer_t buffer,
			  const struct recorder_options *o)
{
	static const char *const of[] = {"dispatch", "copy"};
	kymo_status_t status;

	options = o;
	by_number = are_numbered(&o->kernels) || are_numbered(&o->no_kernels);
	status = patterns_compile(&kernels, &o->kernels);
	if (status == KYMO_OK)
		status = patterns_compile(&no_kernels, &o->no_kernels);
	if (status != KYMO_OK)
		return status;
	if (o->device && !o->device_numbers_count &&
	    regcomp(&devices, o->device, REG_EXTENDED | REG_NOSUB) != 0)
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < 2 && status == KYMO_OK; i++) {
		kymo_selection_t work = {
			.size = sizeof(work), .domain = of[i], .filter = accept_work};

		if (i == 0 ? !kernels.given && !no_kernels.given && !o->device
			   : !kernels.given && !o->device)
			continue;
		status = kymo_buffer_service(context, &work, buffer);
	}
	return status;
}

void work_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	for (struct name *n = names; n; n = n->next)
		atomic_store(&n->executions, 0); /* each process counts its own */
}
