#include "components.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace nt::vision {
namespace {

// Pixels beside each other in a row; `parent`: a run before it that it is connected to, or itself.
struct PixelRun {
  int32_t begin, end;
  std::size_t parent;
};

int32_t nextOf(const MaskPixels& mask, const uint8_t* row, int32_t from, bool inside) {
  const auto belongs = [&](uint8_t value) { return mask.only < 0 ? value != 0 : value == mask.only; };
  if (!inside && mask.only < 0) {  // eight pixels of nothing at a time
    for (uint64_t eight = 0; from + 8 <= mask.width; from += 8) {
      std::memcpy(&eight, row + from, 8);
      if (eight != 0) break;
    }
  }
  while (from < mask.width && belongs(row[from]) != inside) ++from;
  return from;
}

class Runs {
 public:
  Runs(const MaskPixels& mask, bool diagonal) : reach_(diagonal ? 1 : 0) {
    starts_.reserve(static_cast<std::size_t>(mask.height) + 1);
    for (int32_t y = 0; y < mask.height; ++y) {
      starts_.push_back(runs_.size());
      addRow(mask, mask.data + static_cast<std::size_t>(y) * static_cast<std::size_t>(mask.width));
      if (y > 0) connect(starts_[static_cast<std::size_t>(y) - 1], starts_.back());
    }
    starts_.push_back(runs_.size());
  }

  // Each run's part takes the place of its parent. A parent comes before what it is the parent of.
  std::size_t number() {
    std::size_t count = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      runs_[i].parent = runs_[i].parent == i ? count++ : runs_[runs_[i].parent].parent;
    }
    return count;
  }

  std::size_t beginOf(int32_t row) const { return starts_[static_cast<std::size_t>(row)]; }
  std::size_t endOf(int32_t row) const { return starts_[static_cast<std::size_t>(row) + 1]; }
  const PixelRun& operator[](std::size_t index) const { return runs_[index]; }

 private:
  void addRow(const MaskPixels& mask, const uint8_t* row) {
    for (int32_t begin = nextOf(mask, row, 0, true); begin < mask.width;) {
      const int32_t end = nextOf(mask, row, begin, false);
      runs_.push_back({begin, end, runs_.size()});
      begin = nextOf(mask, row, end, true);
    }
  }

  void connect(std::size_t above, std::size_t begin) {
    std::size_t up = above;
    for (std::size_t i = begin; i < runs_.size(); ++i) {
      while (up < begin && runs_[up].end + reach_ <= runs_[i].begin) ++up;
      for (std::size_t k = up; k < begin && runs_[k].begin < runs_[i].end + reach_; ++k) join(k, i);
    }
  }

  std::size_t rootOf(std::size_t index) {
    while (runs_[index].parent != index) {
      runs_[index].parent = runs_[runs_[index].parent].parent;
      index = runs_[index].parent;
    }
    return index;
  }

  void join(std::size_t a, std::size_t b) {
    const std::size_t first = rootOf(a), second = rootOf(b);
    runs_[std::max(first, second)].parent = std::min(first, second);
  }

  int32_t reach_;
  std::vector<PixelRun> runs_;
  std::vector<std::size_t> starts_;
};

void addTo(Component& part, const PixelRun& run, int32_t y) {
  const int64_t length = run.end - run.begin;
  if (part.area == 0) part = {0, run.begin, y, run.end, y, 0, 0};
  part.area += length;
  part.left = std::min(part.left, run.begin);
  part.right = std::max(part.right, run.end);
  part.bottom = y + 1;
  part.sumX += static_cast<double>((int64_t{run.begin} + run.end - 1) * length) / 2;
  part.sumY += static_cast<double>(y * length);
}

}  // namespace

std::vector<Component> labelComponents(const MaskPixels& mask, bool diagonal, int32_t* labels) {
  Runs runs(mask, diagonal);
  std::vector<Component> parts(runs.number());
  for (int32_t y = 0; y < mask.height; ++y, labels += mask.width) {
    for (std::size_t i = runs.beginOf(y); i < runs.endOf(y); ++i) {
      const PixelRun& run = runs[i];
      std::fill(labels + run.begin, labels + run.end, static_cast<int32_t>(run.parent) + 1);
      addTo(parts[run.parent], run, y);
    }
  }
  return parts;
}

}  // namespace nt::vision
