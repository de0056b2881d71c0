#include "histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace nt::cpu {
namespace {

// All that decides where a value belongs is done on its bits, or on floats that are no denormals: onnxruntime may have
// set the thread to take those for zero.
constexpr int32_t kMagnitude = 0x7fffffff;
constexpr int32_t kInfinity = 0x7f800000;
constexpr int32_t kMinusInfinity = std::numeric_limits<int32_t>::min() + 0x7fffff;

constexpr int kBinBits = 12;  // of kBins
// The width from which on no denormal leaves bin 0, and one over which is a float.
constexpr int kLeastScaled = -126;
// Values for which it is worth to clear a scratch and to add it up.
constexpr std::size_t kWorthClearing = 4 * Histogram::kBins;

int32_t bitsOf(float value) { return std::bit_cast<int32_t>(value); }
// An integer of the same order among all floats; the same makes it bits again.
int32_t ordered(int32_t bits) { return bits ^ ((bits >> 31) & kMagnitude); }

struct Extent {
  int32_t least = std::numeric_limits<int32_t>::max(), most = std::numeric_limits<int32_t>::min();
  bool isFinite() const noexcept { return least > kMinusInfinity && most < kInfinity; }
};

Extent extentOf(std::span<const float> values) {
  Extent extent;
  for (const float value : values) {
    const int32_t key = ordered(bitsOf(value));
    extent.least = std::min(extent.least, key);
    extent.most = std::max(extent.most, key);
  }
  return extent;
}

bool isFinite(float value) { return (bitsOf(value) & kMagnitude) < kInfinity; }

// The exponent of the least width that has room for a value other than zero.
int exponentFor(int32_t magnitude) {
  const int above = magnitude >= 0x00800000 ? (magnitude >> 23) - 126  // of the power of two above it
                                            : std::bit_width(static_cast<uint32_t>(magnitude)) - 149;
  return above - kBinBits;
}

// The bin of a value, by its bits alone.
std::size_t binOf(float value, int exponent) {
  const int32_t magnitude = bitsOf(value) & kMagnitude;
  const int32_t biased = std::max(magnitude >> 23, 1);
  const auto mantissa = static_cast<uint64_t>((magnitude & 0x7fffff) | (magnitude >= 0x00800000 ? 0x800000 : 0));
  const int shift = biased - 150 - exponent;
  return shift >= 0 ? mantissa << shift : shift > -64 ? mantissa >> -shift : 0;
}

// 1 / width, which multiplies without rounding.
float scaleOf(int exponent) { return std::bit_cast<float>((127 - exponent) << 23); }
int32_t scaled(float value, float scale) { return static_cast<int32_t>(std::fabs(value) * scale); }

float floatOf(int32_t key, bool any) {
  const int32_t bits = ordered(key);
  return any && (bits & kMagnitude) != 0 ? std::bit_cast<float>(bits) : 0;
}

}  // namespace

float Histogram::min() const noexcept { return floatOf(least_, finite_ > 0); }
float Histogram::max() const noexcept { return floatOf(most_, finite_ > 0); }
double Histogram::width() const noexcept { return exponent_ == kNone ? 0 : std::ldexp(1.0, exponent_); }

std::span<const uint64_t> Histogram::counts() const noexcept {
  std::size_t used = counts_.size();
  while (used > 0 && counts_[used - 1] == 0) --used;
  return {counts_.data(), used};
}

void Histogram::add(std::span<const float> values, Scratch& scratch) {
  const Extent all = extentOf(values);
  if (all.isFinite()) return addFinite(values, all.least, all.most, scratch);
  for (auto at = values.begin(); at != values.end();) {
    const auto begin = std::find_if(at, values.end(), isFinite);
    const auto end = std::find_if_not(begin, values.end(), isFinite);
    nonFinite_ += static_cast<uint64_t>(begin - at);
    const std::span<const float> run(begin, end);
    const Extent extent = extentOf(run);
    addFinite(run, extent.least, extent.most, scratch);
    at = end;
  }
}

void Histogram::addFinite(std::span<const float> values, int32_t least, int32_t most, Scratch& scratch) {
  if (values.empty()) return;
  counts_.resize(kBins);
  finite_ += values.size();
  least_ = std::min(least_, least);
  most_ = std::max(most_, most);
  const int32_t magnitude = std::max(ordered(least) & kMagnitude, ordered(most) & kMagnitude);
  if (magnitude != 0) widen(exponentFor(magnitude));
  if (exponent_ == kNone) {
    counts_[0] += values.size();
  } else if (exponent_ < kLeastScaled) {
    countTiny(values);
  } else if (values.size() < kWorthClearing) {
    countFew(values);
  } else {
    countMany(values, scratch);
  }
}

// Makes bins of so much width of those that there are, where they are less wide.
void Histogram::widen(int exponent) {
  if (exponent_ == kNone) exponent_ = exponent;
  if (exponent <= exponent_) return;
  const int shift = std::min(exponent - exponent_, kBinBits);
  exponent_ = exponent;
  for (std::size_t i = 1; i < kBins; ++i) counts_[i >> shift] += std::exchange(counts_[i], 0);
}

void Histogram::countTiny(std::span<const float> values) {
  for (const float value : values) ++counts_[binOf(value, exponent_)];
}

void Histogram::countFew(std::span<const float> values) {
  const float scale = scaleOf(exponent_);
  for (const float value : values) ++counts_[static_cast<std::size_t>(scaled(value, scale))];
}

void Histogram::countMany(std::span<const float> values, Scratch& scratch) {
  constexpr std::size_t kAtOnce = 512, kWays = Scratch::kWays, kMost = std::size_t{1} << 31;
  const float scale = scaleOf(exponent_);
  uint32_t* const counters = scratch.counts.data();
  while (!values.empty()) {
    const auto part = values.first(std::min(values.size(), kMost));  // more would not fit a counter
    values = values.subspan(part.size());
    for (std::size_t at = 0; at < part.size(); at += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, part.size() - at);
      std::array<int32_t, kAtOnce> bins;
      for (std::size_t i = 0; i < count; ++i) bins[i] = scaled(part[at + i], scale);
      for (std::size_t i = 0; i < count; ++i) ++counters[static_cast<std::size_t>(bins[i]) * kWays + i % kWays];
    }
    for (std::size_t i = 0; i < kBins; ++i) {
      for (std::size_t way = 0; way < kWays; ++way) counts_[i] += std::exchange(counters[i * kWays + way], 0);
    }
  }
}

}  // namespace nt::cpu
