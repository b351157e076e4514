/* SPDX-License-Identifier: Apache-2.0 */
/* See life.h. */
#include "drain/life.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct robust_list_head head;

size_t life_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void life_begin(size_t offset)
{
	head = (struct robust_list_head){.list = {&head.list},
					 .futex_offset = (long)(life_page() + offset)};
	/* The C library's own list is for robust mutexes, of which the drain has none. */
	if (syscall(SYS_set_robust_list, &head, sizeof(head)) != 0)
		head.list.next = NULL;
}

void life_add(void *before, _Atomic uint32_t *word)
{
	struct robust_list *entry = before;

	if (!head.list.next)
		return;
	entry->next = head.list.next;
	head.list.next = entry;
	/* The kernel looks for the thread's id, and wakes one who waits. */
	atomic_store(word, (uint32_t)syscall(SYS_gettid) | FUTEX_WAITERS);
}

void life_remove(void *before)
{
	struct robust_list *entry = before, *at = &head.list;

	while (at && at->next != entry && at->next != &head.list)
		at = at->next;
	if (at && at->next == entry)
		at->next = entry->next;
}
