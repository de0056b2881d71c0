#include "resample.h"

#include <algorithm>
#include <vector>

#include "kernels.h"
#include "rows.h"
#include "writer.h"

namespace nt::vision {
namespace {

class Resampler {
 public:
  Resampler(const Picture& picture, const Resize& resize, const Target& target)
      : resize_(resize),
        span_(spanOf(resize.columns)),
        pictureRows_(picture, span_.from, span_.count, resize.rows.taps),
        writer_(target, resize.columns.outputs, resize.rows.outputs),
        count_(static_cast<std::size_t>(resize.columns.end - resize.columns.begin)),
        values_(pictureRows_.bytes() + 1),
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
    writeRows(writer_, resize_, [&](int y) {
      combine(y);
      gather();
      addFill(resize_.rows.outside[y]);
    });
  }

 private:
  // Rows are added up first, where pixels lie side by side: the faster way.
  void combine(int y) {
    const Axis& rows = resize_.rows;
    pointers_.clear();
    weights_.clear();
    for (int k = 0; k < rows.taps; ++k) {
      const float weight =
          rows.weights[static_cast<std::size_t>(y) * static_cast<std::size_t>(rows.taps) + static_cast<std::size_t>(k)];
      if (weight == 0) continue;
      pointers_.push_back(pictureRows_.at(rows.first[y] + k));
      weights_.push_back(weight);
    }
    kernels().combine(pointers_.data(), weights_.data(), static_cast<int>(pointers_.size()), values_.data(),
                      values_.size() - 1);
  }

  void gather() {
    const Axis& columns = resize_.columns;
    const auto planeAt = [&](int channel) { return writer_.plane(channel) + columns.begin; };
    float* const planes[3] = {planeAt(0), planeAt(1), planeAt(2)};
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
