/* SPDX-License-Identifier: Apache-2.0 */
/* A library with two versions of a function; see elf_test.c. */
int elf_test_old(void);
int elf_test_new(void);

extern int elf_test_data;
int elf_test_data = 1;

__asm__(".symver elf_test_old, elf_test_function@OLD");
__asm__(".symver elf_test_new, elf_test_function@@NEW");

int elf_test_old(void)
{
	return 1;
}

int elf_test_new(void)
{
	return 2;
}
