// A GPU's primary context, and the things that live in it. Each object here needs `Device::makeCurrent()` on the thread
// that creates, uses or destroys it.
#pragma once

#include <cstddef>
#include <utility>

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
  // Every thread calls this before CUDA or TensorRT.
  void makeCurrent() const { driver_->check(driver_->ctxSetCurrent(context_), "cuCtxSetCurrent"); }

 private:
  DeviceContext(const Driver& driver, int index);

  const Driver* driver_;
  int index_;
  cuda::Context context_ = nullptr;
};

// A stream that does not wait for the default stream.
class OwnedStream {
 public:
  explicit OwnedStream(const DeviceContext& device);
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream() { driver_.streamDestroy(stream_); }

  Stream get() const noexcept { return stream_; }
  void synchronize() const { driver_.check(driver_.streamSynchronize(stream_), "cuStreamSynchronize"); }

 private:
  const Driver& driver_;
  Stream stream_ = nullptr;
};

// Memory that grows to the largest size asked for, and keeps nothing of its contents when it does.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(const DeviceContext& device) noexcept : driver_(device.driver()) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { release(); }

  void reserve(std::size_t bytes);
  DevicePtr get() const noexcept { return pointer_; }
  void* address() const noexcept { return reinterpret_cast<void*>(pointer_); }

 private:
  void release() noexcept;

  const Driver& driver_;
  DevicePtr pointer_ = 0;
  std::size_t capacity_ = 0;
};

// The same in pinned host memory, which copies read and write while the CPU goes on.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(const DeviceContext& device) noexcept : driver_(device.driver()) {}
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() { release(); }

  void reserve(std::size_t bytes);
  void* get() const noexcept { return pointer_; }

 private:
  void release() noexcept;

  const Driver& driver_;
  void* pointer_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace nt::cuda
