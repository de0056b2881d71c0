// Engines that other threads of this process may use: share() gives a name, attach() finds the engine by it.
#pragma once

#include <memory>
#include <string>

#include "engine.h"

namespace nt::execution {

// A 128-bit random name, the same each time for the same engine. It is good as long as somebody uses the engine.
std::string shareEngine(const std::shared_ptr<Engine>& engine);

// Throws ERR_TRT_TOKEN when no engine of that name is in use.
std::shared_ptr<Engine> sharedEngine(const std::string& name);

}  // namespace nt::execution
