#include "draw.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace nt::vision {
namespace {

// How much of a pixel lies between low and high.
double overlap(int64_t pixel, double low, double high) {
  const auto start = static_cast<double>(pixel);
  return std::clamp(std::min(start + 1, high) - std::max(start, low), 0.0, 1.0);
}

int opacityOf(double coverage) { return static_cast<int>(coverage * kOpaque + 0.5); }

// How much of each column of the area lies between low and high.
std::vector<float> overlaps(const Area& area, double low, double high) {
  std::vector<float> columns(static_cast<std::size_t>(area.width()));
  for (int64_t x = area.left; x < area.right; ++x) columns[x - area.left] = static_cast<float>(overlap(x, low, high));
  return columns;
}

Bounds grown(const Bounds& bounds, double by) {
  return {bounds.left - by, bounds.top - by, bounds.right + by, bounds.bottom + by};
}

// What lies in `outer` and not in `inner`.
template <class Surface>
void drawBetween(Surface& surface, const Bounds& outer, const Bounds& inner, const Color& color) {
  const Area area = touched(outer, surface.width(), surface.height());
  const Area hole = touched(inner, surface.width(), surface.height());
  const bool hollow = inner.left < inner.right && inner.top < inner.bottom;
  if (area.empty()) return;
  const Color own = surface.own(color);
  const std::vector<float> across = overlaps(area, outer.left, outer.right);
  const std::vector<float> acrossInside = overlaps(area, inner.left, inner.right);
  for (int64_t y = area.top; y < area.bottom; ++y) {
    const auto down = static_cast<float>(overlap(y, outer.top, outer.bottom));
    const auto downInside = static_cast<float>(hollow ? overlap(y, inner.top, inner.bottom) : 0);
    const auto pixels = [&](int64_t first, int64_t last) {
      for (int64_t x = first; x < last; ++x)
        surface.blend(x, y, own, opacityOf(across[x - area.left] * down - acrossInside[x - area.left] * downInside));
    };
    if (downInside < 1) {
      pixels(area.left, area.right);
    } else {  // all but the pixels that lie wholly in the hole
      const int64_t first = std::min(hole.left + 1, area.right);
      pixels(area.left, first);
      pixels(std::max(first, hole.right - 1), area.right);
    }
  }
  surface.finish();
}

// The smooth edge of a line: pixels whose centre is no farther away than half its width are half covered or more.
class Stroke {
 public:
  Stroke(const Segment& segment, double lineWidth)
      : from_(segment), dx_(segment.x1 - segment.x0), dy_(segment.y1 - segment.y0), reach_(lineWidth / 2 + 0.5) {
    square_ = dx_ * dx_ + dy_ * dy_;
  }

  Bounds bounds() const {
    return grown({std::min(from_.x0, from_.x1), std::min(from_.y0, from_.y1), std::max(from_.x0, from_.x1),
                  std::max(from_.y0, from_.y1)},
                 reach_);
  }

  // Left and right of what it covers in the row whose middle is y; right is below left where that is nothing.
  std::pair<double, double> reachAt(double y) const {
    double first = 0, last = 1;
    if (dy_ != 0) {
      const auto [low, high] = std::minmax({(y - reach_ - from_.y0) / dy_, (y + reach_ - from_.y0) / dy_});
      first = std::max(low, 0.0);
      last = std::min(high, 1.0);
    }
    if (first > last) return {0, -1};
    const auto [left, right] = std::minmax({from_.x0 + first * dx_, from_.x0 + last * dx_});
    return {left - reach_, right + reach_};
  }

  double coverage(double x, double y) const {
    const double along =
        square_ > 0 ? std::clamp(((x - from_.x0) * dx_ + (y - from_.y0) * dy_) / square_, 0.0, 1.0) : 0;
    const double across = x - from_.x0 - along * dx_, down = y - from_.y0 - along * dy_;
    // not hypot: that of a new glibc is another symbol, and old systems lack it
    const double distance = std::sqrt(across * across + down * down);
    return std::clamp(reach_ - distance, 0.0, 1.0);
  }

 private:
  const Segment from_;
  const double dx_, dy_, reach_;
  double square_;
};

}  // namespace

template <class Surface>
void fillRectangle(Surface& surface, const Bounds& rectangle, const Color& color) {
  drawBetween(surface, rectangle, {0, 0, 0, 0}, color);
}

template <class Surface>
void drawFrame(Surface& surface, const Bounds& rectangle, double lineWidth, const Color& color) {
  drawBetween(surface, grown(rectangle, lineWidth / 2), grown(rectangle, -lineWidth / 2), color);
}

template <class Surface>
void drawLine(Surface& surface, const Segment& segment, double lineWidth, const Color& color) {
  const Stroke stroke(segment, lineWidth);
  const Color own = surface.own(color);
  const Area area = touched(stroke.bounds(), surface.width(), surface.height());
  for (int64_t y = area.top; y < area.bottom; ++y) {
    const double middle = static_cast<double>(y) + 0.5;
    const auto [low, high] = stroke.reachAt(middle);
    const Area row = touched({low, 0, high, 1}, surface.width(), surface.height());
    for (int64_t x = row.left; x < row.right; ++x)
      surface.blend(x, y, own, opacityOf(stroke.coverage(static_cast<double>(x) + 0.5, middle)));
  }
  surface.finish();
}

template <class Surface>
void drawTile(Surface& surface, int64_t left, int64_t top, const Tile& tile) {
  const int64_t first = std::max<int64_t>(left, 0), last = std::min(left + tile.width, surface.width());
  for (int64_t y = std::max<int64_t>(top, 0); y < std::min(top + tile.height, surface.height()); ++y) {
    const uint8_t* from = tile.data + ((y - top) * tile.width + first - left) * 4;
    for (int64_t x = first; x < last; ++x, from += 4) {
      if (from[3] == 0) continue;
      surface.blend(x, y, surface.own({from[0], from[1], from[2]}), (from[3] * kOpaque + 127) / 255);
    }
  }
  surface.finish();
}

#define NT_DRAW(Surface)                                                  \
  template void fillRectangle(Surface&, const Bounds&, const Color&);     \
  template void drawFrame(Surface&, const Bounds&, double, const Color&); \
  template void drawLine(Surface&, const Segment&, double, const Color&); \
  template void drawTile(Surface&, int64_t, int64_t, const Tile&);
NT_FOR_EACH_SURFACE(NT_DRAW)
#undef NT_DRAW

}  // namespace nt::vision
