// One thin class per interface of TensorRT. An object keeps alive what it came from: a context its engine, an engine
// its runtime. Methods do what TensorRT's of the same name do; a failure that TensorRT reports by null or false is
// turned into an Error by the caller, who knows what it was about.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "library.h"

namespace nt::tensorrt {

// A public object of the library that somebody else owns.
class Reference {
 public:
  Reference(const Library& library, void* object) noexcept : library_(&library), object_(object) {}
  void* get() const noexcept { return object_; }
  const Library& library() const noexcept { return *library_; }

 protected:
  template <Method M, class... Args>
  auto call(Args... args) const {
    return library_->call<M>(object_, args...);
  }

 private:
  const Library* library_;
  void* object_;
};

// A public object that is deleted with this one, before what it came from.
class Owned : public Reference {
 public:
  Owned(const Library& library, void* object, std::shared_ptr<void> parent = nullptr) noexcept
      : Reference(library, object), parent_(std::move(parent)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Library::destroy(get()); }

 private:
  std::shared_ptr<void> parent_;
};

class HostMemory : public Owned {
 public:
  using Owned::Owned;
  void* data() const { return call<Method::VHostMemory_data>(); }
  std::size_t size() const { return call<Method::VHostMemory_size>(); }
};

class Tensor : public Reference {
 public:
  using Reference::Reference;
  std::string name() const;
  Dims dimensions() const { return call<Method::VTensor_getDimensions>(); }
  int32_t type() const { return call<Method::VTensor_getType>(); }
  std::optional<DType> dtype() const { return library().dtypeOf(type()); }
  std::string typeName() const { return library().dtypeText(type()); }
  // Empty where the model names none.
  std::string dimensionName(int32_t dimension) const;
  bool isShapeTensor() const { return call<Method::VTensor_isShapeTensor>(); }
  void setType(int32_t type) { call<Method::VTensor_setType>(type); }
  // of INT8, from -range to range
  bool setDynamicRange(float range) { return call<Method::VTensor_setDynamicRange>(-range, range); }
  bool hasDynamicRange() const { return call<Method::VTensor_dynamicRangeIsSet>(); }
  // one bit for each TensorFormat
  void setAllowedFormats(uint32_t formats) { call<Method::VTensor_setAllowedFormats>(formats); }
  uint32_t allowedFormats() const { return call<Method::VTensor_getAllowedFormats>(); }
};

class Layer : public Reference {
 public:
  using Reference::Reference;
  std::string name() const;
  int32_t type() const { return call<Method::VLayer_getType>(); }
  int32_t inputs() const { return call<Method::VLayer_getNbInputs>(); }
  int32_t outputs() const { return call<Method::VLayer_getNbOutputs>(); }
  // nothing for an optional input that is not given
  std::optional<Tensor> input(int32_t i) const { return tensor(call<Method::VLayer_getInput>(i)); }
  std::optional<Tensor> output(int32_t i) const { return tensor(call<Method::VLayer_getOutput>(i)); }
  void setPrecision(int32_t type) { call<Method::VLayer_setPrecision>(type); }
  int32_t precision() const { return call<Method::VLayer_getPrecision>(); }
  void setOutputType(int32_t i, int32_t type) { call<Method::VLayer_setOutputType>(i, type); }
  int32_t outputType(int32_t i) const { return call<Method::VLayer_getOutputType>(i); }
  // The weights that the layer itself holds: those of a convolution, a deconvolution, a scale or a constant.
  std::vector<Weights> weights() const;

