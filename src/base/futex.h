/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a 32-bit word to change, in one process or in memory that processes share. Leaves errno alone. */
#ifndef BASE_FUTEX_H
#define BASE_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FUTEX_FOREVER UINT64_MAX
#define FUTEX_ALL     INT_MAX

/* Wakes at most `count` threads that wait for the word. */
static inline void futex_wake(_Atomic uint32_t *word, int count)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
	errno = saved;
}

/* Waits while the word is `value`, at most `timeout_ns`; may come back early. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT, value, timeout_ns == FUTEX_FOREVER ? NULL : &t, NULL,
		0);
	errno = saved;
}

#endif
