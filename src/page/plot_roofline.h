/* SPDX-License-Identifier: Apache-2.0 */
/* A roofline as a picture of PLOT_WIDTH by PLOT_HEIGHT, in every form of draw.h. */
#ifndef PAGE_PLOT_ROOFLINE_H
#define PAGE_PLOT_ROOFLINE_H

#include "page/draw.h"
#include "roofs/roofline.h"

/* `dark`: for dark surroundings. */
void roofline_draw(struct draw *d, const struct roofline *l, bool dark);

#endif
