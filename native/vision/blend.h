// What hides a part of a picture, and how opaque it is where.
#pragma once

#include <cstdint>

#include "blur.h"
#include "surface.h"

namespace nt::vision {

struct HideStyle {
  Method method = Method::blur;
  bool ellipse = true;
  // The gaussian's sigma, or a block, as a part of the longer side.
  double strength = 0.1;
  // Over what part of half the width and height it fades out, beyond the region.
  double feather = 0;
  Color color{};  // red, green, blue
};

// What is in the region cannot be recognized; nothing beyond its feather is written.
template <class Surface>
void hideRegion(Surface& surface, const Bounds& region, const HideStyle& style);
// The same of the pixels whose byte in the mask is not zero; it has no feather.
template <class Surface>
void hideMask(Surface& surface, const Placed<uint8_t>& mask, const HideStyle& style);

}  // namespace nt::vision
