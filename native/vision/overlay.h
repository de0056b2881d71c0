// What a mask says of each pixel, made visible: classes in colours, a thing without its background.
#pragma once

#include <array>
#include <cstdint>

#include "surface.h"

namespace nt::vision {

// Red, green, blue of each class; that of class 0 is not used.
using Palette = std::array<uint8_t, 256 * 3>;
template <class Surface>
void overlayClasses(Surface& surface, const Placed<uint8_t>& mask, const Palette& palette, double opacity);

// What is behind what was cut out: nothing (the canvas has an alpha channel then), a colour, or another picture.
struct Background {
  const uint8_t* picture = nullptr;  // RGB, of the canvas's size
  std::array<uint8_t, 3> color{};
};
// Fills a canvas of four channels with the picture and the mask's alpha, or one of three with what is kept of the
// picture before the background. Of bytes all that is not zero is kept.
template <class T>
void cutOut(Canvas& canvas, const uint8_t* pixels, const Placed<T>& mask, const Background& background);

}  // namespace nt::vision
