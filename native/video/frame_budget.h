// How many bytes of frames there may be: what reads them waits here, so that who writes them waits, too.
#pragma once

#include <cstddef>
#include <mutex>

#include "../base/condition.h"

namespace nt::video {

// What all readers have together. Its lock is that of their budgets, too: there is no order of locks to keep.
class FrameLimit {
 public:
  static constexpr std::size_t kUsual = std::size_t{1} << 30;

  explicit FrameLimit(std::size_t most = kUsual) : most_(most) {}
  // Of the process. Leaked on purpose: frames outlive whatever is torn down at its exit.
  static FrameLimit& ofProcess() {
    static auto& limit = *new FrameLimit;
    return limit;
  }

  // Frames that are there already stay.
  void setMost(std::size_t most) noexcept {
    const std::lock_guard lock(mutex_);
    most_ = most;
    changed_.notify_all();
  }
  std::size_t most() const noexcept {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  std::size_t used() const noexcept {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  friend class FrameBudget;

  bool hasRoom(std::size_t bytes) const noexcept { return used_ <= most_ && bytes <= most_ - used_; }

  mutable std::mutex mutex_;
  Condition changed_;
  std::size_t used_ = 0;
  std::size_t most_;
};

// What one reader has.
class FrameBudget {
 public:
  explicit FrameBudget(std::size_t most, FrameLimit& limit = FrameLimit::ofProcess()) : limit_(limit), most_(most) {}

  // Waits for room for so many; within its own share one frame always has some. One that is wanted is let through, over
  // both limits, so that nothing can stand still. False: it is over.
  bool take(std::size_t bytes) {
    std::unique_lock<std::mutex> lock(limit_.mutex_);
    limit_.changed_.wait(lock, [&] { return over_ || hasRoom(bytes); });
    if (over_) return false;
    count(bytes);
    return true;
  }
  // The same without waiting: false where there is no room, too.
  bool tryTake(std::size_t bytes) noexcept {
    const std::lock_guard lock(limit_.mutex_);
    if (over_ || !hasRoom(bytes)) return false;
    count(bytes);
    return true;
  }
  void giveBack(std::size_t bytes) noexcept {
    const std::lock_guard lock(limit_.mutex_);
    used_ -= bytes;
    limit_.used_ -= bytes;
    limit_.changed_.notify_all();
  }
  // Somebody waits for a frame and none is there: whoever keeps all that he gets is to go on getting them.
  void want() noexcept {
    const std::lock_guard lock(limit_.mutex_);
    wanted_ = true;
    limit_.changed_.notify_all();
  }
  void end() noexcept {
    const std::lock_guard lock(limit_.mutex_);
    over_ = true;
    limit_.changed_.notify_all();
  }
  bool over() const noexcept {
    const std::lock_guard lock(limit_.mutex_);
    return over_;
  }
  std::size_t used() const noexcept {
    const std::lock_guard lock(limit_.mutex_);
    return used_;
  }

 private:
  bool hasRoom(std::size_t bytes) const noexcept {
    if (wanted_) return true;
    return limit_.hasRoom(bytes) && (used_ == 0 || (used_ <= most_ && bytes <= most_ - used_));
  }
  void count(std::size_t bytes) noexcept {
    wanted_ = false;
    used_ += bytes;
    limit_.used_ += bytes;
  }

  FrameLimit& limit_;
  const std::size_t most_;
  std::size_t used_ = 0;
  bool wanted_ = false;
  bool over_ = false;
};

}  // namespace nt::video
