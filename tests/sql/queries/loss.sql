SELECT process, thread, count, after, before FROM loss ORDER BY id; SELECT process, thread, calls, gaps FROM tally_loss
