#include "interfaces.h"

#include "../base/text.h"

namespace nt::tensorrt {
namespace {

// Before 11, a network without this flag has an implicit batch dimension, which 10 refuses.
uint32_t networkFlags(Family family) {
  const int32_t explicitBatch = enumNumber(Enumerator::NetworkDefinitionCreationFlag_kEXPLICIT_BATCH, family);
  return explicitBatch < 0 ? 0 : 1U << static_cast<uint32_t>(explicitBatch);
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

std::unique_ptr<NetworkDefinition> Builder::createNetwork() {
  void* object = call<Method::VBuilder_createNetworkV2>(networkFlags(library().family()));
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

std::string CudaEngine::formatDescription(const char* tensor, int32_t profile) const {
  return orEmpty(call<Method::VCudaEngine_getTensorFormatDescV2>(tensor, profile));
}

}  // namespace nt::tensorrt
