/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between threads of a program and the drain over the chunks of a shared buffer (src/wire/shm.h), for spin: threads take
 * chunks from a free list, fill them and hand them over; the drain looks for full ones, writes them into the file and gives them back.
 * The program may be killed at any step, and so may the drain, once: another goes on from what is in memory and in the file.
 *
 * Proved for so many threads, records and chunks (see test_model.py), with steps one after the other as the processor sees them: what
 * compilers and processors reorder is not modelled.
 *   - no chunk belongs to two; each record is in the file once, or counted as lost or overwritten, and never both;
 *   - what a killed thread had recorded is in the file, and nothing of what it was writing;
 *   - chunks of a thread reach the file in the order in which they were filled;
 *   - after an end without a kill all chunks are free;
 *   - with WAIT: threads wait for room for ever rather than lose, and none waits in vain.
 *
 * WAIT: a policy of blocking without a limit. RECORDER: a flight recorder. BROKEN_...: a step left out, which must be found.
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif
#ifndef RECORDS
#define RECORDS 2 /* of a thread */
#endif
#ifndef ROOM
#define ROOM 1 /* records of a chunk */
#endif
#define NONE      CHUNKS
#define THRESHOLD 2 /* chunks handed over for which the drain is woken */

#define FREE	0
#define FILLING 1
#define FULL	2
#define TAKEN	3
#define READING 4

/* ---- shared memory ---- */

byte state[CHUNKS], next[CHUNKS], stamp[CHUNKS];
byte head = NONE, tag; /* one word */
byte handed, freed, waiters, bell, stamps, flush_asked, flushed;
byte lost[THREADS];	   /* a bit for each record */
byte overwritten[THREADS]; /* the same */

/* A chunk's header and contents; `thread` is 0 in one that is zeroed. */
byte thread_of[CHUNKS], seq_of[CHUNKS];
byte whole[CHUNKS];   /* records whose bytes are there */
byte content[CHUNKS]; /* records that are committed */
bool begun[CHUNKS];   /* `committed` is not 0 */

/* ---- the program's own memory ---- */

bool mine[CHUNKS];
byte done[THREADS]; /* records whose call has returned */

/* ---- the file ---- */

byte filed[THREADS];  /* records */
byte blocks[THREADS]; /* chunks, by sequence */
byte newest[THREADS];

/* ---- who lives, who sleeps ---- */

bool killed;	/* the program */
byte running;	/* threads that have not ended */
bool drain_dead; /* the first one */
bool drained;	/* the end */
bool asleep[THREADS]; /* on `freed` */
bool drain_asleep;    /* on `bell` */

#define BIT(n) (1 << (n))

/* ---- threads ---- */

inline push(i, old, old_tag)
{
	do
	:: atomic {
		old = head;
		old_tag = tag
	   }
	   next[i] = old;
	   if
	   :: atomic {
		head == old && tag == old_tag ->
		head = i;
		tag++
	      }
	      break
	   :: else
	   fi
	od
}

/* c: the chunk, or NONE. */
inline pop(c, old_tag, after)
{
	do
	:: atomic {
		c = head;
		old_tag = tag
	   }
	   if
	   :: c == NONE -> break
	   :: else
	   fi;
	   after = next[c];
	   if
#ifdef BROKEN_TAG
	   :: atomic {
		head == c ->
		head = after
	      }
#else
	   :: atomic {
		head == c && tag == old_tag ->
		head = after;
		tag++
	      }
#endif
	      break
	   :: else
	   fi
	od;
	if
	:: c != NONE -> atomic {
		assert(!mine[c]);
		mine[c] = true
	   }
	:: else
	fi
}

inline clear(c)
{
	atomic {
		begun[c] = false;
		content[c] = 0;
		whole[c] = 0
	}
}

inline ring_bell()
{
	bell++;
	drain_asleep = false /* futex_wake() */
}

