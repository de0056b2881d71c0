// The newest frame of a reader that does not wait: one that comes takes the place of the one before it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace nt::video {

template <class Frame>
class NewestFrame {
 public:
  // True, here and of want(): whoever waits is to be called, and then calls take().
  bool put(Frame frame) {
    std::optional<Frame> older(std::move(frame));  // goes after the lock
    const std::lock_guard lock(mutex_);
    std::swap(frame_, older);
    if (older) ++dropped_;
    return call();
  }
  bool want() noexcept {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
    return call();
  }
  // Nothing where it was dropped since the call: the next one calls again.
  std::optional<Frame> take() noexcept {
    const std::lock_guard lock(mutex_);
    called_ = false;
    if (frame_) wanted_ = false;
    return std::exchange(frame_, std::nullopt);
  }
  // The memory of the one that is there, for a newer one; null: none is.
  std::shared_ptr<uint8_t> replace() noexcept {
    const std::lock_guard lock(mutex_);
    if (!frame_) return nullptr;
    ++dropped_;
    return std::move(std::exchange(frame_, std::nullopt)->data);
  }
  // One for which there is no memory at all.
  void pass() noexcept {
    const std::lock_guard lock(mutex_);
    ++dropped_;
  }
  // Frames that nobody got.
  uint64_t dropped() const noexcept {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  bool call() noexcept { return frame_ && wanted_ && !std::exchange(called_, true); }

  mutable std::mutex mutex_;
  std::optional<Frame> frame_;
  bool wanted_ = false;
  bool called_ = false;
  uint64_t dropped_ = 0;
};

}  // namespace nt::video
