/* SPDX-License-Identifier: Apache-2.0 */
/* Marks three times, runs the program that its arguments name, ends with 5: built with each sanitizer. */
#include <kymo/marker.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OWN_OPTIONS
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 0; i < 3; i++)
		kymo_mark("sanitized");
	if (argc > 1) {
		if (fork() == 0) {
			execv(argv[1], argv + 1);
			_exit(99);
		}
		wait(&status);
		printf("child %d\n", WEXITSTATUS(status));
	}
	return 5;
}
