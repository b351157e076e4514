/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What AMD's tools say of a device. Readers of their formats want every key that their runtime knows: what is
 * not known here is 0.
 */
#ifndef STREAM_AMD_AGENT_H
#define STREAM_AMD_AGENT_H

#include "base/json.h"

/* The numbers of a device, and its lists, which are empty, as members of the object that is being written. */
void amd_agent_values(struct json *j);
void amd_agent_lists(struct json *j);

#endif
