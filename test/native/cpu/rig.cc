#include "rig.h"

#include <thread>

namespace rig {

const nt::onnxruntime::Library& library(const std::string& path) {
  static const auto& opened = nt::onnxruntime::Library::open({path, ""});
  return opened;
}

std::shared_ptr<Engine> load(const std::string& model, const nt::cpu::Options& options) {
  return Engine::load(library(), {"", model.data(), model.size()}, options);
}

void Rig::waitUntilRunning(std::size_t requests) const {
  while (session->running() < requests) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void checkNothingLive(const char* file, int line) {
  const auto none = [&](const std::string& what, long long count) {
    test::note(count == 0, file, line, "no " + what + " is left, but " + std::to_string(count));
  };
  const nt::cpu::Live& live = nt::cpu::live();
  none("engine", live.engines);
  none("lane", live.lanes);
  none("value", live.values);
  none("memory in use", static_cast<long long>(nt::HostPool::ordinary().used()));
}

}  // namespace rig
