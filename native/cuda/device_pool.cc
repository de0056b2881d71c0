#include "device_pool.h"

#include <bit>

#include "../base/one_per.h"
#include "pinned.h"

namespace nt::cuda {
namespace {

// Powers of two up to 1 MiB, then whole steps of what the driver maps: few classes, so that blocks are found again.
std::size_t sizeClass(std::size_t bytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20, kStep = 2 * kMiB;
  if (bytes <= DevicePool::kLeast) return DevicePool::kLeast;
  return bytes <= kMiB ? std::bit_ceil(bytes) : (bytes + kStep - 1) / kStep * kStep;
}

DevicePtr numberOf(const uint8_t* data) { return reinterpret_cast<DevicePtr>(data); }

}  // namespace

DevicePool& DevicePool::of(const DeviceContext& device) {
  static auto& pools = *new OnePer<const DeviceContext*, DevicePool>;
  return pools.of(&device, [&] { return new DevicePool(device); });
}

std::shared_ptr<uint8_t> DevicePool::acquire(std::size_t bytes) {
  device_.throwIfLost();
  const std::size_t size = sizeClass(bytes);
  DevicePtr pointer = takeKept(size);
  if (pointer == 0) pointer = newBlock(size);
  return {reinterpret_cast<uint8_t*>(pointer), [this, pointer, size](uint8_t*) { giveBack(pointer, size); }};
}

DevicePtr DevicePool::takeKept(std::size_t size) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(size);
  if (found == kept_.end()) return 0;
  const DevicePtr pointer = found->second.back().pointer;
  found->second.pop_back();
  if (found->second.empty()) kept_.erase(found);
  keptBytes_ -= size;
  return pointer;
}

DevicePtr DevicePool::newBlock(std::size_t size) {
  const DeviceScope scope(device_);
  trim();
  DevicePtr pointer = 0;
  device_.check(allocate(device_, size, pointer), "cuMemAlloc");
  return pointer;
}

// On any thread, JavaScript's among them: where engines may be at work nothing is freed here, since that waits for the
// device.
void DevicePool::giveBack(DevicePtr pointer, std::size_t size) noexcept {
  if (device_.lost()) return;
  bool isWanted = false;
  {
    const std::lock_guard lock(mutex_);
    kept_[size].push_back({pointer, count_++});
    keptBytes_ += size;
    isWanted = users_ > 0;
  }
  if (!isWanted) shrink(0);
}

void DevicePool::join() noexcept {
  const std::lock_guard lock(mutex_);
  ++users_;
}

void DevicePool::leave() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
  }
  shrink(0);
}

std::size_t DevicePool::kept() const noexcept {
  const std::lock_guard lock(mutex_);
  return keptBytes_;
}

bool DevicePool::mayTrim() noexcept {
  const std::lock_guard lock(mutex_);
  if (keptBytes_ <= kKeepAtMost || trimming_) return false;
  return trimming_ = true;
}

void DevicePool::trim() noexcept { shrink(kKeepAtMost); }

void DevicePool::shrink(std::size_t atMost) noexcept {
  const std::lock_guard freeing(freeing_);
  std::vector<DevicePtr> blocks;
  {
    const std::lock_guard lock(mutex_);
    trimming_ = false;
    blocks = oldest(atMost);
  }
  if (blocks.empty()) return;
  free(blocks);
  freed_ += blocks.size();
}

bool DevicePool::giveUp(uint64_t seen) noexcept {
  shrink(0);
  return freed() != seen;
}

// The lock is held. Takes out what came back first, until no more than that is kept.
std::vector<DevicePtr> DevicePool::oldest(std::size_t atMost) {
  std::vector<DevicePtr> blocks;
  while (keptBytes_ > atMost) {
    auto first = kept_.begin();
    for (auto each = kept_.begin(); each != kept_.end(); ++each) {
      if (each->second.front().since < first->second.front().since) first = each;
    }
    blocks.push_back(first->second.front().pointer);
    keptBytes_ -= first->first;
    first->second.pop_front();
    if (first->second.empty()) kept_.erase(first);
  }
  return blocks;
}

void DevicePool::free(const std::vector<DevicePtr>& blocks) noexcept {
  const DeviceScope scope(device_, std::nothrow);
  for (const DevicePtr pointer : blocks) {
    if (scope.entered() && !device_.lost()) device_.note(device_.driver().memFree(pointer));
  }
}

void DevicePool::read(uint8_t* host, const uint8_t* data, std::size_t bytes) {
  const DeviceScope scope(device_);
  if (bytes == 0) return;
  const OwnedStream stream(device_);
  device_.check(device_.driver().memcpyDtoHAsync(host, numberOf(data), bytes, stream.get()), "cuMemcpyDtoHAsync");
  stream.synchronize();
}

void DevicePool::write(uint8_t* data, const uint8_t* host, std::size_t bytes) {
  const DeviceScope scope(device_);
  if (bytes == 0) return;
  const OwnedStream stream(device_);
  device_.check(device_.driver().memcpyHtoDAsync(numberOf(data), host, bytes, stream.get()), "cuMemcpyHtoDAsync");
  stream.synchronize();
}

HostPool& DevicePool::hostPool() const noexcept { return pinnedPool(device_); }

Result allocate(const DeviceContext& device, std::size_t bytes, DevicePtr& pointer) noexcept {
  DevicePool& pool = DevicePool::of(device);
  const uint64_t seen = pool.freed();
  const Result result = device.driver().memAlloc(&pointer, bytes);
  if (result != kOutOfMemory || !pool.giveUp(seen)) return result;
  return device.driver().memAlloc(&pointer, bytes);
}

}  // namespace nt::cuda
