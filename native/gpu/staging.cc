#include "staging.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nt::gpu {

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
  if (!block_) return stream.copyToDevice(to, from, bytes);  // the driver has memory of its own
  while (bytes > 0) {
    if (used_ == block_->capacity()) {
      stream.synchronize();
      used_ = 0;
    }
    const std::size_t now = std::min(bytes, block_->capacity() - used_);
    uint8_t* place = take(now);
    std::memcpy(place, from, now);
    stream.copyToDevice(to, place, now);
    to += now;
    from += now;
    bytes -= now;
  }
}

}  // namespace nt::gpu
