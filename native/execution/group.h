// Requests that wait and may merge: in the order in which they are to leave, with the memory that they share.
#pragma once

#include <optional>
#include <vector>

#include "batching.h"
#include "entry.h"
#include "layout.h"

namespace nt::execution {

// The batch that could be made up of requests which follow each other in a group.
struct Form {
  Entry* first = nullptr;
  std::size_t requests = 0;
  int64_t rows = 0;
  TimePoint oldest = TimePoint::max();
  bool due = false;       // it may leave
  bool early = false;     // a busy lane may have it: it would not grow by waiting, and nothing can overtake it
  Entry* next = nullptr;  // behind it
};

// The queue's lock is held.
class Group {
 public:
  // Where nothing merges there is one group, whatever the shapes.
  Group(const BatchingOptions& batching, uint64_t number, Shapes shapes, std::vector<std::size_t> rowBytes);

  // Whether requests of these shapes merge with its own: all dimensions but the first are equal.
  bool takes(const Shapes& shapes) const;
  uint64_t number() const noexcept { return number_; }

  // A place for the rows of a request: behind those of the last one, where there is room. Throws ERR_TRT_OUT_OF_MEMORY.
  std::shared_ptr<Rows> place(const Part& part, const Allocate& allocate);
  // Memory that nobody uses any more.
  void keep(std::shared_ptr<Rows> rows) noexcept;

  // A request comes, and is added once its data is there.
  void expect() noexcept { ++coming_; }
  void add(Entry& entry);
  void remove(Entry& entry);
  // Its wait has lasted too long: behind the others of its level.
  void delay(Entry& entry);
  // The front-end of the request closes: it leaves without delay, with what leaves before it.
  void hurry(Entry& entry);

  bool empty() const noexcept { return first_ == nullptr; }
  // Nothing of it waits, nor is about to.
  bool isIdle() const noexcept { return empty() && coming_ == 0; }
  Entry* first() const noexcept { return first_; }
  // The batch that begins with this request.
  Form form(Entry* from, TimePoint now, bool closed) const;
  // False: nothing may leave; a quick answer.
  bool mayBeDue(TimePoint now, bool closed) const;
  // When its first batch may leave, if nothing else happens.
  TimePoint nextDue() const;
  // That batch, in `batch`, which is empty.
  void makeUp(Batch& batch, const Form& form);

 private:
  void insert(Entry& entry);
  void takeSpare(Batch& batch) const;
  bool hasPreferred() const noexcept { return !batching_.preferred.empty(); }
  TimePoint oldest() const;

  const BatchingOptions& batching_;
  const uint64_t number_;
  Shapes shapes_;
  std::vector<std::size_t> rowBytes_;
  Entry* first_ = nullptr;
  std::vector<Entry*> last_;  // by rank; null where there is none
  int64_t rows_ = 0;
  std::size_t delayed_ = 0;
  std::size_t leaving_ = 0;
  int coming_ = 0;
  std::shared_ptr<Rows> open_;  // where the next request's rows go
  std::vector<std::shared_ptr<Rows>> spare_;
};

}  // namespace nt::execution
