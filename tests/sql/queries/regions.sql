SELECT name, category, pid, tid, start, "end", duration, stack_id, parent_stack_id, status, failed FROM regions ORDER BY id
