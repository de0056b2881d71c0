// Values in bounded memory: all of them up to a number, beyond it a sample.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace nt::execution {

inline double sizeOf(double value) noexcept { return value; }

// Of more than `most` values it keeps the least, the greatest (by sizeOf) and of the others a sample in which each is
// as likely as any other (Vitter's algorithm R). The same values give the same sample.
template <class T>
class Sample {
 public:
  explicit Sample(std::size_t most) : most_(std::max(most, kLeast)) {}

  void add(T value) {
    ++seen_;
    if (kept_.size() < most_) {
      kept_.push_back(value);
      return;
    }
    if (seen_ == most_ + 1) placeExtremes();
    if (sizeOf(value) < sizeOf(kept_[0])) std::swap(value, kept_[0]);
    if (sizeOf(value) > sizeOf(kept_[1])) std::swap(value, kept_[1]);
    const uint64_t place = 2 + random_() % (seen_ - 2);
    if (place < most_) kept_[place] = value;
  }

  // Takes out what was seen so far as if it had never been there, where `is` holds of it; before any was left out.
  template <class Is>
  std::size_t drop(const Is& is) {
    const std::size_t dropped = std::erase_if(kept_, is);
    seen_ -= dropped;
    return dropped;
  }

  bool isFull() const noexcept { return kept_.size() == most_; }
  uint64_t seen() const noexcept { return seen_; }
  const std::vector<T>& kept() const noexcept { return kept_; }

 private:
  static constexpr std::size_t kLeast = 16;

  void placeExtremes() {
    const auto smaller = [](const T& a, const T& b) { return sizeOf(a) < sizeOf(b); };
    std::iter_swap(kept_.begin(), std::ranges::min_element(kept_, smaller));
    std::iter_swap(kept_.begin() + 1, std::max_element(kept_.begin() + 1, kept_.end(), smaller));
  }

  std::size_t most_;
  uint64_t seen_ = 0;
  std::vector<T> kept_;
  std::mt19937_64 random_;
};

}  // namespace nt::execution
