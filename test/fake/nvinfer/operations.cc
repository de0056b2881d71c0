// The operations of fake plans: shape rules and straightforward loops that give right answers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "program.h"

namespace fake {
namespace {

// float16 and bfloat16 are computed in float32 and rounded to nearest even.
float fromHalf(std::uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  float value;
  if (exponent == 31)
    value = mantissa ? NAN : INFINITY;
  else
    value = exponent ? std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25)
                     : std::ldexp(static_cast<float>(mantissa), -24);
  return h & 0x8000 ? -value : value;
}
std::uint16_t toHalf(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0f, -14))
    return sign | static_cast<std::uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  int exponent;
  std::frexp(magnitude, &exponent);
  const auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));  // 1024 .. 2048
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + (mantissa - 1024)));
}

bool floating(Type type) { return type == Type::kFloat || type == Type::kHalf || type == Type::kBf16; }

template <typename T>
T load(const Value& v, std::int64_t i) {
  T out;
  std::memcpy(&out, v.bytes.data() + i * sizeof(T), sizeof(T));
  return out;
}
template <typename T>
void store(Value& v, std::int64_t i, T value) {
  std::memcpy(v.bytes.data() + i * sizeof(T), &value, sizeof(T));
}

float getFloat(const Value& v, std::int64_t i) {
  switch (v.type) {
    case Type::kFloat:
      return load<float>(v, i);
    case Type::kHalf:
      return fromHalf(load<std::uint16_t>(v, i));
    case Type::kBf16: {
      const std::uint32_t bits = static_cast<std::uint32_t>(load<std::uint16_t>(v, i)) << 16;
      float out;
      std::memcpy(&out, &bits, 4);
      return out;
    }
    default:
      return 0;
  }
}
std::int64_t getInt(const Value& v, std::int64_t i) {
  switch (v.type) {
    case Type::kInt32:
      return load<std::int32_t>(v, i);
    case Type::kInt64:
      return load<std::int64_t>(v, i);
    case Type::kInt8:
      return load<std::int8_t>(v, i);
    case Type::kBool:
      return load<std::uint8_t>(v, i) != 0;
    case Type::kUint8:
      return load<std::uint8_t>(v, i);
    default:
      return static_cast<std::int64_t>(getFloat(v, i));
  }
}
void setFloat(Value& v, std::int64_t i, float value);
void setInt(Value& v, std::int64_t i, std::int64_t value) {
  switch (v.type) {
    case Type::kInt32:
      return store(v, i, static_cast<std::int32_t>(value));
    case Type::kInt64:
      return store(v, i, value);
    case Type::kInt8:
      return store(v, i, static_cast<std::int8_t>(value));
    case Type::kBool:
      return store(v, i, static_cast<std::uint8_t>(value != 0));
    case Type::kUint8:
      return store(v, i, static_cast<std::uint8_t>(value));
    default:
      return setFloat(v, i, static_cast<float>(value));
  }
}
void setFloat(Value& v, std::int64_t i, float value) {
  switch (v.type) {
    case Type::kFloat:
      return store(v, i, value);
    case Type::kHalf:
      return store(v, i, toHalf(value));
    case Type::kBf16: {
      std::uint32_t bits;
      std::memcpy(&bits, &value, 4);
      return store(v, i, static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
    }
    default:
      return setInt(v, i, static_cast<std::int64_t>(value));
  }
}
float asFloat(const Value& v, std::int64_t i) {
  return floating(v.type) ? getFloat(v, i) : static_cast<float>(getInt(v, i));
}

const std::set<std::string> binary = {"add", "sub", "mul", "div", "max", "min"};
const std::set<std::string> unary = {"identity", "relu",    "neg",  "abs",   "sqrt",
                                     "exp",      "sigmoid", "tanh", "scale", "cast"};
const std::set<std::string> reductions = {"sum", "mean", "reducemax", "argmax"};

bool broadcast(const Shape& a, const Shape& b, Shape* out) {
  out->assign(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out->size(); ++i) {
    const auto x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    auto& to = (*out)[out->size() - 1 - i];
    if (x == y || y == 1)
      to = x;
    else if (x == 1)
      to = y;
    else if (x < 0 || y < 0)
      to = std::max(x, y);
    else
      return false;
  }
  return true;
}

std::int64_t offset(const Shape& shape, const Shape& full, std::int64_t flat) {
  std::int64_t out = 0, stride = 1;
  for (std::size_t i = 0; i < full.size(); ++i) {
    const auto extent = full[full.size() - 1 - i];
    const auto at = extent ? flat % extent : 0;
    if (extent) flat /= extent;
    if (i >= shape.size()) continue;
    const auto own = shape[shape.size() - 1 - i];
    out += (own == 1 ? 0 : at) * stride;
    stride *= own;
  }
  return out;
}

// What an operation does to numbers, chosen once for a tensor: its name and attributes are not read again for each of
// them.
template <typename T>
std::function<T(T, T)> combining(const std::string& type) {
  if (type == "add") return [](T a, T b) { return a + b; };
  if (type == "sub") return [](T a, T b) { return a - b; };
  if (type == "mul") return [](T a, T b) { return a * b; };
  if (type == "max") return [](T a, T b) { return std::max(a, b); };
  if (type == "min") return [](T a, T b) { return std::min(a, b); };
  if constexpr (std::is_integral_v<T>)
    return [](T a, T b) { return b ? a / b : 0; };
  else
    return [](T a, T b) { return a / b; };
}

std::function<float(float)> changing(const Op& op) {
  if (op.type == "relu") return [](float x) { return x > 0 ? x : 0; };
  if (op.type == "neg") return [](float x) { return -x; };
  if (op.type == "abs") return [](float x) { return std::fabs(x); };
  if (op.type == "sqrt") return [](float x) { return std::sqrt(x); };
  if (op.type == "exp") return [](float x) { return std::exp(x); };
  if (op.type == "sigmoid") return [](float x) { return 1 / (1 + std::exp(-x)); };
  if (op.type == "tanh") return [](float x) { return std::tanh(x); };
  if (op.type == "scale") {
    const auto scale = static_cast<float>(op.real("scale", 1)), shift = static_cast<float>(op.real("offset", 0));
    return [scale, shift](float x) {
      const float scaled = x * scale;
      return scaled + shift;
    };
  }
  return [](float x) { return x; };
}
std::function<std::int64_t(std::int64_t)> changingInt(const Op& op) {
  if (op.type == "relu") return [](std::int64_t x) { return std::max<std::int64_t>(x, 0); };
  if (op.type == "neg") return [](std::int64_t x) { return -x; };
  if (op.type == "abs") return [](std::int64_t x) { return std::abs(x); };
  if (op.type == "scale") {
    const auto scale = op.number("scale", 1), shift = op.number("offset", 0);
    return [scale, shift](std::int64_t x) { return x * scale + shift; };
  }
  return [](std::int64_t x) { return x; };
}

std::size_t axisOf(const Op& op, std::size_t rank, std::int64_t otherwise = 0) {
  auto axis = op.number("axis", otherwise);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  return static_cast<std::size_t>(axis);
}

Shape valuesOf(const Value& v) {
  Shape out;
  for (std::int64_t i = 0; i < count(v.shape); ++i) out.push_back(getInt(v, i));
  return out;
}

bool resolve(Shape wanted, const Shape& from, Shape* out) {
  std::int64_t known = 1, unknown = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && i < from.size()) wanted[i] = from[i];
    if (wanted[i] < 0)
      unknown = static_cast<std::int64_t>(i);
    else
      known *= wanted[i];
  }
  const bool open = std::any_of(from.begin(), from.end(), [](auto extent) { return extent < 0; });
  if (unknown >= 0 && !open) wanted[static_cast<std::size_t>(unknown)] = known ? count(from) / known : 0;
  *out = wanted;
  return open || count(wanted) == count(from);
}

}  // namespace

