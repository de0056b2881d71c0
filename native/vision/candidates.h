// Which of a detector's thousands of boxes are worth decoding: those whose best class, or each of whose classes, is
// above a threshold; of these the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nt::vision {

// The scores of `count` boxes: values[i * step + c * classStep]. Box i is number first + i * firstStep.
struct Scores {
  const float* values = nullptr;
  std::size_t count = 0, classes = 0, step = 0, classStep = 0;
  const float* objectness = nullptr;  // what each score is multiplied by; none: 1
  std::size_t objectnessStep = 0;
  int32_t first = 0, firstStep = 1;
};

struct CandidateRule {
  bool sigmoid = false;  // of scores and of objectness
  double threshold = 0;  // a score is above it; of probabilities
  bool everyClass = false;
  std::size_t most = 0;
};

// The best first; of equal ones that of the lower number, then of the lower class.
struct Candidates {
  std::vector<int32_t> indices, classes;
  std::vector<float> scores;
};

Candidates findCandidates(const std::vector<Scores>& parts, const CandidateRule& rule);

}  // namespace nt::vision
