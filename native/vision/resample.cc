#include "resample.h"

#include <algorithm>
#include <vector>

#include "kernels.h"
#include "rows.h"
#include "writer.h"

namespace nt::vision {
namespace {

// Columns of the picture that any output sees.
struct Span {
  int from = 0, count = 0;
};

Span spanOf(const Axis& axis) {
  if (axis.begin >= axis.end) return {};
  const auto [least, most] = std::minmax_element(axis.first + axis.begin, axis.first + axis.end);
  return {*least, *most + axis.taps - *least};
}

class Resampler {
 public:
  Resampler(const Picture& picture, const Resize& resize, const Target& target)
      : resize_(resize),
        span_(spanOf(resize.columns)),
        pictureRows_(picture, span_.from, span_.count, resize.rows.taps),
        writer_(target, resize.columns.outputs, resize.rows.outputs),
        count_(static_cast<std::size_t>(resize.columns.end - resize.columns.begin)),
        values_(pictureRows_.bytes() + 1),
        narrow_(resize.roundedBetween ? resize.rows.taps : 1, resize.roundedBetween ? count_ * 3 : 0),
        narrowed_(resize.roundedBetween ? count_ * 3 : 0),
        first_(count_) {
    const Axis& columns = resize.columns;
    for (std::size_t i = 0; i < count_; ++i)
      first_[i] = columns.first[static_cast<std::size_t>(columns.begin) + i] - span_.from;
    pointers_.reserve(static_cast<std::size_t>(resize.rows.taps));
    weights_.reserve(static_cast<std::size_t>(resize.rows.taps));
    columnsReachOut_ = std::any_of(columns.outside + columns.begin, columns.outside + columns.end,
                                   [](float weight) { return weight != 0; });
  }

  void run() {
    const Axis &columns = resize_.columns, &rows = resize_.rows;
    for (int y = 0; y < rows.outputs; ++y) {
      if (y < rows.begin || y >= rows.end || count_ == 0) {
        fillColumns(0, columns.outputs);
      } else {
        fillColumns(0, columns.begin);
        fillColumns(columns.end, columns.outputs);
        resize_.roundedBetween ? columnsThenRows(y) : rowsThenColumns(y);
        addFill(rows.outside[y]);
      }
      writer_.write(y);
    }
  }

 private:
  float* planeFrom(int channel) { return writer_.plane(channel) + resize_.columns.begin; }

  void fillColumns(int from, int to) {
    for (int channel = 0; channel < 3; ++channel)
      std::fill(writer_.plane(channel) + from, writer_.plane(channel) + to, resize_.fill[channel]);
  }

  // The rows that output row `y` is made of, and what each weighs.
  template <class RowAt>
  void collect(int y, const RowAt& rowAt) {
    const Axis& rows = resize_.rows;
    pointers_.clear();
    weights_.clear();
    for (int k = 0; k < rows.taps; ++k) {
      const float weight =
          rows.weights[static_cast<std::size_t>(y) * static_cast<std::size_t>(rows.taps) + static_cast<std::size_t>(k)];
      if (weight == 0) continue;
      pointers_.push_back(rowAt(rows.first[y] + k));
      weights_.push_back(weight);
    }
  }

  // The faster way: rows are added up where pixels lie side by side.
  void rowsThenColumns(int y) {
    collect(y, [&](int row) { return pictureRows_.at(row); });
    kernels().combine(pointers_.data(), weights_.data(), static_cast<int>(pointers_.size()), values_.data(),
                      values_.size() - 1);
    float* const planes[3] = {planeFrom(0), planeFrom(1), planeFrom(2)};
    gather(planes);
  }

  void columnsThenRows(int y) {
    collect(y, [&](int row) { return narrow_.at(row, [&](uint8_t* to) { narrow(row, to); }); });
    for (int channel = 0; channel < 3; ++channel) {
      kernels().combine(pointers_.data(), weights_.data(), static_cast<int>(pointers_.size()), planeFrom(channel),
                        count_);
      for (const uint8_t*& pointer : pointers_) pointer += count_;
    }
  }

  // A row of the picture, made as narrow as the output, as three planes.
  void narrow(int row, uint8_t* to) {
    const uint8_t* const pixels = pictureRows_.at(row);
    std::copy_n(pixels, values_.size() - 1, values_.data());
    float* const planes[3] = {narrowed_.data(), narrowed_.data() + count_, narrowed_.data() + 2 * count_};
    gather(planes);
    kernels().toByte(narrowed_.data(), to, narrowed_.size());
  }

  void gather(float* const* planes) {
    const Axis& columns = resize_.columns;
    const std::size_t skipped = static_cast<std::size_t>(columns.begin) * static_cast<std::size_t>(columns.taps);
    kernels().gather(values_.data(), first_.data(), columns.weights + skipped, columns.taps, count_, planes);
  }

  // What lies outside of the picture weighs as much as a row or a column of it does there, not twice at a corner.
  void addFill(float outsideRow) {
    if (!columnsReachOut_ && outsideRow == 0) return;
    const Axis& columns = resize_.columns;
    for (int x = columns.begin; x < columns.end; ++x) {
      const float weight = outsideRow + columns.outside[x] - outsideRow * columns.outside[x];
      for (int channel = 0; channel < 3; ++channel) writer_.plane(channel)[x] += weight * resize_.fill[channel];
    }
  }

  const Resize& resize_;
  Span span_;
  PictureRows pictureRows_;
  Writer writer_;
  std::size_t count_;  // output columns that see the picture
  std::vector<float> values_;
  RowRing narrow_;
  std::vector<float> narrowed_;
  std::vector<int32_t> first_;
  std::vector<const uint8_t*> pointers_;
  std::vector<float> weights_;
  bool columnsReachOut_ = false;
};

}  // namespace

void resample(const Picture& picture, const Resize& resize, const Target& target) {
  Resampler(picture, resize, target).run();
}

}  // namespace nt::vision
