/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process, three children of it at the same time and a child of each, all of which make 1,000
 * marks before and 1,000 after they fork.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/marker.h>

static void marks(const char *name)
{
	for (int i = 0; i < 1000; i++)
		kymo_mark(name);
}

static void await(int children)
{
	int status;

	while (children--)
		if (wait(&status) < 0 || status != 0)
			exit(1);
}

static void family(const char *const *names, int children)
{
	marks(names[0]);
	for (int i = 0; i < children; i++) {
		if (fork() == 0) {
			family(names + 1, names[2] ? 1 : 0);
			exit(0);
		}
	}
	marks(names[0]);
	await(children);
}

int main(void)
{
	static const char *const names[] = {"parent", "child", "grandchild", NULL};

	family(names, 3);
	return 5;
}
