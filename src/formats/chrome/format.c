/* SPDX-License-Identifier: Apache-2.0 */
/* The Chrome trace format: JSON that chrome://tracing, Perfetto, Kineto (PyTorch) read or write. */
#include "formats/chrome/chrome.h"

extern const struct format format_chrome;
const struct format format_chrome = {
	.name = "chrome",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.summary = "Chrome trace events as JSON, of Kineto (PyTorch), Perfetto and others, or gzip "
		   "of it",
	.suffix = ".json",
	.probe = chrome_probe,
	.read = chrome_read,
	.write = chrome_write,
	.has_rows = true,
	.sink_free = chrome_sink_free,
};
