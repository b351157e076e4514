/* SPDX-License-Identifier: Apache-2.0 */
/* Twins of kernels: one for each kernel of each module in each context, made when it is first launched. On a thread of Kymo's. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/cuda/twin.h"

enum { WHY = 512, LOG = 4096 };
enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };
enum { SHARED_MOST = 8, CARVEOUT = 9 }; /* attributes of functions */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_twin *twins;

/* ---- making ---- */

static unsigned architecture(void)
{
	int device = 0, major = 0, minor = 0;

	if (cuda_driver.CtxGetDevice(&device) != 0 ||
	    cuda_driver.DeviceGetAttribute(&major, ATTRIBUTE_MAJOR, device) != 0 ||
	    cuda_driver.DeviceGetAttribute(&minor, ATTRIBUTE_MINOR, device) != 0)
		return 0;
	return (unsigned)(major * 10 + minor);
}

static bool rewrite(struct cuda_twin *t, const struct cuda_image *i, char *why, size_t size)
{
	static const char *const modes[] = {"count", "address", "block", "both"};
	char kymo[] = "kymo", command[] = "rewrite", arch[32], cubin[64], mode[32];
	struct text kernel = {0};
	bool done = false;

	text_addf(&kernel, "--ptx=%s", t->kernel);
	snprintf(arch, sizeof(arch), "--arch=%u", architecture());
	snprintf(cubin, sizeof(cubin), "--cubin=%llu:%llx", (unsigned long long)i->cubin_bytes,
		 (unsigned long long)i->cubin_sum);
	snprintf(mode, sizeof(mode), "--mode=%s",
		 modes[(t->records & KYMO_HANDLER_ACCESSES ? 1 : 0) |
		       (t->records & KYMO_HANDLER_BLOCKS ? 2 : 0)]);
	if (kernel.failed)
		snprintf(why, size, "there was no memory for it");
	else
		done = cap_rewrite(i->copy ? i->copy : (const uint8_t *)"", i->bytes,
				   (char *[]){kymo, command, kernel.s, arch, mode,
					      i->copy ? NULL : cubin, NULL},
				   &t->counted.rewritten, why, size);
	text_release(&kernel);
	return done;
}

/* Of the driver's log the first line that tells of an error. */
static const char *load_failure(int result, const char *log)
{
	const char *at = strstr(log, "error");
	struct text t = {0};
	const char *why;

	if (!at)
		return cuda_twin_error("its rewritten PTX was not loaded", result);
	text_add(&t, "its rewritten PTX was not loaded: ");
	text_add_bytes(&t, at, strcspn(at, "\n") < WHY ? strcspn(at, "\n") : WHY);
	why = cuda_twin_text(t.s ? t.s : "its rewritten PTX was not loaded");
	text_release(&t);
	return why;
}

static const char *load(struct cuda_twin *t)
{
	char *log = calloc(1, LOG + 1);
	const int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
	void *values[] = {log, (void *)(uintptr_t)LOG};
	const char *why = NULL;
	size_t bytes;
	int result;

	if (!log)
		return "there was no memory for it";
	result = cuda_driver.ModuleLoadDataEx(&t->module, t->counted.rewritten.source, 2, options,
					      values);
	if (result != 0)
		why = load_failure(result, log);
	else if (cuda_driver.ModuleGetFunction(&t->function, t->module, t->kernel) != 0 ||
		 cuda_driver.ModuleGetGlobal(&t->where, &bytes, t->module, "kymo_context") != 0)
		why = "its rewritten module lacks it";
	free(log);
	return why;
}

static const char *refused(const struct cuda_twin *t)
{
	for (uint32_t i = 0; i < t->counted.rewritten.kernels.count; i++)
		if (t->counted.rewritten.kernels.at[i].what)
			return cuda_twin_text(t->counted.rewritten.kernels.at[i].what);
	return NULL;
}

