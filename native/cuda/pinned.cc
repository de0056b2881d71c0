#include "pinned.h"

#include <bit>

namespace nt::cuda {
namespace {

// Powers of two up to 1 MiB, then whole MiB: few classes, so that blocks are found again, and little waste.
std::size_t sizeClass(std::size_t bytes) {
  constexpr std::size_t kSmallest = 4096, kMiB = std::size_t{1} << 20;
  if (bytes <= kSmallest) return kSmallest;
  return bytes <= kMiB ? std::bit_ceil(bytes) : (bytes + kMiB - 1) / kMiB * kMiB;
}

}  // namespace

PinnedPool& PinnedPool::of(const DeviceContext& device) {
  static auto& mutex = *new std::mutex;
  static auto& pools = *new std::map<const DeviceContext*, PinnedPool*>;
  const std::lock_guard lock(mutex);
  PinnedPool*& pool = pools[&device];
  if (pool == nullptr) pool = new PinnedPool(device);
  return *pool;
}

std::shared_ptr<PinnedBlock> PinnedPool::acquire(std::size_t bytes) {
  const std::size_t size = sizeClass(bytes);
  const auto own = [this](PinnedBlock* block) {
    return std::shared_ptr<PinnedBlock>(block, [this](PinnedBlock* b) { giveBack(b); });
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(size); found != kept_.end() && !found->second.empty()) {
      PinnedBlock* block = found->second.back();
      found->second.pop_back();
      keptBytes_ -= size;
      return own(block);
    }
  }
  PinnedBlock* block = allocate(size);
  {
    const std::lock_guard lock(mutex_);
    all_.insert(block);
  }
  return own(block);
}

PinnedBlock* PinnedPool::allocate(std::size_t size) {
  constexpr unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE
  device_.makeCurrent();
  void* memory = nullptr;
  Result result = device_.driver().memHostAlloc(&memory, size, kPortable);
  if (result == kOutOfMemory) {
    trim();  // blocks of other sizes are kept for later, and this is now
    result = device_.driver().memHostAlloc(&memory, size, kPortable);
  }
  device_.check(result, "cuMemHostAlloc");
  return new PinnedBlock(static_cast<uint8_t*>(memory), size);
}

void PinnedPool::giveBack(PinnedBlock* block) noexcept {
  block->rest(false);
  {
    const std::lock_guard lock(mutex_);
    if (keptBytes_ + block->capacity() <= kKeepAtMost) {
      keptBytes_ += block->capacity();
      kept_[block->capacity()].push_back(block);
      return;
    }
    all_.erase(block);
  }
  free(block);
}

void PinnedPool::trim() noexcept {
  std::map<std::size_t, std::vector<PinnedBlock*>> kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(kept_);
    keptBytes_ = 0;
    for (const auto& [_, blocks] : kept) {
      for (const PinnedBlock* block : blocks) all_.erase(block);
    }
  }
  for (const auto& [_, blocks] : kept) {
    for (PinnedBlock* block : blocks) free(block);
  }
}

void PinnedPool::free(PinnedBlock* block) noexcept {
  if (device_.tryMakeCurrent()) device_.driver().memFreeHost(block->data());
  delete block;
}

// The lock is held. Those that the pool keeps do not rest.
std::size_t PinnedPool::allBytes(bool resting) const {
  std::size_t bytes = 0;
  for (const PinnedBlock* block : all_) bytes += block->resting_ == resting ? block->capacity() : 0;
  return bytes;
}

std::size_t PinnedPool::used() const {
  const std::lock_guard lock(mutex_);
  return allBytes(false) - keptBytes_;
}

std::size_t PinnedPool::kept() const {
  const std::lock_guard lock(mutex_);
  return allBytes(true) + keptBytes_;
}

}  // namespace nt::cuda
