#include "test.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>

#include "../../../native/base/error.h"

namespace test {
namespace {

struct State {
  std::mutex mutex;
  std::vector<std::string> failures;
  std::atomic<std::size_t> checks{0};

  std::mutex watchMutex;
  std::condition_variable watchChanged;
  unsigned seconds = 0;
  uint64_t watched = 0;
  std::string what;
};
State& state() {
  static auto& instance = *new State;
  return instance;
}

void watch() {
  State& s = state();
  std::unique_lock lock(s.watchMutex);
  for (;;) {
    const uint64_t watched = s.watched;
    const std::size_t checked = s.checks;
    const bool over = s.watchChanged.wait_for(lock, std::chrono::seconds(s.seconds == 0 ? 3600 : s.seconds),
                                              [&] { return s.watched != watched; });
    if (over || s.seconds == 0 || s.checks != checked) continue;  // slow is no hang
    std::printf("not ok hang in %s\nBail out! nothing happened for %u seconds\n", s.what.c_str(), s.seconds);
    std::fflush(stdout);
    _exit(3);
  }
}

std::string thrown() {
  try {
    throw;
  } catch (const nt::Error& error) {
    return error.code() + ": " + error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::vector<Case>& cases() {
  static auto& all = *new std::vector<Case>;
  return all;
}

void note(bool ok, const char* file, int line, const std::string& text) {
  State& s = state();
  ++s.checks;
  if (ok) return;
  const std::lock_guard lock(s.mutex);
  s.failures.push_back(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

void say(const std::string& text) { std::printf("# %s\n", text.c_str()); }

void watchdog(unsigned seconds, const std::string& what) {
  if (std::getenv("CORE_TEST_VERBOSE") != nullptr) std::fprintf(stderr, "# %s\n", what.c_str());
  State& s = state();
  const std::lock_guard lock(s.watchMutex);
  s.seconds = seconds;
  s.what = what;
  ++s.watched;
  s.watchChanged.notify_all();
}

int run(const std::string& part) {
  std::thread(watch).detach();
  std::size_t number = 0, failed = 0;
  for (const Case& each : cases()) {
    if (std::string(each.name).find(part) == std::string::npos) continue;
    watchdog(60, each.name);
    const std::size_t before = state().checks;
    const std::clock_t begun = std::clock();
    try {
      each.body();
    } catch (...) {
      note(false, each.name, 0, "threw " + thrown());
    }
    std::vector<std::string> failures;
    failures.swap(state().failures);
    const std::size_t checks = state().checks - before;
    std::printf("%s %zu - %s (%zu checks)\n", failures.empty() ? "ok" : "not ok", ++number, each.name, checks);
    for (std::size_t i = 0; i < failures.size() && i < 20; ++i) std::printf("  # %s\n", failures[i].c_str());
    if (std::getenv("CORE_TEST_VERBOSE") != nullptr)
      std::printf("# %.2f CPU seconds\n", static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC);
    if (failures.size() > 20) std::printf("  # and %zu more\n", failures.size() - 20);
    std::fflush(stdout);
    failed += failures.empty() ? 0 : 1;
  }
  watchdog(0, "the end");
  std::printf("1..%zu\n# %zu cases, %zu checks, %zu failed\n", number, number, state().checks.load(), failed);
  return failed > 0 || number == 0 ? 1 : 0;
}

}  // namespace test
