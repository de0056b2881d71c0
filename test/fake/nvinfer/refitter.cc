// The fake refitter, and what an engine serializes after it.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "engine.h"

namespace fake {
namespace {

std::uint64_t hashOfWeights(const void* data, std::size_t size) {
  std::uint64_t hash = 14695981039346656037ull;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211ull;
  return hash;
}

struct Refitter final : apiv::VRefitter, Counted {
  // What was set: the memory stays the application's until the refit, and is not to change.
  struct Given {
    Weights weights;
    std::size_t bytes;
    std::uint64_t hash;
  };
  Engine* engine;
  ILogger* logger;
  IErrorRecorder* recorder = nullptr;
  std::shared_ptr<std::atomic<int>> siblings;
  std::map<std::string, Given> given;
  int threads = 1;

  Refitter(Engine* e, ILogger* l) : Counted(kRefitters), engine(e), logger(l), siblings(e->refitters) { ++*siblings; }
  ~Refitter() { --*siblings; }

  const Program& program() const { return *engine->program; }
  bool refuse(const std::string& why) {
    logError(logger, "IRefitter: Error Code 3: API Usage Error (" + why + ")");
    return false;
  }
  std::vector<char const*> all() const {
    std::vector<char const*> out;
    for (const auto& [name, _] : program().constants)
      if (program().isWeight(name)) out.push_back(name.c_str());
    return out;
  }
  std::vector<char const*> missing() const {
    std::vector<char const*> out;
    for (const char* name : all()) {
      if (given.count(name)) continue;
      const auto fused = program().fusedWith(name);
      const bool together =
          std::any_of(fused.begin(), fused.end(), [&](const auto& other) { return given.count(other); });
      // of a stripped plan, too, the real one does not ask for more than what was begun
      if (together) out.push_back(name);
    }
    return out;
  }
  static int32_t list(const std::vector<char const*>& names, int32_t size, char const** out) {
    if (out) std::copy_n(names.begin(), std::min<std::size_t>(names.size(), static_cast<std::size_t>(size)), out);
    return static_cast<int32_t>(names.size());
  }

  void setErrorRecorder(IErrorRecorder* r) noexcept { recorder = r; }
  IErrorRecorder* getErrorRecorder() noexcept { return recorder; }
  ILogger* getLogger() noexcept { return logger; }
  bool setMaxThreads(int32_t n) noexcept { return n > 0 ? (threads = n, true) : false; }
  int32_t getMaxThreads() noexcept { return threads; }
  int32_t getAllWeights(int32_t size, char const** names) noexcept {
    METHOD("VRefitter.getAllWeights");
    return fail_ ? -1 : list(all(), size, names);
  }
  int32_t getMissingWeights(int32_t size, char const** names) noexcept {
    METHOD("VRefitter.getMissingWeights");
    return fail_ ? -1 : list(missing(), size, names);
  }
  Weights getWeightsPrototype(char const* name) noexcept {
    METHOD("VRefitter.getWeightsPrototype");
    if (fail_ || !name || !program().isWeight(name)) return {DataType::kFLOAT, nullptr, -1};
    const Value& value = program().constants.at(name);
    return {static_cast<DataType>(value.type), nullptr, count(value.shape)};
  }
  bool setNamedWeights(char const* name, Weights weights) noexcept {
    METHOD("VRefitter.setNamedWeights");
    if (fail_) return refuse("setNamedWeights: told to fail");
    if (!name || !program().isWeight(name)) return refuse(std::string("no weights named ") + (name ? name : ""));
    const Value& value = program().constants.at(name);
    if (weights.count != count(value.shape)) return refuse(std::string("the count of weights is wrong for ") + name);
    if (weights.type != static_cast<DataType>(value.type)) return refuse(std::string("the type is wrong for ") + name);
    if (!weights.values) return refuse("null weights");
    const auto bytes = static_cast<std::size_t>(bytesFor(value.type, value.shape));
    given[name] = {weights, bytes, hashOfWeights(weights.values, bytes)};
    return true;
  }
  bool unsetNamedWeights(char const* name) noexcept {
    METHOD("VRefitter.unsetNamedWeights");
    return given.erase(name) > 0;
  }
  bool refitCudaEngine() noexcept {
    METHOD("VRefitter.refitCudaEngine");
    if (fail_) return refuse("refitCudaEngine: told to fail");
    if (!haveContext()) return refuse("refitCudaEngine: no current CUDA context");
    if (driver()->deviceError()) return refuse("refitCudaEngine: Cuda Runtime (the device is lost)");
    if (*engine->contexts) misused("refitOfAnEngineInUse");
    // as long as a step of a build
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(library().settings.buildStepMs));
    if (!missing().empty()) return refuse(std::string("missing weights: ") + missing().front());
    auto refitted = std::make_shared<Program>(program());
    for (const auto& [name, each] : given) {
      if (hashOfWeights(each.weights.values, each.bytes) != each.hash) misused("weightsChangedBeforeRefit");
      const auto* bytes = static_cast<const unsigned char*>(each.weights.values);
      Value& value = refitted->constants[name];
      value.bytes.assign(bytes, bytes + each.bytes);
      value.missing = false;
    }
    engine->program = refitted;
    return true;
  }
};

struct SerializationConfig final : apiv::VSerializationConfig, Counted {
  SerializationFlags flags;
  explicit SerializationConfig(SerializationFlags start) : Counted(kSerializationConfigs), flags(start) {}
  static SerializationFlags bit(SerializationFlag f) { return 1u << static_cast<int>(f); }
  bool setFlags(SerializationFlags f) noexcept { return flags = f, true; }
  SerializationFlags getFlags() noexcept { return flags; }
  bool clearFlag(SerializationFlag f) noexcept {
    METHOD("VSerializationConfig.clearFlag");
    return fail_ ? false : (flags &= ~bit(f), true);
  }
  bool setFlag(SerializationFlag f) noexcept {
    METHOD("VSerializationConfig.setFlag");
    // 10.14 brought the third
    if (fail_ || (kMajor == 10 && library().version.minor < 14 && f == SerializationFlag::kINCLUDE_REFIT)) return false;
    return flags |= bit(f), true;
  }
  bool getFlag(SerializationFlag f) noexcept { return flags & bit(f); }
};

}  // namespace

