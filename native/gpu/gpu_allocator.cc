#include "gpu_allocator.h"

#include <utility>

#include "../base/one_per.h"
#include "../cuda/device_pool.h"

namespace nt::gpu {

GpuAllocator& GpuAllocator::of(tensorrt::Log& log, const cuda::DeviceContext& device) {
  static auto& allocators = *new OnePer<std::pair<tensorrt::Log*, const cuda::DeviceContext*>, GpuAllocator>;
  return allocators.of({&log, &device}, [&] { return new GpuAllocator(log, device); });
}

GpuAllocator::GpuAllocator(tensorrt::Log& log, const cuda::DeviceContext& device)
    : Versioned("IGpuAllocator"), log_(log), device_(device) {}

// TensorRT hears "no" in either case. Its own line says how much was wanted, ours why it was refused.
bool GpuAllocator::charge(cuda::Account& account, uint64_t size) noexcept try {
  try {
    account.charge(size);
    return true;
  } catch (const Error& error) {
    constexpr int32_t kError = 1;
    const std::string line = "OutOfMemory (Requested size was " + std::to_string(size) + " bytes.): " + error.what();
    log_.write(kError, line.c_str());
  }
  return false;
} catch (...) {
  return false;
}

void* GpuAllocator::allocate(uint64_t size, uint64_t, uint32_t) noexcept {
  tensorrt::trace([&] { return "allocate " + std::to_string(size); });
  return take(size);
}

void* GpuAllocator::take(uint64_t size) noexcept {
  if (size == 0) return nullptr;
  const cuda::DeviceScope scope(device_, std::nothrow);
  if (!scope.entered()) return nullptr;
  Block block{size, cuda::AccountScope::current()};
  if (block.account && !charge(*block.account, size)) return nullptr;
  cuda::DevicePtr address = 0;
  const bool done = device_.note(cuda::allocate(device_, size, address));
  void* memory = done ? reinterpret_cast<void*>(address) : nullptr;  // aligned as any alignment that TensorRT asks for
  if (done && keep(memory, block)) return memory;
  if (done) device_.note(device_.driver().memFree(address));
  if (block.account) block.account->release(size);
  return nullptr;
}

bool GpuAllocator::keep(void* memory, Block block) noexcept try {
  const std::lock_guard lock(mutex_);
  blocks_[memory] = std::move(block);
  return true;
} catch (...) {
  return false;  // the host has no memory left to note it
}

void* GpuAllocator::reallocate(void*, uint64_t, uint64_t) noexcept { return nullptr; }

bool GpuAllocator::deallocate(void* memory) noexcept {
  tensorrt::trace([] { return std::string("deallocate"); });
  return free(memory, nullptr, false);
}

void* GpuAllocator::allocateAsync(uint64_t size, uint64_t, uint32_t, void*) noexcept {
  tensorrt::trace([&] { return "allocateAsync " + std::to_string(size); });
  return take(size);
}

bool GpuAllocator::deallocateAsync(void* memory, void* stream) noexcept {
  tensorrt::trace([] { return std::string("deallocateAsync"); });
  return free(memory, stream, true);
}

bool GpuAllocator::free(void* memory, void* stream, bool ordered) noexcept {
  if (memory == nullptr) return true;
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(memory);
    if (found == blocks_.end()) return false;
    block = std::move(found->second);
    blocks_.erase(found);
  }
  if (block.account) block.account->release(block.bytes);
  const cuda::DeviceScope scope(device_, std::nothrow);
  if (!scope.entered()) return false;
  if (ordered) device_.note(device_.driver().streamSynchronize(stream));
  return device_.note(device_.driver().memFree(reinterpret_cast<cuda::DevicePtr>(memory)));
}

}  // namespace nt::gpu
