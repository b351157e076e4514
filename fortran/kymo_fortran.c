/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behind the Fortran module: texts that come with a length get a terminator, domains and categories
 * become registered strings. Compiled with the program; see kymo.f90.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/marker.h>

#define NAME  513 /* what is kept of a text, and a terminator */
#define LABEL 65

static const char *terminated(char *out, size_t room, const char *s, size_t n)
{
	if (n >= room)
		n = room - 1;
	memcpy(out, s, n);
	out[n] = '\0';
	return out;
}

/* Domains and categories are few: a list that only grows, read without a lock. */
struct label {
	kymo_string_t string;
	struct label *next;
	char text[LABEL];
};

static struct label *labels;
static pthread_mutex_t labels_lock = PTHREAD_MUTEX_INITIALIZER;

static struct label *find(const char *text)
{
	struct label *l = __atomic_load_n(&labels, __ATOMIC_ACQUIRE);

	while (l && strcmp(l->text, text) != 0)
		l = l->next;
	return l;
}

static kymo_string_t *label(const char *s, size_t n)
{
	char text[LABEL];
	struct label *l;

	if (n == 0)
		return NULL;
	terminated(text, sizeof(text), s, n);
	l = find(text);
	if (l)
		return &l->string;
	pthread_mutex_lock(&labels_lock);
	l = find(text);
	if (!l && (l = calloc(1, sizeof(*l))) != NULL) {
		memcpy(l->text, text, sizeof(text));
		l->string.text = l->text;
		l->next = labels;
		__atomic_store_n(&labels, l, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&labels_lock);
	return l ? &l->string : NULL;
}

/* A marker given by Fortran arguments; `text` holds its name. */
static kymo_marker_t marker(char text[NAME], const char *name, size_t n, const char *domain,
			    size_t dn, const char *category, size_t cn, int32_t color)
{
	kymo_marker_t m = {.size = sizeof(m)};

	m.name = terminated(text, NAME, name, n);
	m.domain = label(domain, dn);
	m.category = label(category, cn);
	m.color = (uint32_t)color;
	return m;
}

void kymo_fortran_mark(const char *name, size_t n, const char *domain, size_t dn,
		       const char *category, size_t cn, int32_t color);
void kymo_fortran_push(const char *name, size_t n, const char *domain, size_t dn,
		       const char *category, size_t cn, int32_t color);
void kymo_fortran_pop(const char *domain, size_t dn);
int64_t kymo_fortran_start(const char *name, size_t n, const char *domain, size_t dn,
			   const char *category, size_t cn, int32_t color);
void kymo_fortran_stop(int64_t id);
void kymo_fortran_add_int(const char *key, size_t n, int64_t v);
void kymo_fortran_add_real(const char *key, size_t n, double v);
void kymo_fortran_add_text(const char *key, size_t n, const char *v, size_t vn);
void kymo_fortran_name(int what, const char *runtime, size_t rn, int64_t handle, const char *text,
		       size_t n);
void kymo_fortran_control(int what);

void kymo_fortran_mark(const char *name, size_t n, const char *domain, size_t dn,
		       const char *category, size_t cn, int32_t color)
{
	kymo_marker_t m;
	char text[NAME];

	if (!kymo_marker_listener())
		return;
	m = marker(text, name, n, domain, dn, category, cn, color);
	kymo_mark_full(&m);
}

void kymo_fortran_push(const char *name, size_t n, const char *domain, size_t dn,
		       const char *category, size_t cn, int32_t color)
{
	kymo_marker_t m;
	char text[NAME];

	if (!kymo_marker_listener())
		return;
	m = marker(text, name, n, domain, dn, category, cn, color);
	kymo_range_push_full(&m);
}

void kymo_fortran_pop(const char *domain, size_t dn)
{
	if (kymo_marker_listener())
		kymo_range_pop_domain(label(domain, dn));
}

int64_t kymo_fortran_start(const char *name, size_t n, const char *domain, size_t dn,
			   const char *category, size_t cn, int32_t color)
{
	kymo_marker_t m;
	char text[NAME];

	if (!kymo_marker_listener())
		return 0;
	m = marker(text, name, n, domain, dn, category, cn, color);
	return (int64_t)kymo_range_start_full(&m);
}

void kymo_fortran_stop(int64_t id)
{
	kymo_range_stop((uint64_t)id);
}

void kymo_fortran_add_int(const char *key, size_t n, int64_t v)
{
	char text[LABEL];
	kymo_payload_t p = kymo_int64(terminated(text, sizeof(text), key, n), v);

	kymo_range_add(&p, 1);
}

void kymo_fortran_add_real(const char *key, size_t n, double v)
{
	char text[LABEL];
	kymo_payload_t p = kymo_double(terminated(text, sizeof(text), key, n), v);

	kymo_range_add(&p, 1);
}

/* An empty text is a value too: it is given with a terminator. */
void kymo_fortran_add_text(const char *key, size_t n, const char *v, size_t vn)
{
	char text[LABEL];
	kymo_payload_t p = kymo_text(terminated(text, sizeof(text), key, n), vn ? v : "");

	p.length = vn;
	kymo_range_add(&p, 1);
}

void kymo_fortran_name(int what, const char *runtime, size_t rn, int64_t handle, const char *text,
		       size_t n)
{
	char name[NAME], api[LABEL];

	kymo_name((kymo_object_t)what, terminated(api, sizeof(api), runtime, rn), (uint64_t)handle,
		  terminated(name, sizeof(name), text, n));
}

void kymo_fortran_control(int what)
{
	kymo_control((kymo_control_t)what);
}
