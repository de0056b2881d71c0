// From pixels to a model's input in one pass: each output pixel is a weighted sum of picture pixels, along rows and
// columns apart, normalized and laid out where the model reads it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "picture.h"

namespace nt::vision {

// Along one axis: output i is the sum of weights[i * taps + k] times picture pixel first[i] + k, plus outside[i] times
// the fill. Outputs that are not in [begin, end) are all fill.
template <class Weight>
struct AxisOf {
  int outputs = 0;
  int begin = 0, end = 0;
  int taps = 0;
  const int32_t* first = nullptr;
  const Weight* weights = nullptr;
  const Weight* outside = nullptr;
};

using Axis = AxisOf<float>;

// Columns of the picture that any output sees.
struct Span {
  int from = 0, count = 0;
};

template <class Weight>
Span spanOf(const AxisOf<Weight>& axis) {
  if (axis.begin >= axis.end) return {};
  const auto [least, most] = std::minmax_element(axis.first + axis.begin, axis.first + axis.end);
  return {*least, *most + axis.taps - *least};
}

struct Resize {
  Axis columns, rows;
  float fill[3] = {0, 0, 0};  // red, green, blue
};

enum class Number : uint8_t { float32, float16, uint8 };
enum class Channels : uint8_t { rgb, bgr, gray };

// Where a picture goes, and what is made of its values: (value - mean) * scale, by channel.
struct Target {
  void* data = nullptr;
  Number number = Number::float32;
  Channels channels = Channels::rgb;
  bool planar = true;
  bool rounded = false;  // to whole values of 0 to 255 before they are normalized
  float scale[3] = {1, 1, 1};
  float mean[3] = {0, 0, 0};
};

// Bytes of a target of so many pixels.
std::size_t targetBytes(const Target& target, int width, int height);

// Every tap of the axes lies in the picture.
void resample(const Picture& picture, const Resize& resize, const Target& target);

}  // namespace nt::vision
