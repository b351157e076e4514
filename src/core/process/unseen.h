/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtimes that were used and could not be entered: a backend says how to tell, and is asked when
 * the process ends and nothing of its domain was seen.
 */
#ifndef CORE_PROCESS_UNSEEN_H
#define CORE_PROCESS_UNSEEN_H

#include <stdbool.h>

struct cap_unseen {
	const char *domain;
	bool (*look)(void); /* takes no lock of the loader's */
	const char *text;   /* what stood in the way */
};

#define CAP_UNSEEN(name)                                                                           \
	static const struct cap_unseen unseen_##name;                                              \
	static const struct cap_unseen *const unseen_entry_##name                                  \
		__attribute__((section("kymo_unseen"), used)) = &unseen_##name;                    \
	static const struct cap_unseen unseen_##name

/* A library whose own name begins with none of these (NULL terminated) has a function of that name.
 */
bool cap_is_elsewhere(const char *function, const char *const *but);

/* For libkymo-inject.so: calls `tell` for each that stood in the way of a domain that was `wanted`.
 */
__attribute__((visibility("default"))) void kymo_unseen_look(bool (*wanted)(const char *domain),
							     void (*tell)(const char *domain,
									  const char *text));

#endif