static void make(struct cuda_twin *t, const struct cuda_image *i)
{
	char why[WHY];

	if (!rewrite(t, i, why, sizeof(why)))
		t->why = cuda_twin_text(why);
	else if (!cap_parts_make(&t->counted))
		t->why = "there was no memory for it";
	else
		t->why = refused(t);
	if (!t->why)
		t->why = load(t);
}

/* ---- finding ---- */

static struct cuda_twin *find_or_make(const struct cuda_twin_launch *l, const struct cuda_image *i,
				      uint32_t records)
{
	struct cuda_twin *t;

	for (t = twins; t; t = t->next)
		if (t->image == i->number && t->context == l->context && t->records == records &&
		    strcmp(t->kernel, l->name) == 0)
			return t;
	t = calloc(1, sizeof(*t));
	if (t)
		t->kernel = strdup(l->name);
	if (!t || !t->kernel) {
		free(t);
		return NULL;
	}
	t->image = i->number;
	t->context = l->context;
	t->records = records;
	make(t, i);
	t->next = twins;
	twins = t;
	return t;
}

/* As much shared memory as the program had asked for. */
static void copy_limits(const struct cuda_twin *t, const struct cuda_twin_launch *l)
{
	const int attributes[] = {SHARED_MOST, CARVEOUT};

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		int value = 0;

		if (cuda_driver.FuncGetAttribute(&value, attributes[i], l->function) == 0)
			cuda_driver.FuncSetAttribute(t->function, attributes[i], value);
	}
}

struct cuda_twin *cuda_twin_get(const struct cuda_twin_launch *l, uint32_t records,
				const char **why)
{
	struct cuda_image *i = cuda_image_get(l, why);
	struct cuda_twin *t;

	if (!i)
		return NULL;
	pthread_mutex_lock(&lock);
	t = find_or_make(l, i, records);
	pthread_mutex_unlock(&lock);
	cuda_image_put(i);
	*why = t ? t->why : "there was no memory for it";
	if (*why)
		return NULL;
	copy_limits(t, l);
	return t;
}

/* ---- variables ---- */

/* Text that compilers put there for messages: it does not change. */
static bool is_text(const struct cap_rewritten_part *v)
{
	return strcmp(v->space, "initialised") == 0 &&
	       (strncmp(v->name, "$str", 4) == 0 || strncmp(v->name, "__unnamed_", 10) == 0);
}

static const char *copy_variable(struct cuda_twin *t, void *module, const char *name)
{
	uint64_t from, to;
	size_t bytes, room;

	if (cuda_driver.ModuleGetGlobal(&from, &bytes, module, name) != 0)
		return "its module has a variable that cannot be got at from outside";
	if (cuda_driver.ModuleGetGlobal(&to, &room, t->module, name) != 0 || room != bytes ||
	    cuda_driver.Memcpy(to, from, bytes) != 0)
		return "a variable of its module could not be copied";
	return NULL;
}

const char *cuda_twin_variables(struct cuda_twin *t, const struct cuda_twin_launch *l)
{
	const struct cap_rewritten_list *all = &t->counted.rewritten.variables;
	const char *why = NULL;
	void *module = NULL;

	if (all->count && cuda_driver.FuncGetModule(&module, l->function) != 0)
		return "the driver does not tell its module";
	for (uint32_t i = 0; i < all->count && !why; i++)
		if (!is_text(&all->at[i]))
			why = copy_variable(t, module, all->at[i].name);
	return why;
}

/* ---- ends ---- */

static void release(struct cuda_twin *t)
{
	cap_parts_release(&t->counted);
	free(t->kernel);
	free(t);
}

/* Its module goes with the context, or stays: the program is inside a call that unloads another. */
static void drop(uint64_t image, const void *context)
{
	struct cuda_twin **at = &twins, *t;

	pthread_mutex_lock(&lock);
	while ((t = *at)) {
		if (t->image != image && t->context != context) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		release(t);
	}
	pthread_mutex_unlock(&lock);
}

void cuda_twins_unloaded(uint64_t image)
{
	drop(image, NULL);
}

void cuda_twins_context_end(void *context)
{
	drop(0, context);
}

void cuda_twins_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	twins = NULL;
}
