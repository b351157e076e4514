/* SPDX-License-Identifier: Apache-2.0 */
/* The computation of heat.cl on the host, in plain C, and how far the two may differ. */
#include "heat.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEATER_PERIOD = 64 };

/* The heater warms up and cools down in a triangle wave between 0 and 1. */
float heater_at(int step)
{
	int phase = step % (2 * HEATER_PERIOD);
	int level = phase < HEATER_PERIOD ? phase : 2 * HEATER_PERIOD - phase;

	return (float)level / HEATER_PERIOD;
}

struct frame_facts frame_facts(const float *cells, int n)
{
	struct frame_facts facts = {.sum = 0.0, .hottest = -FLT_MAX};

	for (size_t i = 0; i < (size_t)n * (size_t)n; i++) {
		facts.sum += cells[i];
		facts.hottest = cells[i] > facts.hottest ? cells[i] : facts.hottest;
	}
	return facts;
}

static void host_init(float *cells, int n)
{
	for (int y = 0; y < n; y++) {
		for (int x = 0; x < n; x++) {
			int dx = 2 * x - n;
			int dy = 2 * y - n;

			cells[(size_t)y * n + x] = 16 * (dx * dx + dy * dy) < n * n ? 1.0f : 0.0f;
		}
	}
}

static void host_step(const float *restrict from, float *restrict to, int n, float rate)
{
	for (int y = 1; y < n - 1; y++) {
		const float *row = from + (size_t)y * n;
		float *out = to + (size_t)y * n;

		for (int x = 1; x < n - 1; x++)
			out[x] = (1.0f - 4.0f * rate) * row[x] +
				 rate * ((row[x - 1] + row[x + 1]) + (row[x - n] + row[x + n]));
	}
}

static void host_border(float *cells, int n, float heater)
{
	size_t last = (size_t)n - 1;

	for (size_t i = 1; i < last; i++) {
		cells[i] = cells[n + i];
		cells[last * n + i] = cells[(last - 1) * n + i];
		cells[i * n + last] = cells[i * n + last - 1];
	}
	for (size_t i = 0; i <= last; i++)
		cells[i * n] = heater;
	cells[last] = cells[n + last - 1];
	cells[last * n + last] = cells[last * n - 2];
}

float *host_solution(const struct options *options)
{
	int n = options->size;
	float *now = malloc(sizeof(float) * (size_t)n * (size_t)n);
	float *next = malloc(sizeof(float) * (size_t)n * (size_t)n);

	if (!now || !next) {
		fprintf(stderr, "heat: out of memory\n");
		exit(EXIT_FAILURE);
	}
	host_init(now, n);
	for (int i = 0; i < options->frames * options->steps; i++) {
		float *swap = now;

		host_step(now, next, n, options->rate);
		host_border(next, n, heater_at(i));
		now = next;
		next = swap;
	}
	free(next);
	return now;
}

float largest_difference(const float *a, const float *b, int n)
{
	float largest = 0.0f;

	for (size_t i = 0; i < (size_t)n * (size_t)n; i++) {
		float difference = fabsf(a[i] - b[i]);

		/* Written so that a NaN counts as a difference too. */
		if (!(difference <= largest))
			largest = difference;
	}
	return largest;
}

/*
 * Device and host may contract or order the seven operations of a step differently. A new value
 * is an average of old ones (the weights are positive and add up to 1), so a step never enlarges
 * an error it finds, and all values lie between 0 and 1. Each operation adds at most half an ulp
 * of 1 on either side: the two cannot be further apart than one ulp per operation and step.
 */
float allowed_difference(const struct options *options)
{
	const int operations = 7;

	return FLT_EPSILON * (float)operations * (float)options->frames * (float)options->steps;
}
