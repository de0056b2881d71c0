#include "pinned.h"

#include "../base/one_per.h"

namespace nt::cuda {
namespace {

class Pinned : public HostMemory {
 public:
  explicit Pinned(const DeviceContext& device) : device_(device) {}

  bool pinned() const noexcept override { return true; }
  void* tryAllocate(std::size_t bytes) override {
    constexpr unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE
    const DeviceScope scope(device_);
    void* memory = nullptr;
    const Result result = device_.driver().memHostAlloc(&memory, bytes, kPortable);
    if (result == kOutOfMemory) return nullptr;
    device_.check(result, "cuMemHostAlloc");
    return memory;
  }
  void free(void* memory) noexcept override {
    const DeviceScope scope(device_, std::nothrow);
    if (scope.entered()) device_.driver().memFreeHost(memory);
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
  static auto& pools = *new OnePer<const DeviceContext*, HostPool>;
  return pools.of(&device,
                  [&] { return new HostPool(std::make_unique<Pinned>(device), kKeepPinned, kPinnedWithKept); });
}

}  // namespace nt::cuda
