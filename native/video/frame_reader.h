// Frames that ffmpeg writes into a pipe, read on a thread into memory that is used again.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "../base/descriptor.h"
#include "../base/host_pool.h"
#include "frame_budget.h"
#include "newest_frame.h"
#include "nut.h"

namespace nt::video {

class FrameReader {
 public:
  struct Frame {
    int64_t pts = 0;
    // How many the pipe brought before it.
    uint64_t number = 0;
    // When its last byte was there.
    std::chrono::steady_clock::time_point arrived;
    // Counts in the budget, and is not used for another one, while there is an owner of it.
    std::shared_ptr<uint8_t> data;
    std::size_t size = 0;
  };
  // Called on the thread; they do not throw.
  struct Listener {
    std::function<void(const NutStream&)> onStream;
    // Where it waits: each of them.
    std::function<void(Frame)> onFrame;
    // Where it drops: takeNewest() has what somebody waits for.
    std::function<void()> onNewest{};
  };
  // What becomes of the pipe where frames are not taken: it fills, or it is read on, and the newest frame is kept.
  enum class WhenFull : uint8_t { wait, drop };

  // Of `most` bytes at once, but for what FrameBudget says. Throws ERR_TRT_FILE.
  explicit FrameReader(std::size_t most, WhenFull whenFull = WhenFull::wait,
                       FrameLimit& limit = FrameLimit::ofProcess(), HostPool& pool = HostPool::ordinary());

  // For whoever writes: a descriptor of this process, until closeWriteEnd(), which has to come before run(), since the
  // end is seen only when nobody has one.
  int writeEnd() const noexcept { return write_ ? static_cast<int>(*write_) : -1; }
  void closeWriteEnd() noexcept { write_.reset(); }

  // The thread's body, once: to the end, or until stop(). The pipe is closed then. Whether frames ended as they should:
  // false where there were no bytes, or it was stopped. Throws ERR_TRT_VIDEO_DATA.
  bool run(const Listener& listener);
  // From any thread, at any time, and again.
  void stop() noexcept;
  // Somebody waits for a frame. True: takeNewest() has it.
  bool want() noexcept;
  // Nothing where it was dropped meanwhile: onNewest comes again.
  std::optional<Frame> takeNewest() noexcept { return newest_ ? newest_->take() : std::nullopt; }
  // Frames that nobody got.
  uint64_t dropped() const noexcept { return newest_ ? newest_->dropped() : 0; }
  // Bytes of frames that somebody has.
  std::size_t used() const noexcept { return budget_->used(); }

 private:
  class Pipe;
  struct Stopped {};

  bool readFrames(NutParser& parser, Bytes& bytes, const NutStream& stream, const Listener& listener);
  bool readFrame(const NutFrame& head, Bytes& bytes, Frame& frame);
  void give(Frame frame, const Listener& listener);
  std::shared_ptr<uint8_t> memory(std::size_t bytes);
  std::shared_ptr<uint8_t> ofPool(std::size_t bytes);
  void drain(Bytes& bytes);

  HostPool& pool_;
  const std::shared_ptr<FrameBudget> budget_;
  std::optional<NewestFrame<Frame>> newest_;
  std::optional<Descriptor> read_, write_;
  Descriptor stop_;
};

}  // namespace nt::video
