/* SPDX-License-Identifier: Apache-2.0 */
/* rocprofv3's outputs; see rocprofv3.h. */
#include <string.h>

#include "formats/rocprofv3/reader.h"
#include "formats/rocprofv3/writer.h"

static bool is_json(const char *variant)
{
	return variant && strcmp(variant, "json") == 0;
}

static bool is_variant(const char *variant, bool *folder)
{
	*folder = !is_json(variant);
	return is_json(variant) || strcmp(variant, "csv") == 0;
}

static kymo_status_t rocprofv3_write(const struct format_options *o, struct stream_sink **sink)
{
	return rp_write(o, is_json(o->variant) ? &rp_json : &rp_csv, sink);
}

#define SOURCE "rocprofiler-sdk, generateCSV.cpp: "
/* Of the CSV files; the JSON document has sizes of copies and arguments of calls besides. */
static const struct format_kind kinds[] = {
	{"call", FORMAT_KEEPS_PART, "arguments of calls; statuses of calls that failed",
	 SOURCE "a call has 7 columns, none of them for arguments"},
	{"dispatch", FORMAT_KEEPS_PART,
	 "offsets of kernels; dynamic shared memory, clusters and graphs of kernels; kernels "
	 "without device times",
	 SOURCE "columns of kernel_trace"},
	{"copy", FORMAT_KEEPS_PART,
	 "sizes of copies; fills; page faults; copies without device times",
	 SOURCE "columns of memory_copy_trace"},
	{"allocation", FORMAT_KEEPS_PART, "numbers and contexts of allocations",
	 SOURCE "columns of memory_allocation_trace"},
	{"marker", FORMAT_KEEPS_PART, "payloads, colors and domains of annotations",
	 SOURCE "a marker has its text and its times"},
	{"counter", FORMAT_KEEPS_PART, NULL, SOURCE "counter_collection is of kernels"},
	{"*", FORMAT_LEAVES, NULL, SOURCE "no file for it"},
	{0}};

extern const struct format format_rocprofv3;
const struct format format_rocprofv3 = {
	.name = "rocprofv3",
	.summary = "CSV files, or JSON, with the names and members of AMD's rocprofv3",
	.suffix = "",
	.variants = "csv (the default, a directory of files), json",
	.variant = is_variant,
	.variant_suffix = "_results.json",
#ifdef KYMO_HAVE_ZLIB
	.probe = rp_probe,
	.read = rp_read,
#endif
	.kinds = kinds,
	.write = rocprofv3_write,
	.sink_free = rp_free,
};
