// Memory on the host for what inferences read and write: allocating it is slow, so it is kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "condition.h"
#include "exit.h"
#include "mutex.h"

namespace nt {

class HostBlock {
 public:
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  uint8_t* data() const noexcept { return data_; }
  std::size_t capacity() const noexcept { return capacity_; }
  // Whether a device copies to and from it while the CPU goes on.
  bool pinned() const noexcept { return pinned_; }
  // Whether its owner only keeps it for later: then it counts as kept, not as in use.
  void setIdle(bool idle) noexcept {
    if (idle_.exchange(idle, std::memory_order_relaxed) == idle) return;
    idleBytes_.fetch_add(idle ? capacity_ : -capacity_, std::memory_order_relaxed);
  }

 private:
  friend class HostPool;
  friend class HostRing;
  HostBlock(uint8_t* data, std::size_t capacity, bool pinned, std::atomic<std::size_t>& idleBytes)
      : data_(data), capacity_(capacity), pinned_(pinned), idleBytes_(idleBytes) {}
  ~HostBlock() = default;  // the pool frees or keeps the memory
  uint8_t* data_;
  std::size_t capacity_;
  const bool pinned_;
  std::atomic<bool> idle_{false};
  std::atomic<std::size_t>& idleBytes_;  // of its pool
};

// Of all memory that a pool gives, and of tensors that lie in one block: as cudaMalloc's, which is enough for every
// element type, and whole cache lines.
inline constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Where a pool's memory comes from; aligned to kAlignment at least.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  // Such memory is slow to free, too: that waits for the device.
  virtual bool pinned() const noexcept { return false; }
  // Null where there is none to be had. Throws where the device is lost.
  virtual void* tryAllocate(std::size_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  // Says why tryAllocate() gave null: throws ERR_TRT_OUT_OF_MEMORY, ERR_TRT_CUDA.
  [[noreturn]] virtual void failOutOfMemory(std::size_t bytes) = 0;
};

// Leaked on purpose: blocks may come back from finalizers at any time. Pinned memory is freed on a thread of the pool's
// own, never on that of whoever gives it back or asks for some.
class HostPool {
 public:
  static constexpr std::size_t kLeast = 4096;  // bytes of a block
  static constexpr std::size_t kKeepAtMost = std::size_t{256} << 20;

  // Blocks that come back are kept while no more than `keep` bytes are kept, and the pool has no more than `total` in
  // all; those that were not used for longest go first.
  explicit HostPool(std::unique_ptr<HostMemory> memory, std::size_t keep = kKeepAtMost, std::size_t total = SIZE_MAX);
  // Ordinary memory of the process.
  static HostPool& ordinary();

  // At least `bytes`; given back, from any thread, when the last owner lets go. May take as long as page-locking does,
  // and waits for what others are about to free where it is too much beside that.
  std::shared_ptr<HostBlock> acquire(std::size_t bytes);
  // Null where there is no such memory left.
  std::shared_ptr<HostBlock> tryAcquire(std::size_t bytes);
  // Ordinary memory then: for copies between it and a device, which take longer, and are as right.
  std::shared_ptr<HostBlock> acquireOrOrdinary(std::size_t bytes);
  // For JavaScript's thread: it page-locks, since that was asked for, but waits for nobody who frees, unless the system
  // has no memory left.
  std::shared_ptr<HostBlock> acquireAtOnce(std::size_t bytes);
  bool pinned() const noexcept { return memory_->pinned(); }

  // Bytes in use, and bytes kept for later.
  std::size_t used() const;
  std::size_t kept() const;

 private:
  friend class HostRing;
  struct Kept {
    HostBlock* block;
    uint64_t since;
  };
  enum class Waits : bool { no, yes };
  std::shared_ptr<HostBlock> take(std::size_t size, Waits waits);
  std::shared_ptr<HostBlock> takeKept(std::size_t size);
  std::shared_ptr<HostBlock> own(HostBlock* block);
  HostBlock* allocate(std::size_t size, Waits waits);
  void* memoryFor(std::size_t size, Waits waits);
  void giveBack(HostBlock* block) noexcept;
  std::vector<HostBlock*> excess(std::size_t more) noexcept;
  HostBlock* takeOldest() noexcept;
  bool giveUp(uint64_t seen) noexcept;
  void free(std::vector<HostBlock*> blocks) noexcept;
  void freeLeaving() noexcept;
  void freeHere(const std::vector<HostBlock*>& blocks) noexcept;
  bool endFreeing(ExitDeadline deadline) noexcept;

  const std::unique_ptr<HostMemory> memory_;
  const std::size_t keepAtMost_, totalAtMost_;
  mutable AdaptiveMutex mutex_;
  Condition freed_;
  std::map<std::size_t, std::vector<Kept>> kept_;  // by size; none is empty; the last was used last
  uint64_t clock_ = 0;
  std::size_t keptBytes_ = 0;
  std::size_t totalBytes_ = 0;
  // besides: what threads are getting, and what is to be freed
  std::size_t gettingBytes_ = 0, leavingBytes_ = 0;
  uint64_t frees_ = 0;                                 // blocks so far
  std::vector<HostBlock*> leaving_;                    // pinned, for the thread that frees
  bool freeing_ = false;                               // there is such a thread
  bool over_ = false;                                  // the process ends: nothing is freed any more
  alignas(64) std::atomic<std::size_t> idleBytes_{0};  // of blocks that their owners keep for later
};

}  // namespace nt
