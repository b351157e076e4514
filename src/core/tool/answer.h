/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend answers for tools (<kymo/answer.h>), from what it has seen of the program's calls.
 * Functions are called on the thread that asks, often within a callback: they do not call the
 * runtime and take no lock that is held while foreign code runs.
 */
#ifndef CORE_TOOL_ANSWER_H
#define CORE_TOOL_ANSWER_H

#include <kymo/answer.h>

#include "core/capture.h"

struct cap_answers {
	/* Type of fields that hold the queue of a call ("cl_command_queue"); NULL: there are none.
	 */
	const char *queue_type;
	/*
	 * The queue of this handle (`given`), or the one that the calling thread used last. Fills
	 * in all but `size`. False: none, or not known.
	 */
	bool (*queue)(uint64_t handle, bool given, kymo_queue_info_t *out);
	/* Runtimes whose threads have a current device: that one. NULL: the device of the queue. */
	bool (*agent)(uint32_t *agent);
	/* What the address points to. Fills in all but `size` and `domain`. False: not of this
	 * runtime. */
	bool (*pointer)(const void *address, kymo_pointer_t *out);
};

#endif