/* The oldest full chunk; NONE: all are being filled or read. */
inline overwrite(c, i, oldest)
{
	do
	:: c = NONE;
	   i = 0;
	   do
	   :: i < CHUNKS ->
		if
		:: state[i] == FULL && (c == NONE || stamp[i] < oldest) ->
			c = i;
			oldest = stamp[i]
		:: else
		fi;
		i++
	   :: else -> break
	   od;
	   if
	   :: c == NONE -> break
	   :: else
	   fi;
	   if
	   :: atomic {
		state[c] == FULL && !mine[c] ->
		state[c] = TAKEN
	      }
	      atomic {
		assert(!mine[c]);
		mine[c] = true
	      }
	      overwritten[thread_of[c] - 1] = overwritten[thread_of[c] - 1] | content[c];
	      clear(c)
	      break
	   :: else
	   fi
	od
}

inline get(c, a, b)
{
	do
	:: a = freed;
#ifdef WAIT
	   seen = a;
#endif
	   pop(c, a, b);
#ifdef RECORDER
	   if
	   :: c == NONE -> overwrite(c, a, b)
	   :: else
	   fi;
#endif
#ifdef WAIT
	   if
	   :: c != NONE -> break
	   :: else
	   fi;
	   waiters++;
#ifndef BROKEN_BELL
	   ring_bell();
#endif
	   atomic { /* futex_wait() */
		if
		:: freed == seen -> asleep[t] = true
		:: else
		fi
	   }
	   !asleep[t];
	   waiters--
#else
	   break
#endif
	od;
	if
	:: c != NONE -> state[c] = FILLING
	:: else
	fi
}

inline begin(c)
{
	thread_of[c] = t + 1;
	seq_of[c] = seq;
	begun[c] = true;
	seq++;
	used = 0
}

inline put(c)
{
	atomic {
		stamps++;
		stamp[c] = stamps
	}
	mine[c] = false;
	state[c] = state[c] - FILLING + FULL;
#ifndef RECORDER
	atomic {
		handed++;
		a = handed
	}
	if
#ifdef BROKEN_HANDED
	:: a % THRESHOLD == 0 -> ring_bell()
#else
	:: a % THRESHOLD == 0 || waiters > 0 -> ring_bell()
#endif
	:: else
	fi;
#endif
	c = NONE
}

inline commit(c)
{
	atomic {
		content[c] = content[c] | BIT(n);
		done[t] = done[t] | BIT(n)
	}
}

/* A thread that is killed leaves one that is not whole. */
inline record(c)
{
#ifdef BROKEN_COMMIT
	commit(c);
	whole[c] = whole[c] | BIT(n);
#else
	whole[c] = whole[c] | BIT(n);
	commit(c);
#endif
	used++
}

#ifdef KILL_PROGRAM
proctype program(byte t) provided (!killed)
#else
proctype program(byte t)
#endif
{
	byte c = NONE, n = 0, seq = 1, used = 0, a, b;
#ifdef WAIT
	byte seen;
#endif

	do
	:: n == RECORDS -> break
	:: else ->
		if
		:: c != NONE && used == ROOM -> put(c)
		:: else
		fi;
		if
		:: c == NONE ->
			get(c, a, b);
			if
			:: c != NONE -> begin(c)
			:: else
			fi
		:: else
		fi;
		if
		:: c != NONE -> record(c)
		:: else -> atomic {
			lost[t] = lost[t] | BIT(n);
			done[t] = done[t] | BIT(n)
		   }
		fi;
#ifdef RECORDER
		if
		:: flush_asked == 0 ->
			flush_asked = 1;
			ring_bell()
		:: true
		fi;
#endif
		n++
	od;
	if
	:: c != NONE -> put(c)
	:: else
	fi;
	running--
}

/* ---- the drain ---- */

bool looked[CHUNKS], sure[CHUNKS], taken[CHUNKS];
byte stamp_looked[CHUNKS];
byte thread_found[CHUNKS], seq_found[CHUNKS];
byte i, j, old, old_tag, heard, found, now_flush;
bool all;

