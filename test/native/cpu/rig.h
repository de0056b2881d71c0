// An engine on onnxruntime with a session.
#pragma once

#include "../../../native/cpu/engine.h"
#include "../support/rig.h"
#include "models.h"

namespace rig {

using nt::cpu::Engine;

// The library that the executable was given.
const nt::onnxruntime::Library& library(const std::string& path = "");
std::shared_ptr<Engine> load(const std::string& model, const nt::cpu::Options& options = {});

class Rig : public SessionRig {
 public:
  explicit Rig(const std::string& model, SessionOptions options = {}) : Rig(load(model), std::move(options)) {}
  Rig(std::shared_ptr<Engine> engine, SessionOptions options) { start(std::move(engine), std::move(options)); }

  // Until as many requests are on lanes.
  void waitUntilRunning(std::size_t requests) const;
};

// No engine, lane or value of onnxruntime's is alive, and no memory of the pool is in use.
void checkNothingLive(const char* file, int line);
#define CHECK_NOTHING_LIVE() rig::checkNothingLive(__FILE__, __LINE__)

}  // namespace rig
