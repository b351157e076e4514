/* SPDX-License-Identifier: Apache-2.0 */
/* What records keep in a page, so that it is small enough: see page.h. */
#include "page/page.h"

kymo_status_t page_fit(struct page *p, void (*progress)(void *data, double done),
		       void *progress_data)
{
	p->plan = (struct page_plan){.links = true, .most = UINT64_MAX};
	return page_encode(&p->encoded, &p->data, &p->plan, progress, progress_data);
}
