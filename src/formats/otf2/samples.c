/* SPDX-License-Identifier: Apache-2.0 */
/* Samples: see samples_sample(). */
#include "formats/otf2/otf2.h"

kymo_status_t samples_sample(struct stream_sink *s, const struct rec_sample *r)
{
	unexpressed_add(&otf2_of(s)->unexpressed, "samples", r->lost ? r->lost : 1);
	return KYMO_OK;
}
void samples_end(struct otf2 *w)
{
	(void)w;
}
void samples_release(struct otf2 *w)
{
	(void)w;
}
