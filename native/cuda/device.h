// A GPU's primary context, and the things that live in it. Each object here needs its device current on the thread that
// creates, uses or destroys it: a lane's thread stays on its device for life, any other is there for a DeviceScope. On
// a lost device destructors touch nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "account.h"
#include "driver.h"

namespace nt::cuda {

// The primary context of a device: retained once per process and never released, its flags untouched, since TensorRT's
// own CUDA runtime uses it too.
class DeviceContext {
 public:
  // Throws ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_CUDA.
  static const DeviceContext& get(int device);

  const Driver& driver() const noexcept { return *driver_; }
  int index() const noexcept { return index_; }
  // For the rest of the thread's life, as lanes want it. Throws ERR_TRT_DEVICE_LOST where nothing can run any more.
  void makeCurrent() const;

  // Throws what `result` means unless it is success, and remembers a lost device.
  void check(Result result, const char* what) const {
    if (result != kSuccess) fail(result, what);
  }
  // For destructors and other places that cannot throw: remembers a lost device. Whether it was success.
  bool note(Result result) const noexcept {
    if (isSticky(result)) lost_.store(true, std::memory_order_relaxed);
    return result == kSuccess;
  }
  // Whether an earlier call reported an error after which nothing runs on the device in this process.
  bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  void throwIfLost() const;
  // For a failure that TensorRT reports without a reason: throws ERR_TRT_DEVICE_LOST where the current device has
  // broken.
  void throwIfBroken(const char* what) const;

 private:
  DeviceContext(const Driver& driver, int index);
  [[noreturn]] void fail(Result result, const char* what) const;
  friend class DeviceScope;

  const Driver* driver_;
  int index_;
  Context context_ = nullptr;
  mutable std::atomic<bool> lost_{false};
};

// Makes a device current on this thread, and at its end what was current before: a thread may belong to a lane of
// another GPU, or to nobody. Where the device is current already it asks the driver once, and changes nothing.
class DeviceScope {
 public:
  // Throws ERR_TRT_DEVICE_LOST, ERR_TRT_CUDA.
  explicit DeviceScope(const DeviceContext& device);
  // For destructors and other places that cannot throw: see entered(). Where the driver does not tell what is current,
  // the device is made current anyway, and stays so: memory is freed rather than lost.
  DeviceScope(const DeviceContext& device, std::nothrow_t) noexcept;
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope();

  // Whether the device is current; false where it is lost, and there is nothing to be done any more.
  bool entered() const noexcept { return entered_; }

 private:
  Result enter() noexcept;

  const DeviceContext& device_;
  Context before_ = nullptr;
  bool entered_ = false;
  bool switched_ = false;
};

// Keeps an object for ever: what was made on a device that is lost, and whose destructor would call CUDA.
void leaveBehind(std::shared_ptr<void> object);

// Deletes what was made with a device current, on any thread; on a lost device it is left behind.
template <class T>
struct DeleteThere {
  const DeviceContext& device;
  void operator()(T* object) const {
    const DeviceScope scope(device, std::nothrow);
    if (scope.entered()) {
      delete object;
    } else {
      leaveBehind(std::shared_ptr<T>(object));
    }
  }
};

// A stream that does not wait for the default stream. `high`: the device's greatest priority.
class OwnedStream {
 public:
  explicit OwnedStream(const DeviceContext& device, bool high = false);
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream();

  Stream get() const noexcept { return stream_; }
  void waitFor(Event event) const;
  void synchronize() const;
  // Before what it works with goes: waits as far as that is possible.
  void settle() const noexcept;
  // Put copies on it; nothing where there are no bytes.
  void copyToDevice(DevicePtr to, const void* from, std::size_t bytes) const;
  void copyToHost(void* to, DevicePtr from, std::size_t bytes) const;
  void copyOnDevice(DevicePtr to, DevicePtr from, std::size_t bytes) const;

 private:
  const DeviceContext& device_;
  Stream stream_ = nullptr;
};

class OwnedEvent {
 public:
  // spinning: with times, and whoever waits for it asks all the time
  enum class Use { order, timing, spinning };
  OwnedEvent(const DeviceContext& device, Use use);
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  ~OwnedEvent();

  Event get() const noexcept { return event_; }
  void record(const OwnedStream& stream) const;
  // Waits until the recorded work is done.
  void synchronize() const;
  bool done() const;
  // Milliseconds from this event to `end`; both with times, recorded and done.
  float millisecondsTo(const OwnedEvent& end) const;

 private:
  const DeviceContext& device_;
  Event event_ = nullptr;
};

// What a stream did between begin and end of a capture, ready to be launched again.
class OwnedGraph {
 public:
  // Captures what `body` puts on the stream, in thread-local mode. Throws ERR_TRT_CUDA where it cannot be captured; the
  // stream is usable after that too.
  template <class Body>
  static std::unique_ptr<OwnedGraph> capture(const DeviceContext& device, const OwnedStream& stream, Body body) {
    begin(device, stream);
    bool done = false;
    try {
      done = body();
    } catch (...) {
      end(device, stream, false);
      throw;
    }
    return end(device, stream, done);
  }
  ~OwnedGraph();
  OwnedGraph(const OwnedGraph&) = delete;
  OwnedGraph& operator=(const OwnedGraph&) = delete;
  void launch(const OwnedStream& stream) const;

 private:
  OwnedGraph(const DeviceContext& device, GraphExec exec) : device_(device), exec_(exec) {}
  static void begin(const DeviceContext& device, const OwnedStream& stream);
  // null when `keep` is false
  static std::unique_ptr<OwnedGraph> end(const DeviceContext& device, const OwnedStream& stream, bool keep);

  const DeviceContext& device_;
  GraphExec exec_;
};

// Memory that grows to the largest size asked for, and keeps nothing of its contents when it does. It is charged to an
// account.
class DeviceBuffer {
 public:
  DeviceBuffer(const DeviceContext& device, std::shared_ptr<Account> account) noexcept
      : device_(device), account_(std::move(account)) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { release(); }

  // doubling: what grows has room up to the next power of two, unless only the exact size is to be had
  enum class Growth : uint8_t { doubling, exact };
  // Throws ERR_TRT_OUT_OF_MEMORY where the account's limit or the device does not allow it: then the old memory is
  // there as before, or none. Nothing may use the old memory any more where the new does not fit().
  void reserve(std::size_t bytes, Growth growth = Growth::doubling);
  // Whether reserve() would leave everything where it is.
  bool fits(std::size_t bytes) const noexcept { return capacity_ > 0 && bytes <= capacity_; }
  void release() noexcept;
  DevicePtr get() const noexcept { return pointer_; }
  void* address() const noexcept { return reinterpret_cast<void*>(pointer_); }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  bool tryAllocate(std::size_t bytes, bool last);

  const DeviceContext& device_;
  const std::shared_ptr<Account> account_;
  DevicePtr pointer_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace nt::cuda
