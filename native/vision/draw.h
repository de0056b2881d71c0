// Lines, rectangles and small pictures drawn on a picture: edges are smooth, and only the pixels that they touch are
// read or written. Colours are red, green and blue, whatever the surface has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "surface.h"

namespace nt::vision {

template <class Surface>
void fillRectangle(Surface& surface, const Bounds& rectangle, const Color& color);
// A line of this width, half of it on each side of the rectangle's edges.
template <class Surface>
void drawFrame(Surface& surface, const Bounds& rectangle, double lineWidth, const Color& color);

struct Segment {
  double x0, y0, x1, y1;
};
// With round ends; a disc where both are the same.
template <class Surface>
void drawLine(Surface& surface, const Segment& segment, double lineWidth, const Color& color);

// RGBA, 8 bit, tight rows, not premultiplied.
struct Tile {
  const uint8_t* data;
  int64_t width, height;
};
template <class Surface>
void drawTile(Surface& surface, int64_t left, int64_t top, const Tile& tile);

}  // namespace nt::vision
