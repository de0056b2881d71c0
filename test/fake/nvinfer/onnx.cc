#include "onnx.h"

#include <cstring>

namespace fake {
namespace {

// A cursor over one message; `ok` goes false where the bytes end too early.
struct Reader {
  const unsigned char *at, *end;
  bool ok = true;

  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at >= end) return ok = false, 0;
      const auto byte = *at++;
      out |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (!(byte & 128)) return out;
    }
    return ok = false, 0;
  }
  Reader message() {
    const auto length = varint();
    if (!ok || length > static_cast<std::uint64_t>(end - at)) return ok = false, Reader{end, end};
    Reader inner{at, at + length};
    at += length;
    return inner;
  }
  std::string text() {
    const Reader inner = message();
    return {inner.at, inner.end};
  }
  template <typename T>
  T fixed() {
    T out{};
    if (static_cast<std::size_t>(end - at) < sizeof(T)) return ok = false, at = end, out;
    std::memcpy(&out, at, sizeof(T));
    at += sizeof(T);
    return out;
  }
  void skip(int wire) {
    if (wire == 0)
      varint();
    else if (wire == 1)
      fixed<std::uint64_t>();
    else if (wire == 2)
      message();
    else if (wire == 5)
      fixed<std::uint32_t>();
    else
      ok = false;
  }
  // Calls back for every field; the callback reads it or returns false.
  template <typename F>
  bool fields(F&& handle) {
    while (ok && at < end) {
      const auto key = varint();
      if (!ok || key >> 3 == 0) return ok = false;
      const int wire = static_cast<int>(key & 7);
      if (!handle(static_cast<int>(key >> 3), wire)) skip(wire);
    }
    return ok;
  }
  template <typename F>
  void integers(int wire, F&& take) {
    if (wire != 2) return take(varint());
    Reader inner = message();
    while (inner.ok && inner.at < inner.end) take(inner.varint());
    ok = ok && inner.ok;
  }
  template <typename T, typename F>
  void reals(int wire, F&& take) {
    if (wire != 2) return take(fixed<T>());
    Reader inner = message();
    while (inner.ok && inner.at < inner.end) take(inner.template fixed<T>());
    ok = ok && inner.ok;
  }
};

bool readTensor(Reader r, OnnxTensor* out) {
  return r.fields([&](int field, int wire) {
    if (field == 1)
      r.integers(wire, [&](auto v) { out->shape.push_back(static_cast<std::int64_t>(v)); });
    else if (field == 2)
      out->type = static_cast<int>(r.varint());
    else if (field == 4)
      r.reals<float>(wire, [&](float v) { out->numbers.push_back(v); });
    else if (field == 5 || field == 7)
      r.integers(wire, [&](auto v) { out->numbers.push_back(static_cast<double>(static_cast<std::int64_t>(v))); });
    else if (field == 8)
      out->name = r.text();
    else if (field == 9)
      out->raw = r.text();
    else if (field == 14)
      out->external = r.varint() == 1;
    else
      return false;
    return true;
  });
}

bool readAttribute(Reader r, std::string* name, OnnxAttribute* out) {
  return r.fields([&](int field, int wire) {
    if (field == 1)
      *name = r.text();
    else if (field == 2)
      out->f = r.fixed<float>();
    else if (field == 3)
      out->i = static_cast<std::int64_t>(r.varint());
    else if (field == 4)
      out->s = r.text();
    else if (field == 5)
      r.ok = readTensor(r.message(), &out->tensor) && r.ok;
    else if (field == 8)
      r.integers(wire, [&](auto v) { out->ints.push_back(static_cast<std::int64_t>(v)); });
    else
      return false;
    return true;
  });
}

bool readNode(Reader r, OnnxNode* out) {
  return r.fields([&](int field, int) {
    if (field == 1)
      out->inputs.push_back(r.text());
    else if (field == 2)
      out->outputs.push_back(r.text());
    else if (field == 3)
      out->name = r.text();
    else if (field == 4)
      out->type = r.text();
    else if (field == 7)
      out->domain = r.text();
    else if (field == 5) {
      std::string name;
      OnnxAttribute attribute;
      r.ok = readAttribute(r.message(), &name, &attribute) && r.ok;
      out->attributes[name] = attribute;
    } else {
      return false;
    }
    return true;
  });
}

