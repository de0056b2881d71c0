#include "candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.h"

namespace nt::vision {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What is compared is the logit where a sigmoid follows: it keeps the order, and does not round what is near 1 to equal
// scores.
struct Hit {
  float rank;
  int32_t number;
  int32_t classIndex;
};

bool isBetter(const Hit& a, const Hit& b) {
  if (a.rank != b.rank) return a.rank > b.rank;
  return a.number != b.number ? a.number < b.number : a.classIndex < b.classIndex;
}

// Keeps the best of what it is given, in room for twice as many.
class Best {
 public:
  explicit Best(std::size_t most) : most_(most) {}

  void add(const Hit& hit) {
    if (hit.rank < least_) return;
    hits_.push_back(hit);
    if (hits_.size() / 2 >= most_) shrink();
  }

  std::vector<Hit> sorted() {
    std::sort(hits_.begin(), hits_.end(), isBetter);
    if (hits_.size() > most_) hits_.resize(most_);
    return std::move(hits_);
  }

 private:
  void shrink() {
    const auto last = hits_.begin() + static_cast<std::ptrdiff_t>(most_ - 1);
    std::nth_element(hits_.begin(), last, hits_.end(), isBetter);
    hits_.resize(most_);
    least_ = hits_.back().rank;
  }

  std::size_t most_;
  float least_ = -std::numeric_limits<float>::infinity();
  std::vector<Hit> hits_;
};

class Search {
 public:
  explicit Search(const CandidateRule& rule) : rule_(rule), best_(rule.most) {
    const double t = rule.threshold;
    // of logits none is above infinity, and each number above -infinity
    value_ = rule.sigmoid ? std::log(t / (1 - t)) : t;
  }

  void look(const Scores& part) {
    if (part.classes == 0) return;
    constexpr std::size_t kBlock = 512;
    float greatest[kBlock];
    for (std::size_t at = 0; at < part.count; at += kBlock) {
      const std::size_t length = std::min(kBlock, part.count - at);
      if (part.objectness == nullptr) {
        greatestOf(part, at, length, greatest);
        for (std::size_t i = 0; i < length; ++i)
          if (static_cast<double>(greatest[i]) > value_) plain(part, at + i);
      } else {
        for (std::size_t i = at; i < at + length; ++i) multiplied(part, i);
      }
    }
  }

  Candidates found() {
    Candidates candidates;
    const std::vector<Hit> hits = best_.sorted();
    for (const Hit& hit : hits) {
      candidates.indices.push_back(hit.number);
      candidates.classes.push_back(hit.classIndex);
      candidates.scores.push_back(ranksAreLogits_ ? static_cast<float>(sigmoid(static_cast<double>(hit.rank)))
                                                  : hit.rank);
    }
    return candidates;
  }

  // Of all parts: whether any has an objectness, whose product with a class has no logit.
  void rankBy(bool logits) { ranksAreLogits_ = logits; }

 private:
  static void greatestOf(const Scores& part, std::size_t at, std::size_t length, float* out) {
    const float* const from = part.values + at * part.step;
    if (part.step == 1) return kernels().greatestDown(from, part.classes, part.classStep, out, length);
    if (part.classStep == 1) return kernels().greatestAlong(from, part.classes, part.step, out, length);
    for (std::size_t i = 0; i < length; ++i) {
      float most = -std::numeric_limits<float>::infinity();
      for (std::size_t c = 0; c < part.classes; ++c) {
        const float value = from[i * part.step + c * part.classStep];
        most = value > most ? value : most;
      }
      out[i] = most;
    }
  }

  // The class with the greatest value, of equal ones the lowest.
  static std::size_t bestClass(const Scores& part, const float* values) {
    std::size_t best = 0;
    float most = -std::numeric_limits<float>::infinity();
    for (std::size_t c = 0; c < part.classes; ++c) {
      const float value = values[c * part.classStep];
      if (value > most) best = c, most = value;
    }
    return best;
  }

  void add(const Scores& part, std::size_t i, std::size_t c, float rank) {
    best_.add({rank, part.first + static_cast<int32_t>(i) * part.firstStep, static_cast<int32_t>(c)});
  }

  void plain(const Scores& part, std::size_t i) {
    const float* const values = part.values + i * part.step;
    if (!rule_.everyClass) {
      const std::size_t c = bestClass(part, values);
      return add(part, i, c, rankOf(values[c * part.classStep]));
    }
    for (std::size_t c = 0; c < part.classes; ++c) {
      const float value = values[c * part.classStep];
      if (static_cast<double>(value) > value_) add(part, i, c, rankOf(value));
    }
  }

  float rankOf(float value) const {
    return rule_.sigmoid && !ranksAreLogits_ ? static_cast<float>(sigmoid(static_cast<double>(value))) : value;
  }

  double probabilityOf(float value) const {
    return rule_.sigmoid ? sigmoid(static_cast<double>(value)) : static_cast<double>(value);
  }

  // No class is above 1: where objectness is not above the threshold, no product is.
  void multiplied(const Scores& part, std::size_t i) {
    const float given = part.objectness[i * part.objectnessStep];
    if (!(static_cast<double>(given) > value_)) return;
    const double objectness = probabilityOf(given);
    const float* const values = part.values + i * part.step;
    const auto consider = [&](std::size_t c) {
      const float score = static_cast<float>(objectness * probabilityOf(values[c * part.classStep]));
      if (static_cast<double>(score) > rule_.threshold) add(part, i, c, score);
    };
    if (!rule_.everyClass) return consider(bestClass(part, values));
    for (std::size_t c = 0; c < part.classes; ++c) consider(c);
  }

  CandidateRule rule_;
  Best best_;
  double value_;
  bool ranksAreLogits_ = false;
};

}  // namespace

Candidates findCandidates(const std::vector<Scores>& parts, const CandidateRule& rule) {
  Search search(rule);
  const auto hasObjectness = [](const Scores& part) { return part.objectness != nullptr; };
  search.rankBy(rule.sigmoid && std::none_of(parts.begin(), parts.end(), hasObjectness));
  for (const Scores& part : parts) search.look(part);
  return search.found();
}

}  // namespace nt::vision
