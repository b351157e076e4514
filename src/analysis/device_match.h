/* SPDX-License-Identifier: Apache-2.0 */
/* Agents of different processes and sources that are one device. */
#ifndef ANALYSIS_DEVICE_MATCH_H
#define ANALYSIS_DEVICE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

struct trace;

/*
 * The same device: by its uuid where both have one, else by its PCI address on one host. A CPU that
 * a runtime computes on is all the processor packages of its host.
 */
bool device_match(const struct trace *t, uint32_t a, uint32_t b);

#endif
