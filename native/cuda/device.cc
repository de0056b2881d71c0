#include "device.h"

#include <map>
#include <mutex>

namespace nt::cuda {

const DeviceContext& DeviceContext::get(int device) {
  // leaked on purpose, as the driver itself
  static auto& mutex = *new std::mutex;
  static auto& contexts = *new std::map<int, const DeviceContext*>;
  const Driver& driver = Driver::withDevice(device);
  const std::lock_guard lock(mutex);
  const DeviceContext*& context = contexts[device];
  if (context == nullptr) context = new DeviceContext(driver, device);
  return *context;
}

DeviceContext::DeviceContext(const Driver& driver, int index) : driver_(&driver), index_(index) {
  Device device = 0;
  driver.check(driver.deviceGet(&device, index), "cuDeviceGet");
  driver.check(driver.primaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
}

OwnedStream::OwnedStream(const DeviceContext& device) : driver_(device.driver()) {
  constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
  driver_.check(driver_.streamCreate(&stream_, kNonBlocking), "cuStreamCreate");
}

void DeviceBuffer::reserve(std::size_t bytes) {
  if (bytes <= capacity_ && pointer_ != 0) return;
  release();
  const std::size_t wanted = bytes == 0 ? 1 : bytes;  // an empty tensor needs an address too
  driver_.check(driver_.memAlloc(&pointer_, wanted), "cuMemAlloc");
  capacity_ = wanted;
}

void DeviceBuffer::release() noexcept {
  if (pointer_ != 0) driver_.memFree(pointer_);
  pointer_ = 0;
  capacity_ = 0;
}

void PinnedBuffer::reserve(std::size_t bytes) {
  if (bytes <= capacity_ && pointer_ != nullptr) return;
  release();
  constexpr unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE
  const std::size_t wanted = bytes == 0 ? 1 : bytes;
  driver_.check(driver_.memHostAlloc(&pointer_, wanted, kPortable), "cuMemHostAlloc");
  capacity_ = wanted;
}

void PinnedBuffer::release() noexcept {
  if (pointer_ != nullptr) driver_.memFreeHost(pointer_);
  pointer_ = nullptr;
  capacity_ = 0;
}

}  // namespace nt::cuda
