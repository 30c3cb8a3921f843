// Checks and errors of kernels: CHECK, LOG, JUST and Maybe. A failed check throws an error that holds the user's file and
// line; nothing here ends the process.
#pragma once

#if defined(__clang__) ? __clang_major__ < 10 : defined(__GNUC__) ? __GNUC__ < 9 : 1
#error "opkit compiles C++ kernels with g++ 9 or later, or clang++ 10 or later"
#endif

// glibc shows its vectors of exp, log, sin and others to -ffast-math alone; kernels get these without the rest of it.
#ifndef __FAST_MATH__
#define __FAST_MATH__ 1
#include <math.h>
#undef __FAST_MATH__
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cfenv>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace opkit {
// What a failed check throws; the entry points turn it into an error of the caller.
struct Failure : std::exception {
  Failure(const char* file, int line, std::string text) : file(file), line(line), text(std::move(text)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string file;
  int line;
  std::string text;
};

// Collects a message and throws it at the end of the statement.
class Stop {
 public:
  Stop(const char* file, int line, const std::string& text);
  ~Stop() noexcept(false);
  template<typename T>
  Stop& operator<<(const T& item) {
    if (!has_note_) stream_ << ": ";
    has_note_ = true;
    stream_ << item;
    return *this;
  }
  Stop& operator<<(std::ostream& (*)(std::ostream&)) { return *this; }
 private:
  const char* file_;
  int line_;
  bool has_note_ = false;
  std::ostringstream stream_;
};

// A line of a log: on the standard error stream, or nowhere.
class Line {
 public:
  explicit Line(bool is_shown) : is_shown_(is_shown) {}
  ~Line();
  template<typename T>
  Line& operator<<(const T& item) {
    if (is_shown_) stream_ << item;
    return *this;
  }
  Line& operator<<(std::ostream& (*)(std::ostream&)) { return *this; }
 private:
  bool is_shown_;
  std::ostringstream stream_;
};

template<typename T>
auto Shown(std::ostream& out, const T& value, int) -> decltype(void(out << value)) { out << value; }
template<typename T>
void Shown(std::ostream& out, const T&, long) { out << "?"; }
template<typename A, typename B>
std::string Compared(const char* text, const A& a, const B& b) {
  std::ostringstream out;
  out << text << " (";
  Shown(out, a, 0);
  out << " and ";
  Shown(out, b, 0);
  out << ")";
  return out.str();
}

template<typename T>
T&& NotNull(T&& pointer, const char* text, const char* file, int line) {
  if (pointer == nullptr) throw Failure(file, line, std::string(text) + " is null");
  return std::forward<T>(pointer);
}
}  // namespace opkit

#define OPKIT_STOP(text) ::opkit::Stop(__FILE__, __LINE__, text)
#define OPKIT_CHECK(condition, text) \
  switch (0)                         \
  case 0:                            \
  default:                           \
    if (condition) {                 \
    } else                           \
      OPKIT_STOP(text)
#define OPKIT_COMPARE(a, op, b) \
  OPKIT_CHECK((a)op(b), ::opkit::Compared("check failed: " #a " " #op " " #b, (a), (b)))

#define CHECK(condition) OPKIT_CHECK(condition, "check failed: " #condition)
#define CHECK_EQ(a, b) OPKIT_COMPARE(a, ==, b)
#define CHECK_NE(a, b) OPKIT_COMPARE(a, !=, b)
#define CHECK_LT(a, b) OPKIT_COMPARE(a, <, b)
#define CHECK_LE(a, b) OPKIT_COMPARE(a, <=, b)
#define CHECK_GT(a, b) OPKIT_COMPARE(a, >, b)
#define CHECK_GE(a, b) OPKIT_COMPARE(a, >=, b)
#define CHECK_STREQ(a, b) CHECK_EQ(std::string(a), std::string(b))
#define CHECK_NOTNULL(pointer) ::opkit::NotNull(pointer, #pointer, __FILE__, __LINE__)
#define DCHECK CHECK
#define DCHECK_EQ CHECK_EQ
#define DCHECK_NE CHECK_NE
#define DCHECK_LT CHECK_LT
#define DCHECK_LE CHECK_LE
#define DCHECK_GT CHECK_GT
#define DCHECK_GE CHECK_GE
#define DCHECK_NOTNULL CHECK_NOTNULL
#define CHECK_OR_RETURN CHECK
#define CHECK_EQ_OR_RETURN CHECK_EQ
#define CHECK_NE_OR_RETURN CHECK_NE
#define CHECK_LT_OR_RETURN CHECK_LT
#define CHECK_LE_OR_RETURN CHECK_LE
#define CHECK_GT_OR_RETURN CHECK_GT
#define CHECK_GE_OR_RETURN CHECK_GE
#define CHECK_NOTNULL_OR_RETURN(pointer) CHECK((pointer) != nullptr)
#define UNIMPLEMENTED() OPKIT_STOP("not implemented")
#define UNIMPLEMENTED_THEN_RETURN() OPKIT_STOP("not implemented")
#define OF_UNIMPLEMENTED() OPKIT_STOP("not implemented")
#define TODO() UNIMPLEMENTED()

#define OPKIT_LOG_INFO ::opkit::Line(false)
#define OPKIT_LOG_WARNING ::opkit::Line(true)
#define OPKIT_LOG_ERROR ::opkit::Line(true)
#define OPKIT_LOG_FATAL OPKIT_STOP("fatal")
#define LOG(level) OPKIT_LOG_##level
#define LOG_IF(level, condition) \
  if (!(condition)) {            \
  } else                         \
    LOG(level)
#define VLOG(level) ::opkit::Line(false)
#define DLOG(level) ::opkit::Line(false)
#define PLOG LOG

namespace oneflow {
// An error under construction, as functions that return Maybe make it.
class Error {
 public:
  static Error CheckFailedError() { return Error(); }
  static Error Ok() { return Error(); }
  static Error Unimplemented() { return Error() << "not implemented"; }
  static Error UnimplementedError() { return Unimplemented(); }
  static Error ValueError(const std::string& text) { return Error() << text; }
  template<typename T>
  Error& operator<<(const T& item) {
    std::ostringstream out;
    out << item;
    text_ += out.str();
    return *this;
  }
  const std::string& text() const { return text_; }
 private:
  std::string text_;
};

// A value, or why there is none.
template<typename T>
class Maybe {
 public:
  Maybe(const T& value) : value_(std::make_shared<T>(value)) {}
  Maybe(const std::shared_ptr<T>& value) : value_(value) {}
  Maybe(const Error& error) : error_(error.text()) {}
  bool IsOk() const { return value_ != nullptr; }
  T& Checked(const char* file, int line) const {
    if (!value_) throw ::opkit::Failure(file, line, error_);
    return *value_;
  }
  std::shared_ptr<T> Shared() const { return value_; }
 private:
  std::shared_ptr<T> value_;
  std::string error_;
};

template<>
class Maybe<void> {
 public:
  static Maybe<void> Ok() { return Maybe<void>(); }
  Maybe(const Error& error) : is_ok_(false), error_(error.text()) {}
  bool IsOk() const { return is_ok_; }
  void Checked(const char* file, int line) const { if (!is_ok_) throw ::opkit::Failure(file, line, error_); }
 private:
  Maybe() = default;
  bool is_ok_ = true;
  std::string error_;
};
}  // namespace oneflow

#define JUST(expression) (expression).Checked(__FILE__, __LINE__)
#define CHECK_JUST(expression) JUST(expression)
#define OF_RETURN_IF_ERROR(expression) JUST(expression)

namespace oneflow {
template<typename K, typename V>
using HashMap = std::unordered_map<K, V>;
template<typename K>
using HashSet = std::unordered_set<K>;
template<typename T>
std::string ToString(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
}  // namespace oneflow

// OneFlow's small words that stand in every file.
#define OF_DISALLOW_COPY(Class)  \
  Class(const Class&) = delete;  \
  Class& operator=(const Class&) = delete
#define OF_DISALLOW_MOVE(Class) \
  Class(Class&&) = delete;      \
  Class& operator=(Class&&) = delete
#define OF_DISALLOW_COPY_AND_MOVE(Class) \
  OF_DISALLOW_COPY(Class);               \
  OF_DISALLOW_MOVE(Class)
#define FOR_RANGE(type, i, begin, end) for (type i = (begin), opkit_end_##i = (end); i < opkit_end_##i; ++i)
#define FOR_EACH(it, container) for (auto it = container.begin(); it != container.end(); ++it)
#define XPU_1D_KERNEL_LOOP(i, n) for (int64_t i = 0, opkit_end_##i = (n); i < opkit_end_##i; ++i)
#define XPU_1D_KERNEL_LOOP_BEGIN(i, n) XPU_1D_KERNEL_LOOP(i, n) {
#define XPU_1D_KERNEL_LOOP_END() }
#define OF_DEVICE_FUNC inline
#define OF_LIKELY(x) __builtin_expect(!!(x), 1)
#define OF_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define OPKIT_GLUE_(a, b) a##b
#define OPKIT_GLUE(a, b) OPKIT_GLUE_(a, b)
