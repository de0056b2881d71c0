#include "formats.h"

#include <algorithm>

#include "../base/text.h"

namespace nt::building {
namespace {

using tensorrt::Enumerator;
using tensorrt::Library;
using tensorrt::NetworkDefinition;
using tensorrt::Tensor;

struct FormatRow {
  const char* name;
  Enumerator format;
};
constexpr FormatRow kFormats[] = {
    {"chw", Enumerator::TensorFormat_kLINEAR},   {"chw2", Enumerator::TensorFormat_kCHW2},
    {"chw4", Enumerator::TensorFormat_kCHW4},    {"chw16", Enumerator::TensorFormat_kCHW16},
    {"chw32", Enumerator::TensorFormat_kCHW32},  {"hwc", Enumerator::TensorFormat_kHWC},
    {"hwc8", Enumerator::TensorFormat_kHWC8},    {"hwc16", Enumerator::TensorFormat_kHWC16},
    {"dhwc", Enumerator::TensorFormat_kDHWC},    {"dhwc8", Enumerator::TensorFormat_kDHWC8},
    {"cdhw32", Enumerator::TensorFormat_kCDHW32}};

uint32_t formatBits(const Library& library, const Names& formats) {
  uint32_t bits = 0;
  for (const FormatRow& row : kFormats) {
    if (std::ranges::find(formats, row.name) != formats.end()) bits |= 1U << library.require(row.format);
  }
  return bits;
}

Names namesOf(const Library& library, uint32_t bits) {
  Names names;
  for (const FormatRow& row : kFormats) {
    if ((bits >> library.number(row.format) & 1) != 0) names.emplace_back(row.name);
  }
  return names;
}

std::vector<Tensor> tensorsOf(const NetworkDefinition& network, bool inputs) {
  std::vector<Tensor> tensors;
  const int32_t count = inputs ? network.inputs() : network.outputs();
  for (int32_t i = 0; i < count; ++i) tensors.push_back(inputs ? network.input(i) : network.output(i));
  return tensors;
}

Tensor tensorNamed(const std::vector<Tensor>& tensors, const std::string& name, bool input) {
  const auto found = std::ranges::find_if(tensors, [&](const Tensor& tensor) { return tensor.name() == name; });
  if (found != tensors.end()) return *found;
  Names names;
  for (const Tensor& tensor : tensors) names.push_back(quoted(tensor.name()));
  const std::string kind = input ? "input" : "output";
  throw Error(input ? "ERR_TRT_UNKNOWN_INPUT" : "ERR_TRT_INVALID_ARGUMENT",
              "The model has no " + kind + " '" + name + "' to give formats for; it has " + join(names));
}

void setType(Tensor& tensor, const std::string& wanted, bool stronglyTyped) {
  const std::string present = tensor.typeName();
  if (present == wanted) return;
  const std::string what =
      "Tensor '" + tensor.name() + "' is " + present + " in the model and cannot be made " + wanted;
  try {
    tensor.library().require(tensorrt::Method::VTensor_setType);
  } catch (const Error& error) {
    throw Error(error.code(), what + ": " + error.what());
  }
  if (stronglyTyped) throw Error("ERR_TRT_DTYPE", what + " in a strongly typed network: convert the ONNX model");
  tensor.setType(tensor.library().requireType(wanted));
  if (tensor.typeName() != wanted) throw Error("ERR_TRT_DTYPE", what + ": " + tensor.library().name() + " refused");
}

void setFormats(Tensor& tensor, const Names& formats) {
  const uint32_t wanted = formatBits(tensor.library(), formats);
  tensor.setAllowedFormats(wanted);
  if (tensor.allowedFormats() == wanted) return;
  throw Error("ERR_TRT_UNSUPPORTED", tensor.library().name() + " does not take " + join(formats) + " for '" +
                                         tensor.name() + "' and stays with " +
                                         join(namesOf(tensor.library(), tensor.allowedFormats())));
}

void applyTo(const std::vector<Tensor>& tensors, const std::vector<TensorFormat>& wanted, bool input, bool strong) {
  for (const TensorFormat& each : wanted) {
    Tensor tensor = tensorNamed(tensors, each.name, input);
    if (!each.dtype.empty()) setType(tensor, each.dtype, strong);
    if (!each.formats.empty()) setFormats(tensor, each.formats);
  }
}

std::vector<TensorFormat> read(const std::vector<Tensor>& tensors, const std::vector<TensorFormat>& wanted,
                               bool input) {
  std::vector<TensorFormat> found;
  for (const TensorFormat& each : wanted) {
    const Tensor tensor = tensorNamed(tensors, each.name, input);
    found.push_back({each.name, tensor.typeName(), namesOf(tensor.library(), tensor.allowedFormats())});
  }
  return found;
}

}  // namespace

void applyFormats(const NetworkDefinition& network, const Options& options, bool stronglyTyped) {
  applyTo(tensorsOf(network, true), options.inputFormats, true, stronglyTyped);
  applyTo(tensorsOf(network, false), options.outputFormats, false, stronglyTyped);
}

void readFormats(const NetworkDefinition& network, const Options& options, Options& settings) {
  settings.inputFormats = read(tensorsOf(network, true), options.inputFormats, true);
  settings.outputFormats = read(tensorsOf(network, false), options.outputFormats, false);
}

}  // namespace nt::building
