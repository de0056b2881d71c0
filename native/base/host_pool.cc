#include "host_pool.h"

#include <bit>
#include <cstdlib>
#include <thread>
#include <utility>

#include "error.h"

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

HostPool::HostPool(std::unique_ptr<HostMemory> memory, std::size_t keep, std::size_t total)
    : memory_(std::move(memory)), keepAtMost_(keep), totalAtMost_(total) {
  if (pinned()) addExitTask([this](ExitDeadline deadline) { return endFreeing(deadline); });
}

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

std::shared_ptr<HostBlock> HostPool::tryAcquire(std::size_t bytes) { return take(sizeClass(bytes), Waits::yes); }

std::shared_ptr<HostBlock> HostPool::acquireOrOrdinary(std::size_t bytes) {
  auto block = tryAcquire(bytes);
  return block ? block : ordinary().acquire(bytes);
}

std::shared_ptr<HostBlock> HostPool::acquireAtOnce(std::size_t bytes) {
  auto block = take(sizeClass(bytes), Waits::no);
  if (!block) memory_->failOutOfMemory(sizeClass(bytes));
  return block;
}

std::shared_ptr<HostBlock> HostPool::take(std::size_t size, Waits waits) {
  if (auto block = takeKept(size)) return block;
  HostBlock* block = allocate(size, waits);
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
HostBlock* HostPool::allocate(std::size_t size, Waits waits) {
  std::vector<HostBlock*> old;
  {
    const std::lock_guard lock(mutex_);
    old = excess(size);
    gettingBytes_ += size;  // others that look for room see it
  }
  free(std::move(old));
  struct Getting {
    HostPool& pool;
    std::size_t bytes;
    ~Getting() {
      const std::lock_guard lock(pool.mutex_);
      pool.gettingBytes_ -= bytes;
      pool.freed_.notify_all();
    }
  } getting{*this, size};
  void* memory = memoryFor(size, waits);
  if (memory == nullptr) return nullptr;
  auto* block = new HostBlock(static_cast<uint8_t*>(memory), size, memory_->pinned(), idleBytes_);
  const std::lock_guard lock(mutex_);
  totalBytes_ += size;
  gettingBytes_ -= std::exchange(getting.bytes, 0);
  return block;
}

// Without the lock: page-locking takes long. What others are about to free is awaited where it is too much beside this.
void* HostPool::memoryFor(std::size_t size, Waits waits) {
  uint64_t seen = 0;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto hasRoom = [&] {
      const std::size_t there = totalBytes_ + leavingBytes_ + gettingBytes_;  // this one, too
      return leavingBytes_ == 0 || there <= totalAtMost_ || over_;
    };
    if (waits == Waits::yes) freed_.wait(lock, hasRoom);
    seen = frees_;
  }
  void* memory = memory_->tryAllocate(size);
  return memory != nullptr || !giveUp(seen) ? memory : memory_->tryAllocate(size);
}

void HostPool::giveBack(HostBlock* block) noexcept {
  block->setIdle(false);
  std::vector<HostBlock*> old;
  {
    const std::lock_guard lock(mutex_);
    keptBytes_ += block->capacity();
    kept_[block->capacity()].push_back({block, ++clock_});
    old = excess(0);
  }
  free(std::move(old));
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
  return block;
}

// There is none left: what is kept for later, in other sizes, is wanted now. Waits until that, and what others free, is
// gone. Whether anything is since `seen`.
bool HostPool::giveUp(uint64_t seen) noexcept {
  std::vector<HostBlock*> all;
  {
    const std::lock_guard lock(mutex_);
    while (!kept_.empty()) all.push_back(takeOldest());
  }
  free(std::move(all));
  std::unique_lock<std::mutex> lock(mutex_);
  freed_.wait(lock, [&] { return leavingBytes_ == 0 || over_; });
  return frees_ != seen;
}

// Of blocks that were taken out.
void HostPool::free(std::vector<HostBlock*> blocks) noexcept {
  if (blocks.empty()) return;
  if (!pinned()) return freeHere(blocks);
  {
    const std::lock_guard lock(mutex_);
    leaving_.insert(leaving_.end(), blocks.begin(), blocks.end());
    if (freeing_ || over_) return;
    freeing_ = true;
  }
  try {
    std::thread([this] { freeLeaving(); }).detach();
  } catch (const std::exception&) {
    freeLeaving();  // the system has no thread left
  }
}

// Until there is nothing left to free, or the process ends.
void HostPool::freeLeaving() noexcept {
  for (;;) {
    HostBlock* block = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (leaving_.empty() || over_) {
        freeing_ = false;
        freed_.notify_all();
        return;
      }
      block = leaving_.back();
      leaving_.pop_back();
    }
    freeHere({block});
  }
}

void HostPool::freeHere(const std::vector<HostBlock*>& blocks) noexcept {
  for (HostBlock* block : blocks) {
    memory_->free(block->data());
    const std::lock_guard lock(mutex_);
    leavingBytes_ -= block->capacity();
    ++frees_;
    freed_.notify_all();
    delete block;
  }
}

// The thread that frees must not be in the driver when that is torn down.
bool HostPool::endFreeing(ExitDeadline deadline) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  over_ = true;
  freed_.notify_all();
  return freed_.wait_until(lock, deadline, [&] { return !freeing_; });
}

std::size_t HostPool::used() const {
  const std::lock_guard lock(mutex_);
  return totalBytes_ - keptBytes_ - idleBytes_;
}

std::size_t HostPool::kept() const {
  const std::lock_guard lock(mutex_);
  return keptBytes_ + idleBytes_;
}

}  // namespace nt
