/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the drain sleeps: until a producer rings (futex word in its shared buffer), a descriptor of
 * the drain's epoll set is ready, or time is up, all in one system call of the drain's thread. A
 * second thread, which never touches data, turns readiness of the epoll set into a futex wake.
 * Where the kernel has no futex_waitv() the drain looks every two milliseconds.
 */
#ifndef DRAIN_SLEEPER_H
#define DRAIN_SLEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "drain/producer.h"

struct waiter {
	int epoll;
	bool vector; /* futex_waitv() works and the second thread runs */
	_Atomic uint32_t ready;
};

void waiter_init(struct waiter *s, int epoll);

/* Sleeps at most `ms`; returns early when there is something to do, or for no reason. */
void waiter_wait(struct waiter *s, const struct producer *producers, int ms);

#endif
