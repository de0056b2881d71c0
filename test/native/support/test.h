// A test framework in a page: cases register themselves, checks count, the output is TAP.
#pragma once

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace test {

struct Case {
  const char* name;
  std::function<void()> body;
};
std::vector<Case>& cases();
struct Register {
  Register(const char* name, std::function<void()> body) { cases().push_back({name, std::move(body)}); }
};

// Notes a check of the case that runs; from any thread.
void note(bool ok, const char* file, int line, const std::string& text);
// A line for whoever reads the output: figures.
void say(const std::string& text);
// Runs the cases that have `part` in their name, and prints what became of them. The exit code of the process.
int run(const std::string& part);
// The process ends with a message when the case is not over by then.
void watchdog(unsigned seconds, const std::string& what);

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  if constexpr (requires { out << value; }) {
    out << value;
  } else if constexpr (requires { value.begin(); }) {
    out << '[';
    const char* comma = "";
    for (const auto& each : value) {
      out << comma << text(each);
      comma = ", ";
    }
    out << ']';
  } else {
    out << "(a value)";
  }
  return out.str();
}

}  // namespace test

#define TEST_JOIN2(a, b) a##b
#define TEST_JOIN(a, b) TEST_JOIN2(a, b)
// Many files are compiled as one, so that a line's number would not do.
#define TEST(name) TEST_NUMBERED(name, __COUNTER__)
#define TEST_NUMBERED(name, number)                                                         \
  static void TEST_JOIN(case_, number)();                                                   \
  static const test::Register TEST_JOIN(register_, number)(name, TEST_JOIN(case_, number)); \
  static void TEST_JOIN(case_, number)()

#define CHECK(condition) test::note(static_cast<bool>(condition), __FILE__, __LINE__, #condition)
#define CHECK_EQ(got, wanted)                                                                                     \
  do {                                                                                                            \
    const auto got_ = (got);                                                                                      \
    const decltype(got_) wanted_ = (wanted);                                                                      \
    const bool ok_ = got_ == wanted_;                                                                             \
    test::note(ok_, __FILE__, __LINE__,                                                                           \
               std::string(#got) + (ok_ ? "" : ": wanted " + test::text(wanted_) + ", got " + test::text(got_))); \
  } while (false)
#define CHECK_CODE(wanted, expression) CHECK_EQ(codeOf([&] { (void)(expression); }), std::string(wanted))
