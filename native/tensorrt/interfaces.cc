#include "interfaces.h"

#include "../base/text.h"

namespace nt::tensorrt {
namespace {

// Before 11, a network without this flag has an implicit batch dimension, which 10 refuses.
uint32_t networkFlags(Family family) {
  const int32_t explicitBatch = enumNumber(Enumerator::NetworkDefinitionCreationFlag_kEXPLICIT_BATCH, family);
  return explicitBatch < 0 ? 0 : 1U << static_cast<uint32_t>(explicitBatch);
}

}  // namespace

std::string Tensor::name() const { return orEmpty(call<Method::VTensor_getName>()); }

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

std::string CudaEngine::formatDescription(const char* tensor, int32_t profile) const {
  return orEmpty(call<Method::VCudaEngine_getTensorFormatDescV2>(tensor, profile));
}

}  // namespace nt::tensorrt