bool knownOp(const std::string& type) {
  static const std::set<std::string> others = {"concat", "matmul",    "nonzero", "reshape",
                                               "shape",  "transpose", "softmax"};
  return isPictureOp(type) || binary.count(type) || unary.count(type) || reductions.count(type) || others.count(type);
}

bool dependsOnData(const std::string& type) { return type == "nonzero" || type == "suppress"; }
bool givesIndices(const std::string& type) { return type == "argmax" || type == "shape" || dependsOnData(type); }

std::string inferOp(const Op& op, const std::vector<const Shape*>& in, const std::vector<const Value*>& values,
                    Shape* out, Shape* largest) {
  const auto done = [&] { return *largest = *out, ""; };
  if (in.empty()) return op.type + ": no inputs";
  if (isPictureOp(op.type)) return inferPictureOp(op, in, values, out, largest);
  const Shape& a = *in[0];
  if (unary.count(op.type) || op.type == "softmax") return *out = a, done();
  if (in.size() < 2 && (binary.count(op.type) || op.type == "matmul")) return op.type + ": needs two inputs";
  if (binary.count(op.type)) return broadcast(a, *in[1], out) ? done() : op.type + ": the shapes do not fit";
  if (op.type == "shape") return *out = {static_cast<std::int64_t>(a.size())}, done();
  if (reductions.count(op.type)) {
    const auto axis = axisOf(op, a.size());
    if (axis >= a.size()) return op.type + ": no such axis";
    *out = a;
    if (op.number("keep", 0))
      (*out)[axis] = 1;
    else
      out->erase(out->begin() + static_cast<std::ptrdiff_t>(axis));
    return done();
  }
  if (op.type == "concat") {
    const auto axis = axisOf(op, a.size());
    if (axis >= a.size()) return "concat: no such axis";
    *out = a;
    for (std::size_t i = 1; i < in.size(); ++i) {
      if (in[i]->size() != a.size()) return "concat: ranks differ";
      auto& extent = (*out)[axis];
      extent = extent < 0 || (*in[i])[axis] < 0 ? -1 : extent + (*in[i])[axis];
    }
    return done();
  }
  if (op.type == "matmul") {
    const Shape& b = *in[1];
    if (a.size() < 2 || b.size() < 2) return "matmul: needs matrices";
    const auto k = a.back(), l = b[b.size() - 2];
    if (k >= 0 && l >= 0 && k != l) return "matmul: the shapes do not fit";
    if (!broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}, out)) return "matmul: the batches do not fit";
    out->push_back(a[a.size() - 2]);
    out->push_back(b.back());
    return done();
  }
  if (op.type == "nonzero") {
    *out = {static_cast<std::int64_t>(a.size()), -1};
    *largest = {static_cast<std::int64_t>(a.size()), count(a)};
    return "";
  }
  if (op.type == "transpose") {
    const Shape order = op.list("perm");
    if (order.size() != a.size()) return "transpose: the order does not fit";
    out->clear();
    for (const auto axis : order) out->push_back(a[static_cast<std::size_t>(axis)]);
    return done();
  }
  if (op.type == "reshape") {
    if (in.size() > 1 && !values[1]) {
      out->assign(in[1]->empty() ? 0 : static_cast<std::size_t>((*in[1])[0]), -1);
      return done();
    }
    const Shape wanted = in.size() > 1 ? valuesOf(*values[1]) : op.list("shape");
    return resolve(wanted, a, out) ? done() : "reshape: the number of elements differs";
  }
  return op.type + ": unknown";
}

