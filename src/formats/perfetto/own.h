/* SPDX-License-Identifier: Apache-2.0 */
/* What Kymo's own files say in words of their own, which their reader knows again. */
#ifndef FORMATS_PERFETTO_OWN_H
#define FORMATS_PERFETTO_OWN_H

/* A category besides: of work that was never seen to finish. */
#define PERFETTO_UNFINISHED "unfinished"

/* So begin the names of counters that are drawn of allocations, which are there as well. */
#define PERFETTO_IN_USE "memory in use"

#endif
