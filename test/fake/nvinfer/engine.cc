#include "engine.h"

#include <cstring>

#include "runtime_config.h"

namespace fake {

Dims toDims(const Shape& shape) {
  Dims out{static_cast<int32_t>(shape.size()), {}};
  for (std::size_t i = 0; i < shape.size() && i < 8; ++i) out.d[i] = shape[i];
  return out;
}
Shape fromDims(const Dims& dims) { return dims.nbDims < 0 ? Shape{} : Shape(dims.d, dims.d + dims.nbDims); }

Engine::Engine(std::shared_ptr<const Program> p, std::string bytes, Runtime* runtime)
    : Counted(kEngines),
      program(std::move(p)),
      plan(std::move(bytes)),
      journal(runtime->journal),
      allocator(runtime->allocator),
      weights(runtime->allocator),
      siblings(runtime->engines),
      stripped(!program->complete()),
      strippedBytes(program->missingBytes()) {
  ++*siblings;
}

Engine::~Engine() {
  if (*contexts) misused("engineDestroyedBeforeContext");
  if (*refitters) misused("engineDestroyedBeforeRefitter");
  if (*configs) misused("engineDestroyedBeforeRuntimeConfig");
  weights.release();
  --*siblings;
}

const Port* Engine::port(char const* name, const char* method) {
  const Port* found = name ? program->port(name) : nullptr;
  if (!found)
    journal.error(std::string("ICudaEngine::") + method +
                  ": Error Code 3: Internal Error (Given invalid tensor name: " + (name ? name : "") +
                  ". Get valid tensor names with getIOTensorName())");
  return found;
}

int32_t Engine::getNbLayers() noexcept {
  METHOD("VCudaEngine.getNbLayers");
  return static_cast<int32_t>(program->ops.size());
}
IHostMemory* Engine::serialize() noexcept {
  METHOD("VCudaEngine.serialize");
  return fail_ ? nullptr : hostMemory(bytes(!stripped, program->refit != Refit::kNone));
}

IExecutionContext* Engine::create(bool ownMemory, std::shared_ptr<Jit> jit) {
  static const Teardown teardown;
  const auto refuse = [&](const std::string& why) -> IExecutionContext* {
    journal.error("ICudaEngine::createExecutionContext: " + why);
    return nullptr;
  };
  if (!haveContext()) return refuse("Error Code 2: Internal Error (no current CUDA context)");
  if (driver()->deviceError()) return refuse("Error Code 2: Internal Error (Cuda Runtime: the device is lost)");
  compileFor(plan, jit.get());
  auto persistent = std::make_unique<Memory>(allocator);
  const auto always = static_cast<std::size_t>(program->persistent);
  if (!persistent->take(always)) return refuse(persistent->failure(always));
  if (!ownMemory) return makeContext(this, nullptr, std::move(persistent), std::move(jit));
  auto memory = std::make_unique<Memory>(allocator);
  const auto bytes = static_cast<std::size_t>(program->memory());
  return memory->takeAsync(bytes, nullptr) ? makeContext(this, std::move(memory), std::move(persistent), std::move(jit))
                                           : refuse(memory->failure(bytes));
}

IExecutionContext* Engine::createExecutionContext(ExecutionContextAllocationStrategy strategy) noexcept {
  METHOD("VCudaEngine.createExecutionContext");
  if (fail_) return journal.error("ICudaEngine::createExecutionContext: told to fail"), nullptr;
  if (static_cast<int>(strategy) < 0 || static_cast<int>(strategy) > 2)
    return journal.error("ICudaEngine::createExecutionContext: Error Code 3: API Usage Error (invalid strategy)"),
           nullptr;
  return create(strategy != ExecutionContextAllocationStrategy::kUSER_MANAGED);
}
IExecutionContext* Engine::createExecutionContextWithoutDeviceMemory() noexcept {
  METHOD("VCudaEngine.createExecutionContextWithoutDeviceMemory");
  return fail_ ? nullptr : create(false);
}

std::size_t Engine::getDeviceMemorySize() noexcept {
  METHOD("VCudaEngine.getDeviceMemorySize");
  return static_cast<std::size_t>(program->memory());
}
std::size_t Engine::getDeviceMemorySizeForProfile(int32_t profile) noexcept {
  METHOD("VCudaEngine.getDeviceMemorySizeForProfile");
  return static_cast<std::size_t>(program->memoryOf(profile));
}
int64_t Engine::getDeviceMemorySizeV2() noexcept {
  METHOD("VCudaEngine.getDeviceMemorySizeV2");
  return program->memory();
}
int64_t Engine::getDeviceMemorySizeForProfileV2(int32_t profile) noexcept {
  METHOD("VCudaEngine.getDeviceMemorySizeForProfileV2");
  return program->memoryOf(profile);
}
// Of what the plan had, whatever was refitted since.
int64_t Engine::getEngineStat(EngineStat stat) noexcept {
  METHOD("VCudaEngine.getEngineStat");
  if (fail_) return -1;
  int64_t total = 0;
  for (const auto& [name, value] : program->constants) total += static_cast<int64_t>(value.bytes.size());
  if (stat == EngineStat::kTOTAL_WEIGHTS_SIZE) return total;
  return stripped ? strippedBytes : -1;
}
char const* Engine::getName() noexcept {
  METHOD("VCudaEngine.getName");
  return program->name.c_str();
}
int32_t Engine::getNbOptimizationProfiles() noexcept {
  METHOD("VCudaEngine.getNbOptimizationProfiles");
  return static_cast<int32_t>(program->profiles.size());
}

static const Shape& chosen(const Range& range, OptProfileSelector select) {
  return select == OptProfileSelector::kMIN ? range.min : select == OptProfileSelector::kOPT ? range.opt : range.max;
}

const Range* Engine::values(char const* name, int32_t profile) {
  if (profile < 0 || profile >= static_cast<int32_t>(program->profiles.size()) || !port(name, "getProfileTensorValues"))
    return nullptr;
  const auto& all = program->profiles[static_cast<std::size_t>(profile)].values;
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}
int64_t const* Engine::getProfileTensorValuesV2(char const* name, int32_t profile, OptProfileSelector select) noexcept {
  METHOD("VCudaEngine.getProfileTensorValuesV2");
  const Range* range = values(name, profile);
  return range ? chosen(*range, select).data() : nullptr;
}
int32_t const* Engine::getProfileTensorValues(char const* name, int32_t profile, OptProfileSelector select) noexcept {
  METHOD("VCudaEngine.getProfileTensorValues");
  const Range* range = values(name, profile);
  if (!range) return nullptr;
  std::lock_guard lock(narrowMutex);
  auto& kept =
      narrow[std::string(name) + '/' + std::to_string(profile) + '/' + std::to_string(static_cast<int>(select))];
  if (kept.empty())
    for (const auto value : chosen(*range, select)) kept.push_back(static_cast<std::int32_t>(value));
  return kept.data();
}

Dims Engine::getTensorShape(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorShape");
  const Port* p = port(name, "getTensorShape");
  return p ? toDims(p->shape) : Dims{-1, {}};
}
DataType Engine::getTensorDataType(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorDataType");
  const Port* p = port(name, "getTensorDataType");
  return p ? static_cast<DataType>(p->type) : DataType::kFLOAT;
}
TensorLocation Engine::getTensorLocation(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorLocation");
  const Port* p = port(name, "getTensorLocation");
  return p && p->host ? TensorLocation::kHOST : TensorLocation::kDEVICE;
}
bool Engine::isShapeInferenceIO(char const* name) noexcept {
  METHOD("VCudaEngine.isShapeInferenceIO");
  const Port* p = port(name, "isShapeInferenceIO");
  return p && p->host;
}
TensorIOMode Engine::getTensorIOMode(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorIOMode");
  const Port* p = name ? program->port(name) : nullptr;
  return !p ? TensorIOMode::kNONE : p->input ? TensorIOMode::kINPUT : TensorIOMode::kOUTPUT;
}
int32_t Engine::getTensorBytesPerComponent(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorBytesPerComponent");
  const Port* p = port(name, "getTensorBytesPerComponent");
  return p && p->vectorDim >= 0 ? static_cast<int32_t>(bitsOf(p->type) / 8) : -1;
}
int32_t Engine::getTensorComponentsPerElement(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorComponentsPerElement");
  const Port* p = port(name, "getTensorComponentsPerElement");
  return p && p->vectorDim >= 0 ? p->components : -1;
}
TensorFormat Engine::getTensorFormat(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorFormat");
  const Port* p = port(name, "getTensorFormat");
  return p ? static_cast<TensorFormat>(p->format) : TensorFormat::kLINEAR;
}
char const* Engine::getTensorFormatDesc(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorFormatDesc");
  const Port* p = port(name, "getTensorFormatDesc");
  if (!p) return "";
  return p->format == 0 ? "Row major linear format (kLINEAR)" : "A vectorized format";
}
int32_t Engine::getTensorVectorizedDim(char const* name) noexcept {
  METHOD("VCudaEngine.getTensorVectorizedDim");
  const Port* p = port(name, "getTensorVectorizedDim");
  return p ? p->vectorDim : -1;
}
int32_t Engine::getTensorBytesPerComponentV2(char const* name, int32_t) noexcept {
  return getTensorBytesPerComponent(name);
}
int32_t Engine::getTensorComponentsPerElementV2(char const* name, int32_t) noexcept {
  return getTensorComponentsPerElement(name);
}
TensorFormat Engine::getTensorFormatV2(char const* name, int32_t) noexcept { return getTensorFormat(name); }
char const* Engine::getTensorFormatDescV2(char const* name, int32_t) noexcept { return getTensorFormatDesc(name); }
int32_t Engine::getTensorVectorizedDimV2(char const* name, int32_t) noexcept { return getTensorVectorizedDim(name); }

Dims Engine::getProfileShape(char const* name, int32_t profile, OptProfileSelector select) noexcept {
  METHOD("VCudaEngine.getProfileShape");
  const Port* p = port(name, "getProfileShape");
  if (!p || !p->input || profile < 0 || profile >= static_cast<int32_t>(program->profiles.size())) return {-1, {}};
  const auto& all = program->profiles[static_cast<std::size_t>(profile)].dims;
  const auto found = all.find(name);
  return toDims(found == all.end() ? p->shape : chosen(found->second, select));
}
int32_t Engine::getNbIOTensors() noexcept {
  METHOD("VCudaEngine.getNbIOTensors");
  return static_cast<int32_t>(program->ports.size());
}
char const* Engine::getIOTensorName(int32_t index) noexcept {
  METHOD("VCudaEngine.getIOTensorName");
  if (index < 0 || index >= static_cast<int32_t>(program->ports.size())) return nullptr;
  return program->ports[static_cast<std::size_t>(index)].name.c_str();
}
char const* Engine::getAliasedInputTensor(char const* name) noexcept {
  METHOD("VCudaEngine.getAliasedInputTensor");
  const auto found = port(name, "getAliasedInputTensor") ? program->aliases.find(name) : program->aliases.end();
  return found == program->aliases.end() ? nullptr : found->second.c_str();
}
int32_t Engine::getNbAuxStreams() noexcept {
  METHOD("VCudaEngine.getNbAuxStreams");
  return program->aux;
}

ProfilingVerbosity Engine::getProfilingVerbosity() noexcept {
  METHOD("VCudaEngine.getProfilingVerbosity");
  return static_cast<ProfilingVerbosity>(program->verbosity);
}
IEngineInspector* Engine::createEngineInspector() noexcept {
  METHOD("VCudaEngine.createEngineInspector");
  return fail_ ? nullptr : makeInspector(program);
}

}  // namespace fake

using namespace fake;

FAKE_API int getInferLibVersion() noexcept {
  std::lock_guard lock(library().mutex);
  return library().version.number();
}
FAKE_API int getInferLibMajorVersion() noexcept { return library().version.major; }
FAKE_API int getInferLibMinorVersion() noexcept { return library().version.minor; }
FAKE_API int getInferLibPatchVersion() noexcept { return library().version.patch; }
