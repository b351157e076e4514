/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of XLA, JAX and TensorFlow (XSpace), which xprof and TensorBoard show. */
#include "formats/xspace/xspace.h"

extern const struct format format_xspace;
const struct format format_xspace = {
	.name = "xspace",
	.summary = "profiles of JAX, TensorFlow, XLA (.xplane.pb) with scope ids, for xprof and "
		   "TensorBoard; samples, contexts, sources and handles have no place",
	.suffix = XSPACE_SUFFIX,
	.probe = xspace_probe,
	.read = xspace_read,
	.write = xspace_write,
	.sink_free = xspace_sink_free,
};
