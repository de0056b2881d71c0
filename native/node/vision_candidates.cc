// findCandidates(): the boxes of a detector that are worth decoding. lib/vision checks what users give; here nothing
// may crash.
#include <algorithm>
#include <string>
#include <vector>

#include "../vision/candidates.h"
#include "exports.h"
#include "pixels.h"

namespace nt::node {

using vision::CandidateRule;
using vision::Scores;

template <>
inline constexpr auto fieldsOf<CandidateRule> =
    std::tuple(Field("sigmoid", &CandidateRule::sigmoid), Field("everyClass", &CandidateRule::everyClass),
               Field("threshold", &CandidateRule::threshold));
template <>
inline constexpr auto fieldsOf<vision::Candidates> =
    std::tuple(Field("indices", &vision::Candidates::indices), Field("classes", &vision::Candidates::classes),
               Field("scores", &vision::Candidates::scores));

namespace {

// Of elements: what any two of them give multiplied stays far below the end of an int64_t.
constexpr int64_t kMostElements = INT32_MAX;

std::size_t countOf(const Napi::Object& object, const char* key) {
  const auto value = property<int64_t>(object, key);
  if (value < 0 || value > kMostElements) throwExpected("a count", key);
  return static_cast<std::size_t>(value);
}

// How many elements are read.
std::size_t extentOf(std::size_t count, std::size_t step, std::size_t classes, std::size_t classStep) {
  return count == 0 || classes == 0 ? 0 : (count - 1) * step + (classes - 1) * classStep + 1;
}

Scores scoresOf(PixelWork& work, const Napi::Object& given) {
  Scores scores;
  scores.count = countOf(given, "count");
  scores.classes = countOf(given, "classes");
  scores.step = countOf(given, "step");
  scores.classStep = countOf(given, "classStep");
  const std::size_t extent = extentOf(scores.count, scores.step, scores.classes, scores.classStep);
  scores.values = work.array<const float>(given, "values", extent);
  if (!given.Get("objectness").IsUndefined()) {
    scores.objectnessStep = countOf(given, "objectnessStep");
    const std::size_t read = extentOf(scores.count, scores.objectnessStep, 1, 0);
    scores.objectness = work.array<const float>(given, "objectness", read);
  }
  const std::size_t first = countOf(given, "first"), firstStep = countOf(given, "firstStep");
  if (first + extentOf(scores.count, firstStep, 1, 0) > static_cast<std::size_t>(kMostElements))
    throwExpected("numbers of boxes below 2147483648");
  scores.first = static_cast<int32_t>(first);
  scores.firstStep = static_cast<int32_t>(firstStep);
  return scores;
}

CandidateRule candidateRuleOf(const Napi::Object& given) {
  auto rule = fromJs<CandidateRule>(given, "rule");
  rule.most = countOf(given, "most");
  if (rule.most == 0) throwExpected("a number from 1 for most");
  return rule;
}

// findCandidates(parts, rule): see NativeScores in lib/backend/native-vision.ts
vision::Candidates findCandidates(const Napi::CallbackInfo& info) {
  PixelWork work(info.Env());
  std::vector<Scores> parts;
  for (const auto& part : fromJs<std::vector<Napi::Object>>(info[0], "scores")) parts.push_back(scoresOf(work, part));
  return vision::findCandidates(parts, candidateRuleOf(fromJs<Napi::Object>(info[1], "rule")));
}

}  // namespace

void exportVisionCandidates(Napi::Object exports) {
  setFunctions(exports, {{"findCandidates", guarded<findCandidates>}});
}

}  // namespace nt::node
