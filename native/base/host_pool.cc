#include "host_pool.h"

#include <bit>
#include <cstdlib>

#include "error.h"
#include "host_ring.h"

namespace nt {
namespace {

// Powers of two in four steps up to 1 MiB, then whole MiB: few classes, so that blocks are found again, and little
// waste.
std::size_t sizeClass(std::size_t bytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  if (bytes <= HostPool::kLeast) return HostPool::kLeast;
  const std::size_t step = bytes > kMiB ? kMiB : std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

class MallocMemory : public HostMemory {
 public:
  void* tryAllocate(std::size_t bytes) override {
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
  static auto& pool = *new HostPool(std::make_unique<MallocMemory>());
  return pool;
}

std::shared_ptr<HostBlock> HostPool::own(HostBlock* block) {
  return std::shared_ptr<HostBlock>(block, [this](HostBlock* b) { giveBack(b); });
}

std::shared_ptr<HostBlock> HostPool::acquire(std::size_t bytes) {
  auto block = tryAcquire(bytes);
  if (!block) memory_->failOutOfMemory(sizeClass(bytes));
  return block;
}

std::shared_ptr<HostBlock> HostPool::tryAcquire(std::size_t bytes) {
  const std::size_t size = sizeClass(bytes);
  if (auto block = takeKept(size)) return block;
  HostBlock* block = allocate(size);
  return block == nullptr ? nullptr : own(block);
}

std::shared_ptr<HostBlock> HostPool::takeKept(std::size_t size) {
  HostBlock* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(size);
    if (found == kept_.end()) return nullptr;
    block = found->second.back().block;
    found->second.pop_back();
    if (found->second.empty()) kept_.erase(found);
    keptBytes_ -= size;
  }
  return own(block);
}

// Null where there is no memory left.
HostBlock* HostPool::allocate(std::size_t size) {
  const std::lock_guard one(allocating_);
  std::vector<HostBlock*> old;
  {
    const std::lock_guard lock(mutex_);
    old = excess(size);
    gettingBytes_ = size;
  }
  free(old);
  const struct Got {
    HostPool& pool;
    ~Got() {
      const std::lock_guard lock(pool.mutex_);
      pool.gettingBytes_ = 0;
    }
  } got{*this};
  void* memory = memoryFor(size);
  if (memory == nullptr) return nullptr;
  auto* block = new HostBlock(static_cast<uint8_t*>(memory), size, memory_->pinned());
  const std::lock_guard lock(mutex_);
  all_.insert(block);
  totalBytes_ += size;
  gettingBytes_ = 0;
  return block;
}

// Without the lock: page-locking takes long. What others are about to free is awaited where it is too much beside this.
void* HostPool::memoryFor(std::size_t size) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    freed_.wait(lock, [&] {
      const std::size_t there = totalBytes_ + leavingBytes_;
      return leavingBytes_ == 0 || (there <= totalAtMost_ && size <= totalAtMost_ - there);
    });
  }
  void* memory = memory_->tryAllocate(size);
  if (memory != nullptr) return memory;
  trim();  // blocks of other sizes are kept for later, and this is now
  return memory_->tryAllocate(size);
}

void HostPool::giveBack(HostBlock* block) noexcept {
  block->rest(false);
  std::vector<HostBlock*> old;
  {
    const std::lock_guard lock(mutex_);
    keptBytes_ += block->capacity();
    kept_[block->capacity()].push_back({block, ++clock_});
    old = excess(0);
  }
  free(old);
}

// The lock is held. What is kept beyond the limits when there are `more` bytes: the caller frees it.
std::vector<HostBlock*> HostPool::excess(std::size_t more) noexcept {
  std::vector<HostBlock*> old;
  const auto isTooMuch = [&] {
    const std::size_t there = totalBytes_ + gettingBytes_;
    return keptBytes_ > keepAtMost_ || there > totalAtMost_ || more > totalAtMost_ - there;
  };
  while (!kept_.empty() && isTooMuch()) old.push_back(takeOldest());
  return old;
}

HostBlock* HostPool::takeOldest() noexcept {
  auto oldest = kept_.begin();
  for (auto each = kept_.begin(); each != kept_.end(); ++each) {
    if (each->second.front().since < oldest->second.front().since) oldest = each;
  }
  HostBlock* block = oldest->second.front().block;
  oldest->second.erase(oldest->second.begin());
  if (oldest->second.empty()) kept_.erase(oldest);
  keptBytes_ -= block->capacity();
  totalBytes_ -= block->capacity();
  leavingBytes_ += block->capacity();
  all_.erase(block);
  return block;
}

void HostPool::trim() noexcept {
  std::vector<HostBlock*> all;
  {
    const std::lock_guard lock(mutex_);
    while (!kept_.empty()) all.push_back(takeOldest());
  }
  free(all);
}

void HostPool::free(const std::vector<HostBlock*>& blocks) noexcept {
  for (HostBlock* block : blocks) {
    memory_->free(block->data());
    const std::lock_guard lock(mutex_);
    leavingBytes_ -= block->capacity();
    freed_.notify_all();
    delete block;
  }
}

void HostPool::add(const HostRing* ring) {
  const std::lock_guard lock(mutex_);
  rings_.insert(ring);
}

void HostPool::remove(const HostRing* ring) noexcept {
  const std::lock_guard lock(mutex_);
  rings_.erase(ring);
}

// The lock is held. A ring's blocks rest here: the ring knows what of them is in use.
std::size_t HostPool::usedLocked() const {
  std::size_t bytes = 0;
  for (const HostBlock* block : all_) bytes += block->resting_ ? 0 : block->capacity();
  for (const HostRing* ring : rings_) bytes += ring->used();
  return bytes - keptBytes_;
}

std::size_t HostPool::used() const {
  const std::lock_guard lock(mutex_);
  return usedLocked();
}

std::size_t HostPool::kept() const {
  const std::lock_guard lock(mutex_);
  return totalBytes_ - usedLocked();
}

}  // namespace nt
