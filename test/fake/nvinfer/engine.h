// The run-time half: runtime, engine, host memory, inspector.
#pragma once
#include "common.h"
#include "memory.h"
#include "plugins.h"
#include "program.h"

namespace fake {

Dims toDims(const Shape& shape);
Shape fromDims(const Dims& dims);

struct Jit;

struct HostMemory final : apiv::VHostMemory, Counted {
  std::string bytes;
  explicit HostMemory(std::string content) : Counted(kHostMemories), bytes(std::move(content)) {}
  void* data() noexcept { return bytes.data(); }
  std::size_t size() noexcept { return bytes.size(); }
  DataType type() noexcept { return DataType::kINT8; }
};
inline IHostMemory* hostMemory(std::string content) {
  return new Public<IHostMemory>(new HostMemory(std::move(content)), "VHostMemory");
}

struct Runtime final : apiv::VRuntime, Counted {
  const Journal journal;
  PluginRegistry registry;
  IGpuAllocator* allocator = nullptr;
  std::shared_ptr<std::atomic<int>> engines = std::make_shared<std::atomic<int>>(0);
  int threads = 1;
  std::uint32_t tempfiles = 3;
  bool hostCode = false;
  std::string temporary = "/tmp";
  explicit Runtime(ILogger* l) : Counted(kRuntimes), journal{l}, registry(journal) {}
  ~Runtime();
  ICudaEngine* load(const std::string& plan);
  std::string lacks(const Program& program) const;

  ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size) noexcept;
  ICudaEngine* deserializeCudaEngine(IStreamReader& reader) noexcept;
  ICudaEngine* deserializeCudaEngineV2(IStreamReaderV2& reader) noexcept;
  void setGpuAllocator(IGpuAllocator* a) noexcept;
  void setErrorRecorder(IErrorRecorder* r) noexcept;
  IErrorRecorder* getErrorRecorder() noexcept { return *journal.recorder; }
  ILogger* getLogger() noexcept { return journal.logger; }
  IPluginRegistry& getPluginRegistry() noexcept;
  bool setMaxThreads(int32_t n) noexcept { return n > 0 ? (threads = n, true) : false; }
  int32_t getMaxThreads() noexcept { return threads; }
  void setTemporaryDirectory(char const* path) noexcept;
  char const* getTemporaryDirectory() noexcept { return temporary.c_str(); }
  void setTempfileControlFlags(TempfileControlFlags f) noexcept { tempfiles = f; }
  TempfileControlFlags getTempfileControlFlags() noexcept { return tempfiles; }
  void setEngineHostCodeAllowed(bool allowed) noexcept;
  bool getEngineHostCodeAllowed() noexcept { return hostCode; }
  int32_t getNbDLACores() noexcept { return 0; }
};

// Methods that one of the families lacks are ordinary functions there; that all which the family has are defined is
// checked by the abstract base, so nothing says `override`.
struct Engine final : apiv::VCudaEngine, Counted {
  std::shared_ptr<const Program> program;
  std::string plan;
  const Journal journal;
  IErrorRecorder* recorder = nullptr;
  ICudaEngine* self = nullptr;
  IGpuAllocator* const allocator;
  Memory weights;
  std::shared_ptr<std::atomic<int>> siblings, contexts = std::make_shared<std::atomic<int>>(0),
                                              configs = std::make_shared<std::atomic<int>>(0);
  std::map<std::string, std::vector<std::int32_t>> narrow;  // profile values as int32
  std::mutex narrowMutex;
  std::int64_t streamingBudget = 0;
  const bool stripped;  // its plan has no weights
  const std::int64_t strippedBytes;
  std::shared_ptr<std::atomic<int>> refitters = std::make_shared<std::atomic<int>>(0);

  Engine(std::shared_ptr<const Program> p, std::string bytes, Runtime* runtime);
  ~Engine();
  const Port* port(char const* name, const char* method);
  std::string bytes(bool weights, bool refit) const;
  IExecutionContext* create(bool ownMemory, std::shared_ptr<Jit> jit = nullptr);
  const Range* values(char const* name, int32_t profile);

