#include "precision.h"

#include <algorithm>
#include <map>

#include "../base/text.h"
#include "placeholder_ranges.h"

namespace nt::building {
namespace {

using tensorrt::BuilderConfig;
using tensorrt::Enumerator;
using tensorrt::Library;
using tensorrt::NetworkDefinition;

struct PrecisionRow {
  const char* name;
  DType type;
  Enumerator flag;
  // whether it comes by QuantizeLinear and DequantizeLinear
  bool quantized;
};
constexpr PrecisionRow kPrecisions[] = {
    {"fp16", DType::float16, Enumerator::BuilderFlag_kFP16, false},
    {"bf16", DType::bfloat16, Enumerator::BuilderFlag_kBF16, false},
    {"int8", DType::int8, Enumerator::BuilderFlag_kINT8, true},
    {"fp8", DType::float8e4m3, Enumerator::BuilderFlag_kFP8, true},
    {"int4", DType::int4, Enumerator::BuilderFlag_kINT4, true},
};

Names precisionsOf(const Options& options) {
  const Names* given = options.find<Names>("precision");
  return given == nullptr ? Names() : *given;
}

bool asked(const Options& options, const char* name) {
  const Names names = precisionsOf(options);
  return std::ranges::find(names, name) != names.end();
}

// What types a network has: tensors by type, and the types that its quantizing and dequantizing layers go to and from.
struct Census {
  std::map<std::string, int> tensors;
  std::map<std::string, int> quantized;
};

bool isType(const Library& library, int32_t type, Enumerator wanted) {
  return library.has(wanted) && type == library.number(wanted);
}

void countLayer(const tensorrt::Layer& layer, Census& census) {
  const Library& library = layer.library();
  for (int32_t i = 0; i < layer.outputs(); ++i) {
    if (const auto output = layer.output(i)) ++census.tensors[output->typeName()];
  }
  const int32_t type = layer.type();
  const bool quantizes = isType(library, type, Enumerator::LayerType_kQUANTIZE) ||
                         isType(library, type, Enumerator::LayerType_kDYNAMIC_QUANTIZE);
  if (quantizes) {
    if (const auto output = layer.output(0)) ++census.quantized[output->typeName()];
  } else if (isType(library, type, Enumerator::LayerType_kDEQUANTIZE)) {
    if (const auto input = layer.input(0)) ++census.quantized[input->typeName()];
  }
}

Census censusOf(const NetworkDefinition& network) {
  Census census;
  for (int32_t i = 0; i < network.inputs(); ++i) ++census.tensors[network.input(i).typeName()];
  for (int32_t i = 0; i < network.layers(); ++i) countLayer(network.layer(i), census);
  return census;
}

bool has(const Census& census, const PrecisionRow& row) {
  return (row.quantized ? census.quantized : census.tensors).contains(dtypeName(row.type));
}

// A weakly typed network may give a quantizing layer's own type only when it is built, so that any but FP8's and
// INT4's counts as INT8's.
bool quantizesWeakly(const Census& census, const PrecisionRow& row) {
  if (row.type != DType::int8) return has(census, row);
  return std::ranges::any_of(census.quantized, [](const auto& each) {
    return each.first != dtypeName(DType::float8e4m3) && each.first != dtypeName(DType::int4) &&
           each.first != dtypeName(DType::float4e2m1);
  });
}

std::string countText(const std::map<std::string, int>& counts) {
  Names parts;
  for (const auto& [name, count] : counts) parts.push_back(std::to_string(count) + " " + name);
  return parts.empty() ? "none" : join(parts);
}

[[noreturn]] void refusePrecision(const std::string& reason, const PrecisionRow& row, const Census& census) {
  const std::string cure =
      row.quantized ? "Put QuantizeLinear and DequantizeLinear of " + std::string(row.name) + " into the ONNX model" +
                          (row.name == std::string_view("int8") ? ", as quantize() and `trt quantize` do" : "")
                    : "Convert the ONNX model's types to " + std::string(dtypeName(row.type));
  throw Error(
      "ERR_TRT_PRECISION",
      reason + " The model's tensors: " + countText(census.tensors) +
          "; its quantizing layers: " + countText(census.quantized) + ". " + cure,
      {{"precision", row.name}, {"tensors", countText(census.tensors)}, {"quantized", countText(census.quantized)}});
}

// With quantizing layers TensorRT passes over the calibrator.
void checkCalibrated(const Library& library, const Census& census) {
  if (census.quantized.empty()) return;
  throw Error("ERR_TRT_PRECISION",
              "The model has quantizing layers (" + countText(census.quantized) + "), with which " + library.name() +
                  " does not calibrate: build it without a calibrator, or give a model without QuantizeLinear and "
                  "DequantizeLinear",
              {{"precision", "int8"}, {"quantized", countText(census.quantized)}});
}

bool canBeWeak(const Library& library) { return library.has(Enumerator::BuilderFlag_kFP16); }

}  // namespace

bool isStronglyTyped(const Library& library, const Options& options) {
  const bool* given = options.find<bool>("stronglyTyped");
  if (canBeWeak(library)) return given != nullptr && *given;
  if (given != nullptr && !*given) {
    throw Error("ERR_TRT_UNSUPPORTED",
                "Option stronglyTyped: a weakly typed network needs TensorRT 10; this is " + library.name(),
                {{"option", "stronglyTyped"}});
  }
  return true;
}

void configurePrecision(BuilderConfig& config, const Options& options, bool stronglyTyped) {
  if (stronglyTyped) return;
  if (asked(options, "int8") && asked(options, "fp8")) {
    throw Error("ERR_TRT_PRECISION", "Precisions 'int8' and 'fp8' do not go together in a weakly typed network of " +
                                         config.library().name() + ": ask for one, or for stronglyTyped");
  }
  for (const PrecisionRow& row : kPrecisions) {
    if (asked(options, row.name)) config.setFlag(row.flag);
  }
}

void checkPrecision(const NetworkDefinition& network, const Options& options, bool stronglyTyped, bool calibrated) {
  if (precisionsOf(options).empty()) return;
  const Library& library = network.library();
  const Census census = censusOf(network);
  if (calibrated) checkCalibrated(library, census);
  for (const PrecisionRow& row : kPrecisions) {
    if (!asked(options, row.name)) continue;
    const std::string name = quoted(row.name);
    if (stronglyTyped) {
      if (has(census, row)) continue;
      refusePrecision(library.name() + (canBeWeak(library) ? " was told to take" : " takes") +
                          " its types from the model, which has no " + name + "." +
                          (canBeWeak(library) ? "" : " (Flags for precisions need TensorRT 10.)"),
                      row, census);
    }
    const bool ranged = (calibrated || wantsPlaceholderRanges(options)) && row.type == DType::int8;
    if (row.quantized && !ranged && !quantizesWeakly(census, row)) {
      refusePrecision("Precision " + name + " needs quantizing layers in the model" +
                          (row.type == DType::int8 ? ", or a calibrator: build(model, { calibrator })." : "."),
                      row, census);
    }
  }
}

void readPrecision(const BuilderConfig& config, const NetworkDefinition& network, bool stronglyTyped,
                   Options& settings) {
  Names names;
  const Census census = stronglyTyped ? censusOf(network) : Census();
  for (const PrecisionRow& row : kPrecisions) {
    if (stronglyTyped ? has(census, row) : config.flag(row.flag)) names.emplace_back(row.name);
  }
  settings.values.emplace_back("precision", names);
  const bool reported = network.flag(Enumerator::NetworkDefinitionCreationFlag_kSTRONGLY_TYPED);
  settings.values.emplace_back("stronglyTyped", reported || !canBeWeak(network.library()));
}

}  // namespace nt::building
