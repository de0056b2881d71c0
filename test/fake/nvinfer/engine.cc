#include "engine.h"

#include <cstring>

namespace fake {

Dims toDims(const Shape& shape) {
  Dims out{static_cast<int32_t>(shape.size()), {}};
  for (std::size_t i = 0; i < shape.size() && i < 8; ++i) out.d[i] = shape[i];
  return out;
}
Shape fromDims(const Dims& dims) { return dims.nbDims < 0 ? Shape{} : Shape(dims.d, dims.d + dims.nbDims); }

// The messages are TensorRT's own, as far as an application may look at them.
ICudaEngine* Runtime::load(const std::string& plan) {
  const auto refuse = [&](const std::string& why) -> ICudaEngine* {
    logError(logger, "IRuntime::deserializeCudaEngine: Error Code 1: Serialization (" + why + ")");
    return nullptr;
  };
  if (!haveContext()) return refuse("no current CUDA context");
  if (driver()->deviceError()) return refuse("Cuda Runtime (the device is lost)");
  if (plan.size() < 32 || plan.compare(0, 4, "ftrt"))
    return refuse("Serialization assertion magicTagRead == kMAGIC_TAG failed.Magic tag does not match");
  const Version version = library().version;
  if (plan[24] != version.major || plan[25] != version.minor || plan[26] != version.patch)
    return refuse(
        "Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version tag does not match. Note: "
        "Current "
        "Version: " +
        std::to_string(version.minor) + ", Serialized Engine Version: " + std::to_string(plan[25]));
  std::uint64_t size = 0, expected = 0, hash = 14695981039346656037ull;
  std::memcpy(&expected, &plan[8], 8);
  std::memcpy(&size, &plan[16], 8);
  if (plan.size() != size)
    return refuse(
        "Serialization assertion sizeRead == sizeExpected failed.Size specified in header does not match archive size");
  for (std::size_t i = 32; i < plan.size(); ++i) hash = (hash ^ static_cast<unsigned char>(plan[i])) * 1099511628211ull;
  if (hash != expected) return refuse("Serialization assertion checksum failed.");
  auto program = std::make_shared<Program>();
  if (const auto wrong = parseProgram(plan.substr(32), program.get()); !wrong.empty()) return refuse(wrong);
  auto* engine = new Engine(program, plan, this);
  if (program->weights > 0 && driver()->alloc(&engine->weights, static_cast<std::size_t>(program->weights))) {
    delete engine;
    logError(logger, "IRuntime::deserializeCudaEngine: Error Code 2: OutOfMemory (Requested size was " +
                         std::to_string(program->weights) + " bytes.)");
    return nullptr;
  }
  return engine->self = new Public<ICudaEngine>(engine, "VCudaEngine");
}

ICudaEngine* Runtime::deserializeCudaEngine(void const* blob, std::size_t size) noexcept {
  METHOD("VRuntime.deserializeCudaEngine");
  if (fail_) return logError(logger, "IRuntime::deserializeCudaEngine: told to fail"), nullptr;
  return load(std::string(static_cast<const char*>(blob), blob ? size : 0));
}

ICudaEngine* Runtime::deserializeCudaEngineV2(IStreamReaderV2& reader) noexcept {
  METHOD("VRuntime.deserializeCudaEngineV2");
  if (fail_) return logError(logger, "IRuntime::deserializeCudaEngine: told to fail"), nullptr;
  if (std::strcmp(reader.getInterfaceInfo().kind, "IStreamReaderV2")) misused("wrongInterface");
  // As the real one: the header first, then back to the start; some of it straight into device memory.
  std::string plan(32, '\0');
  if (reader.read(plan.data(), 32, nullptr) != 32 || !reader.seek(0, SeekPosition::kSET)) return load("");
  std::uint64_t size = 0;
  std::memcpy(&size, &plan[16], 8);
  if (plan.compare(0, 4, "ftrt") || size < 32 || size > (1u << 30)) return load(plan);
  plan.resize(size);
  std::size_t at = 0;
  while (at < plan.size()) {
    const auto got =
        reader.read(plan.data() + at, static_cast<int64_t>(std::min<std::size_t>(plan.size() - at, 65536)), nullptr);
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  plan.resize(at);
  return load(plan);
}

Engine::Engine(std::shared_ptr<const Program> p, std::string bytes, Runtime* runtime)
    : Counted(kEngines),
      program(std::move(p)),
      plan(std::move(bytes)),
      logger(runtime->logger),
      siblings(runtime->engines),
      stripped(!program->complete()) {
  ++*siblings;
}

Engine::~Engine() {
  if (*contexts) misused("engineDestroyedBeforeContext");
  if (*refitters) misused("engineDestroyedBeforeRefitter");
  if (weights && haveContext()) driver()->free(weights);
  --*siblings;
}

const Port* Engine::port(char const* name, const char* method) {
  const Port* found = name ? program->port(name) : nullptr;
  if (!found)
    logError(logger, std::string("ICudaEngine::") + method +
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
  return fail_ ? nullptr : hostMemory(bytes(!stripped, program->refit));
}

IExecutionContext* Engine::create(bool ownMemory) {
  const auto refuse = [&](const std::string& why) -> IExecutionContext* {
    logError(logger, "ICudaEngine::createExecutionContext: Error Code 2: " + why);
    return nullptr;
  };
  if (!haveContext()) return refuse("Internal Error (no current CUDA context)");
  if (driver()->deviceError()) return refuse("Internal Error (Cuda Runtime: the device is lost)");
  unsigned long long memory = 0;
  if (ownMemory && program->memory > 0 && driver()->alloc(&memory, static_cast<std::size_t>(program->memory)))
    return refuse("OutOfMemory (Requested size was " + std::to_string(program->memory) + " bytes.)");
  return makeContext(this, memory);
}

IExecutionContext* Engine::createExecutionContext(ExecutionContextAllocationStrategy strategy) noexcept {
  METHOD("VCudaEngine.createExecutionContext");
  if (fail_) return logError(logger, "ICudaEngine::createExecutionContext: told to fail"), nullptr;
  if (static_cast<int>(strategy) < 0 || static_cast<int>(strategy) > 2)
    return logError(logger, "ICudaEngine::createExecutionContext: Error Code 3: API Usage Error (invalid strategy)"),
           nullptr;
  return create(strategy != ExecutionContextAllocationStrategy::kUSER_MANAGED);
}
IExecutionContext* Engine::createExecutionContextWithoutDeviceMemory() noexcept {
  METHOD("VCudaEngine.createExecutionContextWithoutDeviceMemory");
  return fail_ ? nullptr : create(false);
}

struct RuntimeConfig final : apiv::VRuntimeConfig {
  ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC;
  void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy s) noexcept { strategy = s; }
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() noexcept { return strategy; }
};
IRuntimeConfig* Engine::createRuntimeConfig() noexcept {
  METHOD("VCudaEngine.createRuntimeConfig");
  return fail_ ? nullptr : new Public<IRuntimeConfig>(new RuntimeConfig, "VRuntimeConfig");
}
IExecutionContext* Engine::createExecutionContextWithRuntimeConfig(IRuntimeConfig* config) noexcept {
  METHOD("VCudaEngine.createExecutionContextWithRuntimeConfig");
  if (fail_ || !config) return nullptr;
  return create(implementation<IRuntimeConfig, RuntimeConfig>(config)->strategy !=
                ExecutionContextAllocationStrategy::kUSER_MANAGED);
}

std::size_t Engine::getDeviceMemorySize() noexcept { return static_cast<std::size_t>(program->memory); }
std::size_t Engine::getDeviceMemorySizeForProfile(int32_t) noexcept {
  return static_cast<std::size_t>(program->memory);
}
int64_t Engine::getDeviceMemorySizeV2() noexcept {
  METHOD("VCudaEngine.getDeviceMemorySizeV2");
  return program->memory;
}
int64_t Engine::getDeviceMemorySizeForProfileV2(int32_t) noexcept {
  METHOD("VCudaEngine.getDeviceMemorySizeForProfileV2");
  return program->memory;
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

FAKE_API void* createInferRuntime_INTERNAL(void* logger, int version) noexcept {
  METHOD("createInferRuntime_INTERNAL");
  auto* l = static_cast<ILogger*>(logger);
  if (!haveDevice()) {
    logError(l,
             "createInferRuntime: Error Code 6: API Usage Error (CUDA initialization failure with error: 100. Please "
             "check your CUDA installation)");
    return reinterpret_cast<void*>(kMajor == 10 ? 0x238 : 0x228);  // what the real ones return
  }
  if (version / 10000 != kMajor)
    return logError(l, "createInferRuntime: Error Code 3: API Usage Error (the application was compiled for TensorRT " +
                           std::to_string(version) + ")"),
           nullptr;
  if (fail_) return logError(l, "createInferRuntime: told to fail"), nullptr;
  return static_cast<IRuntime*>(new Public<IRuntime>(new Runtime(l), "VRuntime"));
}