  void setErrorRecorder(IErrorRecorder* r) noexcept { recorder = r; }
  IErrorRecorder* getErrorRecorder() noexcept { return recorder; }
  int32_t getNbLayers() noexcept;
  IHostMemory* serialize() noexcept;
  ISerializationConfig* createSerializationConfig() noexcept;
  IHostMemory* serializeWithConfig(ISerializationConfig& config) noexcept;
  IExecutionContext* createExecutionContext(ExecutionContextAllocationStrategy strategy) noexcept;
  IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept;
  IExecutionContext* createExecutionContextWithRuntimeConfig(IRuntimeConfig* config) noexcept;
  IRuntimeConfig* createRuntimeConfig() noexcept;
  std::size_t getDeviceMemorySize() noexcept;
  std::size_t getDeviceMemorySizeForProfile(int32_t profile) noexcept;
  int64_t getDeviceMemorySizeV2() noexcept;
  int64_t getDeviceMemorySizeForProfileV2(int32_t profile) noexcept;
  bool isRefittable() noexcept;
  int64_t getEngineStat(EngineStat stat) noexcept;
  char const* getName() noexcept;
  int32_t getNbOptimizationProfiles() noexcept;
  int32_t const* getProfileTensorValues(char const* name, int32_t profile, OptProfileSelector select) noexcept;
  int64_t const* getProfileTensorValuesV2(char const* name, int32_t profile, OptProfileSelector select) noexcept;
  EngineCapability getEngineCapability() noexcept { return EngineCapability::kSTANDARD; }
  bool hasImplicitBatchDimension() noexcept { return false; }
  TacticSources getTacticSources() noexcept { return 0; }
  ProfilingVerbosity getProfilingVerbosity() noexcept;
  IEngineInspector* createEngineInspector() noexcept;
  Dims getTensorShape(char const* name) noexcept;
  DataType getTensorDataType(char const* name) noexcept;
  TensorLocation getTensorLocation(char const* name) noexcept;
  bool isShapeInferenceIO(char const* name) noexcept;
  TensorIOMode getTensorIOMode(char const* name) noexcept;
  int32_t getTensorBytesPerComponent(char const* name) noexcept;
  int32_t getTensorComponentsPerElement(char const* name) noexcept;
  TensorFormat getTensorFormat(char const* name) noexcept;
  char const* getTensorFormatDesc(char const* name) noexcept;
  int32_t getTensorVectorizedDim(char const* name) noexcept;
  int32_t getTensorBytesPerComponentV2(char const* name, int32_t) noexcept;
  int32_t getTensorComponentsPerElementV2(char const* name, int32_t) noexcept;
  TensorFormat getTensorFormatV2(char const* name, int32_t) noexcept;
  char const* getTensorFormatDescV2(char const* name, int32_t) noexcept;
  int32_t getTensorVectorizedDimV2(char const* name, int32_t) noexcept;
  Dims getProfileShape(char const* name, int32_t profile, OptProfileSelector select) noexcept;
  int32_t getNbIOTensors() noexcept;
  char const* getIOTensorName(int32_t index) noexcept;
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() noexcept { return HardwareCompatibilityLevel::kNONE; }
  int32_t getNbAuxStreams() noexcept;
  int64_t getStreamableWeightsSize() noexcept { return program->weights; }
  bool setWeightStreamingBudgetV2(int64_t budget) noexcept { return streamingBudget = budget, true; }
  int64_t getWeightStreamingBudgetV2() noexcept { return streamingBudget; }
  int64_t getWeightStreamingAutomaticBudget() noexcept { return program->weights; }
  int64_t getWeightStreamingScratchMemorySize() noexcept { return 0; }
  bool isDebugTensor(char const*) noexcept { return false; }
  char const* getAliasedInputTensor(char const* name) noexcept;
};

IExecutionContext* makeContext(Engine* engine, std::unique_ptr<Memory> memory, std::unique_ptr<Memory> persistent,
                               std::shared_ptr<Jit> jit);
IEngineInspector* makeInspector(std::shared_ptr<const Program> program);

}  // namespace fake
