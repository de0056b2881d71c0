// A condition variable whose deadlines are the steady clock's.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>

namespace nt {

// std::condition_variable waits by the clock on the wall where glibc is older than 2.30: who sets the clock back would
// have everybody wait that much longer.
class Condition {
 public:
  using Clock = std::chrono::steady_clock;

  Condition() noexcept {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);  // on Linux neither fails
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  ~Condition() { pthread_cond_destroy(&condition_); }

  void notify_one() noexcept { pthread_cond_signal(&condition_); }
  void notify_all() noexcept { pthread_cond_broadcast(&condition_); }

  void wait(std::unique_lock<std::mutex>& lock) noexcept {
    pthread_cond_wait(&condition_, lock.mutex()->native_handle());
  }
  template <typename Predicate>
  void wait(std::unique_lock<std::mutex>& lock, Predicate holds) {
    while (!holds()) wait(lock);
  }

  std::cv_status wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point deadline) noexcept {
    using std::chrono::nanoseconds;
    using std::chrono::seconds;
    const auto since = std::max(deadline.time_since_epoch(), Clock::duration::zero());
    const auto whole = std::chrono::duration_cast<seconds>(since);
    timespec until = {};
    until.tv_sec = static_cast<std::time_t>(whole.count());
    until.tv_nsec = static_cast<long>(std::chrono::duration_cast<nanoseconds>(since - whole).count());
    pthread_cond_timedwait(&condition_, lock.mutex()->native_handle(), &until);
    return Clock::now() < deadline ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  template <typename Predicate>
  bool wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point deadline, Predicate holds) {
    while (!holds()) {
      if (wait_until(lock, deadline) == std::cv_status::timeout) return holds();
    }
    return true;
  }

 private:
  pthread_cond_t condition_;
};

}  // namespace nt
