/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows nothing of ITT: oneTBB, in its headers and its library, annotates itself. */
#define TBB_USE_PROFILING_TOOLS 1
#define TBB_PREVIEW_FLOW_GRAPH_TRACE 1
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/profiling.h>
#include <atomic>
#include <cstdio>

namespace flow = oneapi::tbb::flow;
namespace profiling = oneapi::tbb::profiling;

int main()
{
	flow::graph graph;
	std::atomic<int> sum{0};
	flow::function_node<int, int> square(graph, flow::unlimited, [](int v) { return v * v; });
	flow::function_node<int, int> add(graph, flow::serial, [&](int v) { return sum += v; });
	profiling::event tick("tick");

	profiling::set_name(graph, "pipeline");
	profiling::set_name(square, "square");
	profiling::set_name(add, "add");
	flow::make_edge(square, add);
	for (int i = 0; i < 10; i++) {
		square.try_put(i);
		tick.emit();
	}
	graph.wait_for_all();
	oneapi::tbb::parallel_for(0, 1000, [&](int) { sum++; });
	std::printf("%d\n", sum.load());
}
