#include "pinned.h"

#include <atomic>

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
    if (result == kSuccess) return memory;
    // whatever forbids it, as a container's limit of locked memory, forbids pinned memory alone
    if (isSticky(result)) device_.check(result, "cuMemHostAlloc");
    refused_ = result;
    return nullptr;
  }
  void free(void* memory) noexcept override {
    const DeviceScope scope(device_, std::nothrow);
    if (scope.entered()) device_.driver().memFreeHost(memory);
  }
  [[noreturn]] void failOutOfMemory(std::size_t) override {
    device_.check(refused_, "cuMemHostAlloc");
    std::terminate();  // that throws
  }

 private:
  const DeviceContext& device_;
  std::atomic<Result> refused_{kOutOfMemory};  // what cuMemHostAlloc said when it gave none last
};

}  // namespace

HostPool& pinnedPool(const DeviceContext& device) {
  static auto& pools = *new OnePer<const DeviceContext*, HostPool>;
  return pools.of(&device,
                  [&] { return new HostPool(std::make_unique<Pinned>(device), kKeepPinned, kPinnedWithKept); });
}

}  // namespace nt::cuda
