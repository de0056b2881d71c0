// Pinned memory that JavaScript fills or reads in place: engine.allocate().
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "../base/host_pool.h"

namespace nt::node {

// An ArrayBuffer over pinned memory, known by its address from then on; an ordinary one where the runtime refuses
// external memory.
Napi::ArrayBuffer allocatePinned(Napi::Env env, HostPool& pool, std::size_t bytes);

// Leases the pinned memory that holds these bytes, until the result is let go; null when they are no pinned memory of
// ours. Throws ERR_TRT_BUFFER_IN_USE when it is leased already.
std::shared_ptr<void> leasePinned(const void* data, std::size_t bytes);

}  // namespace nt::node
