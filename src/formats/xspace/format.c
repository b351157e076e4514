/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of XLA, JAX and TensorFlow (XSpace), which xprof and TensorBoard show. */
#include <string.h>

#include "formats/xspace/xspace.h"

#define TIMED "xplane.proto, XEvent: an event has a time"
static const struct format_kind kinds[] = {
	{"dispatch", FORMAT_KEEPS_PART, "kernels without device times", TIMED},
	{"copy", FORMAT_KEEPS_PART, "copies without device times", TIMED},
	{"sample", FORMAT_LEAVES, NULL,
	 "xplane.proto: there is no record of a sample; each would be an event of its line"},
	{"device_sample", FORMAT_LEAVES, NULL, "xplane.proto, likewise"},
	{"*", FORMAT_KEEPS_ALL, NULL, NULL},
	{0}};

/* A folder as TensorBoard has it. */
static bool is_variant(const char *variant, bool *folder)
{
	*folder = strcmp(variant, "folder") == 0;
	return *folder;
}

extern const struct format format_xspace;
const struct format format_xspace = {
	.name = "xspace",
	.summary = "profiles of JAX, TensorFlow, XLA (.xplane.pb) with scope ids, for xprof and "
		   "TensorBoard; samples, contexts, sources and handles have no place",
	.suffix = XSPACE_SUFFIX,
	.variants = "folder (as TensorBoard wants it, a file a host; also with -o DIR/)",
	.variant = is_variant,
	.probe = xspace_probe,
	.read = xspace_read,
	.kinds = kinds,
	.write = xspace_write,
	.sink_free = xspace_sink_free,
};
