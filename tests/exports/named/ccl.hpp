/* SPDX-License-Identifier: Apache-2.0 */
/* The part of oneCCL's interface that the tests use: names, parameters and results as in its public headers. */
#ifndef TESTS_EXPORTS_NAMED_CCL_HPP
#define TESTS_EXPORTS_NAMED_CCL_HPP

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace ccl {
inline namespace v1 {
enum class datatype : int { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, float32, float64 };
enum class reduction : int { sum, prod, min, max, custom };
struct stream {
};
struct communicator {
	int rank, size;
};
struct allreduce_attr {
};
struct barrier_attr {
};
class event
{
      public:
	explicit event(int of) : of(of) {}
	event(const event &other) : of(other.of) {}
	~event() { of = 0; }
	int of;
};

event allreduce(const void *send_buf, void *recv_buf, std::size_t count, datatype dtype, reduction rtype,
		const communicator &comm, const stream &stream, const allreduce_attr &attr,
		const std::vector<event> &deps);
event allreduce(const void *send_buf, void *recv_buf, std::size_t count, datatype dtype, reduction rtype,
		const communicator &comm, const allreduce_attr &attr, const std::vector<event> &deps);
event barrier(const communicator &comm, const barrier_attr &attr, const std::vector<event> &deps);
void group_start();
void group_end();
} // namespace v1
} // namespace ccl

#endif
