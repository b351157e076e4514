/* SPDX-License-Identifier: Apache-2.0 */
/* See libc_call.h. */
#include "core/intercept/libc_call.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <kymo/register.h>

#include "core/process/handler.h"

/* ---- description ---- */

static const struct {
	char name[16];
	int32_t value;
} errors[] = {
#define ERROR(name)                                                                                \
	{                                                                                          \
#name, name                                                                        \
	}
	ERROR(EPERM),
	ERROR(ENOENT),
	ERROR(ESRCH),
	ERROR(EINTR),
	ERROR(EIO),
	ERROR(ENXIO),
	ERROR(EBADF),
	ERROR(ECHILD),
	ERROR(EAGAIN),
	ERROR(ENOMEM),
	ERROR(EACCES),
	ERROR(EFAULT),
	ERROR(EBUSY),
	ERROR(EEXIST),
	ERROR(EXDEV),
	ERROR(ENODEV),
	ERROR(ENOTDIR),
	ERROR(EISDIR),
	ERROR(EINVAL),
	ERROR(ENFILE),
	ERROR(EMFILE),
	ERROR(ENOTTY),
	ERROR(ETXTBSY),
	ERROR(EFBIG),
	ERROR(ENOSPC),
	ERROR(ESPIPE),
	ERROR(EROFS),
	ERROR(EPIPE),
	ERROR(EDEADLK),
	ERROR(ENAMETOOLONG),
	ERROR(ENOLCK),
	ERROR(ENOSYS),
	ERROR(ELOOP),
	ERROR(EOVERFLOW),
	ERROR(ENOTSOCK),
	ERROR(EMSGSIZE),
	ERROR(EOPNOTSUPP),
	ERROR(EADDRINUSE),
	ERROR(EADDRNOTAVAIL),
	ERROR(ENETUNREACH),
	ERROR(ECONNABORTED),
	ERROR(ECONNRESET),
	ERROR(ENOTCONN),
	ERROR(ETIMEDOUT),
	ERROR(ECONNREFUSED),
	ERROR(EHOSTUNREACH),
	ERROR(EALREADY),
	ERROR(EINPROGRESS),
	ERROR(ESTALE),
	ERROR(EDQUOT),
	ERROR(ECANCELED),
	ERROR(EOWNERDEAD),
	ERROR(ENOTRECOVERABLE),
#undef ERROR
};
#define ERRORS (sizeof(errors) / sizeof(*errors))

static kymo_enum_value_t error_values[ERRORS];
static kymo_enum_set_t statuses = {"errno", error_values, ERRORS};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const uint8_t *shape_of(const struct libc_domain *d, unsigned op)
{
	return d->shapes[d->rows[op].shape];
}

static uint16_t describe_fields(struct libc_domain *d, unsigned op)
{
	const uint8_t *shape = shape_of(d, op);
	uint16_t n = 0;

	for (; n < LIBC_FIELDS && shape[n]; n++) {
		const struct libc_field *f = &d->fields[shape[n]];

		d->described[op][n] = (kymo_field_t){.name = f->name,
						     .type = f->type,
						     .kind = f->kind,
						     .size = f->size,
						     .flags = f->flags};
	}
	return n;
}

static void describe(struct libc_domain *d)
{
	for (unsigned i = 0; i < ERRORS; i++)
		error_values[i] = (kymo_enum_value_t){errors[i].name, errors[i].value};
	for (unsigned i = 0; i < d->count; i++)
		d->ops[i] = (kymo_op_desc_t){.name = d->rows[i].name,
					     .fields = d->described[i],
					     .field_count = describe_fields(d, i),
					     .flags = d->rows[i].flags,
					     .status_set = &statuses};
	d->desc = (kymo_domain_desc_t){sizeof(d->desc), d->name, d->title, 1, d->count, d->ops};
	d->info.desc = &d->desc;
	d->info.ops = d->caps;
}

const kymo_domain_desc_t *libc_domain_describe(struct libc_domain *d)
{
	pthread_mutex_lock(&lock);
	if (!d->info.desc)
		describe(d);
	pthread_mutex_unlock(&lock);
	return &d->desc;
}

