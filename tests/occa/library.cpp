// SPDX-License-Identifier: Apache-2.0
// The fake of libocca: the same layers as OCCA's (wrappers, mode objects with virtual functions, leaves), the modes
// Serial and OpenMP, and OpenCL on what is here. Kernels: fill(memory, value), add(memory, memory, count), hook().
// OCCA_INLINED: kernel::run() is inlined where it is called, as clang does.
#include "occa.hpp"

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <stdexcept>

#include "occa.h"
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

__attribute__((visibility("default"))) void (*occa_hook)(); // what kernel "hook" does in mode Serial
__attribute__((visibility("default"))) void (*occa_build_hook)(); // before a kernel of OpenCL's is made

namespace occa {

// ---- mode objects --------------------------------------------------------------------------------

class modeStream_t {
public:
	int refs = 0;
	virtual ~modeStream_t() {}
	virtual void finish() {}
};

class modeDevice_t {
public:
	explicit modeDevice_t(const std::string &mode) : mode(mode) {}
	virtual ~modeDevice_t() {}
	std::string mode;
	json properties;
	int refs = 0;
	modeStream_t *current = nullptr;
	virtual modeStream_t *newStream() { return new modeStream_t; }
	virtual void finish() {}
	virtual modeKernel_t *build(const std::string &file, const std::string &name) = 0;
	virtual modeBuffer_t *newBuffer(udim_t bytes) = 0;
	virtual modeMemory_t *newMemory(modeBuffer_t *b, udim_t bytes, udim_t offset) = 0;
};

class modeBuffer_t {
public:
	modeBuffer_t(modeDevice_t *device, udim_t size, const json &props);
	virtual ~modeBuffer_t();
	virtual void malloc(udim_t bytes) {}
	modeDevice_t *device;
	udim_t size;
	int refs = 0;
	bool wrapped = false;
};
modeBuffer_t::modeBuffer_t(modeDevice_t *device, udim_t size, const json &) : device(device), size(size) {}
modeBuffer_t::~modeBuffer_t() {}

class modeMemory_t {
public:
	modeMemory_t(modeBuffer_t *b, udim_t bytes, udim_t offset) : buffer(b), bytes(bytes), offset(offset)
	{
		b->refs++;
	}
	virtual ~modeMemory_t()
	{
		if (--buffer->refs == 0)
			delete buffer;
	}
	virtual void copyFrom(const void *src, udim_t bytes, udim_t offset, const json &props) = 0;
	virtual void copyFrom(const modeMemory_t *src, udim_t bytes, udim_t to, udim_t from, const json &props) = 0;
	virtual void copyTo(void *dest, udim_t bytes, udim_t offset, const json &props) const = 0;
	modeBuffer_t *buffer;
	udim_t bytes, offset;
	const dtype_t *type = &dtype::byte;
	int refs = 0;
};

class modeMemoryPool_t : public modeBuffer_t {
public:
	explicit modeMemoryPool_t(modeDevice_t *d) : modeBuffer_t(d, 0, json()) {}
	~modeMemoryPool_t() override { drop(); }
	void drop()
	{
		if (buffer && --buffer->refs == 0)
			delete buffer;
		buffer = nullptr;
	}
	void fit(udim_t bytes)
	{
		drop();
		buffer = device->newBuffer(0);
		buffer->refs++;
		buffer->malloc(bytes);
		size = bytes;
		used = 0;
	}
	modeBuffer_t *buffer = nullptr;
	udim_t used = 0;
	int owners = 0;
};

class modeKernel_t {
public:
	modeKernel_t(modeDevice_t *d, const std::string &name, const std::string &file)
		: device(d), name(name), file(file)
	{
	}
	virtual ~modeKernel_t() {}
	virtual void run() const = 0;
	modeDevice_t *device;
	std::string name, file;
	void setArguments(kernelArg *list, int count);
	void pushArgument(const kernelArg &a);
	std::vector<kernelArgData> arguments;
	int refs = 0;
};

void modeKernel_t::pushArgument(const kernelArg &a)
{
	for (int i = 0; i < a.size(); i++)
		arguments.push_back(a[i]);
}
void modeKernel_t::setArguments(kernelArg *list, int count)
{
	arguments.clear();
	for (int i = 0; i < count; i++)
		pushArgument(list[i]);
}

class launchedModeKernel_t : public modeKernel_t {
public:
	using modeKernel_t::modeKernel_t;
	~launchedModeKernel_t() override { delete launcher; }
	void run() const override;
	virtual void deviceRun() const = 0;
	modeKernel_t *launcher = nullptr;
};

// ---- Serial and OpenMP ---------------------------------------------------------------------------

namespace serial {

class buffer : public modeBuffer_t {
public:
	buffer(modeDevice_t *d, udim_t bytes) : modeBuffer_t(d, bytes, json()) {}
	~buffer() override
	{
		if (!wrapped)
			std::free(at);
	}
	void malloc(udim_t bytes) override;
	char *at = nullptr;
};
void buffer::malloc(udim_t bytes)
{
	at = static_cast<char *>(std::malloc(bytes));
	size = bytes;
}

static char *place(const modeMemory_t *m)
{
	return static_cast<buffer *>(m->buffer)->at + m->offset;
}

class memory : public modeMemory_t {
public:
	using modeMemory_t::modeMemory_t;
	void copyFrom(const void *src, udim_t bytes, udim_t offset, const json &props) override;
	void copyFrom(const modeMemory_t *src, udim_t bytes, udim_t to, udim_t from, const json &props) override;
	void copyTo(void *dest, udim_t bytes, udim_t offset, const json &props) const override;
};
void memory::copyFrom(const void *src, udim_t bytes, udim_t offset, const json &)
{
	std::memcpy(place(this) + offset, src, bytes);
}
void memory::copyFrom(const modeMemory_t *src, udim_t bytes, udim_t to, udim_t from, const json &)
{
	std::memcpy(place(this) + to, place(src) + from, bytes);
}
void memory::copyTo(void *dest, udim_t bytes, udim_t offset, const json &) const
{
	std::memcpy(dest, place(this) + offset, bytes);
}

class kernel : public modeKernel_t {
public:
	using modeKernel_t::modeKernel_t;
	void run() const override;
	const launchedModeKernel_t *launched = nullptr; // it is that one's launcher
};
void kernel::run() const
{
	if (launched) {
		launched->deviceRun();
		return;
	}
	if (name == "hook")
		return occa_hook();
	float *to = reinterpret_cast<float *>(place(arguments[0].memory_));
	udim_t n = arguments[0].memory_->bytes / sizeof(float);
	for (udim_t i = 0; i < n; i++)
		to[i] = name == "fill" ? static_cast<float>(arguments[1].value)
				       : to[i] + reinterpret_cast<float *>(place(arguments[1].memory_))[i];
}

class device : public modeDevice_t {
public:
	using modeDevice_t::modeDevice_t;
	modeKernel_t *build(const std::string &file, const std::string &name) override
	{
		return new kernel(this, name, file);
	}
	modeBuffer_t *newBuffer(udim_t bytes) override { return new buffer(this, bytes); }
	modeMemory_t *newMemory(modeBuffer_t *b, udim_t bytes, udim_t offset) override
	{
		return new memory(b, bytes, offset);
	}
};

} // namespace serial

void launchedModeKernel_t::run() const
{
	launcher->run();
}

// ---- OpenCL --------------------------------------------------------------------------------------

namespace opencl {

static void must(cl_int status)
{
	if (status != CL_SUCCESS)
		throw std::runtime_error("OpenCL");
}

class stream : public modeStream_t {
public:
	explicit stream(cl_command_queue q) : queue(q) {}
	~stream() override { clReleaseCommandQueue(queue); }
	void finish() override { must(clFinish(queue)); }
	cl_command_queue queue;
};

class device : public modeDevice_t {
public:
	device(const std::string &mode, cl_uint number) : modeDevice_t(mode)
	{
		cl_platform_id platform;
		cl_int status = CL_SUCCESS;
		must(clGetPlatformIDs(1, &platform, nullptr));
		cl_device_id all[8];
		cl_uint n = 0;
		must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, all, &n));
		id = all[number < n ? number : 0];
		context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status);
		must(status);
	}
	~device() override { clReleaseContext(context); }
	modeStream_t *newStream() override
	{
		cl_int status;
		cl_command_queue q = clCreateCommandQueue(context, id, CL_QUEUE_PROFILING_ENABLE, &status);
		must(status);
		return new stream(q);
	}
	cl_command_queue queue() const { return static_cast<stream *>(current)->queue; }
	void finish() override { must(clFinish(queue())); }
	modeKernel_t *build(const std::string &file, const std::string &name) override;
	modeBuffer_t *newBuffer(udim_t bytes) override;
	modeMemory_t *newMemory(modeBuffer_t *b, udim_t bytes, udim_t offset) override;
	cl_device_id id;
	cl_context context;
};

