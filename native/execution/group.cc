#include "group.h"

#include <algorithm>
#include <utility>

namespace nt::execution {
namespace {

constexpr std::size_t kMostSpareRows = 16;

}  // namespace

Group::Group(const BatchingOptions& batching, uint64_t number, Shapes shapes, std::vector<std::size_t> rowBytes)
    : batching_(batching),
      number_(number),
      shapes_(std::move(shapes)),
      rowBytes_(std::move(rowBytes)),
      last_(2 * batching.levels.size()) {
  spare_.reserve(kMostSpareRows);
}

bool Group::takes(const Shapes& shapes) const {
  if (batching_.maxBatch == 1) return true;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape& own = shapes_[i];
    if (own.size() != shapes[i].size() || !std::equal(own.begin() + 1, own.end(), shapes[i].begin() + 1)) return false;
  }
  return true;
}

std::shared_ptr<Rows> Group::place(const Part& part, const Allocate& allocate) {
  if (!open_ || open_->used + part.rows > open_->room) {
    const int64_t room = rowsAtOnce(part, rowBytes_, batching_.maxBatch - part.rows);
    const auto fits = std::ranges::find_if(spare_, [&](const auto& rows) { return rows->room >= room; });
    const bool sole = room == part.rows;
    if (fits != spare_.end() && !sole) {
      open_ = std::move(*fits);
      spare_.erase(fits);
    } else {
      auto rows = std::make_shared<Rows>();
      rows->shared = true;
      rows->group = number_;
      layOut(*rows, rowBytes_, part, room, sole, allocate);
      open_ = std::move(rows);
    }
  }
  open_->block->setIdle(false);
  return open_;
}

void Group::keep(std::shared_ptr<Rows> rows) noexcept {
  if (rows == open_) open_.reset();
  if (rows->sole || rows->block->capacity() > Batch::kKept || spare_.size() == spare_.capacity()) return;
  rows->used = 0;
  rows->block->setIdle(true);
  spare_.push_back(std::move(rows));
}

void Group::add(Entry& entry) {
  --coming_;
  insert(entry);
}

void Group::insert(Entry& entry) {
  Entry* before = nullptr;
  for (uint32_t rank = entry.rank + 1; before == nullptr && rank-- > 0;) before = last_[rank];
  entry.before = before;
  entry.next = before != nullptr ? before->next : first_;
  (before != nullptr ? before->next : first_) = &entry;
  if (entry.next != nullptr) entry.next->before = &entry;
  last_[entry.rank] = &entry;
  rows_ += entry.rows;
  delayed_ += entry.rank & 1;
  leaving_ += entry.leaving ? 1 : 0;
}

void Group::remove(Entry& entry) {
  if (last_[entry.rank] == &entry) {
    Entry* const before = entry.before;
    last_[entry.rank] = before != nullptr && before->rank == entry.rank ? before : nullptr;
  }
  (entry.before != nullptr ? entry.before->next : first_) = entry.next;
  if (entry.next != nullptr) entry.next->before = entry.before;
  entry.before = entry.next = nullptr;
  rows_ -= entry.rows;
  delayed_ -= entry.rank & 1;
  leaving_ -= entry.leaving ? 1 : 0;
  // those that come next begin at the begin of a block, or behind one that is being written: their rows lie together
  if (isIdle()) open_.reset();
}

void Group::delay(Entry& entry) {
  remove(entry);
  entry.rank |= 1;
  insert(entry);
}

void Group::hurry(Entry& entry) {
  if (!std::exchange(entry.leaving, true)) ++leaving_;
}

// Of those that were not delayed: they are in the order in which they came.
TimePoint Group::oldest() const {
  TimePoint oldest = TimePoint::max();
  const Entry* before = nullptr;
  for (const Entry* last : last_) {
    if (last == nullptr) continue;
    oldest = std::min(oldest, (before != nullptr ? before->next : first_)->asked);
    before = last;
  }
  return oldest;
}

Form Group::form(Entry* from, TimePoint now, bool closed) const {
  const auto& preferred = batching_.preferred;
  Form form;
  form.first = from;
  std::size_t preferredRequests = 0;
  int64_t preferredRows = 0;
  Entry* behindPreferred = nullptr;
  bool full = false;
  Entry* entry = from;
  for (; entry != nullptr && !full; entry = entry->next) {
    if (form.rows + entry->rows > batching_.maxBatch) {
      full = true;  // it is not overtaken by later, smaller requests
      break;
    }
    form.rows += entry->rows;
    ++form.requests;
    form.oldest = std::min(form.oldest, entry->asked);
    full = form.rows == batching_.maxBatch;
    if (!hasPreferred() || !std::ranges::binary_search(preferred, form.rows)) continue;
    preferredRequests = form.requests;
    preferredRows = form.rows;
    behindPreferred = entry->next;
  }
  form.next = entry;
  const Clock::duration delay = batching_.maxDelay;
  const bool over = delay > Clock::duration(0) && now >= form.oldest + delay;
  const bool leaves = full || over || closed || leaving_ > 0;
  if (preferredRequests == 0) {
    form.due = leaves || delay == Clock::duration(0);
    form.early = leaves && from->level == 1;
    return form;
  }
  form.requests = preferredRequests;
  form.rows = preferredRows;
  form.next = behindPreferred;
  form.due = true;
  form.early = (leaves || preferredRows == preferred.back()) && from->level == 1;
  return form;
}

bool Group::mayBeDue(TimePoint now, bool closed) const {
  if (empty()) return false;
  if (closed || leaving_ > 0 || delayed_ > 0 || batching_.maxDelay == Clock::duration(0)) return true;
  if (rows_ >= batching_.maxBatch || (hasPreferred() && rows_ >= batching_.preferred.front())) return true;
  return now >= oldest() + batching_.maxDelay;
}

TimePoint Group::nextDue() const {
  const bool few = rows_ < batching_.maxBatch && delayed_ == 0;
  return (few ? oldest() : form(first_, TimePoint::min(), false).oldest) + batching_.maxDelay;
}

void Group::makeUp(Batch& batch, const Form& form) {
  // what is as it was is not written again
  if (batch.shapes != shapes_) batch.shapes = shapes_;
  if (batch.rowBytes != rowBytes_) batch.rowBytes = rowBytes_;
  Entry* next = form.first;
  for (std::size_t i = 0; i < form.requests; ++i) {
    Entry& entry = *std::exchange(next, next->next);
    remove(entry);
    batch.add(std::move(entry.part));
    batch.entries.push_back(&entry);
    if (!entry.memory) continue;
    // the batch is one user, however many requests of it were
    if (std::ranges::find(batch.memory, entry.memory) == batch.memory.end()) {
      batch.memory.push_back(std::move(entry.memory));
    } else {
      --entry.memory->users;
      entry.memory.reset();
    }
  }
  takeSpare(batch);
}

// Room for padding, behind rows that lie together, while nobody else has been given it.
void Group::takeSpare(Batch& batch) const {
  batch.spare = -1;
  const Part& first = batch.parts.front();
  int64_t next = first.placed;
  for (const Part& part : batch.parts) {
    if (part.memory != first.memory || part.placed != next) return;
    next += part.rows;
  }
  batch.spare = 0;
  if (batch.memory.size() != 1) return;
  Rows& rows = *batch.memory.front();
  const int64_t wanted = paddedRows(batch.rows, batching_.pad, batching_.maxBatch) - batch.rows;
  if (wanted == 0 || rows.used != next || next + wanted > rows.room) return;
  rows.used += wanted;
  batch.spare = wanted;
}

}  // namespace nt::execution
