/* SPDX-License-Identifier: Apache-2.0 */
/* A program with Kokkos: kernels, views, copies, regions. */
#include <Kokkos_Core.hpp>
#include <cstdio>

int main(int argc, char **argv)
{
	Kokkos::initialize(argc, argv);
	{
		Kokkos::View<double *> x("x", 1000);
		Kokkos::View<double *> y("y", 1000);
		double sum = 0;

		Kokkos::Profiling::pushRegion("solve");
		Kokkos::parallel_for("fill", 1000, KOKKOS_LAMBDA(int i) { x(i) = i; });
		Kokkos::fence();
		Kokkos::deep_copy(y, x);
		Kokkos::parallel_reduce(
			"sum", 1000, KOKKOS_LAMBDA(int i, double &s) { s += y(i); }, sum);
		Kokkos::Profiling::popRegion();
		std::printf("%g\n", sum);
	}
	Kokkos::finalize();
	return 0;
}
