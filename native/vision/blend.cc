#include "blend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace nt::vision {
namespace {

// A row's pixels, by their numbers in it: nothing is drawn beyond first and last, and from solidFirst on until
// solidLast all is opaque.
struct CoveredSpan {
  int64_t first, solidFirst, solidLast, last;
};

// How opaque a region's cover is at a pixel's centre, by the square of its distance from the middle, where the edge has
// 1: opaque within, nothing beyond the feather, a smooth slope between.
class Opacity {
 public:
  Opacity(const Bounds& region, const HideStyle& style, const Area& area)
      : ellipse_(style.ellipse),
        left_(area.left),
        centreX_((region.left + region.right) / 2),
        centreY_((region.top + region.bottom) / 2),
        halfX_((region.right - region.left) / 2),
        halfY_((region.bottom - region.top) / 2) {
    const double outer = 1 + style.feather;
    most_ = outer * outer;
    if (style.feather > 0) {
      scale_ = kSteps / (most_ - 1);
      for (int i = 0; i < kSteps; ++i) {
        const double t = (outer - std::sqrt(1 + (i + 0.5) / scale_)) / style.feather;
        slope_[i] = static_cast<uint16_t>(std::lround(t * t * (3 - 2 * t) * kOpaque));
      }
    }
    columns_.resize(static_cast<std::size_t>(area.width()));
    for (int64_t x = area.left; x < area.right; ++x) columns_[x - area.left] = squared(x, centreX_, halfX_);
  }

  // Of the pixels of a row that may be more than transparent, and which of these are opaque for sure.
  CoveredSpan row(int64_t y, uint16_t* out) const {
    const float down = squared(y, centreY_, halfY_);
    const CoveredSpan span = spanOf(down);
    const auto fill = [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const float distance = ellipse_ ? columns_[i] + down : std::max(columns_[i], down);
        out[i] = distance <= 1 ? kOpaque : distance < most_ ? sloped(distance) : 0;
      }
    };
    fill(span.first, span.solidFirst);
    fill(span.solidLast, span.last);
    return span;
  }

 private:
  static constexpr int kSteps = 4096;

  static float squared(int64_t pixel, double centre, double half) {
    const double distance = (static_cast<double>(pixel) + 0.5 - centre) / half;
    return static_cast<float>(std::min(distance * distance, 1e9));
  }
  uint16_t sloped(float distance) const {
    return slope_[std::min(kSteps - 1, static_cast<int>((distance - 1) * static_cast<float>(scale_)))];
  }

  // Numbers of the columns within so many half widths of the middle; a pixel more or less for what is rounded.
  std::pair<int64_t, int64_t> within(double squaredHalves, int64_t more) const {
    if (squaredHalves < 0) return {0, 0};
    const double reach = std::sqrt(squaredHalves) * halfX_;
    const auto count = static_cast<double>(columns_.size());
    const double low = centreX_ - reach - static_cast<double>(left_ + more);
    const double high = centreX_ + reach - static_cast<double>(left_ - more);
    return {static_cast<int64_t>(std::clamp(low, 0.0, count)), static_cast<int64_t>(std::clamp(high, 0.0, count))};
  }

  CoveredSpan spanOf(float down) const {
    const auto [first, last] = within(ellipse_ ? most_ - down : down < most_ ? most_ : -1, 1);
    const auto [low, high] = within(ellipse_ ? 1 - down : down <= 1 ? 1 : -1, -2);
    return low < high && first <= low && high <= last ? CoveredSpan{first, low, high, last}
                                                      : CoveredSpan{first, last, last, last};
  }

  const bool ellipse_;
  const int64_t left_;
  const double centreX_, centreY_, halfX_, halfY_;
  double most_ = 1, scale_ = 0;
  std::array<uint16_t, kSteps> slope_{};
  std::vector<float> columns_;
};

