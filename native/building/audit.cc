#include "audit.h"

#include <set>

#include "../base/text.h"

namespace nt::building {
namespace {

using tensorrt::Enumerator;
using tensorrt::Layer;

// "matrix_multiply": the enumerator's name, so that the documentation's word finds it
std::string kindName(const Layer& layer) {
  const auto name = tensorrt::enumName("LayerType", layer.type(), layer.library().family());
  return lowercase(name.empty() ? "unknown" : name);
}

std::string outputType(const Layer& layer) {
  return layer.outputs() == 0 ? "none" : layer.library().dtypeText(layer.outputType(0));
}

std::string inputType(const Layer& layer) {
  const auto input = layer.input(0);
  return input ? input->typeName() : "unknown";
}

std::size_t byteSize(const tensorrt::Weights& weights, const tensorrt::Library& library) {
  const auto dtype = library.dtypeOf(weights.type);
  return dtype ? nt::byteSize(*dtype, {weights.count}) : 0;
}

TensorFacts factsOf(const tensorrt::Tensor& tensor) {
  TensorFacts facts{tensor.name(), tensor.typeName(), tensor.dimensions().vector(), {}};
  for (std::size_t i = 0; i < facts.shape.size(); ++i)
    facts.dimensionNames.push_back(tensor.dimensionName(static_cast<int32_t>(i)));
  return facts;
}

}  // namespace

NetworkAudit audit(const tensorrt::NetworkDefinition& network) {
  NetworkAudit audit;
  std::set<const void*> counted;
  audit.layers = network.layers();
  for (int32_t i = 0; i < audit.layers; ++i) {
    const Layer layer = network.layer(i);
    const int32_t kind = layer.type();
    ++audit.kinds[kindName(layer)];
    ++audit.types[outputType(layer)];
    const auto is = [&](Enumerator which) { return kind == network.library().number(which); };
    if (is(Enumerator::LayerType_kQUANTIZE) || is(Enumerator::LayerType_kDYNAMIC_QUANTIZE))
      ++audit.quantize[outputType(layer)];
    if (is(Enumerator::LayerType_kDEQUANTIZE)) ++audit.dequantize[inputType(layer)];
    for (const tensorrt::Weights& weights : layer.weights()) {
      if (weights.count > 0 && counted.insert(weights.values).second)
        audit.weightBytes += byteSize(weights, network.library());
    }
  }
  for (int32_t i = 0; i < network.inputs(); ++i) audit.inputs.push_back(factsOf(network.input(i)));
  for (int32_t i = 0; i < network.outputs(); ++i) audit.outputs.push_back(factsOf(network.output(i)));
  return audit;
}

}  // namespace nt::building
