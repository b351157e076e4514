/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host asks of an implementation, in its own types. The differences between the
 * implementations are at the top: how a handle constant is found, and the names.
 */
#include "capture/mpi/module/module.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

const struct mpi_host *mpi_host;
void *mpi_next[MPI_OP_COUNT];

/* The PMPI function, typed. */
#define NEXT(name) ((__typeof__(&MPI_##name))mpi_next[MPI_OP_##name])
#define HAS(name)  (mpi_next[MPI_OP_##name] != NULL)

static MPI_Comm world, private_comm;
static MPI_Datatype byte;
static MPI_Comm comm_null;

#ifdef OPEN_MPI

#define NAME                "Open MPI"
#define STATUS_BYTES(s)     ((uint64_t)(s)->_ucount)
#define STATUS_CANCELLED(s) ((s)->_cancelled != 0)

/* Handles are addresses of objects in the library. */
static bool constants(struct mpi_module *m, void *(*find)(const char *name))
{
	world = find("ompi_mpi_comm_world");
	byte = find("ompi_mpi_byte");
	comm_null = find("ompi_mpi_comm_null");
	m->request_null = MODULE_HANDLE(find("ompi_request_null"));
	return world && byte && comm_null && m->request_null;
}

#else

#define NAME "MPICH"
/* 63 bits of bytes in two parts, the lowest bit of the upper one says that it was cancelled. */
#define STATUS_BYTES(s)                                                                            \
	((uint64_t)(uint32_t)(s)->count_lo |                                                       \
	 (uint64_t)((uint32_t)(s)->count_hi_and_cancelled >> 1) << 32)
#define STATUS_CANCELLED(s) (((s)->count_hi_and_cancelled & 1) != 0)

/* Handles are numbers; the library is one of the MPICH ABI if it has these functions of it. */
static bool constants(struct mpi_module *m, void *(*find)(const char *name))
{
	world = MPI_COMM_WORLD;
	byte = MPI_BYTE;
	comm_null = MPI_COMM_NULL;
	m->request_null = MODULE_HANDLE(MPI_REQUEST_NULL);
	return find("MPII_Comm_get_attr") || find("MPIR_Err_return_comm") ||
	       find("MPIR_Err_create_code");
}

#endif

static struct mpi_module module;

static bool bind_module(const struct mpi_host *host, void *(*find)(const char *name))
{
	mpi_host = host;
	if (!constants(&module, find))
		return false;
	module.world = MODULE_HANDLE(world);
	module.comm_null = MODULE_HANDLE(comm_null);
	private_comm = comm_null;
	return HAS(Type_size) && HAS(Comm_rank) && HAS(Comm_size) && HAS(Comm_group) &&
	       HAS(Comm_test_inter) && HAS(Group_translate_ranks) && HAS(Group_free) &&
	       HAS(Error_class);
}

/* ---- types --------------------------------------------------------------------------------- */

static int64_t type_size(uint64_t type)
{
	MPI_Count large = -1;
	int size = -1;

	if (HAS(Type_size_x))
		return NEXT(Type_size_x)(MODULE_FROM(MPI_Datatype, type), &large) == MPI_SUCCESS
			       ? large
			       : -1;
	return NEXT(Type_size)(MODULE_FROM(MPI_Datatype, type), &size) == MPI_SUCCESS ? size : -1;
}

static void type_name(uint64_t type, char name[128])
{
	char text[MPI_MAX_OBJECT_NAME] = "";
	int n = 0;

	if (HAS(Type_get_name))
		NEXT(Type_get_name)(MODULE_FROM(MPI_Datatype, type), text, &n);
	snprintf(name, 128, "%.127s", text);
}

/* ---- communicators, windows, files ---------------------------------------------------------- */

static bool query_comm(MPI_Comm comm, struct mpi_object_info *out)
{
	char text[MPI_MAX_OBJECT_NAME] = "";
	int inter = 0, n = 0;

	if (comm == comm_null || NEXT(Comm_test_inter)(comm, &inter) != MPI_SUCCESS ||
	    NEXT(Comm_rank)(comm, &out->rank) != MPI_SUCCESS ||
	    NEXT(Comm_size)(comm, &out->size) != MPI_SUCCESS)
		return false;
	if (inter)
		NEXT(Comm_remote_size)(comm, &out->remote);
	NEXT(Comm_get_name)(comm, text, &n);
	snprintf(out->name, sizeof(out->name), "%.127s", text);
	return true;
}

