/* SPDX-License-Identifier: Apache-2.0 */
/* See members.h. */
#include "page/members.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"
#include "stream/names.h"
#include "stream/trace.h"

enum {
	BINS_MOST = 512,
	BINS_FEWEST = 64,
	ALL_BINS = 1 << 21 /* of all strips: 64 MiB */
};

static uint64_t length_of(const struct trace *t)
{
	return t->end > t->origin ? (uint64_t)(t->end - t->origin) : 1;
}

/* Of many processes each has fewer bins. */
static void choose_bins(struct members *m)
{
	uint64_t length = length_of(m->t), most = ALL_BINS / (MEMBER_PARTS * (m->count + 1u));

	most = most > BINS_MOST ? BINS_MOST : most < BINS_FEWEST ? BINS_FEWEST : most;
	while (m->shift < 62 && (length >> m->shift) + 1 > most)
		m->shift++;
	m->bins = (uint32_t)(length >> m->shift) + 1;
}

bool members_init(struct members *m, const struct trace *t, const struct clusters *c)
{
	*m = (struct members){.t = t, .clusters = c};
	if (!c->draws)
		return true;
	m->number = calloc(t->processes_count + 1u, sizeof(*m->number));
	m->open = calloc(t->threads_count + 1u, sizeof(*m->open));
	if (!m->number || !m->open)
		return false;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->members[i].place == CLUSTER_MEMBER)
			m->number[c->members[i].process] = ++m->count;
	choose_bins(m);
	m->strips = calloc((size_t)m->count * MEMBER_PARTS + 1, sizeof(*m->strips));
	m->all = calloc((size_t)m->count * MEMBER_PARTS * m->bins + 1, sizeof(*m->all));
	if (!m->strips || !m->all)
		return false;
	for (size_t i = 0; i < (size_t)m->count * MEMBER_PARTS; i++)
		m->strips[i].bins = m->all + i * m->bins;
	return true;
}

void members_release(struct members *m)
{
	free(m->number);
	free(m->open);
	free(m->strips);
	free(m->all);
	free(m->sections);
	*m = (struct members){0};
}

/* Intervals come in order of time, so that the last few names and bins are those that matter. */
static void spend(struct member_strip *x, unsigned shift, uint32_t bin, uint32_t op, uint64_t ns)
{
	struct member_bin *b = &x->bins[bin];
	struct member_use *use = NULL;

	if (!b->busy && !b->starts)
		b->op = op;
	b->busy += ns;
	if (!ns)
		return;
	if (ns == (uint64_t)1 << shift) { /* nothing of one thread is longer */
		b->op = b->most < ns ? op : b->op;
		b->most = b->most < ns ? ns : b->most;
		return;
	}
	for (unsigned i = 0; i < MEMBER_NAMES && !use; i++)
		if (x->use[i].bin == bin && x->use[i].op == op)
			use = &x->use[i];
	if (!use) {
		use = &x->use[x->next++ % MEMBER_NAMES];
		*use = (struct member_use){.bin = bin, .op = op};
	}
	use->ns += ns;
	if (use->ns > b->most) {
		b->most = use->ns;
		b->op = op;
	}
}

static void spend_all(const struct members *m, struct member_strip *x, uint64_t start, uint64_t end,
		      uint32_t op)
{
	for (uint64_t bin = start >> m->shift; bin < m->bins; bin++) {
		uint64_t from = bin << m->shift, to = (bin + 1) << m->shift;

		from = from > start ? from : start;
		to = to < end ? to : end;
		if (from > to || (from == to && start != end))
			return;
		spend(x, m->shift, (uint32_t)bin, op, to - from);
		if (to == end)
			return;
	}
}

void members_add(struct members *m, uint32_t process, enum member_part part, uint32_t thread,
		 const struct page_slice *s, bool state)
{
	struct member_strip *x;
	uint64_t start, end;
	int64_t *open;

	if (!m->number || !m->number[process] || s->start < 0 || s->end < s->start)
		return;
	x = &m->strips[(m->number[process] - 1) * MEMBER_PARTS + part];
	start = (uint64_t)s->start;
	end = (uint64_t)s->end;
	x->records++;
	open = thread && thread < m->t->threads_count ? &m->open[thread] : NULL;
	if (!state && (!open || s->start >= *open)) {
		x->busy += end - start;
		spend_all(m, x, start, end, s->op);
		if (open)
			*open = s->end;
	}
	if (start >> m->shift < m->bins) {
		struct member_bin *b = &x->bins[start >> m->shift];

		if (!b->busy && !b->starts)
			b->op = s->op;
		b->starts++;
	}
}

