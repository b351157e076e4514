/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked of a buffer, and what it answers about itself. */
#include <pthread.h>

#include "core/context/context.h"
#include "core/deliver/pass.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"

#define REFUSE(why) core_refuse(KYMO_ERROR_INVALID_ARGUMENT, why)

kymo_status_t core_buffer_check(const kymo_buffer_desc_t *d)
{
	bool inside = d->deliver || d->deliver_batch;

	if (inside && d->bytes > CORE_BUFFER_MOST)
		return core_refuse(KYMO_ERROR_LIMIT, "a buffer has at most 1 GiB");
	if (inside && d->steer)
		return REFUSE("`steer` is for shared buffers: no drain empties a private one");
	if (inside && d->share_early)
		return REFUSE("`share_early` is for shared buffers");
	if (inside && d->unshared)
		return REFUSE("`unshared` is for shared buffers");
	if (d->policy == KYMO_POLICY_OVERWRITE && d->watermark)
		return REFUSE("OVERWRITE delivers on request: there is no watermark");
	if ((!inside && !d->share) || (d->deliver && d->deliver_batch))
		return REFUSE("one of `deliver`, `deliver_batch` and `share` is needed");
	if (d->arguments > KYMO_ARGUMENTS_FULL || d->policy > KYMO_POLICY_OVERWRITE)
		return REFUSE("no such policy or level of arguments");
	if (d->tally && (inside || d->arguments != KYMO_ARGUMENTS_NONE))
		return REFUSE("a tally is for shared buffers, without arguments");
	if ((d->pool.handle || d->parallel) && !inside)
		return REFUSE("`pool` and `parallel` are for private buffers");
	if (d->watermark > (d->bytes ? d->bytes : CORE_BUFFER_BYTES))
		return REFUSE("the watermark lies beyond the size of the buffer");
	return KYMO_OK;
}

kymo_status_t core_buffer_check_pool(const kymo_buffer_desc_t *d)
{
	return d->pool.handle && !core_pool_find(d->pool) ? KYMO_ERROR_NOT_FOUND : KYMO_OK;
}

static void fill(const struct core_buffer *b, kymo_buffer_info_t *out)
{
	const struct core_pool *p = b->pool;

	*out = (kymo_buffer_info_t){
		.size = sizeof(*out), .policy = b->desc.policy, .bytes = b->desc.bytes};
	if (!p)
		return;
	out->bytes = (uint64_t)p->chunk_max * p->chunk_size;
	out->memory = (uint64_t)atomic_load(&p->chunk_count) * p->chunk_size;
	out->lost = atomic_load(&p->shm->lost_records);
	out->overwritten = atomic_load(&p->shm->overwritten_records);
	if (core_buffer_private(b)) /* also after the end */
		out->delivered = atomic_load(&core_deliveries[b->index].delivered);
	out->order_bytes = b->desc.parallel ? UINT64_MAX : p->chunk_size;
}

kymo_status_t kymo_buffer_info(kymo_buffer_t buffer, kymo_buffer_info_t *out)
{
	kymo_buffer_info_t full;
	struct core_buffer *b;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_size_fits(out, offsetof(kymo_buffer_info_t, order_bytes)))
		return KYMO_ERROR_INCOMPATIBLE;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	if (core_selecting())
		return KYMO_ERROR_STATE;
	pthread_mutex_lock(&core_live->configure);
	b = core_buffer_of(buffer);
	if (b)
		fill(b, &full);
	pthread_mutex_unlock(&core_live->configure);
	if (b)
		core_give(out, &full, sizeof(full));
	return b ? KYMO_OK : core_not_found(buffer.handle);
}

kymo_status_t kymo_buffer_flush(kymo_buffer_t buffer)
{
	struct core_buffer *b;
	bool ready;

	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	if (core_selecting())
		return KYMO_ERROR_STATE;
	pthread_mutex_lock(&core_live->configure);
	b = core_buffer_of(buffer);
	ready = b && b->ready;
	pthread_mutex_unlock(&core_live->configure);
	if (ready)
		core_buffer_flush(b);
	return b ? KYMO_OK : core_not_found(buffer.handle);
}
