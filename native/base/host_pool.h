// Memory on the host for what inferences read and write: allocating it is slow, so it is kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "mutex.h"

namespace nt {

class HostBlock {
 public:
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  uint8_t* data() const noexcept { return data_; }
  std::size_t capacity() const noexcept { return capacity_; }
  // Whether its owner only keeps it for later: then it counts as kept, not as in use.
  void rest(bool resting) noexcept { resting_.store(resting, std::memory_order_relaxed); }

 private:
  friend class HostPool;
  HostBlock(uint8_t* data, std::size_t capacity) : data_(data), capacity_(capacity) {}
  ~HostBlock() = default;  // the pool frees or keeps the memory
  uint8_t* data_;
  std::size_t capacity_;
  std::atomic<bool> resting_{false};
};

// Where a pool's memory comes from. It is aligned as every element type and a cache line need it.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  // Null where there is none left. Throws for any other reason.
  virtual void* tryAllocate(std::size_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  // Throws ERR_TRT_OUT_OF_MEMORY.
  [[noreturn]] virtual void failOutOfMemory(std::size_t bytes) = 0;
};

// Leaked on purpose: blocks may come back from finalizers at any time.
class HostPool {
 public:
  explicit HostPool(std::unique_ptr<HostMemory> memory) : memory_(std::move(memory)) {}
  // Ordinary memory of the process.
  static HostPool& ordinary();

  // At least `bytes`; given back, from any thread, when the last owner lets go.
  std::shared_ptr<HostBlock> acquire(std::size_t bytes);

  // Bytes in use, and bytes kept for later.
  std::size_t used() const;
  std::size_t kept() const;

  static constexpr std::size_t kKeepAtMost = std::size_t{256} << 20;

 private:
  HostBlock* allocate(std::size_t size);
  void giveBack(HostBlock* block) noexcept;
  // Frees what is kept.
  void trim() noexcept;
  void free(HostBlock* block) noexcept;
  std::size_t allBytes(bool resting) const;

  const std::unique_ptr<HostMemory> memory_;
  mutable AdaptiveMutex mutex_;
  std::map<std::size_t, std::vector<HostBlock*>> kept_;
  std::size_t keptBytes_ = 0;
  std::set<const HostBlock*> all_;
};

}  // namespace nt
