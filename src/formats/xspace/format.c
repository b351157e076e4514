/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of XLA, JAX and TensorFlow (XSpace), which xprof and TensorBoard show. */
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

extern const struct format format_xspace;
const struct format format_xspace = {
	.name = "xspace",
	.summary = "profiles of JAX, TensorFlow, XLA (.xplane.pb) with scope ids, for xprof and "
		   "TensorBoard; samples, contexts, sources and handles have no place",
	.suffix = XSPACE_SUFFIX,
	.probe = xspace_probe,
	.read = xspace_read,
	.kinds = kinds,
	.write = xspace_write,
	.sink_free = xspace_sink_free,
};
