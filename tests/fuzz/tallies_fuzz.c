/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any tallies of a thread, and lines that it keeps up to date, in the file of a process that has given some of
 * them to the table of its job. A piece begins with a byte: PIECE_TALLY and then what take_tally() takes; PIECE_LINE and 64 bytes,
 * whose check is made right. What follows the last piece stands behind the tallies as it is.
 */
#include "wire/tally.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "fuzz/input.h"
#include "fuzz/raw_pieces.h"
#include "wire/job_tally.h"
#include "wire/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECE_TALLY = 1, PIECE_LINE = 2, PIECES = 400, THREADS = 2 };

static struct raw_pieces base; /* definitions and no end: what stays the same */

/* ---- the file that they are in --------------------------------------------------------------- */

static void define_objects(struct synth *s)
{
	static const char *const texts[] = {"solve", "app", "phase", "MPI_DOUBLE"};
	struct wire_def d;

	synth_domain(s, &synth_test_domain);
	for (uint32_t i = 1; i <= THREADS; i++)
		synth_thread(s, 100 + i, "worker");
	synth_clock(s, 1, "device");
	for (uint32_t i = 1; i <= 2; i++) {
		synth_agent(s, i, "gpu", i == 1 ? "One" : "Two", 1);
		synth_context(s, i, 0xc0 + i);
		synth_queue(s, i, i, i, 0, "");
		synth_kernel(s, i, i == 1 ? "first" : "second", 0);
	}
	for (uint32_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		wire_def_init(&d, DEF_STRING);
		wire_def_u64(&d, i + 1);
		wire_def_string(&d, texts[i]);
		wire_def_u64(&d, strlen(texts[i]));
		synth_define(s, &d);
	}
}

/* The table of the job, which is of no use, and that all of thread 2 is in it. */
static void define_job(struct synth *s)
{
	static const uint32_t threads[] = {2};
	struct job_tally table;
	struct wire_def d;
	size_t bytes;
	uint8_t *data;

	job_tally_init(&table);
	table.total[JOB_TALLY_RANKS] = 1;
	data = job_tally_encode(&table, &bytes);
	wire_def_init(&d, DEF_JOB_TALLY);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, bytes);
	wire_def_bytes(&d, data, bytes);
	synth_define(s, &d);
	free(data);
	job_tally_release(&table);
	wire_def_init(&d, DEF_JOB_GIVEN);
	wire_def_bytes(&d, threads, sizeof(threads));
	synth_define(s, &d);
}

static void prepare(void)
{
	char work[] = "/tmp/kymo-fuzz-tallies-XXXXXX";
	const struct synth_options o = {.directory = work, .pid = 4242, .rank = RANK_NONE};
	struct wire_tally none = {.op = 0};
	struct synth *s;
	char path[PATH_MAX];

	if (!mkdtemp(work))
		abort();
	s = synth_open(&o);
	define_objects(s);
	define_job(s);
	synth_tallies(s, 1, &none, 1); /* definitions go before it */
	snprintf(path, sizeof(path), "%s", synth_path(s));
	synth_abandon(s);
	base.data = memory_file_load(path, &base.size);
	file_remove_tree(work);
	if (!base.data)
		abort();
}

/* ---- what is in it ---------------------------------------------------------------------------- */

/* Its numbers in the order of the structures; then, until one is out of range, buckets and how many are in them. */
static void take_tally(struct input *in, struct raw_pieces *out)
{
	struct wire_tally y = {.op = (uint32_t)input_number(in),
			       .flags = (uint32_t)input_number(in)};
	struct wire_work w = {.kind = (uint32_t)input_number(in),
			      .thread = (uint32_t)input_number(in)};
	uint64_t *numbers[] = {&y.count,         &y.errors, &y.total,    &y.self, &y.min,
			       &y.max,           &w.bytes,  &w.received, &w.wait, &w.untimed,
			       &w.untimed_bytes, &w.frees,  &w.freed,    &w.peak};

	for (unsigned i = 0; i < WIRE_WORK_KEYS; i++)
		w.key[i] = (uint32_t)input_number(in);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		*numbers[i] = input_number(in);
	while (input_left(in)) {
		uint64_t bucket = input_bytes(in, 2);

		if (bucket >= WIRE_TALLY_BUCKETS)
			break;
		y.histogram[bucket] = (uint32_t)input_number(in);
	}
	raw_pieces_add(out, &y, sizeof(y));
	if (y.flags & WIRE_TALLY_WORK)
		raw_pieces_add(out, &w, sizeof(w));
}

static void take_line(struct input *in, struct raw_pieces *out)
{
	size_t length = sizeof(struct wire_line);
	const uint8_t *bytes = input_text(in, &length);
	struct wire_line line = {.kind = 0};

	memcpy(&line, bytes, length);
	if (line.kind == WIRE_LINE_FLIGHT && line.state)
		atomic_store(&line.state, wire_flight_check(line.op, &line.flight));
	raw_pieces_add(out, &line, sizeof(line));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct raw_pieces tallies, lines, file;
	struct input in = {data, data + size};

	if (!base.data)
		prepare();
	tallies.size = lines.size = file.size = 0;
	for (unsigned i = 0; i < PIECES && in.p < in.end; i++) {
		if (*in.p != PIECE_TALLY && *in.p != PIECE_LINE)
			break;
		if (*in.p++ == PIECE_TALLY)
			take_tally(&in, &tallies);
		else
			take_line(&in, &lines);
	}
	raw_pieces_add(&tallies, in.p, input_left(&in));
	raw_pieces_add(&file, base.data, base.size);
	for (uint32_t thread = 1; thread <= THREADS; thread++)
		raw_pieces_chunk(&file, WIRE_CHUNK_TALLY, thread, sizeof(struct wire_chunk),
				 tallies.data, tallies.size);
	raw_pieces_chunk(&file, WIRE_CHUNK_LIVE, 0, WIRE_LIVE_HEADER, lines.data, lines.size);
	raw_pieces_read(&file);
	return 0;
}
