#include "registry.h"

#include <sys/random.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "../base/error.h"

namespace nt::execution {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Engine>> engines;
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

}  // namespace

std::string shareEngine(const std::shared_ptr<Engine>& engine) {
  const std::lock_guard lock(registry().mutex);
  auto& engines = registry().engines;
  std::erase_if(engines, [](const auto& entry) { return entry.second.expired(); });
  for (const auto& [name, known] : engines) {
    if (known.lock() == engine) return name;
  }
  const std::string name = randomName();
  engines[name] = engine;
  return name;
}

std::shared_ptr<Engine> sharedEngine(const std::string& name) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().engines.find(name);
  if (auto engine = found == registry().engines.end() ? nullptr : found->second.lock()) return engine;
  throw Error(
      "ERR_TRT_TOKEN",
      "No engine of this process goes by the token: it was closed everywhere, or the token is another process's");
}

}  // namespace nt::execution
