#include "lane.h"

#include <algorithm>

namespace nt::execution {

int64_t paddedRows(int64_t rows, const LaneOptions& options) {
  const auto next = std::ranges::lower_bound(options.pad, rows);
  return next == options.pad.end() ? rows : std::max(rows, std::min(*next, options.maxBatch));
}

}  // namespace nt::execution
