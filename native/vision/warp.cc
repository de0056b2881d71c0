#include "warp.h"

#include <cmath>
#include <vector>

#include "writer.h"

namespace nt::vision {
namespace {

// The whole picture as RGB: where it lies, or a copy.
class Pixels {
 public:
  explicit Pixels(const Picture& picture) : picture_(picture), stride_(picture.stride) {
    if (picture.format == Format::rgb) {
      data_ = picture.data;
      return;
    }
    stride_ = static_cast<std::size_t>(picture.width) * 3;
    copy_.resize(stride_ * static_cast<std::size_t>(picture.height));
    for (int y = 0; y < picture.height; ++y)
      rgbRow(picture, y, 0, picture.width, copy_.data() + static_cast<std::size_t>(y) * stride_);
    data_ = copy_.data();
  }

  bool has(int x, int y) const { return x >= 0 && y >= 0 && x < picture_.width && y < picture_.height; }
  const uint8_t* at(int x, int y) const {
    return data_ + static_cast<std::size_t>(y) * stride_ + static_cast<std::size_t>(x) * 3;
  }

 private:
  const Picture& picture_;
  std::size_t stride_;
  const uint8_t* data_ = nullptr;
  std::vector<uint8_t> copy_;
};

// What lies around (x, y), where pixel centres are whole numbers; outside of the picture it is the fill.
void sampleAt(const Pixels& pixels, const float (&fill)[3], double x, double y, float (&sums)[3]) {
  const double left = std::floor(x), top = std::floor(y);
  const auto right = static_cast<float>(x - left), below = static_cast<float>(y - top);
  const float weights[4] = {(1 - right) * (1 - below), right * (1 - below), (1 - right) * below, right * below};
  for (int corner = 0; corner < 4; ++corner) {
    const int px = static_cast<int>(left) + corner % 2, py = static_cast<int>(top) + corner / 2;
    const bool inside = pixels.has(px, py);
    for (int channel = 0; channel < 3; ++channel)
      sums[channel] += weights[corner] * (inside ? static_cast<float>(pixels.at(px, py)[channel]) : fill[channel]);
  }
}

}  // namespace

void warp(const Picture& picture, const Warp& how, const Target& target) {
  const Pixels pixels(picture);
  Writer writer(target, how.width, how.height);
  const std::array<double, 6>& m = how.matrix;
  for (int row = 0; row < how.height; ++row) {
    for (int column = 0; column < how.width; ++column) {
      const double x = column + 0.5, y = row + 0.5;
      const double atX = m[0] * x + m[1] * y + m[2] - 0.5, atY = m[3] * x + m[4] * y + m[5] - 0.5;
      float sums[3] = {0, 0, 0};
      // far away: also where a place is no number that an int has
      const bool near = atX > -1 && atY > -1 && atX < picture.width && atY < picture.height;
      if (near) sampleAt(pixels, how.fill, atX, atY, sums);
      for (int channel = 0; channel < 3; ++channel)
        writer.plane(channel)[column] = near ? sums[channel] : how.fill[channel];
    }
    writer.write(row);
  }
}

}  // namespace nt::vision
