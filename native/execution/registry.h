// Engines that other threads of this process may use: share() gives a name, attach() finds the engine by it.
#pragma once

#include <memory>
#include <string>

#include "session.h"

namespace nt::execution {

// A 128-bit random name, the same each time for the same engine. It is good as long as somebody uses the engine. The
// session that is there first is its owner's, since whoever has not loaded the engine has the name already.
std::string shareEngine(const std::shared_ptr<Session>& session);
// The same for this session, whichever was there first.
std::string shareSession(const std::shared_ptr<Session>& session);

// Throws ERR_TRT_TOKEN when no engine of that name is in use.
std::shared_ptr<Engine> sharedEngine(const std::string& name);
// The owner's session, which stays as long as somebody works with it. Throws ERR_TRT_TOKEN when nobody does.
std::shared_ptr<Session> sharedSession(const std::string& name);

}  // namespace nt::execution
