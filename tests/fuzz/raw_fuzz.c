/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a raw file, read in both orders into the text and the JSON writer.
 * Checksums of blocks are made right first, because otherwise nothing would get past them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/raw/read.h"
#include "support/memory_file.h"

extern const struct format format_raw, format_text, format_json;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend_checksums(uint8_t *data, size_t size)
{
	size_t at = sizeof(struct raw_header);
	struct raw_block b;

	while (at + sizeof(b) <= size) {
		memcpy(&b, data + at, sizeof(b));
		if (b.magic != RAW_BLOCK_MAGIC || b.stored > size - at - sizeof(b)) {
			at++;
			continue;
		}
		b.checksum = XXH3_64bits(data + at + sizeof(b), b.stored);
		memcpy(data + at, &b, sizeof(b));
		at += sizeof(b) + b.stored;
	}
}

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static struct stream_log quiet = {ignore};

static void read_with(const char *path, const struct format *writer, bool ordered, bool entry_exit)
{
	struct format_options o = {
		.output = "/dev/null", .force = true, .entry_exit = entry_exit, .log = &quiet};
	struct stream_sink *sink;

	if (writer->write(&o, &sink) != KYMO_OK)
		abort();
	format_raw.read(path, NULL, ordered, sink, &o);
	writer->sink_free(sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file;
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return 0;
	if (!file.path[0] && !memory_file_open(&file))
		abort();
	memcpy(copy, data, size);
	mend_checksums(copy, size);
	if (memory_file_set(&file, copy, size)) {
		read_with(file.path, &format_text, true, size & 1);
		read_with(file.path, &format_json, false, false);
	}
	free(copy);
	return 0;
}
