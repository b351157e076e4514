/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of events that have no place in the trace, counted alone: one line for each, so that libotf2 skips none
 * without a word. What the region around them says of the same is not lost.
 */
#include "formats/otf2/reader.h"

static const char windows[] = "windows and communicators that are made and freed",
		  epochs[] = "synchronisation of windows",
		  tests[] = "tests of requests and transfers",
		  ends[] = "ends of threads, teams and tasks",
		  threads[] = "threads that are made, begin, or wait",
		  files[] = "files that are opened, closed, deleted, or sought in",
		  io[] = "operations on files that are begun, tested or cancelled",
		  io_locks[] = "locks of files";

/* X(kind, what it is counted as, what the event says beside place and time) */
#define OTHER_EVENTS(X)                                                                            \
	X(MpiRequestTest, tests, uint64_t request)                                                 \
	X(OmpTaskComplete, ends, uint64_t task)                                                    \
	X(RmaWinCreate, windows, OTF2_RmaWinRef window)                                            \
	X(RmaWinDestroy, windows, OTF2_RmaWinRef window)                                           \
	X(RmaCollectiveEnd, epochs, OTF2_CollectiveOp op, OTF2_RmaSyncLevel level,                 \
	  OTF2_RmaWinRef window, uint32_t root, uint64_t sent, uint64_t received)                  \
	X(RmaGroupSync, epochs, OTF2_RmaSyncLevel level, OTF2_RmaWinRef window,                    \
	  OTF2_GroupRef group)                                                                     \
	X(RmaRequestLock, epochs, OTF2_RmaWinRef window, uint32_t remote, uint64_t lock,           \
	  OTF2_LockType type)                                                                      \
	X(RmaAcquireLock, epochs, OTF2_RmaWinRef window, uint32_t remote, uint64_t lock,           \
	  OTF2_LockType type)                                                                      \
	X(RmaTryLock, epochs, OTF2_RmaWinRef window, uint32_t remote, uint64_t lock,               \
	  OTF2_LockType type)                                                                      \
	X(RmaReleaseLock, epochs, OTF2_RmaWinRef window, uint32_t remote, uint64_t lock)           \
	X(RmaSync, epochs, OTF2_RmaWinRef window, uint32_t remote, OTF2_RmaSyncType type)          \
	X(RmaWaitChange, epochs, OTF2_RmaWinRef window)                                            \
	X(RmaOpTest, tests, OTF2_RmaWinRef window, uint64_t id)                                    \
	X(RmaOpCompleteRemote, epochs, OTF2_RmaWinRef window, uint64_t id)                         \
	X(ThreadJoin, ends, OTF2_Paradigm paradigm)                                                \
	X(ThreadTeamBegin, threads, OTF2_CommRef team)                                             \
	X(ThreadTeamEnd, ends, OTF2_CommRef team)                                                  \
	X(ThreadTaskComplete, ends, OTF2_CommRef team, uint32_t thread, uint32_t task)             \
	X(ThreadCreate, threads, OTF2_CommRef contingent, uint64_t sequence)                       \
	X(ThreadBegin, threads, OTF2_CommRef contingent, uint64_t sequence)                        \
	X(ThreadWait, threads, OTF2_CommRef contingent, uint64_t sequence)                         \
	X(ThreadEnd, ends, OTF2_CommRef contingent, uint64_t sequence)                             \
	X(IoCreateHandle, files, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,                  \
	  OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status)                                  \
	X(IoDestroyHandle, files, OTF2_IoHandleRef handle)                                         \
	X(IoDuplicateHandle, files, OTF2_IoHandleRef from, OTF2_IoHandleRef to,                    \
	  OTF2_IoStatusFlag status)                                                                \
	X(IoSeek, files, OTF2_IoHandleRef handle, int64_t asked, OTF2_IoSeekOption whence,         \
	  uint64_t offset)                                                                         \
	X(IoChangeStatusFlags, files, OTF2_IoHandleRef handle, OTF2_IoStatusFlag status)           \
	X(IoDeleteFile, files, OTF2_IoParadigmRef paradigm, OTF2_IoFileRef file)                   \
	X(IoOperationTest, io, OTF2_IoHandleRef handle, uint64_t id)                               \
	X(IoOperationIssued, io, OTF2_IoHandleRef handle, uint64_t id)                             \
	X(IoOperationCancelled, io, OTF2_IoHandleRef handle, uint64_t id)                          \
	X(IoAcquireLock, io_locks, OTF2_IoHandleRef handle, OTF2_LockType type)                    \
	X(IoReleaseLock, io_locks, OTF2_IoHandleRef handle, OTF2_LockType type)                    \
	X(IoTryLock, io_locks, OTF2_IoHandleRef handle, OTF2_LockType type)                        \
	X(CommCreate, windows, OTF2_CommRef communicator)                                          \
	X(CommDestroy, windows, OTF2_CommRef communicator)

static OTF2_CallbackCode count(struct reader *r, uint64_t location, uint64_t ticks,
			       const char *what)
{
	if (otf2r_event(r, location, ticks))
		unplaced_add(&r->unplaced, what, 1);
	return r->status == KYMO_OK ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

#define X(kind, what, ...)                                                                         \
	static OTF2_CallbackCode on_##kind(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,       \
					   OTF2_AttributeList *a, __VA_ARGS__)                     \
	{                                                                                          \
		return count(data, l, t, what);                                                    \
	}
OTHER_EVENTS(X)
#undef X

/* The two that say nothing more. */
static OTF2_CallbackCode on_join(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				 OTF2_AttributeList *a)
{
	return count(data, l, t, ends);
}

static OTF2_CallbackCode on_epoch(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				  OTF2_AttributeList *a)
{
	return count(data, l, t, epochs);
}

static OTF2_CallbackCode on_unknown(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				    OTF2_AttributeList *a)
{
	return count(data, l, t, "events of kinds that this libotf2 does not know");
}

void otf2r_listen_others(OTF2_GlobalEvtReaderCallbacks *c)
{
#define X(kind, ...) OTF2_GlobalEvtReaderCallbacks_Set##kind##Callback(c, on_##kind);
	OTHER_EVENTS(X)
#undef X
	OTF2_GlobalEvtReaderCallbacks_SetOmpJoinCallback(c, on_join);
	OTF2_GlobalEvtReaderCallbacks_SetRmaCollectiveBeginCallback(c, on_epoch);
	OTF2_GlobalEvtReaderCallbacks_SetUnknownCallback(c, on_unknown);
}