// Lays the cover on the area; `opacityOf(y, out)` gives the span of a row, and the opacity of what is not solid in it.
template <class Surface, class OpacityOf>
void lay(Surface& surface, const Area& area, Cover cover, const OpacityOf& opacityOf) {
  std::vector<uint16_t> opacity(static_cast<std::size_t>(area.width()));
  std::vector<uint8_t> over(static_cast<std::size_t>(area.width()) * 3);
  for (int64_t y = area.top; y < area.bottom; ++y) {
    const CoveredSpan span = opacityOf(y, opacity.data());
    if (span.first >= span.last) continue;
    cover.row(y, area.left + span.first, area.left + span.last, over.data() + span.first * 3);
    const auto blend = [&](int64_t first, int64_t last, const uint16_t* opacities) {
      surface.lay(y, area.left + first, area.left + last, over.data() + first * 3, opacities);
    };
    blend(span.first, span.solidFirst, opacity.data() + span.first);
    blend(span.solidFirst, span.solidLast, nullptr);
    blend(span.solidLast, span.last, opacity.data() + span.solidLast);
  }
  surface.finish();
}

// `longer`: the side that the strength is a part of.
template <class Surface>
Cover coverOf(const Surface& surface, const Area& area, double x, double y, double longer, const HideStyle& style) {
  if (style.method == Method::fill) return Cover::filled(surface.own(style.color));
  const double size = longer * style.strength;
  return style.method == Method::blur ? Cover::blurred(surface, area, size)
                                      : Cover::pixelated(surface, area, x, y, size);
}

// The smallest area around what is set.
std::optional<Area> boundsOf(const Placed<uint8_t>& mask) {
  const auto isSet = [](uint8_t byte) { return byte != 0; };
  const Area& whole = mask.area;
  Area area{whole.right, whole.bottom, whole.left, whole.top};
  for (int64_t y = whole.top; y < whole.bottom; ++y) {
    const uint8_t* const row = mask.row(y);
    const uint8_t* const end = row + whole.width();
    const uint8_t* const first = std::find_if(row, end, isSet);
    if (first == end) continue;
    const uint8_t* last = end;
    while (last[-1] == 0) --last;
    area = {std::min(area.left, whole.left + (first - row)), std::min(area.top, y),
            std::max(area.right, whole.left + (last - row)), y + 1};
  }
  if (area.empty()) return std::nullopt;
  return area;
}

template <class Surface>
void layOverRegion(Surface& surface, const Bounds& region, const HideStyle& style) {
  const double width = region.right - region.left, height = region.bottom - region.top;
  if (!(width > 0) || !(height > 0)) return;
  const double dx = width * style.feather / 2, dy = height * style.feather / 2;
  const Area area = touched({region.left - dx, region.top - dy, region.right + dx, region.bottom + dy}, surface.width(),
                            surface.height());
  if (area.empty()) return;
  const Opacity opacity(region, style, area);
  lay(surface, area, coverOf(surface, area, region.left, region.top, std::max(width, height), style),
      [&](int64_t y, uint16_t* out) { return opacity.row(y, out); });
}

}  // namespace

template <class Surface>
void hideRegion(Surface& surface, const Bounds& region, const HideStyle& style) {
  layOverRegion(surface, region, style);
}

template <class Surface>
void hideMask(Surface& surface, const Placed<uint8_t>& mask, const HideStyle& style) {
  const std::optional<Area> area = boundsOf(mask);
  if (!area) return;
  const auto longer = static_cast<double>(std::max(area->width(), area->height()));
  const auto x = static_cast<double>(area->left), y = static_cast<double>(area->top);
  lay(surface, *area, coverOf(surface, *area, x, y, longer, style), [&](int64_t row, uint16_t* out) {
    const uint8_t* const from = mask.row(row) + (area->left - mask.area.left);
    for (int64_t i = 0; i < area->width(); ++i) out[i] = from[i] != 0 ? kOpaque : 0;
    return CoveredSpan{0, area->width(), area->width(), area->width()};
  });
}

#define NT_HIDE(Surface)                                               \
  template void hideRegion(Surface&, const Bounds&, const HideStyle&); \
  template void hideMask(Surface&, const Placed<uint8_t>&, const HideStyle&);
NT_FOR_EACH_SURFACE(NT_HIDE)
#undef NT_HIDE

}  // namespace nt::vision
