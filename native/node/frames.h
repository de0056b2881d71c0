// Memory of a video's frames that JavaScript sees, until the frame is closed or collected.
#pragma once

#include <cstdint>
#include <memory>

namespace nt::node {

// What keeps a frame's memory from being used for another one, where `data` lies in one: for work on it by a thread,
// during which it may be closed. Null: it does not.
std::shared_ptr<void> holdFrame(const void* data);

}  // namespace nt::node
