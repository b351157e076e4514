SELECT hostname, pid, tid, name, records, lost FROM threads ORDER BY id
