// What a session says of its model: inputs, outputs, inputs that have a value in the model, and what its exporter left
// there.
#include <algorithm>

#include "../base/text.h"
#include "../onnxruntime/dtype.h"
#include "engine.h"

namespace nt::cpu {
namespace {

using onnxruntime::Library;
using onnxruntime::OrtAllocator;
using onnxruntime::OrtSession;
using onnxruntime::OrtStatus;

// The functions that tell of one kind of tensors of a model.
struct Listing {
  OrtStatus* (*Library::*count)(const OrtSession* session, std::size_t* count);
  OrtStatus* (*Library::*type)(const OrtSession* session, std::size_t index, onnxruntime::OrtTypeInfo** info);
  OrtStatus* (*Library::*name)(const OrtSession* session, std::size_t index, OrtAllocator* allocator, char** name);
};
constexpr Listing kInputs{&Library::SessionGetInputCount, &Library::SessionGetInputTypeInfo,
                          &Library::SessionGetInputName};
constexpr Listing kOutputs{&Library::SessionGetOutputCount, &Library::SessionGetOutputTypeInfo,
                           &Library::SessionGetOutputName};
constexpr Listing kOptionals{&Library::SessionGetOverridableInitializerCount,
                             &Library::SessionGetOverridableInitializerTypeInfo,
                             &Library::SessionGetOverridableInitializerName};

// Throws ERR_TRT_ONNX_PARSE.
struct Reader {
  const Library& library;
  const OrtSession* session;
  OrtAllocator* allocator = nullptr;

  Reader(const Library& library, const OrtSession* session) : library(library), session(session) {
    check(library.GetAllocatorWithDefaultOptions(&allocator));
  }
  void check(OrtStatus* status) const {
    library.check(status, "ERR_TRT_ONNX_PARSE", "onnxruntime cannot describe the model");
  }
  // Of memory that the library gave.
  std::string takeText(char* text) const {
    std::string copy = orEmpty(text);
    check(library.AllocatorFree(allocator, text));
    return copy;
  }

  // A tensor as it is declared, or of which type it is where no tensor of ours can hold it.
  void read(const Listing& listing, std::size_t index, std::vector<IoTensor>& tensors,
            std::vector<execution::UnsupportedTensor>& others) const;
  void readAll(const Listing& listing, std::vector<IoTensor>& tensors,
               std::vector<execution::UnsupportedTensor>& others) const {
    std::size_t count = 0;
    check((library.*listing.count)(session, &count));
    for (std::size_t i = 0; i < count; ++i) read(listing, i, tensors, others);
  }
};

void Reader::read(const Listing& listing, std::size_t index, std::vector<IoTensor>& tensors,
                  std::vector<execution::UnsupportedTensor>& others) const {
  char* given = nullptr;
  check((library.*listing.name)(session, index, allocator, &given));
  std::string name = takeText(given);
  onnxruntime::OwnedTypeInfo type(library);
  check((library.*listing.type)(session, index, type.out()));
  onnxruntime::OnnxType kind = 0;
  check(library.GetOnnxTypeFromTypeInfo(type.get(), &kind));
  const onnxruntime::OrtTensorTypeAndShapeInfo* info = nullptr;  // belongs to `type`
  if (kind == onnxruntime::kTensor) check(library.CastTypeInfoToTensorInfo(type.get(), &info));
  const bool isInput = &listing == &kInputs;
  if (info == nullptr) return others.push_back({std::move(name), isInput, onnxruntime::kindName(kind)});
  int element = 0;
  check(library.GetTensorElementType(info, &element));
  const auto dtype = onnxruntime::dtypeByElement(element);
  if (!dtype) return others.push_back({std::move(name), isInput, onnxruntime::elementName(element)});
  std::size_t rank = 0;
  check(library.GetDimensionsCount(info, &rank));
  Shape shape(rank);
  check(library.GetDimensions(info, shape.data(), rank));
  std::vector<const char*> symbols(rank);
  check(library.GetSymbolicDimensions(info, symbols.data(), rank));
  std::ranges::transform(shape, shape.begin(), [](int64_t dim) { return std::max<int64_t>(dim, -1); });
  std::vector<std::string> names(symbols.begin(), symbols.end());
  tensors.push_back({std::move(name), *dtype, std::move(shape), false, "linear", {}, std::move(names), {}});
}

}  // namespace

void Engine::describe() {
  const Reader reader(library_, session());
  reader.readAll(kInputs, inputs_, unsupported_);
  reader.readAll(kOutputs, outputs_, unsupported_);
  std::vector<execution::UnsupportedTensor> constants;  // with a value that no tensor of ours could take the place of
  reader.readAll(kOptionals, optionals_, constants);
  readMetadata();
}

void Engine::readMetadata() {
  const Reader reader(library_, session());
  onnxruntime::OwnedModelMetadata metadata(library_);
  reader.check(library_.SessionGetModelMetadata(session(), metadata.out()));
  char** keys = nullptr;
  int64_t count = 0;
  reader.check(library_.ModelMetadataGetCustomMetadataMapKeys(metadata.get(), reader.allocator, &keys, &count));
  for (int64_t i = 0; i < count; ++i) {
    std::string key = reader.takeText(keys[i]);
    char* value = nullptr;
    reader.check(library_.ModelMetadataLookupCustomMetadataMap(metadata.get(), reader.allocator, key.c_str(), &value));
    metadata_.emplace_back(std::move(key), reader.takeText(value));
  }
  if (keys != nullptr) reader.check(library_.AllocatorFree(reader.allocator, keys));
  std::ranges::sort(metadata_);
}

}  // namespace nt::cpu
