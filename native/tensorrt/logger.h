// What TensorRT says: one logger per library and process, as TensorRT wants it, and the pieces of code that listen.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../base/error.h"
#include "abi.h"

namespace nt::tensorrt {

class LogCapture;

// Receives every line from TensorRT, on any of its threads, and hands it to the captures it belongs to.
class Log {
 public:
  // Captures keep lines up to severity info; subscribers get what they asked for.
  void write(int32_t severity, const char* message) noexcept;
  // As lines() of the innermost capture of the calling thread; nothing where it has none.
  std::vector<std::string> linesHere() const;
  // Of those the lines of severity error or worse, without their severity.
  std::vector<std::string> errorsHere() const;

 private:
  friend class LogCapture;
  const LogCapture* here() const;  // the lock is held
  mutable std::mutex mutex_;
  std::vector<LogCapture*> captures_;
};

// Keeps the last lines logged while it lives: those of its own thread, and those of threads that have no capture
// themselves (the library's helpers).
class LogCapture {
 public:
  explicit LogCapture(Log& log);
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Oldest first, each with its severity: "error: …".
  std::vector<std::string> lines() const;
  // The last line of severity error or worse, without its severity; empty where there is none.
  std::string lastError() const;

 private:
  friend class Log;
  std::vector<std::string> texts() const;  // the lock is held
  static constexpr std::size_t kKeep = 40;
  Log& log_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<std::pair<int32_t, std::string>> lines_;  // no deque: that one allocates when it is empty too
};

// Runs `body`; an Error that it throws takes along what was logged meanwhile.
template <class Body>
auto withLog(Log& log, Body&& body) {
  const LogCapture capture(log);
  try {
    return body();
  } catch (Error& error) {
    // some lines come when what failed is taken down
    if (auto lines = capture.lines(); lines.size() > error.log().size()) error.attachLog(std::move(lines));
    throw;
  }
}

// Calls back, on TensorRT's thread, for every line of any library whose severity is at most `level` (0 internal error …
// 4 verbose). The listener must not throw, and must not call in here.
using LogListener = std::function<void(int32_t severity, const std::string& line)>;
int subscribeLog(int32_t level, LogListener listener);
// No call comes after it has returned.
void unsubscribeLog(int subscription);
// Tells the subscribers a line that no TensorRT of this process logged: one of another process's, or our own.
void tellLog(int32_t severity, const std::string& line);
// The level of the subscriber that wants most; -1 where there is none. Takes no lock.
int32_t subscribedLevel() noexcept;

// Beyond TensorRT's severities: calls between TensorRT and this package, for recordings of a GPU (test/gpu).
constexpr int32_t kTrace = 5;
// Calls `line` for its text, and tells it the subscribers of kTrace. Calls nothing if there is none.
template <class Line>
void trace(Line&& line) noexcept {
  if (subscribedLevel() < kTrace) return;
  try {
    tellLog(kTrace, line());
  } catch (...) {
    // without memory for the line, the call goes on
  }
}

// The ILogger object that the family's library calls. Lives as long as the process.
void* newLogger(Family family, Log& log);

}  // namespace nt::tensorrt
