/* SPDX-License-Identifier: Apache-2.0 */
/* For libkymo-attach.so: what the launcher brought counts in this library too. See base/variables.h. */
#ifndef CORE_PROCESS_BROUGHT_H
#define CORE_PROCESS_BROUGHT_H

__attribute__((visibility("default"))) void kymo_variables_bring(const char *words);

#endif
