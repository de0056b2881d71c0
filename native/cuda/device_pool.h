// Device memory of tensors that stay there: allocating and freeing it waits for the device, so it is kept; and the one
// way to more of it, which gives that back first.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "../base/tensor_memory.h"
#include "device.h"

namespace nt::cuda {

// One per device and process. All of it is for any thread: the device is made current where that is needed.
class DevicePool : public TensorMemory {
 public:
  static DevicePool& of(const DeviceContext& device);

  int device() const noexcept override { return device_.index(); }
  std::shared_ptr<uint8_t> acquire(std::size_t bytes) override;
  void read(uint8_t* host, const uint8_t* data, std::size_t bytes) override;
  void write(uint8_t* data, const uint8_t* host, std::size_t bytes) override;
  HostPool& hostPool() const noexcept override;
  std::size_t kept() const noexcept override;
  bool mayTrim() noexcept override;
  // Down to kKeepAtMost.
  void trim() noexcept override;
  // Frees all that is kept, and waits for who is about to free some of it. Whether anything was freed since `seen`,
  // which is what freed() said before.
  bool giveUp(uint64_t seen) noexcept;
  // How many blocks were freed so far.
  uint64_t freed() const noexcept { return freed_.load(); }

  static constexpr std::size_t kLeast = 512;  // bytes of a block
  static constexpr std::size_t kKeepAtMost = std::size_t{256} << 20;

 private:
  explicit DevicePool(const DeviceContext& device) : device_(device) {}

  struct Kept {
    DevicePtr pointer;
    uint64_t since;  // the order in which they came back
  };
  void join() noexcept override;
  void leave() noexcept override;
  DevicePtr takeKept(std::size_t size);
  DevicePtr newBlock(std::size_t size);
  void giveBack(DevicePtr pointer, std::size_t size) noexcept;
  std::vector<DevicePtr> oldest(std::size_t atMost);
  void shrink(std::size_t atMost) noexcept;
  void free(const std::vector<DevicePtr>& blocks) noexcept;

  const DeviceContext& device_;
  std::mutex freeing_;  // held from when blocks are taken out until they are freed
  std::atomic<uint64_t> freed_{0};
  mutable std::mutex mutex_;
  std::map<std::size_t, std::deque<Kept>> kept_;  // by size; the newest at the back
  std::size_t keptBytes_ = 0;
  uint64_t count_ = 0;
  int users_ = 0;
  bool trimming_ = false;
};

// cuMemAlloc, for all of this process's own uses, on a thread that may wait for the device, which is current there.
// Where the driver has no memory left, what the device's pool keeps goes back to it, and it is asked once more. Says
// what the driver said last.
Result allocate(const DeviceContext& device, std::size_t bytes, DevicePtr& pointer) noexcept;

}  // namespace nt::cuda
