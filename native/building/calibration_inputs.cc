#include "calibration_inputs.h"

#include <algorithm>

#include "../base/text.h"

namespace nt::building {
namespace {

// Index inputs keep their type; whatever else an input is, it is fed as float32.
DType calibrationType(const tensorrt::Tensor& tensor) {
  const auto type = tensor.dtype();
  const bool keeps = type == DType::int32 || type == DType::int64 || type == DType::boolean;
  return keeps ? *type : DType::float32;
}

bool allows(const std::vector<int64_t>& wanted, const std::vector<int64_t>& shape) {
  return std::ranges::equal(wanted, shape, [](int64_t want, int64_t is) { return want < 0 ? is > 0 : want == is; });
}

std::string batchName(int64_t n) { return "batch " + std::to_string(n) + " of the calibrator"; }

}  // namespace

CalibrationInputs::CalibrationInputs(const tensorrt::NetworkDefinition& network) {
  for (int32_t i = 0; i < network.inputs(); ++i) {
    const tensorrt::Tensor tensor = network.input(i);
    if (tensor.isShapeTensor()) {
      throw Error("ERR_TRT_UNSUPPORTED",
                  "The values of input '" + tensor.name() +
                      "' decide shapes, with which a calibrator does not go: put "
                      "QuantizeLinear and DequantizeLinear into the ONNX model, as quantize() does");
    }
    const std::vector<int64_t> shape = tensor.dimensions().vector();
    inputs_.push_back({tensor.name(), calibrationType(tensor), shape, nt::isDynamic(shape)});
  }
}

bool CalibrationInputs::isDynamic() const noexcept { return std::ranges::any_of(inputs_, &Input::dynamic); }

void CalibrationInputs::fix(const std::string& name, const std::vector<int64_t>& shape, const std::string& where) {
  const auto input = std::ranges::find(inputs_, name, &Input::name);
  if (input == inputs_.end()) return;
  if (!allows(input->shape, shape)) {
    throw Error("ERR_TRT_SHAPE", "Expected shape " + shapeText(input->shape) + " for input '" + name + "' in " + where +
                                     " but received " + shapeText(shape));
  }
  input->shape = shape;
}

void CalibrationInputs::accept(Input& input, const CalibrationTensor& tensor, const std::string& where) {
  if (tensor.type != input.type) {
    throw Error("ERR_TRT_DTYPE", "Expected " + std::string(dtypeName(input.type)) + " for input '" + input.name +
                                     "' in " + where + " but received " + dtypeName(tensor.type));
  }
  fix(input.name, tensor.shape, where);
  if (tensor.bytes.size() != byteSize(tensor.type, tensor.shape)) {
    throw Error("ERR_TRT_SHAPE", "Expected as many bytes for input '" + input.name + "' in " + where +
                                     " as its shape has but received " + std::to_string(tensor.bytes.size()));
  }
}

void CalibrationInputs::check(CalibrationBatch& batch, int64_t n) {
  const std::string where = batchName(n);
  for (const CalibrationTensor& tensor : batch) {
    if (std::ranges::find(inputs_, tensor.name, &Input::name) != inputs_.end()) continue;
    std::vector<std::string> names;
    for (const Input& input : inputs_) names.push_back(quoted(input.name));
    throw Error("ERR_TRT_UNKNOWN_INPUT",
                "The model has no input '" + tensor.name + "', which is in " + where + "; it has " + join(names));
  }
  CalibrationBatch ordered;
  for (Input& input : inputs_) {
    const auto found = std::ranges::find(batch, input.name, &CalibrationTensor::name);
    if (found == batch.end())
      throw Error("ERR_TRT_MISSING_INPUT", "Expected input '" + input.name + "' in " + where + ", which lacks it");
    accept(input, *found, where);
    ordered.push_back(std::move(*found));
  }
  batch = std::move(ordered);
}

}  // namespace nt::building