class buffer : public modeBuffer_t {
public:
	buffer(modeDevice_t *d, udim_t bytes) : modeBuffer_t(d, bytes, json()) {}
	~buffer() override
	{
		if (at)
			clReleaseMemObject(at);
	}
	void malloc(udim_t bytes) override;
	cl_mem at = nullptr;
};
void buffer::malloc(udim_t bytes)
{
	cl_int status;
	at = clCreateBuffer(static_cast<opencl::device *>(device)->context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
	must(status);
	size = bytes;
}

class memory : public modeMemory_t {
public:
	using modeMemory_t::modeMemory_t;
	cl_command_queue queue() const { return static_cast<opencl::device *>(buffer->device)->queue(); }
	cl_mem at() const { return static_cast<opencl::buffer *>(buffer)->at; }
	void copyFrom(const void *src, udim_t bytes, udim_t to, const json &) override
	{
		must(clEnqueueWriteBuffer(queue(), at(), CL_TRUE, offset + to, bytes, src, 0, nullptr, nullptr));
	}
	void copyFrom(const modeMemory_t *src, udim_t bytes, udim_t to, udim_t from, const json &) override
	{
		must(clEnqueueCopyBuffer(queue(), static_cast<const memory *>(src)->at(), at(), src->offset + from,
					 offset + to, bytes, 0, nullptr, nullptr));
	}
	void copyTo(void *dest, udim_t bytes, udim_t from, const json &) const override
	{
		must(clEnqueueReadBuffer(queue(), at(), CL_TRUE, offset + from, bytes, dest, 0, nullptr, nullptr));
	}
};

class kernel : public launchedModeKernel_t {
public:
	kernel(modeDevice_t *d, const std::string &name, const std::string &file) : launchedModeKernel_t(d, name, file)
	{
		std::string text = "__kernel void _occa_" + name + "_0(__global float *a, ";
		text += name == "fill" ? "int v) { a[get_global_id(0)] = v; }"
				       : "__global float *b, int n) { a[get_global_id(0)] += b[get_global_id(0)]; }";
		const char *source = text.c_str();
		cl_int status;
		program = clCreateProgramWithSource(static_cast<opencl::device *>(d)->context, 1, &source, nullptr,
						    &status);
		must(status);
		must(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr));
		cl = clCreateKernel(program, ("_occa_" + name + "_0").c_str(), &status);
		must(status);
	}
	~kernel() override
	{
		clReleaseKernel(cl);
		clReleaseProgram(program);
	}
	void deviceRun() const override;
	cl_program program;
	cl_kernel cl;
};
void kernel::deviceRun() const
{
	size_t n = arguments[0].memory_->bytes / sizeof(float);
	for (cl_uint i = 0; i < arguments.size(); i++)
		if (arguments[i].memory_)
			must(clSetKernelArg(cl, i, sizeof(cl_mem),
					    &static_cast<buffer *>(arguments[i].memory_->buffer)->at));
		else
			must(clSetKernelArg(cl, i, sizeof(int), &arguments[i].value));
	must(clEnqueueNDRangeKernel(static_cast<opencl::device *>(device)->queue(), cl, 1, nullptr, &n, nullptr, 0,
				    nullptr, nullptr));
}

