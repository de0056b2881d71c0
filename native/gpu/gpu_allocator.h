// nvinfer1::IGpuAllocator: the device memory that TensorRT takes for itself, on somebody's account.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "../cuda/account.h"
#include "../cuda/device.h"
#include "../tensorrt/logger.h"
#include "../tensorrt/versioned.h"

namespace nt::gpu {

// One layout in all families. TensorRT calls it from any thread; nothing may throw out of it.
class GpuAllocator : public tensorrt::Versioned {
 public:
  // Of a library on a device. It stays for the rest of the process: engines may be let go of at any time.
  static GpuAllocator& of(tensorrt::Log& log, const cuda::DeviceContext& device);

  // Memory of cuMemAlloc (cuda::allocate()), as that of TensorRT's own allocator, charged to the account of this
  // thread's AccountScope. Null where there is none, or the account's limit forbids it, which only the log says.
  virtual void* allocate(uint64_t size, uint64_t alignment, uint32_t flags) noexcept;
  // Null: TensorRT then takes new memory, and copies.
  virtual void* reallocate(void* memory, uint64_t alignment, uint64_t size) noexcept;
  virtual bool deallocate(void* memory) noexcept;
  virtual void* allocateAsync(uint64_t size, uint64_t alignment, uint32_t flags, void* stream) noexcept;
  // Waits for the stream: what was enqueued there may use the memory.
  virtual bool deallocateAsync(void* memory, void* stream) noexcept;

 private:
  struct Block {
    std::size_t bytes = 0;
    std::shared_ptr<cuda::Account> account;  // null where nobody's
  };

  GpuAllocator(tensorrt::Log& log, const cuda::DeviceContext& device);
  bool charge(cuda::Account& account, uint64_t size) noexcept;
  void* take(uint64_t size) noexcept;
  bool keep(void* memory, Block block) noexcept;
  bool free(void* memory, void* stream, bool ordered) noexcept;

  tensorrt::Log& log_;
  const cuda::DeviceContext& device_;
  std::mutex mutex_;
  std::map<void*, Block> blocks_;
};

}  // namespace nt::gpu
