// SPDX-License-Identifier: Apache-2.0
// A fake of OCCA 2.0: as much of its C++ and C interface as the tests use, declared anew, so that functions
// have the names that OCCA's have. Its kernels are two functions that are built in; a "source file" is only named.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace occa {

typedef long dim_t;
typedef unsigned long udim_t;

class json {
public:
	json() {}
	json(const std::string &text); // "key: value, key: value"
	template <class TM> TM get(const char *key, const TM &otherwise) const;
	std::string text(const char *key) const;
	std::map<std::string, std::string> values;
};
template <> int json::get<int>(const char *key, const int &otherwise) const;
template <> bool json::get<bool>(const char *key, const bool &otherwise) const;

class dtype_t {
public:
	explicit dtype_t(int size) : size_(size) {}
	int bytes() const;

private:
	int size_;
};
namespace dtype {
extern const dtype_t byte, float_;
}

class modeDevice_t;
class modeKernel_t;
class modeMemory_t;
class modeBuffer_t;
class modeMemoryPool_t;
class modeStream_t;

class memory {
public:
	memory() {}
	explicit memory(modeMemory_t *m);
	memory(const memory &m);
	memory &operator=(const memory &m);
	~memory();
	modeMemory_t *getModeMemory() const;
	modeDevice_t *getModeDevice() const;
	udim_t byte_size() const;
	const dtype_t &dtype() const;
	void copyFrom(const void *src, dim_t count, dim_t offset, const json &props);
	void copyFrom(const void *src, const json &props = json());
	void copyFrom(memory src, dim_t count, dim_t to, dim_t from, const json &props);
	void copyFrom(memory src, const json &props = json());
	void copyTo(void *dest, dim_t count, dim_t offset, const json &props) const;
	void copyTo(void *dest, const json &props = json()) const;
	void free();

private:
	modeMemory_t *mode_ = nullptr;
};

class kernelArgData {
public:
	modeMemory_t *getModeMemory() const;
	int value = 0;
	modeMemory_t *memory_ = nullptr;
};

class kernelArg {
public:
	kernelArg(int value) { data.value = value; }
	kernelArg(const memory &m) { data.memory_ = m.getModeMemory(); }
	int size() const;
	const kernelArgData &operator[](int index) const;
	kernelArgData data;
};

class kernel {
public:
	kernel() {}
	explicit kernel(modeKernel_t *k);
	kernel(const kernel &k);
	kernel &operator=(const kernel &k);
	~kernel();
	modeKernel_t *getModeKernel() const;
	const std::string &name();
	const std::string &sourceFilename();
	const std::string &mode() const;
	void run() const;
	void operator()(const kernelArg &a, const kernelArg &b) const;
	void operator()(const kernelArg &a, const kernelArg &b, const kernelArg &c) const;
	void pushArg(const kernelArg &a);
	void clearArgs();
	void free();

private:
	modeKernel_t *mode_ = nullptr;
};

class stream {
public:
	stream() {}
	explicit stream(modeStream_t *s) : mode_(s) {}
	stream(const stream &s);
	stream &operator=(const stream &s);
	~stream();
	modeStream_t *getModeStream() const;
	void finish();

private:
	modeStream_t *mode_ = nullptr;
};

class streamTag {
public:
	explicit streamTag(double at) : at(at) {}
	streamTag(const streamTag &t);
	~streamTag();
	double at;
};

class memoryPool {
public:
	explicit memoryPool(modeMemoryPool_t *p) : mode_(p) {}
	memoryPool(const memoryPool &p);
	~memoryPool();
	modeMemoryPool_t *getModeMemoryPool() const;
	modeDevice_t *getModeDevice() const;
	udim_t size() const;
	memory reserve(dim_t entries, const dtype_t &type);
	void resize(udim_t bytes);
	void shrinkToFit();

private:
	modeMemoryPool_t *mode_;
};

class device {
public:
	device() {}
	device(const json &props);
	device(const device &d);
	device &operator=(const device &d);
	~device();
	void setup(const json &props);
	void free();
	void finish();
	void finishAll();
	const std::string &mode() const;
	const json &properties() const;
	modeDevice_t *getModeDevice() const;
	stream createStream(const json &props = json());
	void setStream(stream s);
	streamTag tagStream();
	void waitFor(streamTag t);
	double timeBetween(const streamTag &from, const streamTag &to);
	kernel buildKernel(const std::string &file, const std::string &name, const json &props = json()) const;
	kernel buildKernelFromString(const std::string &text, const std::string &name,
				     const json &props = json()) const;
	memory malloc(dim_t entries, const dtype_t &type, const void *src, const json &props);
	template <class T> memory malloc(dim_t entries, const void *src = nullptr, const json &props = json());
	memory wrapMemory(const void *ptr, dim_t entries, const dtype_t &type, const json &props);
	memoryPool createMemoryPool(const json &props = json());

private:
	modeDevice_t *mode_ = nullptr;
};
template <> memory device::malloc<void>(dim_t entries, const void *src, const json &props);
template <class T> memory device::malloc(dim_t entries, const void *src, const json &props)
{
	return malloc(entries, dtype::float_, src, props);
}

device host();
device &getDevice();
void setDevice(const json &props);
memory malloc(dim_t entries, const dtype_t &type, const void *src, const json &props);
template <class T> memory malloc(dim_t entries, const void *src = nullptr, const json &props = json())
{
	return malloc(entries, dtype::float_, src, props);
}
kernel buildKernel(const std::string &file, const std::string &name, const json &props = json());
void finish();

} // namespace occa
