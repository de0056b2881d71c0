// Pinned host memory: what copies to and from the device read and write while the CPU goes on. Allocating it is slow,
// so it is kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "../base/mutex.h"
#include "device.h"

namespace nt::cuda {

class PinnedPool;

class PinnedBlock {
 public:
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  uint8_t* data() const noexcept { return data_; }
  std::size_t capacity() const noexcept { return capacity_; }
  // Whether its owner only keeps it for later: then it counts as kept, not as in use.
  void rest(bool resting) noexcept { resting_.store(resting, std::memory_order_relaxed); }

 private:
  friend class PinnedPool;
  PinnedBlock(uint8_t* data, std::size_t capacity) : data_(data), capacity_(capacity) {}
  ~PinnedBlock() = default;  // the pool frees or keeps the memory
  uint8_t* data_;
  std::size_t capacity_;
  std::atomic<bool> resting_{false};
};

// One per device and process, leaked on purpose: blocks may come back from finalizers at any time.
class PinnedPool {
 public:
  static PinnedPool& of(const DeviceContext& device);

  // At least `bytes`; given back, from any thread, when the last owner lets go.
  std::shared_ptr<PinnedBlock> acquire(std::size_t bytes);

  // Bytes in use, and bytes kept for later.
  std::size_t used() const;
  std::size_t kept() const;

  static constexpr std::size_t kKeepAtMost = std::size_t{256} << 20;

 private:
  explicit PinnedPool(const DeviceContext& device) : device_(device) {}
  PinnedBlock* allocate(std::size_t size);
  void giveBack(PinnedBlock* block) noexcept;
  // Frees what is kept.
  void trim() noexcept;
  void free(PinnedBlock* block) noexcept;
  std::size_t allBytes(bool resting) const;

  const DeviceContext& device_;
  mutable AdaptiveMutex mutex_;
  std::map<std::size_t, std::vector<PinnedBlock*>> kept_;
  std::size_t keptBytes_ = 0;
  std::set<const PinnedBlock*> all_;
};

}  // namespace nt::cuda