/* Which chunks are in that state, in two looks, for the order of each thread's. */
inline find(what)
{
	found = 0;
	i = 0;
	do
	:: i < CHUNKS ->
		atomic {
			looked[i] = state[i] == what;
			stamp_looked[i] = stamp[i];
			i++
		}
	:: else -> break
	od;
	i = 0;
	do
	:: i < CHUNKS ->
		atomic { /* its header is looked at before anybody can want it; what is claimed is compared with it */
			taken[i] = state[i] == what && begun[i];
			seq_found[i] = seq_of[i];
			thread_found[i] = thread_of[i];
#ifndef BROKEN_STAMP
			looked[i] = looked[i] && stamp_looked[i] == stamp[i];
#endif
			i++
		}
	:: else -> break
	od;
	atomic {
		i = 0;
		do
		:: i < CHUNKS ->
			sure[i] = taken[i] && looked[i];
			j = 0;
			do
			:: j < CHUNKS ->
				if
				:: taken[i] && taken[j] && looked[j] && thread_found[j] == thread_found[i] &&
				   seq_found[j] > seq_found[i] ->
					sure[i] = true
				:: else
				fi;
				j++
			:: else -> break
			od;
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < CHUNKS ->
#ifndef BROKEN_ORDER
			taken[i] = sure[i];
#endif
			found = found + taken[i];
			i++
		:: else -> break
		od;
		i = 0;
		j = 0
	}
}

/* Where it is when it is written: in the file, once, behind all older ones of its thread. */
inline file_chunk(c)
{
	atomic {
		assert(thread_of[c] > 0);
		assert((content[c] & ~whole[c]) == 0);
		assert((filed[thread_of[c] - 1] & content[c]) == 0);
		assert(seq_of[c] > newest[thread_of[c] - 1]);
		newest[thread_of[c] - 1] = seq_of[c];
		filed[thread_of[c] - 1] = filed[thread_of[c] - 1] | content[c];
		blocks[thread_of[c] - 1] = blocks[thread_of[c] - 1] | BIT(seq_of[c])
	}
}

inline wake_waiting()
{
	atomic {
		j = 0;
		do
		:: j < THREADS ->
			asleep[j] = false;
			j++
		:: else -> break
		od;
		j = 0
	}
}

inline give_back(c)
{
	thread_of[c] = 0;
	clear(c)
	state[c] = FREE;
	push(c, old, old_tag);
#ifdef BROKEN_WAKE
	if
	:: waiters > 0 -> wake_waiting()
	:: else
	fi;
	freed++
#else
	freed++;
	if
	:: waiters > 0 -> wake_waiting()
	:: else
	fi
#endif
}

/* By sequence, which orders those of each thread. */
inline write_taken()
{
	j = 1;
	i = 0;
	do
	:: j <= RECORDS ->
		atomic {
			if
			:: taken[i] && seq_found[i] == j -> file_chunk(i)
			:: else
			fi;
			i++;
			if
			:: i == CHUNKS ->
				i = 0;
				j++
			:: else
			fi
		}
	:: else -> break
	od;
	j = 0
}

inline give_back_taken()
{
	i = 0;
	do
	:: i < CHUNKS ->
		if
		:: taken[i] -> give_back(i)
		:: else
		fi;
		i++
	:: else -> break
	od
}

/* Of a flight recorder: what is read is claimed first. */
inline claim()
{
	i = 0;
	do
	:: i < CHUNKS ->
		if
		:: taken[i] ->
			if
			:: atomic {
				state[i] == FULL ->
				state[i] = FULL + READING
			   }
#ifndef BROKEN_CLAIM
			   if
			   :: thread_of[i] == thread_found[i] && seq_of[i] == seq_found[i]
			   :: else -> /* another one by now */
				state[i] = FULL;
				taken[i] = false;
				found--
			   fi
#endif
			:: else ->
				taken[i] = false;
				found--
			fi
		:: else
		fi;
		i++
	:: else -> break
	od
}

inline pass()
{
	heard = bell;
	now_flush = flush_asked;
	found = 0;
#ifdef RECORDER
	if
	:: all || flushed != now_flush ->
		find(FULL);
		claim();
		write_taken();
		give_back_taken()
	:: else
	fi;
	flushed = now_flush
#else
	find(FULL);
	write_taken();
	give_back_taken()
#endif
}

