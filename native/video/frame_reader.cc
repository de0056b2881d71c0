#include "frame_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "../base/error.h"

namespace nt::video {
namespace {

constexpr int kPipeBytes = 1 << 20;  // more is not allowed to all users

[[noreturn]] void failed(const char* what) {
  throw Error("ERR_TRT_FILE",
              std::string("The system gives no pipe for the frames of a video: ") + what + ": " + std::strerror(errno));
}

// Whether there were as many.
bool skip(Bytes& bytes, std::size_t size) {
  std::array<uint8_t, 1 << 16> nowhere;
  while (size > 0) {
    const std::size_t part = std::min(size, nowhere.size());
    if (bytes.read(nowhere.data(), part) < part) return false;
    size -= part;
  }
  return true;
}

}  // namespace

// Our end of the pipe, which does not block, and what ends the wait for it.
class FrameReader::Pipe : public Bytes {
 public:
  Pipe(int pipe, int stop) : pipe_(pipe), stop_(stop) {}

 protected:
  std::size_t some(uint8_t* first, std::size_t firstSize, uint8_t* second, std::size_t secondSize) override {
    const iovec parts[] = {{first, firstSize}, {second, secondSize}};
    const bool one = firstSize == 0;
    for (;;) {
      const ssize_t got = ::readv(pipe_, parts + (one ? 1 : 0), one ? 1 : 2);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EAGAIN) {
        await();
      } else if (errno != EINTR) {
        throw Error("ERR_TRT_VIDEO_DATA", std::string("The frames of a video cannot be read: ") + std::strerror(errno));
      }
    }
  }

 private:
  void await() {
    pollfd both[] = {{pipe_, POLLIN, 0}, {stop_, POLLIN, 0}};
    (void)::poll(both, 2, -1);
    if (both[1].revents != 0) throw Stopped{};
  }

  const int pipe_, stop_;
};

FrameReader::FrameReader(std::size_t most, WhenFull whenFull, FrameLimit& limit, HostPool& pool)
    : pool_(pool),
      budget_(std::make_shared<FrameBudget>(most, limit)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (whenFull == WhenFull::drop) newest_.emplace();
  if (stop_ < 0) failed("eventfd");
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) failed("pipe");
  read_.emplace(ends[0]);
  write_.emplace(ends[1]);
  if (::fcntl(*read_, F_SETFL, O_NONBLOCK) != 0) failed("fcntl");
  (void)::fcntl(*read_, F_SETPIPE_SZ, kPipeBytes);  // a smaller one only costs time
}

void FrameReader::stop() noexcept {
  budget_->end();
  const uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof(one));
}

bool FrameReader::run(const Listener& listener) {
  write_.reset();
  const auto closed =
      std::unique_ptr<FrameReader, void (*)(FrameReader*)>(this, [](FrameReader* r) { r->read_.reset(); });
  Pipe pipe(*read_, stop_);
  NutParser parser(pipe);
  try {
    const std::optional<NutStream> stream = parser.begin();
    if (!stream) return false;
    listener.onStream(*stream);
    return readFrames(parser, pipe, *stream, listener);
  } catch (const Stopped&) {
    return false;
  }
}

bool FrameReader::want() noexcept {
  budget_->want();
  return newest_ && newest_->want();
}

bool FrameReader::readFrames(NutParser& parser, Bytes& bytes, const NutStream& stream, const Listener& listener) {
  for (uint64_t number = 0; const std::optional<NutFrame> head = parser.next(); ++number) {
    Frame frame;
    frame.pts = head->pts;
    frame.number = number;
    frame.size = stream.frameBytes;
    const bool kept = readFrame(*head, bytes, frame);
    if (budget_->over()) return false;
    if (kept) give(std::move(frame), listener);
  }
  drain(bytes);
  return true;
}

// False: there is no memory for it, so that it was passed over; or it is over.
bool FrameReader::readFrame(const NutFrame& head, Bytes& bytes, Frame& frame) {
  frame.data = memory(frame.size);
  if (budget_->over()) return false;
  const std::size_t had = head.elided.size();
  if (frame.data && had > 0) std::memcpy(frame.data.get(), head.elided.data(), had);
  const bool whole = frame.data ? bytes.read(frame.data.get() + had, head.size) == head.size : skip(bytes, head.size);
  if (!whole) throw Error("ERR_TRT_VIDEO_DATA", "The frames that ffmpeg gave end within a frame");
  frame.arrived = std::chrono::steady_clock::now();
  if (!frame.data) newest_->pass();
  return frame.data != nullptr;
}

void FrameReader::give(Frame frame, const Listener& listener) {
  if (!newest_) {
    listener.onFrame(std::move(frame));
  } else if (newest_->put(std::move(frame))) {
    listener.onNewest();
  }
}

// Null: it is over; or there is no room, which it does not wait for.
std::shared_ptr<uint8_t> FrameReader::memory(std::size_t bytes) {
  if (!newest_) return budget_->take(bytes) ? ofPool(bytes) : nullptr;
  return budget_->tryTake(bytes) ? ofPool(bytes) : newest_->replace();
}

// Of bytes that are counted already.
std::shared_ptr<uint8_t> FrameReader::ofPool(std::size_t bytes) {
  std::shared_ptr<HostBlock> block;
  try {
    block = pool_.acquire(bytes);
  } catch (...) {
    budget_->giveBack(bytes);
    throw;
  }
  uint8_t* data = block->data();
  return {data, [budget = budget_, block = std::move(block), bytes](uint8_t*) mutable {
            block.reset();
            budget->giveBack(bytes);
          }};
}

// The index, which has no limit, to its end, so that ffmpeg ends as it should.
void FrameReader::drain(Bytes& bytes) {
  uint8_t rest[4096];
  while (bytes.read(rest, sizeof(rest)) == sizeof(rest)) {
  }
}

}  // namespace nt::video
