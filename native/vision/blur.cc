#include "blur.h"

#include <algorithm>
#include <cmath>

namespace nt::vision {
namespace {

// Above twice this, in pixels, a region is made smaller before it is blurred and larger after it: looks the same, and
// takes far less time. Nor does the small gaussian ever get wider than twice this.
constexpr double kSmallSigma = 4;

int64_t quotient(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }  // rounded down

// Moves and enlarges lo..hi so that whole blocks fill it, if the picture has room for that.
struct BlockRange {
  int64_t start, count;
};
BlockRange wholeBlocks(int64_t lo, int64_t hi, int64_t factor, int64_t size) {
  const int64_t count = (hi - lo + factor - 1) / factor;
  if (lo + count * factor <= size) return {lo, count};
  if (size >= count * factor) return {size - count * factor, count};
  return {0, (size + factor - 1) / factor};
}

uint8_t roundedByte(double value) { return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

}  // namespace

Cover Cover::filled(const Color& color) {
  Cover cover;
  cover.color_ = color;
  return cover;
}

template <class Surface>
Cover Cover::blurred(const Surface& surface, const Area& area, double sigma) {
  // What lies two deviations around it is seen by the gaussian; without it the region's edge would be that of a tile.
  const Area seen =
      touched({area.left - 2 * sigma, area.top - 2 * sigma, area.right + 2 * sigma, area.bottom + 2 * sigma},
              surface.width(), surface.height());
  const int64_t most = std::max(seen.width(), seen.height());
  const int64_t factor = static_cast<int64_t>(std::clamp(sigma / kSmallSigma, 1.0, static_cast<double>(most)));
  const BlockRange x = wholeBlocks(seen.left, seen.right, factor, surface.width());
  const BlockRange y = wholeBlocks(seen.top, seen.bottom, factor, surface.height());
  Cover cover;
  cover.method_ = Method::blur;
  cover.blocks_ = {x.start, y.start, factor, x.count, y.count};
  cover.means_ = blockMeans(surface, cover.blocks_);
  // making it smaller blurs, by a variance of (f² - 1) / 12, and larger in between, by (f² - 1) / 6
  const double square = static_cast<double>(factor) * static_cast<double>(factor);
  const double small = std::sqrt(std::max(0.0, (sigma * sigma - (square - 1) / 4) / square));
  gaussian(cover.means_, x.count, y.count, std::min(small, 2 * kSmallSigma));
  return cover;
}

template <class Surface>
Cover Cover::pixelated(const Surface& surface, const Area& area, double x, double y, double block) {
  Cover cover;
  cover.method_ = Method::pixelate;
  const auto factor = static_cast<int64_t>(std::ceil(std::max(block, 2.0)));  // a block of one pixel would hide nothing
  const auto anchorX = static_cast<int64_t>(std::floor(x));
  const auto anchorY = static_cast<int64_t>(std::floor(y));
  const int64_t left = anchorX + quotient(area.left - anchorX, factor) * factor;
  const int64_t top = anchorY + quotient(area.top - anchorY, factor) * factor;
  cover.blocks_ = {left, top, factor, (area.right - left + factor - 1) / factor,
                   (area.bottom - top + factor - 1) / factor};
  cover.means_ = blockMeans(surface, cover.blocks_);
  return cover;
}

#define NT_COVER(Surface)                                             \
  template Cover Cover::blurred(const Surface&, const Area&, double); \
  template Cover Cover::pixelated(const Surface&, const Area&, double, double, double);
NT_FOR_EACH_SURFACE(NT_COVER)
#undef NT_COVER

void Cover::row(int64_t y, int64_t left, int64_t right, uint8_t* out) {
  if (method_ != Method::fill) lineAt(y);
  if (method_ == Method::blur) smoothRow(left, right, out);
  if (method_ == Method::pixelate) flatRow(left, right, out);
  if (method_ == Method::fill)
    for (int64_t x = left; x < right; ++x, out += 3) std::copy(color_.begin(), color_.end(), out);
}

// In between two rows of blocks for the gaussian, of the row's own blocks else.
void Cover::lineAt(int64_t y) {
  const int64_t f = blocks_.factor;
  const bool smooth = method_ == Method::blur;
  const int64_t twice = smooth ? 2 * (y - blocks_.top) + 1 - f : 2 * (y - blocks_.top);
  const int64_t first = quotient(twice, 2 * f);
  const float part = smooth ? static_cast<float>(twice - 2 * f * first) / static_cast<float>(2 * f) : 0;
  const std::size_t length = static_cast<std::size_t>(blocks_.columns) * 3;
  const auto rowOf = [&](int64_t row) {
    return means_.data() + std::clamp<int64_t>(row, 0, blocks_.rows - 1) * length;
  };
  const float* const a = rowOf(first);
  const float* const b = rowOf(first + 1);
  line_.resize(length);
  for (std::size_t i = 0; i < length; ++i) line_[i] = a[i] + (b[i] - a[i]) * part;
}

void Cover::flatRow(int64_t left, int64_t right, uint8_t* out) {
  for (int64_t x = left; x < right;) {
    const int64_t block = (x - blocks_.left) / blocks_.factor;
    const int64_t end = std::min(right, blocks_.left + (block + 1) * blocks_.factor);
    const float* const mean = &line_[static_cast<std::size_t>(block) * 3];
    const uint8_t color[3] = {roundedByte(mean[0]), roundedByte(mean[1]), roundedByte(mean[2])};
    for (; x < end; ++x, out += 3) std::copy(color, color + 3, out);
  }
}

// Linear between the centres of two blocks, so there each pixel is the one before it and a step, in fixed point.
void Cover::smoothRow(int64_t left, int64_t right, uint8_t* out) {
  constexpr int kFraction = 32;
  constexpr double kOne = static_cast<double>(int64_t{1} << kFraction);
  const int64_t f = blocks_.factor;
  for (int64_t x = left; x < right;) {
    const int64_t twice = 2 * (x - blocks_.left) + 1 - f;
    const int64_t first = quotient(twice, 2 * f);
    const double part = static_cast<double>(twice - 2 * f * first) / static_cast<double>(2 * f);
    // pixels until the next block's centre
    const int64_t count = std::min(right - x, (2 * f * (first + 1) - twice + 1) / 2);
    const float* const a = &line_[static_cast<std::size_t>(std::clamp<int64_t>(first, 0, blocks_.columns - 1)) * 3];
    const float* const b = &line_[static_cast<std::size_t>(std::clamp<int64_t>(first + 1, 0, blocks_.columns - 1)) * 3];
    int64_t value[3];
    int64_t step[3];
    for (int c = 0; c < 3; ++c) {
      const double slope = static_cast<double>(b[c]) - a[c];
      value[c] = static_cast<int64_t>((a[c] + slope * part + 0.5) * kOne);
      step[c] = static_cast<int64_t>(slope / static_cast<double>(f) * kOne);
    }
    for (int64_t i = 0; i < count; ++i, out += 3) {
      for (int c = 0; c < 3; ++c) {
        out[c] = static_cast<uint8_t>(value[c] >> kFraction);
        value[c] += step[c];
      }
    }
    x += count;
  }
}

}  // namespace nt::vision