/* ---- in a page --------------------------------------------------------------------------------- */

/* As a level of a row is laid out: shares, ops, numbers of begins. */
static void put_strip(const struct members *m, const struct member_strip *x, struct text *raw)
{
	uint64_t length = (uint64_t)1 << m->shift;

	for (uint32_t i = 0; i < m->bins; i++) {
		const struct member_bin *b = &x->bins[i];
		uint64_t share = b->busy >= length ? 255 : (b->busy * 255 + length - 1) >> m->shift;

		share = share || !b->starts ? share : 1;
		text_add_bytes(raw, (const char *)&(uint8_t){(uint8_t)share}, 1);
	}
	for (uint32_t i = 0; i < m->bins; i++)
		text_add_bytes(raw, (const char *)&x->bins[i].op, sizeof(uint32_t));
	for (uint32_t i = 0; i < m->bins; i++)
		text_add_bytes(raw, (const char *)&x->bins[i].starts, sizeof(uint32_t));
}

kymo_status_t members_encode(struct members *m, struct sections *s)
{
	struct text raw = {0};
	kymo_status_t status = KYMO_OK;

	m->sections = calloc(m->count / MEMBERS_SECTION + 1u, sizeof(*m->sections));
	if (!m->sections)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < m->count && status == KYMO_OK; i++) {
		for (unsigned part = 0; part < MEMBER_PARTS; part++)
			put_strip(m, &m->strips[i * MEMBER_PARTS + part], &raw);
		if (i + 1 < m->count && (i + 1) % MEMBERS_SECTION)
			continue;
		m->sections[m->section_count] = sections_reserve(s);
		if (raw.failed || m->sections[m->section_count] == UINT32_MAX)
			status = KYMO_ERROR_NO_MEMORY;
		else
			status = sections_put(s, m->sections[m->section_count++], SECTION_LEVELS,
					      raw.s, raw.length);
		raw.length = 0;
	}
	text_release(&raw);
	return status;
}

/* The track of the one that stands for each cluster. */
static void find_middles(const struct members *m, const uint32_t *tracks, int middle[CLUSTERS_MOST])
{
	const struct clusters *c = m->clusters;

	for (uint32_t k = 0; k < CLUSTERS_MOST; k++)
		middle[k] = -1;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->members[i].place == CLUSTER_MIDDLE)
			middle[c->members[i].cluster] = (int)tracks[c->members[i].process] - 1;
}

static void put_name(FILE *out, const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process];
	struct text name = {0};

	if (p->rank != UINT32_MAX && t->worlds > 1)
		text_addf(&name, "rank %u.%u", p->world, p->rank);
	else if (p->rank != UINT32_MAX)
		text_addf(&name, "rank %u", p->rank);
	else
		text_addf(&name, "%.100s (%u)", p->name ? p->name : name_program(p), p->pid);
	if (*p->hostname)
		text_addf(&name, " on %.100s", p->hostname);
	json_string(out, name.s ? name.s : "");
	text_release(&name);
}

static void put_member(FILE *out, const struct members *m, const struct cluster_member *x,
		       int middle)
{
	const struct member_strip *s = &m->strips[(m->number[x->process] - 1) * MEMBER_PARTS];

	fprintf(out, "[%d,", middle);
	put_name(out, m->t, x->process);
	fprintf(out, ",%.4g", 100 * x->distance);
	for (unsigned part = 0; part < MEMBER_PARTS; part++)
		fprintf(out, ",%" PRIu64 ",%" PRIu64, s[part].records, s[part].busy);
	fputs("]", out);
}

void members_put(FILE *out, const struct members *m, const uint32_t *tracks)
{
	int middle[CLUSTERS_MOST];

	if (!m->count) {
		fputs("null", out);
		return;
	}
	find_middles(m, tracks, middle);
	fprintf(out, "{\"bin\": %" PRIu64 ", \"bins\": %u, \"each\": %d, \"sections\": [",
		(uint64_t)1 << m->shift, m->bins, MEMBERS_SECTION);
	for (uint32_t i = 0; i < m->section_count; i++)
		fprintf(out, "%s%u", i ? "," : "", m->sections[i]);
	fputs("], \"processes\": [", out);
	for (uint32_t i = 0; i < m->clusters->count; i++) {
		const struct cluster_member *x = &m->clusters->members[i];

		fputs(i ? ",\n" : "\n", out);
		if (x->place == CLUSTER_MEMBER)
			put_member(out, m, x, middle[x->cluster]);
		else
			fprintf(out, "[%d]", (int)tracks[x->process] - 1);
	}
	fputs("]}", out);
}
