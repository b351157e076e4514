/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in runtime of Kymo's interface offers to the tests. */
#ifndef MOCK_KYMO_H
#define MOCK_KYMO_H

#define MOCK_KYMO_ABSENT 99 /* the register library is not there */

int mock_kymo_register(void);
int mock_kymo_unregister(void);
/* `calls` calls of "twice", one of "nothing", one of an entry nobody described; wrong results. */
int mock_kymo_work(int calls);
/* The table's entries are a tool's. */
int mock_kymo_wrapped(void);

#endif
