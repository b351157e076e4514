SELECT t.tid, o.name, c.depth, c.start FROM open_call c JOIN thread t ON t.id = c.thread JOIN op o ON o.id = c.op
