#include "registry.h"

#include <sys/random.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "../base/error.h"

namespace nt::execution {
namespace {

struct Shared {
  std::weak_ptr<Engine> engine;
  std::weak_ptr<Session> session;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Shared> engines;
};

Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

// Not std::random_device, which would need a newer glibc than everything else here.
std::string randomName() {
  uint8_t bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    throw Error("ERR_TRT_EXECUTION", "The system gives no random numbers");
  }
  std::string name;
  for (const uint8_t byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    name += digits;
  }
  return name;
}

// The lock is held.
Shared find(const std::string& name) {
  const auto found = registry().engines.find(name);
  return found == registry().engines.end() ? Shared{} : found->second;
}

// Of what is shared already, where `isSame` finds it there.
template <typename IsSame>
std::string nameOf(const std::shared_ptr<Session>& session, const IsSame& isSame) {
  const std::lock_guard lock(registry().mutex);
  auto& engines = registry().engines;
  std::erase_if(engines, [](const auto& entry) { return entry.second.engine.expired(); });
  for (const auto& [name, known] : engines) {
    if (isSame(known)) return name;
  }
  const std::string name = randomName();
  engines[name] = {session->sharedEngine(), session};
  return name;
}

}  // namespace

std::string shareEngine(const std::shared_ptr<Session>& session) {
  return nameOf(session, [&](const Shared& known) { return known.engine.lock() == session->sharedEngine(); });
}

std::string shareSession(const std::shared_ptr<Session>& session) {
  return nameOf(session, [&](const Shared& known) { return known.session.lock() == session; });
}

std::shared_ptr<Engine> sharedEngine(const std::string& name) {
  const std::lock_guard lock(registry().mutex);
  if (auto engine = find(name).engine.lock()) return engine;
  throw Error(
      "ERR_TRT_TOKEN",
      "No engine of this process goes by the token: it was closed everywhere, or the token is another process's");
}

std::shared_ptr<Session> sharedSession(const std::string& name) {
  const auto engine = sharedEngine(name);
  const std::lock_guard lock(registry().mutex);
  if (auto session = find(name).session.lock()) return session;
  throw Session::closedEverywhere();
}

}  // namespace nt::execution
