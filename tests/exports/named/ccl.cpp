/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of oneCCL: results that are objects, exceptions that pass through. */
#include <cstdio>

#include "ccl.hpp"

int main()
{
	const ccl::communicator comm = {3, 4};
	float data[100] = {0};
	int sum;

	ccl::group_start();
	sum = ccl::allreduce(data, data, 100, ccl::datatype::float32, ccl::reduction::max, comm, ccl::stream(),
			     ccl::allreduce_attr(), {})
		      .of;
	sum += ccl::allreduce(data, data, 50, ccl::datatype::float64, ccl::reduction::sum, comm,
			      ccl::allreduce_attr(), {ccl::event(1)})
		       .of;
	ccl::group_end();
	try {
		ccl::allreduce(data, data, 0, ccl::datatype::int8, ccl::reduction::sum, comm, ccl::stream(),
			       ccl::allreduce_attr(), {});
	} catch (const std::exception &e) {
		std::printf("caught %s\n", e.what());
	}
	sum += ccl::barrier(comm, ccl::barrier_attr(), {}).of;
	std::printf("%d\n", sum);
	return 0;
}
