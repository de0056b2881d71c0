// The two heavy steps of a blur: the means of blocks, and a gaussian of what is left.
#include <algorithm>
#include <cmath>

#include "blur.h"

namespace nt::vision {
namespace {

void addRow(uint16_t* __restrict sums, const uint8_t* __restrict row, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] = static_cast<uint16_t>(sums[i] + row[i]);
}

void addScaled(float* __restrict to, const float* __restrict from, float weight, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i] * weight;
}

// Bytes of rows are added up by columns: as many rows as 16 bits hold.
constexpr int64_t kMostRows = 256;

template <int kStep>
class PackedColumns {
 public:
  PackedColumns(const Packed<kStep>&, int64_t left, int64_t right)
      : left_(left), columns_(static_cast<std::size_t>((right - left) * kStep)) {}

  void clear() { std::fill(columns_.begin(), columns_.end(), 0); }
  void add(const Packed<kStep>& surface, int64_t y) {
    addRow(columns_.data(), surface.row(y) + left_ * kStep, columns_.size());
  }
  // Adds the three channels of these columns to `sums`.
  void fold(int64_t first, int64_t last, uint64_t* sums) const {
    const uint16_t* from = columns_.data() + (first - left_) * kStep;
    uint64_t one = 0, two = 0, three = 0;
    for (const uint16_t* const stop = from + (last - first) * kStep; from < stop; from += kStep) {
      one += from[0];
      two += from[1];
      three += from[2];
    }
    sums[0] += one;
    sums[1] += two;
    sums[2] += three;
  }

 private:
  int64_t left_;
  std::vector<uint16_t> columns_;
};

// A sample of chroma counts for each of the pixels that it is of.
class PlaneColumns {
 public:
  PlaneColumns(const Planes& surface, int64_t left, int64_t right)
      : left_(left),
        firstPair_(left / 2),
        pairs_(static_cast<std::size_t>((right - 1) / 2 + 1 - left / 2)),
        inTurns_(surface.step() == 2),
        luma_(static_cast<std::size_t>(right - left)),
        chroma_(surface.hasChroma() ? 2 * pairs_ : 0) {}

  void clear() {
    std::fill(luma_.begin(), luma_.end(), 0);
    std::fill(chroma_.begin(), chroma_.end(), 0);
  }
  void add(const Planes& surface, int64_t y) {
    addRow(luma_.data(), surface.lumaRow(y) + left_, luma_.size());
    if (chroma_.empty()) return;
    const int64_t from = firstPair_ * surface.step();
    if (inTurns_) {
      addRow(chroma_.data(), surface.uRow(y / 2) + from, chroma_.size());
    } else {
      addRow(chroma_.data(), surface.uRow(y / 2) + from, pairs_);
      addRow(chroma_.data() + pairs_, surface.vRow(y / 2) + from, pairs_);
    }
  }
  void fold(int64_t first, int64_t last, uint64_t* sums) const {
    uint64_t luma = 0, u = 0, v = 0;
    for (int64_t x = first; x < last; ++x) luma += luma_[static_cast<std::size_t>(x - left_)];
    sums[0] += luma;
    if (chroma_.empty()) return;
    const std::size_t step = inTurns_ ? 2 : 1, toV = inTurns_ ? 1 : pairs_;
    for (int64_t x = first; x < last; ++x) {
      const std::size_t pair = static_cast<std::size_t>(x / 2 - firstPair_) * step;
      u += chroma_[pair];
      v += chroma_[pair + toV];
    }
    sums[1] += u;
    sums[2] += v;
  }

 private:
  int64_t left_, firstPair_;
  std::size_t pairs_;
  bool inTurns_;
  std::vector<uint16_t> luma_, chroma_;
};

