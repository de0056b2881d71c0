#include "model_check.h"

#include <limits>

#include "../base/lfs.h"
#include "../base/text.h"
#include "external_data.h"
#include "protobuf.h"

namespace nt::building {
namespace {

// The numbers of onnx.proto's fields and types, which native code has in this file only; lib/onnx has its schema.
enum class Message { model, training, graph, node, attribute, tensor, sparse, function, other };
constexpr uint64_t kExternal = 1;

// The messages that may have nodes or tensors within.
Message messageWithin(Message parent, uint32_t field) {
  switch (parent) {
    case Message::model:
      if (field == 7) return Message::graph;
      if (field == 20) return Message::training;
      return field == 25 ? Message::function : Message::other;
    case Message::training:
      return field == 1 || field == 2 ? Message::graph : Message::other;
    case Message::graph:
      if (field == 1) return Message::node;
      if (field == 5) return Message::tensor;
      return field == 15 ? Message::sparse : Message::other;
    case Message::node:
      return field == 5 ? Message::attribute : Message::other;
    case Message::attribute:
      if (field == 5 || field == 10) return Message::tensor;
      if (field == 6 || field == 11) return Message::graph;
      return field == 22 || field == 23 ? Message::sparse : Message::other;
    case Message::sparse:
      return field == 1 || field == 2 ? Message::tensor : Message::other;
    case Message::function:
      if (field == 7) return Message::node;
      return field == 11 ? Message::attribute : Message::other;
    default:
      return Message::other;
  }
}

// Bits of an element; 0 for types that have no fixed size, or that are not known here.
uint64_t elementBits(uint64_t type) {
  constexpr uint8_t kBits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                               64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
  return type < sizeof kBits ? kBits[type] : 0;
}

[[noreturn]] void refuseModel(const std::string& text, Error::Details details) {
  throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model cannot be parsed: " + text, std::move(details));
}

struct StoredTensor {
  std::string name;
  std::vector<int64_t> dims;
  uint64_t type = 0;
  uint64_t rawBytes = 0;
  uint64_t numbers = 0;  // of the lists that hold one element in each entry
  bool external = false;
  bool segmented = false;
  std::vector<std::string> files;
};

// A list of numbers, written one by one or packed.
template <class Take>
void eachNumber(Fields& field, Take take) {
  if (field.wire == 0) return take(field.value);
  if (!field.isMessage()) damaged("a number of a wrong kind");
  Fields packed = field.inner();
  while (packed.at != packed.end) take(packed.varint());
}

void readExternal(Fields entry, StoredTensor& tensor) {
  std::string key, value;
  while (entry.next()) {
    if (entry.number == 1) key = entry.text();
    if (entry.number == 2) value = entry.text();
  }
  if (key == "location") tensor.files.push_back(value);
}

StoredTensor readTensor(Fields field) {
  StoredTensor tensor;
  while (field.next()) {
    switch (field.number) {
      case 1:
        eachNumber(field, [&](uint64_t dim) { tensor.dims.push_back(static_cast<int64_t>(dim)); });
        break;
      case 2:
        tensor.type = field.value & 0xffffffff;
        break;
      case 3:
        tensor.segmented = true;
        break;
      case 4:
        tensor.numbers += field.bodySize / sizeof(float);
        break;
      case 5:
      case 7:
      case 11:
        eachNumber(field, [&](uint64_t) { ++tensor.numbers; });
        break;
      case 6:
        ++tensor.numbers;
        break;
      case 8:
        tensor.name = field.text();
        break;
      case 9:
        tensor.rawBytes = field.bodySize;
        break;
      case 10:
        tensor.numbers += field.bodySize / sizeof(double);
        break;
      case 13:
        if (field.isMessage()) readExternal(field.inner(), tensor);
        break;
      case 14:
        tensor.external = field.value == kExternal;
        break;
      default:
        break;
    }
  }
  return tensor;
}

// How many elements a shape has; false where that is no number.
bool countOf(const std::vector<int64_t>& dims, uint64_t& count) {
  count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return false;
    if (dim > 0 && count > (std::numeric_limits<uint64_t>::max() >> 8) / static_cast<uint64_t>(dim)) return false;
    count *= static_cast<uint64_t>(dim);
  }
  return true;
}

void checkTensor(const StoredTensor& tensor) {
  const uint64_t bits = elementBits(tensor.type);
  if (bits == 0 || tensor.segmented || tensor.external) return;
  uint64_t count = 0;
  const bool counted = countOf(tensor.dims, count);
  const uint64_t wanted = (count * bits + 7) / 8;
  // 4 bits and less are packed in lists in more than one way; complex numbers take two entries
  const bool inList = tensor.rawBytes == 0 && tensor.numbers > 0;
  if (inList && (bits < 8 || tensor.type == 14 || tensor.type == 15)) return;
  if (counted && (inList ? tensor.numbers == count : tensor.rawBytes == wanted)) return;
  const std::string has =
      inList ? std::to_string(tensor.numbers) + " elements" : std::to_string(tensor.rawBytes) + " bytes";
  refuseModel("the tensor '" + tensor.name + "' of shape " + shapeText(tensor.dims) + " is stored with " + has +
                  (counted ? " instead of " + std::to_string(inList ? count : wanted) : ""),
              {{"tensor", tensor.name}});
}

struct NodeFacts {
  std::string name, type, firstOutput;
  int outputs = 0;
  bool hasBlocksize = false;
  int64_t blocksize = 0;
};

void readAttribute(Fields attribute, NodeFacts& node) {
  std::string name;
  int64_t value = 0;
  while (attribute.next()) {
    if (attribute.number == 1) name = attribute.text();
    if (attribute.number == 3) value = static_cast<int64_t>(attribute.value);
  }
  if (name != "blocksize") return;
  node.hasBlocksize = true;
  node.blocksize = value;
}

NodeFacts readNode(Fields field) {
  NodeFacts node;
  while (field.next()) {
    if (field.number == 2 && node.outputs++ == 0) node.firstOutput = field.text();
    if (field.number == 3) node.name = field.text();
    if (field.number == 4) node.type = field.text();
    if (field.number == 5 && field.isMessage()) readAttribute(field.inner(), node);
  }
  return node;
}

void checkNode(const NodeFacts& node) {
  const auto fail = [&](const std::string& what) {
    refuseModel("the node '" + node.name + "' (" + node.type + ") has " + what,
                {{"node", node.name}, {"operator", node.type}});
  };
  if (node.outputs == 0) fail("no output");
  if (node.type == "TopK" && node.outputs < 2) fail("one output instead of two");
  const bool blocks = node.type == "DepthToSpace" || node.type == "SpaceToDepth";
  if (blocks && node.hasBlocksize && (node.blocksize < 1 || node.blocksize > std::numeric_limits<int32_t>::max()))
    fail("a blocksize of " + std::to_string(node.blocksize));
}

void add(StoredTensor& tensor, ModelParts& parts) {
  if (tensor.external && tensor.files.empty()) tensor.files.emplace_back();  // which is no name of a file
  parts.named.insert(tensor.files.begin(), tensor.files.end());
  if (tensor.external) parts.used.insert(tensor.files.begin(), tensor.files.end());
  parts.tensors.insert(tensor.name);
}

void check(Fields fields, Message message, ModelParts& parts) {
  if (message == Message::tensor) {
    StoredTensor tensor = readTensor(fields);
    checkTensor(tensor);
    return add(tensor, parts);
  }
  if (message == Message::node) {
    const NodeFacts node = readNode(fields);
    checkNode(node);
    if (node.type == "Constant") parts.tensors.insert(node.firstOutput);
  }
  while (fields.next()) {
    const Message within = messageWithin(message, fields.number);
    if (within != Message::other && fields.isMessage()) check(fields.inner(), within, parts);
  }
}

}  // namespace

ModelParts checkModel(ModelBytes& model, const std::string& path) {
  if (model.size() >= kLfsStart.size() && model.text(0, kLfsStart.size()) == kLfsStart)
    throw Error("ERR_TRT_FILE", "The ONNX model" + (path.empty() ? "" : " " + path) + " is " + kLfsPointer,
                {{"path", path}});
  ModelParts parts;
  check({&model, 0, model.size()}, Message::model, parts);
  return parts;
}

ModelParts checkForParser(const std::vector<uint8_t>& model, const std::string& path) {
  ModelBytes bytes(model.data(), model.size());
  ModelParts parts = checkModel(bytes, path);
  for (const std::string& file : parts.named) checkExternalFile(file, path);
  return parts;
}

}  // namespace nt::building
