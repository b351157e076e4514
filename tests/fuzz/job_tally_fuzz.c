/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the tables to which ranks of a job have added their tallies. The length of the first in two bytes,
 * the first, the second. What is taken for a table is the same written and read again, also when the second was added to
 * it. The first is, besides, in pieces in the file of a rank.
 */
#include "wire/job_tally.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "fuzz/input.h"
#include "fuzz/raw_pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECE = 300, PIECES = 200 };

static struct raw_pieces base; /* a rank's file without an end */

static void prepare(void)
{
	static const struct wire_tally called[2] = {{.op = 30, .count = 4, .total = 100},
						    {.op = 31, .count = 2, .total = 50}};
	char work[] = "/tmp/kymo-fuzz-job-XXXXXX";
	const struct synth_options o = {.directory = work, .pid = 4242, .rank = 0, .job = "job-7"};
	struct synth *s;
	char path[PATH_MAX];

	if (!mkdtemp(work))
		abort();
	s = synth_open(&o);
	synth_domain(s, &synth_test_domain);
	synth_thread(s, 101, "main");
	synth_clock(s, 1, "device");
	synth_agent(s, 1, "gpu", "Accelerator", 1);
	synth_note(s, 2, "told by each rank", 100);
	synth_tallies(s, 1, called, 2);
	snprintf(path, sizeof(path), "%s", synth_path(s));
	synth_abandon(s);
	base.data = memory_file_load(path, &base.size);
	file_remove_tree(work);
	if (!base.data)
		abort();
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void check_written(const struct job_tally *t)
{
	struct job_tally again;
	size_t bytes, more;
	uint8_t *once = job_tally_encode(t, &bytes), *twice;

	if (!once || !job_tally_decode(&again, once, bytes))
		abort();
	twice = job_tally_encode(&again, &more);
	if (!twice || more != bytes || memcmp(once, twice, bytes) != 0)
		abort();
	job_tally_release(&again);
	free(once);
	free(twice);
}

static void add_tables(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size)
{
	struct job_tally a, b;
	bool good = job_tally_decode(&a, data, size);

	if (good) {
		check_written(&a);
		if (job_tally_decode(&b, other, other_size)) {
			job_tally_merge(&a, &b);
			check_written(&a);
		}
		job_tally_release(&b);
	}
	job_tally_release(&a);
}

/* ---- in a file ------------------------------------------------------------------------------- */

static void add_definition(struct raw_pieces *out, const struct wire_def *d)
{
	size_t n = wire_def_size(d);
	uint8_t *bytes = malloc(n);

	if (!bytes)
		abort();
	wire_def_write(d, bytes);
	raw_pieces_add(out, bytes, n);
	free(bytes);
}

static void add_piece(struct raw_pieces *out, const uint8_t *data, size_t size, size_t at)
{
	struct wire_def d;

	wire_def_init(&d, DEF_JOB_TALLY);
	wire_def_u64(&d, at);
	wire_def_u64(&d, size);
	wire_def_bytes(&d, data + at, size - at < PIECE ? size - at : PIECE);
	add_definition(out, &d);
}

/* That thread 1 has given all of its tallies, and of the process's numbers some. */
static void add_given(struct raw_pieces *out, const uint8_t *data, size_t size)
{
	static const uint32_t threads[] = {1};
	struct wire_def d;

	wire_def_init(&d, DEF_JOB_GIVEN);
	wire_def_bytes(&d, threads, sizeof(threads));
	wire_def_bytes(&d, data, size < JOB_TALLY_TOTALS * 8 ? size : JOB_TALLY_TOTALS * 8);
	add_definition(out, &d);
}

static void read_file(const uint8_t *data, size_t size)
{
	static struct raw_pieces definitions, file;

	definitions.size = file.size = 0;
	add_given(&definitions, data, size);
	for (size_t at = 0; at < size && at < PIECES * PIECE; at += PIECE)
		add_piece(&definitions, data, size, at);
	raw_pieces_add(&file, base.data, base.size);
	raw_pieces_chunk(&file, WIRE_CHUNK_DEFINITIONS, 0, sizeof(struct wire_chunk),
			 definitions.data, definitions.size);
	raw_pieces_read(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	size_t length = input_bytes(&in, 2);
	const uint8_t *first = input_text(&in, &length);

	if (!base.data)
		prepare();
	add_tables(first, length, in.p, input_left(&in));
	read_file(first, length);
	return 0;
}
