/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses MPI if it is there, and it is not. Prints "no MPI". */
#include <stdio.h>

int MPI_Initialized(int *flag) __attribute__((weak));

int main(void)
{
	int flag = 0;

	if (MPI_Initialized)
		MPI_Initialized(&flag);
	puts(flag ? "MPI" : "no MPI");
	return 0;
}
