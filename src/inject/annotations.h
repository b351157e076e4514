/* SPDX-License-Identifier: Apache-2.0 */
/* Which domains of annotations are recorded (annotations.c). */
#ifndef INJECT_ANNOTATIONS_H
#define INJECT_ANNOTATIONS_H

#include "recorder/recorder.h"

/* Regular expressions over names of domains. Once, before the program begins. */
void annotations_choose(struct recorder_patterns include, struct recorder_patterns exclude);

#endif
