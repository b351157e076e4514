/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of libraries of plain functions (launch/launch.h). */
#include <stdio.h>

#include "launch/launch.h"

#define DOOR  "libkymo-exports.so"
#define NAMED "libkymo-exports-named.so"

#define PLAIN "nccl", "cublas", "cublaslt", "cufft", "cudnn", "nvrtc", "hiprtc"

/* Recorded only where they are named: others are built on them, whose calls and messages are recorded already. */
static const struct named {
	const char *domain, *library, *package;
} named[] = {
	{"numa", "libnuma.so.1", "libnuma1"},
	{"ucx", "libucp.so.0", "libucx0"},
	{"openshmem", "liboshmem.so.40", "libopenmpi3"},
	{"vaapi", "libva.so.2", "libva2"},
	{"oneccl", "libccl.so.1", NULL},
};
enum { NAMED_COUNT = sizeof(named) / sizeof(named[0]) };

static const struct kymo_launch plain = {.domains = (const char *const[]){PLAIN, NULL}};

/* They are entered by their names, whichever of them a program will turn out to have. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	bool any = false;

	for (unsigned i = 0; i < NAMED_COUNT; i++)
		any |= launch_names(e, named[i].domain);
	if (launch_wants(e, &plain))
		launch_preload(e, LAUNCH_LIBRARY, DOOR);
	if (any)
		launch_preload(e, LAUNCH_LIBRARY, NAMED);
	return true;
}

static void doctor(const struct launch_doctor *d)
{
	for (unsigned i = 0; i < NAMED_COUNT; i++) {
		const struct named *n = &named[i];
		const bool here = launch_first_that_loads((const char *const[]){n->library, NULL});
		char text[160];

		if (here)
			snprintf(text, sizeof(text), "%s is recorded on request: --backends %s%s",
				 n->library, n->domain,
				 n->package ? "" : "; tried without the library, unproven");
		else if (n->package)
			snprintf(text, sizeof(text), "none here (Debian: %s)", n->package);
		else
			snprintf(text, sizeof(text), "none here; support for it is unproven");
		d->say(LAUNCH_GOOD, n->domain, text);
	}
}

const struct kymo_launch kymo_launch_exports = {
	.domains =
		(const char *const[]){PLAIN, "numa", "ucx", "openshmem", "vaapi", "oneccl", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" DOOR, "/" NAMED, NULL},
	.doctor = doctor,
	.told = 94,
};
