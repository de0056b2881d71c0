// Pinned memory that JavaScript fills or reads in place: engine.allocate() and engine.allocateBytes(). An inference
// leases the byte ranges that it uses.
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>

#include "../base/byte_leases.h"
#include "../base/host_pool.h"

namespace nt::node {

// An ArrayBuffer over pinned memory, known by its address from then on; an ordinary one where the runtime refuses
// external memory.
Napi::ArrayBuffer allocatePinned(Napi::Env env, HostPool& pool, std::size_t bytes);

// The ranges of one call, which may overlap each other where all are read. The number is given with the first range.
struct PinnedCall {
  uint64_t number = 0;
};

// Leases these bytes for a call, until the result is let go, on any thread; null when they are no pinned memory of
// ours. It keeps the memory, too. Throws ERR_TRT_BUFFER_IN_USE when another call has leased one of them, and
// ERR_TRT_INVALID_ARGUMENT when the call itself has, and one of both writes.
std::shared_ptr<void> leasePinned(const void* data, std::size_t bytes, PinnedCall& call, Access access);

// What the engine's object has of it: onReleased.
void exportReleased(Napi::Object engine);

}  // namespace nt::node
