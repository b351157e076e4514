/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool in C++ that comes late: the program runs unrecorded until somebody writes into a FIFO
 * (environment ATTACH). Then a context is started, and what was there already (kernels the program
 * made before) is told of first, so that the records that follow have names. Shows late starting,
 * replay, RAII around the C interface and a control thread that needs no signals.
 *
 *   c++ -shared -fPIC late_attach.cpp $(pkg-config --cflags --libs kymo) -o liblate.so
 *   mkfifo go; ATTACH=go KYMO_TOOLS=./liblate.so OPENCL_LAYERS=... ./a.out & echo > go
 */
#include <kymo/kymo.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unordered_map>

namespace {

void must(kymo_status_t status)
{
	if (status != KYMO_OK)
		throw std::runtime_error(kymo_status_text(status));
}

class context {
public:
	context() { must(kymo_context_create(&handle)); }
	~context() { kymo_context_destroy(handle); } /* delivers what is left */
	context(const context &) = delete;
	context &operator=(const context &) = delete;

	void buffer(kymo_delivery_fn deliver, void *data)
	{
		kymo_buffer_desc_t desc = {};

		desc.size = sizeof(desc);
		desc.deliver = deliver;
		desc.data = data;
		must(kymo_buffer_create(handle, &desc, &out));
	}

	void record(const char *domain)
	{
		kymo_selection_t selection = {};

		selection.size = sizeof(selection);
		selection.domain = domain;
		must(kymo_buffer_service(handle, &selection, out));
	}

	void start() { must(kymo_context_start(handle)); }
	void drain() { kymo_drain(handle, 1000000000); }

private:
	kymo_context_t handle = {};
	kymo_buffer_t out = {};
};

class late {
public:
	late()
	{
		seen.buffer(&late::deliver, this);
		seen.record("kernel_symbol");
		seen.record("dispatch");
		must(kymo_thread_start("late", &late::wait, this));
	}

private:
	/* On a thread of the tool's own, with all signals blocked. No exception may leave it. */
	static void wait(void *data)
	{
		const char *path = std::getenv("ATTACH");
		std::string line;

		if (!path)
			return;
		std::ifstream fifo(path); /* waits for a writer */
		std::getline(fifo, line);
		try {
			static_cast<late *>(data)->seen.start();
			static_cast<late *>(data)->seen.drain();
		} catch (const std::exception &e) {
			std::fprintf(stderr, "late: %s\n", e.what());
		}
	}

	static kymo_value_t field(const kymo_record_t *r, const char *name)
	{
		const kymo_op_desc_t &op = r->domain->ops[r->op];
		kymo_value_t v = {};

		v.size = sizeof(v);
		for (uint32_t i = 0; i < op.field_count; i++)
			if (!std::strcmp(op.fields[i].name, name) && !kymo_record_value(r, i, &v))
				break;
		return v;
	}

	static void deliver(kymo_buffer_t, const kymo_record_t *r, void *data)
	{
		static_cast<late *>(data)->record(r);
	}

	void record(const kymo_record_t *r)
	{
		uint64_t kernel = field(r, "kernel").u;

		if (!std::strcmp(r->domain->name, "kernel_symbol")) {
			kymo_value_t name = field(r, "name");

			names[kernel].assign(static_cast<const char *>(name.data), name.count);
			std::fprintf(stderr, "kernel %s %s\n", names[kernel].c_str(),
				     field(r, "replayed").u ? "was there already" : "is new");
		} else if (count[kernel]++ == 0) {
			std::fprintf(stderr, "kernel %s runs\n", names[kernel].c_str());
		}
	}

	context seen; /* last to be made ready, first to go */
	std::unordered_map<uint64_t, std::string> names;
	std::unordered_map<uint64_t, uint64_t> count;
};

kymo_status_t start(void *)
{
	try {
		new late; /* as long as the process */
	} catch (const std::exception &e) {
		std::fprintf(stderr, "late: %s\n", e.what());
		return KYMO_ERROR_NO_MEMORY;
	}
	return KYMO_OK;
}

} // namespace

extern "C" KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t, const char *, uint32_t)
{
	static const kymo_tool_t tool = {sizeof(tool), "late", start, nullptr, nullptr, nullptr};

	return &tool;
}
