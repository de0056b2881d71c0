// A resize as PIL makes one of bytes: columns, rounded to bytes, then rows, in whole numbers throughout.
#include "resample_bytes.h"

#include <algorithm>
#include <vector>

#include "kernels.h"
#include "rows.h"
#include "writer.h"

namespace nt::vision {
namespace {

constexpr int32_t kHalf = 1 << (kWholeBits - 1);

class BytesResampler {
 public:
  BytesResampler(const Picture& picture, const WholeResize& resize, const Target& target)
      : resize_(resize),
        span_(spanOf(resize.columns)),
        pictureRows_(picture, span_.from, span_.count, 1),
        writer_(target, resize.columns.outputs, resize.rows.outputs),
        count_(static_cast<std::size_t>(resize.columns.end - resize.columns.begin)),
        // a byte more for each row, since four are written at a time
        narrow_(resize.rows.taps, count_ * 3 + 1),
        made_(count_ * 3),
        first_(count_),
        columnWeights_(count_ * wholeStep(resize.columns.taps)) {
    const WholeAxis& columns = resize.columns;
    const auto taps = static_cast<std::size_t>(columns.taps);
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t output = static_cast<std::size_t>(columns.begin) + i;
      first_[i] = columns.first[output] - span_.from;
      std::copy_n(columns.weights + output * taps, taps, columnWeights_.data() + i * wholeStep(columns.taps));
    }
    pointers_.reserve(static_cast<std::size_t>(resize.rows.taps));
    weights_.reserve(static_cast<std::size_t>(resize.rows.taps));
    setColumnStarts();
    setRowStarts(0);
  }

  void run() {
    writeRows(writer_, resize_, [&](int y) {
      setRowStarts(resize_.rows.outside[y]);
      combine(y);
    });
  }

 private:
  // What an output is before any pixel is added: what it sees of the fill, and the half that rounds it.
  int32_t startOf(int32_t outside, std::size_t channel) const { return kHalf + outside * resize_.fill[channel]; }

  void setColumnStarts() {
    columnStarts_.assign(count_ * 4, 0);
    for (std::size_t i = 0; i < count_; ++i) {
      const int32_t outside = resize_.columns.outside[static_cast<std::size_t>(resize_.columns.begin) + i];
      for (std::size_t channel = 0; channel < 3; ++channel) columnStarts_[4 * i + channel] = startOf(outside, channel);
    }
  }

  void setRowStarts(int32_t outside) {
    if (!rowStarts_.empty() && outside == outsideRow_) return;
    outsideRow_ = outside;
    rowStarts_.resize(count_ * 3);
    for (std::size_t i = 0; i < rowStarts_.size(); ++i) rowStarts_[i] = startOf(outside, i % 3);
  }

  void combine(int y) {
    const WholeAxis& rows = resize_.rows;
    const auto taps = static_cast<std::size_t>(rows.taps);
    pointers_.clear();
    weights_.clear();
    for (int k = 0; k < rows.taps; ++k) {
      const int32_t weight = rows.weights[static_cast<std::size_t>(y) * taps + static_cast<std::size_t>(k)];
      if (weight == 0) continue;
      pointers_.push_back(narrow_.at(rows.first[y] + k, [&](uint8_t* to) { gather(rows.first[y] + k, to); }));
      weights_.push_back(weight);
    }
    kernels().combineBytes(pointers_.data(), weights_.data(), static_cast<int>(pointers_.size()), rowStarts_.data(),
                           made_.data(), made_.size());
    const auto planeAt = [&](int channel) { return writer_.plane(channel) + resize_.columns.begin; };
    float* const planes[3] = {planeAt(0), planeAt(1), planeAt(2)};
    kernels().spread(made_.data(), planes, count_);
  }

  // A row of the picture, made as narrow as the output.
  void gather(int row, uint8_t* to) {
    kernels().gatherBytes(pictureRows_.at(row), pictureRows_.bytes(), first_.data(), columnWeights_.data(),
                          resize_.columns.taps, columnStarts_.data(), to, count_);
  }

  const WholeResize& resize_;
  Span span_;
  PictureRows pictureRows_;
  Writer writer_;
  std::size_t count_;  // output columns that see the picture
  RowRing narrow_;
  std::vector<uint8_t> made_;
  std::vector<int32_t> first_, columnWeights_, columnStarts_, rowStarts_;
  int32_t outsideRow_ = 0;
  std::vector<const uint8_t*> pointers_;
  std::vector<int32_t> weights_;
};

}  // namespace

void resampleBytes(const Picture& picture, const WholeResize& resize, const Target& target) {
  BytesResampler(picture, resize, target).run();
}

}  // namespace nt::vision