static bool group_of(enum mpi_object what, uint64_t handle, bool remote, MPI_Group *group)
{
	if (what == MPI_OBJECT_WINDOW)
		return HAS(Win_get_group) &&
		       NEXT(Win_get_group)(MODULE_FROM(MPI_Win, handle), group) == MPI_SUCCESS;
	if (what == MPI_OBJECT_FILE)
		return HAS(File_get_group) &&
		       NEXT(File_get_group)(MODULE_FROM(MPI_File, handle), group) == MPI_SUCCESS;
	if (remote)
		return NEXT(Comm_remote_group)(MODULE_FROM(MPI_Comm, handle), group) == MPI_SUCCESS;
	return NEXT(Comm_group)(MODULE_FROM(MPI_Comm, handle), group) == MPI_SUCCESS;
}

static bool query(enum mpi_object what, uint64_t handle, struct mpi_object_info *out)
{
	char text[MPI_MAX_OBJECT_NAME] = "";
	MPI_Group group;
	int n = 0;

	*out = (struct mpi_object_info){.remote = -1};
	if (what == MPI_OBJECT_COMM)
		return query_comm(MODULE_FROM(MPI_Comm, handle), out);
	if (!group_of(what, handle, false, &group))
		return false;
	NEXT(Group_rank)(group, &out->rank);
	NEXT(Group_size)(group, &out->size);
	NEXT(Group_free)(&group);
	if (what == MPI_OBJECT_WINDOW && HAS(Win_get_name))
		NEXT(Win_get_name)(MODULE_FROM(MPI_Win, handle), text, &n);
	snprintf(out->name, sizeof(out->name), "%.127s", text);
	return true;
}

static bool translate(MPI_Group from, uint32_t *out, int n)
{
	int *ranks = malloc(2 * (size_t)n * sizeof(int)), *there;
	MPI_Group to;
	bool ok;

	if (!ranks)
		return false;
	there = ranks + n;
	for (int i = 0; i < n; i++)
		ranks[i] = i;
	ok = NEXT(Comm_group)(world, &to) == MPI_SUCCESS;
	if (ok) {
		ok = NEXT(Group_translate_ranks)(from, n, ranks, to, there) == MPI_SUCCESS;
		NEXT(Group_free)(&to);
	}
	for (int i = 0; ok && i < n; i++)
		out[i] = there[i] >= 0 && there[i] != MPI_UNDEFINED ? (uint32_t)there[i]
								    : UINT32_MAX;
	free(ranks);
	return ok;
}

static bool members(enum mpi_object what, uint64_t handle, bool remote, uint32_t *out, int n)
{
	MPI_Group group;
	bool ok;

	if (!group_of(what, handle, remote, &group))
		return false;
	ok = translate(group, out, n);
	NEXT(Group_free)(&group);
	return ok;
}

static bool neighbors(uint64_t comm, uint32_t *in, uint32_t *out)
{
	MPI_Comm c = MODULE_FROM(MPI_Comm, comm);
	int kind = MPI_UNDEFINED, n = 0, m = 0, weighted, rank = 0;

	if (!HAS(Topo_test) || NEXT(Topo_test)(c, &kind) != MPI_SUCCESS)
		return false;
	if (kind == MPI_CART) {
		NEXT(Cartdim_get)(c, &n);
		n = m = 2 * n;
	} else if (kind == MPI_GRAPH) {
		NEXT(Comm_rank)(c, &rank);
		NEXT(Graph_neighbors_count)(c, rank, &n);
		m = n;
	} else if (kind == MPI_DIST_GRAPH) {
		NEXT(Dist_graph_neighbors_count)(c, &n, &m, &weighted);
	} else {
		return false;
	}
	*in = (uint32_t)n;
	*out = (uint32_t)m;
	return true;
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* Bytes and cancellation are members of both ABIs: asking for them would cost as much as a record. */
static void status(const void *statuses, uint32_t index, struct mpi_status *out)
{
	const MPI_Status *s = (const MPI_Status *)statuses + index;

	out->source = s->MPI_SOURCE;
	out->tag = s->MPI_TAG;
	out->bytes = STATUS_BYTES(s);
	out->cancelled = STATUS_CANCELLED(s);
}

static int error_class(int code)
{
	int class = code;

	NEXT(Error_class)(code, &class);
	return class;
}

static void library(char out[256], int *thread_level)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int n = 0;

	*thread_level = -1;
	if (HAS(Get_library_version))
		NEXT(Get_library_version)(text, &n);
	if (HAS(Query_thread))
		NEXT(Query_thread)(thread_level);
	text[strcspn(text, "\n")] = '\0';
	snprintf(out, 256, "%.255s", text);
}

