/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON document: what is around its records. */
#ifndef FORMATS_ROCPROFV3_DOCUMENT_H
#define FORMATS_ROCPROFV3_DOCUMENT_H

#include <errno.h>

#include "formats/rocprofv3/writer.h"

/* The host is a device, the first of each process. */
static inline uint64_t rp_agent_handle(const struct rp_writer *w, uint32_t agent)
{
	return w->numbers.agents[agent] + UINT64_C(1);
}

/* Texts of markers, which the document has apart from the markers. */
extern const struct rp_form rp_json_texts;

void rp_json_real(struct output *o, double v);
kymo_status_t rp_json_finish(struct rp_writer *w);

#endif
