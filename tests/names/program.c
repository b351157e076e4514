/* SPDX-License-Identifier: Apache-2.0 */
/* All that a program can name by markers is called as the two arguments say. */
#include <stdio.h>

#include <kymo/marker.h>

static void use(const char *name)
{
	kymo_payload_t payload[] = {kymo_text(name, name)};
	kymo_marker_t m = {.size = sizeof(m), .name = name, .payload = payload, .payload_count = 1};

	kymo_mark(name);
	kymo_range_push(name);
	kymo_mark_full(&m);
	kymo_range_pop();
	kymo_name_thread(name);
	kymo_name(KYMO_OBJECT_PROCESS, NULL, 0, name);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc && i < 3; i++)
		use(argv[i]);
	return 0;
}
