// Laying one thing over another: how opaque it is where, and the mixing of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "blur.h"
#include "canvas.h"

namespace nt::vision {

constexpr int kOpaque = 1 << 15;

// Opacity is 0 to kOpaque.
inline uint8_t mixed(int under, int over, int opacity) {
  return static_cast<uint8_t>(under + (((over - under) * opacity + kOpaque / 2) >> 15));
}

struct HideStyle {
  Method method = Method::blur;
  bool ellipse = true;
  // The gaussian's sigma, or a block, as a part of the longer side.
  double strength = 0.1;
  // Over what part of half the width and height it fades out, beyond the region.
  double feather = 0;
  std::array<uint8_t, 3> color{};
};

// What is in the region cannot be recognized; nothing beyond its feather is written.
void hideRegion(Canvas& canvas, const Bounds& region, const HideStyle& style);
// The same of the pixels whose byte in the mask is not zero; it has no feather.
void hideMask(Canvas& canvas, const Placed<uint8_t>& mask, const HideStyle& style);

}  // namespace nt::vision
