#include "surface.h"

#include <algorithm>
#include <cmath>

namespace nt::vision {
namespace {

uint8_t nearestByte(double value) { return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

}  // namespace

template <int kStep>
void Packed<kStep>::lay(int64_t y, int64_t first, int64_t last, const uint8_t* over, const uint16_t* opacity) {
  uint8_t* under = at(first, y);
  const int64_t count = last - first;
  if (opacity == nullptr) {
    if (kStep == 3) {
      std::copy_n(over, count * 3, under);
    } else {
      for (int64_t x = 0; x < count; ++x, under += kStep, over += 3) std::copy_n(over, 3, under);
    }
    return;
  }
  for (int64_t x = 0; x < count; ++x, under += kStep, over += 3) {
    if (opacity[x] == 0) continue;
    for (int c = 0; c < 3; ++c) under[c] = mixed(under[c], over[c], opacity[x]);
  }
}

template class Packed<3>;
template class Packed<4>;

Planes::Planes(const Picture& picture, uint8_t* data)
    : data_(data),
      width_(picture.width),
      height_(picture.height),
      stride_(static_cast<int64_t>(picture.stride)),
      hasChroma_(picture.format != Format::gray),
      yuv_(picture.yuv) {
  if (!hasChroma_) return;
  const Chroma chroma = chromaOf(picture.format, picture.height, picture.stride);
  u_ = static_cast<int64_t>(chroma.u);
  v_ = static_cast<int64_t>(chroma.v);
  chromaStride_ = static_cast<int64_t>(chroma.stride);
  step_ = static_cast<int64_t>(chroma.step);
  sums_.resize(static_cast<std::size_t>((width_ + 1) / 2));
}

// Grey is what PIL makes of a colour. The shares of red, green and blue in Y follow from what makes RGB of Y, U and V.
Color Planes::own(const Color& rgb) const {
  const double red = rgb[0], green = rgb[1], blue = rgb[2];
  if (!hasChroma_) return {nearestByte(0.299 * red + 0.587 * green + 0.114 * blue), 0, 0};
  const double ofBlue = yuv_.greenU / yuv_.blue, ofRed = yuv_.greenV / yuv_.red;  // each to that of green
  const double luma = (ofRed * red + green + ofBlue * blue) / (ofRed + 1 + ofBlue);
  return {nearestByte(luma / yuv_.luma + yuv_.black), nearestByte((blue - luma) / yuv_.blue + yuv_.centre),
          nearestByte((red - luma) / yuv_.red + yuv_.centre)};
}

void Planes::begin(int64_t y, int64_t first, int64_t last) {
  if (y / 2 != row_) {
    finish();
    row_ = y / 2;
    first_ = first;
    last_ = last;
  }
  first_ = std::min(first_, first);
  last_ = std::max(last_, last);
}

void Planes::lay(int64_t y, int64_t first, int64_t last, const uint8_t* over, const uint16_t* opacity) {
  if (first >= last) return;
  uint8_t* const luma = data_ + y * stride_ + first;
  const int64_t count = last - first;
  if (hasChroma_) begin(y, first / 2, (last - 1) / 2 + 1);
  if (opacity == nullptr) {
    for (int64_t x = 0; x < count; ++x) luma[x] = over[3 * x];
    if (hasChroma_)
      for (int64_t x = 0; x < count; ++x) add(first + x, over + 3 * x, kOpaque);
    return;
  }
  for (int64_t x = 0; x < count; ++x) luma[x] = mixed(luma[x], over[3 * x], opacity[x]);
  if (hasChroma_)
    for (int64_t x = 0; x < count; ++x) add(first + x, over + 3 * x, opacity[x]);
}

void Planes::finish() {
  if (row_ < 0) return;
  uint8_t* const u = data_ + u_ + row_ * chromaStride_;
  uint8_t* const v = data_ + v_ + row_ * chromaStride_;
  const int down = 2 * row_ + 1 < height_ ? 1 : 0;
  for (int64_t x = first_; x < last_; ++x) {
    Sum& sum = sums_[static_cast<std::size_t>(x)];
    if (sum.opacity == 0) continue;
    const int bits = 15 + down + (2 * x + 1 < width_ ? 1 : 0);  // of kOpaque, times the pixels that are there
    const auto laid = [&](int32_t under, int32_t over) {
      return static_cast<uint8_t>(under + ((over - under * sum.opacity + (1 << (bits - 1))) >> bits));
    };
    u[x * step_] = laid(u[x * step_], sum.u);
    v[x * step_] = laid(v[x * step_], sum.v);
    sum = {};
  }
  row_ = -1;
}

bool isPaintable(Format format) { return format != Format::i42010 && format != Format::p010; }

}  // namespace nt::vision
