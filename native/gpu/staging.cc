#include "staging.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nt::gpu {

void copyToDevice(const cuda::DeviceContext& device, cuda::DevicePtr to, const void* from, std::size_t bytes,
                  const cuda::OwnedStream& stream) {
  if (bytes > 0) device.check(device.driver().memcpyHtoDAsync(to, from, bytes, stream.get()), "cuMemcpyHtoDAsync");
}

void copyToHost(const cuda::DeviceContext& device, void* to, cuda::DevicePtr from, std::size_t bytes,
                const cuda::OwnedStream& stream) {
  if (bytes > 0) device.check(device.driver().memcpyDtoHAsync(to, from, bytes, stream.get()), "cuMemcpyDtoHAsync");
}

void copyOnDevice(const cuda::DeviceContext& device, cuda::DevicePtr to, cuda::DevicePtr from, std::size_t bytes,
                  const cuda::OwnedStream& stream) {
  if (bytes > 0) device.check(device.driver().memcpyDtoDAsync(to, from, bytes, stream.get()), "cuMemcpyDtoDAsync");
}

void Staging::begin(std::size_t bytes) {
  used_ = 0;
  const std::size_t wanted = std::min(std::bit_ceil(std::max(bytes, HostPool::kLeast)), most_);
  if (bytes > 0 && (!block_ || block_->capacity() < wanted)) {
    block_.reset();
    block_ = pool_.tryAcquire(wanted);
  }
  if (block_) block_->setIdle(bytes == 0);
}

uint8_t* Staging::take(std::size_t bytes) noexcept {
  if (!block_ || bytes > block_->capacity() - used_) return nullptr;
  block_->setIdle(false);
  uint8_t* place = block_->data() + used_;
  used_ = std::min(used_ + aligned(bytes), block_->capacity());
  return place;
}

void Staging::toDevice(cuda::DevicePtr to, const uint8_t* from, std::size_t bytes, const cuda::OwnedStream& stream) {
  if (!block_) return copyToDevice(device_, to, from, bytes, stream);  // the driver has memory of its own
  while (bytes > 0) {
    if (used_ == block_->capacity()) {
      stream.synchronize();
      used_ = 0;
    }
    const std::size_t now = std::min(bytes, block_->capacity() - used_);
    uint8_t* place = take(now);
    std::memcpy(place, from, now);
    copyToDevice(device_, to, place, now, stream);
    to += now;
    from += now;
    bytes -= now;
  }
}

}  // namespace nt::gpu