// As OCCA's: a launcher that is a kernel of the host's own device runs the device's kernels.
modeKernel_t *device::build(const std::string &file, const std::string &name)
{
	static std::mutex one;
	if (occa_build_hook)
		occa_build_hook();
	std::lock_guard<std::mutex> lock(one);
	kernel *k = new kernel(this, name, file);
	occa::kernel inner = host().buildKernel(file + ".launcher", name);
	serial::kernel *launcher = new serial::kernel(*static_cast<serial::kernel *>(inner.getModeKernel()));
	launcher->launched = k;
	k->launcher = launcher;
	return k;
}
modeBuffer_t *device::newBuffer(udim_t bytes)
{
	return new buffer(this, bytes);
}
modeMemory_t *device::newMemory(modeBuffer_t *b, udim_t bytes, udim_t offset)
{
	return new memory(b, bytes, offset);
}

} // namespace opencl

// ---- wrappers ------------------------------------------------------------------------------------

json::json(const std::string &text)
{
	for (size_t at = 0; at < text.size();) {
		size_t end = std::min(text.find(',', at), text.size()), colon = text.find(": ", at);
		values[text.substr(at, colon - at)] = text.substr(colon + 2, end - colon - 2);
		at = end + 2;
	}
}
std::string json::text(const char *key) const
{
	auto found = values.find(key);
	return found == values.end() ? "" : found->second;
}
template <> bool json::get<bool>(const char *key, const bool &otherwise) const
{
	auto found = values.find(key);
	return found == values.end() ? otherwise : found->second == "true";
}
template <> int json::get<int>(const char *key, const int &otherwise) const
{
	auto found = values.find(key);
	return found == values.end() ? otherwise : std::atoi(found->second.c_str());
}
int dtype_t::bytes() const
{
	return size_;
}
namespace dtype {
const dtype_t byte(1), float_(4);
}

