// Lines, rectangles and small pictures drawn on a canvas: edges are smooth, and only the pixels that they touch are
// read or written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "canvas.h"

namespace nt::vision {

using Color = std::array<uint8_t, 3>;

void fillRectangle(Canvas& canvas, const Bounds& rectangle, const Color& color);
// A line of this width, half of it on each side of the rectangle's edges.
void drawFrame(Canvas& canvas, const Bounds& rectangle, double lineWidth, const Color& color);

struct Segment {
  double x0, y0, x1, y1;
};
// With round ends; a disc where both are the same.
void drawLine(Canvas& canvas, const Segment& segment, double lineWidth, const Color& color);

// RGBA, 8 bit, tight rows, not premultiplied.
struct Tile {
  const uint8_t* data;
  int64_t width, height;
};
void drawTile(Canvas& canvas, int64_t left, int64_t top, const Tile& tile);

}  // namespace nt::vision
