// findCandidates(): the boxes of a detector that are worth decoding. lib/vision checks what users give; here nothing
// may crash.
#include <algorithm>
#include <string>
#include <vector>

#include "../vision/candidates.h"
#include "errors.h"
#include "exports.h"
#include "pixels.h"
#include "values.h"

namespace nt::node {
namespace {

// Of elements: what any two of them give multiplied stays far below the end of an int64_t.
constexpr int64_t kMostElements = INT32_MAX;

std::size_t countOf(const Napi::Object& object, const char* key) {
  const int64_t value = integerOf(object, key, 0);
  if (value < 0 || value > kMostElements) refuse(std::string("a count for ") + key);
  return static_cast<std::size_t>(value);
}

// How many elements are read.
std::size_t extentOf(std::size_t count, std::size_t step, std::size_t classes, std::size_t classStep) {
  return count == 0 || classes == 0 ? 0 : (count - 1) * step + (classes - 1) * classStep + 1;
}

vision::Scores scoresOf(PixelWork& work, const Napi::Object& given) {
  vision::Scores scores;
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
    refuse("numbers of boxes below 2147483648");
  scores.first = static_cast<int32_t>(first);
  scores.firstStep = static_cast<int32_t>(firstStep);
  return scores;
}

vision::CandidateRule candidateRuleOf(const Napi::Object& given) {
  vision::CandidateRule rule;
  rule.sigmoid = given.Get("sigmoid").ToBoolean();
  rule.everyClass = given.Get("everyClass").ToBoolean();
  rule.threshold = given.Get("threshold").ToNumber().DoubleValue();
  rule.most = countOf(given, "most");
  if (rule.most == 0) refuse("a number from 1 for most");
  return rule;
}

template <class Array, class T>
Napi::Value arrayOf(Napi::Env env, const std::vector<T>& values) {
  Array array = Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

// findCandidates(parts, rule): see NativeScores in lib/backend/native-vision.ts
Napi::Value findCandidates(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    if (info.Length() < 2 || !info[0].IsArray()) refuse("a list of scores");
    const Napi::Array given = info[0].As<Napi::Array>();
    PixelWork work(info.Env());
    std::vector<vision::Scores> parts;
    for (uint32_t i = 0; i < given.Length(); ++i) {
      const Napi::Value part = given.Get(i);
      if (!part.IsObject()) refuse("scores");
      parts.push_back(scoresOf(work, part.As<Napi::Object>()));
    }
    const vision::Candidates found = vision::findCandidates(parts, candidateRuleOf(objectArgument(info, 1, "rule")));
    const Napi::Object answer = Napi::Object::New(info.Env());
    answer.Set("indices", arrayOf<Napi::Int32Array>(info.Env(), found.indices));
    answer.Set("classes", arrayOf<Napi::Int32Array>(info.Env(), found.classes));
    answer.Set("scores", arrayOf<Napi::Float32Array>(info.Env(), found.scores));
    return answer;
  });
}

}  // namespace

void exportVisionCandidates(Napi::Env env, Napi::Object exports) {
  exports.Set("findCandidates", Napi::Function::New(env, findCandidates, "findCandidates"));
}

}  // namespace nt::node
