// The engine inspector: documents in the form that NVIDIA describes for each family.
// https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/inference-library/engine-tools.html
// https://docs.nvidia.com/deeplearning/tensorrt/11.3.0/api/migration/tensorrt-10x-to-11x-IEngineInspector.html
#include <algorithm>

#include "engine.h"

namespace fake {
namespace {

struct Words {
  Type type;
  const char* format;  // with the type in it, as 10 has it
  const char* word;    // the type alone
};
constexpr Words kFormatWords[] = {{Type::kFloat, "Row major linear FP32", "Float"},
                                  {Type::kHalf, "Row major linear FP16 format", "Half"},
                                  {Type::kInt8, "Row major Int8 format", "Int8"},
                                  {Type::kInt32, "Row major linear Int32", "Int32"},
                                  {Type::kBool, "Row major linear BOOL", "Bool"},
                                  {Type::kUint8, "Row major linear UInt8 format", "UInt8"},
                                  {Type::kFp8, "Row major linear FP8 format", "FP8"},
                                  {Type::kBf16, "Row major linear BFloat16 format", "BFloat16"},
                                  {Type::kInt64, "Row major linear Int64 format", "Int64"},
                                  {Type::kInt4, "Unknown format", "Int4"}};

const Words& wordsOf(Type type) {
  for (const auto& row : kFormatWords)
    if (row.type == type) return row;
  return kFormatWords[0];
}

std::string field(const char* name, const std::string& text) { return quoted(name) + ": " + quoted(text); }

std::string list(const Shape& shape) {
  std::string out;
  for (const auto extent : shape) out += (out.empty() ? "" : ",") + std::to_string(extent);
  return "[" + out + "]";
}

template <typename Items, typename Print>
std::string joined(const Items& items, Print print) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + print(item);
  return out;
}

struct Inspector final : apiv::VEngineInspector, Counted {
  std::shared_ptr<const Program> program;
  std::map<std::string, Type> types;
  IExecutionContext const* context = nullptr;
  IErrorRecorder* recorder = nullptr;
  std::string text;
  explicit Inspector(std::shared_ptr<const Program> p)
      : Counted(kInspectors), program(std::move(p)), types(program->types()) {}

  // Of all tensors; -1 where no context says which they are.
  Shapes shapes() const {
    Shapes inputs, all;
    for (const auto& port : program->ports)
      if (port.input)
        inputs[port.name] = context ? fromDims(context->mImpl->getTensorShape(port.name.c_str())) : port.shape;
    inferShapes(*program, inputs, {}, &all);
    return all;
  }
  std::string tensor(const std::string& name, const Shape& shape) {
    const bool known = std::none_of(shape.begin(), shape.end(), [](auto extent) { return extent < 0; });
    const Words& row = wordsOf(types[name]);
    const char* const unknown = "N/A due to dynamic shapes";
    std::string out =
        "{" + field("Name", name) + ", " + field("Location", "Device") + ", \"Dimensions\": " + list(shape) + ", ";
#if FAMILY == 10
    return out + field("Format/Datatype", known ? row.format : unknown) + "}";
#else
    return out + field("Format", known ? "Row major linear" : unknown) + ", " +
           field("Datatype", known ? row.word : unknown) + "}";
#endif
  }
  std::string layer(const Op& op, Shapes& all) {
    if (program->verbosity != static_cast<int>(ProfilingVerbosity::kDETAILED)) return quoted(op.outputs[0]);
    const auto each = [&](const std::string& name) { return tensor(name, all[name]); };
    return "{" + field("Name", op.outputs[0]) + ", " + field("LayerType", op.type) + ", \"Inputs\": [" +
           joined(op.inputs, each) + "], \"Outputs\": [" + joined(op.outputs, each) + "], " +
           field("TacticValue", "0x0000000000000000") + "}";
  }
  std::string ports() {
#if FAMILY == 10
    return "\"Bindings\": [" + joined(program->ports, [](const Port& port) { return quoted(port.name); }) + "]";
#else
    return "\"I/O Tensors\": [" +
           joined(program->ports,
                  [](const Port& port) {
                    return "{" + field("Name", port.name) + ", " + field("IOMode", port.input ? "Input" : "Output") +
                           ", " + field("DataType", wordsOf(port.type).word) + ", \"Dimensions\": " + list(port.shape) +
                           ", " + field("Location", port.host ? "Host" : "Device") +
                           ", \"IsShapeInferenceIO\": " + (port.host ? "true" : "false") + "}";
                  }) +
           "]";
#endif
  }

  bool setExecutionContext(IExecutionContext const* c) noexcept {
    METHOD("VEngineInspector.setExecutionContext");
    return fail_ ? false : (context = c, true);
  }
  IExecutionContext const* getExecutionContext() noexcept { return context; }
  char const* getLayerInformation(int32_t index, LayerInformationFormat) noexcept {
    METHOD("VEngineInspector.getLayerInformation");
    if (index < 0 || static_cast<std::size_t>(index) >= program->ops.size()) return nullptr;
    Shapes all = shapes();
    text = layer(program->ops[static_cast<std::size_t>(index)], all);
    return text.c_str();
  }
  char const* getEngineInformation(LayerInformationFormat format) noexcept {
    METHOD("VEngineInspector.getEngineInformation");
    if (fail_) return nullptr;
    if (format != LayerInformationFormat::kJSON) return text = "not JSON", text.c_str();
    Shapes all = shapes();
    const bool any = program->verbosity != static_cast<int>(ProfilingVerbosity::kNONE);
    const auto each = [&](const Op& op) { return layer(op, all); };
    text = "{\"Layers\": [" + (any ? joined(program->ops, each) : std::string()) + "], " + ports() + "}";
    return text.c_str();
  }
  void setErrorRecorder(IErrorRecorder* r) noexcept { recorder = r; }
  IErrorRecorder* getErrorRecorder() noexcept { return recorder; }
};

}  // namespace

IEngineInspector* makeInspector(std::shared_ptr<const Program> program) {
  return new Public<IEngineInspector>(new Inspector(std::move(program)), "VEngineInspector");
}

}  // namespace fake