std::string runOp(const Op& op, const std::vector<const Value*>& in, Value* out) {
  std::vector<const Shape*> shapes;
  for (const auto* value : in) shapes.push_back(&value->shape);
  Shape largest;
  if (auto wrong = inferOp(op, shapes, in, &out->shape, &largest); !wrong.empty()) return wrong;
  const Value& a = *in[0];
  out->type = a.type;
  if (isPictureOp(op.type)) return runPictureOp(op, in, out);
  if (givesIndices(op.type)) out->type = Type::kInt64;
  if (const auto to = op.attributes.find("to"); to != op.attributes.end()) parseType(to->second, &out->type);
  if (op.type == "nonzero") {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < count(a.shape); ++i)
      if (asFloat(a, i) != 0) found.push_back(i);
    const auto n = static_cast<std::int64_t>(found.size());
    out->shape = {static_cast<std::int64_t>(a.shape.size()), n};
    out->bytes.resize(static_cast<std::size_t>(bytesFor(out->type, out->shape)));
    for (std::int64_t j = 0; j < n; ++j) {
      auto flat = found[static_cast<std::size_t>(j)];
      for (auto axis = static_cast<std::int64_t>(a.shape.size()) - 1; axis >= 0; --axis) {
        const auto extent = a.shape[static_cast<std::size_t>(axis)];
        setInt(*out, axis * n + j, flat % extent);
        flat /= extent;
      }
    }
    return "";
  }
  out->bytes.resize(static_cast<std::size_t>(bytesFor(out->type, out->shape)));
  const auto total = count(out->shape);
  // Bits pass through, whatever the type is.
  if (op.type == "identity" || op.type == "reshape") return out->bytes = a.bytes, "";
  if (op.type == "shape") {
    for (std::int64_t i = 0; i < total; ++i) setInt(*out, i, a.shape[static_cast<std::size_t>(i)]);
    return "";
  }
  if (unary.count(op.type)) {
    const auto change = changing(op);
    const auto changeInt = changingInt(op);
    for (std::int64_t i = 0; i < total; ++i)
      if (floating(a.type))
        setFloat(*out, i, change(getFloat(a, i)));
      else
        setInt(*out, i, changeInt(getInt(a, i)));
    return "";
  }
  if (binary.count(op.type)) {
    const Value& b = *in[1];
    const auto combine = combining<float>(op.type);
    const auto combineInt = combining<std::int64_t>(op.type);
    for (std::int64_t i = 0; i < total; ++i) {
      const auto x = offset(a.shape, out->shape, i), y = offset(b.shape, out->shape, i);
      if (floating(a.type))
        setFloat(*out, i, combine(getFloat(a, x), asFloat(b, y)));
      else
        setInt(*out, i, combineInt(getInt(a, x), getInt(b, y)));
    }
    return "";
  }
  if (op.type == "transpose") {
    const Shape order = op.list("perm");
    Shape strides(a.shape.size(), 1);
    for (auto i = static_cast<std::ptrdiff_t>(a.shape.size()) - 2; i >= 0; --i)
      strides[static_cast<std::size_t>(i)] =
          strides[static_cast<std::size_t>(i) + 1] * a.shape[static_cast<std::size_t>(i) + 1];
    const auto width = bitsOf(a.type) / 8;
    for (std::int64_t i = 0; i < total; ++i) {
      std::int64_t flat = i, from = 0;
      for (auto axis = static_cast<std::ptrdiff_t>(order.size()) - 1; axis >= 0; --axis) {
        const auto extent = out->shape[static_cast<std::size_t>(axis)];
        from += flat % extent * strides[static_cast<std::size_t>(order[static_cast<std::size_t>(axis)])];
        flat /= extent;
      }
      std::memcpy(out->bytes.data() + i * width, a.bytes.data() + from * width, static_cast<std::size_t>(width));
    }
    return "";
  }
  if (op.type == "concat") {
    const auto axis = axisOf(op, a.shape.size());
    std::size_t inner = static_cast<std::size_t>(bitsOf(a.type) / 8), outer = 1;
    for (std::size_t i = 0; i < a.shape.size(); ++i) {
      if (i < axis) outer *= static_cast<std::size_t>(a.shape[i]);
      if (i > axis) inner *= static_cast<std::size_t>(a.shape[i]);
    }
    std::size_t at = 0;
    for (std::size_t o = 0; o < outer; ++o)
      for (const auto* value : in) {
        const auto bytes = inner * static_cast<std::size_t>(value->shape[axis]);
        std::memcpy(out->bytes.data() + at, value->bytes.data() + o * bytes, bytes);
        at += bytes;
      }
    return "";
  }
  if (op.type == "matmul") {
    const Value& b = *in[1];
    const auto n = a.shape[a.shape.size() - 2], k = a.shape.back(), m = b.shape.back();
    const Shape batch(out->shape.begin(), out->shape.end() - 2), batchA(a.shape.begin(), a.shape.end() - 2),
        batchB(b.shape.begin(), b.shape.end() - 2);
    for (std::int64_t g = 0; g < count(batch); ++g) {
      const auto ga = offset(batchA, batch, g) * n * k, gb = offset(batchB, batch, g) * k * m;
      for (std::int64_t i = 0; i < n * m; ++i) {
        float sum = 0;
        std::int64_t whole = 0;
        for (std::int64_t j = 0; j < k; ++j) {
          const auto x = ga + i / m * k + j, y = gb + j * m + i % m;
          if (floating(a.type))
            sum += getFloat(a, x) * getFloat(b, y);
          else
            whole += getInt(a, x) * getInt(b, y);
        }
        floating(a.type) ? setFloat(*out, g * n * m + i, sum) : setInt(*out, g * n * m + i, whole);
      }
    }
    return "";
  }
  // Along one axis: sum, mean, reducemax, argmax, softmax.
  const auto axis = axisOf(op, a.shape.size(), op.type == "softmax" ? -1 : 0);
  if (axis >= a.shape.size()) return op.type + ": no such axis";
  std::int64_t outer = 1, inner = 1;
  const auto extent = a.shape[axis];
  for (std::size_t i = 0; i < a.shape.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : a.shape[i];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      float sum = 0, most = -INFINITY;
      std::int64_t whole = 0, best = 0;
      for (std::int64_t j = 0; j < extent; ++j) {
        const auto at = (o * extent + j) * inner + i;
        const float x = asFloat(a, at);
        sum += x;
        whole += floating(a.type) ? 0 : getInt(a, at);
        if (x > most) most = x, best = j;
      }
      const auto to = o * inner + i;
      if (op.type == "argmax") {
        setInt(*out, to, best);
      } else if (op.type == "reducemax") {
        floating(a.type) ? setFloat(*out, to, most) : setInt(*out, to, getInt(a, (o * extent + best) * inner + i));
      } else if (op.type == "softmax") {
        float all = 0;
        for (std::int64_t j = 0; j < extent; ++j) all += std::exp(asFloat(a, (o * extent + j) * inner + i) - most);
        for (std::int64_t j = 0; j < extent; ++j) {
          const auto at = (o * extent + j) * inner + i;
          setFloat(*out, at, std::exp(asFloat(a, at) - most) / all);
        }
      } else if (floating(a.type)) {
        setFloat(*out, to, op.type == "mean" ? sum / static_cast<float>(extent) : sum);
      } else {
        setInt(*out, to, op.type == "mean" ? whole / extent : whole);
      }
    }
  return "";
}

}  // namespace fake
