#include "pinned.h"

namespace nt::cuda {
namespace {

class Pinned : public HostMemory {
 public:
  explicit Pinned(const DeviceContext& device) : device_(device) {}

  void* tryAllocate(std::size_t bytes) override {
    constexpr unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE
    device_.makeCurrent();
    void* memory = nullptr;
    const Result result = device_.driver().memHostAlloc(&memory, bytes, kPortable);
    if (result == kOutOfMemory) return nullptr;
    device_.check(result, "cuMemHostAlloc");
    return memory;
  }
  void free(void* memory) noexcept override {
    if (device_.tryMakeCurrent()) device_.driver().memFreeHost(memory);
  }
  [[noreturn]] void failOutOfMemory(std::size_t) override {
    device_.check(kOutOfMemory, "cuMemHostAlloc");
    std::terminate();  // that throws
  }

 private:
  const DeviceContext& device_;
};

}  // namespace

HostPool& pinnedPool(const DeviceContext& device) {
  static auto& mutex = *new std::mutex;
  static auto& pools = *new std::map<const DeviceContext*, HostPool*>;
  const std::lock_guard lock(mutex);
  HostPool*& pool = pools[&device];
  if (pool == nullptr) pool = new HostPool(std::make_unique<Pinned>(device));
  return *pool;
}

}  // namespace nt::cuda
