#include "overlay.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace nt::vision {
namespace {

int opacityOf(uint8_t value) { return value == 0 ? 0 : kOpaque; }
int opacityOf(float value) {  // not a number: nothing
  return value > 0 ? static_cast<int>(std::min(value, 1.0f) * kOpaque + 0.5f) : 0;
}

// Of a row of the picture: nothing beyond the mask.
template <class T>
void opacities(const Placed<T>& mask, int64_t y, std::vector<int>& out) {
  std::fill(out.begin(), out.end(), 0);
  const Area& area = mask.area;
  if (y < area.top || y >= area.bottom) return;
  const T* const row = mask.row(y);
  for (int64_t i = 0; i < area.width(); ++i) out[area.left + i] = opacityOf(row[i]);
}

void withAlpha(uint8_t* to, const uint8_t* from, const std::vector<int>& opacity) {
  for (std::size_t x = 0; x < opacity.size(); ++x, from += 3, to += 4) {
    std::copy_n(from, 3, to);
    to[3] = static_cast<uint8_t>((opacity[x] * 255 + kOpaque / 2) >> 15);
  }
}

void before(const Background& background, int64_t first, uint8_t* to, const uint8_t* from,
            const std::vector<int>& opacity) {
  for (std::size_t x = 0; x < opacity.size(); ++x, from += 3, to += 3) {
    const uint8_t* const behind =
        background.picture ? background.picture + (first + static_cast<int64_t>(x)) * 3 : background.color.data();
    for (int c = 0; c < 3; ++c) to[c] = mixed(behind[c], from[c], opacity[x]);
  }
}

}  // namespace

template <class Surface>
void overlayClasses(Surface& surface, const Placed<uint8_t>& mask, const Palette& palette, double opacity) {
  std::vector<Color> colors(palette.size() / 3);
  for (std::size_t i = 0; i < colors.size(); ++i)
    colors[i] = surface.own({palette[i * 3], palette[i * 3 + 1], palette[i * 3 + 2]});
  const auto share = static_cast<int>(opacity * kOpaque + 0.5);
  const Area& area = mask.area;
  for (int64_t y = area.top; y < area.bottom; ++y) {
    const uint8_t* const row = mask.row(y);
    for (int64_t i = 0; i < area.width();) {
      uint64_t eight = 1;
      if (i + 8 <= area.width()) std::memcpy(&eight, row + i, 8);
      if (eight == 0) {  // most of most masks
        i += 8;
        continue;
      }
      if (const uint8_t kind = row[i]; kind != 0) surface.blend(area.left + i, y, colors[kind], share);
      ++i;
    }
  }
  surface.finish();
}

#define NT_OVERLAY(Surface) template void overlayClasses(Surface&, const Placed<uint8_t>&, const Palette&, double);
NT_FOR_EACH_SURFACE(NT_OVERLAY)
#undef NT_OVERLAY

template <class T>
void cutOut(Canvas& canvas, const uint8_t* pixels, const Placed<T>& mask, const Background& background) {
  canvas.allocate();
  const int64_t width = canvas.width();
  std::vector<int> opacity(static_cast<std::size_t>(width));
  for (int64_t y = 0; y < canvas.height(); ++y) {
    opacities(mask, y, opacity);
    if (canvas.channels() == 4) {
      withAlpha(canvas.at(0, y), pixels + y * width * 3, opacity);
    } else {
      before(background, y * width, canvas.at(0, y), pixels + y * width * 3, opacity);
    }
  }
}

template void cutOut(Canvas&, const uint8_t*, const Placed<uint8_t>&, const Background&);
template void cutOut(Canvas&, const uint8_t*, const Placed<float>&, const Background&);

}  // namespace nt::vision
