/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device work that is recorded alone: executions of some kernels (--kernel), what some devices do (--device). It is
 * decided when work is submitted. What is not known by then (kernels of a graph that is launched as a whole, names of
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
static regex_t kernels, devices;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the patterns */

enum { UNKNOWN, YES, NO };
static _Atomic uint8_t kernel_answers[KEPT], device_answers[DEVICES];

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

/* A name that is what the user wrote is chosen, whatever that is as a pattern. */
static bool matches(const regex_t *pattern, const char *written, const char *text)
{
	bool yes;

	if (strcmp(written, text) == 0)
		return true;
	pthread_mutex_lock(&lock);
	yes = regexec(pattern, text, 0, NULL, 0) == 0;
	pthread_mutex_unlock(&lock);
	return yes;
}

static uint8_t kernel_matches(uint32_t id)
{
	const char *name;
	char *plain;
	bool yes;

	if (kymo_ref_name("kernel", id, &name) != KYMO_OK)
		return UNKNOWN;
	plain = demangled(name);
	yes = matches(&kernels, options->kernel, plain ? plain : name);
	free(plain);
	return yes ? YES : NO;
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

/* Whether others have its name is not known yet. */
static uint8_t device_matches(uint32_t id)
{
	char label[LABEL];
	const char *name;
	uint64_t number;

	if (kymo_ref_name("agent", id, &name) != KYMO_OK)
		return UNKNOWN;
	number = number_of(id, name);
	if (options->device_numbers_count)
		return recorder_numbers_have(options->device_numbers, options->device_numbers_count,
					     number)
			       ? YES
			       : NO;
	snprintf(label, sizeof(label), "%s #%u", name, (unsigned)number);
	return matches(&devices, options->device, name) || matches(&devices, options->device, label)
		       ? YES
		       : NO;
}

/* ---- work ---- */

/* Asked until it is known. */
static bool may_be(_Atomic uint8_t *kept, uint32_t room, uint32_t id, uint8_t (*ask)(uint32_t id))
{
	uint8_t known = id < room ? atomic_load(&kept[id]) : UNKNOWN;

	if (known == UNKNOWN) {
		known = ask(id);
		if (id < room)
			atomic_store(&kept[id], known);
	}
	return known != NO;
}

static bool accept_work(const kymo_work_t *work, void *data)
{
	if (options->kernel && strcmp(work->domain->name, "dispatch") != 0)
		return false;
	if (options->kernel && work->kernel &&
	    !may_be(kernel_answers, KEPT, work->kernel, kernel_matches))
		return false;
	return !options->device || !work->agent ||
	       may_be(device_answers, DEVICES, work->agent, device_matches);
}

bool work_is_chosen(const struct recorder_options *o, const kymo_domain_desc_t *domain)
{
	return (o->kernel || o->device) &&
	       (strcmp(domain->name, "dispatch") == 0 || strcmp(domain->name, "copy") == 0);
}

kymo_status_t work_choose(kymo_context_t context, kymo_buffer_t buffer,
			  const struct recorder_options *o)
{
	static const char *const of[] = {"dispatch", "copy"};
	kymo_status_t status = KYMO_OK;

	options = o;
	if (!o->kernel && !o->device)
		return KYMO_OK;
	if (o->kernel && regcomp(&kernels, o->kernel, REG_EXTENDED | REG_NOSUB) != 0)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (o->device && !o->device_numbers_count &&
	    regcomp(&devices, o->device, REG_EXTENDED | REG_NOSUB) != 0)
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < 2 && status == KYMO_OK; i++) {
		kymo_selection_t work = {
			.size = sizeof(work), .domain = of[i], .filter = accept_work};

		status = kymo_buffer_service(context, &work, buffer);
	}
	return status;
}

void work_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
}
