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
	.write = rocprofv3_write,
	.sink_free = rp_free,
};
