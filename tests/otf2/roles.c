/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the role of each "domain operation" that standard input names, for test_roles.py. */
#include <stdio.h>

#include "formats/otf2/roles.h"

int main(void)
{
	char domain[100], name[400];

	while (scanf("%99s %399[^\n]", domain, name) == 2) {
		const struct role *r = role_of(domain, name);

		printf("%s\t%s\t%s\t%s\t%d\n", domain, name, r ? role_name(r->role) : "none",
		       r && r->device ? "device" : "host", r ? r->task : 0);
	}
	return 0;
}