bool readShape(Reader r, Shape* out, std::map<int, std::string>* names) {
  return r.fields([&](int field, int) {
    if (field != 1) return false;
    Reader dim = r.message();
    std::int64_t extent = -1;
    const bool fine = dim.fields([&](int f, int) {
      if (f == 1) return extent = static_cast<std::int64_t>(dim.varint()), true;
      return f == 2 && ((*names)[static_cast<int>(out->size())] = dim.text(), true);
    });
    out->push_back(extent);
    r.ok = r.ok && fine;
    return true;
  });
}

bool readPort(Reader r, OnnxPort* out) {
  return r.fields([&](int field, int) {
    if (field == 1) return out->name = r.text(), true;
    if (field != 2) return false;
    Reader type = r.message();
    r.ok = type.fields([&](int f, int) {
      if (f != 1) return false;
      Reader tensor = type.message();
      type.ok = tensor.fields([&](int g, int) {
        if (g == 1) return out->type = static_cast<int>(tensor.varint()), true;
        if (g != 2) return false;
        tensor.ok = readShape(tensor.message(), &out->shape, &out->names) && tensor.ok;
        return true;
      }) && type.ok;
      return true;
    }) && r.ok;
    return true;
  });
}

bool readGraph(Reader r, OnnxModel* out) {
  return r.fields([&](int field, int) {
    if (field == 1)
      r.ok = readNode(r.message(), &out->nodes.emplace_back()) && r.ok;
    else if (field == 2)
      out->name = r.text();
    else if (field == 5)
      r.ok = readTensor(r.message(), &out->initializers.emplace_back()) && r.ok;
    else if (field == 11)
      r.ok = readPort(r.message(), &out->inputs.emplace_back()) && r.ok;
    else if (field == 12)
      r.ok = readPort(r.message(), &out->outputs.emplace_back()) && r.ok;
    else
      return false;
    return true;
  });
}

}  // namespace

bool readOnnx(const void* data, std::size_t size, OnnxModel* out) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  Reader r{bytes, bytes + size};
  bool graph = false;
  const bool fine = r.fields([&](int field, int wire) {
    if (field != 7 || wire != 2) return false;
    graph = true;
    r.ok = readGraph(r.message(), out) && r.ok;
    return true;
  });
  return fine && graph;
}

bool typeFromOnnx(int onnx, Type* type) {
  static const std::map<int, Type> types = {{1, Type::kFloat}, {2, Type::kUint8}, {3, Type::kInt8},
                                            {6, Type::kInt32}, {7, Type::kInt64}, {9, Type::kBool},
                                            {10, Type::kHalf}, {16, Type::kBf16}, {17, Type::kFp8}};
  const auto found = types.find(onnx);
  return found != types.end() && (*type = found->second, true);
}

bool valueFromOnnx(const OnnxTensor& tensor, Value* out) {
  if (!typeFromOnnx(tensor.type, &out->type) || tensor.external) return false;
  out->shape = tensor.shape;
  const auto bytes = static_cast<std::size_t>(bytesFor(out->type, out->shape));
  if (!tensor.raw.empty() || bytes == 0) {
    out->bytes.assign(tensor.raw.begin(), tensor.raw.end());
    return out->bytes.size() == bytes;
  }
  if (static_cast<std::int64_t>(tensor.numbers.size()) != count(out->shape)) return false;
  out->bytes.resize(bytes);
  const auto width = static_cast<std::size_t>(bitsOf(out->type) / 8);
  for (std::size_t i = 0; i < tensor.numbers.size(); ++i) {
    const auto whole = static_cast<std::int64_t>(tensor.numbers[i]);
    const auto real = static_cast<float>(tensor.numbers[i]);
    std::memcpy(&out->bytes[i * width], out->type == Type::kFloat ? static_cast<const void*>(&real) : &whole, width);
  }
  return true;
}

}  // namespace fake
