#include "logger.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "versioned.h"

namespace nt::tensorrt {
namespace {

constexpr int32_t kError = 1;
constexpr int32_t kInfo = 3;
constexpr const char* kSeverities[] = {"internal error", "error", "warning", "info"};

// nvinfer1::ILogger: Unversioned in TensorRT 10. There the destructor's entries come after log(), in what is Versioned
// it has those of the base.
template <class Base>
class LoggerOf : public Base {
 public:
  explicit LoggerOf(Log& log) : Base("ILogger"), log_(log) {}
  virtual void log(int32_t severity, const char* message) noexcept { log_.write(severity, message); }
  virtual ~LoggerOf() = default;

 private:
  Log& log_;
};

struct Subscription {
  int32_t level;
  LogListener listener;
};
struct Subscriptions {
  std::mutex mutex;
  std::map<int, Subscription> all;
  int next = 0;
  std::atomic<int32_t> level = -1;

  // The lock is held.
  void updateLevel() {
    int32_t most = -1;
    for (const auto& [_, subscription] : all) most = std::max(most, subscription.level);
    level = most;
  }
};
Subscriptions& subscriptions() {
  static auto& instance = *new Subscriptions;  // TensorRT may log at any time, at exit too
  return instance;
}

void tellSubscribers(int32_t severity, const char* message) {
  const std::lock_guard lock(subscriptions().mutex);
  for (const auto& [_, subscription] : subscriptions().all) {
    if (severity <= subscription.level) subscription.listener(severity, message);
  }
}

}  // namespace

int subscribeLog(int32_t level, LogListener listener) {
  const std::lock_guard lock(subscriptions().mutex);
  const int id = subscriptions().next++;
  subscriptions().all[id] = {level, std::move(listener)};
  subscriptions().updateLevel();
  return id;
}

void unsubscribeLog(int subscription) {
  const std::lock_guard lock(subscriptions().mutex);
  subscriptions().all.erase(subscription);
  subscriptions().updateLevel();
}

void tellLog(int32_t severity, const std::string& line) { tellSubscribers(severity, line.c_str()); }

int32_t subscribedLevel() noexcept { return subscriptions().level; }

void* newLogger(Family family, Log& log) {
  if (family == Family::trt10) return new LoggerOf<Unversioned>(log);
  return new LoggerOf<Versioned>(log);
}

void Log::write(int32_t severity, const char* message) noexcept try {
  if (message == nullptr) return;
  tellSubscribers(severity, message);
  if (severity > kInfo) return;
  const auto thread = std::this_thread::get_id();
  const std::lock_guard lock(mutex_);
  const bool owned = std::ranges::any_of(captures_, [&](const LogCapture* c) { return c->thread_ == thread; });
  for (LogCapture* capture : captures_) {
    if (owned && capture->thread_ != thread) continue;
    capture->lines_.emplace_back(severity, message);
    if (capture->lines_.size() > LogCapture::kKeep) capture->lines_.erase(capture->lines_.begin());
  }
} catch (...) {
  // out of memory while noting a line: the line is lost, the work goes on
}

const LogCapture* Log::here() const {
  const auto thread = std::this_thread::get_id();
  const auto found =
      std::find_if(captures_.rbegin(), captures_.rend(), [&](const LogCapture* c) { return c->thread_ == thread; });
  return found == captures_.rend() ? nullptr : *found;
}

std::vector<std::string> Log::linesHere() const {
  const std::lock_guard lock(mutex_);
  const LogCapture* capture = here();
  return capture == nullptr ? std::vector<std::string>() : capture->texts();
}

std::vector<std::string> Log::errorsHere() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> errors;
  const LogCapture* capture = here();
  if (capture == nullptr) return errors;
  for (const auto& [severity, text] : capture->lines_) {
    if (severity <= kError) errors.push_back(text);
  }
  return errors;
}

LogCapture::LogCapture(Log& log) : log_(log) {
  const std::lock_guard lock(log_.mutex_);
  log_.captures_.push_back(this);
}

LogCapture::~LogCapture() {
  const std::lock_guard lock(log_.mutex_);
  std::erase(log_.captures_, this);
}

std::vector<std::string> LogCapture::lines() const {
  const std::lock_guard lock(log_.mutex_);
  return texts();
}

std::vector<std::string> LogCapture::texts() const {
  std::vector<std::string> texts;
  for (const auto& [severity, text] : lines_)
    texts.push_back(std::string(kSeverities[severity < 0 ? 0 : severity]) + ": " + text);
  return texts;
}

std::string LogCapture::lastError() const {
  const std::lock_guard lock(log_.mutex_);
  const auto found =
      std::find_if(lines_.rbegin(), lines_.rend(), [](const auto& line) { return line.first <= kError; });
  return found == lines_.rend() ? std::string() : found->second;
}

}  // namespace nt::tensorrt
