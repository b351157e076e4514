/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ of a tool: throws, and says whether the language's own books are in order. */
#include <exception>
#include <stdexcept>

static int destroyed;

struct witness {
	~witness() { destroyed++; }
};

extern "C" {

__attribute__((visibility("default"))) void thrower_throw(void)
{
	witness w;
	throw std::runtime_error("a tool gives up");
}

/* Destructors that ran on the way. */
__attribute__((visibility("default"))) int thrower_destroyed(void)
{
	return destroyed;
}

__attribute__((visibility("default"))) int thrower_uncaught(void)
{
	return std::uncaught_exceptions();
}

/* Calls `fn`: 1 if std::runtime_error came out of it. */
__attribute__((visibility("default"))) int thrower_catches(void (*fn)(void))
{
	try {
		fn();
	} catch (const std::runtime_error &) {
		return 1;
	}
	return 0;
}
}
