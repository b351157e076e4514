/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target, where there is no libFuzzer. The files that are named, then for so many seconds mutations of them, the
 * same ones each time, so that what was green stays so; KYMO_FUZZ_SEED=NUMBER makes others. An input that ends it, or
 * takes a minute of a processor, which no load of the machine makes longer, is left in a file beside the working
 * directory's others, which the target without a fuzzer repeats: mini_fuzz_NAME FILE.
 *
 *	timed_fuzz_NAME SECONDS FILE...
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 64, INPUT_SECONDS = 60 };

static struct {
	uint8_t *data;
	size_t size;
} files[FILES];

static uint64_t seed;
static const uint8_t *input; /* what runs */
static size_t input_size;
static char left[200];

static uint32_t roll(size_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 33) % below);
}

static void on_end(int sig)
{
	int fd = open(left, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd >= 0 && write(fd, input, input_size) == (ssize_t)input_size)
		(void)!write(2, left, strlen(left));
	(void)!write(2, ": the input that ended it\n", 26);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Of its own time, so that SIGPROF comes. */
static void set_limit(unsigned seconds)
{
	setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

static void run(const uint8_t *data, size_t size)
{
	input = data;
	input_size = size;
	set_limit(INPUT_SECONDS);
	LLVMFuzzerTestOneInput(data, size);
	set_limit(0);
}

static void mutate(uint8_t *data, size_t size, const uint8_t *other, size_t other_size)
{
	static const uint8_t values[] = {0,    1,    2,   5,   13,  0x7f, 0x80,
					 0xfe, 0xff, '"', '{', ']', '-',  '9'};
	size_t at = roll(size), n = 1 + roll(64), from = roll(other_size);

	n = n < size - at ? n : size - at;
	n = n < other_size - from ? n : other_size - from;
	switch (roll(5)) {
	case 0:
		data[at] ^= (uint8_t)(1u << roll(8));
		break;
	case 1:
		data[at] = values[roll(sizeof(values))];
		break;
	case 2:
		data[at] = (uint8_t)roll(256);
		break;
	case 3:
		memset(data + at, values[roll(sizeof(values))], n);
		break;
	default:
		memcpy(data + at, other + from, n);
	}
}

static void run_mutation(unsigned count)
{
	unsigned one = roll(count), two = roll(count);
	size_t size = files[one].size;
	uint8_t *data = malloc(size);

	if (!data)
		return;
	memcpy(data, files[one].data, size);
	for (unsigned k = 1 + roll(8); k; k--)
		mutate(data, size, files[two].data, files[two].size);
	run(data, roll(8) ? size : roll(size));
	free(data);
}

static unsigned load(int argc, char **argv)
{
	unsigned count = 0;

	for (int i = 2; i < argc && count < FILES; i++) {
		files[count].data = memory_file_load(argv[i], &files[count].size);
		if (!files[count].data || !files[count].size) {
			perror(argv[i]);
			return 0;
		}
		run(files[count].data, files[count].size);
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};
	const char *name = strrchr(argv[0], '/'), *chosen = getenv("KYMO_FUZZ_SEED");
	unsigned long runs = 0;
	struct timespec now, end;
	unsigned count;

	seed = (chosen ? strtoull(chosen, NULL, 0) * 2 : 0x2545f4914f6cdd1cu) | 1;
	snprintf(left, sizeof(left), "%s-%016llx.input", name ? name + 1 : argv[0],
		 (unsigned long long)seed);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		signal(ends[i], on_end);
	count = load(argc, argv);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += argc > 1 ? atoi(argv[1]) : 0;
	do {
		if (!count)
			return 1;
		run_mutation(count);
		runs++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	printf("%u files, %lu mutations of them\n", count, runs);
	return 0;
}
