/* SPDX-License-Identifier: Apache-2.0 */
/* kymo-synth: synthetic traces for test scripts and benchmarks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/synth.h"

int main(int argc, char **argv)
{
	bool packed = argc > 1 && argv[argc - 1][0] == 'z';

	if (argc >= 3 && strcmp(argv[1], "demo") == 0) {
		synth_demo(argv[2], packed);
	} else if (argc >= 5 && strcmp(argv[1], "bulk") == 0) {
		uint32_t threads = (uint32_t)strtoul(argv[3], NULL, 10);

		if (threads == 0 || threads > SYNTH_THREADS) {
			fprintf(stderr, "kymo-synth: 1 to %d threads\n", SYNTH_THREADS);
			return 2;
		}
		synth_bulk(argv[2], threads, (uint32_t)strtoul(argv[4], NULL, 10), packed);
	} else if (argc >= 5 && strcmp(argv[1], "losses") == 0) {
		synth_losses(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
			     argc > 5 ? strtoull(argv[5], NULL, 10) : 0);
	} else if (argc == 5 && strcmp(argv[1], "growth") == 0) {
		if (!synth_growth(argv[2], argv[3], strtoull(argv[4], NULL, 10))) {
			fprintf(stderr, "kymo-synth: kinds are %s\n", synth_growth_kinds);
			return 2;
		}
	} else if (argc == 5 && strcmp(argv[1], "names") == 0) {
		synth_names(argv[2], argv[3], argv[4]);
	} else if (argc >= 3 && strcmp(argv[1], "timed") == 0) { /* of standard input */
		synth_timed(argv[2], stdin,
			    argc > 3 && *argv[3] ? (uint32_t)strtoul(argv[3], NULL, 10) : RANK_NONE,
			    argc > 4 && *argv[4] ? argv[4] : NULL,
			    argc > 5 && *argv[5] ? argv[5] : NULL, argc > 6 ? argv[6] : NULL);
	} else {
		fprintf(stderr,
			"usage: kymo-synth timed DIR [RANK [HOST [COMMAND [JOB]]]] | names DIR "
			"NAME NAME "
			"| growth DIR KIND CALLS | losses DIR EACH END [DAMAGED] | demo DIR [z] | "
			"bulk DIR "
			"THREADS CALLS [z]\n");
		return 2;
	}
	return 0;
}
