/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a library that is at work before it and after it; see early_lib.c. */
__attribute__((visibility("default"))) void early_work(int times);

int main(void)
{
	early_work(7);
	return 5;
}
