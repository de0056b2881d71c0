#include "pinned.h"

#include <atomic>
#include <map>
#include <mutex>

#include "../base/error.h"

namespace nt::node {
namespace {

struct Allocation {
  std::shared_ptr<HostBlock> block;
  std::size_t bytes = 0;
  std::atomic<bool> leased{false};
};

// By address, in the whole process: an ArrayBuffer cannot leave its environment, but its finalizer runs when it wants.
// Leaked on purpose, as all that finalizers may touch at exit.
struct Allocations {
  std::mutex mutex;
  std::map<uintptr_t, std::shared_ptr<Allocation>> byAddress;
  std::atomic<std::size_t> count{0};
};
Allocations& allocations() {
  static auto& all = *new Allocations;
  return all;
}

std::shared_ptr<Allocation> find(uintptr_t address, std::size_t bytes) {
  Allocations& all = allocations();
  if (all.count.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(all.mutex);
  auto above = all.byAddress.upper_bound(address);
  if (above == all.byAddress.begin()) return nullptr;
  const auto& [base, allocation] = *--above;
  return address + bytes <= base + allocation->bytes ? allocation : nullptr;
}

void forget(napi_env, void* data, void* hint) {
  Allocations& all = allocations();
  const std::unique_ptr<std::shared_ptr<Allocation>> kept(static_cast<std::shared_ptr<Allocation>*>(hint));
  const std::lock_guard lock(all.mutex);
  all.byAddress.erase(reinterpret_cast<uintptr_t>(data));
  all.count.store(all.byAddress.size(), std::memory_order_relaxed);
}

}  // namespace

Napi::ArrayBuffer allocatePinned(Napi::Env env, HostPool& pool, std::size_t bytes) {
  auto allocation = std::make_shared<Allocation>();
  allocation->block = pool.acquireAtOnce(bytes);
  allocation->bytes = bytes;
  uint8_t* data = allocation->block->data();
  auto kept = std::make_unique<std::shared_ptr<Allocation>>(allocation);
  napi_value result = nullptr;
  if (bytes == 0 || napi_create_external_arraybuffer(env, data, bytes, forget, kept.get(), &result) != napi_ok) {
    return Napi::ArrayBuffer::New(env, bytes);
  }
  (void)kept.release();
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  all.byAddress[reinterpret_cast<uintptr_t>(data)] = std::move(allocation);
  all.count.store(all.byAddress.size(), std::memory_order_relaxed);
  return {env, result};
}

std::shared_ptr<void> leasePinned(const void* data, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::shared_ptr<Allocation> allocation = find(reinterpret_cast<uintptr_t>(data), bytes);
  if (!allocation) return nullptr;
  if (allocation->leased.exchange(true)) {
    throw Error("ERR_TRT_BUFFER_IN_USE",
                "A tensor made by engine.allocate() is in use by another inference: await that first");
  }
  return {allocation.get(), [allocation](void*) { allocation->leased.store(false); }};
}

}  // namespace nt::node