// What has references is gone with the last of them.
template <class T> static void hold(T *&mine, T *other)
{
	T *old = mine;
	if (other)
		other->refs++;
	mine = other;
	if (old && --old->refs == 0)
		delete old;
}

memory::memory(modeMemory_t *m) { hold(mode_, m); }
memory::memory(const memory &m) { hold(mode_, m.mode_); }
memory &memory::operator=(const memory &m)
{
	hold(mode_, m.mode_);
	return *this;
}
memory::~memory() { hold(mode_, static_cast<modeMemory_t *>(nullptr)); }
modeMemory_t *memory::getModeMemory() const { return mode_; }
modeDevice_t *memory::getModeDevice() const { return mode_->buffer->device; }
udim_t memory::byte_size() const { return mode_ ? mode_->bytes : 0; }
const dtype_t &memory::dtype() const { return *mode_->type; }
void memory::free()
{
	hold(mode_, static_cast<modeMemory_t *>(nullptr));
}
static udim_t bytes_of(const memory &m, dim_t count)
{
	return count < 0 ? m.byte_size() : static_cast<udim_t>(count * m.dtype().bytes());
}
void memory::copyFrom(const void *src, dim_t count, dim_t offset, const json &props)
{
	if (bytes_of(*this, count) > mode_->bytes)
		throw std::runtime_error("too much");
	mode_->copyFrom(src, bytes_of(*this, count), offset, props);
}
void memory::copyFrom(const void *src, const json &props) { copyFrom(src, -1, 0, props); }
void memory::copyFrom(memory src, dim_t count, dim_t to, dim_t from, const json &props)
{
	mode_->copyFrom(src.mode_, bytes_of(*this, count), to, from, props);
}
void memory::copyFrom(memory src, const json &props) { copyFrom(src, -1, 0, 0, props); }
void memory::copyTo(void *dest, dim_t count, dim_t offset, const json &props) const
{
	mode_->copyTo(dest, bytes_of(*this, count), offset, props);
}
void memory::copyTo(void *dest, const json &props) const { copyTo(dest, -1, 0, props); }

