/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a selection, each choice a text that NUL ends, in the order of TEXTS. It is refused, or what it
 * is in words is the same selection again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stream/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT(member) offsetof(struct stream_filter_spec, member)

static const size_t texts[] = {
	TEXT(domains), TEXT(ops),   TEXT(exclude), TEXT(kernels), TEXT(no_kernels), TEXT(processes),
	TEXT(threads), TEXT(ranks), TEXT(nodes),   TEXT(devices), TEXT(queues),     TEXT(ranges),
	TEXT(during),  TEXT(sites), TEXT(memory),  TEXT(after),   TEXT(before)};

static unsigned told;

static void count(struct stream_log *l, int severity, const char *text)
{
	told += severity == 3; /* an error */
}

static char *words(const struct stream_filter_spec *spec, struct stream_log *log)
{
	struct stream_filter *f = NULL;
	char *text = NULL;

	told = 0;
	if (stream_filter_new(spec, log, &f) == KYMO_OK) {
		if (!f)
			abort();
		stream_filter_traces(f, 2);
		(void)stream_filter_in_part(f);
		(void)stream_filter_only_when(f);
		(void)stream_filter_reads_fields(f);
		text = stream_filter_text(f);
		if (!text)
			abort();
		stream_filter_free(f);
	} else if (!told) {
		abort(); /* nobody knows why */
	}
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stream_log log = {count};
	struct stream_filter_spec spec = {.inside = size & 1};
	char *copy = malloc(size + 1), *first, *second, *at = copy;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && at < copy + size; i++) {
		if (*at)
			memcpy((char *)&spec + texts[i], &at, sizeof(at));
		at += strlen(at) + 1;
	}
	first = words(&spec, &log);
	second = first ? words(&spec, &log) : NULL;
	if (first && (!second || strcmp(first, second) != 0))
		abort();
	free(first);
	free(second);
	free(copy);
	return 0;
}
