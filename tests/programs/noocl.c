/* SPDX-License-Identifier: Apache-2.0 */
/* A program without any OpenCL: to be left alone. `noocl N` exits with status N. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	printf("noocl: ok\n");
	return argc > 1 ? atoi(argv[1]) : EXIT_SUCCESS;
}
