/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's pager, as git uses one: what people read goes through it where standard output is a terminal.
 * KYMO_PAGER names it, else PAGER, else it is less; "cat" or nothing: none.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

/* There is to be none (--no-pager). */
void pager_refuse(void);

/*
 * Puts the pager between standard output, of which nothing has been written yet, and the terminal. Where
 * there is no terminal, or no pager, nothing changes. If the user leaves the pager before all is written, the
 * process ends quietly with `status`, or with that of a failure if errors were told.
 */
void pager_start(int status);

/* Closes standard output and waits until the user has left the pager; without one does nothing. */
void pager_end(void);

#endif
