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

// One row of blocks. Rows are summed first, up to as many as 16 bits hold: then the columns are a fraction of the work.
class BlockRow {
 public:
  BlockRow(const Canvas& canvas, const Blocks& blocks)
      : canvas_(canvas),
        blocks_(blocks),
        left_(std::max<int64_t>(blocks.left, 0)),
        right_(std::min(blocks.left + blocks.columns * blocks.factor, canvas.width())),
        columns_(static_cast<std::size_t>(right_ - left_) * 3),
        sums_(static_cast<std::size_t>(blocks.columns) * 3) {}

  void means(int64_t top, int64_t bottom, float* out) {
    std::fill(sums_.begin(), sums_.end(), 0);
    for (int64_t y = top; y < bottom;) {
      std::fill(columns_.begin(), columns_.end(), 0);
      for (const int64_t end = std::min(bottom, y + 256); y < end; ++y)
        addRow(columns_.data(), canvas_.at(left_, y), columns_.size());
      fold();
    }
    for (int64_t block = 0; block < blocks_.columns; ++block) {
      const auto pixels = static_cast<double>((end(block) - begin(block)) * (bottom - top));
      for (int c = 0; c < 3; ++c)
        out[block * 3 + c] = static_cast<float>(static_cast<double>(sums_[block * 3 + c]) / pixels);
    }
  }

 private:
  int64_t begin(int64_t block) const { return std::max(blocks_.left + block * blocks_.factor, left_); }
  int64_t end(int64_t block) const { return std::min(blocks_.left + (block + 1) * blocks_.factor, right_); }

  void fold() {
    const uint16_t* from = columns_.data();
    for (int64_t block = 0; block < blocks_.columns; ++block) {
      uint64_t red = 0, green = 0, blue = 0;
      for (const uint16_t* const stop = from + (end(block) - begin(block)) * 3; from < stop; from += 3) {
        red += from[0];
        green += from[1];
        blue += from[2];
      }
      sums_[block * 3] += red;
      sums_[block * 3 + 1] += green;
      sums_[block * 3 + 2] += blue;
    }
  }

  const Canvas& canvas_;
  const Blocks blocks_;
  const int64_t left_, right_;
  std::vector<uint16_t> columns_;
  std::vector<uint64_t> sums_;
};

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

std::vector<float> blockMeans(const Canvas& canvas, const Blocks& blocks) {
  const std::size_t length = static_cast<std::size_t>(blocks.columns) * 3;
  std::vector<float> means(length * static_cast<std::size_t>(blocks.rows));
  BlockRow row(canvas, blocks);
  for (int64_t y = 0; y < blocks.rows; ++y) {
    const int64_t top = blocks.top + y * blocks.factor;
    row.means(std::max<int64_t>(top, 0), std::min(top + blocks.factor, canvas.height()), &means[y * length]);
  }
  return means;
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
