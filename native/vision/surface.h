// Pictures that are painted where they lie: packed pixels, or planes of Y, U and V.
//
// What paints is a template over the surface. It has three samples for each pixel, in the surface's own terms: those of
// own(colour), or what blockMeans() was made of. It goes row by row downwards, lays each pixel once, and ends with
// finish(). So the mean of the two by two pixels of a chroma sample is what painting RGB, and making U and V of the
// result, would give; and a chroma sample of which nothing is painted keeps its bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "canvas.h"
#include "picture.h"

namespace nt::vision {

using Color = std::array<uint8_t, 3>;

constexpr int kOpaque = 1 << 15;

// Opacity is 0 to kOpaque.
inline uint8_t mixed(int under, int over, int opacity) {
  return static_cast<uint8_t>(under + (((over - under) * opacity + kOpaque / 2) >> 15));
}

// Red, green and blue, or blue, green and red, every kStep bytes; a fourth byte stays as it is.
template <int kStep>
class Packed {
 public:
  Packed(uint8_t* data, int64_t width, int64_t height, std::size_t stride, bool swapped)
      : data_(data), width_(width), height_(height), stride_(stride), swapped_(swapped) {}
  explicit Packed(const Canvas& canvas)
      : Packed(canvas.data(), canvas.width(), canvas.height(), canvas.stride(), false) {}

  int64_t width() const noexcept { return width_; }
  int64_t height() const noexcept { return height_; }
  Color own(const Color& rgb) const { return swapped_ ? Color{rgb[2], rgb[1], rgb[0]} : rgb; }

  void blend(int64_t x, int64_t y, const Color& over, int opacity) {
    uint8_t* const pixel = at(x, y);
    for (int c = 0; c < 3; ++c) pixel[c] = mixed(pixel[c], over[c], opacity);
  }
  // Pixels from `first` to below `last`, three bytes of `over` each; without opacities all of them are opaque.
  void lay(int64_t y, int64_t first, int64_t last, const uint8_t* over, const uint16_t* opacity);
  void finish() {}

  const uint8_t* row(int64_t y) const { return at(0, y); }

 private:
  uint8_t* at(int64_t x, int64_t y) const { return data_ + y * static_cast<int64_t>(stride_) + x * kStep; }

  uint8_t* const data_;
  const int64_t width_, height_;
  const std::size_t stride_;
  const bool swapped_;
};

// Y, and U and V for two by two pixels, of which there are fewer at odd edges; or Y alone, which is grey.
class Planes {
 public:
  // i420, nv12 or gray.
  Planes(const Picture& picture, uint8_t* data);

  int64_t width() const noexcept { return width_; }
  int64_t height() const noexcept { return height_; }
  Color own(const Color& rgb) const;

  void blend(int64_t x, int64_t y, const Color& over, int opacity) {
    uint8_t* const luma = data_ + y * stride_ + x;
    *luma = mixed(*luma, over[0], opacity);
    if (!hasChroma_) return;
    begin(y, x / 2, x / 2 + 1);
    add(x, over.data(), opacity);
  }
  void lay(int64_t y, int64_t first, int64_t last, const uint8_t* over, const uint16_t* opacity);
  void finish();

  const uint8_t* lumaRow(int64_t y) const { return data_ + y * stride_; }
  bool hasChroma() const noexcept { return hasChroma_; }
  // U and V of a row of chroma; `step` bytes from one to the next.
  const uint8_t* uRow(int64_t row) const { return data_ + u_ + row * chromaStride_; }
  const uint8_t* vRow(int64_t row) const { return data_ + v_ + row * chromaStride_; }
  int64_t step() const noexcept { return step_; }

 private:
  // What is laid over a chroma sample: its opacity, and U and V times theirs, each added up.
  struct Sum {
    int32_t opacity = 0, u = 0, v = 0;
  };

  void begin(int64_t y, int64_t first, int64_t last);
  void add(int64_t x, const uint8_t* over, int32_t opacity) {
    Sum& sum = sums_[static_cast<std::size_t>(x / 2)];
    sum.opacity += opacity;
    sum.u += over[1] * opacity;
    sum.v += over[2] * opacity;
  }

  uint8_t* const data_;
  const int64_t width_, height_, stride_;
  const bool hasChroma_;
  const YuvToRgb yuv_;
  int64_t u_ = 0, v_ = 0, chromaStride_ = 0, step_ = 1;
  std::vector<Sum> sums_;                    // of the row of chroma that is painted
  int64_t row_ = -1, first_ = 0, last_ = 0;  // which that is, and where it is touched
};

// The means of blocks: columns * rows * 3 numbers. Of Planes the chroma of a pixel is that of its two by two.
struct Blocks;
std::vector<float> blockMeans(const Packed<3>& surface, const Blocks& blocks);
std::vector<float> blockMeans(const Packed<4>& surface, const Blocks& blocks);
std::vector<float> blockMeans(const Planes& surface, const Blocks& blocks);

// Whether it can be painted where it lies.
bool isPaintable(Format format);

// paint(surface) of a picture that can, whose bytes are `data`.
template <class Paint>
void paintOn(const Picture& picture, uint8_t* data, const Paint& paint) {
  const int64_t width = picture.width, height = picture.height;
  const bool swapped = picture.format == Format::bgr || picture.format == Format::bgra;
  switch (picture.format) {
    case Format::rgb:
    case Format::bgr: {
      Packed<3> surface(data, width, height, picture.stride, swapped);
      return paint(surface);
    }
    case Format::rgba:
    case Format::bgra: {
      Packed<4> surface(data, width, height, picture.stride, swapped);
      return paint(surface);
    }
    default: {
      Planes surface(picture, data);
      return paint(surface);
    }
  }
}

// For the files whose templates are compiled for each surface.
#define NT_FOR_EACH_SURFACE(declare) declare(Packed<3>) declare(Packed<4>) declare(Planes)

}  // namespace nt::vision
