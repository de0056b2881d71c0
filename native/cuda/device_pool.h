// Device memory of tensors that stay there: allocating and freeing it waits for the device, so it is kept.
#pragma once

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
  DevicePtr allocate(std::size_t size);
  void giveBack(DevicePtr pointer, std::size_t size) noexcept;
  std::vector<DevicePtr> oldest(std::size_t atMost);
  void shrink(std::size_t atMost) noexcept;
  void free(const std::vector<DevicePtr>& blocks) noexcept;

  const DeviceContext& device_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::deque<Kept>> kept_;  // by size; the newest at the back
  std::size_t keptBytes_ = 0;
  uint64_t count_ = 0;
  int users_ = 0;
  bool trimming_ = false;
};

}  // namespace nt::cuda