void libc_domain_tell(struct libc_domain *d)
{
	const uint64_t n = atomic_exchange(&d->passed, 0);

	if (d->tell)
		d->tell();
	if (n)
		cap_count_untraced_slow(
			d->name, "calls in signal handlers that came while Kymo recorded", n);
}

bool libc_domain_start(struct libc_domain *d)
{
	const int saved = errno;
	int none = 0;

	if (!cap_futex_works()) {
		errno = saved;
		return false;
	}
	cap_load();
	cap_handlers_init();
	libc_domain_describe(d);
	/* Called by the constructor of one library alone. */
	if (atomic_compare_exchange_strong(&d->started, &none, -1))
		atomic_store(&d->started,
			     cap_domain_register(&d->info, &d->domain) == KYMO_OK ? 1 : -1);
	if (atomic_load(&d->started) > 0) {
		cap_records_alone(&d->caps[0]);
		cap_thread_attach();
	}
	errno = saved;
	return atomic_load(&d->started) > 0;
}

/* ---- calls ---- */

void kymo_libc_passed(struct libc_domain *d)
{
	atomic_fetch_add_explicit(&d->passed, 1, memory_order_relaxed);
}

static inline uint64_t word_of(const struct libc_field *f, const struct libc_call *c)
{
	const char *at = (const char *)c + f->at;
	uint32_t half;
	uint64_t whole;

	if (f->width == sizeof(whole)) {
		memcpy(&whole, at, sizeof(whole));
		return whole;
	}
	memcpy(&half, at, sizeof(half));
	return f->kind == KYMO_KIND_SIGNED ? (uint64_t)(int64_t)(int32_t)half : half;
}

static __attribute__((noinline, cold)) void
callbacks(const struct libc_domain *d, const struct libc_call *c, enum cap_phase phase)
{
	const uint8_t *shape = shape_of(d, c->op);
	const unsigned count = d->ops[c->op].field_count;
	kymo_table_args_t args = {.size = offsetof(kymo_table_args_t, value) +
					  count * sizeof(uint64_t)};

	for (unsigned i = 0; i < count; i++)
		args.value[i] = word_of(&d->fields[shape[i]], c);
	cap_callbacks(c->frame, &args, phase);
}

bool kymo_libc_enter(struct libc_domain *d, struct libc_call *c, const void *caller, const void *sp)
{
	struct cap_op *cap = &d->caps[c->op];

	if (cap_unlikely(!cap_may_enter(cap, caller, sp))) {
		kymo_libc_passed(d);
		return false;
	}
	c->frame = cap_enter_at(cap, caller, sp);
	if (!c->frame)
		return false;
	if (cap_unlikely(c->frame->callbacks))
		callbacks(d, c, CAP_ENTER);
	return true;
}

static void encode(const struct libc_domain *d, const struct libc_call *c, struct wire_enc *e,
		   unsigned count, bool failed)
{
	const uint8_t *shape = shape_of(d, c->op);

	for (unsigned i = 0; i < count; i++) {
		const struct libc_field *f = &d->fields[shape[i]];
		const uint64_t v = word_of(f, c);

		if ((failed && f->flags & KYMO_FIELD_OUT) || (f->unless_zero && !v))
			continue;
		if (f->kind == KYMO_KIND_SIGNED)
			wire_signed(e, i, (int64_t)v, f->size);
		else if (f->kind == KYMO_KIND_POINTER)
			wire_pointer(e, i, (const void *)(uintptr_t)v);
		else
			wire_unsigned(e, i, v);
	}
}

void kymo_libc_leave(struct libc_domain *d, struct libc_call *c, int error)
{
	struct cap_frame *f = c->frame;
	const int saved = errno;
	const unsigned count = d->ops[c->op].field_count;
	struct wire_enc e;

	cap_leave(f);
	cap_status(f, error, 0);
	if (d->finish)
		d->finish(c, error);
	if (cap_unlikely(f->callbacks))
		callbacks(d, c, CAP_EXIT);
	if (f->buffers && cap_args(f) == 0) {
		cap_record_bare(f);
	} else if (f->buffers && cap_record(f, &e, count)) {
		encode(d, c, &e, count, error != 0);
		cap_commit(f, &e);
	}
	cap_done(f);
	errno = saved;
}