 private:
  std::optional<Tensor> tensor(void* object) const {
    return object == nullptr ? std::nullopt : std::optional<Tensor>({library(), object});
  }
};

class NetworkDefinition : public Owned {
 public:
  using Owned::Owned;
  int32_t layers() const { return call<Method::VNetworkDefinition_getNbLayers>(); }
  int32_t inputs() const { return call<Method::VNetworkDefinition_getNbInputs>(); }
  int32_t outputs() const { return call<Method::VNetworkDefinition_getNbOutputs>(); }
  Tensor input(int32_t i) const { return {library(), call<Method::VNetworkDefinition_getInput>(i)}; }
  Tensor output(int32_t i) const { return {library(), call<Method::VNetworkDefinition_getOutput>(i)}; }
  Layer layer(int32_t i) const { return {library(), call<Method::VNetworkDefinition_getLayer>(i)}; }
  bool flag(Enumerator flag) const { return call<Method::VNetworkDefinition_getFlag>(library().require(flag)); }
  std::string name() const;
  // what getName() of its engines says, too
  void setName(const std::string& name) { call<Method::VNetworkDefinition_setName>(name.c_str()); }
  bool markWeightsRefittable(const std::string& name) {
    return call<Method::VNetworkDefinition_markWeightsRefittable>(name.c_str());
  }
};

class OptimizationProfile : public Reference {  // owned by the builder
 public:
  using Reference::Reference;
  bool setDimensions(const std::string& input, Enumerator selector, const Dims& dims) {
    return call<Method::VOptimizationProfile_setDimensions>(input.c_str(), library().number(selector), &dims);
  }
  // the values of a shape tensor
  bool setValues(const std::string& input, Enumerator selector, const std::vector<int64_t>& values);
  bool isValid() const { return call<Method::VOptimizationProfile_isValid>(); }
};

// What builders measured. It must outlive all builders that use it.
class TimingCache : public Owned {
 public:
  using Owned::Owned;
  // null on failure
  std::unique_ptr<HostMemory> serialize() const;
  // Takes the entries that are missing here. False where the other cache is of another TensorRT or GPU.
  bool combine(const TimingCache& other) {
    return call<Method::VTimingCache_combine>(static_cast<const void*>(other.get()), false);
  }
};

class BuilderConfig : public Owned {
 public:
  using Owned::Owned;
  int32_t addOptimizationProfile(const OptimizationProfile& profile) {
    return call<Method::VBuilderConfig_addOptimizationProfile>(static_cast<const void*>(profile.get()));
  }
  void setMemoryPoolLimit(Enumerator pool, std::size_t bytes) {
    call<Method::VBuilderConfig_setMemoryPoolLimit>(library().require(pool), bytes);
  }
  std::size_t memoryPoolLimit(Enumerator pool) const {
    return call<Method::VBuilderConfig_getMemoryPoolLimit>(library().require(pool));
  }
  void setOptimizationLevel(int32_t level) { call<Method::VBuilderConfig_setBuilderOptimizationLevel>(level); }
  int32_t optimizationLevel() const { return call<Method::VBuilderConfig_getBuilderOptimizationLevel>(); }
  void setAvgTimingIterations(int32_t count) { call<Method::VBuilderConfig_setAvgTimingIterations>(count); }
  int32_t avgTimingIterations() const { return call<Method::VBuilderConfig_getAvgTimingIterations>(); }
  void setMaxAuxStreams(int32_t count) { call<Method::VBuilderConfig_setMaxAuxStreams>(count); }
  int32_t maxAuxStreams() const { return call<Method::VBuilderConfig_getMaxAuxStreams>(); }
  void setMaxTactics(int32_t count) { call<Method::VBuilderConfig_setMaxNbTactics>(count); }
  int32_t maxTactics() const { return call<Method::VBuilderConfig_getMaxNbTactics>(); }
  void setFlag(Enumerator flag) { call<Method::VBuilderConfig_setFlag>(library().require(flag)); }
  void clearFlag(Enumerator flag) { call<Method::VBuilderConfig_clearFlag>(library().require(flag)); }
  // false where this version has no such flag
  bool flag(Enumerator flag) const {
    return library().has(flag) && call<Method::VBuilderConfig_getFlag>(library().number(flag));
  }
  void setProfilingVerbosity(int32_t level) { call<Method::VBuilderConfig_setProfilingVerbosity>(level); }
  int32_t profilingVerbosity() const { return call<Method::VBuilderConfig_getProfilingVerbosity>(); }
  void setHardwareCompatibility(int32_t level) { call<Method::VBuilderConfig_setHardwareCompatibilityLevel>(level); }
  int32_t hardwareCompatibility() const { return call<Method::VBuilderConfig_getHardwareCompatibilityLevel>(); }
  void setRuntimePlatform(int32_t platform) { call<Method::VBuilderConfig_setRuntimePlatform>(platform); }
  int32_t runtimePlatform() const { return call<Method::VBuilderConfig_getRuntimePlatform>(); }
  // one bit for each TacticSource
  bool setTacticSources(uint32_t sources) { return call<Method::VBuilderConfig_setTacticSources>(sources); }
  uint32_t tacticSources() const { return call<Method::VBuilderConfig_getTacticSources>(); }
  void setPreviewFeature(Enumerator feature, bool on) {
    call<Method::VBuilderConfig_setPreviewFeature>(library().require(feature), on);
  }
  bool previewFeature(Enumerator feature) const {
    return call<Method::VBuilderConfig_getPreviewFeature>(library().require(feature));
  }
  void setPluginsToSerialize(const std::vector<std::string>& paths);
  std::vector<std::string> pluginsToSerialize() const;
  bool setComputeCapabilities(const std::vector<int32_t>& capabilities);
  std::vector<int32_t> computeCapabilities() const;
  // From what serialize() gave, or a new one from nothing; null where the bytes are damaged.
  std::unique_ptr<TimingCache> createTimingCache(const void* data, std::size_t size);
  // False where the cache is of another TensorRT or GPU.
  bool setTimingCache(const TimingCache& cache) {
    return call<Method::VBuilderConfig_setTimingCache>(static_cast<const void*>(cache.get()), false) &&
           call<Method::VBuilderConfig_getTimingCache>() != nullptr;
  }
  // TensorRT 10 alone has calibrators. `calibrator` (see calibrator.h) must outlive the build.
  void setCalibrator(void* calibrator) { call<Method::VBuilderConfig_setInt8Calibrator>(calibrator); }
  bool setCalibrationProfile(const OptimizationProfile& profile) {
    return call<Method::VBuilderConfig_setCalibrationProfile>(static_cast<const void*>(profile.get()));
  }
  // `monitor` must outlive the build.
  void setProgressMonitor(void* monitor) { call<Method::VBuilderConfig_setProgressMonitor>(monitor); }
};

class Builder : public Owned {
 public:
  explicit Builder(const Library& library) : Owned(library, library.createBuilder()) {}
  std::unique_ptr<NetworkDefinition> createNetwork(bool stronglyTyped = false);
  std::unique_ptr<BuilderConfig> createConfig();
  OptimizationProfile createOptimizationProfile() {
    return {library(), call<Method::VBuilder_createOptimizationProfile>()};
  }
  // whether the library of plugins at the path could be loaded; it stays while the builder lives
  bool loadPlugins(const std::string& path) {
    void* registry = call<Method::VBuilder_getPluginRegistry>();
    return library().call<Method::IPluginRegistry_loadLibrary>(registry, path.c_str()) != nullptr;
  }
  // null when the build failed or was cancelled
  std::unique_ptr<HostMemory> buildSerializedNetwork(NetworkDefinition& network, BuilderConfig& config);
};

// nvonnxparser::IParserError
class ParserError : public Reference {
 public:
  using Reference::Reference;
  // nvonnxparser::ErrorCode; its numbers are the same in every family
  enum Code : int32_t {
    kModelDeserializeFailed = 3,
    kUnsupportedNode = 8,
    kUnsupportedNodeAttribute = 9,
    kUnsupportedNodeInput = 10,
    kUnsupportedNodeDatatype = 11,
    kUnsupportedNodeDynamic = 12,
    kUnsupportedNodeShape = 13,
  };
  int32_t code() const { return call<Method::IParserError_code>(); }
  std::string description() const;
  int32_t node() const { return call<Method::IParserError_node>(); }
  std::string nodeName() const;
  std::string nodeOperator() const;
};

// nvonnxparser::IParser. The network must outlive it.
class Parser : public Reference {
 public:
  explicit Parser(NetworkDefinition& network);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser();
  // `path` is where external weights are looked for; null when the model came as bytes.
  bool parse(const void* data, std::size_t size, const char* path) {
    return call<Method::IParser_parse>(data, size, path);
  }
  bool supportsOperator(const std::string& name) const { return call<Method::IParser_supportsOperator>(name.c_str()); }
  void setFlag(Enumerator flag) { call<Method::IParser_setFlag>(library().require(flag)); }
  void clearFlag(Enumerator flag) { call<Method::IParser_clearFlag>(library().require(flag)); }
  bool flag(Enumerator flag) const { return call<Method::IParser_getFlag>(library().require(flag)); }
  int32_t errors() const { return call<Method::IParser_getNbErrors>(); }
  ParserError error(int32_t i) const { return {library(), call<Method::IParser_getError>(i)}; }
};

class CudaEngine : public Owned {
 public:
  CudaEngine(const Library& library, void* object, std::shared_ptr<void> runtime)
      : Owned(library, object, std::move(runtime)) {}
  std::string name() const;
  int32_t profiles() const { return call<Method::VCudaEngine_getNbOptimizationProfiles>(); }
  // False where the plan was built with kSTRIP_PLAN alone or with kREFIT_IDENTICAL, though its weights can be set.
  bool isRefittable() const { return call<Method::VCudaEngine_isRefittable>(); }
  // Whether the plan came without its weights; nothing where this version does not tell (before 10.14).
  std::optional<bool> stripped() const {
    if (!library().has(Method::VCudaEngine_getEngineStat)) return std::nullopt;
    return call<Method::VCudaEngine_getEngineStat>(library().number(Enumerator::EngineStat_kSTRIPPED_WEIGHTS_SIZE)) > 0;
  }
  int32_t ioTensors() const { return call<Method::VCudaEngine_getNbIOTensors>(); }
  const char* ioTensorName(int32_t i) const { return call<Method::VCudaEngine_getIOTensorName>(i); }
  Dims shape(const char* tensor) const { return call<Method::VCudaEngine_getTensorShape>(tensor); }
  int32_t dataType(const char* tensor) const { return call<Method::VCudaEngine_getTensorDataType>(tensor); }
  bool isInput(const char* tensor) const {
    return call<Method::VCudaEngine_getTensorIOMode>(tensor) == library().number(Enumerator::TensorIOMode_kINPUT);
  }
  bool onHost(const char* tensor) const {
    return call<Method::VCudaEngine_getTensorLocation>(tensor) == library().number(Enumerator::TensorLocation_kHOST);
  }
  bool isLinear(const char* tensor, int32_t profile) const {
    return call<Method::VCudaEngine_getTensorFormatV2>(tensor, profile) ==
           library().number(Enumerator::TensorFormat_kLINEAR);
  }
  std::string formatDescription(const char* tensor, int32_t profile) const;
  Dims profileShape(const char* tensor, int32_t profile, Enumerator selector) const {
    return call<Method::VCudaEngine_getProfileShape>(tensor, profile, library().number(selector));
  }
  // The input in whose memory an output is to be written; empty where it has its own, or this version does not tell
  // (before 10.15).
  std::string aliasedInput(const char* output) const;
  int32_t layers() const { return call<Method::VCudaEngine_getNbLayers>(); }
  int32_t profilingVerbosity() const { return call<Method::VCudaEngine_getProfilingVerbosity>(); }
  // the inspector's object, or null
  void* createInspector() const { return call<Method::VCudaEngine_createEngineInspector>(); }
  // The values of a shape tensor that a profile was built for; empty where the library knows none.
  std::vector<int64_t> profileValues(const char* tensor, int32_t profile, Enumerator selector, std::size_t count) const;
  // bytes of scratch memory that a context takes for the largest shapes of a profile
  int64_t contextMemory(int32_t profile) const {
    if (library().has(Method::VCudaEngine_getDeviceMemorySizeForProfileV2))
      return call<Method::VCudaEngine_getDeviceMemorySizeForProfileV2>(profile);
    return static_cast<int64_t>(call<Method::VCudaEngine_getDeviceMemorySizeForProfile>(profile));
  }
  // The context's object, or null. It has no scratch memory.
  void* createContext() const {
    return call<Method::VCudaEngine_createExecutionContext>(
        library().number(Enumerator::ExecutionContextAllocationStrategy_kUSER_MANAGED));
  }
  // TensorRT-RTX alone keeps what it compiled for a context, and captures graphs itself.
  bool hasRuntimeCaches() const noexcept { return library().has(Method::VRuntimeConfig_createRuntimeCache); }
  // The objects of a configuration and of a context that it is made with, or null. The configuration outlives the
  // context.
  void* createRuntimeConfig() const { return call<Method::VCudaEngine_createRuntimeConfig>(); }
  void* createContext(const Reference& config) const {
    return call<Method::VCudaEngine_createExecutionContextWithRuntimeConfig>(config.get());
  }
};

// What TensorRT-RTX compiled for the contexts of an engine.
class RuntimeCache : public Owned {
 public:
  RuntimeCache(const std::shared_ptr<CudaEngine>& engine, void* object) : Owned(engine->library(), object, engine) {}
  // null where there is none
  std::unique_ptr<HostMemory> serialize() const;
  // False, and nothing is changed, where that is damaged, or of another version, GPU or driver.
  bool deserialize(const void* data, std::size_t size) { return call<Method::VRuntimeCache_deserialize>(data, size); }
};

// How contexts of TensorRT-RTX are made.
class RuntimeConfig : public Owned {
 public:
  RuntimeConfig(const std::shared_ptr<CudaEngine>& engine, void* object) : Owned(engine->library(), object, engine) {}
  // As CudaEngine::createContext() has it.
  void leaveOutScratch() {
    call<Method::VRuntimeConfig_setExecutionContextAllocationStrategy>(
        library().number(Enumerator::ExecutionContextAllocationStrategy_kUSER_MANAGED));
  }
  bool setGraphs(bool on) {
    return call<Method::VRuntimeConfig_setCudaGraphStrategy>(library().number(
        on ? Enumerator::CudaGraphStrategy_kWHOLE_GRAPH_CAPTURE : Enumerator::CudaGraphStrategy_kDISABLED));
  }
  // the cache's object, or null
  void* createCache() const { return call<Method::VRuntimeConfig_createRuntimeCache>(); }
  // The cache outlives whatever is made with this.
  bool setCache(const RuntimeCache& cache) {
    return call<Method::VRuntimeConfig_setRuntimeCache>(static_cast<const void*>(cache.get()));
  }
};

class ExecutionContext : public Owned {
 public:
  // `maker`: keeps what it was made with.
  ExecutionContext(const Library& library, void* object, std::shared_ptr<void> maker)
      : Owned(library, object, std::move(maker)) {}
  bool setOptimizationProfile(int32_t profile, void* stream) {
    return call<Method::VExecutionContext_setOptimizationProfileAsync>(profile, stream);
  }
  // Scratch memory, which nothing else uses while an enqueue of this context is under way.
  void setDeviceMemory(void* memory, int64_t size) {
    if (library().has(Method::VExecutionContext_setDeviceMemoryV2))
      return call<Method::VExecutionContext_setDeviceMemoryV2>(memory, size);
    call<Method::VExecutionContext_setDeviceMemory>(memory);
  }
  bool setInputShape(const char* tensor, const Dims& dims) {
    return call<Method::VExecutionContext_setInputShape>(tensor, &dims);
  }
  Dims shape(const char* tensor) const { return call<Method::VExecutionContext_getTensorShape>(tensor); }
  bool setTensorAddress(const char* tensor, void* address) {
    return call<Method::VExecutionContext_setTensorAddress>(tensor, address);
  }
  // how many inputs lack a shape or value; negative when shapes contradict each other
  int32_t inferShapes() { return call<Method::VExecutionContext_inferShapes>(0, static_cast<char const**>(nullptr)); }
  // `allocator` (see output_allocator.h) must outlive the context, or be replaced by null.
  bool setOutputAllocator(const char* tensor, void* allocator) {
    return call<Method::VExecutionContext_setOutputAllocator>(tensor, allocator);
  }
  bool enqueue(void* stream) { return call<Method::VExecutionContext_enqueueV3>(stream); }
  // `profiler` (see profiler.h) must outlive the context, or be replaced by null. From then on an enqueue waits for its
  // stream, and tells the profiler how long each layer took before it returns.
  void setProfiler(void* profiler) {
    call<Method::VExecutionContext_setEnqueueEmitsProfile>(true);
    call<Method::VExecutionContext_setProfiler>(profiler);
  }
};

class EngineInspector : public Owned {
 public:
  EngineInspector(const std::shared_ptr<CudaEngine>& engine, void* object) : Owned(engine->library(), object, engine) {}
  // With a context whose shapes are set, formats and types are told where shapes are dynamic too.
  bool setContext(const ExecutionContext& context) {
    return call<Method::VEngineInspector_setExecutionContext>(static_cast<const void*>(context.get()));
  }
  // A JSON document about all layers; empty where TensorRT gives none.
  std::string information() const;
};

}  // namespace nt::tensorrt
