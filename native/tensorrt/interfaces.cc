#include "interfaces.h"

#include "../base/text.h"

namespace nt::tensorrt {
namespace {

uint32_t bit(int32_t number) { return 1U << static_cast<uint32_t>(number); }

// Before 11, a network without kEXPLICIT_BATCH has an implicit batch dimension, which 10 refuses.
uint32_t networkFlags(const Library& library, bool stronglyTyped) {
  uint32_t flags = 0;
  if (library.has(Enumerator::NetworkDefinitionCreationFlag_kEXPLICIT_BATCH)) {
    flags |= bit(library.number(Enumerator::NetworkDefinitionCreationFlag_kEXPLICIT_BATCH));
  }
  if (stronglyTyped) flags |= bit(library.require(Enumerator::NetworkDefinitionCreationFlag_kSTRONGLY_TYPED));
  return flags;
}

// What one kind of layer adds. A layer has two implementations, the second in its third word: one word on, it is where
// calls look for it.
class LayerDetails : public Reference {
 public:
  explicit LayerDetails(const Layer& layer) : Reference(layer.library(), static_cast<void**>(layer.get()) + 1) {}
  template <Method... M>
  std::vector<Weights> all() const {
    return {call<M>()...};
  }
};

}  // namespace

std::string Tensor::name() const { return orEmpty(call<Method::VTensor_getName>()); }
std::string Tensor::dimensionName(int32_t dimension) const {
  return orEmpty(call<Method::VTensor_getDimensionName>(dimension));
}

std::vector<Weights> Layer::weights() const {
  const LayerDetails details(*this);
  const auto is = [&](Enumerator kind) { return type() == library().number(kind); };
  if (is(Enumerator::LayerType_kCONVOLUTION))
    return details.all<Method::VConvolutionLayer_getKernelWeights, Method::VConvolutionLayer_getBiasWeights>();
  if (is(Enumerator::LayerType_kDECONVOLUTION))
    return details.all<Method::VDeconvolutionLayer_getKernelWeights, Method::VDeconvolutionLayer_getBiasWeights>();
  if (is(Enumerator::LayerType_kSCALE))
    return details.all<Method::VScaleLayer_getShift, Method::VScaleLayer_getScale, Method::VScaleLayer_getPower>();
  if (is(Enumerator::LayerType_kCONSTANT)) return details.all<Method::VConstantLayer_getWeights>();
  return {};
}

std::string NetworkDefinition::name() const { return orEmpty(call<Method::VNetworkDefinition_getName>()); }
std::string Layer::name() const { return orEmpty(call<Method::VLayer_getName>()); }

bool OptimizationProfile::setValues(const std::string& input, Enumerator selector, const std::vector<int64_t>& values) {
  const auto count = static_cast<int32_t>(values.size());
  if (library().has(Method::VOptimizationProfile_setShapeValuesV2)) {
    return call<Method::VOptimizationProfile_setShapeValuesV2>(input.c_str(), library().number(selector), values.data(),
                                                               count);
  }
  std::vector<int32_t> narrow;
  for (const int64_t value : values) {  // before 10.11 the values have 32 bits
    if (value < INT32_MIN || value > INT32_MAX) library().require(Method::VOptimizationProfile_setShapeValuesV2);
    narrow.push_back(static_cast<int32_t>(value));
  }
  return call<Method::VOptimizationProfile_setShapeValues>(input.c_str(), library().number(selector), narrow.data(),
                                                           count);
}

void BuilderConfig::setPluginsToSerialize(const std::vector<std::string>& paths) {
  std::vector<const char*> pointers;
  for (const std::string& path : paths) pointers.push_back(path.c_str());
  call<Method::VBuilderConfig_setPluginsToSerialize>(pointers.data(), static_cast<int32_t>(pointers.size()));
}

std::vector<std::string> BuilderConfig::pluginsToSerialize() const {
  std::vector<std::string> paths;
  const int32_t count = call<Method::VBuilderConfig_getNbPluginsToSerialize>();
  for (int32_t i = 0; i < count; ++i) paths.emplace_back(orEmpty(call<Method::VBuilderConfig_getPluginToSerialize>(i)));
  return paths;
}

bool BuilderConfig::setComputeCapabilities(const std::vector<int32_t>& capabilities) {
  const auto count = static_cast<int32_t>(capabilities.size());
  bool set = call<Method::VBuilderConfig_setNbComputeCapabilities>(count);
  for (int32_t i = 0; set && i < count; ++i) {
    set = call<Method::VBuilderConfig_setComputeCapability>(capabilities[static_cast<std::size_t>(i)], i);
  }
  return set;
}

std::vector<int32_t> BuilderConfig::computeCapabilities() const {
  std::vector<int32_t> capabilities;
  const int32_t count = call<Method::VBuilderConfig_getNbComputeCapabilities>();
  for (int32_t i = 0; i < count; ++i) capabilities.push_back(call<Method::VBuilderConfig_getComputeCapability>(i));
  return capabilities;
}

std::unique_ptr<NetworkDefinition> Builder::createNetwork(bool stronglyTyped) {
  void* object = call<Method::VBuilder_createNetworkV2>(networkFlags(library(), stronglyTyped));
  if (object == nullptr) throw Error("ERR_TRT_BUILD", library().name() + " could not create a network");
  return std::make_unique<NetworkDefinition>(library(), object);
}

std::unique_ptr<BuilderConfig> Builder::createConfig() {
  void* object = call<Method::VBuilder_createBuilderConfig>();
  if (object == nullptr) throw Error("ERR_TRT_BUILD", library().name() + " could not create a builder configuration");
  return std::make_unique<BuilderConfig>(library(), object);
}

std::unique_ptr<HostMemory> Builder::buildSerializedNetwork(NetworkDefinition& network, BuilderConfig& config) {
  void* object = call<Method::VBuilder_buildSerializedNetwork>(network.get(), config.get());
  return object == nullptr ? nullptr : std::make_unique<HostMemory>(library(), object);
}

std::unique_ptr<TimingCache> BuilderConfig::createTimingCache(const void* data, std::size_t size) {
  void* object = call<Method::VBuilderConfig_createTimingCache>(data, size);
  return object == nullptr ? nullptr : std::make_unique<TimingCache>(library(), object);
}

std::unique_ptr<HostMemory> TimingCache::serialize() const {
  void* object = call<Method::VTimingCache_serialize>();
  return object == nullptr ? nullptr : std::make_unique<HostMemory>(library(), object);
}

std::unique_ptr<HostMemory> RuntimeCache::serialize() const {
  void* object = call<Method::VRuntimeCache_serialize>();
  return object == nullptr ? nullptr : std::make_unique<HostMemory>(library(), object);
}

std::string ParserError::description() const { return orEmpty(call<Method::IParserError_desc>()); }
std::string ParserError::nodeName() const { return orEmpty(call<Method::IParserError_nodeName>()); }
std::string ParserError::nodeOperator() const { return orEmpty(call<Method::IParserError_nodeOperator>()); }

Parser::Parser(NetworkDefinition& network)
    : Reference(network.library(), network.library().parser().create(network.get(), network.library().logger(),
                                                                     network.library().parser().version)) {
  if (get() == nullptr) throw Error("ERR_TRT_BUILD", library().name() + " could not create an ONNX parser");
}

Parser::~Parser() { call<Method::IParser_destroy>(); }

std::string CudaEngine::name() const { return orEmpty(call<Method::VCudaEngine_getName>()); }

std::vector<int64_t> CudaEngine::profileValues(const char* tensor, int32_t profile, Enumerator selector,
                                               std::size_t count) const {
  const auto copy = [&](const auto* values) {
    return values == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(values, values + count);
  };
  const int32_t which = library().number(selector);
  if (library().has(Method::VCudaEngine_getProfileTensorValuesV2))
    return copy(call<Method::VCudaEngine_getProfileTensorValuesV2>(tensor, profile, which));
  return copy(call<Method::VCudaEngine_getProfileTensorValues>(tensor, profile, which));
}

std::string EngineInspector::information() const {
  return orEmpty(
      call<Method::VEngineInspector_getEngineInformation>(library().number(Enumerator::LayerInformationFormat_kJSON)));
}

std::string CudaEngine::aliasedInput(const char* output) const {
  if (!library().has(Method::VCudaEngine_getAliasedInputTensor)) return "";
  return orEmpty(call<Method::VCudaEngine_getAliasedInputTensor>(output));
}

std::string CudaEngine::formatDescription(const char* tensor, int32_t profile) const {
  return orEmpty(call<Method::VCudaEngine_getTensorFormatDescV2>(tensor, profile));
}

}  // namespace nt::tensorrt
