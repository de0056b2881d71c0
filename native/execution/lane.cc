#include "lane.h"

#include "../base/error.h"
#include "layout.h"

namespace nt::execution {

int64_t paddedRows(int64_t rows, const LaneOptions& options) { return paddedRows(rows, options.pad, options.maxBatch); }

std::vector<Completion> completionsOf(const Batch& batch, TimePoint started, Timing timing,
                                      const std::function<void(Completion&, const Part&)>& complete) {
  std::vector<Completion> completions(batch.parts.size());
  for (std::size_t i = 0; i < completions.size(); ++i) {
    const Part& part = batch.parts[i];
    completions[i].request = part.request;
    completions[i].front = part.front;
    completions[i].timing = timing;
    completions[i].timing.queue = std::chrono::duration<float, std::milli>(started - part.asked).count();
    try {
      complete(completions[i], part);
    } catch (const Error&) {
      completions[i].failure = std::current_exception();
      completions[i].outputs.reset(0);
    }
  }
  return completions;
}

}  // namespace nt::execution