kernel::kernel(modeKernel_t *k) { hold(mode_, k); }
kernel::kernel(const kernel &k) { hold(mode_, k.mode_); }
kernel &kernel::operator=(const kernel &k)
{
	hold(mode_, k.mode_);
	return *this;
}
kernel::~kernel()
{
	if (mode_ && --mode_->refs == 0)
		free();
}
modeKernel_t *kernel::getModeKernel() const { return mode_; }
const std::string &kernel::name() { return mode_->name; }
const std::string &kernel::sourceFilename() { return mode_->file; }
const std::string &kernel::mode() const { return mode_->device->mode; }
void kernel::run() const
{
	mode_->run();
}
#ifdef OCCA_INLINED
#define RUN mode_->run()
#else
#define RUN run()
#endif
void kernel::operator()(const kernelArg &a, const kernelArg &b) const
{
	kernelArg list[] = {a, b};
	mode_->setArguments(list, 2);
	RUN;
}
void kernel::operator()(const kernelArg &a, const kernelArg &b, const kernelArg &c) const
{
	kernelArg list[] = {a, b, c};
	mode_->setArguments(list, 3);
	RUN;
}
void kernel::pushArg(const kernelArg &a) { mode_->pushArgument(a); }
void kernel::clearArgs() { mode_->arguments.clear(); }
modeMemory_t *kernelArgData::getModeMemory() const { return memory_; }
int kernelArg::size() const { return 1; }
const kernelArgData &kernelArg::operator[](int) const { return data; }
void kernel::free()
{
	delete mode_;
	mode_ = nullptr;
}

stream::stream(const stream &s) : mode_(s.mode_) {}
stream &stream::operator=(const stream &s)
{
	mode_ = s.mode_;
	return *this;
}
stream::~stream() {}
modeStream_t *stream::getModeStream() const { return mode_; }
void stream::finish() { mode_->finish(); }
streamTag::streamTag(const streamTag &t) : at(t.at) {}
streamTag::~streamTag() {}

memoryPool::memoryPool(const memoryPool &p) : mode_(p.mode_) { mode_->owners++; }
memoryPool::~memoryPool()
{
	if (--mode_->owners < 0)
		delete mode_;
}
modeMemoryPool_t *memoryPool::getModeMemoryPool() const { return mode_; }
modeDevice_t *memoryPool::getModeDevice() const { return mode_->device; }
udim_t memoryPool::size() const { return mode_->size; }
memory memoryPool::reserve(dim_t entries, const dtype_t &type)
{
	udim_t bytes = static_cast<udim_t>(entries * type.bytes());
	if (mode_->used + bytes > mode_->size)
		mode_->fit(mode_->used + bytes);
	memory m(mode_->device->newMemory(mode_->buffer, bytes, mode_->used));
	mode_->used += bytes;
	return m;
}
void memoryPool::resize(udim_t bytes)
{
	if (bytes != mode_->size)
		mode_->fit(bytes);
}
void memoryPool::shrinkToFit() { resize(mode_->used ? mode_->used : 16); }

device::device(const json &props) { setup(props); }
device::device(const device &d) { hold(mode_, d.mode_); }
device &device::operator=(const device &d)
{
	hold(mode_, d.mode_);
	return *this;
}
device::~device()
{
	if (mode_ && --mode_->refs == 0)
		free();
}
void device::setup(const json &props)
{
	std::string mode = props.text("mode");
	modeDevice_t *d = mode == "OpenCL" ? static_cast<modeDevice_t *>(
							     new opencl::device(mode, props.get<int>("device_id", 0)))
					   : new serial::device(mode);
	d->properties = props;
	hold(mode_, d);
	setStream(createStream());
}
void device::free()
{
	delete mode_;
	mode_ = nullptr;
}
void device::finish() { mode_->finish(); }
void device::finishAll() { mode_->finish(); }
const std::string &device::mode() const
{
	static const std::string none;
	return mode_ ? mode_->mode : none;
}
const json &device::properties() const { return mode_->properties; }
modeDevice_t *device::getModeDevice() const { return mode_; }
stream device::createStream(const json &) { return stream(mode_->newStream()); }
void device::setStream(stream s) { mode_->current = s.getModeStream(); }
static double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
streamTag device::tagStream() { return streamTag(now()); }
void device::waitFor(streamTag) { mode_->finish(); }
double device::timeBetween(const streamTag &from, const streamTag &to) { return to.at - from.at; }
kernel device::buildKernel(const std::string &file, const std::string &name, const json &) const
{
	char *path = realpath(file.c_str(), nullptr);
	if (name == "broken")
		throw std::runtime_error("no such kernel");
	kernel k(mode_->build(path ? path : file, name));
	std::free(path);
	return k;
}
kernel device::buildKernelFromString(const std::string &, const std::string &name, const json &props) const
{
	return buildKernel("/cache/string_source.cpp", name, props);
}
memory device::malloc(dim_t entries, const dtype_t &type, const void *src, const json &props)
{
	udim_t bytes = static_cast<udim_t>(entries * type.bytes());
	modeBuffer_t *b = mode_->newBuffer(bytes);
	b->malloc(bytes);
	modeMemory_t *m = mode_->newMemory(b, bytes, 0);
	m->type = &type;
	if (src)
		m->copyFrom(src, bytes, 0, props);
	return memory(m);
}
template <> memory device::malloc<void>(dim_t entries, const void *src, const json &props)
{
	return malloc(entries, dtype::byte, src, props);
}
memory device::wrapMemory(const void *ptr, dim_t entries, const dtype_t &type, const json &)
{
	serial::buffer *b = new serial::buffer(mode_, static_cast<udim_t>(entries * type.bytes()));
	b->at = static_cast<char *>(const_cast<void *>(ptr));
	b->wrapped = true;
	return memory(mode_->newMemory(b, b->size, 0));
}
memoryPool device::createMemoryPool(const json &) { return memoryPool(new modeMemoryPool_t(mode_)); }

