/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the drum example share: a rank's strip, and who computes it. Read main.c first. */
#ifndef DRUM_H
#define DRUM_H

/* (time step / distance of points)^2; up to 1/2 the scheme is stable. */
#define RATE 0.25f

/*
 * A part of the membrane: `rows` rows of `width` points. Around them is a rim of one row above and
 * one below, which belong to somebody else, and of the first and last column, which do not move.
 */
struct part {
	int width, rows;
	float *now,
		*next; /* rows + 2 rows each; `next` holds the moment before until it is computed */
};

static inline float *row(float *points, const struct part *p, int number)
{
	return points + (long)number * p->width;
}

/* host.c, with OpenMP */
int host_threads(void);
void host_vibrate(const struct part *p);
double host_largest(const struct part *p);
/* The largest distance from `mode`, whose rows are wave(first), wave(first + 1), ... */
double host_error(const struct part *p, int first, int size, double amplitude);

/* device.c: p->now and p->next are the host's copies of what lies on the device. */
void device_setup(const struct part *p, int rank);
const char *device_name(void);
/* Begins a step; the first row comes into p->next, the last into `last`. */
void device_vibrate(const struct part *p, float *last);
void device_wait(void);
/* The rows around the part, from the neighbours; sent when device_vibrate() begins the next step. */
void device_surround(const struct part *p, const float *above, const float *below);
void device_read(const struct part *p);
void device_release(void);

#endif