/* What a drain before this one has written already. */
inline leave_known()
{
	atomic {
		i = 0;
		do
		:: i < CHUNKS ->
			if
			:: taken[i] && (blocks[thread_of[i] - 1] & BIT(seq_of[i])) -> taken[i] = false
			:: else
			fi;
			i++
		:: else -> break
		od
	}
}

/* What a thread was killed over before it had counted it. */
inline finish_overwriting()
{
	i = 0;
	do
	:: i < CHUNKS ->
		if
		:: state[i] == TAKEN && begun[i] ->
			overwritten[thread_of[i] - 1] = overwritten[thread_of[i] - 1] | content[i];
			clear(i)
		:: else
		fi;
		i++
	:: else -> break
	od
}

inline last_words()
{
	all = true;
#ifdef RECORDER
#ifndef BROKEN_TAKEN
	finish_overwriting();
#endif
#endif
	do
	:: pass();
	   if
	   :: found == 0 -> break
	   :: else
	   fi
	od;
#ifndef BROKEN_LEFT
	find(FILLING);
#ifndef BROKEN_KNOWN
	leave_known();
#endif
	write_taken();
#endif
	drained = true
}

inline drain_on()
{
	do
	:: killed || running == 0 -> break
	:: else ->
		pass();
		atomic { /* futex_wait(); the end of the process wakes it, too */
			if
			:: bell == heard && !killed && running > 0 -> drain_asleep = true
			:: else
			fi
		}
#ifdef WAIT
		!drain_asleep || killed || running == 0
#else
		true /* its time has come */
#endif
	od;
	last_words()
}

#ifdef KILL_DRAIN
proctype drain() provided (!drain_dead)
#else
proctype drain()
#endif
{
	drain_on()
}

/* From what is in memory and in the file. */
proctype successor()
{
	byte k = 0;

	drain_asleep = false;
	do
	:: k < CHUNKS ->
		if
		:: (state[k] & 3) == FULL ->
			if
			:: thread_of[k] == 0 -> give_back(k)
			:: thread_of[k] > 0 && (blocks[thread_of[k] - 1] & BIT(seq_of[k])) -> give_back(k)
			:: else ->
				if
				:: atomic {
					state[k] == FULL + READING ->
					state[k] = FULL
				   }
				:: else
				fi
			fi
		:: else
		fi;
		k++
	:: else -> break
	od;
	drain_on()
}

/* ---- the world ---- */

proctype kill_program()
{
	killed = true
}

proctype kill_drain()
{
	atomic {
		if
		:: !drained ->
			drain_dead = true;
			run successor()
		:: else
		fi
	}
}

/* Nothing can go on: it has come to its end. */
active proctype watch()
{
	timeout ->
	assert(drained)
}

init
{
	byte k = 0, count = 0, at;

	atomic {
		do
		:: k < CHUNKS ->
			next[k] = head;
			head = k;
			k++
		:: else -> break
		od;
		running = THREADS;
		k = 0;
		do
		:: k < THREADS ->
			run program(k);
			k++
		:: else -> break
		od;
		run drain();
#ifdef KILL_PROGRAM
		run kill_program();
#endif
#ifdef KILL_DRAIN
		run kill_drain();
#endif
	}
	drained;
	atomic {
		k = 0;
		do
		:: k < THREADS ->
			assert((done[k] & ~(filed[k] | lost[k] | overwritten[k])) == 0);
			assert((filed[k] & lost[k]) == 0);
			assert((filed[k] & overwritten[k]) == 0);
			assert((filed[k] & ~done[k]) == 0);
			k++
		:: else -> break
		od;
		/* All chunks are on the list, each once. */
		if
		:: !killed && !drain_dead ->
			at = head;
			do
			:: at != NONE ->
				count++;
				assert(count <= CHUNKS && state[at] == FREE && !mine[at]);
				at = next[at]
			:: else -> break
			od;
			assert(count == CHUNKS)
		:: else
		fi
	}
}
