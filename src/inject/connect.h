/* SPDX-License-Identifier: Apache-2.0 */
/* From a traced process to its drain: over the launcher's socket, or a drain started here. */
#ifndef INJECT_CONNECT_H
#define INJECT_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include <kymo/status.h>
#include <kymo/tool.h>

/*
 * Passes the memory of a shared buffer to the drain and waits, at most two seconds, until the drain
 * has mapped it. Signature of kymo_buffer_desc_t.share.
 */
kymo_status_t connect_share(int memfd, uint64_t bytes, void *data);

/* What the user has asked all processes for, those to come too; 0: nothing. */
kymo_steer_t connect_stands(void);

/* There is a drain that memory can be handed to early, and will be to that one. */
bool connect_has_drain(void);

/*
 * Hands memory over of which it is not known yet whether the process will use it. No drain is
 * started, nothing is waited for: the memory tells later whether the drain has it.
 */
kymo_status_t connect_share_early(int memfd, uint64_t bytes, void *data);

/* This process will not be recorded: unless the drain knows that, leaves it in the trace, if it can. */
void connect_unshared(int error, void *data);

#endif
