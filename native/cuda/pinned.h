// Pinned host memory: what copies to and from the device read and write while the CPU goes on. Allocating it is slow,
// so it is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device.h"

namespace nt::cuda {

class PinnedPool;

class PinnedBlock {
 public:
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  uint8_t* data() const noexcept { return data_; }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  friend class PinnedPool;
  PinnedBlock(uint8_t* data, std::size_t capacity) : data_(data), capacity_(capacity) {}
  ~PinnedBlock() = default;  // the pool frees or keeps the memory
  uint8_t* data_;
  std::size_t capacity_;
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

  const DeviceContext& device_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<PinnedBlock*>> kept_;
  std::size_t keptBytes_ = 0;
  std::size_t usedBytes_ = 0;
};

}  // namespace nt::cuda