device host()
{
	static thread_local device inner;
	if (!inner.getModeDevice())
		inner = device(json("mode: Serial"));
	return inner;
}
device &getDevice()
{
	static thread_local device current;
	if (!current.getModeDevice())
		current = host();
	return current;
}
void setDevice(const json &props) { getDevice() = device(props); }
memory malloc(dim_t entries, const dtype_t &type, const void *src, const json &props)
{
	return getDevice().malloc(entries, type, src, props);
}
kernel buildKernel(const std::string &file, const std::string &name, const json &props)
{
	return getDevice().buildKernel(file, name, props);
}
void finish() { getDevice().finish(); }

} // namespace occa

// ---- C -------------------------------------------------------------------------------------------

enum { DEVICE = 1, KERNEL, MEMORY, INT };
template <class T> static occaType give(int what, T *object)
{
	return {{what, reinterpret_cast<long>(object), 0, 0}};
}
template <class T> static T *object(const occaType &t)
{
	return reinterpret_cast<T *>(t.words[1]);
}
occaType occaCreateDeviceFromString(const char *props)
{
	return give(DEVICE, new occa::device(occa::json(props)));
}
occaType occaDeviceBuildKernel(occaType device, const char *file, const char *name, occaType)
{
	return give(KERNEL, new occa::kernel(object<occa::device>(device)->buildKernel(file, name)));
}
occaType occaDeviceMalloc(occaType device, unsigned long bytes, const void *src, occaType)
{
	return give(MEMORY, new occa::memory(object<occa::device>(device)->malloc(static_cast<long>(bytes), occa::dtype::byte,
										    src, occa::json())));
}
void occaCopyPtrToMem(occaType dest, const void *src, unsigned long bytes, unsigned long offset, occaType)
{
	object<occa::memory>(dest)->copyFrom(src, static_cast<long>(bytes), static_cast<long>(offset), occa::json());
}
void occaCopyMemToPtr(void *dest, occaType src, unsigned long bytes, unsigned long offset, occaType)
{
	object<occa::memory>(src)->copyTo(dest, static_cast<long>(bytes), static_cast<long>(offset), occa::json());
}
occaType occaInt(int value)
{
	return {{INT, value, 0, 0}};
}
void occaKernelRunN(occaType kernel, int argc, ...)
{
	occa::kernel &k = *object<occa::kernel>(kernel);
	va_list list;
	va_start(list, argc);
	k.clearArgs();
	for (int i = 0; i < argc; i++) {
		occaType t = va_arg(list, occaType);
		k.pushArg(t.words[0] == INT ? occa::kernelArg(static_cast<int>(t.words[1]))
					    : occa::kernelArg(*object<occa::memory>(t)));
	}
	va_end(list);
	k.run();
}
void occaDeviceFinish(occaType device)
{
	object<occa::device>(device)->finish();
}
void occaFree(occaType *t)
{
	if (t->words[0] == DEVICE)
		object<occa::device>(*t)->free();
	else if (t->words[0] == KERNEL)
		object<occa::kernel>(*t)->free();
	else
		object<occa::memory>(*t)->free();
}
