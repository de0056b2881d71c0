#include "external_data.h"

#include <filesystem>
#include <set>
#include <string_view>

#include "../base/error.h"

namespace nt::building {
namespace {

// protobuf's own limit on messages within messages
constexpr int kDeepest = 100;

[[noreturn]] void damaged(const std::string& why) {
  throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model is damaged or truncated: " + why);
}

// A cursor over the fields of one protobuf message.
struct Fields {
  const uint8_t* at;
  const uint8_t* end;
  int depth = 0;
  // of the field that next() found; `body` for wire type 2 only
  uint32_t number = 0;
  std::string_view body = {};

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end) damaged("a number goes beyond the end");
      const uint8_t byte = *at++;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    damaged("a number of more than ten bytes");
  }

  std::string_view take(uint64_t size) {
    if (size > static_cast<uint64_t>(end - at)) damaged("a field goes beyond the end");
    const std::string_view taken(reinterpret_cast<const char*>(at), size);
    at += size;
    return taken;
  }

  bool next() {
    if (at == end) return false;
    const uint64_t key = varint();
    if (key >> 3 == 0 || key >> 32 != 0) damaged("a field has an impossible number");
    number = static_cast<uint32_t>(key >> 3);
    body = {};
    switch (key & 7) {
      case 0:
        varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        body = take(varint());
        return true;
      case 5:
        take(4);
        break;
      default:
        damaged("a field of an unknown kind");  // groups too, which ONNX has none of
    }
    number = 0;  // a number, which has nothing within
    return true;
  }

  Fields inner() const {
    if (depth >= kDeepest) damaged("more than " + std::to_string(kDeepest) + " messages within each other");
    const auto* begin = reinterpret_cast<const uint8_t*>(body.data());
    return {begin, begin + body.size(), depth + 1};
  }
};

// What a message of onnx.proto is, as far as tensors are within it.
enum class Kind { model, training, graph, node, attribute, tensor, sparse, function, entry, other };

Kind kindWithin(Kind parent, uint32_t field) {
  switch (parent) {
    case Kind::model:
      if (field == 7) return Kind::graph;
      if (field == 20) return Kind::training;
      return field == 25 ? Kind::function : Kind::other;
    case Kind::training:
      return field == 1 || field == 2 ? Kind::graph : Kind::other;
    case Kind::graph:
      if (field == 1) return Kind::node;
      if (field == 5) return Kind::tensor;
      return field == 15 ? Kind::sparse : Kind::other;
    case Kind::node:
      return field == 5 ? Kind::attribute : Kind::other;
    case Kind::attribute:
      if (field == 5 || field == 10) return Kind::tensor;
      if (field == 6 || field == 11) return Kind::graph;
      return field == 22 || field == 23 ? Kind::sparse : Kind::other;
    case Kind::sparse:
      return field == 1 || field == 2 ? Kind::tensor : Kind::other;
    case Kind::function:
      return field == 7 ? Kind::node : field == 11 ? Kind::attribute : Kind::other;
    case Kind::tensor:
      return field == 13 ? Kind::entry : Kind::other;
    default:
      return Kind::other;
  }
}

void readEntry(Fields entry, std::set<std::string>& files) {
  std::string key, value;
  while (entry.next()) {
    if (entry.number == 1) key = entry.body;
    if (entry.number == 2) value = entry.body;
  }
  if (key == "location") files.insert(value);
}

void collect(Fields fields, Kind kind, std::set<std::string>& files) {
  while (fields.next()) {
    const Kind within = kindWithin(kind, fields.number);
    if (within == Kind::other) continue;
    if (within == Kind::entry)
      readEntry(fields.inner(), files);
    else
      collect(fields.inner(), within, files);
  }
}

void checkFile(const std::string& file, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const std::string& why) {
    throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model keeps weights in the file \"" + file + "\", " + why,
                {{"location", file}});
  };
  if (file.empty() || file.find('\0') != std::string::npos) refuse("which is no name of a file");
  if (fs::path(file).is_absolute()) refuse("which is an absolute path: only files in the model's own folder are read");
  std::error_code ignored;
  const fs::path root = fs::weakly_canonical(folder, ignored);
  const fs::path target = fs::weakly_canonical(folder / file, ignored);
  const fs::path way = target.lexically_relative(root);
  if (target.empty() || way.empty() || way == "." || *way.begin() == "..")
    refuse("which is outside of the model's folder " + root.string());
}

}  // namespace

std::vector<std::string> externalFiles(const std::vector<uint8_t>& model) {
  std::set<std::string> files;
  collect({model.data(), model.data() + model.size()}, Kind::model, files);
  return {files.begin(), files.end()};
}

void checkExternalFiles(const std::vector<uint8_t>& model, const std::string& path) {
  for (const std::string& file : externalFiles(model)) {
    if (path.empty()) {
      throw Error("ERR_TRT_ONNX_PARSE",
                  "The ONNX model keeps weights in the file \"" + file +
                      "\", and was given as bytes, which lie in no folder: give the path of the model instead",
                  {{"location", file}});
    }
    checkFile(file, std::filesystem::path(path).parent_path());
  }
}

}  // namespace nt::building
