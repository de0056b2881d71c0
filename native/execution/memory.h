// Host memory of a session. On a GPU: a ring of pinned memory and, per slot, pinned memory that the rest passes
// through, together never more than kPinned; whatever does not fit there is ordinary memory.
#pragma once

#include "engine.h"

namespace nt::execution {

// Bytes of pinned memory that a session takes at most: the half of it is the ring.
inline constexpr std::size_t kPinned = std::size_t{64} << 20;

// Says in `options` what pinned memory there is for so many lanes, none where the engine has no use for it, and what
// their contexts with graphs may take: as much again as the engine itself, or some of it in any case.
void giveMemory(const Engine& engine, int lanes, LaneOptions& options);
// For a request's inputs. On any thread: it never page-locks.
std::shared_ptr<HostBlock> requestMemory(const LaneOptions& options, std::size_t bytes);

}  // namespace nt::execution
