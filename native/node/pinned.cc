#include "pinned.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "../base/error.h"
#include "environment.h"
#include "functions.h"
#include "values.h"

namespace nt::node {
namespace {

// Under the lock of all.
struct Allocation {
  std::shared_ptr<HostBlock> block;
  std::size_t bytes = 0;
  ByteLeases leases;

  uintptr_t base() const noexcept { return reinterpret_cast<uintptr_t>(block->data()); }
};

// By address, in the whole process: an ArrayBuffer cannot leave its environment, but its finalizer runs when it wants.
// Leaked on purpose, as all that finalizers may touch at exit.
struct Allocations {
  std::mutex mutex;
  std::map<uintptr_t, std::shared_ptr<Allocation>> byAddress;
  std::atomic<std::size_t> count{0};
  uint64_t calls = 0;

  bool none() const noexcept { return count.load(std::memory_order_relaxed) == 0; }

  // The one that holds all of the range. The lock is held.
  std::shared_ptr<Allocation> find(const ByteRange& range) const {
    auto above = byAddress.upper_bound(range.begin);
    if (above == byAddress.begin()) return nullptr;
    const auto& [base, allocation] = *--above;
    return range.end <= base + allocation->bytes ? allocation : nullptr;
  }
};
Allocations& allocations() {
  static auto& all = *new Allocations;
  return all;
}

void forget(napi_env, void* data, void* hint) {
  Allocations& all = allocations();
  const std::unique_ptr<std::shared_ptr<Allocation>> kept(static_cast<std::shared_ptr<Allocation>*>(hint));
  const std::lock_guard lock(all.mutex);
  all.byAddress.erase(reinterpret_cast<uintptr_t>(data));
  all.count.store(all.byAddress.size(), std::memory_order_relaxed);
}

[[noreturn]] void failInUse(const Allocation& allocation, const ByteRange& range) {
  const std::size_t first = range.begin - allocation.base();
  const bool whole = first == 0 && range.end - range.begin == allocation.bytes;
  const std::string what = whole ? "A tensor made by engine.allocate() is"
                                 : "Of the engine's memory, bytes " + std::to_string(first) + " to " +
                                       std::to_string(range.end - allocation.base() - 1) + " of " +
                                       std::to_string(allocation.bytes) + " are";
  throw Error("ERR_TRT_BUFFER_IN_USE", what + " in use by another inference: await that first");
}

void refuseConflict(Allocation& allocation, const ByteRange& range, uint64_t call, Access access) {
  switch (allocation.leases.conflict(range, call, access)) {
    case ByteLeases::Conflict::none:
      return;
    case ByteLeases::Conflict::others:
      failInUse(allocation, range);
    case ByteLeases::Conflict::own:
      throwExpected("memory of its own for an output but it overlaps other memory");
  }
}

void release(Allocation& allocation, ByteLeases::Lease lease) {
  std::vector<ByteLeases::Waiter> free;
  {
    const std::lock_guard lock(allocations().mutex);
    free = allocation.leases.end(lease);
  }
  for (const ByteLeases::Waiter& waiter : free) waiter.tell();  // which takes locks of its own
}

// Whether any of these bytes is leased. Where it is, `tell` is called once when none is any more, on the thread that
// lets go of the last lease, which may be any; it must not throw.
bool whenReleased(const ByteRange& range, std::function<void()> tell) {
  Allocations& all = allocations();
  if (range.empty() || all.none()) return false;
  const std::lock_guard lock(all.mutex);
  const std::shared_ptr<Allocation> allocation = all.find(range);
  return allocation && allocation->leases.wait(range, std::move(tell));
}

// Of a Uint8Array; empty where it is detached.
ByteRange rangeOf(Napi::Env env, napi_value value) {
  napi_typedarray_type type = napi_int8_array;
  std::size_t bytes = 0;
  void* data = nullptr;
  const napi_status status = napi_get_typedarray_info(env, value, &type, &bytes, &data, nullptr, nullptr);
  if (status != napi_ok || type != napi_uint8_array) throwExpected("a Uint8Array", "memory");
  return {data, data == nullptr ? 0 : bytes};
}

// onReleased(memory, callback): whether an inference uses the memory; then the callback is called once, without
// arguments, when none does any more. That needs no open engine.
Napi::Value onReleased(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const ByteRange range = rangeOf(env, info[0]);
  if (!info[1].IsFunction()) throwExpected("a function", "callback");
  const auto environment = Environment::of(env);
  const int id = environment->hold(info[1].As<Napi::Object>());
  const bool leased = whenReleased(range, [environment, id] {
    environment->post([environment = environment.get(), id](Napi::Env inner) {
      environment->end(inner);
      const auto held = std::shared_ptr<void>(nullptr, [environment, id](void*) { environment->release(id); });
      environment->callHeld(inner, id, {});
    });
  });
  if (leased) {
    environment->begin(env);  // what uses the memory keeps the process alive, too
  } else {
    environment->release(id);
  }
  return Napi::Boolean::New(env, leased);
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

std::shared_ptr<void> leasePinned(const void* data, std::size_t bytes, PinnedCall& call, Access access) {
  Allocations& all = allocations();
  if (bytes == 0 || all.none()) return nullptr;
  const ByteRange range(data, bytes);
  std::shared_ptr<Allocation> allocation;
  ByteLeases::Lease lease;
  {
    const std::lock_guard lock(all.mutex);
    allocation = all.find(range);
    if (!allocation) return nullptr;
    if (call.number == 0) call.number = ++all.calls;
    refuseConflict(*allocation, range, call.number, access);
    lease = allocation->leases.begin(range, call.number, access);
  }
  // where there is no memory for this it calls the deleter, and throws
  return {allocation.get(), [allocation, lease](void*) { release(*allocation, lease); }};
}

void exportReleased(Napi::Object engine) { setFunctions(engine, {{"onReleased", guarded<onReleased>}}); }

}  // namespace nt::node
