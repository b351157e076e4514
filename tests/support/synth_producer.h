/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A traced process without anything to trace: makes a shared buffer by the book (wire/shm.h), says
 * hello to a drain and writes records from several threads. It keeps its own account of what it
 * committed in memory that outlives it, so that a test can kill it at any time and compare.
 */
#ifndef SUPPORT_SYNTH_PRODUCER_H
#define SUPPORT_SYNTH_PRODUCER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/shm.h"

#define SYNTH_THREADS 16

/* Shared with the test. */
struct synth_account {
	_Atomic uint32_t connected;
	_Atomic uint32_t drain_failed; /* the drain said it cannot write; threads stopped */
	_Atomic uint64_t committed[SYNTH_THREADS];
	_Atomic uint64_t total;
};

struct synth {
	const char *socket;
	unsigned threads;
	uint64_t records; /* of each thread; 0: for ever */
	uint32_t chunk_size;
	uint32_t chunks;
	unsigned open_calls;          /* left open by each thread */
	enum shm_process_state state; /* set at the end */
	bool linger;                  /* stay alive after the last record */
	struct synth_account *account;
};

struct synth_account *synth_account_new(void);

/* In a child of a test: faults end the process, instead of going on with cmocka's next test. */
void synth_own_faults(void);

/* Forks the process. */
pid_t synth_start(const struct synth *s);

/* In this process: makes the buffer and says hello. NULL: refused; *status is what the drain said. */
struct shm_header *synth_connect(const struct synth *s, int *memfd, int *status);

/* Writes the records of all threads into a connected buffer; returns when they are written. */
void synth_write(const struct synth *s, struct shm_header *h);

/* A buffer without a connection, for tests that connect in a wrong way. */
struct shm_header *synth_buffer(const struct synth *s, int *memfd);
int synth_dial(const char *socket);
/* Only sends it. */
bool synth_say(int fd, const struct shm_hello *hello, size_t bytes, int memfd);
/* Sends hello with `memfd` (-1: none) and returns the status of the welcome, -1000: no welcome. */
int synth_hello(int fd, const struct shm_hello *hello, size_t bytes, int memfd);

/*
 * Parts of a buffer that the caller has laid out itself. Kymo has no such functions: whoever believes
 * the header of memory that another process can write computes addresses of that process's choice.
 */
static inline struct shm_chunk_ctl *shm_ctl(const struct shm_header *h)
{
	return (struct shm_chunk_ctl *)((uint8_t *)(uintptr_t)h + h->ctl_offset);
}

static inline struct shm_thread *shm_threads(const struct shm_header *h)
{
	return (struct shm_thread *)((uint8_t *)(uintptr_t)h + h->threads_offset);
}

static inline struct wire_chunk *shm_chunk(const struct shm_header *h, uint32_t i)
{
	return (struct wire_chunk *)((uint8_t *)(uintptr_t)h + h->chunks_offset +
				     (size_t)i * h->chunk_size);
}

#endif
