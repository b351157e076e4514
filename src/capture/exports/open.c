/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of the door: a library's functions become a table that is wrapped. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/tool.h>

#include "base/knob.h"
#include "base/variables.h"
#include "capture/exports/models.h"

__attribute__((visibility("default"))) bool kymo_exports_open(const char *domain, void **entries,
							      uint32_t count);

static bool models_path(char *path)
{
	Dl_info info;
	char *slash;

	if (!dladdr((void *)(uintptr_t)kymo_exports_open, &info) || !info.dli_fname)
		return false;
	snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 64, info.dli_fname);
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	snprintf(slash, 64, "/kymo/libkymo-exports-models.so");
	return true;
}

/* Core keeps descriptions for ever, so the library stays. */
static struct table_model *model_of(const char *domain)
{
	char *path = malloc(PATH_MAX); /* too much for a small stack */
	exports_model_fn get;
	void *library, *symbol;

	library = path && models_path(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	free(path);
	symbol = library ? dlsym(library, "kymo_exports_model") : NULL;
	memcpy(&get, &symbol, sizeof(get));
	return get ? get(domain) : NULL;
}

void exports_function(const struct table_model *model, void *const *entries, const char *name,
		      void *out)
{
	for (uint32_t i = 0; i < model->desc->op_count; i++)
		if (strcmp(model->desc->ops[i].name, name) == 0)
			memcpy(out, &entries[i], sizeof(void *));
}

uint64_t exports_argument(const struct table_model *model, const struct table_call *call,
			  const char *name)
{
	const kymo_op_desc_t *op = &model->desc->ops[call->slot->cap->number];
	uint64_t value = 0;

	for (unsigned i = 0; i < op->field_count; i++)
		if (strcmp(op->fields[i].name, name) == 0) {
			table_value(call, &call->slot->op->fields[i], true, &value);
			break;
		}
	return value;
}

static bool wrap_table(const char *domain, void **entries, uint32_t count)
{
	struct table_model *model = model_of(domain);
	struct table_part part = {
		.name = domain, .entries = entries, .count = count, .known = count};
	kymo_status_t status;
	uint64_t token;

	if (!model || !table_describe(model) || model->desc->op_count != count) {
		cap_note(2, domain,
			 "its calls are not recorded: kymo/libkymo-exports-models.so is "
			 "not there, or of another version");
		return false;
	}
	if (strcmp(domain, "nccl") == 0)
		exports_nccl_prepare(model, entries);
	else if (strcmp(domain, "nvrtc") == 0 || strcmp(domain, "hiprtc") == 0)
		exports_rtc_prepare(domain, model, entries);
	else if (strcmp(domain, "ucx") == 0 || strcmp(domain, "openshmem") == 0)
		exports_moves_prepare(domain, model);
	status = table_take(model, &part, 1, &token);
	if (status != KYMO_OK)
		cap_note(2, domain, "its calls are not recorded: %s", kymo_status_text(status));
	return status == KYMO_OK;
}

bool kymo_exports_open(const char *domain, void **entries, uint32_t count)
{
	int saved = errno;
	bool ok;

#if !defined(__x86_64__)
	/* Results of C++ classes are returned by another way than as a first argument. */
	if (strcmp(domain, "oneccl") == 0)
		return false;
#endif
	/* One library stands before all of them, also before those that `kymo run -b` does not name. */
	if (!knob_list_has(variable("KYMO_BACKENDS"), domain))
		return false;
	cap_guard_enter();
	ok = wrap_table(domain, entries, count);
	cap_guard_leave();
	errno = saved;
	return ok;
}

/* What could be recorded, where the models are installed. */
static const kymo_domain_desc_t *description(const char *domain)
{
	struct table_model *model = model_of(domain);

	return model ? table_describe(model) : NULL;
}

CAP_KNOWN_DOMAIN(nccl, description("nccl"));
CAP_KNOWN_DOMAIN(cublas, description("cublas"));
CAP_KNOWN_DOMAIN(cublaslt, description("cublaslt"));
CAP_KNOWN_DOMAIN(cufft, description("cufft"));
CAP_KNOWN_DOMAIN(cudnn, description("cudnn"));
CAP_KNOWN_DOMAIN(nvrtc, description("nvrtc"));
CAP_KNOWN_DOMAIN(hiprtc, description("hiprtc"));
CAP_KNOWN_DOMAIN(numa, description("numa"));
CAP_KNOWN_DOMAIN(ucx, description("ucx"));
CAP_KNOWN_DOMAIN(openshmem, description("openshmem"));
CAP_KNOWN_DOMAIN(vaapi, description("vaapi"));
CAP_KNOWN_DOMAIN(oneccl, description("oneccl"));
