/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations for C++11 and later, over <kymo/marker.h>, whose rules hold here too.
 *
 *   void solve() {
 *           kymo::range r("solve");
 *           r.add("rows", n);
 *   }                                  // ends here, also when an exception passes
 */
#ifndef KYMO_MARKER_HPP
#define KYMO_MARKER_HPP

#include <cstdint>
#include <string>
#include <type_traits>

#include <kymo/marker.h>

namespace kymo {

/* A text used often, a domain or a category. Make it static: it must outlive all its uses. */
class string {
public:
	explicit string(const char *text) : s_ KYMO_STRING(text) {}
	string(const string &) = delete;
	string &operator=(const string &) = delete;
	kymo_string_t *get() { return &s_; }

private:
	kymo_string_t s_;
};

/* A value with a name. Borrows its key and text until the marker it goes to has been made. */
class value : public kymo_payload_t {
public:
	template <typename T, typename std::enable_if<std::is_integral<T>::value &&
						      std::is_signed<T>::value, int>::type = 0>
	value(const char *key, T v) : kymo_payload_t(kymo_int64(key, static_cast<int64_t>(v))) {}
	template <typename T, typename std::enable_if<std::is_integral<T>::value &&
						      std::is_unsigned<T>::value, int>::type = 0>
	value(const char *key, T v) : kymo_payload_t(kymo_uint64(key, static_cast<uint64_t>(v))) {}
	value(const char *key, double v) : kymo_payload_t(kymo_double(key, v)) {}
	value(const char *key, const char *v) : kymo_payload_t(kymo_text(key, v)) {}
	value(const char *key, const std::string &v) : kymo_payload_t(kymo_text(key, v.c_str()))
	{
		length = v.size();
	}
	value(const char *key, const void *data, std::size_t size)
		: kymo_payload_t(kymo_bytes(key, data, size)) {}
};

/* What a mark or range may have besides its name; each function returns the object itself. */
class attributes {
public:
	attributes() : m_() { m_.size = sizeof(m_); }
	explicit attributes(const char *name) : attributes() { m_.name = name; }
	explicit attributes(string &name) : attributes() { m_.string = name.get(); }
	attributes &domain(string &d) { m_.domain = d.get(); return *this; }
	attributes &category(string &c) { m_.category = c.get(); return *this; }
	attributes &color(uint32_t argb) { m_.color = argb; return *this; }
	/* The array is borrowed until the marker has been made. */
	template <std::size_t N> attributes &payload(const value (&values)[N])
	{
		static_assert(sizeof(value) == sizeof(kymo_payload_t), "values are payloads");
		m_.payload = values;
		m_.payload_count = static_cast<uint32_t>(N);
		return *this;
	}
	const kymo_marker_t *get() const { return &m_; }

private:
	kymo_marker_t m_;
};

/* A range of the calling thread, from construction to destruction; stays on that thread. */
class range {
public:
	explicit range(const char *name) : pushed_(kymo_range_push(name) >= 0), domain_(nullptr) {}
	explicit range(const std::string &name) : range(name.c_str()) {}
	explicit range(string &name)
		: pushed_(kymo_range_push_string(name.get()) >= 0), domain_(nullptr) {}
	explicit range(const attributes &a)
		: pushed_(kymo_range_push_full(a.get()) >= 0), domain_(a.get()->domain) {}
	~range()
	{
		/* What was not pushed, because nobody listened then, must not pop another's. */
		if (pushed_)
			kymo_range_pop_domain(domain_);
	}
	range(const range &) = delete;
	range &operator=(const range &) = delete;

	/* To the payload; the range must be the innermost one of the thread. */
	template <typename T> void add(const char *key, const T &v)
	{
		if (pushed_) {
			value p(key, v);

			kymo_range_add(&p, 1);
		}
	}

private:
	bool pushed_;
	kymo_string_t *domain_;
};

/* A range that may end on another thread: it can be moved, and ends with its last owner. */
class process_range {
public:
	explicit process_range(const char *name) : id_(kymo_range_start(name)) {}
	explicit process_range(const attributes &a) : id_(kymo_range_start_full(a.get())) {}
	process_range(process_range &&from) noexcept : id_(from.id_) { from.id_ = 0; }
	process_range &operator=(process_range &&from) noexcept
	{
		if (this != &from) {
			stop();
			id_ = from.id_;
			from.id_ = 0;
		}
		return *this;
	}
	~process_range() { stop(); }
	void stop()
	{
		if (id_)
			kymo_range_stop(id_);
		id_ = 0;
	}

private:
	uint64_t id_;
};

inline void mark(const char *name) { kymo_mark(name); }
inline void mark(const attributes &a) { kymo_mark_full(a.get()); }

/* Nothing is recorded (of this thread, or at all) while one of these lives. */
class pause_thread {
public:
	pause_thread() { kymo_pause_thread(); }
	~pause_thread() { kymo_resume_thread(); }
	pause_thread(const pause_thread &) = delete;
	pause_thread &operator=(const pause_thread &) = delete;
};

class pause {
public:
	pause() { kymo_pause(); }
	~pause() { kymo_resume(); }
	pause(const pause &) = delete;
	pause &operator=(const pause &) = delete;
};

} /* namespace kymo */

#endif
