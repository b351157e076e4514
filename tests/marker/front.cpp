/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ front end: ranges that end with their scope, values of each type. */
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <kymo/marker.hpp>

static kymo::string often("often"), library("library"), io("io");

static void fails()
{
	kymo::range r("fails");

	throw std::runtime_error("as expected");
}

int main()
{
	kymo::range whole(std::string("whole"));

	whole.add("unsigned", 7u);
	whole.add("text", std::string("a b"));
	{
		kymo::range r(often);
		kymo::mark("inside");
	}
	{
		const kymo::value values[] = {{"n", -3}, {"x", 0.5}, {"t", "text"}, {"b", "\1\2", 2}};
		kymo::attributes a("full");

		a.domain(library).category(io).color(0xff112233u).payload(values);
		kymo::range r(a);
		kymo::range inner("other domain");
	}
	try {
		fails();
	} catch (const std::exception &) {
		kymo::mark("caught");
	}
	kymo::process_range across("across");
	std::thread([](kymo::process_range) { kymo_name_thread("cpp worker"); }, std::move(across))
		.join();
	return 0;
}
