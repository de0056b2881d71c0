#include "masks.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace nt::vision {
namespace {

// The four values around an output, and how much each counts.
struct Corners {
  const float *topLeft, *topRight, *bottomLeft, *bottomRight;
  double right, below;

  double at(std::size_t offset) const {
    const double left = 1 - right;
    const double top = left * topLeft[offset] + right * topRight[offset];
    const double bottom = left * bottomLeft[offset] + right * bottomRight[offset];
    return (1 - below) * top + below * bottom;
  }
};

struct ByThreshold {
  double threshold;

  template <class ValueAt>
  uint8_t operator()(const ValueAt& valueAt) const {
    return valueAt(0) > threshold ? 1 : 0;
  }
};

struct ByGreatest {
  int32_t channels;
  std::size_t step;

  template <class ValueAt>
  uint8_t operator()(const ValueAt& valueAt) const {
    auto greatest = valueAt(0);
    int32_t found = 0;
    for (int32_t channel = 1; channel < channels; ++channel) {
      const auto value = valueAt(static_cast<std::size_t>(channel) * step);
      if (value > greatest) {
        greatest = value;
        found = channel;
      }
    }
    return static_cast<uint8_t>(found);
  }
};

// As ByGreatest: planes are read row by row, each as it lies.
std::vector<uint8_t> greatestOfPlanes(const MaskValues& values) {
  const auto width = static_cast<std::size_t>(values.width);
  std::vector<uint8_t> answers(width * static_cast<std::size_t>(values.height));
  std::vector<float> greatest(width);
  for (int32_t row = 0; row < values.height; ++row) {
    uint8_t* answer = answers.data() + static_cast<std::size_t>(row) * width;
    const float* plane = values.data + static_cast<std::size_t>(row) * values.rowStep;
    std::copy(plane, plane + width, greatest.begin());
    for (int32_t channel = 1; channel < values.channels; ++channel) {
      plane += values.channelStep;
      for (std::size_t column = 0; column < width; ++column) {
        const bool greater = plane[column] > greatest[column];
        greatest[column] = greater ? plane[column] : greatest[column];
        answer[column] = greater ? static_cast<uint8_t>(channel) : answer[column];
      }
    }
  }
  return answers;
}

template <class Decide>
std::vector<uint8_t> decided(const MaskValues& values, const Decide& decide) {
  std::vector<uint8_t> answers(static_cast<std::size_t>(values.width) * static_cast<std::size_t>(values.height));
  uint8_t* answer = answers.data();
  for (int32_t row = 0; row < values.height; ++row) {
    const float* value = values.data + static_cast<std::size_t>(row) * values.rowStep;
    for (int32_t column = 0; column < values.width; ++column, value += values.columnStep) {
      *answer++ = decide([value](std::size_t offset) { return value[offset]; });
    }
  }
  return answers;
}

// Where the values around an output all mean the same, so does what lies between them: only along the edges of what was
// found is anything interpolated.
template <class Decide>
void makeRow(const MaskValues& values, const std::vector<uint8_t>& answers, const MaskAxis& columns, int32_t above,
             int32_t under, double below, const Decide& decide, uint8_t* out) {
  const auto width = static_cast<std::size_t>(values.width);
  const uint8_t* upper = answers.data() + static_cast<std::size_t>(above) * width;
  const uint8_t* lower = answers.data() + static_cast<std::size_t>(under) * width;
  const float* top = values.data + static_cast<std::size_t>(above) * values.rowStep;
  const float* bottom = values.data + static_cast<std::size_t>(under) * values.rowStep;
  for (int32_t column = 0; column < columns.count;) {
    const int32_t left = columns.first[column], right = std::min(left + 1, columns.last);
    int32_t end = column + 1;
    while (end < columns.count && columns.first[end] == left) ++end;
    const uint8_t answer = upper[left];
    if (upper[right] == answer && lower[left] == answer && lower[right] == answer) {
      std::memset(out + column, answer, static_cast<std::size_t>(end - column));
      column = end;
      continue;
    }
    const std::size_t first = static_cast<std::size_t>(left) * values.columnStep;
    const std::size_t second = static_cast<std::size_t>(right) * values.columnStep;
    Corners corners{top + first, top + second, bottom + first, bottom + second, 0, below};
    for (; column < end; ++column) {
      corners.right = columns.weights[column];
      out[column] = decide([&corners](std::size_t offset) { return corners.at(offset); });
    }
  }
}

template <class Decide>
void makeRows(const MaskValues& values, const MaskAxis& columns, const MaskAxis& rows, const Decide& decide,
              const std::vector<uint8_t>& answers, uint8_t* out, std::size_t stride) {
  for (int32_t row = 0; row < rows.count; ++row, out += stride) {
    const int32_t above = rows.first[row];
    makeRow(values, answers, columns, above, std::min(above + 1, rows.last), rows.weights[row], decide, out);
  }
}

}  // namespace

void makeMask(const MaskValues& values, const MaskAxis& columns, const MaskAxis& rows, const MaskRule& rule,
              uint8_t* out, std::size_t stride) {
  if (rule.byThreshold) {
    const ByThreshold decide{rule.threshold};
    makeRows(values, columns, rows, decide, decided(values, decide), out, stride);
  } else {
    const ByGreatest decide{values.channels, values.channelStep};
    const bool planar = values.columnStep == 1;
    makeRows(values, columns, rows, decide, planar ? greatestOfPlanes(values) : decided(values, decide), out, stride);
  }
}

void combine(const Prototypes& prototypes, const float* coefficients, float* out) {
  const auto width = static_cast<std::size_t>(prototypes.width), across = static_cast<std::size_t>(prototypes.across);
  const std::size_t plane = width * static_cast<std::size_t>(prototypes.height);
  std::vector<double> sums(across);
  for (int32_t row = 0; row < prototypes.down; ++row, out += across) {
    const float* from = prototypes.data + static_cast<std::size_t>(prototypes.top + row) * width + prototypes.left;
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int32_t number = 0; number < prototypes.count; ++number, from += plane) {
      const double factor = coefficients[number];
      for (std::size_t column = 0; column < across; ++column) sums[column] += factor * from[column];
    }
    std::transform(sums.begin(), sums.end(), out, [](double sum) { return static_cast<float>(sum); });
  }
}

}  // namespace nt::vision
