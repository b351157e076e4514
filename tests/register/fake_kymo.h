/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake runtime of Kymo's interface offers to the tests. */
#ifndef FAKE_KYMO_H
#define FAKE_KYMO_H

#define FAKE_KYMO_ABSENT 99 /* the register library is not there */

int fake_kymo_register(void);
int fake_kymo_unregister(void);
/* `calls` calls of "twice", one of "nothing", one of an entry nobody described; wrong results. */
int fake_kymo_work(int calls);
/* The table's entries are a tool's. */
int fake_kymo_wrapped(void);

#endif
