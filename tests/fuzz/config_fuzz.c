/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a configuration file of `kymo run`, and as a preset. It is refused with a reason, or each value
 * that it sets, as the user would write it, is taken again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/knob.h"
#include "base/run_options.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void taken_again(struct knob_table *t)
{
	char text[4096], error[KNOB_ERROR_MAX];

	for (unsigned row = 0; row < t->count; row++)
		if (t->source[row] != KNOB_DEFAULT && knob_text(t, row, text, sizeof(text)) &&
		    strlen(text) < sizeof(text) - 1 &&
		    !knob_set(t, row, text, KNOB_ARGUMENT, error))
			abort();
}

static void read_with(bool (*parse)(struct knob_table *, const char *, char *), const char *path)
{
	char error[KNOB_ERROR_MAX] = "";

	knob_defaults(&run_options_table);
	if (parse(&run_options_table, path, error))
		taken_again(&run_options_table);
	else if (!error[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file;
	char error[KNOB_ERROR_MAX] = "", **jobs;

	if (!file.path[0] && !memory_file_open(&file))
		abort();
	if (!memory_file_set(&file, data, size))
		return 0;
	jobs = knob_config_jobs(file.path, error);
	for (char **j = jobs; j && *j; j++) {
		knob_choose_job(*j);
		read_with(knob_parse_config, file.path);
	}
	for (char **j = jobs; j && *j; j++)
		free(*j);
	free(jobs);
	knob_choose_job(NULL);
	read_with(knob_parse_config, file.path);
	read_with(knob_parse_preset, file.path);
	return 0;
}