// Rows are added up first: then the columns are a fraction of the work.
template <class Columns, class Surface>
std::vector<float> meansOf(const Surface& surface, const Blocks& blocks) {
  const int64_t left = std::max<int64_t>(blocks.left, 0);
  const int64_t right = std::min(blocks.left + blocks.columns * blocks.factor, surface.width());
  const auto begin = [&](int64_t block) { return std::max(blocks.left + block * blocks.factor, left); };
  const auto end = [&](int64_t block) { return std::min(blocks.left + (block + 1) * blocks.factor, right); };
  const std::size_t length = static_cast<std::size_t>(blocks.columns) * 3;
  std::vector<float> means(length * static_cast<std::size_t>(blocks.rows));
  std::vector<uint64_t> sums(length);
  Columns columns(surface, left, right);
  for (int64_t row = 0; row < blocks.rows; ++row) {
    const int64_t first = std::max<int64_t>(blocks.top + row * blocks.factor, 0);
    const int64_t last = std::min(blocks.top + (row + 1) * blocks.factor, surface.height());
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t y = first; y < last;) {
      columns.clear();
      for (const int64_t stop = std::min(last, y + kMostRows); y < stop; ++y) columns.add(surface, y);
      for (int64_t block = 0; block < blocks.columns; ++block) columns.fold(begin(block), end(block), &sums[block * 3]);
    }
    float* const out = &means[row * length];
    for (int64_t block = 0; block < blocks.columns; ++block) {
      const auto pixels = static_cast<double>((end(block) - begin(block)) * (last - first));
      for (int c = 0; c < 3; ++c)
        out[block * 3 + c] = static_cast<float>(static_cast<double>(sums[block * 3 + c]) / pixels);
    }
  }
  return means;
}

std::vector<float> kernelOf(double sigma) {
  const auto radius = static_cast<int64_t>(std::ceil(3 * sigma));
  std::vector<float> kernel(static_cast<std::size_t>(2 * radius + 1));
  double sum = 0;
  for (int64_t i = -radius; i <= radius; ++i) sum += std::exp(-static_cast<double>(i * i) / (2 * sigma * sigma));
  for (int64_t i = -radius; i <= radius; ++i)
    kernel[i + radius] = static_cast<float>(std::exp(-static_cast<double>(i * i) / (2 * sigma * sigma)) / sum);
  return kernel;
}

// Along a row, from a copy of it whose ends are repeated.
void alongRow(float* row, int64_t columns, const std::vector<float>& kernel, std::vector<float>& padded) {
  const auto radius = static_cast<int64_t>(kernel.size() / 2);
  padded.resize(static_cast<std::size_t>(columns + 2 * radius) * 3);
  for (int64_t x = -radius; x < columns + radius; ++x)
    std::copy_n(row + std::clamp<int64_t>(x, 0, columns - 1) * 3, 3, &padded[(x + radius) * 3]);
  std::fill_n(row, columns * 3, 0.0f);
  for (std::size_t k = 0; k < kernel.size(); ++k) addScaled(row, &padded[k * 3], kernel[k], columns * 3);
}

}  // namespace

std::vector<float> blockMeans(const Packed<3>& surface, const Blocks& blocks) {
  return meansOf<PackedColumns<3>>(surface, blocks);
}
std::vector<float> blockMeans(const Packed<4>& surface, const Blocks& blocks) {
  return meansOf<PackedColumns<4>>(surface, blocks);
}
std::vector<float> blockMeans(const Planes& surface, const Blocks& blocks) {
  return meansOf<PlaneColumns>(surface, blocks);
}

void gaussian(std::vector<float>& pixels, int64_t columns, int64_t rows, double sigma) {
  if (sigma < 0.05) return;  // no neighbour has a share that is seen
  const std::vector<float> kernel = kernelOf(sigma);
  const auto radius = static_cast<int64_t>(kernel.size() / 2);
  const std::size_t length = static_cast<std::size_t>(columns) * 3;
  std::vector<float> padded;
  for (int64_t y = 0; y < rows; ++y) alongRow(&pixels[y * length], columns, kernel, padded);
  const std::vector<float> before = pixels;
  std::fill(pixels.begin(), pixels.end(), 0.0f);
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t k = -radius; k <= radius; ++k)
      addScaled(&pixels[y * length], &before[std::clamp<int64_t>(y + k, 0, rows - 1) * length], kernel[k + radius],
                length);
}

}  // namespace nt::vision
