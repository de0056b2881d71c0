#include "host_pool.h"

#include <bit>
#include <cstdlib>

#include "error.h"

namespace nt {
namespace {

// Powers of two up to 1 MiB, then whole MiB: few classes, so that blocks are found again, and little waste.
std::size_t sizeClass(std::size_t bytes) {
  constexpr std::size_t kSmallest = 4096, kMiB = std::size_t{1} << 20;
  if (bytes <= kSmallest) return kSmallest;
  return bytes <= kMiB ? std::bit_ceil(bytes) : (bytes + kMiB - 1) / kMiB * kMiB;
}

class Ordinary : public HostMemory {
 public:
  void* tryAllocate(std::size_t bytes) override {
    constexpr std::size_t kAlignment = 256;
    return std::aligned_alloc(kAlignment, bytes);  // a size class is a multiple of it
  }
  void free(void* memory) noexcept override { std::free(memory); }
  [[noreturn]] void failOutOfMemory(std::size_t bytes) override {
    throw Error("ERR_TRT_OUT_OF_MEMORY", "There is no memory for " + std::to_string(bytes) + " bytes",
                {{"bytes", std::to_string(bytes)}});
  }
};

}  // namespace

HostPool& HostPool::ordinary() {
  static auto& pool = *new HostPool(std::make_unique<Ordinary>());
  return pool;
}

std::shared_ptr<HostBlock> HostPool::acquire(std::size_t bytes) {
  const std::size_t size = sizeClass(bytes);
  const auto own = [this](HostBlock* block) {
    return std::shared_ptr<HostBlock>(block, [this](HostBlock* b) { giveBack(b); });
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(size); found != kept_.end() && !found->second.empty()) {
      HostBlock* block = found->second.back();
      found->second.pop_back();
      keptBytes_ -= size;
      return own(block);
    }
  }
  HostBlock* block = allocate(size);
  {
    const std::lock_guard lock(mutex_);
    all_.insert(block);
  }
  return own(block);
}

HostBlock* HostPool::allocate(std::size_t size) {
  void* memory = memory_->tryAllocate(size);
  if (memory == nullptr) {
    trim();  // blocks of other sizes are kept for later, and this is now
    memory = memory_->tryAllocate(size);
  }
  if (memory == nullptr) memory_->failOutOfMemory(size);
  return new HostBlock(static_cast<uint8_t*>(memory), size);
}

void HostPool::giveBack(HostBlock* block) noexcept {
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

void HostPool::trim() noexcept {
  std::map<std::size_t, std::vector<HostBlock*>> kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(kept_);
    keptBytes_ = 0;
    for (const auto& [_, blocks] : kept) {
      for (const HostBlock* block : blocks) all_.erase(block);
    }
  }
  for (const auto& [_, blocks] : kept) {
    for (HostBlock* block : blocks) free(block);
  }
}

void HostPool::free(HostBlock* block) noexcept {
  memory_->free(block->data());
  delete block;
}

// The lock is held. Those that the pool keeps do not rest.
std::size_t HostPool::allBytes(bool resting) const {
  std::size_t bytes = 0;
  for (const HostBlock* block : all_) bytes += block->resting_ == resting ? block->capacity() : 0;
  return bytes;
}

std::size_t HostPool::used() const {
  const std::lock_guard lock(mutex_);
  return allBytes(false) - keptBytes_;
}

std::size_t HostPool::kept() const {
  const std::lock_guard lock(mutex_);
  return allBytes(true) + keptBytes_;
}

}  // namespace nt
