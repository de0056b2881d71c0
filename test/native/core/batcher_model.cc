#include "batcher_model.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace model {

// "Before anything else": in the order of deadlines, and of arrivals where those are equal.
void Batcher::applyTimeouts(Time now) {
  for (;;) {
    const auto next = std::min_element(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
      return std::tuple(a.deadline.value_or(Time::max()), a.order) <
             std::tuple(b.deadline.value_or(Time::max()), b.order);
    });
    if (next == waiting_.end() || !next->deadline || *next->deadline > now) return;
    if (options_.levels[next->request.level - 1].delays) {
      next->deadline.reset();
      next->delayed = ++delays_;
    } else {
      rejected_.push_back(next->request.id);
      waiting_.erase(next);
    }
  }
}

Refusal Batcher::arrive(Time now, const Request& request) {
  applyTimeouts(now);
  if (closed_ || closedFronts_.count(request.front) > 0) return Refusal::closed;
  Waiting made{request, now, ++arrivals_, {}, 0};
  uint32_t& level = made.request.level;
  if (level == 0) level = options_.defaultLevel;
  const Policy& policy = options_.levels[level - 1];
  const auto ofLevel = static_cast<std::size_t>(std::count_if(
      waiting_.begin(), waiting_.end(), [&](const Waiting& each) { return each.request.level == level; }));
  if (policy.maxQueue > 0 && ofLevel >= policy.maxQueue) return Refusal::queueFull;
  if (waiting_.size() >= options_.maxQueue) return Refusal::queueFull;
  // a call's own timeout may only shorten that of the policy
  Time timeout = policy.timeout;
  if (request.timeout > Time(0) && (timeout == Time(0) || request.timeout < timeout)) timeout = request.timeout;
  if (timeout > Time(0)) made.deadline = now + timeout;
  waiting_.push_back(made);
  if (waiting_.size() >= options_.holdUntil) released_ = true;
  return Refusal::none;
}

bool Batcher::cancel(uint64_t id) {
  return std::erase_if(waiting_, [&](const Waiting& each) { return each.request.id == id; }) > 0;
}

Ids Batcher::expire(Time now) {
  applyTimeouts(now);
  return std::exchange(rejected_, {});
}

std::vector<const Batcher::Waiting*> Batcher::inOrder(int group) const {
  std::vector<const Waiting*> order;
  for (const Waiting& each : waiting_)
    if (each.request.group == group) order.push_back(&each);
  std::sort(order.begin(), order.end(), [](const Waiting* a, const Waiting* b) {
    return std::tuple(a->request.level, a->delayed, a->order) < std::tuple(b->request.level, b->delayed, b->order);
  });
  return order;
}

Batcher::Form Batcher::form(const std::vector<const Waiting*>& order, Time now) const {
  Form form;
  int64_t rows = 0;
  std::size_t preferred = 0;
  form.due = Time::max();
  while (form.count < order.size() && rows + order[form.count]->request.rows <= options_.maxBatch) {
    form.due = std::min(form.due, order[form.count]->arrival + options_.maxDelay);
    rows += order[form.count++]->request.rows;
    if (std::count(options_.preferred.begin(), options_.preferred.end(), rows) > 0) preferred = form.count;
  }
  if (preferred > 0) {
    form.count = preferred;
    form.mayLeave = true;
    return form;
  }
  const bool closing = closed_ || std::any_of(order.begin(), order.end(), [&](const Waiting* each) {
                         return closedFronts_.count(each->request.front) > 0;
                       });
  const bool ended = form.count < order.size();  // by a request that does not fit
  form.mayLeave = options_.maxDelay == Time(0) || rows == options_.maxBatch || ended || now >= form.due || closing;
  return form;
}

std::set<int> Batcher::groups() const {
  std::set<int> groups;
  for (const Waiting& each : waiting_) groups.insert(each.request.group);
  return groups;
}

Ids Batcher::take(Time now) {
  applyTimeouts(now);
  if (held()) return {};
  std::vector<const Waiting*> best;
  for (const int group : groups()) {
    std::vector<const Waiting*> order = inOrder(group);
    const Form made = form(order, now);
    if (!made.mayLeave) continue;
    order.resize(made.count);
    const auto key = [](const Waiting* first) {
      return std::tuple(first->request.level, first->delayed, first->order);
    };
    if (best.empty() || key(order.front()) < key(best.front())) best = order;
  }
  Ids ids;
  for (const Waiting* each : best) ids.push_back(each->request.id);
  for (const uint64_t id : ids) cancel(id);
  return ids;
}

void Batcher::closeFront(int front) { closedFronts_.insert(front); }

Ids Batcher::drain() {
  Ids ids;
  for (const Waiting& each : waiting_) ids.push_back(each.request.id);
  waiting_.clear();
  return ids;
}

bool Batcher::anyTimed() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [](const Waiting& each) { return each.deadline.has_value(); });
}

std::optional<Time> Batcher::nextDue() const {
  std::optional<Time> next;
  if (held()) return next;
  for (const int group : groups()) {
    const Time due = form(inOrder(group), Time(0)).due;
    if (!next || due < *next) next = due;
  }
  return next;
}

}  // namespace model
