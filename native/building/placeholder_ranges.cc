#include "placeholder_ranges.h"

namespace nt::building {
namespace {

using tensorrt::Enumerator;
using tensorrt::Layer;
using tensorrt::NetworkDefinition;
using tensorrt::Tensor;

constexpr const char* kMark = " (placeholder ranges of node-tensorrt)";
// trtexec's
constexpr float kInputRange = 2.0F;
constexpr float kOutputRange = 4.0F;

bool isKind(const Layer& layer, Enumerator kind) { return layer.type() == layer.library().number(kind); }

void setTensorRange(std::optional<Tensor> tensor, float range) {
  // of a tensor between two layers the first one decides; inputs that are optional may be absent
  if (!tensor || tensor->hasDynamicRange()) return;
  if (!tensor->setDynamicRange(range)) {
    throw Error("ERR_TRT_PRECISION", "Option placeholderRanges: " + tensor->library().name() +
                                         " takes no range for tensor '" + tensor->name() + "'");
  }
}

void setRanges(const Layer& layer) {
  // a concatenation and a pooling have one range on both sides: else TensorRT would quantize there once more
  const float in = isKind(layer, Enumerator::LayerType_kCONCATENATION) ? kOutputRange : kInputRange;
  const float out = isKind(layer, Enumerator::LayerType_kPOOLING) ? kInputRange : kOutputRange;
  for (int32_t i = 0; i < layer.inputs(); ++i) setTensorRange(layer.input(i), in);
  for (int32_t i = 0; i < layer.outputs(); ++i) setTensorRange(layer.output(i), out);
}

bool quantizes(const Layer& layer) {
  return isKind(layer, Enumerator::LayerType_kQUANTIZE) || isKind(layer, Enumerator::LayerType_kDEQUANTIZE);
}

}  // namespace

bool wantsPlaceholderRanges(const Options& options) {
  const bool* given = options.find<bool>("placeholderRanges");
  return given != nullptr && *given;
}

void requirePlaceholderRanges(const tensorrt::Library& library, const Options& options) {
  if (!wantsPlaceholderRanges(options) || library.has(tensorrt::Method::VTensor_setDynamicRange)) return;
  throw Error("ERR_TRT_UNSUPPORTED",
              "Option placeholderRanges: ranges of tensors need TensorRT 10; this is " + library.name() +
                  ". Put QuantizeLinear and DequantizeLinear into the ONNX model, as quantize() and `trt quantize` do",
              {{"option", "placeholderRanges"}});
}

void applyPlaceholderRanges(NetworkDefinition& network, const Options& options, Options& settings) {
  if (!wantsPlaceholderRanges(options)) return;
  for (int32_t i = 0; i < network.layers(); ++i) {
    const Layer layer = network.layer(i);
    if (quantizes(layer)) {
      throw Error("ERR_TRT_PRECISION",
                  "Option placeholderRanges: the model has ranges of its own, in quantizing layer '" + layer.name() +
                      "': build it without",
                  {{"option", "placeholderRanges"}});
    }
  }
  for (int32_t i = 0; i < network.layers(); ++i) setRanges(network.layer(i));
  network.setName(network.name() + kMark);
  settings.values.emplace_back("placeholderRanges", true);
}

bool hasPlaceholderRanges(const tensorrt::CudaEngine& engine) { return engine.name().ends_with(kMark); }

}  // namespace nt::building
