// Convolution and suppression of boxes: what the checks on a GPU (test/gpu) run beside plain arithmetic.
#include <algorithm>
#include <cstring>

#include "program.h"

namespace fake {
namespace {

template <typename T>
std::vector<T> elementsOf(const Value& value) {
  std::vector<T> out(value.bytes.size() / sizeof(T));
  std::memcpy(out.data(), value.bytes.data(), out.size() * sizeof(T));
  return out;
}
template <typename T>
void setElements(Value* value, const std::vector<T>& elements) {
  value->bytes.resize(elements.size() * sizeof(T));
  std::memcpy(value->bytes.data(), elements.data(), value->bytes.size());
}

// top, left, bottom, right
Shape padsOf(const Op& op) {
  const Shape pads = op.list("pads");
  return pads.size() == 4 ? pads : Shape(4, 0);
}

std::string runConv(const Op& op, const std::vector<const Value*>& in, Value* out) {
  if (in[0]->type != Type::kFloat) return "conv: float32 only";
  const Shape &x = in[0]->shape, &w = in[1]->shape, &y = out->shape, pads = padsOf(op);
  const auto input = elementsOf<float>(*in[0]), weights = elementsOf<float>(*in[1]);
  const auto bias =
      in.size() > 2 ? elementsOf<float>(*in[2]) : std::vector<float>(static_cast<std::size_t>(w[0]), 0.0f);
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(count(y)));
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t to = 0; to < y[1]; ++to)
      for (std::int64_t row = 0; row < y[2]; ++row)
        for (std::int64_t column = 0; column < y[3]; ++column) {
          float sum = bias[static_cast<std::size_t>(to)];
          for (std::int64_t from = 0; from < w[1]; ++from)
            for (std::int64_t i = 0; i < w[2]; ++i)
              for (std::int64_t j = 0; j < w[3]; ++j) {
                const auto r = row + i - pads[0], c = column + j - pads[1];
                if (r < 0 || c < 0 || r >= x[2] || c >= x[3]) continue;
                sum += input[static_cast<std::size_t>(((n * x[1] + from) * x[2] + r) * x[3] + c)] *
                       weights[static_cast<std::size_t>(((to * w[1] + from) * w[2] + i) * w[3] + j)];
              }
          result.push_back(sum);
        }
  return setElements(out, result), "";
}

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};
Box boxAt(const std::vector<float>& boxes, std::size_t i) {
  const float* b = &boxes[i * 4];
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}
float overlapOf(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

// ONNX's NonMaxSuppression, by the order of the scores.
std::string runSuppression(const std::vector<const Value*>& in, Value* out) {
  const auto boxes = elementsOf<float>(*in[0]), scores = elementsOf<float>(*in[1]);
  const auto most = static_cast<std::size_t>(elementsOf<std::int64_t>(*in[2])[0]);
  const float overlap = elementsOf<float>(*in[3])[0], least = elementsOf<float>(*in[4])[0];
  const auto classes = static_cast<std::size_t>(in[1]->shape[1]), each = static_cast<std::size_t>(in[1]->shape[2]);
  std::vector<std::int64_t> kept;
  for (std::size_t k = 0; k < classes; ++k) {
    std::vector<std::size_t> order, chosen;
    for (std::size_t i = 0; i < each; ++i)
      if (scores[k * each + i] > least) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return scores[k * each + a] > scores[k * each + b]; });
    for (const auto i : order) {
      const auto hides = [&](auto j) { return overlapOf(boxAt(boxes, i), boxAt(boxes, j)) > overlap; };
      if (chosen.size() < most && std::none_of(chosen.begin(), chosen.end(), hides)) chosen.push_back(i);
    }
    for (const auto i : chosen)
      kept.insert(kept.end(), {0, static_cast<std::int64_t>(k), static_cast<std::int64_t>(i)});
  }
  out->type = Type::kInt64;
  out->shape = {static_cast<std::int64_t>(kept.size() / 3), 3};
  return setElements(out, kept), "";
}

}  // namespace

bool isPictureOp(const std::string& type) { return type == "conv" || type == "suppress"; }

std::string inferPictureOp(const Op& op, const std::vector<const Shape*>& in, const std::vector<const Value*>& values,
                           Shape* out, Shape* largest) {
  const Shape &x = *in[0], pads = padsOf(op);
  if (op.type == "suppress") {
    if (in.size() < 5 || !values[2]) return "suppress: needs boxes, scores and constant limits";
    std::int64_t most = 0;
    std::memcpy(&most, values[2]->bytes.data(), sizeof(most));
    *out = {-1, 3}, *largest = {most * (*in[1])[1], 3};
    return "";
  }
  if (in.size() < 2 || x.size() != 4 || in[1]->size() != 4) return "conv: needs a picture and a kernel";
  const Shape& w = *in[1];
  if (x[1] >= 0 && x[1] != w[1]) return "conv: the channels do not fit";
  const auto extent = [](std::int64_t size, std::int64_t pad, std::int64_t kernel) {
    return size < 0 ? -1 : size + pad - kernel + 1;
  };
  *largest = *out = {x[0], w[0], extent(x[2], pads[0] + pads[2], w[2]), extent(x[3], pads[1] + pads[3], w[3])};
  return "";
}

std::string runPictureOp(const Op& op, const std::vector<const Value*>& in, Value* out) {
  return op.type == "conv" ? runConv(op, in, out) : runSuppression(in, out);
}

}  // namespace fake
