/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which send and which receive of MPI are one message. Messages of one channel (communicator,
 * source, destination, tag) do not overtake each other, and a message goes to the receive that was
 * posted first among those it fits (MPI 4.1, 3.5): so of the receives that ended in a channel the
 * n-th that was posted got the n-th message that was sent, whatever wildcards they had. A pass over
 * the trace, before the one that hands records on, collects both ends and numbers the messages
 * from 1.
 *
 * Where order is not known there is no number, rather than a wrong one: of processes that lost
 * records or recorded only part of the time or of the calls, of which a call of MPI failed, or that
 * did not come to MPI_Finalize; of calls that threads made at the same time; of what was posted after a receive of which nobody
 * knows what it got; of partitioned transfers and those between the groups of an intercommunicator.
 *
 * Memory (base/bulk.h): 80 bytes for each end of a message while the pass runs, 32 to 64 afterwards.
 */
#ifndef FORMATS_RAW_MATCH_H
#define FORMATS_RAW_MATCH_H

#include "formats/raw/internal.h"

/* The pass, where there are messages and it has not been; rt->match. */
kymo_status_t match_messages(struct raw_trace *rt);
void match_free(struct match *m);

#endif