bool Engine::isRefittable() noexcept {
  METHOD("VCudaEngine.isRefittable");
  return program->refit == Refit::kAll;
}

std::string Engine::bytes(bool weights, bool refit) const {
  Program written = *program;
  std::string body = printProgram(written, weights);
  if (!refit) {
    written.refit = Refit::kNone;
    body = printProgram(written);
  }
  return wrapPlan(body, plan[24], plan[25], plan[26], 0);
}

ISerializationConfig* Engine::createSerializationConfig() noexcept {
  METHOD("VCudaEngine.createSerializationConfig");
  const auto flags = stripped ? SerializationConfig::bit(SerializationFlag::kEXCLUDE_WEIGHTS) : 0;
  return fail_ ? nullptr : new Public<ISerializationConfig>(new SerializationConfig(flags), "VSerializationConfig");
}

// With its weights an engine stays refittable only where that was asked for.
IHostMemory* Engine::serializeWithConfig(ISerializationConfig& config) noexcept {
  METHOD("VCudaEngine.serializeWithConfig");
  auto& given = *implementation<ISerializationConfig, SerializationConfig>(&config);
  if (fail_) return journal.error("ICudaEngine::serializeWithConfig: told to fail"), nullptr;
  const bool weights = !given.getFlag(SerializationFlag::kEXCLUDE_WEIGHTS);
  return hostMemory(
      bytes(weights, program->refit != Refit::kNone && (!weights || given.getFlag(SerializationFlag::kINCLUDE_REFIT))));
}

}  // namespace fake

using namespace fake;

FAKE_API void* createInferRefitter_INTERNAL(void* engine, void* logger, int version) noexcept {
  METHOD("createInferRefitter_INTERNAL");
  auto* l = static_cast<ILogger*>(logger);
  const auto refuse = [&](const std::string& why) -> void* {
    return logError(l, "createInferRefitter: Error Code 3: API Usage Error (" + why + ")"), nullptr;
  };
  if (fail_) return refuse("told to fail");
  if (version / 10000 != kMajor) return refuse("wrong version");
  auto* from = implementation<ICudaEngine, Engine>(static_cast<ICudaEngine*>(engine));
  if (from->program->refit == Refit::kNone) return refuse("the engine is not refittable: refit mode kREFIT_NONE");
  return static_cast<IRefitter*>(new Public<IRefitter>(new Refitter(from, l), "VRefitter"));
}
