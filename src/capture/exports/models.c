/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptions of all libraries; see models.h. */
#include <string.h>

#include "capture/exports/models.h"

__attribute__((visibility("default"))) struct table_model *kymo_exports_model(const char *domain);

static const char *name_of(const struct packed *p)
{
	const struct packed_domain *d = packed_at(p, p->domains);

	return packed_text(p, d->name);
}

struct table_model *kymo_exports_model(const char *domain)
{
	static struct table_model *const models[] = {
		&exports_model_nccl,      &exports_model_cublas, &exports_model_cublaslt,
		&exports_model_cufft,     &exports_model_cudnn,  &exports_model_nvrtc,
		&exports_model_hiprtc,    &exports_model_numa,   &exports_model_ucx,
		&exports_model_openshmem, &exports_model_vaapi,  &exports_model_oneccl};

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strcmp(name_of(models[i]->packed), domain) == 0)
			return models[i];
	return NULL;
}
