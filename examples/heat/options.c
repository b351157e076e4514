/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the heat example. */
#include "heat.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const schedule_names[] = {
	[SCHEDULE_GAPS] = "gaps",
	[SCHEDULE_SERIAL] = "serial",
	[SCHEDULE_OVERLAP] = "overlap",
};

static const char usage[] =
	"usage: heat [options]\n"
	"Computes with OpenCL how heat spreads over a plate, and checks the result on the host.\n"
	"\n"
	"  --schedule NAME  how the work is given to the device (default: overlap)\n"
	"                     gaps     the host waits for each command before it sends the next\n"
	"                     serial   no gaps, but nothing overlaps\n"
	"                     overlap  kernels and transfers at the same time\n"
	"  --size N         cells along one side of the plate (default: 1024)\n"
	"  --frames N       pictures of the plate sent to the host (default: 120)\n"
	"  --steps N        time steps from one frame to the next (default: 8)\n"
	"  --device TEXT    use the first device whose name contains TEXT (default: the first)\n"
	"  --help           print this\n"
	"\n"
	"Exit status: 0 if the result is right, 1 if it is wrong or OpenCL failed, 2 on wrong "
	"usage.\n";

const char *schedule_name(enum schedule schedule)
{
	return schedule_names[schedule];
}

static enum schedule parse_schedule(const char *text)
{
	for (size_t i = 0; i < sizeof(schedule_names) / sizeof(*schedule_names); i++)
		if (!strcmp(text, schedule_names[i]))
			return (enum schedule)i;
	fprintf(stderr, "heat: no schedule \"%s\"; there are gaps, serial and overlap\n", text);
	exit(2);
}

static int parse_number(const char *option, const char *text, int min, int max)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value < min || value > max) {
		fprintf(stderr, "heat: --%s needs a number from %d to %d, not \"%s\"\n", option,
			min, max, text);
		exit(2);
	}
	return (int)value;
}

struct options parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{"schedule", required_argument, NULL, 's'},
		{"size", required_argument, NULL, 'n'},
		{"frames", required_argument, NULL, 'f'},
		{"steps", required_argument, NULL, 't'},
		{"device", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct options o = {
		.schedule = SCHEDULE_OVERLAP,
		.size = 1024,
		.frames = 120,
		.steps = 8,
		.rate = 0.2f,
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (option) {
		case 's':
			o.schedule = parse_schedule(optarg);
			break;
		case 'n':
			o.size = parse_number("size", optarg, 3, 16384);
			break;
		case 'f':
			o.frames = parse_number("frames", optarg, 1, 1000000);
			break;
		case 't':
			o.steps = parse_number("steps", optarg, 1, 1000);
			break;
		case 'd':
			o.device = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		default:
			fputs("heat: try --help\n", stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "heat: what is \"%s\"? try --help\n", argv[optind]);
		exit(2);
	}
	return o;
}
