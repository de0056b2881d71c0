// How often |x| was of what size in float32 tensors: bins whose width is a power of two, so that two of them make one
// of the next width exactly. What comes out depends neither on the order of the tensors nor on how they were split.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace nt::cpu {

class Histogram {
 public:
  static constexpr std::size_t kBins = 4096;

  // What a thread counts in: four counters for each bin, one after another, since a counter that is raised twice in a
  // row costs the wait for its first value. All zero between two calls.
  struct Scratch {
    static constexpr std::size_t kWays = 4;
    std::array<uint32_t, kBins * kWays> counts{};
  };

  void add(std::span<const float> values, Scratch& scratch);

  uint64_t finite() const noexcept { return finite_; }
  // NaN and infinities, which are counted in nothing else.
  uint64_t nonFinite() const noexcept { return nonFinite_; }
  // Of the finite ones; 0 where there is none. Never -0.
  float min() const noexcept;
  float max() const noexcept;
  // Bin i has the |x| in [i, i + 1) · width. The smallest power of two for which all fit; 0 where there is nothing but
  // zeros, which are all in bin 0.
  double width() const noexcept;
  // Up to the last bin that has any.
  std::span<const uint64_t> counts() const noexcept;

 private:
  static constexpr int kNone = std::numeric_limits<int>::min();

  void addFinite(std::span<const float> values, int32_t least, int32_t most, Scratch& scratch);
  void widen(int exponent);
  void countFew(std::span<const float> values);
  void countMany(std::span<const float> values, Scratch& scratch);
  void countTiny(std::span<const float> values);

  uint64_t finite_ = 0, nonFinite_ = 0;
  // floats as integers of the same order
  int32_t least_ = std::numeric_limits<int32_t>::max(), most_ = std::numeric_limits<int32_t>::min();
  int exponent_ = kNone;  // of the width
  std::vector<uint64_t> counts_;
};

}  // namespace nt::cpu