static bool private_open(struct mpi_private *out)
{
	return NEXT(Comm_dup)(world, &private_comm) == MPI_SUCCESS &&
	       NEXT(Comm_rank)(private_comm, &out->rank) == MPI_SUCCESS &&
	       NEXT(Comm_size)(private_comm, &out->size) == MPI_SUCCESS;
}

static void private_close(void)
{
	if (private_comm != comm_null)
		NEXT(Comm_free)(&private_comm);
}

static bool send_bytes(int to, int tag, const void *data, int bytes)
{
	return NEXT(Send)(data, bytes, byte, to, tag, private_comm) == MPI_SUCCESS;
}

#define LOOKS 256 /* until it is likely that the sender waits for this processor */

/* An implementation may well keep the processor while it waits. */
static bool receive_bytes(int from, int tag, void *data, int bytes)
{
	int there = 0;

	for (unsigned n = 1;
	     NEXT(Iprobe)(from, tag, private_comm, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
	     !there;
	     n++)
		if (n % LOOKS == 0)
			sched_yield();
	return NEXT(Recv)(data, bytes, byte, from, tag, private_comm, MPI_STATUS_IGNORE) ==
	       MPI_SUCCESS;
}

/* Letters on their way. A send of a few bytes may wait, too, where its receiver does not look. */
#define ON_THE_WAY 64

static struct {
	MPI_Request request;
	bool used;
	char bytes[MPI_LETTER];
} letters[ON_THE_WAY];

static bool letter_is_free(unsigned i)
{
	int done = 0;

	if (letters[i].used &&
	    NEXT(Test)(&letters[i].request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done)
		letters[i].used = false;
	return !letters[i].used;
}

static bool post(int to, int tag, const void *letter)
{
	static unsigned last;

	for (unsigned n = 0; n < ON_THE_WAY; n++) {
		last = (last + 1) % ON_THE_WAY;
		if (!letter_is_free(last))
			continue;
		memcpy(letters[last].bytes, letter, MPI_LETTER);
		letters[last].used =
			NEXT(Isend)(letters[last].bytes, MPI_LETTER, byte, to, tag, private_comm,
				    &letters[last].request) == MPI_SUCCESS;
		return letters[last].used;
	}
	return false;
}

static bool receive_letter(int from, int tag, void *letter)
{
	int there = 0;

	return NEXT(Iprobe)(from, tag, private_comm, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
	       there && receive_bytes(from, tag, letter, MPI_LETTER);
}

static void settle(void)
{
	for (unsigned i = 0; i < ON_THE_WAY; i++)
		if (letters[i].used)
			NEXT(Wait)(&letters[i].request, MPI_STATUS_IGNORE);
	memset(letters, 0, sizeof(letters));
}

static struct mpi_module module = {
	.contract = MPI_CONTRACT,
	.ops = MPI_OP_COUNT,
	.name = NAME,
	.handle_size = sizeof(MPI_Comm),
	.proc_null = MPI_PROC_NULL,
	.any_source = MPI_ANY_SOURCE,
	.root = MPI_ROOT,
	.undefined = MPI_UNDEFINED,
	.wrappers = mpi_wrappers,
	.next = mpi_next,
	.description = &mpi_description,
	.bind = bind_module,
	.type_size = type_size,
	.type_name = type_name,
	.query = query,
	.members = members,
	.neighbors = neighbors,
	.status = status,
	.error_class = error_class,
	.library = library,
	.private_open = private_open,
	.private_close = private_close,
	.send = send_bytes,
	.receive = receive_bytes,
	.post = post,
	.take = receive_letter,
	.settle = settle,
};

__attribute__((visibility("default"))) struct mpi_module *kymo_mpi_module(void);

struct mpi_module *kymo_mpi_module(void)
{
	module.in_place = (uint64_t)(uintptr_t)MPI_IN_PLACE;
	return &module;
}
